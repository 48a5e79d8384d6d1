//! Answers of real machines are read correctly: each location, path, identifier and link of the field records.

use wincsi_formats::device_id::{Association, CodeSet, DeviceIdPage, Identifier, IdentifierType};
use wincsi_formats::device_path;
use wincsi_formats::fixtures::field::{self, Object};
use wincsi_formats::location::Location;
use wincsi_formats::reparse::{Names, Reparse, SymlinkBase, Tag};

/// Adapter, bus, port, target and LUN.
type Place = [Option<&'static str>; 5];

const FILE: Option<Place> = None;

const fn scsi(
    bus: Option<&'static str>,
    adapter: &'static str,
    lun: &'static str,
) -> Option<Place> {
    Some([Some(adapter), bus, Some("0"), Some("0"), Some(lun)])
}

const ATA: Option<Place> = FILE;

/// What drivers get for each recorded location, by record and object: csi-proxy omits locations of fewer than five
/// parts.
const LOCATIONS: &[(&str, &str, Option<Place>)] = &[
    ("azure-1709", "data", scsi(None, "3", "1")),
    ("azure-1709", "system", ATA),
    ("azure-1709", "temporary", ATA),
    ("azure-1709", "first", scsi(None, "3", "0")),
    ("azure-2019", "system", scsi(Some("0"), "0", "0")),
    ("azure-2019", "temporary", scsi(Some("0"), "0", "1")),
    ("azure-2019", "scratch", FILE),
    (
        "azure-nvme",
        "lun-0",
        Some([Some("0"), Some("12606208"), None, None, None]),
    ),
    ("azure-scsi", "clone", scsi(Some("0"), "1", "1")),
    ("hyper-v", "system", ATA),
    ("hyper-v", "data", scsi(Some("0"), "2", "0")),
    ("other-buses", "sata-behind-raid", scsi(Some("0"), "0", "0")),
    ("vsphere", "without-uuid", FILE),
];

#[test]
fn each_recorded_location_gives_what_csi_proxy_would_hand_out() {
    let mut read = Vec::new();
    for (record, object) in field::objects("MSFT_Disk") {
        let Some(text) = object.text("Location") else {
            continue;
        };
        let found = Location::parse(text)
            .ok()
            .map(|it| [it.adapter, it.bus, it.port, it.target, it.lun]);
        read.push((record.name, object.name, found));
    }
    let wanted: Vec<_> = LOCATIONS
        .iter()
        .map(|(record, object, place)| {
            let place = place.map(|parts| parts.map(|part| part.map(str::to_owned)));
            (*record, (*object).to_owned(), place)
        })
        .collect();
    assert_eq!(read, wanted);
}

#[test]
fn a_recorded_path_names_a_namespace_where_the_disk_is_nvme_alone() {
    let mut paths = 0;
    for (record, object) in field::objects("MSFT_Disk") {
        let Some(path) = object.text("Path") else {
            continue;
        };
        let wanted = match record.name {
            "azure-nvme" => vec![2],
            _ => Vec::new(),
        };
        assert_eq!(device_path::namespaces(path), wanted, "{path}");
        paths += 1;
    }
    assert_eq!(paths, 10);
}

/// The page as far as it is known: the first identifier, by the text that csi-proxy made of it.
fn page(object: &Object) -> (DeviceIdPage, String) {
    let text = object.text("Page83").unwrap();
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let identifier = |code_set, kind, bytes| Identifier {
        code_set,
        kind,
        association: Association::Device,
        bytes,
    };
    let first = match bytes {
        Some(bytes) => identifier(CodeSet::Binary, IdentifierType::VendorId, bytes),
        None => identifier(CodeSet::Ascii, IdentifierType::VendorId, text.into()),
    };
    let naa = identifier(CodeSet::Binary, IdentifierType::FcphName, vec![0x60; 16]);
    let identifiers = vec![first, naa];
    (DeviceIdPage { identifiers }, text.to_owned())
}

#[test]
fn each_recorded_identifier_is_page83_also_before_an_naa_name() {
    let objects = field::objects("Page83");
    assert_eq!(objects.len(), 23);
    for (_, object) in objects {
        let (page, text) = page(&object);
        let read = DeviceIdPage::parse(&page.encode().unwrap()).unwrap();
        assert_eq!(
            read.page83_text(),
            text.to_lowercase().replace("google", "Google")
        );
    }
}

#[test]
fn a_link_of_mklink_is_read_and_written_with_its_print_name_first() {
    let objects = field::objects("ReparsePoint");
    let (_, object) = objects
        .iter()
        .find(|(_, it)| it.name == "mklink-d")
        .unwrap();
    let hex = object.text("Buffer").unwrap();
    let pairs = hex.as_bytes().chunks(2);
    let bytes: Vec<u8> = pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let link = Reparse::Symlink {
        names: names(object),
        base: SymlinkBase::Relative,
    };
    assert_eq!(Reparse::parse(&bytes), Ok(link.clone()));
    assert_eq!(link.encode(), Ok(bytes));
}

/// A path on a volume is no mounted folder, however it is written.
#[test]
fn the_recorded_junctions_are_none_of_a_volume_and_a_socket_has_its_tag() {
    for (_, object) in field::objects("ReparsePoint") {
        match object.number("Tag") {
            Some(tag) => assert_eq!(tag, Tag::AF_UNIX.0.into()),
            None => {
                let names = names(&object);
                let target = wincsi_formats::reparse::Target::Junction(names.substitute.clone());
                assert_eq!(names.target(), target);
            }
        }
    }
}

fn names(object: &Object) -> Names {
    Names {
        substitute: object.text("Substitute").unwrap().to_owned(),
        print: object.text("Print").unwrap().to_owned(),
    }
}
