//! Unix sockets, as a driver serves them to kubelet: past the seam, by `transport` itself.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use transport::{
    BindError, Call, Channel, ChannelOptions, Endpoint, Server, ServerOptions, Service, Status,
};

use super::{PATIENCE, declare};
use crate::failure::{holds, same};
use crate::{Failure, Stand};

declare!("sockets";
    a_socket_is_served_in_a_closed_folder_and_gone_with_its_server,
    what_a_server_that_died_has_left_is_replaced_and_nothing_else_is,
);

fn a_socket_is_served_in_a_closed_folder_and_gone_with_its_server(
    stand: &dyn Stand,
) -> Result<(), Failure> {
    let folder = stand.socket_folder();
    let socket = folder.join("csi.sock");
    let server = serve(&socket).map_err(failed)?;
    let is_closed = stand.is_closed_to_others(&folder)?;
    holds("nobody else may enter the folder", is_closed)?;
    // With the default options: the client takes this process for one that may serve.
    let caller = call(&socket)?;
    let own = format!("process {}", std::process::id());
    same("the caller as the server knows it", &caller, &own)?;
    let second = serve(&socket).map(drop);
    same(
        "a second server",
        &refusal(second),
        &Some(io::ErrorKind::AddrInUse),
    )?;
    server.shutdown(PATIENCE);
    holds("the socket is gone", fs::symlink_metadata(&socket).is_err())?;
    fs::remove_dir(&folder).map_err(failed)
}

fn what_a_server_that_died_has_left_is_replaced_and_nothing_else_is(
    stand: &dyn Stand,
) -> Result<(), Failure> {
    let folder = stand.socket_folder();
    let (socket, aside) = (folder.join("csi.sock"), folder.join("aside"));
    let server = serve(&socket).map_err(failed)?;
    // A server removes its socket, so one that died is played by hiding it.
    fs::rename(&socket, &aside).map_err(failed)?;
    server.shutdown(PATIENCE);
    fs::rename(&aside, &socket).map_err(failed)?;
    let server = serve(&socket).map_err(failed)?;
    call(&socket)?;
    server.shutdown(PATIENCE);
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

/// Answers who calls.
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

fn call(socket: &Path) -> Result<String, Failure> {
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
    Failure::odd(error)
}
