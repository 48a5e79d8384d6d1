use super::AnswerError;
use crate::bytes::{ascii, slice, u32_le};

const STRUCTURE: &str = "STORAGE_DEVICE_DESCRIPTOR";

/// Bytes of the fixed part.
const FIXED: usize = 36;

/// The length of a whole answer to `IOCTL_STORAGE_QUERY_PROPERTY`: each begins with a
/// `STORAGE_DESCRIPTOR_HEADER`, and Windows truncates an answer to the buffer without an error.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_descriptor_header>
///
/// # Errors
/// The answer is shorter than that header.
pub fn size(returned: &[u8]) -> Result<usize, AnswerError> {
    let structure = "STORAGE_DESCRIPTOR_HEADER";
    let size = u32_le(returned, 4).ok_or(AnswerError::cut(structure, returned))?;
    usize::try_from(size).map_err(|_| AnswerError::cut(structure, returned))
}

/// A `STORAGE_DEVICE_DESCRIPTOR`: a device's own description. Texts are as the device wrote them,
/// padding included; a byte outside of ASCII becomes `\xNN`, so that two devices that differ in it keep
/// different names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceDescriptor {
    /// `BusType`.
    pub bus: u32,
    /// The vendor, if the device names one.
    pub vendor: Option<String>,
    /// The product, if the device names one.
    pub product: Option<String>,
    /// The serial number, if the device has one.
    pub serial: Option<String>,
}

impl DeviceDescriptor {
    /// Reads the part of the buffer that the driver filled.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_device_descriptor>
    ///
    /// # Errors
    /// The descriptor is longer than the answer, or one of its texts begins or ends outside of it.
    pub fn parse(returned: &[u8]) -> Result<Self, AnswerError> {
        let cut = AnswerError::cut(STRUCTURE, returned);
        let size = size(returned)?;
        let whole = slice(returned, 0, size).ok_or(cut)?;
        let field = |at| u32_le(whole, at).ok_or(cut);
        let text = |name, at| text(whole, name, field(at)?);
        Ok(Self {
            bus: field(28)?,
            vendor: text("VendorIdOffset", 12)?,
            product: text("ProductIdOffset", 16)?,
            serial: text("SerialNumberOffset", 24)?,
        })
    }
}

/// Offset 0 means no text. Some drivers write all ones for a missing serial number.
fn text(
    descriptor: &[u8],
    field: &'static str,
    offset: u32,
) -> Result<Option<String>, AnswerError> {
    if matches!(offset, 0 | u32::MAX) {
        return Ok(None);
    }
    let outside = AnswerError::Field {
        structure: STRUCTURE,
        field,
        value: offset.into(),
    };
    let start = usize::try_from(offset).map_err(|_| outside)?;
    let rest = descriptor.get(start..).filter(|_| start >= FIXED);
    let rest = rest.ok_or(outside)?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or(outside)?;
    Ok((end != 0).then(|| ascii(&rest[..end])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DeviceDescriptor, FIXED};

    /// A descriptor with these offsets of vendor, product, revision and serial number.
    fn descriptor(offsets: [u32; 4], behind: &[u8]) -> Vec<u8> {
        let size = u32::try_from(FIXED + behind.len()).unwrap();
        let mut bytes: Vec<u8> = [40, size, 0]
            .into_iter()
            .chain(offsets)
            .chain([10, 0])
            .flat_map(u32::to_le_bytes)
            .collect();
        bytes.extend(behind);
        bytes
    }

    #[test]
    fn texts_are_as_the_device_wrote_them() {
        let bytes = descriptor([36, 43, 0, 53], b"VMware\0Disk  2.0\0 S\xe91\0");
        let read = DeviceDescriptor::parse(&[&bytes[..], b"more"].concat()).unwrap();
        let expected = DeviceDescriptor {
            bus: 10,
            vendor: Some("VMware".to_owned()),
            product: Some("Disk  2.0".to_owned()),
            serial: Some(r" S\xe91".to_owned()),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_device_may_have_no_texts() {
        let read = DeviceDescriptor::parse(&descriptor([0, 36, 0, u32::MAX], b"\0")).unwrap();
        assert_eq!([read.vendor, read.product, read.serial], [None, None, None]);
    }

    #[test]
    fn texts_that_leave_the_descriptor_are_errors() {
        for offset in [1, 35, 38, 39, 0x7FFF_FFFF, u32::MAX - 1] {
            let bytes = descriptor([0, 0, 0, offset], b"ab");
            let read = DeviceDescriptor::parse(&[&bytes[..], b"\0\0\0\0"].concat());
            assert!(read.is_err(), "{offset}");
        }
        assert!(DeviceDescriptor::parse(&descriptor([0, 0, 0, 36], b"ab")).is_err());
    }

    #[test]
    fn a_descriptor_that_is_cut_short_is_an_error() {
        let whole = descriptor([36, 0, 0, 0], b"ab\0");
        assert!(DeviceDescriptor::parse(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(
                DeviceDescriptor::parse(&whole[..length]).is_err(),
                "{length}"
            );
        }
        let mut too_small = whole;
        too_small[4] = 20;
        assert!(DeviceDescriptor::parse(&too_small).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(offsets: [u32; 4], behind: Vec<u8>, cut: usize) {
            let bytes = descriptor(offsets, &behind);
            let _ = DeviceDescriptor::parse(&bytes[..cut % (bytes.len() + 1)]);
        }

        #[test]
        fn a_text_is_found_wherever_it_stands(before: [u8; 9], text in "[ -~]{1,40}") {
            let behind = [&before[..], text.as_bytes(), b"\0"].concat();
            let read = DeviceDescriptor::parse(&descriptor([0, 0, 0, 45], &behind)).unwrap();
            prop_assert_eq!(read.serial, Some(text));
        }
    }
}
