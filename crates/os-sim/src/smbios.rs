//! The raw SMBIOS table that `GetSystemFirmwareTable('RSMB')` answers with: firmware (type 0), system
//! information (type 1) and the end of the table (type 127).
//!
//! Layout: DMTF DSP0134, 6.1 and 7.1, 7.2; the header is that of
//! <https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable>.

use crate::spec::NodeSpec;

const VERSION: [u8; 2] = [3, 3];
/// Of a table that has no date of its own to tell.
const RELEASE_DATE: &str = "01/01/2026";

pub(crate) fn table(spec: &NodeSpec) -> Vec<u8> {
    let mut structures = firmware(spec);
    structures.extend(system_information(spec));
    structures.extend(structure(127, 2, &[], &[]));
    let length = u32::try_from(structures.len()).unwrap_or(u32::MAX);
    let mut table = vec![0, VERSION[0], VERSION[1], 0];
    table.extend(length.to_le_bytes());
    table.append(&mut structures);
    table
}

/// Type 0: the strings are vendor, version and release date.
fn firmware(spec: &NodeSpec) -> Vec<u8> {
    const SEGMENT: [u8; 2] = [0x00, 0xE8];
    const ROM_OF_64_KIB: u8 = 0;
    const NO_CHARACTERISTICS: [u8; 8] = [8, 0, 0, 0, 0, 0, 0, 0];
    const VIRTUAL_MACHINE: [u8; 2] = [0, 0b1_0000];
    const RELEASE: [u8; 2] = [1, 0];
    const NO_EMBEDDED_CONTROLLER: [u8; 2] = [0xFF, 0xFF];
    const ROM_SIZE_IS_NOT_HERE: [u8; 2] = [0, 0];
    let fields = [
        &[1, 2][..],
        &SEGMENT,
        &[3, ROM_OF_64_KIB],
        &NO_CHARACTERISTICS,
        &VIRTUAL_MACHINE,
        &RELEASE,
        &NO_EMBEDDED_CONTROLLER,
        &ROM_SIZE_IS_NOT_HERE,
    ];
    let strings = [spec.manufacturer.as_str(), "1.0", RELEASE_DATE];
    structure(0, 0, &fields.concat(), &strings)
}

/// Type 1: the strings are manufacturer, product, version and serial number.
fn system_information(spec: &NodeSpec) -> Vec<u8> {
    const WAKE_UP_BY_POWER_SWITCH: u8 = 6;
    const NO_STRING: u8 = 0;
    // The first three fields of the UUID are little-endian since SMBIOS 2.6.
    let uuid = spec.uuid.to_bytes_le();
    let fields = [
        &[1, 2, 3, 4][..],
        &uuid,
        &[WAKE_UP_BY_POWER_SWITCH, NO_STRING, NO_STRING],
    ];
    let strings = [&spec.manufacturer, &spec.product, "1.0", &spec.serial];
    structure(1, 1, &fields.concat(), &strings)
}

/// A structure: its header, its fields, its strings and the end of those.
fn structure(kind: u8, handle: u16, fields: &[u8], strings: &[&str]) -> Vec<u8> {
    let length = u8::try_from(4 + fields.len()).unwrap_or(u8::MAX);
    let mut structure = vec![kind, length];
    structure.extend(handle.to_le_bytes());
    structure.extend(fields);
    for string in strings {
        // An empty string would end the list: firmware has a blank in such a place.
        let string = if string.is_empty() { " " } else { string };
        structure.extend(string.bytes().filter(|byte| *byte != 0));
        structure.push(0);
    }
    if strings.is_empty() {
        structure.push(0);
    }
    structure.push(0);
    structure
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::spec::NodeSpec;

    /// A structure as a reader finds it that knows the published layout and not the writer.
    struct Structure {
        kind: u8,
        fields: Vec<u8>,
        strings: Vec<String>,
    }

    impl Structure {
        /// The string that a field counts from 1.
        fn string(&self, offset: usize) -> &str {
            &self.strings[usize::from(self.fields[offset]) - 1]
        }
    }

    fn read(table: &[u8]) -> Vec<Structure> {
        let (header, mut rest) = table.split_at(8);
        let length = u32::from_le_bytes(header[4..].try_into().unwrap());
        assert_eq!(usize::try_from(length).unwrap(), rest.len());
        let mut structures = Vec::new();
        while !rest.is_empty() {
            let (fields, behind) = rest.split_at(usize::from(rest[1]));
            let end = behind.windows(2).position(|pair| pair == [0, 0]).unwrap();
            let strings = String::from_utf8(behind[..end].to_vec()).unwrap();
            structures.push(Structure {
                kind: fields[0],
                fields: fields.to_vec(),
                strings: strings.split('\0').map(str::to_owned).collect(),
            });
            rest = &behind[end + 2..];
        }
        structures
    }

    /// The canonical text of a UUID from the bytes of an SMBIOS 2.6 table: DSP0134, 7.2.1.
    fn uuid_text(bytes: &[u8]) -> String {
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        let digits: Vec<_> = order.map(|at| format!("{:02x}", bytes[at])).to_vec();
        [
            &digits[..4],
            &digits[4..6],
            &digits[6..8],
            &digits[8..10],
            &digits[10..],
        ]
        .map(|group| group.concat())
        .join("-")
    }

    #[test]
    fn a_reader_finds_firmware_system_and_end() {
        let spec = NodeSpec {
            serial: "S-1".to_owned(),
            product: String::new(),
            ..NodeSpec::default()
        };
        let structures = read(&table(&spec));
        let kinds: Vec<_> = structures.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [0, 1, 127]);
        let [firmware, system, _] = structures.as_slice() else {
            panic!("not three structures");
        };
        assert_eq!(firmware.fields.len(), 26);
        assert_eq!(firmware.string(4), spec.manufacturer);
        assert_eq!(firmware.string(8), super::RELEASE_DATE);
        assert_eq!(system.fields.len(), 27);
        assert_eq!(system.string(4), spec.manufacturer);
        assert_eq!(system.string(5), " ");
        assert_eq!(system.string(7), "S-1");
        assert_eq!(uuid_text(&system.fields[8..24]), spec.uuid.to_string());
    }
}
