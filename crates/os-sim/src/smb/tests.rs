use std::fs;
use std::time::Duration;

use os::schema::Build;
use os::schema::smb_global_mapping::{
    CLASS, CREATE, LOCAL_PATH, REMOTE_PATH, REMOVE, STATUS, create, remove, status,
};
use os::{
    Arguments, Cause, Deadline, Hresult, Instance, ObjectPath, Os, Query, Target, Value, Win32,
};
use tempfile::TempDir;

use super::refusal::{ALREADY_ASSIGNED, BAD_DEVICE, NO_ANSWER, NO_SUCH_HOST, NOBODY_LISTENS};
use super::{FolderMappings, SavedMappings, ServerHealth, ServerSpec, SmbControl, User};
use crate::files::FileTree;
use crate::{ClockMode, Effect, NodeSpec, Rule, Secret, SimNode};

const SHARE: &str = r"\\files\data";
const ALICE: &str = r"FILES\\alice:secret";
const BOB: &str = r"FILES\\bob:secret";

/// A node, and beside it a server `files` (also 10.0.0.5) with a share `data` and the users alice and
/// bob.
struct SmbFixture {
    folder: TempDir,
    node: SimNode,
    servers: SmbControl,
}

impl SmbFixture {
    fn new() -> Self {
        Self::of(&NodeSpec::default())
    }

    fn of(spec: &NodeSpec) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = SimNode::create(folder.path(), spec, ClockMode::Virtual).unwrap();
        let servers = SmbControl::at(folder.path());
        let mut server = ServerSpec::sharing("data", r"FILES\alice", "secret");
        server.user.push(User {
            name: r"FILES\bob".to_owned(),
            password: Secret::from("secret"),
        });
        let server = server.also_named("10.0.0.5");
        servers.add_server("files", &server).unwrap();
        Self {
            folder,
            node,
            servers,
        }
    }

    fn os(&self) -> Os {
        self.node.os()
    }

    /// The same node, in another process.
    fn reopened(self) -> Self {
        self.node.kill();
        drop(self.node);
        let node = SimNode::open(self.folder.path(), ClockMode::Virtual).unwrap();
        Self { node, ..self }
    }

    fn create(&self, arguments: Arguments) -> Result<(), Cause> {
        let target = Target::Class(CLASS.name);
        let created = self
            .os()
            .smb
            .invoke(target, CREATE.name, &arguments, Deadline::NEVER);
        let outcome = created.map_err(|error| error.cause)?;
        assert_eq!(outcome.code, 0);
        let Some(Value::Object(mapping)) = outcome.out.get(create::CREATED_MAPPING.name) else {
            panic!("no mapping came out");
        };
        assert_eq!(mapping.class, CLASS.name);
        Ok(())
    }

    fn map(&self, remote: &str, credential: &str) -> Result<(), Cause> {
        self.create(mapping(remote, credential))
    }

    fn mappings(&self) -> Vec<Instance> {
        let select = [REMOTE_PATH.name, LOCAL_PATH.name, STATUS.name];
        let query = Query::all(CLASS.name, &select);
        self.os().smb.query(&query, Deadline::NEVER).unwrap()
    }

    fn status(&self) -> u32 {
        let mappings = self.mappings();
        assert_eq!(mappings.len(), 1);
        mappings[0].u32(STATUS.name).unwrap()
    }

    fn remove(&self, mapping: &ObjectPath) -> Result<(), Cause> {
        let force = Arguments::none().with(remove::FORCE.name, Value::Bool(true));
        let target = Target::Instance(mapping);
        let removed = self
            .os()
            .smb
            .invoke(target, REMOVE.name, &force, Deadline::NEVER);
        removed.map(drop).map_err(|error| error.cause)
    }

    fn look(&self, path: &str) -> Result<(), Cause> {
        let path = path.parse().unwrap();
        let found = self.os().files.entry(&path);
        found.map(drop).map_err(|error| error.cause)
    }
}

fn mapping(remote: &str, credential: &str) -> Arguments {
    Arguments::none()
        .with(create::REMOTE_PATH.name, Value::text(remote))
        .with(create::CREDENTIAL.name, Value::text(credential))
}

fn failing<T>(code: Win32) -> Result<T, Cause> {
    Err(Cause::Win32(code))
}

#[test]
fn a_mapping_is_listed_found_by_its_path_and_removed() {
    let fixture = SmbFixture::new();
    assert_eq!(fixture.map(SHARE, ALICE), Ok(()));
    let query = Query::all(CLASS.name, &[REMOTE_PATH.name, STATUS.name])
        .with(REMOTE_PATH.name, Value::text(r"\\FILES\Data"));
    let found = fixture.os().smb.query(&query, Deadline::NEVER).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text(REMOTE_PATH.name), Ok(SHARE));
    assert_eq!(found[0].u32(STATUS.name), Ok(status::OK.value));
    assert_eq!(fixture.remove(&found[0].path), Ok(()));
    assert!(fixture.mappings().is_empty());
    assert_eq!(
        fixture.remove(&found[0].path),
        failing(Win32::NOT_CONNECTED)
    );
}

#[test]
fn a_share_is_reached_through_its_mapping_alone() {
    let fixture = SmbFixture::new();
    assert_eq!(fixture.look(SHARE), failing(Win32::LOGON_FAILURE));
    fixture.map(SHARE, ALICE).unwrap();
    assert_eq!(fixture.look(SHARE), Ok(()));
    assert_eq!(fixture.look(r"\\FILES\DATA"), Ok(()));
    assert_eq!(
        fixture.look(r"\\10.0.0.5\data"),
        failing(Win32::LOGON_FAILURE)
    );
    assert_eq!(
        fixture.look(r"\\files\other"),
        failing(Win32::LOGON_FAILURE)
    );
    assert_eq!(
        fixture.look(r"\\elsewhere\data"),
        failing(Win32::BAD_NETPATH)
    );
    let directory = r"\\files\data\sub".parse().unwrap();
    fixture.os().files.create_directory(&directory).unwrap();
    assert!(
        fixture
            .servers
            .share_folder("files", "data")
            .join("sub")
            .is_dir()
    );
}

#[test]
fn what_cannot_be_mapped_fails_with_the_code_of_windows() {
    let fixture = SmbFixture::new();
    for (remote, credential, code) in [
        (r"\\elsewhere\data", ALICE, Win32::BAD_NETPATH),
        (r"\\files\nothing", ALICE, Win32::BAD_NET_NAME),
        (SHARE, r"FILES\\alice:wrong", Win32::LOGON_FAILURE),
        (SHARE, r"FILES\\nobody:secret", Win32::LOGON_FAILURE),
        (SHARE, "alice:secret", Win32::NO_SUCH_LOGON_SESSION),
        (SHARE, "alice", Win32::INVALID_PARAMETER),
        (r"\\files\data\", ALICE, Win32::INVALID_PARAMETER),
        (r"\\files", ALICE, Win32::INVALID_PARAMETER),
    ] {
        assert_eq!(
            fixture.map(remote, credential),
            failing(code),
            "{remote} {credential}"
        );
    }
    assert!(fixture.mappings().is_empty());
}

#[test]
fn a_second_user_of_a_server_conflicts_by_the_name_of_the_server() {
    let fixture = SmbFixture::new();
    fixture.map(SHARE, ALICE).unwrap();
    let conflict = failing(Win32::SESSION_CREDENTIAL_CONFLICT);
    assert_eq!(fixture.map(SHARE, BOB), conflict);
    assert_eq!(fixture.map(r"\\FILES\nothing", BOB), conflict);
    assert_eq!(fixture.map(SHARE, r"FILES\\alice:other"), conflict);
    assert_eq!(fixture.map(r"\\10.0.0.5\data", BOB), Ok(()));
    assert_eq!(fixture.mappings().len(), 2);
}

#[test]
fn a_share_that_is_mapped_cannot_be_mapped_again_since_server_2019() {
    let failed = Err(Hresult::WBEM_E_FAILED.into());
    for (build, again) in [
        (Build::SERVER_2016, Ok(())),
        (Build::SERVER_2019, failed.clone()),
        (Build::SERVER_2025, failed),
    ] {
        let fixture = SmbFixture::of(&NodeSpec::default().build(build));
        fixture.map(SHARE, ALICE).unwrap();
        let mapped = fixture.map(r"\\Files\DATA", r"files\\ALICE:secret");
        assert_eq!(mapped, again, "{build:?}");
        assert_eq!(fixture.mappings().len(), 1);
    }
}

#[test]
fn a_folder_below_a_mapped_share_conflicts_and_beside_a_mapped_folder_it_does_not() {
    let fixture = SmbFixture::new();
    assert_eq!(fixture.map(r"\\files\data\one", ALICE), Ok(()));
    assert_eq!(fixture.map(r"\\files\data\two", ALICE), Ok(()));
    fixture.map(SHARE, ALICE).unwrap();
    let conflict = failing(Win32::SESSION_CREDENTIAL_CONFLICT);
    assert_eq!(fixture.map(r"\\FILES\data\three", ALICE), conflict);
    assert_eq!(fixture.mappings().len(), 3);
}

#[test]
fn a_share_may_conflict_with_a_mapped_folder_of_it() {
    let fixture = SmbFixture::new();
    let in_the_way = |server: &mut ServerSpec| server.folder_mappings = FolderMappings::InTheWay;
    fixture.servers.change_server("files", in_the_way).unwrap();
    assert_eq!(fixture.map(r"\\files\data\one", ALICE), Ok(()));
    let conflict = failing(Win32::SESSION_CREDENTIAL_CONFLICT);
    assert_eq!(fixture.map(r"\\FILES\Data", ALICE), conflict);
    assert_eq!(fixture.map(r"\\files\data\two", ALICE), Ok(()));
    for mapping in fixture.mappings() {
        fixture.remove(&mapping.path).unwrap();
    }
    assert_eq!(fixture.map(SHARE, ALICE), Ok(()));
    assert_eq!(fixture.map(r"\\files\data\one", ALICE), conflict);
}

#[test]
fn a_mapping_that_stays_dead_after_a_restart_lives_again_once_it_is_made_anew() {
    let fixture = SmbFixture::new();
    let stay_dead = |server: &mut ServerSpec| server.saved_mappings = SavedMappings::StayDead;
    fixture.servers.change_server("files", stay_dead).unwrap();
    fixture.map(SHARE, ALICE).unwrap();
    assert_eq!(fixture.look(SHARE), Ok(()));
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.look(SHARE), failing(Win32::BAD_NETPATH));
    assert_eq!(fixture.status(), status::DISCONNECTED.value);
    let conflict = failing(Win32::SESSION_CREDENTIAL_CONFLICT);
    assert_eq!(fixture.map(SHARE, ALICE), conflict);
    fixture.remove(&fixture.mappings()[0].path).unwrap();
    assert_eq!(fixture.map(SHARE, ALICE), Ok(()));
    assert_eq!(fixture.look(SHARE), Ok(()));
}

#[test]
fn a_server_that_is_not_down_answers_at_its_ports() {
    let fixture = SmbFixture::new();
    let os = fixture.os();
    let connect = |host, port| {
        let connected = os.afunix.connect(host, port, Duration::from_secs(5));
        connected.map_err(|error| error.cause)
    };
    for condition in [
        ServerHealth::Up,
        ServerHealth::Dropping,
        ServerHealth::Paused,
    ] {
        fixture.servers.set_condition("files", condition).unwrap();
        assert_eq!(connect("FILES", 445), Ok(()), "{condition:?}");
    }
    assert_eq!(connect("10.0.0.5", 445), Ok(()));
    assert_eq!(connect("files", 1445), failing(NOBODY_LISTENS));
    assert_eq!(connect("elsewhere", 445), failing(NO_SUCH_HOST));
    fixture
        .servers
        .set_condition("files", ServerHealth::Down)
        .unwrap();
    assert_eq!(connect("files", 445), failing(NO_ANSWER));
}

#[test]
fn encryption_is_refused_by_a_server_that_has_none() {
    let fixture = SmbFixture::new();
    let private = || mapping(SHARE, ALICE).with(create::REQUIRE_PRIVACY.name, Value::Bool(true));
    fixture
        .servers
        .change_server("files", |server| server.encryption = false)
        .unwrap();
    assert_eq!(
        fixture.create(private()),
        failing(Win32::NETWORK_ACCESS_DENIED)
    );
    assert_eq!(fixture.map(SHARE, ALICE), Ok(()));
    let fixture = SmbFixture::new();
    assert_eq!(fixture.create(private()), Ok(()));
}

#[test]
fn a_drive_letter_is_given_once() {
    let fixture = SmbFixture::new();
    let lettered =
        |remote, letter| mapping(remote, ALICE).with(create::LOCAL_PATH.name, Value::text(letter));
    assert_eq!(fixture.create(lettered(SHARE, "X:")), Ok(()));
    let by_address = r"\\10.0.0.5\data";
    assert_eq!(
        fixture.create(lettered(by_address, "x:")),
        failing(ALREADY_ASSIGNED)
    );
    assert_eq!(
        fixture.create(lettered(by_address, "data")),
        failing(BAD_DEVICE)
    );
    assert_eq!(fixture.mappings()[0].text(LOCAL_PATH.name), Ok("X:"));
}

#[test]
fn status_and_access_follow_the_server() {
    let fixture = SmbFixture::new();
    fixture.map(SHARE, ALICE).unwrap();
    for (condition, status, code) in [
        (ServerHealth::Down, status::DISCONNECTED, Win32::BAD_NETPATH),
        (
            ServerHealth::Dropping,
            status::NETWORK_ERROR,
            Win32::NETNAME_DELETED,
        ),
        (
            ServerHealth::Failing,
            status::NETWORK_ERROR,
            Win32::UNEXP_NET_ERR,
        ),
        (ServerHealth::Paused, status::PAUSED, Win32::SHARING_PAUSED),
        (
            ServerHealth::Unavailable,
            status::UNAVAILABLE,
            Win32::SEM_TIMEOUT,
        ),
    ] {
        fixture.servers.set_condition("files", condition).unwrap();
        assert_eq!(fixture.status(), status.value, "{condition:?}");
        assert_eq!(fixture.look(SHARE), failing(code), "{condition:?}");
        assert_eq!(
            fixture.map(r"\\files\x", ALICE),
            failing(code),
            "{condition:?}"
        );
    }
    fixture
        .servers
        .set_condition("files", ServerHealth::Up)
        .unwrap();
    assert_eq!(fixture.status(), status::OK.value);
    assert_eq!(fixture.look(SHARE), Ok(()));
    fixture.servers.remove_server("files").unwrap();
    assert_eq!(fixture.status(), status::DISCONNECTED.value);
}

#[test]
fn a_fault_takes_a_server_down_before_it_is_asked() {
    let fixture = SmbFixture::new();
    let down = Effect::TakeServerDown("files".to_owned());
    fixture
        .node
        .faults()
        .add(Rule::on("MSFT_SmbGlobalMapping.Create", down));
    assert_eq!(fixture.map(SHARE, ALICE), failing(Win32::BAD_NETPATH));
}

#[test]
fn nothing_of_a_credential_is_recorded() {
    let fixture = SmbFixture::new();
    fixture.map(SHARE, ALICE).unwrap();
    fixture.map(SHARE, BOB).unwrap_err();
    let trace = format!("{:?}", fixture.node.take_trace());
    assert!(trace.contains("MSFT_SmbGlobalMapping.Create"));
    assert!(!trace.contains("secret"));
}

#[test]
fn a_new_password_makes_a_mapping_useless_that_is_listed_as_good() {
    let fixture = SmbFixture::new();
    fixture.map(SHARE, ALICE).unwrap();
    let renew = |server: &mut ServerSpec| server.user[0].password = Secret::from("new");
    fixture.servers.change_server("files", renew).unwrap();
    assert_eq!(fixture.status(), status::OK.value);
    assert_eq!(fixture.look(SHARE), failing(Win32::LOGON_FAILURE));
    let new = r"FILES\\alice:new";
    assert_eq!(
        fixture.map(SHARE, new),
        failing(Win32::SESSION_CREDENTIAL_CONFLICT)
    );
    fixture.remove(&fixture.mappings()[0].path).unwrap();
    assert_eq!(fixture.map(SHARE, new), Ok(()));
    assert_eq!(fixture.look(SHARE), Ok(()));
}

#[test]
fn a_share_may_be_for_some_users_only() {
    let fixture = SmbFixture::new();
    let close = |server: &mut ServerSpec| server.share[0].users = vec![r"FILES\bob".to_owned()];
    fixture.servers.change_server("files", close).unwrap();
    assert_eq!(fixture.map(SHARE, ALICE), failing(Win32::ACCESS_DENIED));
    assert_eq!(fixture.map(SHARE, BOB), Ok(()));
}

#[test]
fn the_account_of_the_node_needs_no_mapping_where_it_is_known() {
    let fixture = SmbFixture::new();
    let nobody = Arguments::none().with(create::REMOTE_PATH.name, Value::text(SHARE));
    assert_eq!(
        fixture.create(nobody.clone()),
        failing(Win32::LOGON_FAILURE)
    );
    fixture
        .servers
        .change_server("files", |server| server.machine_accounts = true)
        .unwrap();
    assert_eq!(fixture.look(SHARE), Ok(()));
    assert_eq!(fixture.create(nobody), Ok(()));
    assert_eq!(
        fixture.map(SHARE, ALICE),
        failing(Win32::SESSION_CREDENTIAL_CONFLICT)
    );
}

#[test]
fn after_a_restart_a_persistent_mapping_is_disconnected_and_matches_nobody() {
    let fixture = SmbFixture::new();
    fixture.map(SHARE, ALICE).unwrap();
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.status(), status::DISCONNECTED.value);
    let conflict = failing(Win32::SESSION_CREDENTIAL_CONFLICT);
    assert_eq!(fixture.map(SHARE, ALICE), conflict);
    assert_eq!(fixture.look(SHARE), Ok(()));
    assert_eq!(fixture.status(), status::OK.value);
    assert_eq!(fixture.map(SHARE, ALICE), conflict);
}

#[test]
fn another_mapping_does_not_outlive_a_restart() {
    let fixture = SmbFixture::new();
    let fleeting = mapping(SHARE, ALICE).with(create::PERSISTENT.name, Value::Bool(false));
    fixture.create(fleeting).unwrap();
    fixture.node.reboot().unwrap();
    assert!(fixture.mappings().is_empty());
    assert_eq!(fixture.map(SHARE, ALICE), Ok(()));
}

#[test]
fn every_mapping_outlives_the_process() {
    let fixture = SmbFixture::new();
    let fleeting = mapping(SHARE, ALICE).with(create::PERSISTENT.name, Value::Bool(false));
    fixture.create(fleeting).unwrap();
    let fixture = fixture.reopened();
    assert_eq!(fixture.status(), status::OK.value);
    assert_eq!(fixture.look(SHARE), Ok(()));
}

#[test]
fn another_process_reaches_what_the_node_has_mapped_and_nothing_else() {
    let fixture = SmbFixture::new();
    let drive_c = fixture.node.files().host_path(&r"C:\".parse().unwrap());
    let beside = FileTree::beside(fixture.folder.path(), &drive_c.unwrap());
    let file = r"\\FILES\Data\a.txt".parse().unwrap();
    assert!(beside.write_file(&file, b"text").is_err());
    assert_eq!(fixture.servers.mapped().unwrap(), [""; 0]);

    fixture.map(SHARE, ALICE).unwrap();
    beside.write_file(&file, b"text").unwrap();
    let place = fixture.servers.share_folder("files", "data").join("a.txt");
    assert_eq!(fs::read_to_string(place).unwrap(), "text");
    assert_eq!(fixture.servers.mapped().unwrap(), [SHARE]);
}
