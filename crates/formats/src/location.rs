//! `MSFT_Disk.Location`: where a disk is plugged in.
//!
//! Windows writes it for people, as parts between colons: `PCI Slot 3 : Adapter 0 : Port 0 :
//! Target 1 : LUN 0`. For a virtual disk it may be the path of its file. Drivers receive the parts
//! as csi-proxy cut them, so the rule is csi-proxy's: at least five parts; a part counts when it is
//! two words with exactly one space between them; of two parts with the same key the later wins.

use thiserror::Error;

/// Parts below which csi-proxy leaves a disk out of its list.
const LEAST_PARTS: usize = 5;

/// A disk's location. Values are the text that Windows wrote, usually decimal digits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Location {
    /// `Adapter`.
    pub adapter: Option<String>,
    /// `Bus`.
    pub bus: Option<String>,
    /// `Port`; csi-proxy drops it.
    pub port: Option<String>,
    /// `Target`.
    pub target: Option<String>,
    /// `LUN`.
    pub lun: Option<String>,
    /// Every other key with its value, in order: `Device`, `Function` and so on.
    pub other: Vec<(String, String)>,
}

impl Location {
    /// Reads a location.
    ///
    /// # Errors
    /// It has fewer than five parts, or none of the form `Key Value`.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let parts: Vec<_> = text.split(':').map(str::trim).collect();
        if parts.len() < LEAST_PARTS {
            return Err(LocationError::TooFewParts {
                text: text.to_owned(),
            });
        }
        let mut location = Self::default();
        for (key, value) in parts.into_iter().filter_map(pair) {
            location.put(key, value);
        }
        if location == Self::default() {
            return Err(LocationError::NoPairs {
                text: text.to_owned(),
            });
        }
        Ok(location)
    }

    fn put(&mut self, key: &str, value: &str) {
        let value = value.to_owned();
        match key {
            "Adapter" => self.adapter = Some(value),
            "Bus" => self.bus = Some(value),
            "LUN" => self.lun = Some(value),
            "Port" => self.port = Some(value),
            "Target" => self.target = Some(value),
            other => self.other.push((other.to_owned(), value)),
        }
    }
}

/// Exactly two words, or nothing.
fn pair(part: &str) -> Option<(&str, &str)> {
    part.split_once(' ')
        .filter(|(_, value)| !value.contains(' '))
}

/// Why a text is no location that a driver can use.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum LocationError {
    /// No part has the form `Key Value`.
    #[error("disk location {text:?} names no adapter, bus, target or LUN")]
    NoPairs {
        /// The text of Windows.
        text: String,
    },
    /// Fewer than five parts; so for most virtual disks.
    #[error("disk location {text:?} has fewer than five parts")]
    TooFewParts {
        /// The text of Windows.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some(value: &str) -> Option<String> {
        Some(value.to_owned())
    }

    #[test]
    fn a_scsi_disk() {
        assert_eq!(
            Location::parse("PCI Slot 3 : Adapter 0 : Port 0 : Target 1 : LUN 7"),
            Ok(Location {
                adapter: some("0"),
                port: some("0"),
                target: some("1"),
                lun: some("7"),
                ..Location::default()
            })
        );
    }

    #[test]
    fn an_integrated_controller() {
        let text =
            "Integrated : Bus 0 : Device 31 : Function 2 : Adapter 0 : Port 1 : Target 0 : LUN 0";
        let location = Location::parse(text).unwrap();
        assert_eq!(location.bus, some("0"));
        assert_eq!(location.adapter, some("0"));
        assert_eq!(
            location.other,
            [
                ("Device".to_owned(), "31".to_owned()),
                ("Function".to_owned(), "2".to_owned())
            ]
        );
    }

    #[test]
    fn an_nvme_disk_on_a_slot() {
        let location =
            Location::parse("PCI Slot 30 : Bus 0 : Device 30 : Function 0 : Adapter 1").unwrap();
        assert_eq!((location.bus, location.adapter), (some("0"), some("1")));
        assert_eq!((location.target, location.lun), (None, None));
    }

    /// Guards: P42
    #[test]
    fn a_file_and_a_short_location_are_left_out() {
        for text in [
            r"C:\disks\data.vhdx",
            "",
            "Adapter 0 : Port 0 : Target 1 : LUN 0",
        ] {
            let error = LocationError::TooFewParts {
                text: text.to_owned(),
            };
            assert_eq!(Location::parse(text), Err(error));
        }
        let text = "a : b : c : d e f : g";
        assert_eq!(
            Location::parse(text),
            Err(LocationError::NoPairs {
                text: text.to_owned()
            })
        );
    }

    #[test]
    fn a_part_with_two_spaces_does_not_count() {
        let location = Location::parse("A 1 : LUN  4 : Target 2 3 : C 1 : D 1").unwrap();
        assert_eq!((location.lun, location.target), (None, None));
    }

    #[test]
    fn the_later_of_two_parts_wins() {
        let location = Location::parse(": : : LUN 1 : LUN 2").unwrap();
        assert_eq!(location.lun, some("2"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = Location::parse(&text);
        }

        #[test]
        fn what_windows_writes_is_read(slot in 0_u32..99, adapter: u16, port: u16, target: u16, lun: u16) {
            let text = format!(
                "PCI Slot {slot} : Adapter {adapter} : Port {port} : Target {target} : LUN {lun}"
            );
            let location = Location::parse(&text).unwrap();
            prop_assert_eq!(location.adapter, Some(adapter.to_string()));
            prop_assert_eq!(location.port, Some(port.to_string()));
            prop_assert_eq!(location.target, Some(target.to_string()));
            prop_assert_eq!(location.lun, Some(lun.to_string()));
        }
    }
}
