//! Disks and volumes by what is known of them, and what is written when another has taken their place.

use node::api::{Cause, Condition, Error, Feature};
use node::{Criterion, FormatOptions, FoundVolume, NamespaceConvention, NewSize, Page83};
use os::WinPath;
use os_sim::{Bus, Content, DiskSpec, HardwareControl, demo};

use super::features::lacks;
use super::{Rig, both, fails, query, serial};

#[test]
fn a_disk_is_found_by_all_that_csi_proxy_lists() {
    both(|rig| {
        let (disks, soon, disk) = (rig.node.disks(), rig.soon(), rig.disk());
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

/// What the wire leaves out is refused, and never left out of what is known.
#[test]
fn a_disk_cannot_be_asked_for_over_pipes_by_what_csi_proxy_does_not_list() {
    let rig = Rig::over_pipes();
    let convention = NamespaceConvention::NsidMinusOne;
    for unlisted in [
        Criterion::Device(0),
        Criterion::Function(0),
        Criterion::Namespace(1),
        Criterion::NvmeLun { lun: 0, convention },
        Criterion::Port(0),
    ] {
        let wanted = query([serial(demo::DISK_SERIAL), unlisted]);
        let error = rig.node.disks().find(&wanted, rig.soon()).unwrap_err();
        assert_eq!(lacks(&error), Some(Feature::DeviceCriteria), "{error}");
    }
}

/// On the simulated node, whose disk goes and whose number another one takes.
#[test]
fn a_disk_that_was_swapped_since_it_was_found_is_not_partitioned() {
    fails(Condition::Changed, |rig| {
        let (found, hardware) = (rig.found(), HardwareControl::at(&rig.simulated));
        hardware.detach_disk("data").unwrap();
        rig.node.disks().rescan(rig.soon()).unwrap();
        let other = DiskSpec::on(Bus::Sas).lun(1).serial("OTHER");
        let blank = Content::blank(1 << 30);
        hardware.attach_disk("other", &other, &blank).unwrap();
        rig.node.disks().rescan(rig.soon()).unwrap();
        rig.node.disks().partition(&found, rig.soon())
    });
    fails(Condition::NotFound, |rig| {
        let (found, hardware) = (rig.found(), HardwareControl::at(&rig.simulated));
        hardware.detach_disk("data").unwrap();
        rig.node.disks().rescan(rig.soon()).unwrap();
        rig.node.disks().partition(&found, rig.soon())
    });
}

/// The disk goes, and another one, which has a volume, takes its number.
fn swap_partitioned(rig: &Rig) {
    let hardware = HardwareControl::at(&rig.simulated);
    hardware.detach_disk("data").unwrap();
    rig.node.disks().rescan(rig.soon()).unwrap();
    let other = DiskSpec::on(Bus::Sas).lun(1).serial("OTHER");
    let blank = Content::blank(1 << 30);
    hardware.attach_disk("other", &other, &blank).unwrap();
    rig.node.disks().rescan(rig.soon()).unwrap();
    let wanted = query([serial("OTHER")]);
    let other = rig.node.disks().find(&wanted, rig.soon()).unwrap();
    rig.node.disks().bring_online(&other, rig.soon()).unwrap();
    rig.node.disks().partition(&other, rig.soon()).unwrap();
}

type Write = fn(&Rig, &FoundVolume) -> Result<(), Error>;

const WRITES: [Write; 4] = [
    |rig, volume| rig.node.volumes().format(volume, rig.soon()),
    |rig, volume| {
        let folder = rig.folder("empty");
        rig.node.volumes().mount(volume, &folder, rig.soon())
    },
    |rig, volume| {
        let plain = FormatOptions::default();
        let volumes = rig.node.volumes();
        volumes
            .ensure_formatted(volume, &plain, rig.soon())
            .map(drop)
    },
    |rig, volume| {
        let volumes = rig.node.volumes();
        volumes
            .resize(volume, NewSize::Maximum, rig.soon())
            .map(drop)
    },
];

#[test]
fn a_disk_of_another_number_is_not_taken_offline() {
    both(|rig| {
        let found = rig.found();
        swap_partitioned(rig);
        let refused = rig.node.disks().take_offline(&found, rig.soon());
        let condition = refused.unwrap_err().condition();
        assert_eq!(condition, Some(Condition::Changed));
        let is_online = rig.node.disks().is_online(found.number(), rig.soon());
        assert_eq!(is_online, Ok(true));
    });
}

/// The disk goes before its volume is unmounted, and another one is to be mounted there.
fn leave_stale(rig: &Rig) -> (WinPath, FoundVolume) {
    rig.formatted_volume();
    let folder = rig.folder(r"plugins\stale");
    rig.mount(&folder);
    swap_partitioned(rig);
    let other = rig.node.disks().find(&query([serial("OTHER")]), rig.soon());
    let volumes = rig.node.volumes();
    let found = volumes.find_on(&other.unwrap(), rig.soon()).unwrap();
    volumes.format(&found, rig.soon()).unwrap();
    (folder, found)
}

/// csi-proxy cannot say that a mounted folder is stale, so that its client removes what is in the way.
#[test]
fn a_stale_mounted_folder_gives_way_in_process_and_is_removed_over_pipes() {
    for (rig, in_process) in [(Rig::in_process(), true), (Rig::over_pipes(), false)] {
        let (folder, volume) = leave_stale(&rig);
        let (files, volumes) = (rig.node.filesystem(), rig.node.volumes());
        let make = || files.make_directory(&folder, rig.soon());
        let mount = || volumes.mount(&volume, &folder, rig.soon());
        if !in_process {
            make().unwrap_err();
            let refused = mount().unwrap_err();
            assert_eq!(refused.condition(), Some(Condition::NotEmpty));
            files.remove_entry(&folder, rig.soon()).unwrap();
        }
        make().unwrap();
        mount().unwrap();
        assert_eq!(volumes.of_target(&folder, rig.soon()), Ok(volume.id()));
    }
}

/// The driver asks for the volume of its disk's number when another disk has that.
#[test]
fn a_volume_of_another_disk_with_the_same_number_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |rig| {
            let found = rig.found();
            swap_partitioned(rig);
            let volumes = rig.node.volumes();
            let listed = volumes.list_on_disk(found.number(), None, rig.soon());
            let others = listed.unwrap()[0];
            let not_found = volumes.find_on(&found, rig.soon()).unwrap_err();
            assert_eq!(not_found.condition(), Some(Condition::Changed));
            let refused = write(rig, &FoundVolume::on_disk(others, found));
            let untouched = volumes.is_formatted(others, rig.soon());
            assert_eq!(untouched, Ok(false));
            refused
        });
    }
}

#[test]
fn a_volume_of_another_disk_than_the_one_that_was_found_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |rig| {
            let own = rig.found();
            rig.node.disks().partition(&own, rig.soon()).unwrap();
            let system = rig.system_volume();
            write(rig, &FoundVolume::on_disk(system, own))
        });
    }
}

/// A driver's own path, where another volume is mounted by now.
#[test]
fn a_volume_that_is_not_mounted_where_it_was_found_is_not_written() {
    for write in WRITES {
        fails(Condition::Changed, |rig| {
            rig.formatted_volume();
            let target = rig.folder("target");
            rig.mount(&target);
            let system = rig.system_volume();
            write(rig, &FoundVolume::mounted_at(system, target))
        });
        fails(Condition::NotAMountedFolder, |rig| {
            let (volume, target) = (rig.formatted_volume(), rig.folder("target"));
            write(rig, &FoundVolume::mounted_at(volume, target))
        });
    }
}
