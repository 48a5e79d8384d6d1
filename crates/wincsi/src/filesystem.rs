//! Files, directories and links: what a driver publishes with.

pub use node::api::Filesystem;
