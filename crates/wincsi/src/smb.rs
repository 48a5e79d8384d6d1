//! SMB shares: mapping them for the whole node.

pub use node::api::Smb;
pub use node::{
    Credentials, MapOutcome, MapRequest, MappingOptions, MappingStatus, Privacy, RemotePath,
    ResolvedPath, ShareMapping, SmbError, Transport, UnmapOutcome,
};
