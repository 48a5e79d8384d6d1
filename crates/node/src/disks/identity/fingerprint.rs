//! Properties of a disk that kernel and provider both report, for an object without a path.

use formats::device_id::{Association, CodeSet, DeviceIdPage};

use super::serial::{self, Serial};
use crate::{DiskError, Node, storage};

/// The properties of a disk that both views report.
struct DiskFingerprint {
    length: u64,
    /// Its page 0x83 names as letters and digits: the kernel has all, the provider one.
    names: Vec<String>,
    serial: Option<Serial>,
}

/// Refuses a disk unless the provider's fingerprint of it is the kernel's.
///
/// # Errors
/// [`DiskError::ViewsDiffer`]; the kernel does not answer.
pub(super) fn require_same(node: &Node, disk: &storage::Disk) -> Result<(), DiskError> {
    let kernel = DiskFingerprint::of_kernel(node, disk)?;
    let provider = DiskFingerprint::of_provider(disk);
    if kernel.agrees(&provider) {
        return Ok(());
    }
    Err(DiskError::ViewsDiffer {
        disk: disk.number,
        kernel: kernel.describe(),
        provider: provider.describe(),
    })
}

impl DiskFingerprint {
    fn of_kernel(node: &Node, disk: &storage::Disk) -> Result<Self, DiskError> {
        let disks = &node.os().disks;
        let failed = DiskError::kernel(disk.number);
        let descriptor = disks.descriptor(disk.number).map_err(&failed)?;
        // Not every bus has the page, and a page that does not parse has no names.
        let page = disks.device_id_page(disk.number).ok();
        let page = page.and_then(|page| DeviceIdPage::parse(&page).ok());
        Ok(Self {
            length: disks.length(disk.number).map_err(&failed)?,
            names: names(&page.unwrap_or_default()),
            serial: Serial::of_device(&descriptor),
        })
    }

    fn of_provider(disk: &storage::Disk) -> Self {
        let name = disk.unique_id.as_deref().map(serial::unprefixed);
        Self {
            length: disk.size,
            names: name.filter(|name| !name.is_empty()).into_iter().collect(),
            serial: Serial::read(disk.serial.as_deref()),
        }
    }

    fn agrees(&self, provider: &Self) -> bool {
        self.length == provider.length
            && match provider.names.first() {
                Some(name) if !self.names.is_empty() => self.names.contains(name),
                _ => match (&self.serial, &provider.serial) {
                    (Some(ours), Some(theirs)) => ours.is(theirs),
                    _ => false,
                },
            }
    }

    fn describe(&self) -> String {
        let serial = self.serial.as_ref().map_or("none", Serial::text);
        let names = match self.names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        format!(
            "{} bytes with serial number {serial} and unique id {names}",
            self.length
        )
    }
}

/// Each identifier of the device as hexadecimal digits and, if it is text, as text too.
fn names(page: &DeviceIdPage) -> Vec<String> {
    let identifiers = page.identifiers.iter();
    let own = identifiers.filter(|identifier| identifier.association == Association::Device);
    let spelt = own.flat_map(|identifier| {
        let digits = identifier.bytes.iter().map(|byte| format!("{byte:02x}"));
        let text = match identifier.code_set {
            CodeSet::Binary => String::new(),
            _ => serial::unprefixed(&String::from_utf8_lossy(&identifier.bytes)),
        };
        [digits.collect(), text]
    });
    spelt.filter(|name: &String| !name.is_empty()).collect()
}
