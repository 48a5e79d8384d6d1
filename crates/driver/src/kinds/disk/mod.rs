//! Disks that a cloud's controller attaches to the node.

mod attributes;

pub use self::attributes::{AttributeError, Attributes, Luns, attribute_rows};
