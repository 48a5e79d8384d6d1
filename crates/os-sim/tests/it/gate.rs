//! Every operation of the seam passes the gate.

use std::collections::BTreeSet;
use std::time::Duration;

use os::{
    Arguments, Component, Deadline, DiskAccess, Event, EventLevel, Facility, LinkKind, ObjectPath,
    Os, PartitionNumber, Query, Result, Target, Win32, layer,
};
use wincsi_os_sim::{Effect, Op, Rule};

use crate::support::node_fixture::{DISK, NodeFixture, path};

/// A method of the seam, by its trait and name, and a call of it.
type Method = (
    &'static str,
    &'static str,
    Facility,
    fn(&NodeFixture) -> Result<()>,
);

const METHODS: &[Method] = &[
    ("AfUnix", "is_available", Facility::AfUnix, |it| {
        it.os.afunix.is_available().map(drop)
    }),
    ("AfUnix", "connect", Facility::AfUnix, |it| {
        it.os.afunix.connect("files", 445, Duration::from_secs(1))
    }),
    ("Boot", "boot_id", Facility::Boot, |it| {
        it.os.boot.boot_id().map(drop)
    }),
    ("Boot", "computer_name", Facility::Boot, |it| {
        it.os.boot.computer_name().map(drop)
    }),
    ("Boot", "paging", Facility::Boot, |it| {
        it.os.boot.paging().map(drop)
    }),
    ("Disks", "attributes", Facility::Disks, |it| {
        it.os.disks.attributes(DISK).map(drop)
    }),
    ("Disks", "descriptor", Facility::Disks, |it| {
        it.os.disks.descriptor(DISK).map(drop)
    }),
    ("Disks", "device_id_page", Facility::Disks, |it| {
        it.os.disks.device_id_page(DISK).map(drop)
    }),
    ("Disks", "facts", Facility::Disks, |it| {
        it.os.disks.facts(r"\\?\scsi#disk&ven_none").map(drop)
    }),
    ("Disks", "grow_partition", Facility::Disks, |it| {
        it.os.disks.grow_partition(DISK, PartitionNumber(1), 0)
    }),
    ("Disks", "is_write_protected", Facility::Disks, |it| {
        it.os.disks.is_write_protected(DISK).map(drop)
    }),
    ("Disks", "layout", Facility::Disks, |it| {
        it.os.disks.layout(DISK).map(drop)
    }),
    ("Disks", "length", Facility::Disks, |it| {
        it.os.disks.length(DISK).map(drop)
    }),
    ("Disks", "list", Facility::Disks, |it| {
        it.os.disks.list().map(drop)
    }),
    ("Disks", "number_of", Facility::Disks, |it| {
        it.os.disks.number_of(r"\\?\scsi#disk&ven_none").map(drop)
    }),
    ("Disks", "read", Facility::Disks, |it| {
        it.os.disks.read(DISK, 0, &mut [0; 512])
    }),
    ("Disks", "scsi_address", Facility::Disks, |it| {
        it.os.disks.scsi_address(DISK).map(drop)
    }),
    ("Disks", "sector_size", Facility::Disks, |it| {
        it.os.disks.sector_size(DISK).map(drop)
    }),
    ("Disks", "set_access", Facility::Disks, |it| {
        it.os.disks.set_access(DISK, DiskAccess::ReadWrite)
    }),
    ("Disks", "update_properties", Facility::Disks, |it| {
        it.os.disks.update_properties(DISK)
    }),
    ("EventLog", "report", Facility::EventLog, |it| {
        it.os.event_log.report(&Event {
            level: EventLevel::Information,
            id: 1,
            message: "x".to_owned(),
        })
    }),
    ("Files", "clear_read_only", Facility::Files, |it| {
        it.os.files.clear_read_only(&path("x"))
    }),
    ("Files", "create_directory", Facility::Files, |it| {
        it.os.files.create_directory(&path("x"))
    }),
    ("Files", "create_symlink", Facility::Files, |it| {
        it.os.files.create_symlink(&path("l"), "x", LinkKind::File)
    }),
    ("Files", "dacl", Facility::Files, |it| {
        it.os.files.dacl(&path("x")).map(drop)
    }),
    ("Files", "entry", Facility::Files, |it| {
        it.os.files.entry(&path("x")).map(drop)
    }),
    ("Files", "leads_to_directory", Facility::Files, |it| {
        it.os.files.leads_to_directory(&path("x")).map(drop)
    }),
    ("Files", "list", Facility::Files, |it| {
        it.os.files.list(&path("x")).map(drop)
    }),
    ("Files", "list_some", Facility::Files, |it| {
        it.os.files.list_some(&path("x"), 1).map(drop)
    }),
    ("Files", "pin", Facility::Files, |it| {
        it.os.files.pin(&path("x")).map(drop)
    }),
    ("Files", "remove_directory", Facility::Files, |it| {
        it.os.files.remove_directory(&path("x"))
    }),
    ("Files", "remove_file", Facility::Files, |it| {
        it.os.files.remove_file(&path("x"))
    }),
    ("Files", "remove_symlink", Facility::Files, |it| {
        it.os.files.remove_symlink(&path("x"), LinkKind::File)
    }),
    ("Files", "reparse_data", Facility::Files, |it| {
        it.os.files.reparse_data(&path("x")).map(drop)
    }),
    ("Files", "set_dacl", Facility::Files, |it| {
        let dacl = "D:(A;;FA;;;BA)".parse().expect("a list");
        it.os.files.set_dacl(&path("x"), &dacl)
    }),
    ("Firmware", "smbios", Facility::Firmware, |it| {
        it.os.firmware.smbios().map(drop)
    }),
    ("Held", "create_directory", Facility::Files, |it| {
        it.held.create_directory(&name("x"))
    }),
    ("Held", "pin", Facility::Files, |it| {
        it.held.pin(&name("x")).map(drop)
    }),
    ("Held", "remove", Facility::Files, |it| {
        it.held.remove(&name("x"))
    }),
    ("Held", "remove_symlink", Facility::Files, |it| {
        it.held.remove_symlink(&name("x"), LinkKind::File)
    }),
    ("Held", "reserve", Facility::Files, |it| {
        it.held.reserve(&name("x"), LinkKind::Directory).map(drop)
    }),
    ("Placeholder", "become_symlink", Facility::Files, |it| {
        it.placeholder.become_symlink("x")
    }),
    ("Placeholder", "rename", Facility::Files, |it| {
        it.placeholder.rename(&name("x"))
    }),
    ("Services", "query", Facility::Services, |it| {
        it.os.services.query("vds").map(drop)
    }),
    ("Services", "running_dependents", Facility::Services, |it| {
        it.os.services.running_dependents("vds").map(drop)
    }),
    ("Services", "start", Facility::Services, |it| {
        it.os.services.start("vds", Deadline::NEVER)
    }),
    ("Services", "stop", Facility::Services, |it| {
        it.os.services.stop("vds", Deadline::NEVER)
    }),
    ("VolumeLock", "dismount", Facility::Volumes, |it| {
        it.lock.dismount()
    }),
    ("Volumes", "access_paths", Facility::Volumes, |it| {
        it.os.volumes.access_paths(it.efi).map(drop)
    }),
    ("Volumes", "delete_mount_point", Facility::Volumes, |it| {
        it.os.volumes.delete_mount_point(&path("x"))
    }),
    ("Volumes", "delete_reparse_point", Facility::Volumes, |it| {
        it.os.volumes.delete_reparse_point(&path("x"), it.efi)
    }),
    ("Volumes", "extend", Facility::Volumes, |it| {
        it.os.volumes.extend(it.efi, 0)
    }),
    ("Volumes", "extents", Facility::Volumes, |it| {
        it.os.volumes.extents(it.efi).map(drop)
    }),
    ("Volumes", "file_system", Facility::Volumes, |it| {
        it.os.volumes.file_system(it.efi).map(drop)
    }),
    ("Volumes", "flush", Facility::Volumes, |it| {
        it.os.volumes.flush(it.efi)
    }),
    ("Volumes", "list", Facility::Volumes, |it| {
        it.os.volumes.list().map(drop)
    }),
    ("Volumes", "lock", Facility::Volumes, |it| {
        it.os.volumes.lock(it.efi).map(drop)
    }),
    ("Volumes", "mounted_at", Facility::Volumes, |it| {
        it.os.volumes.mounted_at(&path("x")).map(drop)
    }),
    ("Volumes", "set_mount_point", Facility::Volumes, |it| {
        it.os.volumes.set_mount_point(&path("x"), it.efi)
    }),
    ("Volumes", "space", Facility::Volumes, |it| {
        it.os.volumes.space(it.efi).map(drop)
    }),
    ("Volumes", "space_at", Facility::Volumes, |it| {
        it.os.volumes.space_at(&path("x")).map(drop)
    }),
];

fn name(text: &str) -> Component {
    Component::parse(text).unwrap()
}

/// A provider of the node, and a class that it has.
type Provided = (Facility, fn(&Os) -> &dyn os::Provider, &'static str);

const PROVIDERS: [Provided; 4] = [
    (Facility::Iscsi, |os| &*os.iscsi, "MSFT_iSCSITarget"),
    (Facility::Processes, |os| &*os.processes, "Win32_Process"),
    (Facility::Smb, |os| &*os.smb, "MSFT_SmbGlobalMapping"),
    (Facility::Storage, |os| &*os.storage, "MSFT_Disk"),
];

/// The call is recorded, can be made to fail, and fails by the names that were recorded.
fn passes(fixture: &NodeFixture, facility: Facility, call: impl Fn() -> Result<()>) {
    let failing = Effect::fail(Win32::GEN_FAILURE);
    fixture.take_trace();
    let rule = fixture.fault(Rule::on("*", failing).in_facility(facility));
    let error = call().unwrap_err();
    fixture.faults().remove(rule);
    let op = Op {
        facility,
        operation: error.operation,
        object: error.object.clone(),
    };
    assert_eq!(error.win32(), Some(Win32::GEN_FAILURE), "{op}");
    assert_eq!(fixture.take_trace(), [op]);
}

#[test]
fn every_method_passes() {
    let fixture = NodeFixture::new();
    for (_, _, facility, call) in METHODS {
        passes(&fixture, *facility, || call(&fixture));
    }
    for (facility, provider, class) in PROVIDERS {
        let provider = provider(&fixture.os);
        let object = ObjectPath(format!("{class}.Key=\"1\""));
        let (never, none) = (Deadline::NEVER, Arguments::none());
        passes(&fixture, facility, || {
            provider.query(&Query::all(class, &[]), never).map(drop)
        });
        passes(&fixture, facility, || {
            provider
                .associators(&object, "MSFT_DiskToPartition", class, never)
                .map(drop)
        });
        passes(&fixture, facility, || {
            provider
                .invoke(Target::Instance(&object), "Refresh", &none, never)
                .map(drop)
        });
        passes(&fixture, facility, || {
            provider.parameters(class, "Refresh", never).map(drop)
        });
    }
    fixture.let_pass(Duration::from_secs(1));
    assert_eq!(fixture.take_trace()[0].operation, "Sleep");
}

/// The sleep cannot fail, and looking at the clock is no operation.
#[test]
fn no_method_of_the_seam_was_forgotten() {
    let declared: BTreeSet<_> = layer::METHODS
        .iter()
        .map(|(_, method)| (*method).to_owned())
        .collect();
    let mut tried: BTreeSet<_> = METHODS
        .iter()
        .map(|(of, name, ..)| format!("{of}::{name}"))
        .collect();
    tried.insert("Clock::sleep".to_owned());
    let provider = ["query", "associators", "invoke", "parameters"];
    tried.extend(provider.map(|name| format!("Provider::{name}")));
    assert_eq!(tried, declared);
}
