//! The storage provider's methods: their refusals, with codes, and their effects.

use std::time::Duration;

use os::{
    Arguments, Cause, Deadline, DiskAttributes, PartitionEntry, PartitionStyle, Query, Target,
    Value, VolumeId, Win32, WinPath,
};
use wincsi_os_sim::{
    Arrives, Bus, Content, DiskSpec, Effect, NodeSpec, Rule, SanPolicy, SectorSize, Start,
};

use crate::support::storage_fixture::{DATA, GIB, MIB, StorageFixture, gpt, ntfs, one, whole_disk};

const DOWN: DiskAttributes = DiskAttributes {
    offline: true,
    read_only: true,
};
const UP: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: false,
};

fn sas() -> DiskSpec {
    DiskSpec::on(Bus::Sas).lun(1)
}

fn none() -> Arguments {
    Arguments::none()
}

fn sized(size: u64) -> Arguments {
    none().with("Size", Value::uint64(size))
}

#[test]
fn whether_a_new_disk_comes_up_is_for_disk_bus_and_policy_to_say() {
    for (policy, spec, wanted) in [
        (SanPolicy::OfflineShared, DiskSpec::on(Bus::Sas), DOWN),
        (SanPolicy::OfflineShared, DiskSpec::on(Bus::Iscsi), DOWN),
        (SanPolicy::OfflineShared, DiskSpec::on(Bus::Nvme), UP),
        (SanPolicy::OnlineAll, DiskSpec::on(Bus::Sas), UP),
        (SanPolicy::OfflineAll, DiskSpec::on(Bus::Nvme), DOWN),
        (
            SanPolicy::OfflineAll,
            DiskSpec::on(Bus::Sas).arriving(Arrives::Online),
            UP,
        ),
        (
            SanPolicy::OnlineAll,
            DiskSpec::on(Bus::Nvme).arriving(Arrives::Offline),
            DOWN,
        ),
    ] {
        let fixture = StorageFixture::of(&NodeSpec::default().san_policy(policy)).and_disk(&spec);
        assert_eq!(
            fixture.os.disks.attributes(DATA),
            Ok(wanted),
            "{policy:?} {:?}",
            spec.bus
        );
    }
}

#[test]
fn a_partition_needs_a_table_and_an_online_writable_disk() {
    let fixture = StorageFixture::with_disk(&sas());
    let disk = fixture.disk().path;
    let code = |method, arguments: &Arguments| fixture.call(&disk, method, arguments).code;
    assert_eq!(code("CreatePartition", &whole_disk()), 41000);
    assert_eq!(code("Initialize", &gpt()), 0);
    assert_eq!(code("Initialize", &gpt()), 41001);
    assert_eq!(code("Offline", &none()), 0);
    assert_eq!(code("CreatePartition", &whole_disk()), 41003);
    assert_eq!(code("Online", &none()), 0);
    let read_only = |is| none().with("IsReadOnly", Value::Bool(is));
    assert_eq!(code("SetAttributes", &read_only(true)), 0);
    assert_eq!(code("CreatePartition", &whole_disk()), 41002);
    assert_eq!(code("SetAttributes", &read_only(false)), 0);
    assert_eq!(code("CreatePartition", &whole_disk()), 0);
    assert_eq!(code("CreatePartition", &whole_disk()), 40000);
}

#[test]
fn a_node_can_be_one_whose_initialize_leaves_the_disk_offline() {
    let spec = NodeSpec {
        initialize_brings_online: false,
        ..NodeSpec::default()
    };
    let fixture = StorageFixture::of(&spec).and_disk(&sas());
    let disk = fixture.disk().path;
    assert_eq!(fixture.call(&disk, "Initialize", &gpt()).code, 40001);
    let writable = none().with("IsReadOnly", Value::Bool(false));
    assert_eq!(fixture.call(&disk, "SetAttributes", &writable).code, 0);
    assert_eq!(fixture.call(&disk, "Initialize", &gpt()).code, 0);
    assert_eq!(
        fixture.call(&disk, "CreatePartition", &whole_disk()).code,
        41003
    );
}

#[test]
fn a_partition_is_where_and_as_long_as_was_asked() {
    let fixture = StorageFixture::with_disk(&sas().sectors(SectorSize::Large));
    let disk = fixture.disk().path;
    let code = |arguments: &Arguments| fixture.call(&disk, "CreatePartition", arguments).code;
    fixture.call(&disk, "Initialize", &gpt());
    let both = whole_disk().with("Size", Value::uint64(MIB));
    assert_eq!(code(&both), 40005);
    assert_eq!(code(&none()), 40005);
    assert_eq!(code(&sized(2 * GIB)), 40000);
    let at = |offset| sized(64 * MIB).with("Offset", Value::uint64(offset));
    assert_eq!(code(&at(100 * MIB + 1)), 41012);
    assert_eq!(code(&at(100 * MIB)), 0);
}

#[test]
fn a_letter_that_is_taken_is_told_of_and_the_partition_is_there() {
    let fixture = StorageFixture::with_disk(&sas());
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    let letter = Value::uint16(u16::from(b'C'));
    let arguments = whole_disk().with("DriveLetter", letter);
    assert_eq!(
        fixture.call(&disk, "CreatePartition", &arguments).code,
        42002
    );
    assert_eq!(fixture.partition().u64("Size"), Ok(GIB - 18 * MIB));
}

#[test]
fn a_disk_that_windows_runs_from_is_left_alone() {
    let fixture = StorageFixture::new();
    let query = Query::all("MSFT_Disk", &["IsBoot"]).with("Number", Value::uint32(0));
    let system = one(fixture.query(&query));
    assert_eq!(system.bool("IsBoot"), Ok(true));
    let remove = none().with("RemoveData", Value::Bool(true));
    let read_only = none().with("IsReadOnly", Value::Bool(true));
    assert_eq!(fixture.call(&system.path, "Offline", &none()).code, 41009);
    assert_eq!(fixture.call(&system.path, "Clear", &remove).code, 41009);
    assert_eq!(
        fixture.call(&system.path, "SetAttributes", &read_only).code,
        41009
    );
    let query = Query::all("MSFT_Volume", &[]).with("DriveLetter", Value::uint16(u16::from(b'C')));
    let drive_c = one(fixture.query(&query));
    assert_eq!(fixture.call(&drive_c.path, "Format", &ntfs()).code, 42010);
}

/// ansible/ansible#51032: Win32_DiskDrive lists them alone. A volume that spans several lies on such disks.
#[test]
fn dynamic_disks_are_left_out() {
    let fixture = StorageFixture::with_disk(&sas());
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    let kind = Value::text("{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}");
    let metadata = sized(MIB).with("GptType", kind);
    assert_eq!(fixture.call(&disk, "CreatePartition", &metadata).code, 0);
    for class in ["MSFT_Disk", "MSFT_Partition"] {
        fixture.rescan();
        let number = match class {
            "MSFT_Disk" => "Number",
            _ => "DiskNumber",
        };
        let query = Query::all(class, &[]).with(number, Value::uint32(DATA.0));
        assert_eq!(fixture.query(&query), []);
    }
    assert!(fixture.os.disks.list().unwrap().contains(&DATA));
    assert_eq!(fixture.os.disks.layout(DATA).unwrap().partitions.len(), 2);
}

#[test]
fn clearing_a_disk_makes_it_raw_and_takes_leave_to_lose_data() {
    let (fixture, volume) = StorageFixture::formatted();
    let disk = fixture.disk().path;
    assert_eq!(fixture.call(&disk, "Clear", &none()).code, 41008);
    let remove = none().with("RemoveData", Value::Bool(true));
    assert_eq!(fixture.call(&disk, "Clear", &remove).code, 0);
    assert_eq!(
        fixture.os.disks.layout(DATA).unwrap().style,
        PartitionStyle::Raw
    );
    assert!(fixture.os.volumes.extents(volume).is_err());
    let mut sector = [1; 512];
    fixture.os.disks.read(DATA, GIB - 512, &mut sector).unwrap();
    assert_eq!(sector, [0; 512]);
}

#[test]
fn a_partition_is_resized_within_its_limits_and_its_filesystem_with_it() {
    let (fixture, volume) = StorageFixture::formatted();
    let partition = fixture.partition();
    let size = partition.u64("Size").unwrap();
    let code = |size| fixture.call(&partition.path, "Resize", &sized(size)).code;
    let little = fixture.call(&partition.path, "Resize", &sized(size + MIB - 512));
    assert_eq!(little.code, 4097);
    assert_eq!(
        little.extended.unwrap(),
        "The size of the extent is less than the minimum of 1MB."
    );
    assert_eq!(code(size + MIB), 4097);
    assert_eq!(code(MIB), 4097);
    assert_eq!(code(size / 2), 0);
    let space = fixture.os.volumes.space(volume).unwrap();
    assert!(
        space.total < size / 2 && space.total > size / 2 - MIB,
        "{space:?}"
    );
    assert_eq!(code(size), 0);
    assert_eq!(fixture.partition().u64("Size"), Ok(size));
}

#[test]
fn the_largest_size_is_for_the_defragmenter_to_say() {
    let mut spec = NodeSpec::default();
    for (start, wanted) in [(Start::Manual, 0), (Start::Disabled, 4)] {
        let mut services = spec.service.iter_mut();
        services.find(|it| it.name == "defragsvc").unwrap().start = start;
        let fixture = StorageFixture::of(&spec).and_disk(&sas());
        let disk = fixture.disk().path;
        fixture.call(&disk, "Initialize", &gpt());
        fixture.call(&disk, "CreatePartition", &whole_disk());
        let outcome = fixture.call(&fixture.partition().path, "GetSupportedSize", &none());
        assert_eq!(outcome.code, wanted);
        let most = outcome
            .out
            .get("SizeMax")
            .and_then(|size| size.unsigned().ok());
        assert_eq!(most, (wanted == 0).then_some(GIB - 16 * MIB - 16_896));
    }
}

/// The figures are those of dsccommunity/StorageDsc issue 304, the answer that of actions/runner-images 7032.
#[test]
fn what_the_largest_size_counts_beyond_a_whole_disks_partition_is_not_to_be_had() {
    let fixture = StorageFixture::new();
    let content = Content::blank(20 * GIB);
    let attached = fixture.hardware().attach_disk("data1", &sas(), &content);
    attached.unwrap();
    fixture.rescan();
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    fixture.call(&disk, "CreatePartition", &whole_disk());
    let partition = fixture.partition();
    assert_eq!(partition.u64("Size"), Ok(21_455_962_112));
    let supported = fixture.call(&partition.path, "GetSupportedSize", &none());
    let most = supported.out["SizeMax"].unsigned().unwrap();
    assert_eq!(most, 21_458_042_368);
    let at_its_size = |size| {
        let resized = fixture.call(&partition.path, "Resize", &sized(size));
        let text = "The partition is already the requested size.";
        assert_eq!(
            (resized.code, resized.extended.as_deref()),
            (4097.into(), Some(text))
        );
    };
    at_its_size(most);
    at_its_size(21_455_962_112);
}

#[test]
fn a_resize_that_ended_half_way_is_finished_by_extending_the_filesystem() {
    let (fixture, volume) = StorageFixture::formatted();
    fixture.grow("data1", 2 * GIB);
    fixture.rescan();
    let before = fixture.os.volumes.space(volume).unwrap();
    let size = 2 * GIB - 18 * MIB;
    fixture.fault(Rule::on("MSFT_Partition.Resize", Effect::HalfWay).times(1));
    let path = fixture.partition().path;
    assert_ne!(fixture.call(&path, "Resize", &sized(size)).code, 0);
    assert_eq!(fixture.partition().u64("Size"), Ok(size));
    assert_eq!(
        fixture.os.volumes.space(volume).unwrap().total,
        before.total
    );
    assert_eq!(fixture.call(&path, "Resize", &sized(size)).code, 4097);
    fixture.os.volumes.extend(volume, size).unwrap();
    assert!(fixture.os.volumes.space(volume).unwrap().total > size - MIB);
}

#[test]
fn the_kernel_grows_a_partition_by_so_much_and_no_filesystem() {
    let (fixture, volume) = StorageFixture::formatted();
    fixture.grow("data1", 2 * GIB);
    fixture.os.disks.update_properties(DATA).unwrap();
    let before = fixture.os.volumes.space(volume).unwrap();
    let data = os::PartitionNumber(2);
    fixture
        .os
        .disks
        .grow_partition(DATA, data, 512 * MIB)
        .unwrap();
    let layout = fixture.os.disks.layout(DATA).unwrap();
    assert_eq!(layout.partitions[1].length, GIB - 18 * MIB + 512 * MIB);
    assert_eq!(fixture.os.volumes.space(volume), Ok(before));
    let beyond = fixture.os.disks.grow_partition(DATA, data, 2 * GIB);
    assert_eq!(beyond.unwrap_err().win32(), Some(Win32::INVALID_PARAMETER));
    let too_long = fixture.os.volumes.extend(volume, 2 * GIB);
    assert_eq!(
        too_long.unwrap_err().win32(),
        Some(Win32::INVALID_PARAMETER)
    );
}

#[test]
fn a_format_takes_the_files_and_what_was_recognised() {
    let (fixture, volume) = StorageFixture::formatted();
    let file: WinPath = format!("{volume}file").parse().unwrap();
    fixture.files().write_file(&file, b"x").unwrap();
    let path = one(fixture.volumes()).path;
    let with = |name: &str| ntfs().with("FileSystem", Value::text(name));
    assert_eq!(fixture.call(&path, "Format", &with("ext4")).code, 43001);
    let odd = ntfs().with("AllocationUnitSize", Value::uint32(1000));
    assert_eq!(fixture.call(&path, "Format", &odd).code, 43000);
    assert_eq!(fixture.files().read_file(&file), Ok(b"x".to_vec()));
    let labelled = with("ReFS").with("FileSystemLabel", Value::text("data"));
    assert_eq!(fixture.call(&path, "Format", &labelled).code, 0);
    assert!(fixture.files().read_file(&file).is_err());
    let found = fixture.os.volumes.file_system(volume).unwrap().unwrap();
    assert_eq!(
        (found.name.as_str(), found.label.as_str()),
        ("ReFS", "data")
    );
}

#[test]
fn a_format_waits_for_open_handles_unless_forced() {
    let (fixture, volume) = StorageFixture::formatted();
    let path = one(fixture.volumes()).path;
    let gentle = none().with("FileSystem", Value::text("NTFS"));
    let hold = fixture.hold(volume);
    assert_eq!(fixture.call(&path, "Format", &gentle).code, 40001);
    assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 0);
    drop(hold);
    let lock = fixture.os.volumes.lock(volume).unwrap();
    assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 40001);
    drop(lock);
    assert_eq!(fixture.call(&path, "Format", &gentle).code, 0);
}

#[test]
fn a_format_half_way_leaves_a_boot_sector_on_a_raw_volume_that_can_be_formatted() {
    for (half_way, left) in [
        (Effect::HalfWay, [true, false]),
        (Effect::HalfWayFromEnd, [false, true]),
    ] {
        let (fixture, volume) = with_new_partition();
        let rule = Rule::on("MSFT_Volume.Format", half_way).times(1);
        fixture.fault(rule);
        let path = one(fixture.volumes()).path;
        assert_ne!(fixture.call(&path, "Format", &ntfs()).code, 0);
        assert_eq!(fixture.os.volumes.file_system(volume), Ok(None));
        let place = fixture.os.volumes.extents(volume).unwrap()[0];
        let is_ntfs = |at: u64| {
            let mut sector = [0; 512];
            fixture.os.disks.read(DATA, at, &mut sector).unwrap();
            &sector[3..11] == b"NTFS    "
        };
        let ends = [place.offset, place.offset + place.length - 512];
        assert_eq!(ends.map(is_ntfs), left);
        assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 0);
    }
}

/// <https://github.com/PowerShell/PowerShell/issues/7771>
#[test]
fn a_new_partition_without_a_letter_is_not_formatted_at_once_where_a_fault_has_it_so() {
    let (fixture, _) = with_new_partition();
    let time = Duration::from_secs(5);
    let rule = Rule::on("MSFT_Volume.Format", Effect::Unsettled(time));
    fixture.fault(rule);
    let path = one(fixture.volumes()).path;
    assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 5);
    fixture.let_pass(time);
    assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 0);
}

/// With a RAW volume that has just come.
fn with_new_partition() -> (StorageFixture, VolumeId) {
    let fixture = StorageFixture::with_disk(&sas());
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    fixture.call(&disk, "CreatePartition", &whole_disk());
    let volume = fixture.volume();
    (fixture, volume)
}

#[test]
fn bad_sectors_show_in_reads_and_formats() {
    let fixture = StorageFixture::with_disk(&sas().unreadable_at(100 * MIB, 4096));
    let mut buffer = vec![0; 8192];
    let read = |offset, buffer: &mut [u8]| fixture.os.disks.read(DATA, offset, buffer);
    assert_eq!(read(100 * MIB - 8192, &mut buffer), Ok(()));
    let failed = read(100 * MIB - 4096, &mut buffer).unwrap_err();
    assert_eq!(failed.win32(), Some(Win32::IO_DEVICE));
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    fixture.call(&disk, "CreatePartition", &whole_disk());
    fixture.volume();
    let path = one(fixture.volumes()).path;
    assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 40004);
}

#[test]
fn a_partition_goes_offline_alone() {
    let (fixture, volume) = StorageFixture::formatted();
    let path = fixture.partition().path;
    assert_eq!(fixture.call(&path, "Offline", &none()).code, 0);
    assert!(fixture.os.volumes.extents(volume).is_err());
    assert_eq!(fixture.call(&path, "Online", &none()).code, 0);
    assert_eq!(fixture.volume(), volume);
    let reserved = Query::all("MSFT_Partition", &[]).with("DiskNumber", Value::uint32(DATA.0));
    let reserved = &fixture.query(&reserved)[0].path;
    assert_eq!(fixture.call(reserved, "Online", &none()).code, 42011);
}

#[test]
fn access_paths_are_letters_and_folders() {
    let (fixture, volume) = StorageFixture::formatted();
    let path = fixture.partition().path;
    let add = |text: &str| {
        let arguments = none().with("AccessPath", Value::text(text));
        fixture.call(&path, "AddAccessPath", &arguments).code
    };
    let remove = |text: &str| {
        let arguments = none().with("AccessPath", Value::text(text));
        fixture.call(&path, "RemoveAccessPath", &arguments).code
    };
    let folder = fixture.new_folder(r"C:\mount");
    assert_eq!(add(r"C:\mount"), 0);
    assert_eq!(add(r"C:\mount"), 42007);
    assert_eq!(add(r"E:\"), 0);
    assert_eq!(add(r"C:\"), 42002);
    assert_eq!(fixture.os.volumes.mounted_at(&folder), Ok(volume));
    let drive_e: WinPath = r"E:\".parse().unwrap();
    assert_eq!(fixture.os.volumes.mounted_at(&drive_e), Ok(volume));
    let value = fixture.partition().value("AccessPaths").unwrap().clone();
    let wanted = [r"C:\mount\", r"E:\", &volume.to_string()].map(Value::text);
    assert_eq!(value, Value::Array(wanted.to_vec()));
    assert_eq!(remove(&volume.to_string()), 42005);
    assert_eq!(remove(r"C:\mount"), 0);
    assert_eq!(remove(r"C:\mount"), 42007);
    assert_eq!(fixture.os.volumes.access_paths(volume), Ok(vec![drive_e]));
}

#[test]
fn a_deleted_partition_takes_its_volume_and_its_letters_along() {
    let (fixture, volume) = StorageFixture::formatted();
    let path = fixture.partition().path;
    assert_eq!(fixture.call(&path, "DeleteObject", &none()).code, 0);
    let kinds: Vec<_> = fixture.os.disks.layout(DATA).unwrap().partitions;
    assert_eq!(
        kinds.iter().map(|it| it.kind).collect::<Vec<_>>(),
        [PartitionEntry::RESERVED]
    );
    assert!(fixture.os.volumes.extents(volume).is_err());
}

#[test]
fn the_provider_learns_of_a_mount_by_a_refresh() {
    let (fixture, volume) = StorageFixture::formatted();
    let folder = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&folder, volume).unwrap();
    let paths = || fixture.partition().value("AccessPaths").unwrap().clone();
    let known = Value::Array(vec![Value::text(volume.to_string())]);
    assert_eq!(paths(), known);
    fixture.call(&fixture.disk().path, "Refresh", &none());
    assert_ne!(paths(), known);
}

#[test]
fn a_volume_on_a_read_only_disk_is_read_only() {
    let (fixture, volume) = StorageFixture::formatted();
    let read_only = none().with("IsReadOnly", Value::Bool(true));
    assert_eq!(
        fixture
            .call(&fixture.disk().path, "SetAttributes", &read_only)
            .code,
        0
    );
    assert!(
        fixture
            .os
            .volumes
            .file_system(volume)
            .unwrap()
            .unwrap()
            .read_only
    );
    let flushed = fixture.os.volumes.flush(volume).unwrap_err();
    assert_eq!(flushed.win32(), Some(Win32::WRITE_PROTECT));
    let file: WinPath = format!("{volume}file").parse().unwrap();
    let written = fixture.files().write_file(&file, b"x").unwrap_err();
    assert_eq!(written.win32(), Some(Win32::WRITE_PROTECT));
    assert_eq!(
        fixture
            .call(&one(fixture.volumes()).path, "Format", &ntfs())
            .code,
        43006
    );
}

#[test]
fn what_the_class_table_does_not_have_is_told_of() {
    let fixture = StorageFixture::new();
    let disk = one(fixture.query(&Query::all("MSFT_Disk", &[])));
    let storage = &fixture.os.storage;
    let never = Deadline::NEVER;
    let call = |method, arguments: &Arguments| {
        let target = Target::Instance(&disk.path);
        storage.invoke(target, method, arguments, never).map(drop)
    };
    let flag = none().with("Force", Value::Bool(true));
    let endings = [
        storage
            .query(&Query::all("MSFT_Disc", &[]), never)
            .map(drop),
        storage
            .query(&Query::all("MSFT_Disk", &["Nummer"]), never)
            .map(drop),
        storage
            .associators(&disk.path, "MSFT_PartitionToVolume", "MSFT_Volume", never)
            .map(drop),
        call("Refreshed", &none()),
        call("Refresh", &flag),
        call("UpdateHostStorageCache", &none()),
    ];
    for ending in endings {
        let cause = ending.unwrap_err().cause;
        assert!(
            matches!(&cause, Cause::Malformed(text) if text.contains("class table")),
            "{cause}"
        );
    }
}

#[test]
fn every_property_of_the_table_is_simulated() {
    let (fixture, _) = StorageFixture::formatted();
    fixture.let_pass(Duration::from_secs(1));
    for class in [
        &os::schema::disk::CLASS,
        &os::schema::partition::CLASS,
        &os::schema::volume::CLASS,
    ] {
        let names: Vec<_> = class
            .all_properties()
            .map(|property| property.name)
            .collect();
        let found = fixture.query(&Query::all(class.name, &names));
        assert!(
            found.iter().all(|it| it.properties.len() == names.len()),
            "{}",
            class.name
        );
    }
}

#[test]
fn a_volume_is_found_by_its_unique_id_in_any_case() {
    let (fixture, volume) = StorageFixture::formatted();
    let id = volume
        .to_string()
        .to_uppercase()
        .replace("VOLUME", "Volume");
    let query = Query::all("MSFT_Volume", &["UniqueId"]).with("UniqueId", Value::text(id));
    let found: VolumeId = one(fixture.query(&query))
        .text("UniqueId")
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(found, volume);
}
