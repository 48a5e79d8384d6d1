//! The COM objects: connections, enumerators, calls, objects.

#![expect(clippy::ref_as_ptr, reason = "`#[implement]` writes it")]

mod blanket;
mod call_result;
mod enumerator;
mod failure;
mod object;
mod services;
mod shape;
mod variant;

use std::sync::Arc;

use os::schema::Namespace;
use windows::Win32::System::Wmi::IWbemServices;

use crate::wmi::{Line, Shared};

/// A connection to a namespace.
pub(crate) fn services(
    shared: Arc<Shared>,
    line: Arc<Line>,
    namespace: Namespace,
) -> IWbemServices {
    services::Services::new(shared, line, namespace).into()
}
