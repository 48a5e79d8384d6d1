//! Options of a server, for operators and tests.

use std::time::Duration;

/// The default access to the pipes: LocalSystem and Administrators alone. Administrators own them, as clients check
/// ([`Owner`]).
///
/// Without an owner here the pipe gets the default one of its creator's token
/// (<https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object>), for an administrator possibly the
/// person. A process without the right to name Administrators as the owner could not serve under this list either: only
/// these two may make a second instance.
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

/// The owners that a client trusts to serve an endpoint. It checks before it sends anything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Owner {
    /// A pipe owned by LocalSystem (S-1-5-18) or Administrators (S-1-5-32-544); a Unix socket served by a process of
    /// root or of the client's own user. On Windows one of these two must own the socket's file, and the serving
    /// process's token must name one of them as owner of new objects. The owner of a tcp port is unknown, so it never
    /// counts.
    #[default]
    Administrators,
    /// These, and on Windows the client's own user: in a container, which has neither of them.
    AdministratorsOrOwnUser,
    /// Any account, for a server that runs under another one.
    Any,
}

/// The owner of the folders for a server's Unix sockets. Access to the folder decides who can replace a socket; on
/// Windows a socket inherits its folder's access list, and a connecting process needs write access to it
/// (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SocketFolder {
    /// The server's: it makes the folder if it is missing, and closes it to others before it makes the socket. On
    /// Windows LocalSystem and Administrators may enter, by a protected list; elsewhere the server's user (mode 0700).
    /// The server does not start, and changes nothing, if the folder is another owner's, is a link, or holds more than
    /// sockets and is open to others (on Linux: to their writing).
    #[default]
    Own,
    /// The same with other files of the server in it; these may exist before it is closed.
    OwnWithFiles,
    /// Another owner's, such as kubelet's `plugins_registry`. It has to exist, and the server must be able to read it
    /// (on Windows: to add files), since it locks the folder against other starting servers while it makes a socket.
    /// The server neither changes nor inspects the folder.
    Foreign,
}

/// The fate of a Unix socket's file when its server is shut down or dropped. A killed server leaves it on every system.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SocketAtEnd {
    /// It is removed.
    #[default]
    Removed,
    /// It is left for the next server to replace, since kubelet takes a missing file in `plugins_registry` for more
    /// than a stopped server (<https://github.com/kubernetes/kubernetes/issues/126921>).
    /// [`crate::Endpoint::remove_socket`] removes it.
    Left,
}

/// The limits and times of a server. `Default` is fit for a node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Who may open the pipes, in SDDL
    /// (<https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format>). The default lets in
    /// LocalSystem and Administrators alone. It does not apply to Unix sockets, protected by their mode (0600) or their
    /// folder ([`SocketFolder`]), nor to tcp, open to any process of this machine. Without an owner (`O:`) the pipe
    /// gets the default owner of the process's token, and clients that check it ([`Owner`]) may refuse the pipe.
    pub security: String,
    /// The owner of the folders of its Unix sockets.
    pub socket_folder: SocketFolder,
    /// The fate of the files of its Unix sockets.
    pub socket_at_end: SocketAtEnd,
    /// Clients that come and hang up are no lines of the log; what else ends a connection is.
    pub quiet_clients: bool,
    /// The request header passed to the service ([`crate::Call::metadata`]), by its name in lower case. Nothing reads
    /// the others.
    pub metadata: Option<&'static str>,
    /// A connection that has not sent HTTP/2's preface after this long is closed. The default,
    /// 120 s, is grpc-go's.
    pub handshake_timeout: Duration,
    /// A connection without a running call for this long gets HTTP/2's graceful end, so no call is
    /// lost: the client opens another for its next one. This frees its memory and its place among
    /// the connections.
    pub max_idle: Duration,
    /// How long an idle connection keeps its thread before it is parked.
    pub linger: Duration,
    /// A connection is closed if its peer takes nothing for this long while output waits.
    pub write_stall_timeout: Duration,
    /// The longest a call may take, also when the client sets no deadline or a later one.
    pub call_timeout: Duration,
    /// How long an HTTP/2 PING may wait to be answered along with the next response.
    ///
    /// grpc-go pings after each response to measure bandwidth, one ping at a time; held back for a
    /// moment the pings and their answers fall together, and a busy connection needs half the pipe
    /// operations. Zero answers at once.
    pub ping_delay: Duration,
    /// The largest request message, in bytes.
    pub max_message_bytes: usize,
    /// The largest sum of requests on one connection that are not running yet, in bytes.
    pub max_receive_bytes: usize,
    /// The bytes of all clients together: incomplete, queued and running requests, and output not
    /// taken. Above it, the largest request of the connection with the most bytes is refused as
    /// ResourceExhausted, or this connection is closed if it has none; connections with at most 16
    /// KiB are left alone.
    pub max_held_bytes: usize,
    /// Calls that one connection may have open; more are refused by HTTP/2 itself.
    pub max_concurrent_streams: u32,
    /// Running calls in the whole server; more get ResourceExhausted. A waiting call ([`crate::Waiting`]) does not
    /// count.
    pub max_running_calls: usize,
    /// Of them, the places reserved for each group of services ([`crate::Service::group`]), so other groups' calls
    /// cannot block all of its own. All groups together have half of the places at most, and each less if there are too
    /// many groups.
    pub reserved_calls: usize,
    /// Calls that may wait at the same time; the service decides about more. Each has a thread.
    pub max_waiting_calls: usize,
    /// The most of them for one client process.
    pub max_process_waiting_calls: usize,
    /// The most running calls of one client process, over all its connections; more get ResourceExhausted. The default
    /// is half of the other's: change both together. A client of unknown process has no share to keep to, except by
    /// tcp: there the system reports no process, and all are one client together.
    pub max_process_calls: usize,
    /// Connections of the whole server, silent ones included; more are closed at once.
    pub max_connections: usize,
    /// The most of them for one client process; more are closed at once. The default is a quarter
    /// of the other's.
    pub max_process_connections: usize,
    /// Output of one connection that may wait for its peer, in bytes.
    pub max_queued_output: usize,
    /// The pipes' buffer sizes, in bytes; never zero, so a write need not meet a read. The system buffers about as much
    /// for a tcp connection.
    pub pipe_buffer_bytes: u32,
    /// Waiting pipe instances of each endpoint.
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
            quiet_clients: false,
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
