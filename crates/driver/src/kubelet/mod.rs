//! What kubelet calls: CSI's Identity and Node services, and registration.

mod attributes;
mod identity;
mod node;
mod registration;
mod request;
mod router;
mod share;
mod topology;

pub use self::attributes::{AttributeError, Attributes, Luns, attribute_rows};
pub use self::identity::{Accessibility, Controlling, Identity};
pub use self::node::{NodeInfo, NodeService};
pub use self::registration::{Clock, Registration};
pub use self::request::{Refusal, format_rows};
pub use self::router::Router;
pub use self::share::{
    OptionError, SecretError, ShareRequests, ShareRules, SourceError, Strictness, option_rows,
};
pub use self::topology::Topology;
