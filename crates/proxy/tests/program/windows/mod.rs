mod imports;
mod life;
mod native;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::windows::io::AsHandle as _;
use std::path::Path;

use os_windows_testkit::process::{ControlEvent, raise};
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
use tokio::runtime::Runtime;

use crate::exe::{Server, look_until};

/// A pipe made by another, with its runtime.
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

/// The requests to end the program.
pub(crate) const REQUESTS: [ControlEvent; 2] = [ControlEvent::Shutdown, ControlEvent::CtrlC];

/// The request it takes a second time too.
pub(crate) const REPEATABLE: ControlEvent = ControlEvent::CtrlC;

/// The exit codes of a program after two requests; the system's own handler ends it: Wine's with 0, Windows's with
/// STATUS_CONTROL_C_EXIT of
/// <https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55>.
pub(crate) const CUT_SHORT: &[i32] = &[0, 0xC000_013A_u32.cast_signed()];

pub(crate) fn ask_to_end(server: &Server, event: ControlEvent) {
    raise(server.process().as_handle(), event).expect("it lives");
}

/// ERROR_PIPE_BUSY: all instances have clients, and the server has yet to make another.
const PIPE_BUSY: i32 = 231;

fn path(name: &str) -> String {
    format!(r"\\.\pipe\{name}")
}
