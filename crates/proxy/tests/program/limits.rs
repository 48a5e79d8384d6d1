//! The memory that clients can make the program hold.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use transport::{CallError, Channel, ChannelOptions, Code};
use wire::Rpc as _;
use wire::disk::v1 as disk;

use crate::call::HangingCall;
use crate::exe::{Server, TIMEOUT, turn};

/// A little less than the largest request.
const LARGE: usize = 4_000_000;

/// So many of them are less than the 16 MiB of the flag, and one more is not.
const FIT: usize = 4;

#[test]
fn the_flag_says_how_much_the_clients_may_make_it_hold() {
    let _turn = turn();
    let server = Server::with_flags(&["-max-held-memory=16"]);
    let folder = server.folder.path();
    let held = HangingCall::begin(folder);
    let request = large();
    thread::scope(|scope| {
        let (sender, answers) = mpsc::channel();
        for _ in 0..=FIT {
            let (sender, request) = (sender.clone(), &request);
            scope.spawn(move || sender.send(partition(folder, request)));
        }
        // The others have to wait for the disk, so this is the first to be answered.
        match answers.recv_timeout(TIMEOUT).expect("one is refused") {
            Err(CallError::Status(status)) => assert_eq!(status.code, Code::ResourceExhausted),
            other => panic!("{other:?}"),
        }
        held.let_go().expect("the call ends well");
        drop(sender);
        let served = answers.iter().filter(Result::is_ok).count();
        assert!(served > 0, "room again, or never refused");
    });
}

/// A request to partition disk 1, followed by many bytes of unknown fields.
fn large() -> Vec<u8> {
    const LATER: u32 = 1000;
    let mut request = Vec::new();
    prost::encoding::uint32::encode(1, &1, &mut request);
    prost::encoding::bytes::encode(LATER, &vec![0; LARGE], &mut request);
    request
}

fn partition(folder: &Path, request: &[u8]) -> Result<Vec<u8>, CallError> {
    let endpoint = transport::Endpoint::local(&folder.join("sockets"), &disk::GROUP.pipe_name());
    let options = ChannelOptions::default();
    let channel = Channel::connect(endpoint.expect("a group's name"), options)?;
    channel.call(path(), request, Instant::now() + TIMEOUT)
}

fn path() -> &'static str {
    disk::rpc::PartitionDisk::PATH
}
