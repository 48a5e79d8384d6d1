//! No secret of a client reaches the log, the metrics, the audit log or an error, however talkative.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use client::Client;
use os_sim::ClockMode;
use os_sim::smb::ServerSpec;
use os_sim::smb::SmbControl;
use prost::Message as _;
use transport::CallError;
use transport::Channel;
use transport::ChannelOptions;
use wincsi_proxy::flags;
use wincsi_proxy::flags::Config;
use wincsi_proxy::flags::Invocation;
use wincsi_proxy::log;
use wincsi_proxy::serve;
use wincsi_proxy::serve::Running;

/// In no text by accident.
const SECRET: &str = "Zx81-qUUx-correct-horse";

const USER: &str = r"DOMAIN\ann";

/// The fields that hold secrets, as the contract calls them.
const FIELDS: [&str; 3] = ["password", "chap_secret", "MutualChapSecret"];

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

fn metrics(server: &Running) -> String {
    let address = server.metrics_address().expect("it is served");
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

/// A request of this method with the secret in each field that takes one, with objects that exist and
/// that do not, whole and damaged. Empty when the method takes no secret.
fn requests(group: &wire::Group, method: &wire::Method) -> Vec<Vec<u8>> {
    let set = prost_types::FileDescriptorSet::decode(group.descriptor_set).expect("descriptors");
    let mut messages = set.file.iter().flat_map(|file| &file.message_type);
    let message = messages.find(|message| message.name() == method.request);
    let fields = &message.expect("it is in the file").field;
    if !fields.iter().any(|field| FIELDS.contains(&field.name())) {
        return Vec::new();
    }
    let encoded = |server: &str| {
        let mut bytes = Vec::new();
        for field in fields {
            let text = match field.name() {
                name if FIELDS.contains(&name) => SECRET,
                "remote_path" => server,
                "username" | "chap_username" => USER,
                "iqn" => "iqn.2020-01.example:none",
                _ => continue,
            };
            let number = u32::try_from(field.number()).expect("a field's number");
            prost::encoding::string::encode(number, &text.to_owned(), &mut bytes);
        }
        bytes
    };
    let whole = [os_sim::demo::SHARE, r"\\nowhere\none", "no share"].map(encoded);
    let mut damaged = whole[0].clone();
    damaged.push(0xff);
    whole.into_iter().chain([damaged]).collect()
}

/// A server of shares that takes the secret for a password.
fn add_server(node: &Path) {
    os_sim::demo::create(node, ClockMode::Real).expect("a node");
    let server = ServerSpec::sharing("data", USER, SECRET);
    SmbControl::at(node)
        .add_server("vault", &server)
        .expect("a server");
}

/// A mapping with the right password.
fn accepted(config: &Config) -> String {
    let request = wire::smb::v1::NewSmbGlobalMappingRequest {
        remote_path: String::from(r"\\vault\data"),
        local_path: String::new(),
        username: String::from(USER),
        password: String::from(SECRET),
    };
    let answer = Client::local(&config.listen)
        .call::<wire::smb::v1::rpc::NewSmbGlobalMapping>(&request, Duration::from_secs(60));
    format!("{:?}", answer.expect("the share's own password"))
}

#[test]
fn secrets_reach_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    log::start(&config).expect("a log file");
    add_server(&folder.path().join("node"));
    let server = serve::start(&config).expect("a simulated node can be served");
    let mut answers = Vec::new();
    for (group, path) in wincsi_proxy::groups::registry().methods() {
        let method = group.methods.iter().find(|method| method.path == path);
        for request in requests(group, method.expect("it is in the table")) {
            let endpoint = client::endpoint(&config.listen, group).expect("a group's name");
            let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("served");
            let soon = Instant::now() + Duration::from_secs(60);
            answers.push(match channel.call(path, &request, soon) {
                Ok(answer) => String::from_utf8_lossy(&answer).into_owned(),
                Err(CallError::Status(status)) => status.to_string(),
                Err(error) => panic!("{error}"),
            });
        }
    }
    assert!(answers.len() >= 4, "SMB at least takes a password");
    answers.push(accepted(&config));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let (log, audit) = (read("log"), read("audit"));
    assert_eq!(audit.lines().count(), answers.len());
    assert!(audit.contains("ann") && log.contains("NewSmbGlobalMapping"));
    let shown = log.lines().filter(|line| line.contains(" fields={"));
    assert_eq!(shown.count(), answers.len());
    let outputs = [
        log,
        audit,
        metrics(&server),
        answers.join("\n"),
        format!("{config:?}"),
    ];
    for text in outputs {
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains(&SECRET[4..]), "{text}");
    }
}
