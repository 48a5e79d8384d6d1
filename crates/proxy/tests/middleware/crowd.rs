//! Calls waiting for a hung one delay no other call.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use client::{Client, ClientCause};
use os_sim::demo::{SHARE, SMB_PASSWORD, SMB_USER};
use os_sim::smb::{ServerSpec, SmbControl};
use prost::Message as _;
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint};
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::smb::v1 as smb;

use crate::harness::{self, Proxy, mkdir};
use crate::{scraped, with_pages};

/// Only a failed test reaches it.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The calls of one process at once.
const FLOOD: usize = 150;

/// The most of them that may wait for one lock.
const MAY_WAIT: usize = 128;

/// Mappings of distinct servers that each of three processes requests at once: together more than the running calls,
/// and for each fewer than its share of them.
const SERVERS: usize = 100;

const HANGING_MAPPINGS: &str =
    "[[fault]]\noperation = \"MSFT_SmbGlobalMapping.Create\"\neffect = \"hang\"\n";

const HANGING_MAPPING: &str =
    "[[fault]]\noperation = \"MSFT_SmbGlobalMapping.Create\"\ntimes = 1\neffect = \"hang\"\n";

const HANGING_PARTITION: &str =
    "[[fault]]\noperation = \"MSFT_Disk.CreatePartition\"\neffect = \"hang\"\n";

type Answer = Result<Vec<u8>, CallError>;

fn mapping(share: &str) -> smb::NewSmbGlobalMappingRequest {
    smb::NewSmbGlobalMappingRequest {
        remote_path: share.to_owned(),
        local_path: String::new(),
        username: SMB_USER.to_owned(),
        password: SMB_PASSWORD.to_owned(),
    }
}

/// Requests the share this often at once, each time over a connection of its own.
fn flood(sockets: &Path, calls: usize) -> Receiver<Answer> {
    map_at_once(sockets, (0..calls).map(|_| SHARE.to_owned()))
}

/// Requests a share of each of so many servers at once; no other process requests these.
fn flood_servers(sockets: &Path) -> Receiver<Answer> {
    let process = process::id();
    map_at_once(
        sockets,
        (0..SERVERS).map(|server| format!(r"\\s{process}-{server}\share")),
    )
}

/// Dials one connection after the other before the calls: a dial gives up after five seconds, and of hundreds that
/// compete for a pipe's few waiting instances some have no turn by then. Their calls would never come.
fn map_at_once(sockets: &Path, shares: impl Iterator<Item = String>) -> Receiver<Answer> {
    type Map = smb::rpc::NewSmbGlobalMapping;
    let endpoint = Endpoint::local(sockets, &Map::GROUP.pipe_name()).expect("a group's name");
    let dial = || Channel::connect(endpoint.clone(), ChannelOptions::default());
    let dialled: Vec<_> = shares
        .map(|share| (share, dial().expect("it listens")))
        .collect();
    let (sender, answers) = mpsc::channel();
    for (share, channel) in dialled {
        let sender = sender.clone();
        thread::spawn(move || {
            let message = mapping(&share).encode_to_vec();
            sender.send(channel.call(Map::PATH, &message, Instant::now() + TIMEOUT))
        });
    }
    answers
}

/// The text of a call refused because too many wait.
fn refusal(error: CallError) -> String {
    match error {
        CallError::Status(status) => {
            assert_eq!(status.code, Code::ResourceExhausted, "{}", status.message);
            status.message
        }
        other => panic!("{other}"),
    }
}

/// How many calls went well; of the others, each was refused because too many wait.
fn served(answers: Receiver<Answer>) -> usize {
    let (good, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    for answer in refused {
        let text = refusal(answer.expect_err("it was refused"));
        let is_crowd = text.ends_with(" wait already") || text.ends_with(" run already");
        assert!(is_crowd, "{text}");
    }
    good.len()
}

fn figure(proxy: &Proxy, name: &str) -> usize {
    let page = scraped(proxy);
    let line = page.text().lines().find_map(|line| line.strip_prefix(name));
    let value = line.expect("the series").trim();
    value.parse().expect("a number")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "it never came to pass: {what}");
        thread::yield_now();
    }
}

fn wait_until_wait(proxy: &Proxy, calls: usize) {
    wait_until("calls wait", || {
        figure(proxy, "wincsi_waiting_calls ") == calls
    });
}

/// The refused mappings: too many waiting or running.
fn refused(proxy: &Proxy) -> usize {
    let series = "grpc_server_handled_total{grpc_code=\"ResourceExhausted\",grpc_method=\"NewSmbGlobalMapping\",grpc_service=\"v1.Smb\",grpc_type=\"unary\"}";
    let page = scraped(proxy);
    let found = page
        .text()
        .lines()
        .find_map(|line| line.strip_prefix(series));
    let waiting: usize = found.map_or(0, |count| count.trim().parse().expect("a number"));
    waiting + figure(proxy, "wincsi_refused_calls_total ")
}

impl Proxy {
    fn script(&self, faults: &str) {
        let script = self.folder.path().join("node").join("faults.toml");
        fs::write(script, faults).expect("a script of faults");
    }

    fn maps(&self, share: &str) {
        let answer = self.call::<smb::rpc::NewSmbGlobalMapping>(&mapping(share));
        answer.unwrap_or_else(|error| panic!("{error}"));
    }

    fn map_error(&self, share: &str) -> CallError {
        let answer = self.call::<smb::rpc::NewSmbGlobalMapping>(&mapping(share));
        match answer.expect_err("there is no place left").cause {
            ClientCause::Call(error) => error,
            other => panic!("{other}"),
        }
    }
}

/// The share then has no mapping until the next request.
#[test]
fn a_mapping_that_is_removed_and_cannot_be_made_anew_is_counted() {
    let proxy = Proxy::start_with(with_pages);
    proxy.maps(SHARE);
    let failed = || figure(&proxy, "wincsi_smb_renewals_failed_total ");
    assert_eq!(failed(), 0);
    let look = r#"operation = "GetFileAttributesExW"
object = '\\fileserver\*'"#;
    let refused = "effect = { fail = { win32 = 1326 } }";
    proxy.script(&format!("[[fault]]\n{look}\n{refused}\n"));
    let mut request = mapping(SHARE);
    "another".clone_into(&mut request.password);
    proxy.refusal::<smb::rpc::NewSmbGlobalMapping>(&request);
    assert_eq!(failed(), 1);
    proxy.maps(SHARE);
    assert_eq!(failed(), 1);
}

/// A share with a hung mapping, beside one of another server.
fn with_hanging_share() -> Proxy {
    let proxy = Proxy::start_with(with_pages);
    let servers = SmbControl::at(proxy.folder.path().join("node"));
    let other = ServerSpec::sharing("share", SMB_USER, SMB_PASSWORD);
    servers.add_server("other", &other).expect("a server");
    proxy.script(HANGING_MAPPING);
    proxy
}

#[test]
fn a_hundred_mappings_of_a_share_that_one_process_asks_for_at_once_succeed() {
    let proxy = with_hanging_share();
    let answers = flood(&proxy.sockets(), 100);
    wait_until_wait(&proxy, 99);
    assert_eq!(figure(&proxy, "wincsi_running_calls "), 1);
    proxy.script("");
    assert_eq!(served(answers), 100);
}

/// Guards: P31
#[test]
fn two_processes_that_ask_for_a_share_that_hangs_keep_nobody_from_anything_else() {
    if let Some(sockets) = harness::sockets_of_another_process() {
        served(flood(&sockets, FLOOD));
        return;
    }
    let proxy = with_hanging_share();
    let test =
        "crowd::two_processes_that_ask_for_a_share_that_hangs_keep_nobody_from_anything_else";
    let mut other = proxy.have_another_process_run(test);
    let answers = flood(&proxy.sockets(), FLOOD);
    wait_until("the rest is refused", || {
        refused(&proxy) == 2 * FLOOD - 1 - MAY_WAIT
    });
    assert_eq!(figure(&proxy, "wincsi_waiting_calls "), MAY_WAIT);
    for _ in 0..200 {
        proxy
            .call::<wire::filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\var\lib\kubelet\a"))
            .expect("made");
        assert!(proxy.exists(r"C:\var\lib\kubelet\a"));
    }
    proxy.maps(r"\\other\share");
    let text = refusal(proxy.map_error(SHARE));
    let begins = r"map share SMB share \\fileserver\share: map share has had it for ";
    assert!(text.starts_with(begins), "{text}");
    let (status, body) = proxy.get(proxy.server.healthz_address(), "/readyz");
    assert_eq!(status, 200, "{body}");
    proxy.script("");
    assert!(served(answers) <= 1 + MAY_WAIT);
    assert!(other.wait().expect("it ends").success());
}

/// Guards: P32
#[test]
fn mappings_that_have_all_places_of_their_group_leave_the_other_groups_theirs() {
    if let Some(sockets) = harness::sockets_of_another_process() {
        assert_eq!(flood_servers(&sockets).into_iter().count(), SERVERS);
        return;
    }
    let proxy = Proxy::start_with(with_pages);
    proxy.script(HANGING_MAPPINGS);
    let test = "crowd::mappings_that_have_all_places_of_their_group_leave_the_other_groups_theirs";
    let others = [(); 2].map(|()| proxy.have_another_process_run(test));
    let answers = flood_servers(&proxy.sockets());
    wait_until("the rest is refused", || {
        figure(&proxy, "wincsi_running_calls ") + refused(&proxy) == 3 * SERVERS
    });
    let text = refusal(proxy.map_error(SHARE));
    assert!(text.ends_with(" run already"), "{text}");
    proxy
        .call::<wire::filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\var\lib\kubelet\a"))
        .expect("made");
    proxy
        .call::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {})
        .expect("listed");
    proxy.script("");
    assert_eq!(answers.into_iter().count(), SERVERS);
    for mut other in others {
        assert!(other.wait().expect("it ends").success());
    }
}

/// Guards: P38
#[test]
fn a_call_that_waits_past_its_deadline_does_nothing() {
    let proxy = Proxy::start_with(with_pages);
    let rescan = proxy.call::<disk::rpc::Rescan>(&disk::RescanRequest {});
    rescan.expect("the data disk is found");
    proxy.script(HANGING_PARTITION);
    let (sender, answer) = mpsc::channel();
    let first = Client::local(proxy.sockets());
    thread::spawn(move || {
        let request = disk::PartitionDiskRequest { disk_number: 1 };
        sender.send(first.call::<disk::rpc::PartitionDisk>(&request, TIMEOUT))
    });
    wait_until("it hangs", || {
        let page = scraped(&proxy);
        let is_it = |line: &&str| line.contains("CreatePartition") && line.ends_with("} 1");
        let mut running = page.text().lines().filter(is_it);
        running.any(|line| line.starts_with("wincsi_os_operations_running"))
    });
    let offline = disk::SetDiskStateRequest {
        disk_number: 1,
        is_online: false,
    };
    let client = Client::local(proxy.sockets());
    let soon = Duration::from_millis(200);
    let late = client.call::<disk::rpc::SetDiskState>(&offline, soon);
    late.expect_err("the disk is another's");
    wait_until("it waits no more", || {
        figure(&proxy, "wincsi_running_calls ") == 1 && figure(&proxy, "wincsi_waiting_calls ") == 0
    });
    proxy.script("");
    let first = answer.recv_timeout(TIMEOUT).expect("an answer");
    first.expect("it is partitioned");
    let request = disk::GetDiskStateRequest { disk_number: 1 };
    let state = proxy.call::<disk::rpc::GetDiskState>(&request);
    assert!(state.expect("its state").is_online);
    assert!(!scraped(&proxy).text().contains("Offline"));
}
