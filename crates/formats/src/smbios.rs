//! The firmware's table about the machine: `RawSMBIOSData`, as `GetSystemFirmwareTable('RSMB')` answers.
//!
//! An 8-byte header holds the length of the table, and the table is a row of structures: type,
//! length of the fixed fields, handle, those fields, then strings that end in NUL, and one NUL more.
//! Fields name strings by their number, counted from 1; 0 is none. Only the system's structure (type
//! 1) is read; the standard demands exactly one.
//!
//! Sources: DMTF DSP0134, 6.1 and 7.2, and
//! <https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable>.

use thiserror::Error;
use uuid::Uuid;

use crate::bytes::{slice, u32_le};

/// `RawSMBIOSData` before its table: four bytes about versions, then the table's length.
const HEADER: usize = 8;
/// Type, length and handle.
const STRUCTURE_HEADER: usize = 4;
const SYSTEM: u8 = 1;
const END_OF_TABLE: u8 = 127;
/// Where the system's structure names its serial number.
const SERIAL_NUMBER: usize = 7;
/// Where it has its UUID.
const UUID: usize = 8;

/// The firmware's description of the machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct System {
    /// The serial number without the blanks around it; `None` when there is none, or only blanks.
    /// Firmware may write any bytes: those that are no UTF-8 become U+FFFD. A hypervisor puts its own
    /// identity here, such as `VMware-56 4d ...`.
    pub serial: Option<String>,
    /// The UUID as Windows reads it; `None` when there is none, all bits of it are one or all are zero
    /// (DSP0134, 7.2.1).
    ///
    /// Its first three fields are little-endian: the standard says so since version 2.6, and `Win32_ComputerSystemProduct`
    /// reads all so (<https://github.com/OCSInventory-NG/WindowsAgent/issues/3>). Linux takes those of older versions,
    /// such as Hyper-V's 2.3, for big-endian, and so prints another text for the same machine
    /// (<https://github.com/Azure/WALinuxAgent/issues/830>).
    pub uuid: Option<Uuid>,
}

impl System {
    /// Reads the system's structure of a `RawSMBIOSData`. Structures after a damaged one are not
    /// read.
    ///
    /// # Errors
    /// The table is shorter than its length, or does not have exactly one such structure.
    pub fn parse(raw: &[u8]) -> Result<Self, SmbiosError> {
        let length = u32_le(raw, 4).ok_or(SmbiosError::Truncated)?;
        let length = usize::try_from(length).map_err(|_| SmbiosError::Truncated)?;
        let table = slice(raw, HEADER, length).ok_or(SmbiosError::Truncated)?;
        let mut systems = Structures(table).filter(|structure| structure.kind() == Some(SYSTEM));
        match (systems.next(), systems.count()) {
            (None, _) => Err(SmbiosError::NoSystem),
            (Some(system), 0) => Ok(Self {
                serial: system.string(SERIAL_NUMBER),
                uuid: system.uuid(),
            }),
            (Some(_), more) => Err(SmbiosError::SeveralSystems { count: more + 1 }),
        }
    }
}

/// Why a table does not describe the system.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum SmbiosError {
    /// There is no structure of type 1, or only behind a damaged one.
    #[error("the SMBIOS table does not describe the system")]
    NoSystem,
    /// There is more than one structure of type 1.
    #[error("the SMBIOS table describes {count} systems, not one")]
    SeveralSystems {
        /// How many.
        count: usize,
    },
    /// It is shorter than its header says.
    #[error("the SMBIOS table is cut short")]
    Truncated,
}

/// The structures of a table, up to its end or the first that is damaged.
struct Structures<'a>(&'a [u8]);

/// One structure: its fixed fields, header included, and its strings with a NUL behind each.
struct Structure<'a> {
    fields: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Iterator for Structures<'a> {
    type Item = Structure<'a>;

    fn next(&mut self) -> Option<Structure<'a>> {
        let rest = std::mem::take(&mut self.0);
        let length = usize::from(*rest.get(1)?);
        let (fields, behind) = rest.split_at_checked(length)?;
        let end = behind.windows(2).position(|pair| pair == [0, 0])?;
        let (strings, _) = behind.split_at_checked(end + 1)?;
        let is_whole = length >= STRUCTURE_HEADER && fields.first() != Some(&END_OF_TABLE);
        if is_whole {
            self.0 = behind.get(end + 2..).unwrap_or_default();
        }
        is_whole.then_some(Structure { fields, strings })
    }
}

impl Structure<'_> {
    fn kind(&self) -> Option<u8> {
        self.fields.first().copied()
    }

    fn uuid(&self) -> Option<Uuid> {
        let bytes = slice(self.fields, UUID, 16)?.try_into().ok()?;
        let uuid = Uuid::from_bytes_le(bytes);
        (!uuid.is_nil() && !uuid.is_max()).then_some(uuid)
    }

    /// The string whose number is at `offset`.
    fn string(&self, offset: usize) -> Option<String> {
        let number = usize::from(*self.fields.get(offset)?);
        let index = number.checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(index)?;
        let text = String::from_utf8_lossy(bytes);
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
        (!trimmed.is_empty()).then(|| trimmed.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Type, fields behind the header, strings.
    type Parts<'a> = (u8, &'a [u8], &'a [&'a [u8]]);

    /// A table of structures.
    fn raw(structures: &[Parts<'_>]) -> Vec<u8> {
        let mut table = Vec::new();
        for (kind, fields, strings) in structures {
            table.extend([*kind, u8::try_from(4 + fields.len()).unwrap(), 0, 0]);
            table.extend(*fields);
            for string in *strings {
                table.extend(*string);
                table.push(0);
            }
            table.resize(table.len() + if strings.is_empty() { 2 } else { 1 }, 0);
        }
        let mut raw = vec![0, 3, 3, 0];
        raw.extend(u32::try_from(table.len()).unwrap().to_le_bytes());
        raw.extend(table);
        raw
    }

    fn serial_of(strings: &[&[u8]]) -> Option<String> {
        let table = raw(&[(0, &[], &[]), (1, &[1, 2, 3, 4], strings), (127, &[], &[])]);
        System::parse(&table).unwrap().serial
    }

    #[test]
    fn the_serial_number_is_the_systems_and_trimmed() {
        let serial = serial_of(&[b"maker", b"model", b"1.0", b"  VMware-56 4d 01 \t"]);
        assert_eq!(serial.as_deref(), Some("VMware-56 4d 01"));
    }

    #[test]
    fn a_missing_or_blank_serial_number_is_none() {
        assert_eq!(serial_of(&[b"maker", b"model", b"1.0", b"   "]), None);
        assert_eq!(serial_of(&[b"maker", b"model", b"1.0"]), None);
        assert_eq!(serial_of(&[]), None);
        let unnumbered = raw(&[(1, &[1, 2, 3, 0], &[b"maker"])]);
        let nothing = Ok(System {
            serial: None,
            uuid: None,
        });
        assert_eq!(System::parse(&unnumbered), nothing);
        let old_and_short = raw(&[(1, &[], &[])]);
        assert_eq!(System::parse(&old_and_short), nothing);
    }

    fn uuid_of(bytes: &[u8]) -> Option<Uuid> {
        let table = raw(&[(1, &[&[0; 4], bytes].concat(), &[])]);
        System::parse(&table).unwrap().uuid
    }

    /// The bytes of Azure/WALinuxAgent issue 830: what Azure and Windows call `D0DF4C54-...`.
    #[test]
    fn a_uuid_is_read_as_windows_reads_it() {
        let bytes = 0x544C_DFD0_CB4E_4B4A_9954_5BDF_3ED5_C3B8_u128.to_be_bytes();
        let uuid = Uuid::from_u128(0xD0DF_4C54_4ECB_4A4B_9954_5BDF_3ED5_C3B8);
        assert_eq!(uuid_of(&bytes), Some(uuid));
    }

    #[test]
    fn a_missing_or_unset_uuid_is_none() {
        assert_eq!(uuid_of(&[0; 16]), None);
        assert_eq!(uuid_of(&[0xff; 16]), None);
        assert_eq!(uuid_of(&[1; 15]), None);
        assert_eq!(uuid_of(&[]), None);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_fail() {
        let serial = serial_of(&[b"a", b"b", b"c", b"S\xff1"]);
        assert_eq!(serial.as_deref(), Some("S\u{fffd}1"));
    }

    #[test]
    fn there_is_exactly_one_system() {
        let one: Parts<'_> = (1, &[1, 1, 1, 1], &[b"x"]);
        assert_eq!(
            System::parse(&raw(&[(0, &[], &[]), (127, &[], &[]), one])),
            Err(SmbiosError::NoSystem)
        );
        assert_eq!(
            System::parse(&raw(&[one, one])),
            Err(SmbiosError::SeveralSystems { count: 2 })
        );
    }

    #[test]
    fn a_table_that_ends_early_is_told_from_one_without_a_system() {
        let whole = raw(&[(1, &[1, 1, 1, 1], &[b"x"])]);
        for length in 0..whole.len() {
            assert_eq!(
                System::parse(&whole[..length]),
                Err(SmbiosError::Truncated),
                "{length}"
            );
        }
        let mut unterminated = whole;
        *unterminated.last_mut().unwrap() = b'x';
        assert_eq!(System::parse(&unterminated), Err(SmbiosError::NoSystem));
    }

    #[test]
    fn a_structure_shorter_than_its_header_ends_the_table() {
        let mut table = raw(&[(1, &[1, 1, 1, 1], &[b"x"])]);
        table[HEADER + 1] = 0;
        assert_eq!(System::parse(&table), Err(SmbiosError::NoSystem));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = System::parse(&bytes);
        }

        #[test]
        fn any_table_is_read_or_refused(table: Vec<u8>) {
            let mut bytes = vec![0, 3, 3, 0];
            bytes.extend(u32::try_from(table.len()).unwrap().to_le_bytes());
            bytes.extend(table);
            if let Ok(System { serial: Some(serial), .. }) = System::parse(&bytes) {
                prop_assert_eq!(serial.trim(), &serial);
                prop_assert!(!serial.is_empty());
            }
        }

        #[test]
        fn a_serial_number_is_found_behind_any_structures(
            before in proptest::collection::vec((2..=126u8, "[a-z]{1,9}"), 0..5),
            serial in "[!-~]{1,40}",
        ) {
            let strings: Vec<_> = before.iter().map(|(_, text)| [text.as_bytes()]).collect();
            let kinds = before.iter().map(|(kind, _)| *kind).zip(&strings);
            let mut structures: Vec<Parts<'_>> =
                kinds.map(|(kind, strings)| (kind, &[1][..], &strings[..])).collect();
            let own = [serial.as_bytes()];
            structures.push((1, &[0, 0, 0, 1], &own));
            let found = System::parse(&raw(&structures)).unwrap();
            prop_assert_eq!(found.serial, Some(serial));
        }
    }
}
