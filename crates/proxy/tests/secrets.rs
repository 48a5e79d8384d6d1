//! No secret of a client reaches the log, the metrics, the audit log or an error, however talkative.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use client::Client;
use os_sim::ClockMode;
use os_sim::iscsi::{IscsiControl, TargetSpec};
use os_sim::smb::{self, SmbControl};
use program::log;
use prost::{Message as _, encoding};
use prost_types::FieldDescriptorProto;
use transport::{CallError, Channel, ChannelOptions};
use wincsi_proxy::flags::{self, Config, Invocation};
use wincsi_proxy::serve::{self, RunningServer};
use wire::Rpc;
use wire::iscsi::v1alpha2 as iscsi;
use wire::iscsi::v1alpha2::{AuthenticationType, rpc};

const TIMEOUT: Duration = Duration::from_secs(60);

/// In no text by accident. It has 16 bytes, so it is a CHAP secret as well.
const SECRET: &str = "Zx81-qUUx-horse!";

/// A system text that the log repeats.
const HARMLESS: &str = "Der Anbieter ist nicht bereit";

const USER: &str = r"DOMAIN\ann";

/// The fields with secrets, by their names in the contract.
const FIELDS: [&str; 3] = ["password", "chap_secret", "MutualChapSecret"];

/// The methods with a secret, each with its provider call, as named in the metrics.
const METHODS: [(&str, &str); 3] = [
    (
        "NewSmbGlobalMapping",
        r#"facility="smb",operation="invoke Create""#,
    ),
    (
        "ConnectTarget",
        r#"facility="iscsi",operation="invoke Connect""#,
    ),
    (
        "SetMutualChapSecret",
        r#"facility="iscsi",operation="invoke SetCHAPSecret""#,
    ),
];

/// The portal of the targets that know our secret.
const ADDRESS: &str = "10.0.0.10";

/// A target that requires the secret.
const GUARDED: &str = "iqn.2026-01.com.example:asks";

/// A target that requires another secret, and proves itself by ours.
const PROVING: &str = "iqn.2026-01.com.example:proves";

/// Guards: P21
#[test]
fn secrets_reach_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut fixture = SecretsFixture::new(folder.path());
    fixture.send_to_every_method();
    fixture.send_what_is_accepted();
    fixture.send_what_the_system_repeats();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let (log, audit) = (read("log"), read("audit"));
    assert_eq!(audit.lines().count(), fixture.answers.len());
    let shown = log.lines().filter(|line| line.contains(" fields={"));
    assert_eq!(shown.count(), fixture.answers.len());
    assert!(log.contains(HARMLESS), "what the system says is logged");
    for (method, _) in METHODS {
        assert!(audit.contains(method) && log.contains(method), "{method}");
    }
    let outputs = [
        log,
        audit,
        fixture.metrics(),
        fixture.answers.join("\n"),
        format!("{:?}", fixture.config),
    ];
    for text in outputs {
        for spelling in spellings() {
            assert!(!text.contains(&spelling), "{spelling} in {text}");
        }
    }
}

/// The secret, its halves, and its bytes as debug output writes them.
fn spellings() -> Vec<String> {
    let (first, second) = SECRET.split_at(SECRET.len() / 2);
    let bytes = |text: &str| format!("{:?}", text.as_bytes()).replace(['[', ']'], "");
    let hexadecimal = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let plain = [first, second].map(str::to_owned);
    let bytes = [first, second].map(bytes);
    let hexadecimal = [first, second].map(hexadecimal);
    [plain, bytes, hexadecimal].concat()
}

/// A server with a detailed log, on a node whose servers require our secret.
struct SecretsFixture {
    config: Config,
    server: RunningServer,
    client: Client,
    node: PathBuf,
    /// The answers to changing calls.
    answers: Vec<String>,
}

impl SecretsFixture {
    fn new(folder: &Path) -> Self {
        let config = config(folder);
        log::start(&config.log).expect("a log file");
        add_servers(&folder.join("node"));
        let server = serve::start(&config).expect("a simulated node can be served");
        let mut fixture = Self {
            client: Client::local(&config.listen),
            config,
            server,
            node: folder.join("node"),
            answers: Vec::new(),
        };
        fixture.accepted::<wire::system::v1alpha1::rpc::StartService>(
            &wire::system::v1alpha1::StartServiceRequest {
                name: String::from("MSiSCSI"),
            },
        );
        let target_portal = Some(portal());
        fixture.accepted::<rpc::AddTargetPortal>(&iscsi::AddTargetPortalRequest { target_portal });
        fixture
    }

    /// At least one request of each method with a secret reaches the provider.
    fn send_to_every_method(&mut self) {
        let mut reached = BTreeSet::new();
        for (group, path) in wincsi_proxy::groups::registry().methods() {
            let method = group.methods.iter().find(|method| method.path == path);
            let method = method.expect("it is in the table");
            let requests = requests(group, method);
            if requests.is_empty() {
                continue;
            }
            let (name, operation) = METHODS
                .into_iter()
                .find(|(name, _)| *name == method.name)
                .unwrap_or_else(|| panic!("{path} takes a secret, and nothing is known of it"));
            let before = self.count_of(operation);
            for request in requests {
                self.send(group, path, &request);
            }
            assert!(
                self.count_of(operation) > before,
                "{path} ends before the provider"
            );
            reached.insert(name);
        }
        assert_eq!(reached, METHODS.into_iter().map(|(name, _)| name).collect());
    }

    fn send(&mut self, group: &wire::Group, path: &str, request: &[u8]) {
        let endpoint = transport::Endpoint::local(&self.config.listen, &group.pipe_name())
            .expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("served");
        self.answers.push(
            match channel.call(path, request, Instant::now() + TIMEOUT) {
                Ok(answer) => String::from_utf8_lossy(&answer).into_owned(),
                Err(CallError::Status(status)) => status.to_string(),
                Err(error) => panic!("{error}"),
            },
        );
    }

    /// The same secret where it is the right one.
    fn send_what_is_accepted(&mut self) {
        self.accepted::<wire::smb::v1::rpc::NewSmbGlobalMapping>(
            &wire::smb::v1::NewSmbGlobalMappingRequest {
                remote_path: String::from(r"\\vault\data"),
                local_path: String::new(),
                username: String::from(USER),
                password: String::from(SECRET),
            },
        );
        self.accepted::<rpc::ConnectTarget>(&login(
            GUARDED,
            AuthenticationType::OneWayChap,
            (USER, SECRET),
        ));
        self.accepted::<rpc::SetMutualChapSecret>(&iscsi::SetMutualChapSecretRequest {
            mutual_chap_secret: String::from(SECRET),
        });
        // Only with the mutual secret just set does the node accept this target.
        self.accepted::<rpc::ConnectTarget>(&login(
            PROVING,
            AuthenticationType::MutualChap,
            (os_sim::demo::ISCSI_USER, os_sim::demo::ISCSI_SECRET),
        ));
    }

    /// The providers fail, at queries and at methods, with texts that repeat the secret, then with others.
    fn send_what_the_system_repeats(&mut self) {
        let chap_text = format!("{USER}:{SECRET} is wrong");
        for (operation, chap_text) in [
            ("*Query", &*chap_text),
            ("MSFT_*", &*chap_text),
            ("*", HARMLESS),
        ] {
            let rule = |facility| {
                format!(
                    "[[fault]]\nfacility = {facility:?}\noperation = {operation:?}\n\
                     effect = {{ fail = {{ hresult = 0x80041001 }} }}\ntext = '{chap_text}'\n"
                )
            };
            let script = ["smb", "iscsi"].map(rule).concat();
            fs::write(self.node.join("faults.toml"), script).expect("the node's folder");
            for (group, path) in wincsi_proxy::groups::registry().methods() {
                let method = group.methods.iter().find(|method| method.path == path);
                let requests = method.map(|method| requests(group, method));
                for request in requests.into_iter().flatten() {
                    self.send(group, path, &request);
                }
            }
        }
    }

    fn accepted<R: Rpc>(&mut self, request: &R::Request) {
        let answer = self.client.call::<R>(request, TIMEOUT);
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", R::METHOD.path));
        self.answers.push(format!("{answer:?}"));
    }

    /// How often an operation of the system has ended.
    fn count_of(&self, operation: &str) -> u64 {
        let series = format!("wincsi_os_operation_seconds_count{{{operation}}} ");
        let page = self.metrics();
        let count = page.lines().find_map(|line| line.strip_prefix(&series));
        count.map_or(0, |count| count.parse().expect("a number"))
    }

    fn metrics(&self) -> String {
        let address = self.server.metrics_address().expect("it is served");
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("a page");
        page
    }
}

fn config(folder: &Path) -> Config {
    let path = |name: &str| folder.join(name).display().to_string();
    let line = [
        String::from("-v=10"),
        String::from("-vmodule=*=10"),
        String::from("-logtostderr=false"),
        String::from("-alsologtostderr"),
        String::from("-metrics-bind-address=127.0.0.1:0"),
        format!("-log_file={}", path("log")),
        format!("-audit-log={}", path("audit")),
        format!("-listen={}", path("sockets")),
        format!("-simulate={}", path("node")),
    ];
    match flags::parse(line) {
        Ok(Invocation::Serve(config)) => *config,
        other => panic!("{other:?}"),
    }
}

/// The demo's node, with servers that accept our secret.
fn add_servers(node: &Path) {
    os_sim::demo::create(node, ClockMode::Real).expect("a node");
    let server = smb::ServerSpec::sharing("data", USER, SECRET);
    SmbControl::at(node)
        .add_server("vault", &server)
        .expect("a server of shares");
    let (user, secret) = (os_sim::demo::ISCSI_USER, os_sim::demo::ISCSI_SECRET);
    let proving = TargetSpec::named(PROVING).asking(user, secret);
    let server = os_sim::iscsi::ServerSpec::at(ADDRESS)
        .offering(TargetSpec::named(GUARDED).asking(USER, SECRET))
        .offering(proving.proving(SECRET));
    IscsiControl::at(node)
        .add_server("vault", &server)
        .expect("a server of targets");
}

fn portal() -> iscsi::TargetPortal {
    iscsi::TargetPortal {
        target_address: String::from(ADDRESS),
        target_port: 3260,
    }
}

fn login(
    iqn: &str,
    auth_type: AuthenticationType,
    (user, secret): (&str, &str),
) -> iscsi::ConnectTargetRequest {
    iscsi::ConnectTargetRequest {
        target_portal: Some(portal()),
        iqn: String::from(iqn),
        auth_type: auth_type.into(),
        chap_username: String::from(user),
        chap_secret: String::from(secret),
    }
}

/// The object of a request.
#[derive(Clone, Copy)]
struct Object {
    share: &'static str,
    target: &'static str,
    auth_type: AuthenticationType,
}

/// An existing one with another secret, a missing one, and no name at all.
const OBJECTS: [Object; 3] = [
    Object {
        share: os_sim::demo::SHARE,
        target: PROVING,
        auth_type: AuthenticationType::OneWayChap,
    },
    Object {
        share: r"\\nowhere\none",
        target: PROVING,
        auth_type: AuthenticationType::MutualChap,
    },
    Object {
        share: "no share",
        target: "iqn.2020-01.example:none",
        auth_type: AuthenticationType::None,
    },
];

/// Requests of this method with the secret in each field for one, about every object, whole and damaged. None for a
/// method without a secret.
fn requests(group: &wire::Group, method: &wire::Method) -> Vec<Vec<u8>> {
    let set = prost_types::FileDescriptorSet::decode(group.descriptor_set).expect("descriptors");
    let mut messages = set.file.iter().flat_map(|file| &file.message_type);
    let message = messages.find(|message| message.name() == method.request);
    let fields = &message.expect("it is in the file").field;
    if !fields.iter().any(|field| FIELDS.contains(&field.name())) {
        return Vec::new();
    }
    let whole = OBJECTS.map(|object| encoded(fields, object));
    let mut damaged = whole[0].clone();
    damaged.push(0xff);
    whole.into_iter().chain([damaged]).collect()
}

fn encoded(fields: &[FieldDescriptorProto], object: Object) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        let number = u32::try_from(field.number()).expect("a field's number");
        let mut text = |text: &str| encoding::string::encode(number, &text.to_owned(), &mut bytes);
        match field.name() {
            name if FIELDS.contains(&name) => text(SECRET),
            "remote_path" => text(object.share),
            "username" | "chap_username" => text(USER),
            "iqn" => text(object.target),
            "auth_type" => encoding::int32::encode(number, &object.auth_type.into(), &mut bytes),
            "target_portal" => encoding::message::encode(number, &portal(), &mut bytes),
            // Omitted fields are empty.
            "local_path" => {}
            other => panic!("{other}: what stands in it?"),
        }
    }
    bytes
}
