//! The firmware's description of the machine.

use std::fmt;

use formats::smbios::{SmbiosError, System};
use os::Deadline;

use crate::{Firmware, Unfinished};

#[allow(missing_docs, reason = "documented in `api::System`")]
impl<'a> Firmware<'a> {
    pub fn serial_number(&self, deadline: Deadline) -> Result<String, FirmwareError> {
        let wanted = Identity::SerialNumber;
        let system = self.system(wanted, deadline)?;
        system.serial.ok_or(FirmwareError::Missing { wanted })
    }

    pub fn uuid(&self, deadline: Deadline) -> Result<String, FirmwareError> {
        let wanted = Identity::Uuid;
        let system = self.system(wanted, deadline)?;
        let uuid = system.uuid.ok_or(FirmwareError::Missing { wanted })?;
        Ok(format!("{:X}", uuid.hyphenated()))
    }

    fn system(&self, wanted: Identity, deadline: Deadline) -> Result<System, FirmwareError> {
        self.node
            .check(deadline, "read", &"the firmware's tables")?;
        let table = self.node.os().firmware.smbios();
        let table = table.map_err(|source| FirmwareError::Os { wanted, source })?;
        System::parse(&table).map_err(|source| FirmwareError::Table { wanted, source })
    }
}

/// An identifier of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Identity {
    /// Its serial number.
    SerialNumber,
    /// Its UUID.
    Uuid,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SerialNumber => "serial number",
            Self::Uuid => "UUID",
        })
    }
}

/// The firmware does not say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum FirmwareError {
    /// It is missing or blank.
    #[error("failed to get the BIOS {wanted}: the firmware gives none")]
    Missing { wanted: Identity },
    /// There are no tables.
    #[error("failed to get the BIOS {wanted}: {source}")]
    Os { wanted: Identity, source: os::Error },
    /// The tables do not read.
    #[error("failed to get the BIOS {wanted}: {source}")]
    Table {
        wanted: Identity,
        source: SmbiosError,
    },
    /// It did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
