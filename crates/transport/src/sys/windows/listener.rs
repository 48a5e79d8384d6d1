//! A pipe instance waiting for a client.

use std::sync::Arc;
use std::{io, iter, mem};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_INVALID_OWNER, ERROR_NO_DATA, ERROR_OPERATION_ABORTED,
};

use super::super::{Accepts, Interest};
use super::end::End;
use super::operation::{OverlappedIo, is};
use super::pipe::{self, FIRST_INSTANCE, INSTANCE};
use super::security::SecurityDescriptor;
use super::{Handles, Stream};
use crate::{PipeName, ServerOptions};

/// Clients in a row that may come and go before an instance waits.
const TIMEOUT: usize = 16;

/// Waits for one client after the other. An endpoint has several of these, so a client finds a free
/// instance while another is being accepted.
#[derive(Debug)]
pub(super) struct PipeListener {
    template: Arc<Template>,
    instance: Instance,
}

/// How the instances of an endpoint are made.
#[derive(Debug)]
struct Template {
    name: PipeName,
    security: SecurityDescriptor,
    buffer_bytes: u32,
}

#[derive(Debug)]
struct Instance {
    pipe: Arc<End>,
    handles: Handles,
    connect: OverlappedIo,
    connected: bool,
}

impl PipeListener {
    /// The listeners of one endpoint, each with a waiting instance. The first is exclusive.
    pub(super) fn bind(name: &PipeName, options: &ServerOptions) -> io::Result<Vec<Self>> {
        let template = Arc::new(Template {
            name: name.clone(),
            security: SecurityDescriptor::parse(&options.security)?,
            buffer_bytes: options.pipe_buffer_bytes.max(1),
        });
        // The flag of the first instance protects; the check before it gives a clear error.
        if pipe::exists(name) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        flags(options.ready_instances)
            .map(|flags| {
                Ok(Self {
                    template: Arc::clone(&template),
                    instance: template.instance(flags).map_err(refused(flags))?,
                })
            })
            .collect()
    }
}

impl Accepts for PipeListener {
    fn handles(&self) -> Handles {
        self.instance.handles.clone()
    }

    fn interest(&self) -> Interest {
        Interest {
            read: true,
            write: false,
        }
    }

    /// The next client, or None when there is none yet.
    ///
    /// Makes the next instance first: the name always has a waiting instance. If that fails, the
    /// client waits for the next try.
    fn accept(&mut self) -> io::Result<Option<Stream>> {
        if !self.instance.is_connected()? {
            return Ok(None);
        }
        let next = self.template.instance(INSTANCE)?;
        let Instance {
            pipe,
            handles,
            connect,
            ..
        } = mem::replace(&mut self.instance, next);
        drop(connect);
        Ok(Some(Stream::new(pipe, handles)))
    }
}

impl Template {
    fn instance(&self, flags: u32) -> io::Result<Instance> {
        let pipe = pipe::create(&self.name, flags, self.buffer_bytes, &self.security)?;
        let pipe = Arc::new(End::Pipe(pipe));
        let handles = Handles::new()?;
        let connect = OverlappedIo::new(&pipe, &handles, handles.read());
        let mut instance = Instance {
            pipe,
            handles,
            connect,
            connected: false,
        };
        instance.begin()?;
        Ok(instance)
    }
}

impl Instance {
    /// Begins to wait for a client.
    fn begin(&mut self) -> io::Result<()> {
        for _ in 0..TIMEOUT {
            match self.connect.connect() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) => {
                    self.connected = true;
                    // Nothing was begun, so nothing else will set it.
                    self.handles.read().set();
                    return Ok(());
                }
                // A client came and went.
                Err(error) if is(&error, ERROR_NO_DATA) => self.disconnect(),
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn disconnect(&self) {
        match &*self.pipe {
            End::Pipe(pipe) => pipe::disconnect(pipe),
            End::Socket(..) => {}
        }
    }

    fn is_connected(&mut self) -> io::Result<bool> {
        if !self.connected {
            match self.connect.is_pending().then(|| self.connect.poll()) {
                Some(Ok(None)) => {}
                Some(Ok(Some(_))) => self.connected = true,
                // Aborted with the thread that began it. A client may have come since, and would be
                // cut off by a disconnect; waiting again finds it.
                Some(Err(error)) if is(&error, ERROR_OPERATION_ABORTED) => self.begin()?,
                // The client is gone: wait again.
                Some(Err(_)) => {
                    self.disconnect();
                    self.begin()?;
                }
                None => self.begin()?,
            }
        }
        Ok(self.connected)
    }
}

/// The flags of the first instances, in their order.
fn flags(ready_instances: usize) -> impl Iterator<Item = u32> {
    let later = iter::repeat_n(INSTANCE, ready_instances.saturating_sub(1));
    iter::once(FIRST_INSTANCE).chain(later)
}

/// Explains a refusal. Denied access for the first instance means a taken name; for a later one, that the pipe's own
/// security forbids it. An account without the right to name an owner is refused, as `O:BA` is for all but
/// administrators (<https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object>).
fn refused(flags: u32) -> impl FnOnce(io::Error) -> io::Error {
    move |error| {
        let kind = match error.raw_os_error().map(i32::cast_unsigned) {
            Some(ERROR_ACCESS_DENIED) if flags == FIRST_INSTANCE => io::ErrorKind::AddrInUse,
            Some(ERROR_ACCESS_DENIED | ERROR_INVALID_OWNER) => io::ErrorKind::PermissionDenied,
            _ => return error,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_FIRST_PIPE_INSTANCE;

    use super::*;

    /// Guards: P2
    #[test]
    fn the_first_instance_alone_is_asked_to_be_the_first() {
        for ready_instances in 0..4 {
            let first: Vec<_> = flags(ready_instances)
                .map(|flags| flags & FILE_FLAG_FIRST_PIPE_INSTANCE != 0)
                .collect();
            let expected: Vec<_> = (0..ready_instances.max(1)).map(|at| at == 0).collect();
            assert_eq!(first, expected);
        }
    }

    /// Guards: P2
    #[test]
    fn the_first_instance_alone_says_that_the_name_is_taken() {
        for (flags, code, kind) in [
            (
                FIRST_INSTANCE,
                ERROR_ACCESS_DENIED,
                io::ErrorKind::AddrInUse,
            ),
            (
                INSTANCE,
                ERROR_ACCESS_DENIED,
                io::ErrorKind::PermissionDenied,
            ),
            (
                FIRST_INSTANCE,
                ERROR_INVALID_OWNER,
                io::ErrorKind::PermissionDenied,
            ),
        ] {
            let error = io::Error::from_raw_os_error(code.cast_signed());
            assert_eq!(refused(flags)(error).kind(), kind, "{code}");
        }
    }
}
