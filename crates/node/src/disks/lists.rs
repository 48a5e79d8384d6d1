//! Lists of a node's disks.

use std::collections::BTreeMap;

use formats::device_id::DeviceIdPage;
use formats::location::Location;
use os::schema::disk;
use os::{Cause, Deadline, DiskNumber, Instance, Query, Win32};

use super::find::Kernel;
use super::identity::serial::{self, Serial};
use super::identity::{self, Proof};
use super::{DiskError, guard};
use crate::provider::ProviderError;
use crate::{Disks, Node, in_flight, local_rows, storage};

/// The identifiers of a disk.
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
    /// Makes both from texts in the form of the fields.
    #[must_use]
    pub fn new(page83: impl Into<String>, serial: impl Into<String>) -> Self {
        Self {
            page83: page83.into(),
            serial: serial.into(),
        }
    }
}

#[allow(missing_docs, reason = "documented in `api::Disks`")]
impl Disks<'_> {
    pub fn locations(
        &self,
        deadline: Deadline,
    ) -> Result<BTreeMap<DiskNumber, Location>, DiskError> {
        let rows = rows(
            self.node,
            &[disk::NUMBER.name, disk::LOCATION.name],
            deadline,
        )?;
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

    /// A disk that does not answer is left out: the owners of the others need their disks.
    pub fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>, DiskError> {
        const SELECT: &[&str] = &[disk::NUMBER.name, disk::PATH.name, disk::SERIAL_NUMBER.name];
        let rows = rows(self.node, SELECT, deadline)?;
        let asked = in_flight::each(
            self.node,
            "list disks",
            deadline,
            rows,
            |node, (number, row)| Ok((*number, ids_of(node, *number, row)?)),
        )?;
        let reported = asked.into_iter().filter_map(|asked| match asked {
            Ok((number, ids)) => ids.map(|ids| Ok((number, ids))),
            Err(error) => Some(Err(error)),
        });
        reported.collect()
    }

    /// Disks that are never written are no candidates, and neither are disks that do not answer: one
    /// dead disk must not keep all others from being found.
    pub fn by_page83(&self, wanted: &str, deadline: Deadline) -> Result<DiskNumber, DiskError> {
        let page83 = wanted.to_owned();
        if wanted.is_empty() {
            // Disks without an identifier have none to match.
            return Err(DiskError::NoSuchPage83 { page83 });
        }
        let rows = rows(self.node, storage::Disk::SELECT, deadline)?;
        let wanted = page83.clone();
        let asked = in_flight::each(
            self.node,
            "find disk",
            deadline,
            rows,
            move |node, (number, row)| {
                if reported_page83(node, *number).is_none_or(|own| own != wanted) {
                    return Ok(None);
                }
                let disk = storage::Disk::read(*number, row.clone())?;
                let guarded = guard::of_candidate(node, &disk, deadline)?;
                Ok(guarded.is_none().then_some(*number))
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

/// The storage provider's row of a disk, without its number.
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

    /// The provider's serial number, in the spelling that drivers know, unless the kernel has another disk
    /// under this number: one disk's number must not be listed with another's serial.
    ///
    /// A disk in the slot of a previous one is still listed with the previous serial number until the
    /// provider refreshes: both have the same path. csi-proxy's list has the same gap. Querying each disk's
    /// serial number would cost a third handle for each disk, where csi-proxy opens one. A search in this
    /// process does query it ([`Listed::serial_by_source`]).
    fn serial(&self, node: &Node, number: DiskNumber) -> String {
        let is_of = self.is_of(node, number);
        match serial::known(self.serial).filter(|_| is_of == Some(true)) {
            Some(known) => known,
            None => {
                let descriptor = node.os().disks.descriptor(number).ok();
                let own = descriptor.as_ref().and_then(Serial::of_device);
                let reported = self.agreed_serial(number, own, is_of);
                reported.text().unwrap_or_default().to_owned()
            }
        }
    }

    /// The serial number and its source, which distinguish a disk from the previous one in its
    /// slot.
    pub(super) fn serial_by_source(&self, node: &Node, kernel: &Kernel) -> SerialSource {
        let number = kernel.facts.number;
        let is_of = match kernel.is_by_path {
            true => Some(true),
            false => self.is_of(node, number),
        };
        self.agreed_serial(number, kernel.serial(), is_of)
    }

    /// Whether the path leads to the disk of this number; `None` if unknown.
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

    /// Compares only the texts, unless the provider means another disk.
    fn agreed_serial(
        &self,
        number: DiskNumber,
        own: Option<Serial>,
        is_of: Option<bool>,
    ) -> SerialSource {
        match (own, Serial::read(self.serial)) {
            (own, _) if is_of == Some(false) => {
                own.map_or(SerialSource::Nobody, SerialSource::KernelAlone)
            }
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

/// A disk's serial number, by its source.
pub(super) enum SerialSource {
    /// The kernel reports it and the provider does not contradict; as the provider spells it.
    Kernel(Serial),
    /// The kernel reports it, but the provider means another disk.
    KernelAlone(Serial),
    /// Only the provider reports it; it may be the previous disk's.
    ProviderAlone(Serial),
    /// Neither reports one.
    Nobody,
}

impl SerialSource {
    /// The serial number without padding.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Kernel(reported)
            | Self::KernelAlone(reported)
            | Self::ProviderAlone(reported) => Some(reported.text()),
            Self::Nobody => None,
        }
    }
}

/// Returns `None` for a disk that does not answer.
fn reported_page83(node: &Node, number: DiskNumber) -> Option<String> {
    let page = page(node, number).inspect_err(
        |error| tracing::warn!(disk = number.0, %error, "a disk does not say its ids"),
    );
    Some(page.ok()?.page83_text())
}

pub(super) fn page(node: &Node, number: DiskNumber) -> os::Result<DeviceIdPage> {
    read_page(number, node.os().disks.device_id_page(number))
}

/// A disk that refuses the query as unknown has no identifiers. The three refusals are those of the control code's
/// page, as Win32 codes; no run has shown which Windows returns for which bus. All other disks accept the same
/// query, so "invalid parameter" means the property. Any other code counts as silence.
///
/// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_query_property>
pub(super) fn read_page(
    number: DiskNumber,
    answer: os::Result<Vec<u8>>,
) -> os::Result<DeviceIdPage> {
    let page = match answer {
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
    let rows = local_rows::query(node, &query, deadline)?;
    let numbered = rows.into_iter().map(|row| {
        let number = row.u32_or_null(disk::NUMBER.name)?;
        Ok(number.map(|number| (DiskNumber(number), row)))
    });
    numbered.filter_map(Result::transpose).collect()
}
