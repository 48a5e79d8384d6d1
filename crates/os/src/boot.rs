use std::time::Duration;

use crate::{Error, Result, WinPath};

/// The firmware's tables.
pub trait Firmware: Send + Sync {
    /// The raw SMBIOS table (`GetSystemFirmwareTable('RSMB')`), its `RawSMBIOSData` header included.
    ///
    /// # Errors
    /// The firmware has none.
    fn smbios(&self) -> Result<Vec<u8>>;
}

/// Properties that hold from one boot to the next.
pub trait Boot: Send + Sync {
    /// An id of this boot: disk numbers and mappings do not outlive the boot. It is the same for all processes,
    /// and ids can only be compared for equality.
    ///
    /// # Errors
    /// The system does not report it.
    fn boot_id(&self) -> Result<BootId>;

    /// The DNS host name of this machine, also where it is a cluster's, as the system spells it
    /// (`GetComputerNameExW` with `ComputerNamePhysicalDnsHostname`). It is read at the system's start.
    ///
    /// A driver's node id, and what a report of a node is headed with, are its two uses.
    ///
    /// # Errors
    /// The system does not say.
    fn computer_name(&self) -> Result<String>;

    /// Where the system writes its memory: disks that hold these files are never touched.
    ///
    /// # Errors
    /// The system reports nothing; a caller must then treat every disk as if it held one. A part that it does not
    /// report is [`Paging::unknown`].
    fn paging(&self) -> Result<Paging>;
}

/// The identity of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BootId(pub String);

/// Where page files and crash dumps live.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paging {
    /// The page files in use, as far as they are known.
    pub page_files: Vec<WinPath>,
    /// Where a crash dump would go, if anywhere and if that is known.
    pub crash_dump: Option<WinPath>,
    /// Why there may be others; none where these are all.
    pub unknown: Option<Error>,
}

/// The system's event log.
pub trait EventLog: Send + Sync {
    /// Writes one event.
    ///
    /// # Errors
    /// The log does not take it.
    fn report(&self, event: &Event) -> Result<()>;
}

/// One event for the system's event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How grave it is.
    pub level: EventLevel,
    /// The event's number within our source.
    pub id: u32,
    /// The text.
    pub message: String,
}

/// How grave an [`Event`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventLevel {
    /// Something failed.
    Error,
    /// For the record.
    Information,
    /// Something may fail.
    Warning,
}

/// The node's sockets: the state of the `afunix` driver, without which no Unix socket works on Windows, and
/// whether another machine answers.
pub trait AfUnix: Send + Sync {
    /// Whether sockets of the family can be made now.
    ///
    /// # Errors
    /// The system does not say.
    fn is_available(&self) -> Result<bool>;

    /// Connects to a TCP port of a machine by its name or address, and closes the connection at once: shows
    /// whether the port accepts connections. Meant for an SMB server whose share does not answer, and for the
    /// portal of an iSCSI target. The name's look-up is not within the bound: a caller who must not wait needs a
    /// thread for it.
    ///
    /// # Errors
    /// The code of Windows Sockets: the port refuses (10061), the host does not answer within that time (10060),
    /// or there is no such name (11001).
    fn connect(&self, host: &str, port: u16, within: Duration) -> Result<()>;
}
