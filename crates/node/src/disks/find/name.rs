//! Names of disks that tell one from another.

use std::fmt;

use crate::disks::identity::serial;
use crate::disks::identity::serial::Serial;

/// What makers and hypervisors leave where a name belongs, as letters and digits.
const PLACEHOLDERS: [&str; 13] = [
    "0123456789",
    "0123456789abcdef",
    "123456789",
    "1234567890",
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

/// The digits of an EUI-64 and of the shorter names of NAA's.
const SHORTEST_BINARY: usize = 16;

/// A serial number that may tell a disk from others.
///
/// It is that of a disk in every spelling that is seen in the field: other case, punctuation and padding,
/// hexadecimal digits of the text, and for NVMe with the namespace behind (`<serial>_00000001.`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialNumber(String);

/// An identifier of SCSI page 0x83 that may tell a disk from others.
///
/// It is that of a disk when it is the whole identifier, as [`crate::DiskIds`] spells it or with another
/// case, punctuation or a kind (`naa.`, `eui.`, `t10.`) before; or the last word of one that is text, which
/// is where clouds put the name of the disk, behind maker and product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page83(String);

/// A name that many disks have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} tells no disk from another")]
#[non_exhaustive]
pub struct TrivialName {
    /// What it is.
    pub name: String,
}

impl SerialNumber {
    /// Reads a serial number.
    ///
    /// # Errors
    /// It is empty, blanks, one character over and over (zeros), or a known placeholder.
    pub fn parse(text: &str) -> Result<Self, TrivialName> {
        telling(text).map(Self)
    }

    pub(super) fn is(&self, own: &str) -> bool {
        let (Some(wanted), Some(listed)) = (Serial::read(Some(&self.0)), Serial::read(Some(own)))
        else {
            return false;
        };
        let of_device = without_namespace(own).and_then(|own| Serial::read(Some(own)));
        wanted.is(&listed) || of_device.is_some_and(|own| wanted.is(&own))
    }
}

impl Page83 {
    /// Reads an identifier.
    ///
    /// # Errors
    /// As [`SerialNumber::parse`].
    pub fn parse(text: &str) -> Result<Self, TrivialName> {
        telling(text).map(Self)
    }

    pub(super) fn is(&self, own: &str) -> bool {
        let wanted = serial::unprefixed(&self.0);
        let last_word = own.split_whitespace().last().unwrap_or_default();
        serial::unprefixed(own) == wanted || serial::unprefixed(last_word) == wanted
    }

    /// Whether both are binary, and of one length and first digit, which of a name of NAA's says the type: a
    /// disk has identifiers of several kinds, and one of such a kind.
    pub(super) fn is_of_the_kind_of(&self, own: &str) -> bool {
        let (wanted, own) = (serial::unprefixed(&self.0), serial::unprefixed(own));
        let is_binary = |name: &str| {
            name.len() >= SHORTEST_BINARY && name.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        is_binary(&wanted)
            && is_binary(&own)
            && wanted.len() == own.len()
            && wanted.chars().next() == own.chars().next()
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

/// The name without padding, unless it is trivial in any reading.
fn telling(text: &str) -> Result<String, TrivialName> {
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

/// Of letters and digits.
fn is_placeholder(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next();
    letters.all(|letter| Some(letter) == first) || PLACEHOLDERS.contains(&name)
}

/// The namespace that an NVMe disk's serial number tells.
pub(super) fn namespace_behind(own: &str) -> Option<u32> {
    let (_, namespace) = split_namespace(own)?;
    u32::from_str_radix(namespace, 16).ok()
}

/// What stands before the namespace's eight digits.
fn without_namespace(own: &str) -> Option<&str> {
    split_namespace(own).map(|(serial, _)| serial)
}

fn split_namespace(own: &str) -> Option<(&str, &str)> {
    let own = own.trim().strip_suffix('.')?;
    let parts = own.rsplit_once('_');
    parts.filter(|(_, namespace)| {
        namespace.len() == 8 && namespace.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
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
        assert!(named("6000C295-0E1C", "6000c2950e1c"));
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
}
