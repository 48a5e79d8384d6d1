//! Names that identify one disk.

use std::fmt;

use super::seen::SeenDisk;
use crate::disks::identity::serial;

/// Placeholders that makers and hypervisors use as names, as letters and digits. `1af41001` is vendor and device of
/// virtio, which old drivers reported as the name of every disk
/// (<https://github.com/virtio-win/kvm-guest-drivers-windows/issues/353>).
const PLACEHOLDERS: [&str; 14] = [
    "0123456789",
    "0123456789abcdef",
    "123456789",
    "1234567890",
    "1af41001",
    "default",
    "defaultstring",
    "na",
    "none",
    "notspecified",
    "null",
    "serialnumber",
    "tobefilledbyoem",
    "unknown",
];

/// Digits of an EUI-64 and of NAA's shorter names.
const SHORTEST_BINARY: usize = 16;

/// Digits in the name of an EBS volume, since 2016 and before
/// (<https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html>).
const VOLUME_DIGITS: [usize; 2] = [17, 8];

/// Separators between the groups of an identifier's digits.
const DIVIDERS: [char; 5] = ['-', '_', '.', ':', ' '];

/// A serial number that may identify a disk.
///
/// It matches every spelling of a disk's serial number that is seen in the field: other case and padding,
/// hexadecimal digits of the text, and for NVMe with the namespace appended (`<serial>_00000001.`).
/// Punctuation counts, since `data-1-1` and `data-11` name two disks. Punctuation does not count in
/// generated names: at least 16 hexadecimal digits in groups of two or of four, eight and so on
/// (`AAAA_BBBB_CCCC_DDDD.`, a UUID), and an EBS volume (`vol-0123456789abcdef0`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialNumber(String);

/// An identifier of SCSI page 0x83 that may identify a disk.
///
/// It matches a whole identifier, as [`crate::DiskIds`] spells it, in another case or with the prefix of
/// a kind (`naa.`, `eui.`, `t10.`). It also matches the last word of a text identifier: there clouds put
/// the name of the disk, after maker and product. A name in UTF-8 it matches whole, with NUL and blank alike.
/// Punctuation counts as in a [`SerialNumber`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page83(String);

/// A name that many disks have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} tells no disk from another")]
#[non_exhaustive]
pub struct TrivialName {
    /// The refused name.
    pub name: String,
}

impl SerialNumber {
    /// Reads a serial number.
    ///
    /// # Errors
    /// The text is empty, blank, one repeated character (zeros), or a known placeholder.
    pub fn parse(text: &str) -> Result<Self, TrivialName> {
        significant(text).map(Self)
    }

    pub(super) fn is(&self, own: &str) -> bool {
        // The part before the digits of the namespace.
        let of_device = split_namespace(own).map(|(serial, _)| spellings(serial));
        let own = [spellings(own), of_device.unwrap_or_default()].concat();
        let mut wanted = spellings(&self.0).into_iter();
        wanted.any(|wanted| own.contains(&wanted))
    }
}

impl Page83 {
    /// Reads an identifier.
    ///
    /// # Errors
    /// As [`SerialNumber::parse`].
    pub fn parse(text: &str) -> Result<Self, TrivialName> {
        significant(text).map(Self)
    }

    pub(super) fn names(&self, disk: &SeenDisk) -> bool {
        disk.identifiers.iter().any(|own| self.is(own))
            || disk.utf8_names.iter().any(|own| self.is_whole(own))
    }

    fn is(&self, own: &str) -> bool {
        let last_word = own.split_whitespace().last().unwrap_or_default();
        let spelling = |name: &str| spelling(&serial::without_kind(name));
        [own, last_word].map(spelling).contains(&spelling(&self.0))
    }

    fn is_whole(&self, own: &str) -> bool {
        let spelling = |name: &str| spelling(&serial::without_kind(&name.replace('\0', " ")));
        spelling(own) == spelling(&self.0)
    }

    /// Whether both are binary, and of one length and first digit, which in NAA names is the type: a disk
    /// has identifiers of several kinds, and one of each kind.
    pub(super) fn is_of_the_kind_of(&self, own: &str) -> bool {
        let digits = |name: &str| digits(&serial::without_kind(name));
        let (Some(wanted), Some(own)) = (digits(&self.0), digits(own)) else {
            return false;
        };
        wanted.len() == own.len() && wanted.chars().next() == own.chars().next()
    }
}

impl fmt::Display for SerialNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Page83 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name without padding, unless every reading of it is trivial.
fn significant(text: &str) -> Result<String, TrivialName> {
    let is_trivial = || TrivialName {
        name: text.to_owned(),
    };
    let known = serial::known(Some(text)).ok_or_else(is_trivial)?;
    let mut readings = serial::readings(&known).into_iter();
    match readings.any(|reading| is_placeholder(&serial::unprefixed(&reading))) {
        true => Err(is_trivial()),
        false => Ok(known),
    }
}

/// Takes letters and digits.
fn is_placeholder(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next();
    letters.all(|letter| Some(letter) == first) || PLACEHOLDERS.contains(&name)
}

/// The namespace in the serial number of an NVMe disk.
pub(super) fn namespace_behind(own: &str) -> Option<u32> {
    let (_, namespace) = split_namespace(own)?;
    u32::from_str_radix(namespace, 16).ok()
}

/// The spelling of the text, and of its decoded form if it is hexadecimal digits.
fn spellings(text: &str) -> Vec<String> {
    let readings = serial::readings(text).into_iter();
    readings.map(|reading| spelling(&reading)).collect()
}

/// In lower case and without padding; a generated name without punctuation, too.
fn spelling(text: &str) -> String {
    let text = serial::trimmed(text).to_lowercase();
    volume(&text).or_else(|| digits(&text)).unwrap_or(text)
}

/// The name of an EBS volume; disks omit the hyphen.
fn volume(text: &str) -> Option<String> {
    let id = text.strip_prefix("vol")?;
    let id = id.strip_prefix('-').unwrap_or(id);
    (VOLUME_DIGITS.contains(&id.len()) && is_hex(id)).then(|| format!("vol{id}"))
}

/// The digits of a generated identifier, too long for a number that a person chose. Digits in other
/// groups than an identifier's may be a date and a number.
fn digits(text: &str) -> Option<String> {
    let bare = text.trim_matches(['{', '}']).trim_end_matches('.');
    let groups: Vec<_> = bare.split(DIVIDERS).collect();
    let are_all = |is: fn(&str) -> bool| groups.iter().all(|group| is(group));
    let is_grouped = groups.len() == 1
        || are_all(|group| group.len() == 2)
        || are_all(|group| !group.is_empty() && group.len().is_multiple_of(4));
    let digits = groups.concat();
    (is_grouped && is_hex(&digits) && digits.len() >= SHORTEST_BINARY).then_some(digits)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The serial number, and the eight digits of the namespace behind it.
fn split_namespace(own: &str) -> Option<(&str, &str)> {
    let own = own.trim().strip_suffix('.')?;
    let parts = own.rsplit_once('_');
    parts.filter(|(_, namespace)| namespace.len() == 8 && is_hex(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_name_is_of_the_kind_of_its_own_type_alone() {
        let wanted = Page83::parse("naa.600140512345678a").unwrap();
        for (own, is_alike) in [
            ("6001405FFFFFFFFF", true),
            ("eui.6001405fffffffff", true),
            ("5001405fffffffff", false),
            ("6001405fffffffff6001405fffffffff", false),
            ("6001405", false),
            ("Google  PersistentDisk  data", false),
        ] {
            assert_eq!(wanted.is_of_the_kind_of(own), is_alike, "{own}");
        }
        let text = Page83::parse("Google  PersistentDisk  data").unwrap();
        assert!(!text.is_of_the_kind_of("Google  PersistentDisk  other"));
    }

    #[test]
    fn a_name_that_many_disks_have_is_refused() {
        for name in [
            "",
            "  ",
            "\0\0",
            "----",
            "0",
            "0000 0000",
            "FFFFFFFF",
            "None",
            "N/A",
            "Default string",
            "To Be Filled By O.E.M.",
            "0123456789",
            "naa.0000000000000000",
            "2020202020202020",
            "30303030303030303030",
            "xxxx",
        ] {
            assert!(SerialNumber::parse(name).is_err(), "{name:?}");
            assert!(Page83::parse(name).is_err(), "{name:?}");
        }
        for name in [
            "vol-0123456789abcdef0",
            "10",
            "WD-WCC4N1234567",
            "6000c2950e1c",
        ] {
            assert!(SerialNumber::parse(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_serial_number_is_known_in_the_spellings_of_the_field() {
        let serial = SerialNumber::parse("vol-0123456789abcdef0").unwrap();
        for own in [
            "vol0123456789abcdef0",
            "VOL0123456789ABCDEF0 ",
            "vol0123456789abcdef0_00000001.",
        ] {
            assert!(serial.is(own), "{own}");
        }
        for own in [
            "vol0123456789abcdef",
            "vol0123456789abcdef01",
            "vol0123456789abcdef0_1",
            "",
        ] {
            assert!(!serial.is(own), "{own}");
        }
    }

    #[test]
    fn an_identifier_is_known_whole_or_by_its_last_word() {
        let named = |wanted: &str, own: &str| Page83::parse(wanted).unwrap().is(own);
        assert!(named(" 6000C295-0E1C-4B7D\0", "6000c2950e1c4b7d"));
        assert!(named("naa.6000c2950e1c", "6000c2950e1c"));
        assert!(named(
            "persistent-disk-1",
            "Google  PersistentDisk  persistent-disk-1"
        ));
        assert!(!named(
            "persistent-disk-1",
            "Google  PersistentDisk  persistent-disk-11"
        ));
        assert!(!named(
            "PersistentDisk",
            "Google  PersistentDisk  persistent-disk-1"
        ));
        assert!(!named("6000c2950e1c", ""));
    }

    /// People choose these names, and the disk of the other name may not be attached yet.
    #[test]
    fn a_chosen_name_is_not_one_with_other_punctuation() {
        for (wanted, own) in [
            ("disk-1-1", "disk-11"),
            ("disk-1-1", "disk1-1"),
            ("disk-1-1", "disk-1.1"),
            ("vol-1-1", "vol-11"),
            ("2026-11-22-10-11-12-1-1", "2026-11-22-10-11-12-11"),
            ("1-234567890123456", "1234567890123456"),
            ("vol-012345678-9abcdef0", "vol-0123456789abcdef0"),
        ] {
            assert!(!SerialNumber::parse(wanted).unwrap().is(own), "{own}");
            let page83 = Page83::parse(wanted).unwrap();
            assert!(!page83.is(own), "{own}");
            let whole = format!("Google  PersistentDisk  {own}");
            assert!(!page83.is(&whole), "{whole}");
            assert!(page83.is(&format!("Google  PersistentDisk  {wanted}")));
        }
    }

    #[test]
    fn an_identifier_that_nobody_chooses_is_one_in_each_punctuation() {
        for (wanted, own) in [
            ("0025385891b11234", "0025_3858_91B1_1234."),
            ("0025_3858_91b1_1234", "0025385891B11234 "),
            (
                "6000C295-0e1c-4b7d-9d1e-0123456789ab",
                "6000c2950e1c4b7d9d1e0123456789ab",
            ),
            (
                "{6000c295-0e1c-4b7d-9d1e-0123456789ab}",
                "6000C2950E1C4B7D9D1E0123456789AB",
            ),
            ("50:01:43:80:12:34:56:78", "5001438012345678"),
            ("vol-0a1b2c3d", "VOL0A1B2C3D"),
        ] {
            assert!(SerialNumber::parse(wanted).unwrap().is(own), "{own}");
            assert!(Page83::parse(wanted).unwrap().is(own), "{own}");
        }
    }
}
