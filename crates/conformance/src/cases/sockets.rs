//! Unix sockets, as a driver serves them to kubelet: past the seam, by `transport` itself.

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use transport::{
    BindError, Call, Channel, ChannelOptions, Endpoint, Server, ServerOptions, Service, Status,
};

use super::{TIMEOUT, declare};
use crate::failure::{holds, same};
use crate::{CaseResult, Failure, NodeFixture};

const STARTERS: usize = 4;

declare!("sockets";
    a_socket_is_served_in_a_closed_folder_and_gone_with_its_server,
    what_a_server_that_died_has_left_is_replaced_and_nothing_else_is,
    of_servers_that_start_at_once_one_serves_and_keeps_its_socket,
);

/// Guards: P5
fn a_socket_is_served_in_a_closed_folder_and_gone_with_its_server(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let folder = fixture.socket_folder();
    let socket = folder.join("csi.sock");
    let server = serve(&socket).map_err(failed)?;
    let is_closed = fixture.is_closed_to_others(&folder)?;
    holds("nobody else may enter the folder", is_closed)?;
    // With the default options: the client trusts this process to serve.
    let caller = call(&socket)?;
    let own = format!("process {}", std::process::id());
    same("the caller as the server knows it", &caller, &own)?;
    let second = serve(&socket).map(drop);
    same(
        "a second server",
        &refusal(second),
        &Some(io::ErrorKind::AddrInUse),
    )?;
    server.shutdown(TIMEOUT);
    holds("the socket is gone", fs::symlink_metadata(&socket).is_err())?;
    fs::remove_dir(&folder).map_err(failed)
}

/// Guards: P7
fn what_a_server_that_died_has_left_is_replaced_and_nothing_else_is(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let folder = fixture.socket_folder();
    let (socket, aside) = (folder.join("csi.sock"), folder.join("aside"));
    let server = serve(&socket).map_err(failed)?;
    // A server removes its socket, so hiding it plays a dead one.
    fs::rename(&socket, &aside).map_err(failed)?;
    server.shutdown(TIMEOUT);
    fs::rename(&aside, &socket).map_err(failed)?;
    let server = serve(&socket).map_err(failed)?;
    call(&socket)?;
    server.shutdown(TIMEOUT);
    fs::write(&socket, "of somebody").map_err(failed)?;
    let refused = refusal(serve(&socket).map(drop));
    same(
        "a server over a file",
        &refused,
        &Some(io::ErrorKind::AlreadyExists),
    )?;
    same(
        "the file",
        &fs::read(&socket).map_err(failed)?,
        &b"of somebody".to_vec(),
    )?;
    fs::remove_file(&socket).map_err(failed)?;
    fs::remove_dir(&folder).map_err(failed)
}

/// A dead server's leftover makes each of them take the socket for unserved.
/// Guards: P8
fn of_servers_that_start_at_once_one_serves_and_keeps_its_socket(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let folder = fixture.socket_folder();
    let (socket, aside) = (folder.join("csi.sock"), folder.join("aside"));
    for _ in 0..20 {
        let (serving, refused): (Vec<_>, Vec<_>) = started_at_once(&socket)
            .into_iter()
            .partition(Result::is_ok);
        same("servers of one socket", &serving.len(), &1)?;
        for refused in refused {
            let refused = refusal(refused.map(drop));
            same("another", &refused, &Some(io::ErrorKind::AddrInUse))?;
        }
        call(&socket)?;
        fs::rename(&socket, &aside).map_err(failed)?;
        drop(serving);
        fs::rename(&aside, &socket).map_err(failed)?;
    }
    fs::remove_file(&socket).map_err(failed)?;
    fs::remove_dir(&folder).map_err(failed)
}

fn started_at_once(socket: &Path) -> Vec<Result<Server, BindError>> {
    let barrier = Barrier::new(STARTERS);
    let start = || {
        barrier.wait();
        serve(socket)
    };
    thread::scope(|scope| {
        let starters: Vec<_> = (0..STARTERS).map(|_| scope.spawn(start)).collect();
        let mut started = Vec::new();
        for one in starters {
            started.extend(one.join());
        }
        started
    })
}

/// Answers with the caller.
struct Caller;

impl Service for Caller {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        Ok(call.peer.to_string().into_bytes())
    }
}

fn serve(socket: &Path) -> Result<Server, BindError> {
    let services = vec![(
        Endpoint::socket(socket),
        Arc::new(Caller) as Arc<dyn Service>,
    )];
    Server::bind(services, ServerOptions::default())
}

fn call(socket: &Path) -> CaseResult<String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let channel = Channel::connect(Endpoint::socket(socket), ChannelOptions::default());
    let answer = channel.and_then(|channel| channel.call("/v1.Suite/Caller", b"", deadline));
    String::from_utf8(answer.map_err(failed)?).map_err(failed)
}

/// Why a server could not be started, of one endpoint.
fn refusal(started: Result<(), BindError>) -> Option<io::ErrorKind> {
    match started {
        Err(BindError::Endpoints(failures)) => failures.first().map(|one| one.source.kind()),
        _ => None,
    }
}

fn failed(error: impl Display) -> Failure {
    Failure::unexpected(error)
}
