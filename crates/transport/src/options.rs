//! What an operator or a test may set on a server.

use std::time::Duration;

/// Who may open the pipes unless told otherwise: LocalSystem and Administrators alone. Administrators own them,
/// which is what a client looks at ([`Owner`]).
///
/// Without an owner here the pipe gets the default one of its creator's token
/// (<https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object>), which for an administrator can be
/// the person. A process that may not name Administrators as the owner could not serve under this list either: it
/// lets nobody else make a second instance.
///
/// No driver loses its pipe to this list: Go's default adds reading for everyone, but go-winio requests writing too.
/// Windows opens a pipe by the process's token, in a container as outside. Read, not tried with this server:
/// - `ContainerAdministrator` has S-1-5-32-544 enabled (README of mtth-bfft/tristitude); dockerd's pipe has the same
///   list (moby `daemon/listeners/listeners_windows.go`) and opens for it (dotnet/Docker.DotNet#391).
/// - `ContainerUser` has it not (moby/buildkit#5791); csi-proxy's pipe refused it
///   (sig-storage-local-static-provisioner#338).
/// - a HostProcess container has its account's token
///   (<https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/>).
pub const DEFAULT_SECURITY: &str = "O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)";

/// Whose endpoint a client takes for its server's. It looks before it sends anything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Owner {
    /// A pipe that LocalSystem (S-1-5-18) or Administrators (S-1-5-32-544) own; a Unix socket that a process of root
    /// or of the client's own user listens on, on Windows one whose file they own and a process listens on whose token
    /// has one of these two as owner of what it makes. Of a tcp port nobody can tell, so that it is none of these.
    #[default]
    Administrators,
    /// Any account's: for a server that runs as another one.
    Any,
}

/// Whose the folders are in which a server makes its Unix sockets. Who may enter a socket's folder decides who can
/// put another socket in its place; on Windows a socket has the access list that its folder gives it, and a process that
/// connects needs to write to it (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SocketFolder {
    /// The server's: it makes the folder if it is missing, and closes it to others before it makes the socket. On
    /// Windows LocalSystem and Administrators may enter, by a protected list; elsewhere the server's user (mode
    /// 0700). A folder of somebody else's, a link, and one that holds more than sockets and is open to others (on Linux: to their writing)
    /// keep the server from starting: such a folder is not changed.
    #[default]
    Own,
    /// The same with other files of the server's in it, which may be there before it is closed.
    OwnWithFiles,
    /// Somebody else's, as kubelet's `plugins_registry` is. It has to be there, and to let the server read it (on
    /// Windows: add files): while a socket is made in it, it is locked for other servers that start. Nothing of it is
    /// changed or looked at.
    Foreign,
}

/// What becomes of the file of a Unix socket when its server ends, be it by a shutdown or by being dropped. A server
/// that is killed leaves it on every system.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SocketAtEnd {
    /// It is removed.
    #[default]
    Removed,
    /// It is left, for the next server to replace: for a client that takes the file's absence for more than that
    /// nobody serves, as kubelet does in `plugins_registry` (<https://github.com/kubernetes/kubernetes/issues/126921>).
    /// [`crate::Endpoint::remove_socket`] removes it.
    Left,
}

/// The limits and times of a server. `Default` is fit for a node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Who may open the pipes, in SDDL
    /// (<https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format>).
    /// The default lets in LocalSystem and Administrators alone. It says nothing of Unix sockets, which are
    /// their owner's alone (mode 0600) or whom their folder lets in ([`SocketFolder`]), nor of tcp, where any
    /// process of this machine may connect. One that names no owner (`O:`) leaves the pipe to the default owner
    /// of the process's token, and clients that look at it ([`Owner`]) may refuse it.
    pub security: String,
    /// Whose the folders of its Unix sockets are.
    pub socket_folder: SocketFolder,
    /// What becomes of the files of its Unix sockets.
    pub socket_at_end: SocketAtEnd,
    /// The header of a request whose value the service is given ([`crate::Call::metadata`]), by its name in lower
    /// case. All others are read by nobody.
    pub metadata: Option<&'static str>,
    /// A connection that has not sent HTTP/2's preface after this long is closed. The default,
    /// 120 s, is grpc-go's.
    pub handshake_timeout: Duration,
    /// A connection on which no call has run for this long is ended as HTTP/2 says, so that no call
    /// is lost: the client makes another for its next one. What it keeps of memory and of the
    /// connections that there may be is then free.
    pub max_idle: Duration,
    /// How long an idle connection keeps its thread before it is parked.
    pub linger: Duration,
    /// A connection whose peer has taken nothing for this long while output waits is closed.
    pub write_stall_timeout: Duration,
    /// The longest a call may take, also when the client sets no deadline or a later one.
    pub call_timeout: Duration,
    /// How long an HTTP/2 PING may wait to be answered along with the next response.
    ///
    /// grpc-go pings after each response to measure bandwidth, one ping at a time; held back for
    /// a moment the pings and their answers fall together, which halves the pipe operations of a
    /// busy connection. Zero answers at once.
    pub ping_delay: Duration,
    /// The largest request message, in bytes.
    pub max_message_bytes: usize,
    /// The largest sum of requests on one connection that do not run yet, in bytes.
    pub max_receive_bytes: usize,
    /// What the clients may make the server hold together, in bytes: requests that are not whole,
    /// wait for a thread or run, and output that they do not take. Over it the connection that
    /// holds the most has its largest request refused as ResourceExhausted, or is closed when it
    /// has none; one that holds no more than 16 KiB is left alone.
    pub max_held_bytes: usize,
    /// Calls that one connection may have open; more are refused by HTTP/2 itself.
    pub max_concurrent_streams: u32,
    /// Calls that may run at the same time in the whole server; more get ResourceExhausted. One that waits
    /// ([`crate::Waiting`]) does not run.
    pub max_running_calls: usize,
    /// Of them, those that are kept for each group of services ([`crate::Service::group`]), so that no other's calls
    /// can keep all of its own from running. All groups together have half of the places at most, and each less
    /// where they are too many for that.
    pub reserved_calls: usize,
    /// Calls that may wait at the same time; what becomes of more is for the service to say. Each has a thread.
    pub max_waiting_calls: usize,
    /// Of them, those that one client process may have.
    pub max_process_waiting_calls: usize,
    /// Of them, those that one client process may have, with all its connections; more get
    /// ResourceExhausted. The default is half of the other's: change both together. A client
    /// whose process the system does not tell has no share to keep to, but for those that come by tcp: as the
    /// system tells the process of none of them, they are one client together.
    pub max_process_calls: usize,
    /// Connections of the whole server, silent ones included; more are closed at once.
    pub max_connections: usize,
    /// Of them, those that one client process may have; more are closed at once. The default is a
    /// quarter of the other's.
    pub max_process_connections: usize,
    /// Output of one connection that may wait for its peer, in bytes.
    pub max_queued_output: usize,
    /// The pipes' buffer sizes, in bytes; never zero, so that a write need not meet a read. Of a tcp connection
    /// the system buffers about as much.
    pub pipe_buffer_bytes: u32,
    /// Pipe instances that wait for a client at each endpoint.
    pub ready_instances: usize,
    /// The stack of a pool thread, in bytes.
    pub stack_bytes: usize,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            security: DEFAULT_SECURITY.to_owned(),
            socket_folder: SocketFolder::Own,
            socket_at_end: SocketAtEnd::Removed,
            metadata: None,
            handshake_timeout: Duration::from_secs(120),
            max_idle: Duration::from_secs(30 * 60),
            linger: Duration::from_millis(100),
            write_stall_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(600),
            ping_delay: Duration::from_millis(100),
            max_message_bytes: 4 << 20,
            max_receive_bytes: 16 << 20,
            max_held_bytes: 64 << 20,
            max_concurrent_streams: 100,
            max_running_calls: 256,
            reserved_calls: 16,
            max_waiting_calls: 512,
            max_process_waiting_calls: 128,
            max_process_calls: 128,
            max_connections: 4096,
            max_process_connections: 1024,
            max_queued_output: 256 << 10,
            pipe_buffer_bytes: 64 << 10,
            ready_instances: 2,
            stack_bytes: 512 << 10,
        }
    }
}
