//! For each record of a profile the machine that it was taken from.

use formats::device_id::DeviceIdPage;
use formats::fixtures::field::{Object, Record};
use formats::smbios::System;
use os::schema::{
    Property, bios, iscsi_session, iscsi_target, iscsi_target_portal, storage_setting,
};
use os::{Deadline, DiskNumber, Query, Value};
use wincsi_os_sim::iscsi::ServerSpec;
use wincsi_os_sim::{Bus, DiskSpec, IdentifierKind, NodeSpec, Profile};

use crate::profiles::compare::Comparison;
use crate::profiles::machine::Machine;

const DISK: &str = "MSFT_Disk";
const PARTITION: &str = "MSFT_Partition";
const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Of a disk whose identity the record does not have.
const UNNAMED: &str = "600224800000000000000000000000ff";

/// Compares all that a record has.
pub(crate) fn compare(profile: Profile, record: &Record, comparison: &mut Comparison) {
    let fixture = ProfileFixture {
        profile,
        record,
        comparison,
    };
    fixture.play();
    comparison.finish(record);
}

struct ProfileFixture<'a> {
    profile: Profile,
    record: &'a Record,
    comparison: &'a mut Comparison,
}

impl<'a> ProfileFixture<'a> {
    fn play(self) {
        match self.record.name {
            "azure-2019" => self.azure(),
            "azure-scsi" => self.collision(),
            "ebs" => self.ebs(),
            "hyper-v" => self.hyper_v(),
            "hyper-v-initialised" => self.initialised(),
            "hyper-v-iscsi" => self.initiator(),
            "vsphere" => self.without_uuid(),
            "vsphere-cluster" => self.letter(),
            "vsphere-partition" => self.first_partition(),
            "vsphere-settings" => self.settings(),
            "ebs-page83" | "vsphere-uuid" => self.identities(),
            name if name.starts_with("firmware") => self.firmware(),
            name => panic!("nothing compares {name}"),
        }
    }

    fn machine(&self) -> Machine {
        Machine::of(self.spec())
    }

    fn spec(&self) -> NodeSpec {
        let computer = self.record.computer.as_deref();
        let mut spec = NodeSpec::named(computer.unwrap_or("node-1")).profile(self.profile);
        let system = self.record.object(DISK, "system");
        if let Some(size) = system.and_then(|system| system.number("Size")) {
            spec.system_disk_bytes = size;
        }
        spec
    }

    fn object(&self, class: &str, name: &str) -> &'a Object {
        self.record.object(class, name).unwrap()
    }

    fn compare_disk(&mut self, name: &str, machine: &Machine, number: DiskNumber) {
        let (record, object) = (self.record, self.record.object(DISK, name).unwrap());
        self.comparison.object(record, object, machine.disk(number));
    }

    fn compare_partition(&mut self, name: &str, machine: &Machine, disk: DiskNumber) {
        let (record, object) = (self.record, self.record.object(PARTITION, name).unwrap());
        self.comparison
            .object(record, object, machine.last_partition(disk));
    }

    fn hyper_v(mut self) {
        let machine = self.machine();
        let data = self.object(DISK, "data");
        let disk = self.profile.disk(0, data.text("UniqueId").unwrap());
        let number = machine.attach("data", &disk, data.number("Size").unwrap());
        self.compare_disk("system", &machine, DiskNumber(0));
        self.compare_disk("data", &machine, number);
    }

    /// The disk arrives offline and read-only; nobody but `Initialize` brings it online.
    fn initialised(mut self) {
        let machine = self.machine();
        let length = self.object(DISK, "data").number("Size").unwrap();
        let number = machine.attach("data", &self.profile.disk(0, UNNAMED), length);
        machine.partition(number, None);
        self.compare_disk("data", &machine, number);
        self.compare_partition("data", &machine, number);
    }

    fn azure(mut self) {
        let machine = self.machine();
        let scratch = machine.attach("scratch", &DiskSpec::on(Bus::Vhd), GIB);
        for (name, number) in [
            ("system", DiskNumber(0)),
            ("temporary", DiskNumber(1)),
            ("scratch", scratch),
        ] {
            self.compare_disk(name, &machine, number);
        }
    }

    /// A clone beside its origin: both are plugged in with one table.
    fn collision(mut self) {
        let machine = self.machine();
        let clone = self.object(DISK, "clone");
        let length = clone.number("AllocatedSize").unwrap();
        let origin = machine.attach("origin", &self.profile.disk(7, UNNAMED), length);
        machine.partition(origin, None);
        let disk = self.profile.disk(1, clone.text("UniqueId").unwrap());
        let content = wincsi_os_sim::Content::blank(length);
        let hardware = machine.node.hardware();
        hardware.attach_disk("clone", &disk, &content).unwrap();
        for offset in [0, length - MIB] {
            let mut piece = vec![0; 1 << 20];
            hardware.read_disk("origin", offset, &mut piece).unwrap();
            hardware.write_disk("clone", offset, &piece).unwrap();
        }
        let number = machine.newest();
        self.compare_disk("clone", &machine, number);
    }

    fn ebs(mut self) {
        let machine = self.machine();
        for (unit, name) in [(1, "data"), (2, "raw")] {
            let object = self.object(DISK, name);
            let volume = volume(object);
            let disk = self.profile.disk(unit, &volume);
            let number = machine.attach(name, &disk, object.number("Size").unwrap());
            if name == "data" {
                machine.partition(number, None);
            }
            self.compare_disk(name, &machine, number);
        }
        self.system_volume(&machine);
    }

    /// The volume that a machine runs from has an id of its own, so its row is compared with the record's id put in.
    fn system_volume(&mut self, machine: &Machine) {
        let object = self.object(DISK, "system");
        let theirs = volume(object).replace('-', "");
        let actual = machine.disk(DiskNumber(0));
        let serial = os::schema::disk::CLASS.property("SerialNumber").unwrap();
        let serial = actual(&os::schema::disk::CLASS, serial);
        let ours = serial
            .as_text()
            .unwrap()
            .split_once('_')
            .unwrap()
            .0
            .to_owned();
        self.comparison
            .object(self.record, object, |class, property| {
                match actual(class, property) {
                    Value::Text(text) => Value::Text(text.replace(&ours, &theirs)),
                    other => other,
                }
            });
    }

    fn without_uuid(mut self) {
        let machine = self.machine();
        let disk = DiskSpec {
            identifier: Vec::new(),
            ..self.profile.disk(0, UNNAMED)
        };
        let number = machine.attach("data", &disk, GIB);
        self.compare_disk("without-uuid", &machine, number);
    }

    fn letter(mut self) {
        let machine = self.machine();
        let partition = self.object(PARTITION, "clustered");
        let unique = partition.text("UniqueId").unwrap();
        let identity = unique.split_once('}').unwrap().1;
        let number = machine.attach("data", &self.profile.disk(1, identity), GIB);
        machine.partition(number, partition.number("Offset"));
        self.compare_partition("clustered", &machine, number);
    }

    /// On a disk too small for a reserved partition, behind a controller of another depth.
    fn first_partition(mut self) {
        let machine = self.machine();
        let disk = DiskSpec {
            depth: Some(4),
            ..self.profile.disk(0, UNNAMED)
        };
        let number = machine.attach("data", &disk, 16 * MIB);
        machine.partition(number, None);
        self.compare_partition("first", &machine, number);
    }

    fn settings(self) {
        let setting = self.machine().setting();
        let object = self.object(storage_setting::CLASS.name, "settings");
        self.comparison.object(self.record, object, |_, property| {
            setting.properties[property.name].clone()
        });
    }

    /// Disks by what they are called. Of VHD files a profile has nothing: their identifiers are read as the records
    /// have them.
    fn identities(self) {
        let machine = self.machine();
        for (unit, object) in (1..).zip(&self.record.objects) {
            let disk = self.identified(unit, object);
            let number = machine.attach(&object.name, &disk, GIB);
            if object.class == DISK {
                self.comparison
                    .object(self.record, object, machine.disk(number));
                continue;
            }
            let page = machine.os.disks.device_id_page(number).unwrap();
            let page = DeviceIdPage::parse(&page).unwrap().page83_text();
            let serial = machine.os.disks.descriptor(number).unwrap().serial;
            self.comparison
                .texts(self.record, object, |property| match property {
                    "Page83" => Some(page.clone()),
                    "SerialNumber" => Some(serial.clone().unwrap_or_default()),
                    _ => None,
                });
        }
    }

    fn identified(&self, unit: u8, object: &Object) -> DiskSpec {
        let named = ["UniqueId", "Page83"].into_iter();
        let named = named.filter_map(|name| object.text(name)).next().unwrap();
        match self.profile {
            _ if object.name.starts_with("vhd-") => {
                DiskSpec::on(Bus::Vhd).identified(IdentifierKind::T10Binary, named)
            }
            Profile::Ebs => self.profile.disk(unit, &volume(object)),
            _ => self.profile.disk(unit, named),
        }
    }

    fn firmware(self) {
        let machine = self.machine();
        let table = machine.os.firmware.smbios().unwrap();
        let serial = System::parse(&table).unwrap().serial;
        let object = self.object(bios::CLASS.name, "bios");
        self.comparison
            .texts(self.record, object, |property| match property {
                "SerialNumber" => serial.clone(),
                "Manufacturer" => has_string(&table, object.text(property)?),
                _ => None,
            });
    }

    /// A portal with two targets, and what a login to each gives.
    fn initiator(mut self) {
        let machine = self.machine();
        let portal = self.object(iscsi_target_portal::CLASS.name, "portal");
        let address = portal.text("TargetPortalAddress").unwrap();
        let sessions = ["first", "second"].map(|name| {
            let session = self.object(iscsi_session::CLASS.name, name);
            session.text("TargetNodeAddress").unwrap()
        });
        machine.add_portal(address, &sessions);
        let persists = |server: &mut ServerSpec| server.first_login_persists = true;
        let array = machine.node.array();
        array.change_server("array", persists).unwrap();
        self.compare_one(
            &machine,
            &iscsi_target_portal::TARGET_PORTAL_ADDRESS,
            "portal",
        );
        self.compare_one(&machine, &iscsi_target::NODE_ADDRESS, "unconnected");
        for (target, name) in sessions.into_iter().zip(["first", "second"]) {
            machine.log_in(target);
            self.compare_one(&machine, &iscsi_session::TARGET_NODE_ADDRESS, name);
        }
    }

    /// The initiator's only object with the recorded value of this property, which distinguishes its
    /// objects.
    fn compare_one(&mut self, machine: &Machine, by: &Property, name: &str) {
        let mut objects = self.record.objects.iter();
        let has_name = |object: &&Object| object.name == name && object.get(by.name).is_some();
        let object = objects.find(has_name).unwrap();
        let wanted = object.text(by.name).unwrap();
        self.comparison
            .object(self.record, object, |class, property| {
                let select = [property.name];
                let query = Query::all(class.name, &select).with(by.name, Value::text(wanted));
                let mut rows = machine.os.iscsi.query(&query, Deadline::NEVER).unwrap();
                assert_eq!(rows.len(), 1, "{rows:?}");
                rows.remove(0).properties.remove(property.name).unwrap()
            });
    }
}

/// The text, if a structure of the firmware's table has it among its strings.
fn has_string(table: &[u8], text: &str) -> Option<String> {
    let wanted = [text.as_bytes(), b"\0"].concat();
    let mut windows = table.windows(wanted.len());
    let is_there = windows.any(|window| window == wanted);
    is_there.then(|| text.to_owned())
}

/// The id of the volume that a row of EBS is.
fn volume(object: &Object) -> String {
    let serial = object.text("SerialNumber").unwrap();
    let id = serial.split_once('_').unwrap().0;
    id.replacen("vol", "vol-", 1)
}
