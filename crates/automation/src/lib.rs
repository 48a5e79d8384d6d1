//! What crosses COM to a WMI provider, as pure code: query text, object paths, values in automation's types.
//!
//! The calls themselves are `os-windows`'s. What can be decided without them is decided here, so that
//! it is tested on every system: how a literal is quoted, which VARIANT a `uint64` travels in, what a
//! failed call's error object means, which of its words may be told. Classes, properties and types come from [`os::schema`].

mod path;
mod secrets;
mod variant;
mod wmi_error;
mod wql;

pub use path::{class_of, path_of};
pub use secrets::Secrets;
pub use variant::{Row, Scalar, SchemaMismatch, Text, Variant};
pub use wmi_error::{Origin, WmiError};
pub use wql::{Associated, Selection, associators, select};
