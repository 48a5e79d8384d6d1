//! Disks as real machines had them, each looked for by what was recorded of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;

use formats::fixtures::field::{self, Object};
use formats::location::Location;
use os::DiskNumber;
use os_sim::{Bus, DiskSpec, IdentifierKind};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Page83, SerialNumber};

use crate::support::{GIB, NodeFixture};

#[test]
fn a_disk_is_found_by_its_recorded_identifier_and_several_of_one_identifier_are_reported() {
    let fixture = NodeFixture::new();
    let mut owners: BTreeMap<String, Vec<DiskNumber>> = BTreeMap::new();
    for (record, object) in field::objects("Page83") {
        let name = format!("{}-{}", record.name, object.name);
        let number = plug(&fixture, &name, &spec(&object));
        let text = object.text("Page83").unwrap().to_owned();
        owners.entry(text).or_default().push(number);
    }
    let mut several = 0;
    for (text, owners) in owners {
        let found = find(&fixture, Criterion::Page83(Page83::parse(&text).unwrap()));
        match owners.as_slice() {
            [one] => assert_eq!(found.unwrap().number(), *one, "{text}"),
            _ => {
                assert_eq!(candidates(found), owners, "{text}");
                several += 1;
            }
        }
    }
    assert_eq!(several, 1);
}

/// csi-proxy's look-up by the text that ListDiskIDs handed out.
#[test]
fn the_recorded_identifier_of_two_vhds_names_neither() {
    let fixture = NodeFixture::new();
    let twins = field::objects("Page83").into_iter();
    let twins = twins.filter(|(_, object)| ["vhd-3", "vhd-4"].contains(&object.name.as_str()));
    let mut identifier = String::new();
    for (_, object) in twins.filter(|(record, _)| record.name == "ebs-page83") {
        plug(&fixture, &object.name, &spec(&object));
        object.text("Page83").unwrap().clone_into(&mut identifier);
    }
    let found = fixture.disks().by_page83(&identifier, fixture.soon());
    let is_several = |disks: &[DiskNumber]| disks.len() == 2;
    assert!(
        matches!(&found, Err(DiskError::SeveralPage83 { disks, .. }) if is_several(disks)),
        "{found:?}"
    );
}

#[test]
fn a_volume_of_ebs_is_found_by_its_id_as_the_recorded_serial_number_has_it() {
    let fixture = NodeFixture::new();
    let mut volumes = 0;
    for class in ["Page83", "MSFT_Disk"] {
        for (_, object) in field::objects(class) {
            let serial = object
                .text("SerialNumber")
                .filter(|text| text.starts_with("vol"));
            let Some(serial) = serial else {
                continue;
            };
            let disk = DiskSpec::on(Bus::Nvme).serial(serial);
            let number = plug(&fixture, &format!("{class}-{}", object.name), &disk);
            let id = serial.split_once('_').unwrap().0;
            let wanted = Criterion::Serial(SerialNumber::parse(id).unwrap());
            assert_eq!(find(&fixture, wanted).unwrap().number(), number, "{serial}");
            volumes += 1;
        }
    }
    assert_eq!(volumes, 4);
}

#[test]
fn what_many_recorded_disks_have_alike_is_no_name() {
    let mut refused = Vec::new();
    for class in ["Page83", "MSFT_Disk"] {
        for (_, object) in field::objects(class) {
            let texts = ["UniqueId", "SerialNumber"].map(|property| object.text(property));
            for text in texts.into_iter().flatten().filter(|text| !text.is_empty()) {
                assert_eq!(
                    Page83::parse(text).is_err(),
                    SerialNumber::parse(text).is_err()
                );
                if Page83::parse(text).is_err() {
                    refused.push(text.to_owned());
                }
            }
        }
    }
    let blank = " ".repeat(20);
    assert_eq!(refused, [blank.as_str(), "3141463431303031", "0"]);
}

#[test]
fn a_disk_is_found_at_its_recorded_place_where_that_has_a_lun() {
    let mut places = 0;
    for (record, object) in field::objects("MSFT_Disk") {
        let Some(text) = object.text("Location") else {
            continue;
        };
        let Ok(Location {
            adapter: Some(adapter),
            lun: Some(lun),
            ..
        }) = Location::parse(text)
        else {
            continue;
        };
        let fixture = NodeFixture::new();
        let disk = DiskSpec {
            location: Some(text.to_owned()),
            ..DiskSpec::on(Bus::Sas)
        };
        plug(&fixture, "other", &DiskSpec::on(Bus::Sas).lun(77));
        let number = plug(&fixture, "data", &disk);
        let place = [
            Criterion::Adapter(adapter.parse().unwrap()),
            Criterion::Lun(lun.parse().unwrap()),
            Criterion::Size(GIB),
        ];
        let found = fixture
            .disks()
            .find(&DiskQuery::all(place).unwrap(), fixture.soon());
        assert_eq!(found.unwrap().number(), number, "{} {text}", record.name);
        places += 1;
    }
    assert_eq!(places, 7);
}

/// Text is ASCII; of binary identifiers the length says the kind.
fn spec(object: &Object) -> DiskSpec {
    let text = object.text("Page83").unwrap();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let kind = match (is_hex, text.len()) {
        (true, 48) => IdentifierKind::T10Binary,
        (true, _) => IdentifierKind::Naa,
        (false, _) => IdentifierKind::T10,
    };
    let spec = DiskSpec::on(Bus::Sas).identified(kind, text);
    spec.serial(object.text("SerialNumber").unwrap())
}

/// The number that the disk gets.
fn plug(fixture: &NodeFixture, name: &str, spec: &DiskSpec) -> DiskNumber {
    fixture.attach(name, spec, GIB);
    fixture.rescan();
    *fixture.os().disks.list().unwrap().last().unwrap()
}

fn find(fixture: &NodeFixture, criterion: Criterion) -> Result<FoundDisk, DiskError> {
    let wanted = DiskQuery::all([criterion]).unwrap();
    fixture.disks().find(&wanted, fixture.soon())
}

fn candidates(found: Result<FoundDisk, DiskError>) -> Vec<DiskNumber> {
    match found {
        Err(DiskError::NotIdentified(error)) => {
            error.candidates().map(|disk| disk.number).collect()
        }
        other => panic!("{other:?}"),
    }
}
