//! iSCSI: portals, targets and sessions.

pub use node::api::Iscsi;
pub use node::{
    Authentication, Chap, ChapSecret, Connected, LoginOptions, Portal, SessionInfo, TargetName,
};
