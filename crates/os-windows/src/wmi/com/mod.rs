//! COM as safe values: each owns its object, and a failed call is a [`WmiError`] at once.
//!
//! None of them is `Send`: a thread's WMI values stay on it.

mod apartment;
mod failure;
mod object;
mod services;
mod variant;

pub(super) use apartment::Apartment;
pub(super) use object::ClassObject;
pub(super) use services::{Begun, CallResult, Enumerator, Progress, Services, connect_local};

use automation::WmiError;

/// The result of a call into COM.
pub(super) type Called<T> = Result<T, WmiError>;
