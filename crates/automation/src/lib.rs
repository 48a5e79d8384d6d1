//! The data that crosses COM to a WMI provider, as pure code: query text, object paths, values in
//! automation's types.
//!
//! `os-windows` makes the calls. Every decision that needs no call is made here, so that tests on every system cover
//! it: how a literal is quoted, which VARIANT a `uint64` travels in, what a failed call's error object means, which of
//! its words may be shown. Classes, properties and types come from [`os::schema`].

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
