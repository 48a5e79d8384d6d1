//! From what the controller says of a volume to what its disk is told by.

use std::collections::BTreeMap;

use wincsi::disks::{Criterion, DiskQuery, NotEnough, Page83, SerialNumber, TrivialName};

/// What a controller says of a volume: its publish context, and the attributes of the volume.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// From ControllerPublishVolume.
    pub publish: &'a BTreeMap<String, String>,
    /// From CreateVolume, or of the PV.
    pub volume: &'a BTreeMap<String, String>,
}

/// Why attributes tell no disk.
#[derive(Debug, thiserror::Error)]
pub enum AttributeError {
    /// They do not tell one disk from its neighbours.
    #[error("{0}; it is told by {keys} of the publish context or the volume's attributes", keys = keys())]
    NotEnough(NotEnough),
    /// A value that is none.
    #[error("the attribute {key} is {value:?}: {reason}")]
    Value {
        /// The attribute.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
}

type Read = fn(&str) -> Result<Criterion, String>;

/// Which key tells what of a disk. All that are there must hold.
const TABLE: &[(&str, Read)] = &[
    ("page83", page83),
    ("diskUUID", vsphere),
    ("serialNumber", serial),
    ("adapter", |text| number(text).map(Criterion::Adapter)),
    ("lun", |text| number(text).map(Criterion::Lun)),
    ("LUN", |text| number(text).map(Criterion::Lun)),
    ("namespace", |text| number(text).map(Criterion::Namespace)),
];

impl Attributes<'_> {
    /// What the disk is told by. The publish context comes first, as it is of this attachment.
    ///
    /// # Errors
    /// A value is none, or all of them do not tell one disk.
    pub fn query(&self) -> Result<DiskQuery, AttributeError> {
        let criteria = TABLE.iter().filter_map(|(key, read)| {
            let value = self.publish.get(*key).or_else(|| self.volume.get(*key))?;
            Some(read(value).map_err(|reason| AttributeError::Value {
                key,
                value: value.clone(),
                reason,
            }))
        });
        let criteria: Vec<_> = criteria.collect::<Result<_, _>>()?;
        DiskQuery::all(criteria).map_err(AttributeError::NotEnough)
    }
}

fn page83(text: &str) -> Result<Criterion, String> {
    let named = Page83::parse(text).map_err(|error: TrivialName| error.to_string())?;
    Ok(Criterion::Page83(named))
}

/// vSphere's: the UUID of the virtual disk is its page 0x83 identifier, with hyphens
/// (vsphere-csi-driver compares them so).
fn vsphere(text: &str) -> Result<Criterion, String> {
    page83(&text.replace('-', ""))
}

fn serial(text: &str) -> Result<Criterion, String> {
    let named = SerialNumber::parse(text).map_err(|error: TrivialName| error.to_string())?;
    Ok(Criterion::Serial(named))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| String::from("it must be a number from 0 on"))
}

fn keys() -> String {
    let keys: Vec<_> = TABLE.iter().map(|(key, _)| *key).collect();
    keys.join(", ")
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

    fn query(
        publish: &[(&str, &str)],
        volume: &[(&str, &str)],
    ) -> Result<DiskQuery, AttributeError> {
        let (publish, volume) = (&map(publish), &map(volume));
        Attributes { publish, volume }.query()
    }

    #[test]
    fn all_that_is_said_must_hold() {
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
    fn a_lun_alone_is_not_enough_and_the_error_has_what_would_be() {
        let error = query(&[("LUN", "0")], &[]).unwrap_err().to_string();
        assert!(error.contains("page83, diskUUID, serialNumber"), "{error}");
    }

    #[test]
    fn a_value_that_is_none_is_named_with_its_key() {
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
}
