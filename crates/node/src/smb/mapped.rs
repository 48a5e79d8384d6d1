//! The results of mapping and unmapping a share.

/// How a share came to be mapped. Every mapping that [`Smb::map`](crate::api::Smb::map) returns meets the demands of the
/// call. Its credentials, and the properties that Windows does not report, depend on who made it. What this process
/// knows of its own mappings holds unless another process replaced one since. Secrets are compared by a hash under a
/// random key of this process, and are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapOutcome {
    /// The mapping is new, with these credentials and options; a broken one may have been removed
    /// before.
    Made,
    /// This process made the mapping, with the same credentials and options. Windows reports neither the user of
    /// a mapping nor when it was made.
    Reused,
    /// This process made the mapping as this user with this secret, but with other options, which stay in force.
    /// The mapping meets the demands of this call as well, as far as Windows reports.
    ReusedOtherOptions,
    /// This process made the mapping as this user with another secret, perhaps with other options too. A driver that
    /// knows its secret to be rotated may go on: the session uses the old secret until no volume of the share is
    /// left and it is unmapped. Nobody has checked the new one.
    ReusedOtherSecret,
    /// This process made the mapping as another user, and all access to this share is that user's. A driver
    /// whose volumes have users of their own refuses to stage this one.
    ReusedOtherUser,
    /// Another process made the mapping: another driver, or this one before its restart. A driver may accept
    /// it only if it must be the same: if all volumes of the share have one user, or if the driver records
    /// for each stage who mapped the share.
    ReusedUnknown,
    /// csi-proxy's protocol does not report it. A driver that must know calls this library in its own
    /// process, or has one user for each server.
    Unreported,
}

/// What [`Smb::unmap_unless`](crate::api::Smb::unmap_unless) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnmapOutcome {
    /// The share is in use, so it stays mapped.
    InUse,
    /// The mapping is removed.
    Unmapped,
}
