//! Turns a volume's attributes into the query that finds its disk.

use std::collections::BTreeMap;

use wincsi::disks::{
    Criterion, DiskQuery, NamespaceConvention, NotEnough, Page83, SerialNumber, TrivialName,
};

use crate::kubelet::Request;

/// What a controller, or the author of a PV, wrote about a volume.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The volume's handle, which EBS names its disks by.
    pub handle: &'a str,
    /// From ControllerPublishVolume.
    pub publish: &'a BTreeMap<String, String>,
    /// From CreateVolume, or of the PV.
    pub volume: &'a BTreeMap<String, String>,
}

/// What azuredisk's key `LUN` counts on this node: nothing in a request tells it, and it takes the adapter to identify a
/// disk, because the system disk and the temporary disk have LUNs too, at another adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Luns {
    /// Nobody told.
    #[default]
    Unknown,
    /// SCSI LUNs of this adapter.
    Scsi { adapter: u32 },
    /// Namespaces of the NVMe controller at this adapter, from the second on.
    Nvme { adapter: u32 },
}

#[derive(Debug, thiserror::Error)]
pub enum AttributeError {
    #[error("{0}; a disk is identified by {keys} in the publish context or the volume's attributes", keys = keys().join(", "))]
    NotEnough(NotEnough),
    #[error("the attribute {key} is {value:?}: {reason}")]
    Value {
        key: &'static str,
        value: String,
        reason: String,
    },
}

/// A key, where it comes from, and the criteria that it gives.
type Row = (&'static str, &'static str, Read);

type Read = fn(&str, Luns) -> Result<Vec<Criterion>, String>;

/// All keys that are there must hold.
const TABLE: &[Row] = &[
    (
        "page83",
        "any: one of the disk's identifiers of SCSI page 0x83",
        |text, _| page83(text),
    ),
    (
        "diskUUID",
        "vSphere's publish context; needs disk.EnableUUID",
        |text, _| page83(&text.replace('-', "")),
    ),
    (
        "deviceName",
        "GCE: the name by which the disk is attached, as an attribute of the volume: its controller is not known to pass it",
        |text, _| page83(text),
    ),
    (
        "serialNumber",
        "any: the disk's serial number",
        |text, _| serial(text),
    ),
    (
        "adapter",
        "any: the number of the disk's adapter",
        |text, _| place(text, Criterion::Adapter),
    ),
    ("port", "any: the adapter's port", |text, _| {
        place(text, Criterion::Port)
    }),
    ("target", "any: the SCSI target", |text, _| {
        place(text, Criterion::Target)
    }),
    ("lun", "any: the SCSI LUN", |text, _| {
        place(text, Criterion::Lun)
    }),
    ("namespace", "any: the NVMe namespace, from 1", |text, _| {
        place(text, Criterion::Namespace)
    }),
    (
        "LUN",
        "Azure's publish context; needs `-azure-luns` or `adapter`",
        azure_lun,
    ),
];

/// EBS has no key for it: the disk's serial number is the volume's handle
/// (<https://docs.aws.amazon.com/ebs/latest/userguide/nvme-ebs-volumes.html>).
const EBS: &str = "vol-";

impl Attributes<'_> {
    /// The query for the disk. The publish context goes before the volume's attributes, as it is of this attachment.
    ///
    /// # Errors
    /// A value is none, or all of them do not identify one disk.
    pub fn query(&self, luns: Luns) -> Result<DiskQuery, AttributeError> {
        let mut criteria = Vec::new();
        for (key, _, read) in TABLE {
            let Some(value) = self.value(key) else {
                continue;
            };
            let wrong = |reason| {
                let value = value.to_owned();
                AttributeError::Value { key, value, reason }
            };
            criteria.extend(read(value, luns).map_err(wrong)?);
        }
        if criteria.is_empty() && self.handle.starts_with(EBS) {
            criteria.extend(serial(self.handle).unwrap_or_default());
        }
        DiskQuery::all(criteria).map_err(AttributeError::NotEnough)
    }

    fn value(&self, key: &str) -> Option<&str> {
        let value = self.publish.get(key).or_else(|| self.volume.get(key))?;
        Some(value)
    }
}

/// The keys as rows of Markdown, for docs/disks.md.
#[doc(hidden)]
pub fn attribute_rows() -> String {
    let row = |(key, origin, _): &Row| format!("| `{key}` | {origin} |\n");
    let handle =
        "| the volume's handle, `vol-...` | EBS, if no key is there: the disk's serial number |\n";
    TABLE.iter().map(row).chain([handle.to_owned()]).collect()
}

fn azure_lun(text: &str, luns: Luns) -> Result<Vec<Criterion>, String> {
    let lun = number(text)?;
    Ok(match luns {
        Luns::Unknown => vec![Criterion::Lun(lun)],
        Luns::Scsi { adapter } => vec![Criterion::Adapter(adapter), Criterion::Lun(lun)],
        Luns::Nvme { adapter } => {
            let convention = NamespaceConvention::NsidMinusTwo;
            let namespace = Criterion::NvmeLun { lun, convention };
            vec![Criterion::Adapter(adapter), namespace]
        }
    })
}

fn page83(text: &str) -> Result<Vec<Criterion>, String> {
    let named = Page83::parse(text).map_err(|error: TrivialName| error.to_string())?;
    Ok(vec![Criterion::Page83(named)])
}

fn serial(text: &str) -> Result<Vec<Criterion>, String> {
    let named = SerialNumber::parse(text).map_err(|error: TrivialName| error.to_string())?;
    Ok(vec![Criterion::Serial(named)])
}

fn place(text: &str, criterion: fn(u32) -> Criterion) -> Result<Vec<Criterion>, String> {
    Ok(vec![criterion(number(text)?)])
}

fn number(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| String::from("it must be a number from 0 on"))
}

pub(super) fn keys() -> Vec<&'static str> {
    TABLE.iter().map(|(key, ..)| *key).collect()
}

/// Whether a request names its disk, in whatever case.
pub(in crate::kinds) fn names_disk(request: &Request<'_>) -> bool {
    let is_key = |name: &String| keys().iter().any(|key| name.eq_ignore_ascii_case(key));
    let mut names = request.publish_context.keys().chain(request.context.keys());
    request.volume.as_str().starts_with(EBS) || names.any(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    fn query_of(
        handle: &str,
        publish: &[(&str, &str)],
        luns: Luns,
    ) -> Result<DiskQuery, AttributeError> {
        let (publish, volume) = (&map(publish), &map(&[]));
        Attributes {
            handle,
            publish,
            volume,
        }
        .query(luns)
    }

    fn query(
        publish: &[(&str, &str)],
        volume: &[(&str, &str)],
    ) -> Result<DiskQuery, AttributeError> {
        let (publish, volume) = (&map(publish), &map(volume));
        Attributes {
            handle: "v",
            publish,
            volume,
        }
        .query(Luns::Unknown)
    }

    #[test]
    fn all_keys_that_are_there_must_hold() {
        let identifier = ("page83", "600224801234567890abcdef00000001");
        let query = query(&[identifier], &[("lun", "1")]).unwrap();
        assert_eq!(
            query.to_record(),
            "v1 page83=600224801234567890abcdef00000001 lun=1"
        );
    }

    #[test]
    fn the_publish_context_is_of_this_attachment_and_comes_first() {
        let query = query(&[("lun", "2"), ("adapter", "3")], &[("lun", "1")]).unwrap();
        assert_eq!(query.to_record(), "v1 adapter=3 lun=2");
    }

    #[test]
    fn a_lun_alone_is_not_enough_and_the_error_names_the_keys() {
        let error = query(&[("LUN", "0")], &[]).unwrap_err().to_string();
        assert!(error.contains("page83, diskUUID"), "{error}");
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key() {
        let error = query(&[("lun", "-1")], &[]).unwrap_err().to_string();
        assert!(error.starts_with("the attribute lun is \"-1\""), "{error}");
        assert!(query(&[("page83", "0")], &[]).is_err());
    }

    #[test]
    fn vspheres_uuid_is_a_page_83_identifier() {
        let query = query(&[("diskUUID", "6000c298-1234-5678-90ab-cdef01234567")], &[]).unwrap();
        assert_eq!(
            query.to_record(),
            "v1 page83=6000c2981234567890abcdef01234567"
        );
    }

    #[test]
    fn azures_lun_is_counted_as_the_node_says() {
        let lun = [("LUN", "3")];
        let scsi = query_of("v", &lun, Luns::Scsi { adapter: 1 }).unwrap();
        assert_eq!(scsi.to_record(), "v1 adapter=1 lun=3");
        let nvme = query_of("v", &lun, Luns::Nvme { adapter: 0 }).unwrap();
        assert_eq!(nvme.to_record(), "v1 adapter=0 nvme-lun=3@nsid-minus-two");
    }

    #[test]
    fn an_ebs_volume_is_identified_by_its_handle_alone() {
        let query = query_of(
            "vol-0123456789abcdef0",
            &[("devicePath", "/dev/xvdca")],
            Luns::Unknown,
        );
        assert_eq!(
            query.unwrap().to_record(),
            "v1 serial=vol-0123456789abcdef0"
        );
    }
}
