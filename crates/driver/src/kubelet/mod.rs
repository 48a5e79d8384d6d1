//! What kubelet calls: CSI's Identity and Node services, and registration.

mod attributes;
mod identity;
mod node;
mod registration;
mod request;
mod router;

pub use self::attributes::{AttributeError, Attributes};
pub use self::identity::{Controlling, Identity};
pub use self::node::{NodeInfo, NodeService};
pub use self::registration::{Clock, Registration};
pub use self::request::Refusal;
pub use self::router::Router;
