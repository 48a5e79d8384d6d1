//! A disk query as a line of text that drivers keep in their records.
//!
//! `v1` and the criteria, each after a blank: `v1 page83=600224801234567890abcdef00000001 lun=1`. In values, each byte
//! of UTF-8 other than a letter, digit or one of `-._~:[]{}` becomes `%` and two hexadecimal digits. So no value
//! contains a blank, an equals sign or the `@` between the parts of one value.

use std::fmt;

use super::name::{Page83, SerialNumber};
use super::query::{Criterion, DiskQuery, NamespaceConvention, NotEnough};
use crate::{Portal, TargetName, text};

/// The one version so far.
const VERSION: &str = "v1";

/// The characters that values keep as they are, besides letters and digits.
const PLAIN: &str = "-._~:[]{}";

/// Separates the parts of one value.
const BETWEEN: char = '@';

const NSID_MINUS_ONE: &str = "nsid-minus-one";
const NSID_MINUS_TWO: &str = "nsid-minus-two";

/// Why a text is no record of a disk query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum RecordError {
    /// This version does not know the criterion.
    #[error("the record of a disk has the unknown criterion {name:?}")]
    Criterion { name: String },
    /// The criteria do not identify one disk.
    #[error(transparent)]
    NotEnough(#[from] NotEnough),
    /// The criterion cannot have this value.
    #[error("the record of a disk has {value:?} as {name}")]
    Value { name: String, value: String },
    /// A later version, or no record of a disk query.
    #[error("the record of a disk is of version {version:?}, not v1")]
    Version {
        /// The first word of the text.
        version: String,
    },
}

impl DiskQuery {
    /// Writes the query as a line of text for records of staged disks. Later versions of this crate can read it. It
    /// has names and locations of the disk, and no secret. [`DiskQuery::from_record`] reads it.
    #[must_use]
    pub fn to_record(&self) -> String {
        let mut record = VERSION.to_owned();
        for criterion in self.criteria() {
            let (name, value) = written(criterion);
            record.push_str(&format!(" {name}={value}"));
        }
        record
    }

    /// Reads the text of [`DiskQuery::to_record`], of this version or an earlier one.
    ///
    /// # Errors
    /// Another version, an unknown criterion, an invalid value, or too few criteria to identify one
    /// disk.
    pub fn from_record(record: &str) -> Result<Self, RecordError> {
        let mut words = record.split_ascii_whitespace();
        let version = words.next().unwrap_or_default();
        if version != VERSION {
            return Err(RecordError::Version {
                version: version.to_owned(),
            });
        }
        let criteria: Result<Vec<_>, _> = words.map(read).collect();
        Ok(Self::all(criteria?)?)
    }
}

fn written(criterion: &Criterion) -> (&'static str, String) {
    match criterion {
        Criterion::Adapter(number) => ("adapter", number.to_string()),
        Criterion::Bus(number) => ("bus", number.to_string()),
        Criterion::Device(number) => ("device", number.to_string()),
        Criterion::Function(number) => ("function", number.to_string()),
        Criterion::IscsiSession(target) => ("iscsi-session", escaped(target)),
        Criterion::IscsiTarget { portal, target } => {
            let parts = [&target.to_string(), &portal.host()].map(escaped);
            let [target, host] = parts;
            let port = portal.port();
            (
                "iscsi-target",
                format!("{target}{BETWEEN}{host}{BETWEEN}{port}"),
            )
        }
        Criterion::Lun(number) => ("lun", number.to_string()),
        Criterion::Namespace(number) => ("namespace", number.to_string()),
        Criterion::NvmeLun { lun, convention } => {
            let convention = match convention {
                NamespaceConvention::NsidMinusOne => NSID_MINUS_ONE,
                NamespaceConvention::NsidMinusTwo => NSID_MINUS_TWO,
            };
            ("nvme-lun", format!("{lun}{BETWEEN}{convention}"))
        }
        Criterion::Page83(name) => ("page83", escaped(name)),
        Criterion::Port(number) => ("port", number.to_string()),
        Criterion::Serial(serial) => ("serial", escaped(serial)),
        Criterion::Size(bytes) => ("size", bytes.to_string()),
        Criterion::Target(number) => ("target", number.to_string()),
    }
}

fn read(word: &str) -> Result<Criterion, RecordError> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let number = || text::number(value);
    let criterion = match name {
        "adapter" => number().map(Criterion::Adapter),
        "bus" => number().map(Criterion::Bus),
        "device" => number().map(Criterion::Device),
        "function" => number().map(Criterion::Function),
        "iscsi-session" => unescaped(value)
            .and_then(|target| TargetName::parse(&target).ok())
            .map(Criterion::IscsiSession),
        "iscsi-target" => iscsi_target(value),
        "lun" => number().map(Criterion::Lun),
        "namespace" => number().map(Criterion::Namespace),
        "nvme-lun" => nvme_lun(value),
        "page83" => unescaped(value)
            .and_then(|text| Page83::parse(&text).ok())
            .map(Criterion::Page83),
        "port" => number().map(Criterion::Port),
        "serial" => unescaped(value)
            .and_then(|text| SerialNumber::parse(&text).ok())
            .map(Criterion::Serial),
        "size" => text::number(value).map(Criterion::Size),
        "target" => number().map(Criterion::Target),
        name => {
            let name = name.to_owned();
            return Err(RecordError::Criterion { name });
        }
    };
    criterion.ok_or_else(|| RecordError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

fn iscsi_target(value: &str) -> Option<Criterion> {
    let (target, portal) = value.split_once(BETWEEN)?;
    let (host, port) = portal.split_once(BETWEEN)?;
    Some(Criterion::IscsiTarget {
        portal: Portal::parse(&unescaped(host)?, text::number(port)?).ok()?,
        target: TargetName::parse(&unescaped(target)?).ok()?,
    })
}

fn nvme_lun(value: &str) -> Option<Criterion> {
    let (lun, convention) = value.split_once(BETWEEN)?;
    let convention = match convention {
        NSID_MINUS_ONE => NamespaceConvention::NsidMinusOne,
        NSID_MINUS_TWO => NamespaceConvention::NsidMinusTwo,
        _ => return None,
    };
    let lun = text::number(lun)?;
    Some(Criterion::NvmeLun { lun, convention })
}

fn escaped(value: impl fmt::Display) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        if character.is_ascii_alphanumeric() || PLAIN.contains(character) {
            text.push(character);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in character.encode_utf8(&mut bytes).bytes() {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).filter(|byte| !byte.starts_with('+'))?;
        bytes.push(u8::from_str_radix(byte, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn criterion() -> impl Strategy<Value = Criterion> {
        let convention = prop_oneof![
            Just(NamespaceConvention::NsidMinusOne),
            Just(NamespaceConvention::NsidMinusTwo),
        ];
        let host = prop_oneof![
            "[a-z]{1,9}",
            Just("fe80::1%eth0".to_owned()),
            "10\\.0\\.0\\.[1-9]"
        ];
        let target = "iqn\\.2005-10\\.[\\p{L}0-9:._-]{1,30}";
        let session = target.prop_filter_map("a target", |target| {
            let target = TargetName::parse(&target).ok()?;
            Some(Criterion::IscsiSession(target))
        });
        let iscsi =
            (target, host, 1..65_535_u32).prop_filter_map("a target", |(target, host, port)| {
                let target = TargetName::parse(&target).ok()?;
                let portal = Portal::parse(&host, port).ok()?;
                Some(Criterion::IscsiTarget { portal, target })
            });
        let page83 = any::<String>().prop_filter_map("a name", |text| Page83::parse(&text).ok());
        let serial =
            any::<String>().prop_filter_map("a name", |text| SerialNumber::parse(&text).ok());
        let nvme_lun = (any::<u32>(), convention);
        prop_oneof![
            any::<u32>().prop_map(Criterion::Adapter),
            any::<u32>().prop_map(Criterion::Bus),
            any::<u32>().prop_map(Criterion::Device),
            any::<u32>().prop_map(Criterion::Function),
            session,
            iscsi,
            any::<u32>().prop_map(Criterion::Lun),
            any::<u32>().prop_map(Criterion::Namespace),
            nvme_lun.prop_map(|(lun, convention)| Criterion::NvmeLun { lun, convention }),
            page83.prop_map(Criterion::Page83),
            any::<u32>().prop_map(Criterion::Port),
            serial.prop_map(Criterion::Serial),
            any::<u64>().prop_map(Criterion::Size),
            any::<u32>().prop_map(Criterion::Target),
        ]
    }

    proptest! {
        #[test]
        fn a_record_is_read_as_what_was_written(criteria in vec(criterion(), 0..6)) {
            let serial = Criterion::Serial(SerialNumber::parse("disk-1").unwrap());
            let query = DiskQuery::all(criteria.into_iter().chain([serial])).unwrap();
            let record = query.to_record();
            prop_assert!(record.bytes().all(|byte| (b' '..0x7F).contains(&byte)), "{}", record);
            prop_assert_eq!(DiskQuery::from_record(&record), Ok(query));
        }

        #[test]
        fn no_text_is_read_as_something_that_is_written_otherwise(text in "v1( [a-z0-9-]{2,9}=[!-~]{0,9}){0,4}") {
            if let Ok(query) = DiskQuery::from_record(&text) {
                prop_assert_eq!(DiskQuery::from_record(&query.to_record()), Ok(query));
            }
        }
    }

    /// Drivers have these records on their nodes: this is never changed.
    #[test]
    fn the_first_version_stays_as_it_is() {
        let record = "v1 adapter=1 bus=2 device=3 function=4 \
                      iscsi-target=iqn.2005-10.org:data_1@fe80::1%25eth0@3260 lun=5 namespace=6 \
                      nvme-lun=7@nsid-minus-one nvme-lun=8@nsid-minus-two page83=naa.600140512345678a port=9 \
                      serial=QEMU%20disk-1%40%c3%bc size=10737418240 target=11";
        let query = DiskQuery::from_record(record).unwrap();
        assert_eq!(query.to_record(), record);
        assert_eq!(query.criteria().len(), 14);
        let serial = Criterion::Serial(SerialNumber::parse("QEMU disk-1@\u{fc}").unwrap());
        assert_eq!(query.criteria()[11], serial);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let refused = |record: &str| DiskQuery::from_record(record).unwrap_err();
        for (record, version) in [
            ("v2 serial=disk-1", "v2"),
            ("", ""),
            ("serial=a", "serial=a"),
        ] {
            let version = version.to_owned();
            assert_eq!(refused(record), RecordError::Version { version });
        }
        for (record, name) in [("v1 serial=disk-1 colour=red", "colour"), ("v1 x", "x")] {
            let name = name.to_owned();
            assert_eq!(refused(record), RecordError::Criterion { name });
        }
        assert_eq!(refused("v1"), NotEnough::Name.into());
        assert_eq!(refused("v1 lun=1"), NotEnough::Controller.into());
        for word in [
            "lun=-1",
            "lun=+1",
            "lun",
            "lun=4294967296",
            "serial=%2",
            "serial=%zz",
            "serial=%+f",
            "serial=%ff",
            "serial=0000",
            "nvme-lun=1@nsid",
            "iscsi-target=iqn.x@host",
            "iscsi-target=iqn.x@host@65536",
        ] {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let expected = RecordError::Value {
                name: name.to_owned(),
                value: value.to_owned(),
            };
            assert_eq!(refused(&format!("v1 {word}")), expected);
        }
    }
}
