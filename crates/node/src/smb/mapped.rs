//! What came of a mapping that was asked for.

/// How a share came to be mapped. Every mapping that [`Smb::map`](super::Smb::map) succeeds with has what is
/// demanded of it; whose credentials it has, and what Windows does not tell of it, depends on who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapOutcome {
    /// The mapping is new, with these credentials and options; one that was broken may have been removed
    /// before.
    Made,
    /// This process made the mapping, with the same credentials and options, unless another process replaced it
    /// since: Windows tells neither the user of a mapping nor when it was made.
    Reused,
    /// This process made the mapping, with other credentials or options, and those hold, unless another process
    /// replaced it since: whatever is done on this share is done as the first user. A driver whose volumes have users of their own refuses to stage
    /// this one. A driver that knows its secret to be rotated may go on: the session lives by the old secret,
    /// and the new one is used once no volume of the share is left and it is unmapped.
    ReusedWithOther,
    /// Another process made the mapping: another driver, or this one before its restart. So a driver takes it
    /// for the same only where it must be: where all volumes of the share have one user, or where the driver
    /// keeps with its own records of a stage by whom the share was mapped.
    ReusedUnknown,
    /// csi-proxy's protocol does not say. A driver that has to know asks for it in this process, or has one
    /// user for each server.
    Unreported,
}
