//! What crosses COM to a WMI provider, as pure code: query text, object paths, values in automation's types.
//!
//! The calls themselves are `os-windows`'s. What can be decided without them is decided here, so that
//! it is tested on every system: how a literal is quoted, which VARIANT a `uint64` travels in, what a
//! failed call's error object means, which of its words may be told. Classes, properties and types come from [`os::schema`].

mod carried;
mod fault;
mod path;
mod secrets;
mod wql;

pub use carried::{Carried, Odd, Row, Scalar, Text};
pub use fault::{Fault, Origin};
pub use path::{class_of, path_of};
pub use secrets::Secrets;
pub use wql::{Associated, Selection, associators, select};
