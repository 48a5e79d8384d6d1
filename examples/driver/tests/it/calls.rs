//! The driver's calls, as kubelet makes them: repeated, after deaths, and around its leftovers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use example_driver::Driver;
use tempfile::TempDir;
use wincsi::disks::{Criterion, DiskQuery, Page83};
use wincsi::filesystem::{LinkForm, Look};
use wincsi::sim::{
    Bus, ClockMode, Content, DiskSpec, Effect, IdentifierKind, Kill, Rule, SimNode, demo,
};
use wincsi::smb::{Credentials, RemotePath};
use wincsi::{Condition, Deadline, Node, NodeApi, Options, Win32, WinPath, Zeroizing};

const NEXT: &str = "60022480aabbccddeeff001122334455";

struct DriverFixture {
    node: Arc<dyn NodeApi>,
    driver: Driver,
    sim: SimNode,
    home: TempDir,
}

impl DriverFixture {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let sim = demo::create(home.path(), ClockMode::Virtual).unwrap();
        Self::of(sim, home)
    }

    fn of(sim: SimNode, home: TempDir) -> Self {
        let node: Arc<dyn NodeApi> = Arc::new(Node::new(sim.os(), Options::default()));
        let driver = Driver::new(Arc::clone(&node), path(r"plugins\driver\shares"));
        Self {
            node,
            driver,
            sim,
            home,
        }
    }

    /// The driver, started again on its node after its death.
    fn restarted(self) -> Self {
        let Self {
            node,
            driver,
            sim,
            home,
        } = self;
        drop((node, driver, sim));
        let sim = SimNode::open(home.path(), ClockMode::Virtual).unwrap();
        Self::of(sim, home)
    }

    fn stage_disk(&self) -> wincsi::Result<()> {
        self.driver.stage_disk(&wanted(), &staging())
    }

    fn unstage_disk(&self) -> wincsi::Result<()> {
        self.driver.unstage_disk(&wanted(), &staging())
    }

    fn stage_share(&self, volume: &str) -> wincsi::Result<()> {
        let at = share_of(volume);
        self.driver.stage_share(&remote(), &user(), &at)
    }

    fn unstage_share(&self, volume: &str) -> wincsi::Result<()> {
        let at = share_of(volume);
        self.driver.unstage_share(&remote(), &at)
    }

    fn is_mapped(&self) -> bool {
        let mapped = self.node.smb().mappings(self.soon()).unwrap();
        mapped.iter().any(|share| share.remote == demo::SHARE)
    }

    fn exists(&self, path: &WinPath) -> bool {
        let files = self.node.filesystem();
        files.path_exists(path, self.soon()).unwrap()
    }

    fn make_folder(&self, path: &WinPath) {
        let files = self.node.filesystem();
        files.make_directory(path, self.soon()).unwrap();
    }

    fn attach_next(&self) {
        let spec = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, NEXT);
        let blank = Content::blank(1 << 30);
        let hardware = self.sim.hardware();
        hardware.attach_disk("next", &spec, &blank).unwrap();
    }

    fn soon(&self) -> Deadline {
        self.node.deadline(Duration::from_secs(60))
    }
}

/// Another disk than the node has at first.
fn next() -> DiskQuery {
    let identifier = Page83::parse(NEXT).unwrap();
    DiskQuery::all([Criterion::Page83(identifier)]).unwrap()
}

fn wanted() -> DiskQuery {
    let identifier = Page83::parse(demo::DISK_PAGE83).unwrap();
    DiskQuery::all([Criterion::Page83(identifier), Criterion::Lun(1)]).unwrap()
}

fn path(below: &str) -> WinPath {
    format!(r"C:\var\lib\kubelet\{below}").parse().unwrap()
}

fn staging() -> WinPath {
    path(r"plugins\a\globalmount")
}

/// Where kubelet has the share of a volume staged.
fn share_of(volume: &str) -> WinPath {
    path(&format!(r"plugins\{volume}\globalmount"))
}

fn target() -> WinPath {
    path(r"pods\1\volume")
}

fn remote() -> RemotePath {
    RemotePath::parse(demo::SHARE).unwrap()
}

fn user() -> Credentials {
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    Credentials::new(demo::SMB_USER, password).unwrap()
}

#[test]
fn each_call_may_be_repeated() {
    let fixture = DriverFixture::new();
    let twice = |call: &dyn Fn() -> wincsi::Result<()>| {
        call().unwrap();
        call().unwrap();
    };
    twice(&|| fixture.stage_disk());
    twice(&|| fixture.driver.publish(&staging(), &target()));
    twice(&|| fixture.driver.unpublish(&target()));
    twice(&|| fixture.unstage_disk());
    twice(&|| fixture.stage_share("a"));
    twice(&|| fixture.driver.publish(&staging(), &target()));
    twice(&|| fixture.driver.unpublish(&target()));
    twice(&|| fixture.unstage_share("a"));
    assert!(!fixture.exists(&staging()) && !fixture.exists(&target()));
}

#[test]
fn a_driver_that_died_in_the_middle_goes_on_after_its_restart() {
    for operation in [
        "MSFT_Disk.CreatePartition",
        "MSFT_Volume.Format",
        "SetVolumeMountPointW",
    ] {
        let fixture = DriverFixture::new();
        let death = Rule::on(operation, Effect::Kill(Kill::After));
        fixture.sim.faults().add(death);
        assert!(fixture.stage_disk().is_err(), "{operation}");
        assert!(fixture.sim.is_killed(), "{operation}");
        let fixture = fixture.restarted();
        fixture.stage_disk().unwrap();
        fixture.unstage_disk().unwrap();
    }
}

#[test]
fn a_share_is_unmapped_with_its_last_volume_also_by_a_driver_that_was_restarted() {
    let fixture = DriverFixture::new();
    fixture.stage_share("a").unwrap();
    fixture.stage_share("b").unwrap();
    let fixture = fixture.restarted();
    fixture.unstage_share("a").unwrap();
    fixture.unstage_share("a").unwrap();
    assert!(fixture.is_mapped() && fixture.exists(&share_of("b")));
    fixture.unstage_share("b").unwrap();
    assert!(!fixture.is_mapped());
}

/// Kubelet unstages again without a confirmation.
#[test]
fn a_driver_that_died_before_it_unmapped_a_share_does_so_when_it_is_asked_again() {
    let fixture = DriverFixture::new();
    fixture.stage_share("a").unwrap();
    let death = Rule::on("MSFT_SmbGlobalMapping.Remove", Effect::Kill(Kill::Before));
    fixture.sim.faults().add(death);
    assert!(fixture.unstage_share("a").is_err());
    let fixture = fixture.restarted();
    assert!(fixture.is_mapped());
    fixture.unstage_share("a").unwrap();
    assert!(!fixture.is_mapped());
}

#[test]
fn an_empty_folder_that_kubelet_made_gives_way_and_one_with_files_does_not() {
    let fixture = DriverFixture::new();
    fixture.make_folder(&staging());
    fixture.make_folder(&target());
    fixture.stage_share("a").unwrap();
    fixture.driver.publish(&staging(), &target()).unwrap();
    fixture.driver.unpublish(&target()).unwrap();

    fixture.make_folder(&path(r"pods\1\volume\left-over"));
    let refused = fixture.driver.publish(&staging(), &target()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::NotEmpty), "{refused}");
}

/// The controller attaches it while the call waits, after the node has looked for it once.
#[test]
fn a_disk_that_arrives_late_is_waited_for() {
    let fixture = DriverFixture::new();
    let second = Rule::on("MSFT_StorageSetting.UpdateHostStorageCache", Effect::Hang).from_nth(2);
    let second = fixture.sim.faults().add(second);
    thread::scope(|scope| {
        let staged = scope.spawn(|| fixture.driver.stage_disk(&next(), &staging()));
        let faults = fixture.sim.faults();
        assert!(faults.wait_until_hanging(1, Duration::from_secs(60)));
        fixture.attach_next();
        faults.remove(second);
        staged.join().unwrap().unwrap();
    });
}

/// Windows opens no directory through a file link.
#[test]
fn a_pod_gets_a_directory_link_also_while_the_disk_is_away() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    fixture.sim.hardware().detach_disk("data").unwrap();
    fixture.driver.publish(&staging(), &target()).unwrap();
    let files = fixture.node.filesystem();
    match files.look(&target(), fixture.soon()).unwrap() {
        Look::Link(link) => assert_eq!(link.form, LinkForm::Directory),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_that_was_pulled_out_is_unstaged() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    fixture.sim.hardware().detach_disk("data").unwrap();
    fixture.unstage_disk().unwrap();
    assert!(!fixture.exists(&staging()));
}

/// As after a node was drained by force: the next volume is staged at the same path.
#[test]
fn a_mounted_folder_of_a_disk_that_was_pulled_out_does_not_keep_the_next_from_being_staged() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    fixture.sim.hardware().detach_disk("data").unwrap();
    fixture.attach_next();
    let next = next();
    fixture.driver.stage_disk(&next, &staging()).unwrap();
    fixture.driver.unstage_disk(&next, &staging()).unwrap();
    assert!(!fixture.exists(&staging()));
}

#[test]
fn a_volume_that_is_in_use_keeps_its_disk_until_the_next_call() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    let node = &fixture.node;
    let soon = node.deadline(Duration::from_secs(60));
    let volume = node.volumes().of_target(&staging(), soon).unwrap();
    let held = fixture.sim.hold(volume);
    let refused = fixture.unstage_disk().unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::InUse), "{refused}");
    drop(held);
    fixture.unstage_disk().unwrap();
}

#[test]
fn a_failure_names_what_was_attempted_on_what() {
    let fixture = DriverFixture::new();
    let broken = Rule::on("MSFT_Volume.Format", Effect::fail(Win32::IO_DEVICE)).times(1);
    fixture.sim.faults().add(broken);
    let error = fixture.stage_disk().unwrap_err();
    assert_eq!(error.operation, "format volume");
    assert_eq!(error.condition(), Some(Condition::DeviceFailed), "{error}");
    fixture.stage_disk().unwrap();
}
