//! The computer and its services.

pub use node::api::System;
pub use node::{Dependents, ServiceName};
pub use os::{ServiceInfo, ServiceState, StartType};
