//! For each record of a profile the machine that it was taken from.

use formats::device_id::DeviceIdPage;
use formats::fixtures::field::{Object, Record};
use formats::smbios::System;
use os::schema::{iscsi_session, iscsi_target, iscsi_target_portal, storage_setting};
use os::{Arguments, Deadline, DiskNumber, Query, Target, Value};
use wincsi_os_sim::iscsi::{IscsiControl, ServerSpec, TargetSpec};
use wincsi_os_sim::{Bus, DiskSpec, NodeSpec, Profile};

use crate::compare::Comparison;
use crate::machine::Machine;

const DISK: &str = "MSFT_Disk";
const PARTITION: &str = "MSFT_Partition";
const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Of a disk whose identity the record does not have.
const UNNAMED: &str = "600224800000000000000000000000ff";

/// Compares all that a record has.
pub(crate) fn play(profile: Profile, record: &Record, comparison: &mut Comparison) {
    let scene = Scene {
        profile,
        record,
        comparison,
    };
    match record.name {
        "azure-2019" => scene.azure(),
        "azure-scsi" => scene.collision(),
        "ebs" => scene.ebs(),
        "hyper-v" => scene.hyper_v(),
        "hyper-v-initialised" => scene.initialised(),
        "hyper-v-iscsi" => scene.initiator(),
        "vsphere" => scene.without_uuid(),
        "vsphere-cluster" => scene.letter(),
        "vsphere-partition" => scene.first_partition(),
        "vsphere-settings" => scene.settings(),
        "ebs-page83" | "vsphere-uuid" => scene.identities(),
        name if name.starts_with("firmware") => scene.firmware(),
        name => panic!("nothing compares {name}"),
    }
}

struct Scene<'a> {
    profile: Profile,
    record: &'a Record,
    comparison: &'a mut Comparison,
}

impl<'a> Scene<'a> {
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
        let machine = self.machine();
        let class = Target::Class(storage_setting::CLASS.name);
        let none = Arguments::none();
        let storage = &machine.os.storage;
        let outcome = storage
            .invoke(class, "Get", &none, Deadline::NEVER)
            .unwrap();
        let Some(Value::Object(setting)) = outcome.out.get("StorageSetting") else {
            panic!("{outcome:?}");
        };
        let object = self.object(storage_setting::CLASS.name, "settings");
        self.comparison.object(self.record, object, |_, property| {
            setting.properties[property.name].clone()
        });
    }

    /// Disks by what they are called. Of VHD files the records have the identifier and nothing that a profile has.
    fn identities(self) {
        let machine = self.machine();
        for (unit, object) in (1..).zip(&self.record.objects) {
            if object.name.starts_with("vhd-") {
                continue;
            }
            let named = object
                .text("UniqueId")
                .or_else(|| object.text("Page83"))
                .unwrap();
            let identity = match self.profile {
                Profile::Ebs => volume(object),
                _ => named.to_owned(),
            };
            let disk = self.profile.disk(unit, &identity);
            let number = machine.attach(&object.name, &disk, GIB);
            if object.class == DISK {
                self.comparison
                    .object(self.record, object, machine.disk(number));
                continue;
            }
            let page = machine.os.disks.device_id_page(number).unwrap();
            let page = DeviceIdPage::parse(&page).unwrap().page83_text();
            self.comparison.text(self.record, "Page83", named, &page);
            let serial = machine.os.disks.descriptor(number).unwrap().serial;
            let recorded = object.text("SerialNumber").unwrap();
            self.comparison
                .text(self.record, "serial", recorded, &serial.unwrap_or_default());
        }
    }

    fn firmware(self) {
        let machine = self.machine();
        let table = machine.os.firmware.smbios().unwrap();
        let serial = System::parse(&table).unwrap().serial;
        let object = self.object("Win32_BIOS", "bios");
        let recorded = object.text("SerialNumber").unwrap();
        self.comparison
            .text(self.record, "SerialNumber", recorded, &serial.unwrap());
        if let Some(manufacturer) = object.text("Manufacturer") {
            let wanted = [manufacturer.as_bytes(), b"\0"].concat();
            let mut windows = table.windows(wanted.len());
            assert!(windows.any(|window| window == wanted), "{manufacturer}");
        }
    }

    /// A portal with a target, before and after a login.
    fn initiator(mut self) {
        let machine = self.machine();
        let portal = self.object(iscsi_target_portal::CLASS.name, "portal");
        let address = portal.text("TargetPortalAddress").unwrap().to_owned();
        let target = self.object(iscsi_target::CLASS.name, "unconnected");
        let target = target.text("NodeAddress").unwrap().to_owned();
        let offered = TargetSpec::named(&target).with_disk("lun", DiskSpec::on(Bus::Iscsi));
        let servers = IscsiControl::at(machine.folder.path());
        servers.set_image("lun", GIB).unwrap();
        let server = ServerSpec::at(&address).offering(offered);
        servers.add_server("array", &server).unwrap();
        let with = |name, text: &str| Arguments::none().with(name, Value::text(text));
        let invoke = |class, method, with: &Arguments| {
            let class = Target::Class(class);
            let outcome = machine
                .os
                .iscsi
                .invoke(class, method, with, Deadline::NEVER);
            assert_eq!(outcome.unwrap().code, 0, "{method}");
        };
        let address = with("TargetPortalAddress", &address);
        invoke(iscsi_target_portal::CLASS.name, "New", &address);
        self.compare_first(&machine, iscsi_target_portal::CLASS.name, "portal");
        self.compare_first(&machine, iscsi_target::CLASS.name, "unconnected");
        invoke(
            iscsi_target::CLASS.name,
            "Connect",
            &with("NodeAddress", &target),
        );
        self.compare_first(&machine, iscsi_session::CLASS.name, "first");
    }

    fn compare_first(&mut self, machine: &Machine, class: &'static str, name: &str) {
        let object = self.object(class, name);
        self.comparison
            .object(self.record, object, |class, property| {
                let select = [property.name];
                let query = Query::all(class.name, &select);
                let rows = machine.os.iscsi.query(&query, Deadline::NEVER).unwrap();
                rows[0].properties[property.name].clone()
            });
    }
}

/// The id of the volume that a row of EBS is.
fn volume(object: &Object) -> String {
    let serial = object.text("SerialNumber").unwrap();
    let id = serial.split_once('_').unwrap().0;
    id.replacen("vol", "vol-", 1)
}
