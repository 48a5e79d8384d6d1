//! The protobuf messages and method tables of csi-proxy's API, of CSI, of kubelet's plugin registration and of a
//! driver's lifecycle, and nothing else.
//!
//! csi-proxy speaks gRPC on Windows named pipes. Its API is divided into six groups, each with
//! versions of its own, and every group in every version is a separate gRPC service on a separate
//! pipe: 23 pipes in all. There is no negotiation: a client opens the pipe of the version that it
//! was built for, or tries several. So all of them are served, and none may ever change.
//!
//! | here | what |
//! |---|---|
//! | `disk::v1`, `filesystem::v1beta1`, ... | the messages of one group in one version |
//! | `disk::v1::rpc::PartitionDisk`, ... | a type per RPC, see [`Rpc`] |
//! | `disk::v1::GROUP`, [`GROUPS`] | the names: pipe, service, methods |
//! | [`Version`] | versions, in csi-proxy's order |
//! | [`csi::v1`] | the messages of CSI 1.13.0 |
//! | [`csi::v1::node::NodeStageVolume`], ... | a type per unary RPC, in a module per service |
//! | [`csi::v1::SERVICES`] | the names of those services |
//! | [`pluginregistration::v1`] | the same for the service that kubelet calls to register a plugin |
//! | [`lifecycle::v1`] | the same for the service by which `wincsi node drain` reaches a running driver |
//!
//! All of it is generated from `proto/` when the crate is built, so the table cannot disagree with
//! the messages. It holds no logic and does no I/O.
//!
//! # Names
//! Rust names follow Rust's rules and treat acronyms as words: the field `diskIDs` is `disk_ids`, the
//! message `DiskIDs` is `DiskIds`, the RPC `GetBIOSSerialNumber` is `GetBiosSerialNumber`. [`Group`]
//! and [`Method`] keep the names of the wire.
//!
//! # Metadata
//! wincsi's own client sends [`FORMAT_GUARD`], and its server [`CONDITION`], which are no part of csi-proxy's API.
//!
//! # Secrets
//! A message with a password or a secret, or CSI's map of secrets, shows `<redacted>` for it in debug output and wipes
//! it when dropped. Debug output shows only the keys of CSI's volume and publish contexts, because kubelet puts service
//! account tokens there; a request with secrets wipes them too. Take such a field out with [`std::mem::take`]. The
//! buffers of decoding and encoding are the business of their owners.
//!
//! # Adding a version
//! Paths are from `crates/`. A test fails until each of steps 1 to 5 is done.
//! 1. Write `wire/proto/csi-proxy/<group>/<version>.proto`: package named after the version, exactly one
//!    service, no imports, a comment on the package saying what is new, and one on each service, RPC,
//!    message, field and enum value (the compiler warns of a missing one). The build finds the file. A new group
//!    also takes its place in the registration order in `wire/build/source.rs`.
//! 2. Add its lines to `wire/tests/it/contract.txt` and the new totals to `wire/tests/it/contract.rs`, taken from
//!    csi-proxy's API and not from the new file: the test compares the two.
//! 3. Serve it: the operation in `proxy/src/operations`, the handlers in `proxy/src/groups/<group>`, called by
//!    the group's `register`, and for a new operation a row in `proxy/src/catalogue.rs`.
//! 4. Name the tests of each method in `proxy/tests/simulated/pages/evidence.rs`, and give a new operation its
//!    row in `proxy/tests/it/costs/calls.txt`.
//! 5. Run `cargo xtask docs`, which writes the pages from these tables.
//!
//! Where they apply: a field with a new name goes into `OBJECTS` of `proxy/src/audit/object.rs`, or into its test's
//! list of secrets (the test names it); `client/src/groups` calls the version if drivers are to use it through
//! `node::api`.
//!
//! A version that has been released is never edited.

#![warn(missing_docs)]

mod table;
mod version;

pub use table::{Group, Method, Rpc};
pub use version::{InvalidVersion, Stability, Version};

/// Request metadata by which a client has a wincsi server guard overwriting as [`STRICT`] says, whatever the server's
/// own setting. csi-proxy, as any gRPC server, ignores unknown metadata.
pub const FORMAT_GUARD: &str = "wincsi-format-guard";

/// The one value of [`FORMAT_GUARD`]: refuse everything that is not blank.
pub const STRICT: &str = "strict";

/// The trailer of an error with a wincsi server's finding, for wincsi's own client: a name of `node::api::Condition`.
/// Clients ignore unknown trailers.
pub const CONDITION: &str = "wincsi-condition";

include!(concat!(env!("OUT_DIR"), "/groups.rs"));
include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));
