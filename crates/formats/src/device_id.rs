//! A disk's SCSI identifiers, as `STORAGE_DEVICE_ID_DESCRIPTOR` carries them.
//!
//! `IOCTL_STORAGE_QUERY_PROPERTY` with `StorageDeviceIdProperty` returns the descriptors of the
//! device's vital product data page 83h. Layout:
//! <https://learn.microsoft.com/en-us/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_id_descriptor>
//! and
//! <https://learn.microsoft.com/en-us/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_identifier>.

use std::fmt::Write as _;

use thiserror::Error;

use crate::bytes::{ascii, slice, u16_le, u32_le};

/// Bytes before the first identifier.
const HEADER: usize = 12;

/// `sizeof(STORAGE_DEVICE_ID_DESCRIPTOR)` as Windows puts it into `Version`: [MS-CSVP] 2.2.9.
const VERSION: u32 = 13;

/// Bytes of an identifier before its value.
const IDENTIFIER: usize = 16;

/// The identifiers of one disk, in the device's order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DeviceIdPage {
    /// The identifiers.
    pub identifiers: Vec<Identifier>,
}

/// One identification descriptor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identifier {
    /// How `bytes` are to be read.
    pub code_set: CodeSet,
    /// The kind of name.
    pub kind: IdentifierType,
    /// The object that it names.
    pub association: Association,
    /// The value.
    pub bytes: Vec<u8>,
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $name {
            $($(#[$each])* $variant,)+
            /// A value that has no name.
            Other(u32),
        }

        impl From<u32> for $name {
            fn from(code: u32) -> Self {
                match code {
                    $($code => Self::$variant,)+
                    other => Self::Other(other),
                }
            }
        }

        impl From<$name> for u32 {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$variant => $code,)+
                    $name::Other(other) => other,
                }
            }
        }
    };
}

codes! {
    /// `STORAGE_IDENTIFIER_CODE_SET`.
    CodeSet {
        /// Bytes.
        Binary = 1,
        /// ASCII text.
        Ascii = 2,
        /// UTF-8 text.
        Utf8 = 3,
    }
}

codes! {
    /// `STORAGE_IDENTIFIER_TYPE`.
    IdentifierType {
        /// Whatever the vendor chose.
        VendorSpecific = 0,
        /// T10 vendor identification.
        VendorId = 1,
        /// EUI-64.
        Eui64 = 2,
        /// Name of Fibre Channel or NAA form.
        FcphName = 3,
        /// Relative target port.
        PortRelative = 4,
        /// Target port group.
        TargetPortGroup = 5,
        /// Logical unit group.
        LogicalUnitGroup = 6,
        /// MD5 logical unit identifier.
        Md5LogicalUnit = 7,
        /// SCSI name string.
        ScsiName = 8,
    }
}

codes! {
    /// `STORAGE_ASSOCIATION_TYPE`: what an identifier names.
    Association {
        /// The disk.
        Device = 0,
        /// The port that was asked.
        Port = 1,
        /// The target that holds the disk.
        Target = 2,
    }
}

impl DeviceIdPage {
    /// Reads the part of the buffer that the driver says it filled.
    ///
    /// # Errors
    /// The header or an identifier ends behind the returned bytes or behind the descriptor's own
    /// size, or an identifier's link leads nowhere.
    pub fn parse(returned: &[u8]) -> Result<Self, DeviceIdError> {
        let header = |at| {
            u32_le(returned, at).ok_or(DeviceIdError::Header {
                returned: returned.len(),
            })
        };
        let (size, count) = (header(4)?, header(8)?);
        let descriptor = usize::try_from(size)
            .ok()
            .filter(|size| *size >= HEADER)
            .and_then(|size| slice(returned, 0, size))
            .ok_or(DeviceIdError::Size {
                size,
                returned: returned.len(),
            })?;
        let mut identifiers = Vec::new();
        let mut at = HEADER;
        for index in 0..count {
            let last = index + 1 == count;
            let (identifier, next) = identifier(descriptor, at)
                .ok_or(DeviceIdError::Identifier { index, offset: at })?;
            identifiers.push(identifier);
            if !last {
                at += link(next).ok_or(DeviceIdError::Link { index, next })?;
            }
        }
        Ok(Self { identifiers })
    }

    /// The identifier that csi-proxy calls `page83`: the first that names the device and is binary
    /// or ASCII, whatever its type; binary as lower-case hexadecimal digits, ASCII as it stands.
    /// Empty when there is none. UTF-8 identifiers are passed over, as csi-proxy does.
    ///
    /// A byte of an ASCII identifier that is no ASCII becomes `\xNN`, so that two disks that
    /// differ in it keep different names and the text is valid UTF-8.
    pub fn page83_text(&self) -> String {
        self.texts().into_iter().next().unwrap_or_default()
    }

    /// Each identifier that [`DeviceIdPage::page83_text`] could be, as it would be.
    pub fn texts(&self) -> Vec<String> {
        let own = self.own();
        own.filter_map(|identifier| match identifier.code_set {
            CodeSet::Binary => Some(hex(&identifier.bytes)),
            CodeSet::Ascii => Some(ascii(&identifier.bytes)),
            CodeSet::Utf8 | CodeSet::Other(_) => None,
        })
        .collect()
    }

    /// The names of the device in UTF-8, without padding: what pads a field is a NUL to one system and a blank to
    /// another, so each NUL within is a blank. What is no UTF-8 or only padding is no name.
    ///
    /// VMware's NVMe disks have no other: `15ADVMware Virtual NVMe Disk`, NULs to 44 bytes, `0001VMWare NVME_0000` and
    /// NULs, as event 1006 of Windows's Partition/Diagnostic log records it.
    pub fn utf8_names(&self) -> Vec<String> {
        let own = self.own();
        let own = own.filter(|identifier| identifier.code_set == CodeSet::Utf8);
        own.filter_map(|identifier| String::from_utf8(identifier.bytes.clone()).ok())
            .map(|name| name.replace('\0', " ").trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect()
    }

    fn own(&self) -> impl Iterator<Item = &Identifier> {
        let identifiers = self.identifiers.iter();
        identifiers.filter(|identifier| identifier.association == Association::Device)
    }

    /// The descriptor's bytes, every identifier at a multiple of four.
    ///
    /// # Errors
    /// An identifier is longer than its 16-bit length or link can say.
    pub fn encode(&self) -> Result<Vec<u8>, DeviceIdError> {
        let mut bytes = vec![0; HEADER];
        for (index, identifier) in (0..).zip(&self.identifiers) {
            let too_long = DeviceIdError::TooLong {
                index,
                len: identifier.bytes.len(),
            };
            let padded = (IDENTIFIER + identifier.bytes.len()).next_multiple_of(4);
            let len = u16::try_from(identifier.bytes.len()).map_err(|_| too_long.clone())?;
            let next = u16::try_from(padded).map_err(|_| too_long)?;
            let end = bytes.len() + padded;
            bytes.extend(u32::from(identifier.code_set).to_le_bytes());
            bytes.extend(u32::from(identifier.kind).to_le_bytes());
            bytes.extend(len.to_le_bytes());
            bytes.extend(next.to_le_bytes());
            bytes.extend(u32::from(identifier.association).to_le_bytes());
            bytes.extend(&identifier.bytes);
            bytes.resize(end, 0);
        }
        self.put_header(&mut bytes)?;
        Ok(bytes)
    }

    fn put_header(&self, bytes: &mut [u8]) -> Result<(), DeviceIdError> {
        let number = |n: usize| u32::try_from(n).map_err(|_| DeviceIdError::TooMany);
        let fields = [
            VERSION,
            number(bytes.len())?,
            number(self.identifiers.len())?,
        ];
        bytes[..HEADER].copy_from_slice(&fields.map(u32::to_le_bytes).concat());
        Ok(())
    }
}

/// The identifier at `at`, and its link to the next.
fn identifier(descriptor: &[u8], at: usize) -> Option<(Identifier, u16)> {
    let fields = slice(descriptor, at, IDENTIFIER)?;
    let len = usize::from(u16_le(fields, 8)?);
    let identifier = Identifier {
        code_set: u32_le(fields, 0)?.into(),
        kind: u32_le(fields, 4)?.into(),
        association: u32_le(fields, 12)?.into(),
        bytes: slice(descriptor, at + IDENTIFIER, len)?.to_vec(),
    };
    Some((identifier, u16_le(fields, 10)?))
}

/// A link that skips at least the fields of the identifier that it stands in, so that a
/// descriptor cannot claim more identifiers than it has room for.
fn link(next: u16) -> Option<usize> {
    Some(usize::from(next)).filter(|next| *next >= IDENTIFIER)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Why bytes are no `STORAGE_DEVICE_ID_DESCRIPTOR`, or identifiers do not fit in one.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum DeviceIdError {
    /// Fewer bytes came than the descriptor's fixed part has.
    #[error("the device id descriptor has {returned} bytes, less than its header")]
    Header {
        /// Bytes that the driver returned.
        returned: usize,
    },
    /// An identifier leaves the descriptor.
    #[error("identifier {index} at offset {offset} leaves the device id descriptor")]
    Identifier {
        /// Counted from 0.
        index: u32,
        /// Where it begins.
        offset: usize,
    },
    /// An identifier's link to the next points into itself.
    #[error("identifier {index} links {next} bytes ahead, into itself")]
    Link {
        /// Counted from 0.
        index: u32,
        /// The link.
        next: u16,
    },
    /// The descriptor claims a size that it cannot have.
    #[error("the device id descriptor claims {size} bytes of {returned}")]
    Size {
        /// The claimed size in bytes.
        size: u32,
        /// Bytes that the driver returned.
        returned: usize,
    },
    /// An identifier's value is longer than 65 516 bytes.
    #[error("identifier {index} of {len} bytes is too long")]
    TooLong {
        /// Counted from 0.
        index: u32,
        /// Its length in bytes.
        len: usize,
    },
    /// All identifiers together are longer than 4 GiB.
    #[error("too many identifiers")]
    TooMany,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn device(code_set: CodeSet, kind: IdentifierType, bytes: &[u8]) -> Identifier {
        Identifier {
            code_set,
            kind,
            association: Association::Device,
            bytes: bytes.to_vec(),
        }
    }

    fn page(identifiers: impl Into<Vec<Identifier>>) -> DeviceIdPage {
        DeviceIdPage {
            identifiers: identifiers.into(),
        }
    }

    #[test]
    fn a_binary_name_reads_as_lower_case_digits() {
        let naa = device(
            CodeSet::Binary,
            IdentifierType::FcphName,
            &[0x60, 0x02, 0xAB, 0xFF],
        );
        assert_eq!(page([naa]).page83_text(), "6002abff");
    }

    #[test]
    fn the_first_name_of_the_device_wins_whatever_its_type() {
        let port = Identifier {
            association: Association::Port,
            ..device(CodeSet::Binary, IdentifierType::FcphName, &[1])
        };
        let utf8 = device(
            CodeSet::Utf8,
            IdentifierType::ScsiName,
            b"iqn.2004-04.example",
        );
        let vendor = device(
            CodeSet::Ascii,
            IdentifierType::VendorId,
            b"VMware  Virtual disk ",
        );
        let naa = device(CodeSet::Binary, IdentifierType::FcphName, &[2]);
        assert_eq!(
            page([port.clone(), utf8.clone(), vendor, naa]).page83_text(),
            "VMware  Virtual disk "
        );
        assert_eq!(page([port, utf8]).page83_text(), "");
    }

    #[test]
    fn a_utf8_name_has_neither_padding_nor_nuls() {
        let names = |bytes: &[u8]| {
            let name = device(CodeSet::Utf8, IdentifierType::ScsiName, bytes);
            page([name]).utf8_names()
        };
        assert_eq!(
            names(b"15ADDisk\0\0 0001NVME_0000\0\0"),
            ["15ADDisk   0001NVME_0000"]
        );
        for none in [&b""[..], b"\0\0 ", b"disk\xff"] {
            assert_eq!(names(none), Vec::<String>::new());
        }
    }

    /// Guards: P41
    #[test]
    fn text_that_is_no_ascii_stays_distinct_and_valid() {
        let text =
            |bytes| page([device(CodeSet::Ascii, IdentifierType::VendorId, bytes)]).page83_text();
        assert_eq!(text(b"A\xffB"), r"A\xffB");
        assert_ne!(text(b"A\xff"), text(b"A\xfe"));
    }

    #[test]
    fn bytes_as_windows_lays_them_out() {
        let bytes = [
            &[13, 0, 0, 0, 56, 0, 0, 0, 2, 0, 0, 0][..],
            &[
                2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 20, 0, 0, 0, 0, 0, b'a', b'b', b'c', 0,
            ],
            &[
                1, 0, 0, 0, 3, 0, 0, 0, 8, 0, 24, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
            ],
        ]
        .concat();
        let parsed = DeviceIdPage::parse(&[bytes.as_slice(), &[0xEE; 40]].concat()).unwrap();
        assert_eq!(parsed.page83_text(), "abc");
        assert_eq!(parsed.identifiers[1].bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parsed.encode().unwrap(), bytes);
    }

    /// Guards: P41
    #[test]
    fn lengths_that_leave_the_buffer_are_errors() {
        let whole = page([device(CodeSet::Ascii, IdentifierType::VendorId, b"disk")])
            .encode()
            .unwrap();
        assert!(matches!(
            DeviceIdPage::parse(&whole[..11]),
            Err(DeviceIdError::Header { .. })
        ));
        assert!(matches!(
            DeviceIdPage::parse(&whole[..31]),
            Err(DeviceIdError::Size { .. })
        ));
        let mut long = whole;
        long[20] = 5;
        assert_eq!(
            DeviceIdPage::parse(&long),
            Err(DeviceIdError::Identifier {
                index: 0,
                offset: 12
            })
        );
    }

    #[test]
    fn a_link_into_itself_is_an_error_and_ends_no_count_of_millions() {
        let mut looped = page([device(CodeSet::Binary, IdentifierType::Eui64, &[1; 4])])
            .encode()
            .unwrap();
        looped[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        looped[22..24].copy_from_slice(&0_u16.to_le_bytes());
        assert_eq!(
            DeviceIdPage::parse(&looped),
            Err(DeviceIdError::Link { index: 0, next: 0 })
        );
    }

    #[test]
    fn the_link_of_the_last_identifier_does_not_matter() {
        let mut page = page([device(CodeSet::Ascii, IdentifierType::VendorId, b"disk")])
            .encode()
            .unwrap();
        page[22..24].copy_from_slice(&0_u16.to_le_bytes());
        assert_eq!(DeviceIdPage::parse(&page).unwrap().page83_text(), "disk");
    }

    prop_compose! {
        fn identifiers()(
            code_set in 0_u32..6,
            kind in 0_u32..12,
            association in 0_u32..4,
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) -> Identifier {
            Identifier {
                code_set: code_set.into(),
                kind: kind.into(),
                association: association.into(),
                bytes,
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in prop::collection::vec(identifiers(), 0..6)) {
            let page = page(all);
            prop_assert_eq!(DeviceIdPage::parse(&page.encode().unwrap()), Ok(page));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(page) = DeviceIdPage::parse(&bytes) {
                page.page83_text();
                page.utf8_names();
            }
        }

        #[test]
        fn no_cut_page_is_read(all in prop::collection::vec(identifiers(), 1..4), cut in 1_usize..20) {
            let bytes = page(all).encode().unwrap();
            prop_assert!(DeviceIdPage::parse(&bytes[..bytes.len() - cut.min(bytes.len())]).is_err());
        }
    }
}
