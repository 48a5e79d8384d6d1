mod imports;
mod life;
mod native;

use std::fs::OpenOptions;
use std::io;
use std::io::Write as _;
use std::path::Path;

use tokio::net::windows::named_pipe::NamedPipeServer;
use tokio::net::windows::named_pipe::ServerOptions;
use tokio::runtime::Runtime;

use crate::exe::look_until;

/// A pipe that somebody else made, with the runtime that it belongs to.
pub(crate) struct Taken {
    _pipe: NamedPipeServer,
    _runtime: Runtime,
}

/// Makes a server's pipe before it. There may be one instance alone, for Wine lets anybody make a second one
/// otherwise.
pub(crate) fn take_endpoint(_folder: &Path, name: &str) -> Taken {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let pipe = runtime.block_on(async { ServerOptions::new().max_instances(1).create(path(name)) });
    Taken {
        _pipe: pipe.expect("nobody has the pipe yet"),
        _runtime: runtime,
    }
}

/// Sends bytes to an endpoint, and goes.
pub(crate) fn send_to(_folder: &Path, name: &str, bytes: &[u8]) {
    let mut pipe = None;
    look_until(
        || format!("a free instance of {name}"),
        || {
            let opened = OpenOptions::new().read(true).write(true).open(path(name));
            let is_busy = |error: &io::Error| error.raw_os_error() == Some(PIPE_BUSY);
            assert!(opened.as_ref().err().is_none_or(is_busy), "{opened:?}");
            pipe = opened.ok();
            pipe.is_some()
        },
    );
    // The server may hang up before it has all.
    let _ = pipe.expect("it is open").write_all(bytes);
}

/// ERROR_PIPE_BUSY: all instances have clients, and the server has yet to make another.
const PIPE_BUSY: i32 = 231;

fn path(name: &str) -> String {
    format!(r"\\.\pipe\{name}")
}
