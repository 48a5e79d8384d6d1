//! `STORAGE_DEVICE_ID_DESCRIPTOR`, the bytes that `IOCTL_STORAGE_QUERY_PROPERTY` answers with.
//!
//! Layout: <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_device_id_descriptor>
//! and <https://learn.microsoft.com/windows-hardware/drivers/ddi/storduid/ns-storduid-storage_identifier>.

use os::Cause;

use super::disk::{Association, Identifier, IdentifierKind};

const HEADER: usize = 12;
const IDENTIFIER_HEADER: usize = 16;

/// The whole descriptor of a disk with these identifiers.
pub(crate) fn descriptor(identifiers: &[Identifier]) -> Result<Vec<u8>, Cause> {
    let mut body = Vec::new();
    for (index, identifier) in identifiers.iter().enumerate() {
        let is_last = index + 1 == identifiers.len();
        append(&mut body, identifier, is_last)?;
    }
    let header: [u32; 3] = [
        fitting(HEADER)?,
        fitting(HEADER + body.len())?,
        fitting(identifiers.len())?,
    ];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.append(&mut body);
    Ok(bytes)
}

/// The identifier from which Windows makes `MSFT_Disk.UniqueId`.
///
/// Disks of Hyper-V have a T10 identifier first and are named by the NAA one behind it
/// (<https://github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2661>), those of EBS have a binary one first
/// (<https://github.com/kubernetes-csi/csi-proxy/issues/116>) and are named by a text
/// (<https://github.com/dsccommunity/StorageDsc/issues/247>).
pub(crate) fn best(identifiers: &[Identifier]) -> Option<&Identifier> {
    const RANKED: [IdentifierKind; 6] = [
        IdentifierKind::Naa,
        IdentifierKind::ScsiName,
        IdentifierKind::Eui64,
        IdentifierKind::T10,
        IdentifierKind::T10Binary,
        IdentifierKind::Vendor,
    ];
    RANKED.into_iter().find_map(|kind| {
        identifiers
            .iter()
            .find(|identifier| identifier.kind == kind && identifier.of == Association::Device)
    })
}

impl IdentifierKind {
    /// `STORAGE_IDENTIFIER_TYPE`, which `MSFT_Disk.UniqueIdFormat` uses as well.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Vendor | Self::VendorBinary => 0,
            Self::T10 | Self::T10Binary => 1,
            Self::Eui64 => 2,
            Self::Naa => 3,
            Self::ScsiName => 8,
        }
    }

    /// Whether its value is hexadecimal digits.
    pub(crate) fn is_binary(self) -> bool {
        self.code_set() == 1
    }

    fn code_set(self) -> u32 {
        match self {
            Self::Eui64 | Self::Naa | Self::T10Binary | Self::VendorBinary => 1,
            Self::T10 | Self::Vendor => 2,
            Self::ScsiName => 3,
        }
    }
}

impl Association {
    fn number(self) -> u32 {
        match self {
            Self::Device => 0,
            Self::Port => 1,
            Self::Target => 2,
        }
    }
}

fn append(body: &mut Vec<u8>, identifier: &Identifier, is_last: bool) -> Result<(), Cause> {
    let value = bytes(identifier)?;
    let padded = (IDENTIFIER_HEADER + value.len()).next_multiple_of(4);
    let size: u16 = fitting(value.len())?;
    let next: u16 = if is_last { 0 } else { fitting(padded)? };
    let start = body.len();
    body.extend(identifier.kind.code_set().to_le_bytes());
    body.extend(u32::from(identifier.kind.number()).to_le_bytes());
    body.extend(size.to_le_bytes());
    body.extend(next.to_le_bytes());
    body.extend(identifier.of.number().to_le_bytes());
    body.extend(value);
    body.resize(start + padded, 0);
    Ok(())
}

fn bytes(identifier: &Identifier) -> Result<Vec<u8>, Cause> {
    let text = &identifier.value;
    if !identifier.kind.is_binary() {
        return Ok(text.clone().into_bytes());
    }
    unhex(text).ok_or_else(|| Cause::Malformed(format!("{text:?} is not hexadecimal")))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

fn fitting<T: TryFrom<usize>>(length: usize) -> Result<T, Cause> {
    T::try_from(length).map_err(|_| Cause::Malformed(format!("{length} bytes of identifiers")))
}

#[cfg(test)]
mod tests {
    use super::{best, descriptor};
    use crate::hardware::{Bus, DiskSpec, IdentifierKind};

    #[test]
    fn the_bytes_are_those_of_the_documented_layout() {
        let spec = DiskSpec::on(Bus::Sas)
            .identified(IdentifierKind::Naa, "60022480")
            .identified(IdentifierKind::Vendor, "abc");
        let expected = [
            [12, 0, 0, 0, 52, 0, 0, 0, 2, 0, 0, 0].as_slice(),
            &[1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 20, 0, 0, 0, 0, 0],
            &[0x60, 0x02, 0x24, 0x80],
            &[2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
            b"abc\0",
        ]
        .concat();
        assert_eq!(descriptor(&spec.identifier).unwrap(), expected);
    }

    #[test]
    fn a_disk_is_named_by_naa_before_a_text_and_by_that_before_a_number() {
        let mut spec = DiskSpec::on(Bus::Sas);
        for kind in [
            IdentifierKind::T10Binary,
            IdentifierKind::Eui64,
            IdentifierKind::ScsiName,
            IdentifierKind::Naa,
        ] {
            spec = spec.identified(kind, "4d53");
            assert_eq!(best(&spec.identifier).map(|best| best.kind), Some(kind));
        }
    }

    #[test]
    fn a_disk_without_identifiers_has_an_empty_descriptor() {
        let empty = [12, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(descriptor(&[]).unwrap(), empty);
    }

    #[test]
    fn digits_that_are_none_are_refused() {
        for value in ["6", "zz", "\u{e9}0"] {
            let spec = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, value);
            assert!(descriptor(&spec.identifier).is_err(), "{value}");
        }
    }
}
