//! What came of a mapping that was asked for, or was to be removed.

/// How a share came to be mapped. Every mapping that [`Smb::map`](super::Smb::map) succeeds with has what is
/// demanded of it; whose credentials it has, and what Windows does not tell of it, depends on who made it. What this
/// process knows of its own mappings holds unless another process replaced one since. Secrets are compared by a
/// hash under a key that this process drew, and are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapOutcome {
    /// The mapping is new, with these credentials and options; one that was broken may have been removed
    /// before.
    Made,
    /// This process made the mapping, with the same credentials and options: Windows tells neither the user of a
    /// mapping nor when it was made.
    Reused,
    /// This process made the mapping as this user with this secret, and with other options, which hold. What this
    /// call demands of it holds as well, as far as Windows tells.
    ReusedOtherOptions,
    /// This process made the mapping as this user with another secret, perhaps with other options too. A driver that
    /// knows its secret to be rotated may go on: the session lives by the old secret, and the new one is used once
    /// no volume of the share is left and it is unmapped. Nobody has checked the new one.
    ReusedOtherSecret,
    /// This process made the mapping as another user, and whatever is done on this share is done as that one. A
    /// driver whose volumes have users of their own refuses to stage this one.
    ReusedOtherUser,
    /// Another process made the mapping: another driver, or this one before its restart. So a driver takes it
    /// for the same only where it must be: where all volumes of the share have one user, or where the driver
    /// keeps with its own records of a stage by whom the share was mapped.
    ReusedUnknown,
    /// csi-proxy's protocol does not say. A driver that has to know asks for it in this process, or has one
    /// user for each server.
    Unreported,
}

/// What [`Smb::unmap_unless`](super::Smb::unmap_unless) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnmapOutcome {
    /// Somebody uses the share, so it is mapped as before.
    InUse,
    /// The mapping is removed.
    Unmapped,
}
