//! Methods that end without an error and without a code: what they did is looked for.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use os::{PartitionEntry, Returned, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{
    Authentication, Credentials, Criterion, DiskError, DiskQuery, FormatGuard, FormatOptions,
    FoundDisk, FoundVolume, Kept, MapRequest, NewSize, Node, Options, RemotePath, SerialNumber,
    Server,
};
use zeroize::Zeroizing;

use crate::support::initiator::{self, ADDRESS, OPEN, SECRET};
use crate::support::{DATA, GIB, KUBELET, PASSWORD, Rig, SHARE, USER, path};

/// A method whose work can be seen.
struct Case {
    method: &'static str,
    rig: fn() -> Rig,
    act: fn(&Rig) -> Result<(), Error>,
    is_done: fn(&Rig) -> bool,
}

const CASES: [Case; 16] = [
    Case {
        method: "MSFT_Disk.Initialize",
        rig: Rig::with_data_disk,
        act: partition,
        is_done: is_partitioned,
    },
    Case {
        method: "MSFT_Disk.CreatePartition",
        rig: Rig::with_data_disk,
        act: partition,
        is_done: is_partitioned,
    },
    Case {
        method: "MSFT_Disk.Offline",
        rig: Rig::with_data_disk,
        act: |rig| told(rig.disks().set_offline(rig.disk(), rig.soon())),
        is_done: is_offline,
    },
    Case {
        method: "MSFT_Disk.Online",
        rig: offline,
        act: |rig| told(rig.disks().set_online(rig.disk(), rig.soon())),
        is_done: |rig| !is_offline(rig),
    },
    Case {
        method: "MSFT_Disk.SetAttributes",
        rig: read_only,
        act: |rig| api(rig).disks().bring_online(&found(rig), rig.soon()),
        is_done: |rig| !rig.os().disks.attributes(rig.disk()).unwrap().read_only,
    },
    Case {
        method: "MSFT_Volume.Format",
        rig: partitioned,
        act: ensure_formatted,
        is_done: |rig| label(rig).is_some(),
    },
    Case {
        method: "MSFT_Volume.Format",
        rig: released,
        act: |rig| format_over(rig, FormatGuard::Signatures),
        is_done: is_wiped,
    },
    Case {
        method: "MSFT_Volume.Format",
        rig: released,
        act: |rig| format_over(rig, FormatGuard::Off),
        is_done: is_wiped,
    },
    Case {
        method: "MSFT_Volume.SetFileSystemLabel",
        rig: partitioned,
        act: ensure_formatted,
        is_done: |rig| label(rig).as_deref() == Some(LABEL),
    },
    Case {
        method: "MSFT_Partition.Resize",
        rig: grown,
        act: |rig| {
            let volume = FoundVolume::on_disk(rig.volume(), found(rig));
            let volumes = api(rig).volumes();
            volumes
                .resize(&volume, NewSize::Maximum, rig.soon())
                .map(drop)
        },
        is_done: |rig| {
            let length = rig.os().disks.length(rig.disk()).unwrap();
            rig.os().volumes.space(rig.volume()).unwrap().total > length - GIB
        },
    },
    Case {
        method: "MSFT_SmbGlobalMapping.Create",
        rig: Rig::with_server,
        act: map,
        is_done: is_mapped,
    },
    Case {
        method: "MSFT_SmbGlobalMapping.Remove",
        rig: mapped,
        act: |rig| api(rig).smb().unmap(&remote(), rig.soon()),
        is_done: |rig| !is_mapped(rig),
    },
    Case {
        method: "MSFT_iSCSITargetPortal.New",
        rig: Rig::with_array,
        act: |rig| {
            api(rig)
                .iscsi()
                .add_portal(&initiator::at(ADDRESS), rig.soon())
        },
        is_done: |rig| !portals(rig).is_empty(),
    },
    Case {
        method: "MSFT_iSCSITargetPortal.Remove",
        rig: Rig::with_portal,
        act: |rig| {
            api(rig)
                .iscsi()
                .remove_portal(&initiator::at(ADDRESS), rig.soon())
        },
        is_done: |rig| portals(rig).is_empty(),
    },
    Case {
        method: "MSFT_iSCSITarget.Connect",
        rig: Rig::with_portal,
        act: connect,
        is_done: |rig| !rig.sessions().is_empty(),
    },
    Case {
        method: "MSFT_iSCSITarget.Disconnect",
        rig: connected,
        act: |rig| {
            let (portal, target) = (initiator::at(ADDRESS), initiator::named(OPEN));
            api(rig).iscsi().disconnect(&portal, &target, rig.soon())
        },
        is_done: |rig| rig.sessions().is_empty(),
    },
];

const LABEL: &str = "data";

fn api(rig: &Rig) -> &dyn NodeApi {
    &rig.node
}

fn told(done: Result<(), DiskError>) -> Result<(), Error> {
    done.map_err(|error| Error::new("switch", "it", error))
}

fn found(rig: &Rig) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    api(rig).disks().find(&wanted, rig.soon()).unwrap()
}

fn partition(rig: &Rig) -> Result<(), Error> {
    api(rig).disks().partition(&found(rig), rig.soon())
}

fn is_partitioned(rig: &Rig) -> bool {
    let layout = rig.os().disks.layout(rig.disk()).unwrap();
    let mut partitions = layout.partitions.iter();
    partitions.any(|partition| partition.kind == PartitionEntry::BASIC_DATA)
}

fn is_offline(rig: &Rig) -> bool {
    rig.os().disks.attributes(rig.disk()).unwrap().offline
}

fn offline() -> Rig {
    let rig = Rig::with_data_disk();
    rig.force_offline();
    rig
}

fn read_only() -> Rig {
    let rig = Rig::with_data_disk();
    rig.make_read_only();
    rig
}

fn partitioned() -> Rig {
    let rig = Rig::with_data_disk();
    partition(&rig).unwrap();
    rig
}

fn ensure_formatted(rig: &Rig) -> Result<(), Error> {
    let volume = FoundVolume::on_disk(rig.volume(), found(rig));
    let options = FormatOptions::default().label(LABEL).unwrap();
    let options = options.root_dacl("D:P(A;OICI;FA;;;SY)".parse().unwrap());
    let volumes = api(rig).volumes();
    volumes
        .ensure_formatted(&volume, &options, rig.soon())
        .map(drop)
}

/// With a volume that holds a file, is mounted outside of the working folders, and is not in use.
fn released() -> Rig {
    let rig = Rig::with_volume();
    let (outside, soon) = (path(r"C:\mnt\disks\x"), rig.soon());
    rig.filesystem().make_directory(&outside, soon).unwrap();
    rig.volumes().mount(rig.volume(), &outside, soon).unwrap();
    rig.write(&format!("{}data.txt", rig.volume()), "no longer needed");
    rig
}

fn format_over(rig: &Rig, guard: FormatGuard) -> Result<(), Error> {
    let mut options = Options::default();
    options.format_guard = guard;
    let kept = Kept {
        working_folders: vec![path(KUBELET)],
        ..Kept::default()
    };
    let server = Server {
        kept: Some(kept),
        ..Server::default()
    };
    let node = Node::in_server(rig.os().clone(), options, server);
    let done = node.operations().volumes().format(rig.volume(), rig.soon());
    done.map(drop)
        .map_err(|error| Error::new("format", "it", error))
}

fn is_wiped(rig: &Rig) -> bool {
    let file = path(&format!("{}data.txt", rig.volume()));
    label(rig).is_some() && rig.os().files.entry(&file).is_err()
}

fn label(rig: &Rig) -> Option<String> {
    let found = rig.os().volumes.file_system(rig.volume()).unwrap();
    found.map(|found| found.label)
}

fn grown() -> Rig {
    let rig = Rig::with_volume();
    let length = rig.os().disks.length(rig.disk()).unwrap();
    rig.sim.hardware().grow_disk(DATA, length + GIB).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    rig
}

fn remote() -> RemotePath {
    RemotePath::parse(SHARE).unwrap()
}

fn map(rig: &Rig) -> Result<(), Error> {
    let password = Zeroizing::new(PASSWORD.to_owned());
    let credentials = Credentials::new(USER, password);
    let remote = remote();
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    api(rig).smb().map(&mapping, rig.soon()).map(drop)
}

fn mapped() -> Rig {
    let rig = Rig::with_server();
    map(&rig).unwrap();
    rig
}

fn is_mapped(rig: &Rig) -> bool {
    !api(rig).smb().mappings(rig.soon()).unwrap().is_empty()
}

fn portals(rig: &Rig) -> Vec<(String, u32)> {
    api(rig).iscsi().portals(rig.soon()).unwrap()
}

fn connect(rig: &Rig) -> Result<(), Error> {
    let (portal, target) = (initiator::at(ADDRESS), initiator::named(OPEN));
    let none = Authentication::None;
    api(rig)
        .iscsi()
        .connect(&portal, &target, &none, rig.soon())
}

fn connected() -> Rig {
    let rig = Rig::with_portal();
    connect(&rig).unwrap();
    rig
}

/// Of each method that answers so and returns no code, what the call that needs it came to, and whether its work is
/// done.
fn without_codes(
    answer: fn(os::Outcome) -> Effect,
) -> impl Iterator<Item = (&'static str, Result<(), Error>, bool)> {
    CASES.into_iter().map(move |case| {
        let rig = (case.rig)();
        let null = answer(os::Outcome::of(Returned::Null));
        rig.sim.faults().add(Rule::on(case.method, null));
        let done = (case.act)(&rig);
        (case.method, done, (case.is_done)(&rig))
    })
}

#[test]
fn a_method_that_did_its_work_and_returned_no_code_is_no_failure() {
    for (method, done, is_seen) in without_codes(Effect::AnswerAfter) {
        assert!(done.is_ok(), "{method}: {done:?}");
        assert!(is_seen, "{method}");
    }
}

#[test]
fn a_method_that_did_nothing_and_returned_no_code_is_no_success() {
    for (method, done, is_seen) in without_codes(Effect::Answer) {
        assert!(done.is_err(), "{method}");
        assert!(!is_seen, "{method}");
    }
}

/// What could not be read before is no proof when it can be read after.
#[test]
fn a_format_over_what_was_not_read_that_returned_no_code_is_no_success() {
    let rig = released();
    let unread = Effect::fail(Win32::IO_DEVICE);
    let null = Effect::Answer(os::Outcome::of(Returned::Null));
    let faults = rig.sim.faults();
    faults.add(Rule::on("ReadFile", unread).times(1));
    faults.add(Rule::on("MSFT_Volume.Format", null));
    let error = format_over(&rig, FormatGuard::Off).unwrap_err();
    assert!(error.to_string().contains("returned no code"), "{error}");
    assert!(!is_wiped(&rig));
}

#[test]
fn what_is_not_seen_may_be_tried_again() {
    let rig = Rig::with_data_disk();
    let null = Effect::Answer(os::Outcome::of(Returned::Null));
    rig.sim.faults().add(Rule::on("MSFT_Disk.Initialize", null));
    let error = partition(&rig).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotReady), "{error}");
    assert!(error.to_string().contains("returned no code"), "{error}");
}

/// Of these nothing can be read back: a call that ends without an error is done.
#[test]
fn a_method_whose_work_nobody_can_see_is_done_when_it_ends() {
    let rig = Rig::with_portal();
    let null = || Effect::AnswerAfter(os::Outcome::of(Returned::Null));
    for method in [
        "MSFT_StorageSetting.UpdateHostStorageCache",
        "MSFT_Disk.Refresh",
        "MSFT_Partition.Online",
        "MSFT_iSCSITargetPortal.Update",
        "MSFT_iSCSISession.SetCHAPSecret",
    ] {
        rig.sim.faults().add(Rule::on(method, null()));
    }
    rig.disks().rescan(rig.soon()).unwrap();
    partition(&rig).unwrap();
    let iscsi = api(&rig).iscsi();
    iscsi.refresh(&initiator::at(ADDRESS), rig.soon()).unwrap();
    let secret = initiator::secret(SECRET);
    iscsi.set_mutual_chap_secret(&secret, rig.soon()).unwrap();
}
