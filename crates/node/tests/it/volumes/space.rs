//! Size and free space by path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use os::{Deadline, Space, Win32};
use os_sim::smb::ServerHealth;
use os_sim::{Effect, Rule};
use wincsi_node::{Credentials, FilesystemError, MapRequest, RemotePath};
use zeroize::Zeroizing;

use crate::support::{NodeFixture, PASSWORD, SHARE, USER, path};

const LINK: &str = r"C:\var\link";

fn space(fixture: &NodeFixture, at: &str) -> Result<Space, FilesystemError> {
    fixture.filesystem().space(&path(at), fixture.soon())
}

fn mapped() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    let remote = RemotePath::parse(SHARE).unwrap();
    let credentials = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    fixture.smb().map(&mapping, fixture.soon()).unwrap();
    fixture
}

fn code(error: &FilesystemError) -> Option<Win32> {
    match error {
        FilesystemError::Inspect { source, .. } => source.win32(),
        _ => None,
    }
}

#[test]
fn a_pods_path_has_the_space_of_the_volume_that_it_leads_to() {
    let fixture = NodeFixture::with_mounted_volume();
    let filesystem = fixture.filesystem();
    let (staging, link) = (fixture.staging(), path(LINK));
    filesystem
        .link_directory(&staging, &link, fixture.soon())
        .unwrap();
    let of_volume = fixture.stats().unwrap();
    let below = format!(r"{LINK}\below");
    fixture.directory(&below);
    for at in [
        &staging.to_string(),
        LINK,
        &below,
        &fixture.volume().to_string(),
    ] {
        assert_eq!(space(&fixture, at), Ok(of_volume), "{at}");
    }
    assert_ne!(space(&fixture, r"C:\var").unwrap().total, of_volume.total);
}

#[test]
fn a_share_says_what_its_user_may_still_fill() {
    let fixture = mapped();
    let filesystem = fixture.filesystem();
    let (share, link) = (path(SHARE), path(LINK));
    filesystem
        .link_directory(&share, &link, fixture.soon())
        .unwrap();
    let all = space(&fixture, SHARE).unwrap();
    assert_eq!(
        (all.total, all.free, all.available),
        (1 << 40, 1 << 40, 1 << 40)
    );
    fixture.write(&format!(r"{LINK}\file"), "4 KiB at most");
    let limit = |server: &mut os_sim::smb::ServerSpec| server.share[0].quota = Some(1 << 30);
    fixture.servers().change_server("files", limit).unwrap();
    let limited = Space {
        total: 1 << 30,
        free: (1 << 40) - 4096,
        available: (1 << 30) - 4096,
    };
    assert_eq!(space(&fixture, LINK), Ok(limited));
    assert_eq!(space(&fixture, SHARE), Ok(limited));
}

#[test]
fn what_has_no_space_says_why() {
    let fixture = mapped();
    fixture.write(r"C:\var\file", "");
    assert!(space(&fixture, r"C:\var\file").is_err());
    let missing = space(&fixture, r"C:\var\missing").unwrap_err();
    assert_eq!(code(&missing), Some(Win32::PATH_NOT_FOUND));
    let down = |server: &mut os_sim::smb::ServerSpec| server.condition = ServerHealth::Down;
    fixture.servers().change_server("files", down).unwrap();
    let away = space(&fixture, SHARE).unwrap_err();
    assert_eq!(code(&away), Some(Win32::BAD_NETPATH));
}

/// Each pod on a share whose server hangs would cost a thread at each round of kubelet's.
#[test]
fn a_share_that_hangs_takes_few_threads_and_no_other_path() {
    let fixture = mapped();
    let hang = Rule::on("GetDiskFreeSpaceExW", Effect::Hang).object("*files*");
    let hang = fixture.fault(hang);
    let (answer, answers) = mpsc::channel();
    let ask = || {
        let (node, answer) = (fixture.node.clone(), answer.clone());
        thread::spawn(move || {
            let filesystem = node.operations().filesystem();
            answer.send(filesystem.space(&path(SHARE), Deadline::NEVER))
        });
    };
    (0..8).for_each(|_| ask());
    let patience = Duration::from_secs(60);
    fixture.wait_for_hang(8);
    fixture.let_pass(Duration::from_secs(2 * 60));
    ask();
    let refused = answers.recv_timeout(patience).unwrap();
    let Err(FilesystemError::Inspect { source, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(source.cause, os::Cause::NotAnswering);
    assert!(space(&fixture, r"C:\var").is_ok());
    fixture.faults().remove(hang);
    for _ in 0..8 {
        assert!(answers.recv_timeout(patience).unwrap().is_ok());
    }
}
