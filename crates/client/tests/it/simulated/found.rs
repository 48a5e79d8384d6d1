//! Disks and volumes by known properties, and the checks before a write when another has taken their
//! place.

use std::time::Duration;

use node::api::{Cause, Condition, Error, Feature};
use node::{Criterion, FormatOptions, FoundVolume, NamespaceConvention, NewSize, Page83};
use os::WinPath;
use os_sim::{Bus, Content, DiskSpec, HardwareControl, demo};

use super::features::lacks;
use super::{ClientFixture, both, fails, path, query, serial};

#[test]
fn a_disk_is_found_by_all_that_csi_proxy_lists() {
    both(|fixture| {
        let (disks, soon, disk) = (fixture.node.disks(), fixture.soon(), fixture.disk());
        let page83 = disks.ids(soon).unwrap()[&disk].page83.clone();
        let known = [
            serial(demo::DISK_SERIAL),
            Criterion::Page83(Page83::parse(&page83).unwrap()),
            Criterion::Lun(1),
            Criterion::Adapter(1),
            Criterion::Bus(0),
            Criterion::Target(0),
            Criterion::Size(2 << 30),
        ];
        assert_eq!(
            disks.find(&query(known.clone()), soon).unwrap().number(),
            disk
        );
        let wrong = known.into_iter().chain([Criterion::Size(1 << 30)]);
        let error = disks.find(&query(wrong), soon).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::NotFound), "{error}");
        let Cause::NotIdentified(seen) = &error.cause else {
            panic!("{error}")
        };
        assert!(seen.disks.iter().any(|seen| seen.number == disk), "{error}");
    });
}

#[test]
fn a_disk_that_is_attached_late_is_waited_for() {
    both(|fixture| {
        let hardware = HardwareControl::at(&fixture.simulated);
        let late = DiskSpec::on(Bus::Sas).lun(7).serial("LATE");
        hardware
            .attach_disk("late", &late, &Content::blank(1 << 30))
            .unwrap();
        let disks = fixture.node.disks();
        let wanted = |name| query([serial(name)]);
        let patience = Duration::from_secs(60);
        let found = disks.find_attached(&wanted("LATE"), patience, fixture.soon());
        assert_eq!(found.unwrap().seen().serial.as_deref(), Some("LATE"));
        let missing = disks.find_attached(&wanted("NEVER"), Duration::ZERO, fixture.soon());
        let condition = missing.unwrap_err().condition();
        assert_eq!(condition, Some(Condition::NotFound));
    });
}

/// Properties that the wire omits are refused, and never dropped from the query.
#[test]
fn a_disk_cannot_be_asked_for_over_pipes_by_what_csi_proxy_does_not_list() {
    let fixture = ClientFixture::over_pipes();
    let convention = NamespaceConvention::NsidMinusOne;
    for unlisted in [
        Criterion::Device(0),
        Criterion::Function(0),
        Criterion::Namespace(1),
        Criterion::NvmeLun { lun: 0, convention },
        Criterion::Port(0),
    ] {
        let wanted = query([serial(demo::DISK_SERIAL), unlisted]);
        let error = fixture
            .node
            .disks()
            .find(&wanted, fixture.soon())
            .unwrap_err();
        assert_eq!(lacks(&error), Some(Feature::DeviceCriteria), "{error}");
    }
}

/// On the simulated node: its disk goes, and another takes the number.
#[test]
fn a_disk_that_was_swapped_since_it_was_found_is_not_partitioned() {
    fails(Condition::Changed, |fixture| {
        let (found, hardware) = (fixture.found(), HardwareControl::at(&fixture.simulated));
        hardware.detach_disk("data").unwrap();
        fixture.node.disks().rescan(fixture.soon()).unwrap();
        let other = DiskSpec::on(Bus::Sas).lun(1).serial("OTHER");
        let blank = Content::blank(1 << 30);
        hardware.attach_disk("other", &other, &blank).unwrap();
        fixture.node.disks().rescan(fixture.soon()).unwrap();
        fixture.node.disks().partition(&found, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        let (found, hardware) = (fixture.found(), HardwareControl::at(&fixture.simulated));
        hardware.detach_disk("data").unwrap();
        fixture.node.disks().rescan(fixture.soon()).unwrap();
        fixture.node.disks().partition(&found, fixture.soon())
    });
}

/// The disk goes, and another one, which has a volume, takes its number.
fn swap_partitioned(fixture: &ClientFixture) {
    let hardware = HardwareControl::at(&fixture.simulated);
    hardware.detach_disk("data").unwrap();
    fixture.node.disks().rescan(fixture.soon()).unwrap();
    let other = DiskSpec::on(Bus::Sas).lun(1).serial("OTHER");
    let blank = Content::blank(1 << 30);
    hardware.attach_disk("other", &other, &blank).unwrap();
    fixture.node.disks().rescan(fixture.soon()).unwrap();
    let wanted = query([serial("OTHER")]);
    let other = fixture.node.disks().find(&wanted, fixture.soon()).unwrap();
    fixture
        .node
        .disks()
        .bring_online(&other, fixture.soon())
        .unwrap();
    fixture
        .node
        .disks()
        .partition(&other, fixture.soon())
        .unwrap();
}

type Write = fn(&ClientFixture, &FoundVolume) -> Result<(), Error>;

const WRITES: [Write; 4] = [
    |fixture, volume| fixture.node.volumes().format(volume, fixture.soon()),
    |fixture, volume| {
        let folder = fixture.folder("empty");
        fixture
            .node
            .volumes()
            .mount(volume, &folder, fixture.soon())
    },
    |fixture, volume| {
        let plain = FormatOptions::default();
        let volumes = fixture.node.volumes();
        volumes
            .ensure_formatted(volume, &plain, fixture.soon())
            .map(drop)
    },
    |fixture, volume| {
        let volumes = fixture.node.volumes();
        volumes
            .resize(volume, NewSize::Maximum, fixture.soon())
            .map(drop)
    },
];

#[test]
fn a_disk_of_another_number_is_not_taken_offline() {
    both(|fixture| {
        let found = fixture.found();
        swap_partitioned(fixture);
        let refused = fixture.node.disks().take_offline(&found, fixture.soon());
        let condition = refused.unwrap_err().condition();
        assert_eq!(condition, Some(Condition::Changed));
        let is_online = fixture
            .node
            .disks()
            .is_online(found.number(), fixture.soon());
        assert_eq!(is_online, Ok(true));
    });
}

/// The disk goes before its volume is unmounted, and another one is to be mounted there.
fn leave_stale(fixture: &ClientFixture) -> (WinPath, FoundVolume) {
    fixture.formatted_volume();
    let folder = fixture.folder(r"plugins\stale");
    fixture.mount(&folder);
    swap_partitioned(fixture);
    let other = fixture
        .node
        .disks()
        .find(&query([serial("OTHER")]), fixture.soon());
    let volumes = fixture.node.volumes();
    let found = volumes.find_on(&other.unwrap(), fixture.soon()).unwrap();
    volumes.format(&found, fixture.soon()).unwrap();
    (folder, found)
}

/// csi-proxy cannot report that a mounted folder is stale, so the client removes the folder.
#[test]
fn a_stale_mounted_folder_gives_way_in_process_and_is_removed_over_pipes() {
    for (fixture, in_process) in [
        (ClientFixture::in_process(), true),
        (ClientFixture::over_pipes(), false),
    ] {
        let (folder, volume) = leave_stale(&fixture);
        let (files, volumes) = (fixture.node.filesystem(), fixture.node.volumes());
        let make = || files.make_directory(&folder, fixture.soon());
        let mount = || volumes.mount(&volume, &folder, fixture.soon());
        if !in_process {
            make().unwrap_err();
            let refused = mount().unwrap_err();
            assert_eq!(refused.condition(), Some(Condition::NotEmpty));
            files.remove_entry(&folder, fixture.soon()).unwrap();
        }
        make().unwrap();
        mount().unwrap();
        assert_eq!(volumes.of_target(&folder, fixture.soon()), Ok(volume.id()));
    }
}

/// The driver asks for the volume of its disk's number when another disk has that.
#[test]
fn a_volume_of_another_disk_with_the_same_number_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |fixture| {
            let found = fixture.found();
            swap_partitioned(fixture);
            let volumes = fixture.node.volumes();
            let listed = volumes.list_on_disk(found.number(), None, fixture.soon());
            let others = listed.unwrap()[0];
            let not_found = volumes.find_on(&found, fixture.soon()).unwrap_err();
            assert_eq!(not_found.condition(), Some(Condition::Changed));
            let refused = write(fixture, &FoundVolume::on_disk(others, found));
            let untouched = volumes.is_formatted(others, fixture.soon());
            assert_eq!(untouched, Ok(false));
            refused
        });
    }
}

#[test]
fn a_volume_of_another_disk_than_the_one_that_was_found_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |fixture| {
            let own = fixture.found();
            fixture
                .node
                .disks()
                .partition(&own, fixture.soon())
                .unwrap();
            let system = fixture.system_volume();
            write(fixture, &FoundVolume::on_disk(system, own))
        });
    }
}

/// A driver's own path, where another volume is mounted by now.
#[test]
fn a_volume_that_is_not_mounted_where_it_was_found_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |fixture| {
            fixture.formatted_volume();
            let target = fixture.folder("target");
            fixture.mount(&target);
            let system = fixture.system_volume();
            write(fixture, &FoundVolume::mounted_at(system, target))
        });
        fails(Condition::NotAMountedFolder, |fixture| {
            let (volume, target) = (fixture.formatted_volume(), fixture.folder("target"));
            write(fixture, &FoundVolume::mounted_at(volume, target))
        });
    }
}

/// For unstaging a volume without a record.
#[test]
fn the_disk_of_a_mounted_folder_is_found() {
    both(|fixture| {
        let (node, soon) = (&*fixture.node, fixture.soon());
        let volume = fixture.formatted_volume();
        let (target, link) = (fixture.folder("globalmount"), path("pods"));
        fixture.mount(&target);
        let filesystem = node.filesystem();
        filesystem.create_symlink(&target, &link, soon).unwrap();
        let disk = node.disks().find_at(&target, soon).unwrap();
        assert_eq!(disk.number(), fixture.disk());
        let linked = node.disks().find_at(&link, soon).unwrap();
        assert_eq!(linked.number(), fixture.disk());
        node.volumes().unmount(volume, &target, soon).unwrap();
        for plain in [&target, &link] {
            let error = node.disks().find_at(plain, soon).unwrap_err();
            assert!(error.is(Condition::NotAMountedFolder), "{error}");
        }
        node.disks().take_offline(&disk, soon).unwrap();
        assert_eq!(node.disks().is_online(fixture.disk(), soon), Ok(false));
    });
}
