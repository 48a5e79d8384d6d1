//! A node whose csi-proxy does the work, ours or the Go one: a driver in an ordinary container.
//!
//! ```
//! use std::time::Duration;
//!
//! use wincsi::{Feature, NodeApi, pipes};
//!
//! # let folder = tempfile::tempdir()?;
//! # let sockets = folder.path().join("sockets");
//! # let server = proxy::serve::start(&proxy::flags::Config {
//! #     listen: sockets.clone(),
//! #     simulate: Some(folder.path().join("node")),
//! #     ..Default::default()
//! # })?;
//! // `pipes::Node::pipes()` on Windows; elsewhere `csi-proxy -simulate=node -listen=sockets` serves.
//! let node = pipes::Node::sockets(&sockets);
//! # let place = move |group: &pipes::Group| pipes::Endpoint::local(&sockets, &group.pipe_name());
//! # let node = pipes::Node::at(place, pipes::Options::default());
//! node.disks().rescan(node.deadline(Duration::from_secs(60)))?;
//! assert!(!node.supports(Feature::MapOptions));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each group in each version is a pipe of its own; the newest that the proxy has is called. The page of the crate
//! `wincsi-client` says what a restart of the proxy means, and whose pipes are trusted.

pub use client::{Endpoint, EndpointError, Group, Node, Options, Owner};
