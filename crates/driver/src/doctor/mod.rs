//! What `wincsi doctor` looks at.

pub mod server;
