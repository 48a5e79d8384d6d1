//! The table of Windows's WMI classes, as pure `const` data.
//!
//! The native client and the simulated node never meet on Windows here, so a name or a type that
//! both got wrong would pass every test and fail on the first real node. Both therefore take every
//! class, property, method, parameter, value and return code from this table, and nothing from
//! memory: the client has no strings of its own, and the simulator answers only what a row allows.
//! What is not in the table does not exist for either of them.
//!
//! A row is a constant and is handed over as such, so a misspelt name does not compile:
//!
//! ```
//! use wincsi_os::schema::{self, CimType, disk};
//!
//! assert_eq!(disk::NUMBER.name, "Number");
//! assert_eq!(disk::NUMBER.cim, CimType::Uint32);
//! assert_eq!(disk::partition_style::GPT.value, 2);
//! let class = schema::class("msft_disk").unwrap(); // WMI compares names without case
//! assert_eq!(class.method("initialize"), Some(&disk::INITIALIZE));
//! ```
//!
//! # How far a row can be trusted
//!
//! Every row says where it was read, see [`Source`]. Microsoft's class pages are "simplified from
//! MOF": they leave out properties and parameters that later builds added, and print arrays as
//! scalars. Where a page and the class definition of a real Windows disagree, the definition wins
//! and the row cites it. Nothing here was read on a Windows of our own.
//! A test compares names, keys, types and codes with the recorded repository of a Windows 11, and lists each difference.
//!
//! Every class and method has a page of Microsoft's. What the pages leave out is in definitions that Microsoft
//! generated, or in a public copy of the PowerShell modules that ship with Windows ([`Source::Module`]). Six constants
//! are [`Source::Unverified`], each with the assumption and its reason: the return codes of the storage setting, of SMB
//! global mappings and of the iSCSI classes, the keys of an SMB global mapping, its numbers of transports, and the
//! meanings of an error object's types. The suite for Windows has an assumption for each.

//! # Rows that no operation asks for
//! A row stays while something observes it, beside operations:
//! - values: the simulator refuses an argument or answer that its list lacks;
//! - properties and parameters of storage, SMB and iSCSI: os-windows-testkit's tests send and read each one
//!   as its type;
//! - codes: an error's text has the meaning;
//! - what [`disk`], [`partition`], [`volume`], [`storage_object`] and [`bios`] only describe: recorded answers
//!   of real Windows have it, for simulated nodes that answer so;
//! - [`service`]: the tests of the native provider on Wine's own `Win32_Service`.

#[macro_use]
mod rows;

mod cim;
mod model;

pub mod bios;
pub mod codes;
pub mod disk;
pub mod disk_to_partition;
pub mod extended_status;
pub mod iscsi_associations;
pub mod iscsi_codes;
pub mod iscsi_connection;
pub mod iscsi_session;
pub mod iscsi_target;
pub mod iscsi_target_portal;
pub mod partition;
pub mod partition_to_volume;
pub mod process;
pub mod service;
pub mod smb_global_mapping;
pub mod storage_object;
pub mod storage_setting;
pub mod volume;
pub mod wmi_error;

pub use cim::{Automation, CimType};
pub use model::{
    Build, Class, Direction, Method, NamedText, NamedValue, Namespace, Parameter, Property,
    ReturnCode, Returns, Scope, Source, Values,
};

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

/// Every class of the table, bases before what derives from them.
pub const CLASSES: &[&Class] = &[
    &storage_object::CLASS,
    &disk::CLASS,
    &partition::CLASS,
    &volume::CLASS,
    &disk_to_partition::CLASS,
    &partition_to_volume::CLASS,
    &storage_setting::CLASS,
    &extended_status::CIM_ERROR,
    &extended_status::CLASS,
    &iscsi_target_portal::CLASS,
    &iscsi_target::CLASS,
    &iscsi_session::CLASS,
    &iscsi_connection::CLASS,
    &iscsi_associations::target_to_target_portal::CLASS,
    &iscsi_associations::target_to_session::CLASS,
    &iscsi_associations::target_to_connection::CLASS,
    &iscsi_associations::session_to_connection::CLASS,
    &iscsi_associations::session_to_disk::CLASS,
    &iscsi_associations::connection_to_disk::CLASS,
    &smb_global_mapping::CLASS,
    &wmi_error::CLASS,
    &service::BASE,
    &service::CLASS,
    &bios::ELEMENT,
    &bios::CLASS,
    &process::CLASS,
];

/// The class of this name, compared without case as WMI does.
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES
        .iter()
        .copied()
        .find(|class| class.name.eq_ignore_ascii_case(name))
}
