//! A volume that holds a filesystem is formatted if its owner has done with it for certain.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use os::schema::codes;
use os::{Os, Outcome, VolumeId, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::{
    DiskError, FormatGuard, Kept, Node, NotReleased, Options, Replaced, Server, VolumeError, Waits,
};

use crate::support::{KUBELET, NodeFixture, STAGING, assert_says, inject, path, serve, warnings};

const FORMAT: &str = "MSFT_Volume.Format";

/// Where an operator mounts local volumes.
const OUTSIDE: &str = r"C:\mnt\disks\x";

/// A working folder on it.
const WORK: &str = r"C:\mnt\disks\x\work";

/// The server's notes.
const STATE: &str = r"C:\Program Files\wincsi";

const TIMEOUT: Duration = Duration::from_secs(60);

/// A node with a formatted volume, and a server's operations on it.
struct ServerFixture {
    fixture: NodeFixture,
    node: Node,
}

impl ServerFixture {
    /// The volume is mounted at these folders.
    fn mounted_at(folders: &[&str]) -> Self {
        Self::guarded_by(FormatGuard::Signatures, folders)
    }

    fn guarded_by(guard: FormatGuard, folders: &[&str]) -> Self {
        Self::with(guard, folders, kept())
    }

    fn with(guard: FormatGuard, folders: &[&str], kept: Kept) -> Self {
        let fixture = NodeFixture::with_volume();
        for folder in folders {
            mount(&fixture, fixture.volume(), folder);
        }
        fixture.write(&format!("{}data.txt", fixture.volume()), "precious");
        let node = serve(fixture.os().clone(), guard, kept);
        Self { fixture, node }
    }

    fn volume(&self) -> VolumeId {
        self.fixture.volume()
    }

    fn has_data(&self) -> bool {
        let path = path(&format!("{}data.txt", self.volume()));
        self.fixture.os().files.entry(&path).is_ok()
    }

    fn format(&self) -> Result<Replaced, VolumeError> {
        let volumes = self.node.operations().volumes();
        volumes.format(self.volume(), self.fixture.soon())
    }

    fn is_formatted(&self) -> bool {
        let volumes = self.node.operations().volumes();
        volumes
            .is_formatted(self.volume(), self.fixture.soon())
            .unwrap()
    }

    /// The reason for which the volume is not formatted, as it is not.
    fn refusal(&self) -> NotReleased {
        let error = self.format().unwrap_err();
        assert!(self.has_data(), "{error}");
        match error {
            VolumeError::NotReleased { reason, .. } => *reason,
            other => panic!("{other}"),
        }
    }
}

/// The paths that the server uses and runs from.
fn kept() -> Kept {
    Kept {
        working_folders: vec![path(KUBELET)],
        files: vec![path(STATE)],
    }
}

fn mount(fixture: &NodeFixture, volume: VolumeId, folder: &str) {
    let folder = path(folder);
    fixture
        .filesystem()
        .make_directory(&folder, fixture.soon())
        .unwrap();
    fixture
        .volumes()
        .mount(volume, &folder, fixture.soon())
        .unwrap();
}

fn of_ntfs() -> Result<Replaced, VolumeError> {
    Ok(Replaced::FileSystem("NTFS".to_owned()))
}

/// Guards: P63
#[test]
fn a_volume_that_is_mounted_outside_and_unused_is_wiped_and_warned_of() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let warnings = warnings::of(|| assert_eq!(server.format(), of_ntfs()));
    assert!(warnings > 0, "an operator reads of it");
    assert!(!server.has_data());
    assert!(server.is_formatted());
    let mounted = server
        .fixture
        .volumes()
        .of_target(&path(OUTSIDE), server.fixture.soon());
    assert_eq!(
        mounted,
        Ok(server.volume()),
        "it stays where it was mounted"
    );
}

/// Guards: P64
#[test]
fn a_staged_volume_is_refused_wherever_else_it_is_mounted() {
    for folders in [&[STAGING][..], &[OUTSIDE, STAGING]] {
        let server = ServerFixture::mounted_at(folders);
        let refused = server.refusal();
        assert!(
            matches!(refused, NotReleased::MountedInside { .. }),
            "{refused:?}"
        );
    }
}

/// By its text and by its place the folder is inside, also when it has become a link since the start.
/// Guards: P64
#[test]
fn a_volume_that_is_staged_where_the_working_folder_leads_is_refused() {
    const PLACE: &str = r"C:\elsewhere\kubelet";
    for is_link_at_start in [true, false] {
        let fixture = NodeFixture::with_volume();
        let staging = format!(r"{PLACE}\plugins\globalmount");
        mount(&fixture, fixture.volume(), &staging);
        let (above, soon) = (path(r"C:\var\lib"), fixture.soon());
        fixture.filesystem().make_directory(&above, soon).unwrap();
        let link = || fixture.junction(KUBELET, PLACE);
        let serve = || serve(fixture.os().clone(), FormatGuard::Signatures, kept());
        let node = match is_link_at_start {
            true => (link(), serve()).1,
            false => (serve(), link()).0,
        };
        let error = node.operations().volumes().format(fixture.volume(), soon);
        let text = error.unwrap_err().to_string();
        assert_says(&text, "mounted within the working folders");
    }
}

/// Another volume, which is mounted here too, and the node as a mount manager has it that names what is on it
/// by this folder.
fn on_another_volume(fixture: &NodeFixture, folder: &str) -> (VolumeId, Os) {
    let other = fixture.other_volume();
    mount(fixture, other, folder);
    let mut os = fixture.os().clone();
    os.volumes = Arc::new(inject::Named {
        volumes: os.volumes,
        place: path(&other.to_string()),
        named: path(folder),
    });
    (other, os)
}

fn is_refused_as_inside(fixture: &NodeFixture, node: &Node) {
    let refused = node
        .operations()
        .volumes()
        .format(fixture.volume(), fixture.soon());
    match refused {
        Err(VolumeError::NotReleased { reason, .. }) => assert!(
            matches!(*reason, NotReleased::MountedInside { .. }),
            "{reason:?}"
        ),
        other => panic!("{other:?}"),
    }
}

/// The folder's place begins with the other volume, the access path with a drive.
/// Guards: P64
#[test]
fn a_volume_that_is_staged_where_the_working_folder_leads_across_a_mounted_folder_is_refused() {
    for link_to_the_volume_itself in [false, true] {
        let fixture = NodeFixture::with_volume();
        let (other, os) = on_another_volume(&fixture, r"C:\mnt");
        let staging = r"C:\mnt\kubelet\plugins\globalmount";
        mount(&fixture, fixture.volume(), staging);
        let (above, soon) = (path(r"C:\var\lib"), fixture.soon());
        fixture.filesystem().make_directory(&above, soon).unwrap();
        let target = match link_to_the_volume_itself {
            true => format!(r"Volume{{{}}}\kubelet", other.0),
            false => r"C:\mnt\kubelet".to_owned(),
        };
        fixture.junction(KUBELET, &target);
        let node = serve(os, FormatGuard::Signatures, kept());
        is_refused_as_inside(&fixture, &node);
        fixture
            .volumes()
            .unmount(fixture.volume(), &path(staging), soon)
            .unwrap();
        mount(&fixture, fixture.volume(), r"C:\mnt\disks\x");
        let done = node.operations().volumes().format(fixture.volume(), soon);
        assert_eq!(done, of_ntfs(), "beside the working folder it is released");
    }
}

/// Staged by another program before this one, which refuses such links.
/// Guards: P64
#[test]
fn a_volume_that_is_staged_behind_a_link_right_below_a_working_folder_is_refused() {
    const PLUGINS: &str = r"C:\var\lib\kubelet\plugins";
    for is_late in [false, true] {
        let fixture = NodeFixture::with_volume();
        mount(
            &fixture,
            fixture.volume(),
            r"C:\elsewhere\plugins\globalmount",
        );
        let (kubelet, soon) = (path(KUBELET), fixture.soon());
        fixture.filesystem().make_directory(&kubelet, soon).unwrap();
        let link = || fixture.junction(PLUGINS, r"C:\elsewhere\plugins");
        let serve = || serve(fixture.os().clone(), FormatGuard::Signatures, kept());
        let node = match is_late {
            false => (link(), serve()).1,
            true => (serve(), link()).0,
        };
        is_refused_as_inside(&fixture, &node);
    }
    let fixture = NodeFixture::with_volume();
    let (other, os) = on_another_volume(&fixture, r"C:\mnt");
    mount(&fixture, other, PLUGINS);
    mount(&fixture, fixture.volume(), r"C:\mnt\globalmount");
    is_refused_as_inside(&fixture, &serve(os, FormatGuard::Signatures, kept()));
}

/// Guards: P64
#[test]
fn a_volume_is_refused_while_a_link_right_below_a_working_folder_cannot_be_followed() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let fixture = &server.fixture;
    let (kubelet, soon) = (path(KUBELET), fixture.soon());
    fixture.filesystem().make_directory(&kubelet, soon).unwrap();
    fixture.junction(r"C:\var\lib\kubelet\plugins", r"C:\elsewhere");
    let unread = Effect::fail(Win32::IO_DEVICE);
    let unread = Rule::on("FSCTL_GET_REPARSE_POINT", unread).object(r"C:\var\lib\kubelet\plugins");
    let unread = fixture.fault(unread);
    let refused = server.refusal();
    assert!(matches!(refused, NotReleased::Unknown(_)), "{refused:?}");
    fixture.faults().remove(unread);
    assert_eq!(server.format(), of_ntfs());
}

/// Guards: P64
#[test]
fn a_volume_that_is_mounted_nowhere_is_refused() {
    let server = ServerFixture::mounted_at(&[]);
    assert_eq!(server.refusal(), NotReleased::MountedNowhere);
}

/// Guards: P65
#[test]
fn a_volume_with_a_working_folder_or_a_link_to_one_is_refused() {
    let within = |server: &ServerFixture| {
        let refused = server.refusal();
        assert!(
            matches!(refused, NotReleased::HoldsWorkingFolder { .. }),
            "{refused:?}"
        );
    };
    let with_work = || {
        let folder = path(WORK);
        let working_folders = [kept().working_folders, vec![folder]].concat();
        let kept = Kept {
            working_folders,
            ..kept()
        };
        ServerFixture::with(FormatGuard::Signatures, &[OUTSIDE], kept)
    };
    within(&with_work());
    let linked = with_work();
    linked.fixture.junction(WORK, r"C:\work");
    within(&linked);
}

/// Guards: P65
#[test]
fn a_volume_to_which_a_link_right_below_a_working_folder_leads_is_refused() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let (fixture, kubelet) = (&server.fixture, path(KUBELET));
    fixture
        .filesystem()
        .make_directory(&kubelet, fixture.soon())
        .unwrap();
    fixture.junction(r"C:\var\lib\kubelet\pods", r"C:\mnt\disks\x\pods");
    let refused = server.refusal();
    assert!(
        matches!(refused, NotReleased::HoldsWorkingFolder { .. }),
        "{refused:?}"
    );
}

/// Guards: P66
#[test]
fn a_volume_with_a_file_of_the_servers_is_refused() {
    let log = r"C:\mnt\disks\x\logs\csi-proxy.log";
    let kept = Kept {
        files: vec![path(log)],
        ..kept()
    };
    let server = ServerFixture::with(FormatGuard::Signatures, &[OUTSIDE], kept);
    let path = log.to_owned();
    assert_eq!(server.refusal(), NotReleased::HoldsFile { path });
}

/// Guards: P67
#[test]
fn a_volume_on_which_another_is_mounted_is_refused() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let fixture = &server.fixture;
    let other = fixture.other_volume();
    mount(fixture, other, r"C:\mnt\disks\x\inner");
    assert_eq!(server.refusal(), NotReleased::HoldsMount { volume: other });
    let inner = path(r"C:\mnt\disks\x\inner");
    fixture
        .volumes()
        .unmount(other, &inner, fixture.soon())
        .unwrap();
    assert_eq!(server.format(), of_ntfs());
}

/// The provider must not dismount by force, in case a process opens a file in between.
/// Guards: P69
#[test]
fn a_volume_in_use_is_refused_until_it_is_free_and_never_dismounted() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let volume = server.volume();
    let hold = server.fixture.hold(volume);
    let trace = server.fixture.trace(|| {
        assert_eq!(server.format(), Err(VolumeError::InUse { volume }));
    });
    assert!(server.has_data());
    let changing = ["FSCTL_DISMOUNT_VOLUME", "MSFT_Volume.Format"];
    assert!(!trace.iter().any(|op| changing.contains(&op.operation)));
    drop(hold);
    assert_eq!(
        server.format(),
        of_ntfs(),
        "the repeat after the lock is free"
    );
}

/// Guards: P69
#[test]
fn a_file_that_is_opened_after_the_look_keeps_the_volume() {
    let server = ServerFixture::mounted_at(&[OUTSIDE]);
    let fixture = &server.fixture;
    let (asked, asks) = mpsc::channel::<()>();
    let (open, opened) = mpsc::channel::<()>();
    let mut os = fixture.os().clone();
    let opened = Mutex::new(opened);
    inject::before(&mut os, "Provider::invoke", 1, move || {
        asked.send(()).unwrap();
        opened.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
    });
    let node = serve(os, FormatGuard::Signatures, kept());
    thread::scope(|scope| {
        let (volume, soon) = (fixture.volume(), fixture.soon());
        let node = &node;
        let formatting = scope.spawn(move || node.operations().volumes().format(volume, soon));
        asks.recv_timeout(TIMEOUT).unwrap();
        let _hold = fixture.hold(volume);
        open.send(()).unwrap();
        let error = formatting.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("code=40001"), "{error}");
    });
    assert!(server.has_data());
}

/// A driver that was told "not formatted" formats next, whatever has come to light meanwhile.
/// Guards: P68
#[test]
fn a_volume_reported_unformatted_is_not_formatted_over_until_reported_formatted() {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    let node = serve(fixture.os().clone(), FormatGuard::Signatures, kept());
    let server = ServerFixture { fixture, node };
    assert!(!server.is_formatted());
    let (fixture, volume) = (&server.fixture, server.volume());
    fixture.volumes().format(volume, fixture.soon()).unwrap();
    mount(fixture, volume, OUTSIDE);
    fixture.write(&format!("{volume}data.txt"), "precious");
    assert_eq!(server.refusal(), NotReleased::SaidUnformatted);
    assert!(server.is_formatted());
    assert_eq!(server.format(), of_ntfs());
}

/// Guards: P63
#[test]
fn a_strict_server_formats_no_filesystem_and_says_what_can_be_done() {
    let server = ServerFixture::guarded_by(FormatGuard::Strict, &[OUTSIDE]);
    let error = server.format().unwrap_err().to_string();
    assert!(server.has_data());
    for system_text in [
        "NTFS filesystem at offset 3",
        "zero all of it",
        "-format-guard=off",
    ] {
        assert!(error.contains(system_text), "{error}");
    }
}

#[test]
fn a_refusal_says_what_was_found_and_what_can_be_done() {
    let error = ServerFixture::mounted_at(&[STAGING]).format().unwrap_err();
    let error = error.to_string();
    for system_text in [
        "is not overwritten: it holds NTFS filesystem at offset 3",
        "mounted within the working folders",
        "format it by hand or zero all of it",
        "-format-guard=off",
    ] {
        assert!(error.contains(system_text), "{error}");
    }
}

#[test]
fn without_a_guard_all_is_formatted_but_for_what_windows_runs_from() {
    let server = ServerFixture::guarded_by(FormatGuard::Off, &[STAGING]);
    let _hold = server.fixture.hold(server.volume());
    let warnings = warnings::of(|| assert_eq!(server.format(), of_ntfs()));
    assert!(warnings > 0 && !server.has_data());
    let system = path(r"C:\");
    let volumes = server.node.operations().volumes();
    let system = volumes.closest(&system, server.fixture.soon()).unwrap();
    let refused = volumes.format(system, server.fixture.soon()).unwrap_err();
    assert_says(&refused, "is not changed: it holds");
}

/// A filesystem may hold a page file that nobody knows of; what is blank cannot.
#[test]
fn no_filesystem_is_wiped_where_page_files_are_unknown() {
    for guard in [FormatGuard::Signatures, FormatGuard::Off] {
        let server = ServerFixture::guarded_by(guard, &[OUTSIDE]);
        let denied = Effect::fail(Win32::ACCESS_DENIED);
        let rule = Rule::on("RegGetValueW", denied).object("PagingFiles");
        server.fixture.fault(rule);
        let refused = server.format().unwrap_err();
        let paging = matches!(refused, VolumeError::Disk(DiskError::Paging { .. }));
        assert!(paging && server.has_data(), "{guard:?}: {refused}");
    }
}

/// Counts the calls that wait.
#[derive(Clone, Default)]
struct Heard(Arc<AtomicUsize>);

impl Waits for Heard {
    fn begin(&self) -> Option<Box<dyn Any>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Some(Box::new(()))
    }
}

/// Has the volume formatted twice, the second time while the first call hangs in this operation, which ends
/// like that; and how often Windows was asked.
fn format_beside(hang: &str, end: Option<Effect>) -> ([Result<Replaced, VolumeError>; 2], usize) {
    let fixture = ServerFixture::mounted_at(&[OUTSIDE]).fixture;
    let heard = Heard::default();
    let serving = Server {
        kept: Some(kept()),
        waits: Arc::new(heard.clone()),
        ..Server::default()
    };
    let mut options = Options::default();
    options.format_guard = FormatGuard::Signatures;
    let node = Node::in_server(fixture.os().clone(), options, serving);
    let faults = fixture.faults();
    let hanging = faults.add(Rule::on(hang, Effect::Hang).times(1));
    if let Some(end) = end {
        faults.add(Rule::on(hang, end).times(1));
    }
    let (volume, soon) = (fixture.volume(), fixture.soon());
    let mut outcomes = Vec::new();
    let trace = fixture.trace(|| {
        let format = || node.operations().volumes().format(volume, soon);
        thread::scope(|scope| {
            let first = scope.spawn(format);
            assert!(faults.wait_until_hanging(1, TIMEOUT));
            let second = scope.spawn(format);
            while heard.0.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            faults.remove(hanging);
            outcomes.extend([first, second].map(|call| call.join().unwrap()));
        });
    });
    let asked = trace.iter().filter(|op| op.operation == FORMAT).count();
    (outcomes.try_into().unwrap(), asked)
}

/// Guards: P71
#[test]
fn a_call_that_waited_for_a_format_ends_as_that_one_and_formats_nothing() {
    let (outcomes, asked) = format_beside(FORMAT, None);
    assert_eq!((outcomes, asked), ([of_ntfs(), Ok(Replaced::Nothing)], 1));
    let broken = Effect::Answer(Outcome::of(codes::FAILED.code));
    let ([first, second], asked) = format_beside(FORMAT, Some(broken));
    assert!(first.is_err(), "{first:?}");
    assert_eq!((first, asked), (second, 1));
}

/// A call that ended before its call to Windows publishes no outcome.
#[test]
fn a_call_that_waited_for_one_that_formatted_nothing_formats() {
    let broken = Effect::fail(Win32::IO_DEVICE);
    let ([first, second], asked) = format_beside("FSCTL_LOCK_VOLUME", Some(broken));
    assert!(first.is_err(), "{first:?}");
    assert_eq!((second, asked), (of_ntfs(), 1));
}

#[test]
fn a_new_partition_that_the_provider_does_not_format_yet_is_formatted_in_a_while() {
    for (seconds, ends_well) in [(8, true), (60, false)] {
        let fixture = NodeFixture::with_data_disk();
        fixture.partition();
        let early = Effect::Unsettled(Duration::from_secs(seconds));
        fixture.fault(Rule::on(FORMAT, early));
        let done = fixture.try_format();
        assert_eq!(done.is_ok(), ends_well, "{done:?}");
        let text = done.err().map(|error| error.to_string());
        assert!(text.is_none_or(|text| text.contains("code=5")));
    }
}
