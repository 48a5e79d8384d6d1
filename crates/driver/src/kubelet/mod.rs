//! What kubelet calls: CSI's Identity and Node services, and registration.

mod about;
mod identity;
mod node;
mod registration;
mod request;
mod router;
mod topology;

pub use self::about::ForVolume;
pub use self::identity::Identity;
pub use self::node::serve_node;
pub use self::registration::{Clock, Registration};
pub use self::request::{Refusal, Request, value};
pub use self::router::Router;
pub use self::topology::Topology;
