//! Whether two texts are one serial number.
//!
//! `STORAGE_DEVICE_DESCRIPTOR` has the place of the serial number but not its spelling
//! (<https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_descriptor>);
//! neither has `MSFT_Disk.SerialNumber`. So the spellings seen in the field are equal: padded, with other
//! punctuation or case, as hexadecimal digits of the text, and on ATA buses with the two letters of each word
//! swapped, as ATA transfers them. A truncated text is not equal: serial numbers of one batch differ in the last
//! letters.
//!
//! This compares two views of one disk, which must not differ by spelling. Whether a disk has a requested
//! name is a stricter question (`find::name`).

use std::collections::BTreeSet;

use os::{BusType, DeviceDescriptor};

/// A text of fewer hexadecimal digits is a serial number as it is.
const SHORTEST_HEX: usize = 16;

/// A serial number with all its possible spellings.
#[derive(Debug)]
pub(in crate::disks) struct Serial {
    text: String,
    spellings: BTreeSet<String>,
}

impl Serial {
    /// The serial number that a device reports to the kernel.
    pub(in crate::disks) fn of_device(descriptor: &DeviceDescriptor) -> Option<Self> {
        let mut own = Self::read(descriptor.serial.as_deref())?;
        if matches!(descriptor.bus, BusType::ATA | BusType::SATA) {
            let readings = readings(descriptor.serial.as_deref().unwrap_or_default());
            let changed = readings.iter().map(|reading| changed_over(reading));
            own.spellings
                .extend(changed.map(|text| letters_and_digits(&text)));
        }
        Some(own)
    }

    /// Reads a text; `None` for padding only.
    pub(in crate::disks) fn read(text: Option<&str>) -> Option<Self> {
        let untrimmed = text?;
        let text = known(Some(untrimmed))?;
        let readings = readings(untrimmed).into_iter();
        let spellings: BTreeSet<_> = readings
            .map(|reading| letters_and_digits(&reading))
            .filter(|spelling| !spelling.is_empty())
            .collect();
        (!spellings.is_empty()).then_some(Self { text, spellings })
    }

    /// Whether two serial numbers share a spelling.
    pub(in crate::disks) fn is(&self, other: &Self) -> bool {
        !self.spellings.is_disjoint(&other.spellings)
    }

    /// The serial number as reported, without padding.
    pub(in crate::disks) fn text(&self) -> &str {
        &self.text
    }
}

/// A serial number without padding; `None` for padding only.
pub(in crate::disks) fn known(serial: Option<&str>) -> Option<String> {
    let serial = trimmed(serial?);
    (!serial.is_empty()).then(|| serial.to_owned())
}

/// The text without padding.
pub(in crate::disks) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
}

/// Letters and digits of a text, in one case.
fn letters_and_digits(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Letters and digits of an identifier, without the prefix of its kind.
pub(in crate::disks) fn unprefixed(text: &str) -> String {
    letters_and_digits(&without_kind(text))
}

/// An identifier in lower case, without the prefix of its kind.
pub(in crate::disks) fn without_kind(text: &str) -> String {
    let text = trimmed(text).to_lowercase();
    let kinds = ["eui.", "naa.", "t10."].into_iter();
    let bare = kinds.filter_map(|kind| text.strip_prefix(kind)).next();
    bare.unwrap_or(&text).to_owned()
}

/// The text, and its decoded form if it is hexadecimal digits.
pub(in crate::disks) fn readings(text: &str) -> Vec<String> {
    let decoded = from_hex(trimmed(text));
    [Some(text.to_owned()), decoded]
        .into_iter()
        .flatten()
        .collect()
}

fn from_hex(text: &str) -> Option<String> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || text.len() < SHORTEST_HEX || !text.len().is_multiple_of(2) {
        return None;
    }
    let mut decoded = String::new();
    for pair in text.as_bytes().chunks(2) {
        let pair = std::str::from_utf8(pair).ok()?;
        let byte = u8::from_str_radix(pair, 16).ok()?;
        let is_text = byte == 0 || byte == b' ' || byte.is_ascii_graphic();
        decoded.push(is_text.then_some(char::from(byte))?);
    }
    Some(decoded)
}

fn changed_over(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let words = letters.chunks(2).flat_map(|word| word.iter().rev());
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(bus: BusType, serial: &str) -> Option<Serial> {
        Serial::of_device(&DeviceDescriptor {
            bus,
            vendor: None,
            product: None,
            serial: Some(serial.to_owned()),
        })
    }

    fn are_one(bus: BusType, kernel: &str, provider: &str) -> bool {
        let kernel = device(bus, kernel).unwrap_or_else(|| panic!("{kernel:?} is none"));
        let provider = Serial::read(Some(provider));
        kernel.is(&provider.unwrap_or_else(|| panic!("not one")))
    }

    #[test]
    fn padding_case_and_punctuation_do_not_count() {
        for (kernel, provider) in [
            ("  WD-1A \0", "WD-1A"),
            ("0025_3858_91B1_1234.", "0025385891b11234"),
            ("vol0abc", "VOL0ABC"),
        ] {
            assert!(are_one(BusType::NVME, kernel, provider), "{kernel}");
        }
    }

    #[test]
    fn hexadecimal_digits_of_the_text_are_the_text() {
        assert!(are_one(BusType::SAS, "WD-12345", "57442D3132333435"));
        assert!(are_one(BusType::SAS, "202057442d3132333435", "WD-12345"));
        // Digits of bytes that are not text, and short digits, are a number as they are.
        assert!(!are_one(BusType::SAS, "1234", "31323334"));
        assert!(are_one(
            BusType::NVME,
            "0025385891B11234",
            "0025385891b11234"
        ));
    }

    #[test]
    fn letters_changed_over_are_the_same_on_an_ata_bus_alone() {
        for (kernel, provider) in [("DWW-CA12", "WD-WAC21"), ("  BAC ", "ABC")] {
            assert!(are_one(BusType::SATA, kernel, provider), "{kernel}");
            assert!(!are_one(BusType::SAS, kernel, provider), "{kernel}");
        }
        assert!(are_one(BusType::ATA, "4457572d43413132", "WD-WAC21"));
    }

    #[test]
    fn serial_numbers_of_one_batch_differ() {
        for bus in [BusType::SAS, BusType::SATA] {
            assert!(!are_one(bus, "WD-WCC4N1234567", "WD-WCC4N1234568"));
            assert!(!are_one(bus, "WD-WCC4N123456", "WD-WCC4N1234567"));
        }
    }

    #[test]
    fn padding_alone_is_no_serial_number() {
        for text in ["", "  ", "\0\0", "----"] {
            assert!(Serial::read(Some(text)).is_none(), "{text:?}");
        }
        assert!(Serial::read(None).is_none());
    }
}
