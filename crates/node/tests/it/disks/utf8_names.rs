//! Disks that have no name but a SCSI name string in UTF-8, as NVMe disks of VMware have it: vendor, model, namespace
//! and the controller's serial number, each padded with NULs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::{Address, Bus, DiskSpec, IdentifierKind};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Page83, SerialNumber};

use crate::support::{GIB, NodeFixture as Fixture};

const SERIAL: &str = "VMWare NVME_0000";

fn name(namespace: u8, padding: char) -> String {
    let model = "VMware Virtual NVMe Disk";
    let pad = |field: &str, width: usize| {
        let padding = (field.len()..width).map(|_| padding);
        field.chars().chain(padding).collect::<String>()
    };
    format!("15AD{}{namespace:04X}{}", pad(model, 40), pad(SERIAL, 20))
}

fn disk(namespace: u8) -> DiskSpec {
    let address = Address {
        lun: namespace - 1,
        ..Address::default()
    };
    let spec = DiskSpec {
        address,
        ..DiskSpec::on(Bus::Nvme)
    };
    spec.serial(SERIAL)
        .identified(IdentifierKind::ScsiName, &name(namespace, '\0'))
}

fn find(own: &Fixture, criterion: Criterion) -> Result<FoundDisk, DiskError> {
    let query = DiskQuery::all([criterion]).unwrap();
    own.disks().find(&query, own.soon())
}

fn by_page83(own: &Fixture, text: &str) -> Result<FoundDisk, DiskError> {
    find(own, Criterion::Page83(Page83::parse(text).unwrap()))
}

fn by_serial(own: &Fixture) -> Result<FoundDisk, DiskError> {
    find(own, Criterion::Serial(SerialNumber::parse(SERIAL).unwrap()))
}

#[test]
fn a_utf8_name_alone_finds_its_namespace() {
    let own = Fixture::new();
    let (mut numbers, mut before) = (Vec::new(), own.os().disks.list().unwrap());
    for namespace in 1..=2 {
        own.plug(&disk(namespace), &format!("namespace{namespace}"), GIB);
        let now = own.os().disks.list().unwrap();
        numbers.extend(now.iter().find(|number| !before.contains(number)).copied());
        before = now;
    }
    for (namespace, number) in (1..).zip(numbers.clone()) {
        for padding in ['\0', ' '] {
            let spelling = name(namespace, padding);
            for spelling in [&*spelling, spelling.trim_end(), &spelling.to_lowercase()] {
                let found = by_page83(&own, spelling).unwrap();
                assert_eq!(found.number(), number, "{spelling:?}");
                own.disks().bring_online(&found, own.soon()).unwrap();
            }
        }
    }
    assert!(by_serial(&own).is_err());
    // csi-proxy's answer has no such name.
    let ids = own.disks().ids(own.soon()).unwrap();
    for number in numbers {
        assert_eq!(ids[&number].page83, "");
    }
}

#[test]
fn a_part_of_a_utf8_name_finds_no_disk() {
    let own = Fixture::new();
    own.plug(&disk(2), "only", GIB);
    for part in [SERIAL, "NVME_0000", "15ADVMware", &name(1, ' ')] {
        assert!(by_page83(&own, part).is_err(), "{part:?}");
    }
    assert!(by_page83(&own, &name(2, ' ')).is_ok());
}
