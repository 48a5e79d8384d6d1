//! What a node says of its disks.

use std::collections::BTreeMap;

use formats::device_id::DeviceIdPage;
use formats::location::Location;
use os::schema::disk;
use os::{Cause, Deadline, DiskNumber, Instance, Query, Win32};

use super::DiskError;
use super::guard::{self, ChangeScope};
use super::identity::serial::{self, Serial};
use super::identity::{self, Proof};
use crate::provider::ProviderError;
use crate::{Node, in_flight, own_rows, storage};

/// By what a disk is told from all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskIds {
    /// The first device identifier of SCSI page 0x83: text as it is, binary as lower-case hex; empty
    /// when the disk has none.
    pub page83: String,
    /// The serial number without blanks around it; empty when the disk has none.
    pub serial: String,
}

impl DiskIds {
    /// Both as the fields have them.
    #[must_use]
    pub fn new(page83: impl Into<String>, serial: impl Into<String>) -> Self {
        Self {
            page83: page83.into(),
            serial: serial.into(),
        }
    }
}

pub(super) fn locations(
    node: &Node,
    deadline: Deadline,
) -> Result<BTreeMap<DiskNumber, Location>, DiskError> {
    let rows = rows(node, &[disk::NUMBER.name, disk::LOCATION.name], deadline)?;
    let mut locations = BTreeMap::new();
    for (number, row) in rows {
        let text = row
            .text_or_null(disk::LOCATION.name)
            .map_err(ProviderError::from)?;
        match Location::parse(text.unwrap_or_default()) {
            Ok(location) => {
                locations.insert(number, location);
            }
            Err(error) => tracing::debug!(disk = number.0, %error, "a disk has no location"),
        }
    }
    Ok(locations)
}

/// A disk that does not answer is left out: the others' owners need theirs.
pub(super) fn ids(
    node: &Node,
    deadline: Deadline,
) -> Result<BTreeMap<DiskNumber, DiskIds>, DiskError> {
    const SELECT: &[&str] = &[disk::NUMBER.name, disk::PATH.name, disk::SERIAL_NUMBER.name];
    let rows = rows(node, SELECT, deadline)?;
    let asked = in_flight::each(node, "list disks", deadline, rows, |node, (number, row)| {
        Ok((*number, ids_of(node, *number, row)?))
    })?;
    let reported = asked.into_iter().filter_map(|asked| match asked {
        Ok((number, ids)) => ids.map(|ids| Ok((number, ids))),
        Err(error) => Some(Err(error)),
    });
    reported.collect()
}

fn ids_of(
    node: &Node,
    number: DiskNumber,
    row: &Instance,
) -> Result<Option<DiskIds>, ProviderError> {
    let listed = Listed::read(row)?;
    Ok(reported_page83(node, number).map(|page83| DiskIds {
        page83,
        serial: listed.serial(node, number),
    }))
}

/// What the provider says of a disk beside its number.
pub(super) struct Listed<'a> {
    path: Option<&'a str>,
    serial: Option<&'a str>,
}

impl<'a> Listed<'a> {
    pub(super) fn read(row: &'a Instance) -> Result<Self, ProviderError> {
        let path = row.text_or_null(disk::PATH.name)?;
        Ok(Self {
            path: path.filter(|path| !path.is_empty()),
            serial: row.text_or_null(disk::SERIAL_NUMBER.name)?,
        })
    }

    /// The provider's serial number, as drivers know it, unless the kernel has another disk under this
    /// number: nobody may be handed one disk's number with another's serial.
    ///
    /// It is still handed out of a disk in the slot of another until the provider looks again: both have the
    /// same path. csi-proxy's list has the same gap, and to ask each disk for its serial number as well would
    /// cost a handle more for each than the two that it costs now, where csi-proxy opens one. Who looks for a
    /// disk in this process asks it ([`Listed::serial_by_source`]).
    fn serial(&self, node: &Node, number: DiskNumber) -> String {
        let known = serial::known(self.serial);
        let reported = match (self.is_of(node, number), known) {
            (Some(true), Some(known)) => return known,
            (Some(false), _) => kernel_serial(node, number),
            _ => self.agreed_serial(node, number),
        };
        reported.text().unwrap_or_default().to_owned()
    }

    /// The serial number by which a disk is told from the one that was in its slot before.
    pub(super) fn serial_by_source(&self, node: &Node, number: DiskNumber) -> SerialSource {
        match self.is_of(node, number) {
            Some(false) => kernel_serial(node, number),
            _ => self.agreed_serial(node, number),
        }
    }

    /// Whether the path leads to the disk of this number; none where that is not known.
    fn is_of(&self, node: &Node, number: DiskNumber) -> Option<bool> {
        match identity::require_number(node, number, self.path?) {
            Ok(Proof::ByPath) => Some(true),
            Ok(Proof::None) => None,
            Err(error @ DiskError::ViewsDiffer { .. }) => {
                tracing::warn!(%error, "the storage provider has another disk in mind");
                Some(false)
            }
            Err(_) => None,
        }
    }

    /// By the texts alone.
    fn agreed_serial(&self, node: &Node, number: DiskNumber) -> SerialSource {
        let listed = Serial::read(self.serial);
        match (own_serial(node, number), listed) {
            (Some(own), Some(listed)) if own.is(&listed) => SerialSource::Kernel(listed),
            (Some(own), None) => SerialSource::Kernel(own),
            (Some(own), Some(listed)) => {
                let (kernel, provider) = (own.text(), listed.text());
                tracing::warn!(disk = number.0, kernel, provider, "serial numbers differ");
                SerialSource::KernelAlone(own)
            }
            (None, Some(listed)) => SerialSource::ProviderAlone(listed),
            (None, None) => SerialSource::Nobody,
        }
    }
}

/// A disk's serial number, by who tells it.
pub(super) enum SerialSource {
    /// The kernel, and the provider no other; as the provider spells it.
    Kernel(Serial),
    /// The kernel, while the provider has another disk in mind.
    KernelAlone(Serial),
    /// The provider, of this disk or of the one before it.
    ProviderAlone(Serial),
    /// Neither.
    Nobody,
}

impl SerialSource {
    /// As it was told, without padding.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Kernel(reported)
            | Self::KernelAlone(reported)
            | Self::ProviderAlone(reported) => Some(reported.text()),
            Self::Nobody => None,
        }
    }
}

/// Where the provider has another disk in mind.
fn kernel_serial(node: &Node, number: DiskNumber) -> SerialSource {
    own_serial(node, number).map_or(SerialSource::Nobody, SerialSource::KernelAlone)
}

fn own_serial(node: &Node, number: DiskNumber) -> Option<Serial> {
    let descriptor = node.os().disks.descriptor(number).ok()?;
    Serial::of_device(&descriptor)
}

/// Disks that are never written are no candidates, and neither are such as do not say what they are:
/// one dead disk must not keep all others from being found.
pub(super) fn by_page83(
    node: &Node,
    wanted: &str,
    deadline: Deadline,
) -> Result<DiskNumber, DiskError> {
    let page83 = wanted.to_owned();
    if wanted.is_empty() {
        // Disks without an identifier have none that could be asked for.
        return Err(DiskError::NoSuchPage83 { page83 });
    }
    let rows = rows(node, storage::Disk::SELECT, deadline)?;
    let wanted = page83.clone();
    let asked = in_flight::each(
        node,
        "find disk",
        deadline,
        rows,
        move |node, (number, row)| {
            if reported_page83(node, *number).is_none_or(|own| own != wanted) {
                return Ok(None);
            }
            let disk = storage::Disk::read(*number, row.clone())?;
            Ok(is_candidate(node, &disk, deadline)?.then_some(*number))
        },
    )?;
    let asked: Result<Vec<_>, DiskError> =
        asked.into_iter().filter_map(Result::transpose).collect();
    let found = asked?;
    match found.as_slice() {
        [] => Err(DiskError::NoSuchPage83 { page83 }),
        [one] => Ok(*one),
        _ => Err(DiskError::SeveralPage83 {
            page83,
            disks: found,
        }),
    }
}

fn is_candidate(node: &Node, disk: &storage::Disk, deadline: Deadline) -> Result<bool, DiskError> {
    let layout = node.os().disks.layout(disk.number);
    let layout = layout.map_err(DiskError::kernel(disk.number))?;
    match guard::refuse(node, disk, &layout, ChangeScope::Blank, deadline) {
        Err(DiskError::Guarded { .. }) => Ok(false),
        other => other.map(|()| true),
    }
}

/// None of a disk that does not answer.
fn reported_page83(node: &Node, number: DiskNumber) -> Option<String> {
    let page = page(node, number).inspect_err(
        |error| tracing::warn!(disk = number.0, %error, "a disk does not say its ids"),
    );
    Some(page.ok()?.page83_text())
}

/// A disk that refuses the question as one that it does not know has no identifiers. The refusals are the three that
/// the control code's page has, as Win32 says them; which Windows gives of which bus has not been seen. The same
/// question is well formed to all other disks, so an invalid parameter is the property. Any other code is silence.
///
/// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_query_property>
pub(super) fn page(node: &Node, number: DiskNumber) -> os::Result<DeviceIdPage> {
    let page = match node.os().disks.device_id_page(number) {
        Err(error) if is_unknown_question(&error) => return Ok(DeviceIdPage::default()),
        page => page?,
    };
    DeviceIdPage::parse(&page).map_err(|error| {
        let cause = Cause::Malformed(error.to_string());
        os::Error::new(
            "IOCTL_STORAGE_QUERY_PROPERTY",
            format!("disk {number}"),
            cause,
        )
    })
}

fn is_unknown_question(error: &os::Error) -> bool {
    let refusals = [
        Win32::INVALID_FUNCTION,
        Win32::INVALID_PARAMETER,
        Win32::NOT_SUPPORTED,
    ];
    error.win32().is_some_and(|code| refusals.contains(&code))
}

pub(super) fn rows(
    node: &Node,
    select: &[&'static str],
    deadline: Deadline,
) -> Result<Vec<(DiskNumber, Instance)>, ProviderError> {
    let query = Query::all(disk::CLASS.name, select);
    let rows = own_rows::query(node, &query, deadline)?;
    let numbered = rows.into_iter().map(|row| {
        let number = row.u32_or_null(disk::NUMBER.name)?;
        Ok(number.map(|number| (DiskNumber(number), row)))
    });
    numbered.filter_map(Result::transpose).collect()
}
