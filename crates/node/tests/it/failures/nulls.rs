//! Methods that end without an error and without a code: what they did is looked for.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use os::{PartitionEntry, Returned, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::api::{Condition, Error};
use wincsi_node::{
    Authentication, Credentials, DiskError, FormatGuard, FormatOptions, FoundVolume, MapRequest,
    NewSize, RemotePath,
};
use zeroize::Zeroizing;

use super::{api, found, partition};
use crate::support::initiator::{self, ADDRESS, OPEN, SECRET};
use crate::support::{DATA, GIB, NodeFixture, PASSWORD, SHARE, USER, path};

/// A method whose work can be seen.
struct Case {
    method: &'static str,
    fixture: fn() -> NodeFixture,
    act: fn(&NodeFixture) -> Result<(), Error>,
    is_done: fn(&NodeFixture) -> bool,
}

const CASES: [Case; 16] = [
    Case {
        method: "MSFT_Disk.Initialize",
        fixture: NodeFixture::with_data_disk,
        act: partition,
        is_done: is_partitioned,
    },
    Case {
        method: "MSFT_Disk.CreatePartition",
        fixture: NodeFixture::with_data_disk,
        act: partition,
        is_done: is_partitioned,
    },
    Case {
        method: "MSFT_Disk.Offline",
        fixture: NodeFixture::with_data_disk,
        act: |fixture| as_api_error(fixture.try_set_offline()),
        is_done: is_offline,
    },
    Case {
        method: "MSFT_Disk.Online",
        fixture: offline,
        act: |fixture| as_api_error(fixture.disks().set_online(fixture.disk(), fixture.soon())),
        is_done: |fixture| !is_offline(fixture),
    },
    Case {
        method: "MSFT_Disk.SetAttributes",
        fixture: read_only,
        act: |fixture| {
            api(fixture)
                .disks()
                .bring_online(&found(fixture), fixture.soon())
        },
        is_done: |fixture| !fixture.attributes().read_only,
    },
    Case {
        method: "MSFT_Volume.Format",
        fixture: partitioned,
        act: ensure_formatted,
        is_done: |fixture| label(fixture).is_some(),
    },
    Case {
        method: "MSFT_Volume.Format",
        fixture: released,
        act: |fixture| format_over(fixture, FormatGuard::Signatures),
        is_done: is_wiped,
    },
    Case {
        method: "MSFT_Volume.Format",
        fixture: released,
        act: |fixture| format_over(fixture, FormatGuard::Off),
        is_done: is_wiped,
    },
    Case {
        method: "MSFT_Volume.SetFileSystemLabel",
        fixture: partitioned,
        act: ensure_formatted,
        is_done: |fixture| label(fixture).as_deref() == Some(LABEL),
    },
    Case {
        method: "MSFT_Partition.Resize",
        fixture: grown,
        act: |fixture| {
            let volume = FoundVolume::on_disk(fixture.volume(), found(fixture));
            let volumes = api(fixture).volumes();
            volumes
                .resize(&volume, NewSize::Maximum, fixture.soon())
                .map(drop)
        },
        is_done: |fixture| {
            let length = fixture.os().disks.length(fixture.disk()).unwrap();
            fixture.os().volumes.space(fixture.volume()).unwrap().total > length - GIB
        },
    },
    Case {
        method: "MSFT_SmbGlobalMapping.Create",
        fixture: NodeFixture::with_server,
        act: map,
        is_done: is_mapped,
    },
    Case {
        method: "MSFT_SmbGlobalMapping.Remove",
        fixture: mapped,
        act: |fixture| api(fixture).smb().unmap(&remote(), fixture.soon()),
        is_done: |fixture| !is_mapped(fixture),
    },
    Case {
        method: "MSFT_iSCSITargetPortal.New",
        fixture: NodeFixture::with_array,
        act: |fixture| {
            api(fixture).iscsi().add_portal(
                &initiator::at(ADDRESS),
                &Authentication::None,
                fixture.soon(),
            )
        },
        is_done: |fixture| !portals(fixture).is_empty(),
    },
    Case {
        method: "MSFT_iSCSITargetPortal.Remove",
        fixture: NodeFixture::with_portal,
        act: |fixture| {
            api(fixture)
                .iscsi()
                .remove_portal(&initiator::at(ADDRESS), fixture.soon())
        },
        is_done: |fixture| portals(fixture).is_empty(),
    },
    Case {
        method: "MSFT_iSCSITarget.Connect",
        fixture: NodeFixture::with_portal,
        act: connect,
        is_done: |fixture| !fixture.sessions().is_empty(),
    },
    Case {
        method: "MSFT_iSCSITarget.Disconnect",
        fixture: connected,
        act: |fixture| {
            let (portal, target) = (initiator::at(ADDRESS), initiator::named(OPEN));
            api(fixture)
                .iscsi()
                .disconnect(&portal, &target, fixture.soon())
        },
        is_done: |fixture| fixture.sessions().is_empty(),
    },
];

const LABEL: &str = "data";

fn as_api_error(done: Result<(), DiskError>) -> Result<(), Error> {
    done.map_err(|error| Error::new("switch", "it", error))
}

fn is_partitioned(fixture: &NodeFixture) -> bool {
    let layout = fixture.layout();
    let mut partitions = layout.partitions.iter();
    partitions.any(|partition| partition.kind == PartitionEntry::BASIC_DATA)
}

fn is_offline(fixture: &NodeFixture) -> bool {
    fixture.attributes().offline
}

fn offline() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    fixture.force_offline();
    fixture
}

fn read_only() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    fixture.make_read_only();
    fixture
}

fn partitioned() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    partition(&fixture).unwrap();
    fixture
}

fn ensure_formatted(fixture: &NodeFixture) -> Result<(), Error> {
    let volume = FoundVolume::on_disk(fixture.volume(), found(fixture));
    let options = FormatOptions::default().label(LABEL).unwrap();
    let options = options.root_dacl("D:P(A;OICI;FA;;;SY)".parse().unwrap());
    let volumes = api(fixture).volumes();
    volumes
        .ensure_formatted(&volume, &options, fixture.soon())
        .map(drop)
}

/// With a volume that holds a file, is mounted outside of the working folders, and is not in use.
fn released() -> NodeFixture {
    let fixture = NodeFixture::with_volume();
    let (outside, soon) = (path(r"C:\mnt\disks\x"), fixture.soon());
    fixture.filesystem().make_directory(&outside, soon).unwrap();
    fixture
        .volumes()
        .mount(fixture.volume(), &outside, soon)
        .unwrap();
    fixture.write(&format!("{}data.txt", fixture.volume()), "no longer needed");
    fixture
}

fn format_over(fixture: &NodeFixture, guard: FormatGuard) -> Result<(), Error> {
    let node = fixture.served(guard);
    let done = node
        .operations()
        .volumes()
        .format(fixture.volume(), fixture.soon());
    done.map(drop)
        .map_err(|error| Error::new("format", "it", error))
}

fn is_wiped(fixture: &NodeFixture) -> bool {
    let file = path(&format!("{}data.txt", fixture.volume()));
    label(fixture).is_some() && fixture.os().files.entry(&file).is_err()
}

fn label(fixture: &NodeFixture) -> Option<String> {
    let found = fixture.os().volumes.file_system(fixture.volume()).unwrap();
    found.map(|found| found.label)
}

fn grown() -> NodeFixture {
    let fixture = NodeFixture::with_volume();
    let length = fixture.os().disks.length(fixture.disk()).unwrap();
    fixture.grow(DATA, length + GIB);
    fixture.rescan();
    fixture
}

fn remote() -> RemotePath {
    RemotePath::parse(SHARE).unwrap()
}

fn map(fixture: &NodeFixture) -> Result<(), Error> {
    let password = Zeroizing::new(PASSWORD.to_owned());
    let credentials = Credentials::new(USER, password);
    let remote = remote();
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    api(fixture).smb().map(&mapping, fixture.soon()).map(drop)
}

fn mapped() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    map(&fixture).unwrap();
    fixture
}

fn is_mapped(fixture: &NodeFixture) -> bool {
    !api(fixture)
        .smb()
        .mappings(fixture.soon())
        .unwrap()
        .is_empty()
}

fn portals(fixture: &NodeFixture) -> Vec<(String, u32)> {
    api(fixture).iscsi().portals(fixture.soon()).unwrap()
}

fn connect(fixture: &NodeFixture) -> Result<(), Error> {
    let (portal, target) = (initiator::at(ADDRESS), initiator::named(OPEN));
    let none = Authentication::None;
    api(fixture)
        .iscsi()
        .connect(&portal, &target, &none, fixture.soon())
}

fn connected() -> NodeFixture {
    let fixture = NodeFixture::with_portal();
    connect(&fixture).unwrap();
    fixture
}

/// Of each method that answers so and returns no code, what the call that needs it came to, and whether its work is
/// done.
fn without_codes(
    answer: fn(os::Outcome) -> Effect,
) -> impl Iterator<Item = (&'static str, Result<(), Error>, bool)> {
    CASES.into_iter().map(move |case| {
        let fixture = (case.fixture)();
        let null = answer(os::Outcome::of(Returned::Null));
        fixture.fault(Rule::on(case.method, null));
        let done = (case.act)(&fixture);
        (case.method, done, (case.is_done)(&fixture))
    })
}

/// Guards: P63
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

/// A failed read before makes a read afterwards no proof.
/// Guards: P63
#[test]
fn a_format_over_what_was_not_read_that_returned_no_code_is_no_success() {
    let fixture = released();
    let unread = Effect::fail(Win32::IO_DEVICE);
    let null = Effect::Answer(os::Outcome::of(Returned::Null));
    let faults = fixture.faults();
    faults.add(Rule::on("ReadFile", unread).times(1));
    faults.add(Rule::on("MSFT_Volume.Format", null));
    let error = format_over(&fixture, FormatGuard::Off).unwrap_err();
    assert!(error.to_string().contains("returned no code"), "{error}");
    assert!(!is_wiped(&fixture));
}

#[test]
fn what_is_not_seen_may_be_tried_again() {
    let fixture = NodeFixture::with_data_disk();
    let null = Effect::Answer(os::Outcome::of(Returned::Null));
    fixture.fault(Rule::on("MSFT_Disk.Initialize", null));
    let error = partition(&fixture).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotReady), "{error}");
    assert!(error.to_string().contains("returned no code"), "{error}");
}

/// Of these nothing can be read back: a call that ends without an error is done.
/// Guards: P39
#[test]
fn a_method_whose_work_nobody_can_see_is_done_when_it_ends() {
    let fixture = NodeFixture::with_portal();
    let null = || Effect::AnswerAfter(os::Outcome::of(Returned::Null));
    for method in [
        "MSFT_StorageSetting.UpdateHostStorageCache",
        "MSFT_Disk.Refresh",
        "MSFT_Partition.Online",
        "MSFT_iSCSITargetPortal.Update",
        "MSFT_iSCSISession.SetCHAPSecret",
    ] {
        fixture.fault(Rule::on(method, null()));
    }
    fixture.rescan();
    partition(&fixture).unwrap();
    let iscsi = api(&fixture).iscsi();
    iscsi
        .refresh(&initiator::at(ADDRESS), fixture.soon())
        .unwrap();
    let secret = initiator::secret(SECRET);
    iscsi
        .set_mutual_chap_secret(&secret, fixture.soon())
        .unwrap();
}
