//! More of kubelet's calls than the page has: after deaths, around leftovers, and while a disk is away.

use tempfile::TempDir;
use wincsi::filesystem::{LinkForm, Look};

use super::*;

const NEXT: &str = "60022480ffeeddccbbaa998877665544";

struct DriverFixture {
    node: Arc<dyn NodeApi>,
    sim: SimNode,
    home: TempDir,
}

impl DriverFixture {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let sim = new_node(home.path()).unwrap();
        let server = ServerSpec::sharing("share", r"DOMAIN\pods", "correct horse");
        let servers = SmbControl::at(home.path());
        servers.add_server("files", &server).unwrap();
        let node = operations(&sim);
        Self { node, sim, home }
    }

    /// The driver, started again on its node after its death.
    fn restarted(self) -> Self {
        let Self { node, sim, home } = self;
        drop((node, sim));
        let sim = SimNode::open(home.path(), ClockMode::Virtual).unwrap();
        let node = operations(&sim);
        Self { node, sim, home }
    }

    fn stage_disk(&self) -> wincsi::Result<()> {
        stage(&*self.node, &disk(DISK).unwrap(), &staging())
    }

    fn unstage_disk(&self) -> wincsi::Result<()> {
        unstage(&*self.node, &disk(DISK).unwrap(), &staging())
    }

    fn stage_share(&self, volume: &str) -> wincsi::Result<()> {
        let password = Zeroizing::new("correct horse".to_owned());
        let user = Credentials::new(r"DOMAIN\pods", password).unwrap();
        stage_share(&*self.node, &remote(), &user, &share_of(volume))
    }

    fn unstage_share(&self, volume: &str) -> wincsi::Result<()> {
        unstage_share(&*self.node, &remote(), &share_of(volume))
    }

    fn publish(&self) -> wincsi::Result<()> {
        publish(&*self.node, &staging(), &target())
    }

    fn is_mapped(&self) -> bool {
        let mapped = self.node.smb().mappings(soon(&*self.node)).unwrap();
        !mapped.is_empty()
    }

    fn exists(&self, path: &WinPath) -> bool {
        let files = self.node.filesystem();
        files.path_exists(path, soon(&*self.node)).unwrap()
    }

    fn make_folder(&self, path: &WinPath) {
        let files = self.node.filesystem();
        files.make_directory(path, soon(&*self.node)).unwrap();
    }

    fn pull_out(&self) {
        self.sim.hardware().detach_disk("data").unwrap();
    }

    fn attach_next(&self) {
        let spec = DiskSpec::on(Bus::Sas)
            .lun(1)
            .identified(IdentifierKind::Naa, NEXT);
        let blank = Content::blank(GIB);
        let hardware = self.sim.hardware();
        hardware.attach_disk("next", &spec, &blank).unwrap();
    }
}

fn path(below: &str) -> WinPath {
    format!(r"C:\var\lib\kubelet\{below}").parse().unwrap()
}

fn staging() -> WinPath {
    STAGING.parse().unwrap()
}

/// Where kubelet has the share of a volume staged.
fn share_of(volume: &str) -> WinPath {
    path(&format!(r"plugins\{volume}\globalmount"))
}

fn target() -> WinPath {
    path(r"pods\1\volume")
}

fn remote() -> RemotePath {
    RemotePath::parse(r"\\files\share").unwrap()
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
    fixture.make_folder(&share_of("a"));
    fixture.make_folder(&target());
    fixture.stage_share("a").unwrap();
    fixture.stage_disk().unwrap();
    fixture.publish().unwrap();
    unpublish(&*fixture.node, &target()).unwrap();

    fixture.make_folder(&path(r"pods\1\volume\left-over"));
    let refused = fixture.publish().unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::NotEmpty), "{refused}");
}

/// The controller attaches it while the call waits, after the node has looked for it once.
#[test]
fn a_disk_that_arrives_late_is_waited_for() {
    let fixture = DriverFixture::new();
    let second = Rule::on("MSFT_StorageSetting.UpdateHostStorageCache", Effect::Hang).from_nth(2);
    let second = fixture.sim.faults().add(second);
    let next = disk(NEXT).unwrap();
    thread::scope(|scope| {
        let staged = scope.spawn(|| stage(&*fixture.node, &next, &staging()));
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
    fixture.pull_out();
    fixture.publish().unwrap();
    let files = fixture.node.filesystem();
    match files.look(&target(), soon(&*fixture.node)).unwrap() {
        Look::Link(link) => assert_eq!(link.form, LinkForm::Directory),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_that_was_pulled_out_is_unstaged() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    fixture.pull_out();
    fixture.unstage_disk().unwrap();
    assert!(!fixture.exists(&staging()));
}

/// As after a node was drained by force: the next volume is staged at the same path.
#[test]
fn a_mounted_folder_of_a_disk_that_was_pulled_out_does_not_keep_the_next_from_being_staged() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    fixture.pull_out();
    fixture.attach_next();
    let next = disk(NEXT).unwrap();
    stage(&*fixture.node, &next, &staging()).unwrap();
    unstage(&*fixture.node, &next, &staging()).unwrap();
    assert!(!fixture.exists(&staging()));
}

#[test]
fn a_volume_that_is_in_use_keeps_its_disk_until_the_next_call() {
    let fixture = DriverFixture::new();
    fixture.stage_disk().unwrap();
    let volumes = fixture.node.volumes();
    let volume = volumes.of_target(&staging(), soon(&*fixture.node)).unwrap();
    let held = fixture.sim.hold(volume);
    let refused = fixture.unstage_disk().unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::InUse), "{refused}");
    drop(held);
    fixture.unstage_disk().unwrap();
}
