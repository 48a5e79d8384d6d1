//! What kubelet calls: CSI's Identity and Node services, and registration.

mod identity;
mod node;
mod registration;
mod request;
mod router;
mod topology;

pub use self::identity::{Accessibility, Controlling, Identity};
pub use self::node::{NodeInfo, NodeService};
pub use self::registration::{Clock, Registration};
pub use self::request::{Refusal, format_rows};
pub use self::router::Router;
pub use self::topology::Topology;
pub use crate::kinds::disk::{AttributeError, Attributes, Luns, attribute_rows};
pub use crate::kinds::share::attributes::{
    OptionError, SecretError, ShareRequests, ShareRules, SourceError, Strictness, option_rows,
};
