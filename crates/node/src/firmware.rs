//! What the firmware says of the machine.

use formats::smbios::{SmbiosError, System};
use os::Deadline;

use crate::{Node, Unfinished};

/// The operations on the firmware's tables of a [`Node`].
pub struct Firmware<'a> {
    node: &'a Node,
}

impl<'a> Firmware<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// The machine's serial number, without the blanks around it, which csi-proxy keeps. A virtual
    /// machine's may be its identity (`VMware-56 4d ...`).
    ///
    /// # Errors
    /// The firmware has no tables, or no serial number: an empty one would be every machine's.
    pub fn serial_number(&self, deadline: Deadline) -> Result<String, FirmwareError> {
        self.node
            .check(deadline, "read", &"the firmware's tables")?;
        let table = self.node.os().firmware.smbios()?;
        System::parse(&table)?
            .serial
            .ok_or(FirmwareError::NoSerialNumber)
    }
}

/// The firmware does not say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FirmwareError {
    /// The serial number is missing or blank.
    #[error("failed to get the BIOS serial number: the firmware gives none")]
    NoSerialNumber,
    /// There are no tables.
    #[error("failed to get the BIOS serial number: {0}")]
    Os(#[from] os::Error),
    /// The tables do not read.
    #[error("failed to get the BIOS serial number: {0}")]
    Table(#[from] SmbiosError),
    /// It did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
