//! The same driver code on the library in this process and over the pipes to a proxy, each with a
//! simulated node of its own: it does the same and fails alike.

mod codes;
mod features;
mod found;
mod names;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use node::api::{Condition, Error, Feature, NodeApi, disk_size_of, write_refusal_of};
use node::{
    Authentication, Credentials, Criterion, DiskQuery, FoundDisk, FoundVolume, MapOutcome,
    MapRequest, NewSize, Node, Options, Portal, Privacy, RemotePath, ResolvedPath, SerialNumber,
    ServiceName, TargetName,
};
use os::{Deadline, DiskNumber, ServiceState, VolumeId, WinPath};
use os_sim::smb::{self, SmbControl};
use os_sim::{Bus, ClockMode, Content, DiskSpec, HardwareControl, SimNode, demo};
use proxy::flags::Config;
use proxy::serve;
use tempfile::TempDir;
use wincsi_client::{ConditionSource, Endpoint, Group};
use zeroize::Zeroizing;

const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all proxies of a machine have the same pipes, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Where a proxy with `-listen=FOLDER` serves: its pipes on Windows, sockets elsewhere.
fn over_pipes(sockets: PathBuf, conditions: ConditionSource) -> wincsi_client::Node {
    let place = move |group: &Group| Endpoint::local(&sockets, &group.pipe_name());
    let mut options = wincsi_client::Options::default();
    options.conditions = conditions;
    wincsi_client::Node::at(place, options)
}

/// A simulated node and the backend that does the operations on it.
struct ClientFixture {
    node: Arc<dyn NodeApi>,
    /// The folder of the simulated node.
    simulated: PathBuf,
    _server: Option<(serve::RunningServer, MutexGuard<'static, ()>)>,
    folder: TempDir,
}

impl ClientFixture {
    fn in_process() -> Self {
        Self::in_process_after(|_| {})
    }

    fn over_pipes() -> Self {
        Self::over_pipes_after(|_| {}, ConditionSource::Server)
    }

    fn over_pipes_by_texts() -> Self {
        Self::over_pipes_after(|_| {}, ConditionSource::Texts)
    }

    /// Something happened on the node before.
    fn in_process_after(before: fn(&SimNode)) -> Self {
        let folder = TempDir::new().unwrap();
        let simulated = demo::create(folder.path(), ClockMode::Virtual).unwrap();
        before(&simulated);
        Self {
            node: Arc::new(Node::new(simulated.os(), Options::default())),
            simulated: folder.path().to_owned(),
            _server: None,
            folder,
        }
    }

    fn over_pipes_after(before: fn(&SimNode), conditions: ConditionSource) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let (home, sockets) = (folder.path().join("node"), folder.path().join("sockets"));
        before(&demo::create(&home, ClockMode::Virtual).unwrap());
        let server = serve::start(&config(folder.path(), &sockets)).unwrap();
        Self {
            node: Arc::new(over_pipes(sockets, conditions)),
            simulated: home,
            _server: Some((server, turn)),
            folder,
        }
    }

    fn folder_of_sockets(&self) -> PathBuf {
        self.folder.path().join("sockets")
    }

    fn soon(&self) -> Deadline {
        self.node.deadline(TIMEOUT)
    }

    /// Has a call fail so from now on.
    fn break_call(&self, operation: &str, failure: &str) {
        let rule = format!("[[fault]]\noperation = \"{operation}\"\neffect = {{ {failure} }}\n");
        fs::write(self.simulated.join("faults.toml"), rule).unwrap();
    }

    fn found(&self) -> FoundDisk {
        self.node.disks().rescan(self.soon()).unwrap();
        let wanted = query([serial(demo::DISK_SERIAL)]);
        self.node.disks().find(&wanted, self.soon()).unwrap()
    }

    fn disk(&self) -> DiskNumber {
        self.found().number()
    }

    fn found_volume(&self) -> FoundVolume {
        let found = self.found();
        self.node.volumes().find_on(&found, self.soon()).unwrap()
    }

    /// Mounts the volume of the data disk.
    fn mount(&self, folder: &WinPath) {
        let volume = self.found_volume();
        let mounted = self.node.volumes().mount(&volume, folder, self.soon());
        mounted.unwrap();
    }

    /// The volume of another disk than the data disk.
    fn other_volume(&self) -> FoundVolume {
        let (node, soon) = (&*self.node, self.soon());
        let spec = DiskSpec::on(Bus::Sas).lun(9).serial("ANOTHER");
        let hardware = HardwareControl::at(&self.simulated);
        let attached = hardware.attach_disk("another", &spec, &Content::blank(1 << 30));
        attached.unwrap();
        node.disks().rescan(soon).unwrap();
        let wanted = query([serial("ANOTHER")]);
        let disk = node.disks().find(&wanted, soon).unwrap();
        node.disks().bring_online(&disk, soon).unwrap();
        node.disks().partition(&disk, soon).unwrap();
        node.volumes().find_on(&disk, soon).unwrap()
    }

    fn formatted_volume(&self) -> VolumeId {
        let (node, soon) = (&*self.node, self.soon());
        let found = self.found();
        let disk = found.number();
        node.disks().partition(&found, soon).unwrap();
        let found = node.volumes().find_on(&found, soon).unwrap();
        let volume = found.id();
        assert_eq!(
            node.volumes().list_on_disk(disk, None, soon),
            Ok(vec![volume])
        );
        assert_eq!(node.volumes().is_formatted(volume, soon), Ok(false));
        node.volumes().format(&found, soon).unwrap();
        assert_eq!(node.volumes().is_formatted(volume, soon), Ok(true));
        assert_eq!(node.volumes().disk_number(volume, soon), Ok(disk));
        volume
    }

    fn system_volume(&self) -> VolumeId {
        let folder = self.folder("elsewhere");
        self.node.volumes().closest(&folder, self.soon()).unwrap()
    }

    fn folder(&self, below: &str) -> WinPath {
        let path = path(below);
        let made = self.node.filesystem().make_directory(&path, self.soon());
        made.unwrap();
        path
    }
}

fn config(folder: &Path, sockets: &Path) -> Config {
    Config {
        listen: sockets.to_owned(),
        simulate: Some(folder.join("node")),
        ..Config::default()
    }
}

fn path(below: &str) -> WinPath {
    format!(r"C:\var\lib\kubelet\{below}").parse().unwrap()
}

/// Both must succeed: over pipes with the conditions that the server reports, and with those from texts.
fn both(act: impl Fn(&ClientFixture)) {
    act(&ClientFixture::in_process());
    act(&ClientFixture::over_pipes());
    act(&ClientFixture::over_pipes_by_texts());
}

/// The error that both must return.
fn fails<T: std::fmt::Debug>(
    condition: Condition,
    act: impl Fn(&ClientFixture) -> Result<T, Error>,
) {
    both(|fixture| {
        let error = act(fixture).unwrap_err();
        assert_eq!(error.condition(), Some(condition), "{error}");
    });
}

#[test]
fn a_volume_lives_the_same_life() {
    both(|fixture| {
        let (node, soon) = (&*fixture.node, fixture.soon());
        let volume = fixture.formatted_volume();
        let target = fixture.folder(r"plugins\a\globalmount");
        fixture.mount(&target);
        fixture.mount(&target);
        assert_eq!(node.volumes().of_target(&target, soon), Ok(volume));
        let space = node.volumes().stats(volume, soon).unwrap();
        assert!(space.free > 0 && space.free <= space.total, "{space:?}");
        node.volumes().flush(volume, soon).unwrap();
        let found = node.volumes().find_at(&target, soon).unwrap();
        assert_eq!(found, FoundVolume::mounted_at(volume, target.clone()));
        for found in [found, fixture.found_volume()] {
            node.volumes()
                .resize(&found, NewSize::Maximum, soon)
                .unwrap();
        }
        let link = path(r"pods");
        node.filesystem()
            .create_symlink(&target, &link, soon)
            .unwrap();
        assert_eq!(node.filesystem().is_symlink(&link, soon), Ok(true));
        assert_eq!(node.volumes().of_target(&link, soon), Ok(volume));
        node.filesystem().remove_entry(&link, soon).unwrap();
        node.volumes().unmount(volume, &target, soon).unwrap();
        node.filesystem().remove_tree(&target, soon).unwrap();
        assert_eq!(node.filesystem().path_exists(&target, soon), Ok(false));
    });
}

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn query(criteria: impl IntoIterator<Item = Criterion>) -> DiskQuery {
    DiskQuery::all(criteria).unwrap()
}

#[test]
fn a_disk_is_found_sized_and_switched() {
    both(|fixture| {
        let (disks, soon, disk) = (fixture.node.disks(), fixture.soon(), fixture.disk());
        let ids = disks.ids(soon).unwrap();
        assert_eq!(disks.by_page83(&ids[&disk].page83, soon), Ok(disk));
        let location = &disks.locations(soon).unwrap()[&disk];
        assert_eq!(location.lun.as_deref(), Some("1"));
        assert_eq!(disks.size(disk, soon), Ok(2 << 30));
        let found = fixture.found();
        for _ in 0..2 {
            disks.take_offline(&found, soon).unwrap();
            disks.take_offline(&found, soon).unwrap();
            assert_eq!(disks.is_online(disk, soon), Ok(false));
            disks.bring_online(&found, soon).unwrap();
            disks.bring_online(&found, soon).unwrap();
            assert_eq!(disks.is_online(disk, soon), Ok(true));
            disks.partition(&found, soon).unwrap();
        }
    });
}

/// Queries of a driver that name no disk by its number.
#[test]
fn a_disk_that_was_found_tells_what_its_number_does() {
    both(|fixture| {
        let (node, soon, found) = (&*fixture.node, fixture.soon(), fixture.found());
        assert_eq!(found.is_online(node, soon), Ok(true));
        assert_eq!(found.volumes(node, soon), Ok(Vec::new()));
        let other = fixture.other_volume();
        node.disks().partition(&found, soon).unwrap();
        let own = node.volumes().find_on(&found, soon).unwrap();
        assert_eq!(found.volumes(node, soon), Ok(vec![own.id()]));
        assert_eq!(found.holds(own.id(), node, soon), Ok(true));
        assert_eq!(found.holds(other.id(), node, soon), Ok(false));
        assert_eq!(disk_size_of(own.id(), node, soon), Ok(2 << 30));
        if node.supports(Feature::ReadOnlyDisks) {
            assert_eq!(write_refusal_of(own.id(), node, soon), Ok(None));
        }
        node.disks().take_offline(&found, soon).unwrap();
        assert_eq!(found.is_online(node, soon), Ok(false));
    });
}

fn map(fixture: &ClientFixture, password: &str, link: &WinPath) -> Result<(), Error> {
    mapped(fixture, password, link).map(drop)
}

fn mapped(fixture: &ClientFixture, password: &str, link: &WinPath) -> Result<MapOutcome, Error> {
    let remote = RemotePath::parse(demo::SHARE).unwrap();
    let password = Zeroizing::new(password.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let link = ResolvedPath::from(link);
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&link);
    fixture.node.smb().map(&mapping, fixture.soon())
}

#[test]
fn a_share_is_mapped_linked_and_unmapped() {
    both(|fixture| {
        let (link, remote) = (path("share"), RemotePath::parse(demo::SHARE).unwrap());
        map(fixture, demo::SMB_PASSWORD, &link).unwrap();
        let seen = fixture.node.filesystem().is_symlink(&link, fixture.soon());
        assert_eq!(seen, Ok(true));
        fixture.node.smb().unmap(&remote, fixture.soon()).unwrap();
        let again = fixture
            .node
            .smb()
            .unmap(&remote, fixture.soon())
            .unwrap_err();
        assert_eq!(again.condition(), Some(Condition::NotMapped), "{again}");
    });
}

#[test]
fn a_mapping_that_has_lost_its_server_fails_alike() {
    fails(Condition::ServerAway, |fixture| {
        map(fixture, demo::SMB_PASSWORD, &path("share")).unwrap();
        let servers = SmbControl::at(&fixture.simulated);
        let down = servers.set_condition(demo::SMB_SERVER, smb::ServerHealth::Down);
        down.unwrap();
        map(fixture, demo::SMB_PASSWORD, &path("share"))
    });
}

/// csi-proxy demands encryption of the mappings that it makes.
#[test]
fn a_mapping_that_is_not_encrypted_is_refused_in_process_alone() {
    let ask = |fixture: &ClientFixture| map(fixture, demo::SMB_PASSWORD, &path("share"));
    let refused = ask(&ClientFixture::in_process_after(map_plainly)).unwrap_err();
    assert_eq!(
        refused.condition(),
        Some(Condition::OtherOptions),
        "{refused}"
    );
    let over_pipes = ClientFixture::over_pipes_after(map_plainly, ConditionSource::Server);
    ask(&over_pipes).unwrap();
}

/// Somebody else maps the share, without encryption.
fn map_plainly(sim: &SimNode) {
    let mut options = Options::default();
    options.privacy = Privacy::Unasked;
    let node = Node::new(sim.os(), options);
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let remote = RemotePath::parse(demo::SHARE).unwrap();
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    node.operations()
        .smb()
        .map(&mapping, Deadline::NEVER)
        .unwrap();
}

#[test]
fn a_wrong_password_and_a_taken_name_fail_alike() {
    fails(Condition::LogonFailure, |fixture| {
        map(fixture, "wrong", &path("share"))
    });
    fails(Condition::AlreadyExists, |fixture| {
        let taken = fixture.folder("share");
        map(fixture, demo::SMB_PASSWORD, &taken)
    });
}

#[test]
fn what_is_not_there_fails_alike() {
    let nobody: VolumeId = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\"
        .parse()
        .unwrap();
    let missing = path("missing");
    fails(Condition::NotFound, |fixture| {
        fixture.node.disks().size(DiskNumber(99), fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture.node.disks().by_page83("naa.0", fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture.node.volumes().stats(nobody, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture.node.volumes().of_target(&missing, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture
            .node
            .filesystem()
            .is_symlink(&missing, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture
            .node
            .filesystem()
            .remove_entry(&missing, fixture.soon())
    });
}

#[test]
fn targets_without_a_volume_fail_alike() {
    fails(Condition::NotAMountedFolder, |fixture| {
        let plain = fixture.folder("plain");
        fixture.node.volumes().of_target(&plain, fixture.soon())
    });
    fails(Condition::DanglingLink, |fixture| {
        let (gone, link) = (fixture.folder("gone"), path("link"));
        let (files, soon) = (fixture.node.filesystem(), fixture.soon());
        files.create_symlink(&gone, &link, soon).unwrap();
        files.remove_entry(&gone, soon).unwrap();
        fixture.node.volumes().of_target(&link, soon)
    });
    fails(Condition::NotAMountedFolder, |fixture| {
        let (volume, plain) = (fixture.formatted_volume(), fixture.folder("plain"));
        fixture
            .node
            .volumes()
            .unmount(volume, &plain, fixture.soon())
    });
    fails(Condition::NotAMountedFolder, |fixture| {
        let (volume, target) = (fixture.formatted_volume(), fixture.folder("target"));
        fixture.mount(&target);
        let (node, link) = (&*fixture.node, path("link"));
        let linked = node
            .filesystem()
            .create_symlink(&target, &link, fixture.soon());
        linked.unwrap();
        node.volumes().unmount(volume, &link, fixture.soon())
    });
    fails(Condition::TargetInUse, |fixture| {
        fixture.formatted_volume();
        let folder = fixture.folder("folder");
        fixture.mount(&folder);
        let other = fixture.other_volume();
        fixture
            .node
            .volumes()
            .mount(&other, &folder, fixture.soon())
    });
    fails(Condition::NotEmpty, |fixture| {
        fixture.folder(r"full\of");
        fixture
            .node
            .filesystem()
            .remove_entry(&path("full"), fixture.soon())
    });
}

#[test]
fn the_computer_says_who_it_is_and_what_runs() {
    both(|fixture| {
        let (system, soon) = (fixture.node.system(), fixture.soon());
        assert_ne!(system.serial_number(soon), Ok(String::new()));
        let initiator = ServiceName::parse("MSiSCSI").unwrap();
        system.start_service(&initiator, soon).unwrap();
        let service = system.service(&initiator, soon).unwrap();
        assert_eq!(service.state, ServiceState::Running);
        assert_eq!(fixture.node.iscsi().portals(soon), Ok(Vec::new()));
    });
}

#[test]
fn services_portals_and_targets_that_are_unknown_fail_alike() {
    let nothing = ServiceName::parse("nothing").unwrap();
    let portal = Portal::parse("10.0.0.1", 0).unwrap();
    let target = TargetName::parse("iqn.2026-01.com.example:data").unwrap();
    fails(Condition::NotFound, |fixture| {
        fixture.node.system().service(&nothing, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        fixture
            .node
            .system()
            .start_service(&nothing, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        start_initiator(fixture);
        fixture.node.iscsi().discover(&portal, fixture.soon())
    });
    fails(Condition::NotFound, |fixture| {
        start_initiator(fixture);
        let none = Authentication::None;
        fixture
            .node
            .iscsi()
            .connect(&portal, &target, &none, fixture.soon())
    });
}

/// A node that is connected to a target with one disk, and how that is named.
fn connect(fixture: &ClientFixture) -> Criterion {
    let portal = Portal::parse(demo::ISCSI_ADDRESS, 0).unwrap();
    let target = TargetName::parse(demo::ISCSI_TARGET).unwrap();
    start_initiator(fixture);
    let (iscsi, soon) = (fixture.node.iscsi(), fixture.soon());
    let none = Authentication::None;
    iscsi.add_portal(&portal, &none, soon).unwrap();
    iscsi.connect(&portal, &target, &none, soon).unwrap();
    fixture.node.disks().rescan(soon).unwrap();
    Criterion::IscsiTarget { portal, target }
}

#[test]
fn the_disk_of_a_target_is_found_by_it_and_partitioned() {
    both(|fixture| {
        let (behind, disks, soon) = (connect(fixture), fixture.node.disks(), fixture.soon());
        let found = disks
            .find(&query([behind, Criterion::Lun(0)]), soon)
            .unwrap();
        assert_eq!(disks.size(found.number(), soon), Ok(1 << 30));
        disks.bring_online(&found, soon).unwrap();
        disks.partition(&found, soon).unwrap();
        fixture.node.volumes().find_on(&found, soon).unwrap();
    });
}

fn start_initiator(fixture: &ClientFixture) {
    let initiator = ServiceName::parse("MSiSCSI").unwrap();
    let started = fixture
        .node
        .system()
        .start_service(&initiator, fixture.soon());
    started.unwrap();
}

#[test]
fn what_must_not_be_written_fails_alike() {
    fails(Condition::Guarded, |fixture| {
        let (disks, soon) = (fixture.node.disks(), fixture.soon());
        let names = disks.ids(soon).unwrap().remove(&DiskNumber(0)).unwrap();
        let system = disks.find(&query([serial(&names.serial)]), soon)?;
        disks.take_offline(&system, soon)
    });
    fails(Condition::NotBlank, |fixture| {
        fixture.formatted_volume();
        fixture
            .node
            .volumes()
            .format(&fixture.found_volume(), fixture.soon())
    });
    fails(Condition::NoRoom, |fixture| {
        let volume = fixture.formatted_volume();
        let size = NewSize::from_request(volume, 1 << 50).unwrap();
        let volume = fixture.found_volume();
        fixture.node.volumes().resize(&volume, size, fixture.soon())
    });
}

/// A server's own guard lets bytes pass that no known format explains.
#[test]
fn what_nothing_explains_is_not_overwritten_over_the_pipes_either() {
    fails(Condition::NotBlank, |fixture| {
        let hardware = HardwareControl::at(&fixture.simulated);
        let unknown = hardware.write_disk(demo::DISK, 2 << 20, b"what is this");
        unknown.unwrap();
        fixture
            .node
            .disks()
            .partition(&fixture.found(), fixture.soon())
    });
}

#[test]
fn only_the_proxy_keeps_clients_in_the_kubelets_folder() {
    let fixture = ClientFixture::over_pipes();
    let outside = r"C:\Windows\System32".parse().unwrap();
    let error = fixture
        .node
        .filesystem()
        .remove_tree(&outside, fixture.soon());
    let error = error.unwrap_err();
    assert_eq!(error.condition(), Some(Condition::PathRefused), "{error}");
}
