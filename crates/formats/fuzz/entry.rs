//! What each fuzz target asks of the crate; the tests replay `seeds/` through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use wincsi_formats::blank::{
    BlankRule, Extent, SectorSize, Verdict, View, for_create_partition, for_format, for_initialise,
    scan,
};
use wincsi_formats::device_id::DeviceIdPage;
use wincsi_formats::ioctl::{self, DeviceDescriptor, DriveLayout, VolumeDiskExtents};
use wincsi_formats::location::Location;
use wincsi_formats::reparse::{Reparse, Tag};
use wincsi_formats::smbios::System;
use wincsi_formats::{credential, device_path, multi_string, wql};

/// A whole small disk. The first byte chooses the sector size; a ragged end is cut off.
pub(crate) fn disk(data: &[u8]) {
    let Some((choice, image)) = data.split_first() else {
        return;
    };
    let sector = if choice & 1 == 0 {
        SectorSize::B512
    } else {
        SectorSize::B4096
    };
    let length = u64::try_from(image.len()).unwrap_or_default() / sector.bytes() * sector.bytes();
    let Ok(extent) = Extent::new(length, sector) else {
        return;
    };
    let buffers = extent.ranges().map(|range| {
        let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
        image[start.unwrap_or_default()..end.unwrap_or_default()].to_vec()
    });
    let view = View::assemble(extent, buffers).expect("every buffer has its range's length");
    let blank = view.first_nonzero().is_none();
    assert_eq!(scan(&view) == Verdict::Blank, blank);
    assert_eq!(for_initialise(&view, BlankRule::Strict).is_ok(), blank);
    assert_eq!(for_format(&view, BlankRule::Strict).is_ok(), blank);
    let strict = for_create_partition(&view, BlankRule::Strict).is_ok();
    assert!(!strict || for_create_partition(&view, BlankRule::Signatures).is_ok());
}

/// A user's name and password, with a NUL between them. A reader who knows the form finds both again.
pub(crate) fn credential(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (name, password) = text.split_once('\0').unwrap_or((&text, ""));
    let quoted = credential::quoted(name, password);
    let mut read = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next().filter(|character| *character != ':') {
        let is_escape = character == '\\';
        read.extend(if is_escape {
            characters.next()
        } else {
            Some(character)
        });
    }
    assert_eq!((read.as_str(), characters.as_str()), (name, password));
}

/// A device id descriptor. What is read and can be written reads the same.
pub(crate) fn device_id(data: &[u8]) {
    if let Ok(page) = DeviceIdPage::parse(data) {
        assert!(page.page83_text().len() <= 4 * data.len());
        if let Ok(written) = page.encode() {
            assert_eq!(DeviceIdPage::parse(&written), Ok(page));
        }
    }
}

/// The path of a disk's device interface. The unit of a namespace is written in it, in one way or in two.
pub(crate) fn device_path(data: &[u8]) {
    let path = String::from_utf8_lossy(data);
    let numbers = device_path::namespaces(&path);
    assert!(numbers.len() <= 2);
    for number in numbers {
        assert!((1..=0x100).contains(&number));
        let unit = number - 1;
        let digits = [format!("&{unit:06x}"), format!("&{unit:06}")];
        let path = path.to_ascii_lowercase();
        assert!(digits.iter().any(|digits| path.contains(digits)));
    }
}

/// What a disk or volume answers to control codes. No more is read than there is.
pub(crate) fn ioctl(data: &[u8]) {
    if let Ok(layout) = DriveLayout::parse(data) {
        assert!(DriveLayout::length(layout.partitions.len()) <= data.len().max(48));
    }
    if let Ok(descriptor) = DeviceDescriptor::parse(data) {
        let serial = descriptor.serial.unwrap_or_default();
        assert!(serial.len() <= 4 * data.len());
    }
    if let Ok(VolumeDiskExtents(extents)) = VolumeDiskExtents::parse(data) {
        assert!(VolumeDiskExtents::length(extents.len()) <= data.len());
    }
    let _ = ioctl::bytes_per_sector(data);
    let _ = ioctl::disk_length(data);
    let _ = ioctl::disk_number(data);
    let _ = ioctl::size(data);
    let _ = ioctl::DiskAttributes::parse(data);
    let _ = ioctl::ScsiAddress::parse(data);
}

/// A disk's location.
pub(crate) fn location(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Location::parse(text);
    }
}

/// A list of texts. What is read and written again is the beginning of the block.
pub(crate) fn multi_string(data: &[u8]) {
    let (pairs, _) = data.as_chunks();
    let block: Vec<_> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let Ok(texts) = multi_string::texts(&block) else {
        return;
    };
    assert!(
        texts
            .iter()
            .all(|text| !text.is_empty() && !text.contains(&0))
    );
    let ended = texts.iter().map(|text| [text, [0].as_slice()].concat());
    let written = [ended.collect::<Vec<_>>().concat(), vec![0]].concat();
    assert!(block.starts_with(&written));
}

/// A reparse point. What is read and can be written reads the same.
pub(crate) fn reparse(data: &[u8]) {
    let Ok(read) = Reparse::parse(data) else {
        return;
    };
    if let Reparse::MountPoint(names) = &read {
        names.target();
    }
    assert!(
        !matches!(read.tag(), Tag::MOUNT_POINT | Tag::SYMLINK)
            || !matches!(read, Reparse::Other { .. })
    );
    if let Ok(written) = read.encode() {
        assert_eq!(Reparse::parse(&written), Ok(read));
    }
}

/// A firmware's table. What it gives is no blank, and no UUID that says that there is none.
pub(crate) fn smbios(data: &[u8]) {
    let Ok(System { serial, uuid }) = System::parse(data) else {
        return;
    };
    assert!(uuid.is_none_or(|uuid| !uuid.is_nil() && !uuid.is_max()));
    if let Some(serial) = serial {
        assert!(!serial.trim().is_empty());
        // An invalid byte becomes a character of three.
        assert!(serial.len() <= 3 * data.len());
    }
}

/// A text for a query. Its literal is one literal, whatever follows, and says the same.
pub(crate) fn wql(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(literal) = wql::quoted(&text) else {
        assert!(text.contains('\0'));
        return;
    };
    for after in ["", " AND x = 'y'", "'", "\\"] {
        let query = format!("{literal}{after}");
        assert_eq!(wql::read(&query), Some((text.clone().into_owned(), after)));
    }
    if let Some((_, after)) = wql::read(&text) {
        assert!(text.ends_with(after));
    }
}
