//! A small HTTP server for `/metrics` and the pages of health.
//!
//! It answers one request for each connection, a few connections at a time, and ends each after a fixed time whatever
//! its peer does, and the oldest without a request when another comes (`seats`): a scraper does not notice, and a
//! client with many open connections gains nothing. Errors here cannot end the process or its start, or delay a call on
//! a pipe. Requests are parsed by `httparse`, the parser of hyper.

mod address;
mod exchange;
mod listening;
mod request;
mod seats;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

pub use self::address::{BarePort, BindAddress};
use self::listening::Listening;
pub use self::request::{Detail, Request};
use self::seats::Seats;

/// How long a connection may take from its beginning to its end.
const LIFE: Duration = Duration::from_secs(10);

/// The pause after a failed accept, for instance without free descriptors.
const REST: Duration = Duration::from_millis(100);

/// Of several failed accepts in a row one is logged in this time.
const TELLING: Duration = Duration::from_secs(10);

const STACK_BYTES: usize = 256 << 10;

/// Answers requests by their path.
pub trait Site: Send + Sync {
    /// The page at a path if made without a wait, and so served beside any number of others.
    fn at_once(&self, _path: &str) -> Option<Page> {
        None
    }

    /// The page at a path (without its query); `None` when there is none.
    fn page(&self, path: &str, detail: Detail) -> Option<Page>;
}

/// The answer to a request.
pub struct Page {
    pub status: Status,
    pub content_type: &'static str,
    pub body: String,
}

/// The statuses used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    /// Meant for another host.
    Misdirected,
    Unavailable,
}

/// A server, running until dropped.
pub struct HttpServer(Arc<Shared>);

struct Shared {
    site: Arc<dyn Site>,
    seats: Arc<Seats>,
    life: Duration,
    listening: Listening,
}

impl HttpServer {
    /// Listens and serves. An unavailable address (taken, or of an unknown name) is logged as an error and tried again:
    /// monitoring may not stop a node's work. `pages` names the pages in the log.
    pub fn start(address: &BindAddress, site: Arc<dyn Site>, pages: &'static str) -> Self {
        Self::with_lives_of(LIFE, address, site, pages)
    }

    fn with_lives_of(
        life: Duration,
        address: &BindAddress,
        site: Arc<dyn Site>,
        pages: &'static str,
    ) -> Self {
        let server = Self(Arc::new(Shared {
            site,
            seats: Arc::default(),
            life,
            listening: Listening::default(),
        }));
        let bound = server.0.listening.bind(address);
        if let Err(error) = &bound {
            tracing::error!(
                "{pages}: http on {address}: {error}; the pipes are served without, and it is tried again"
            );
        }
        let (address, shared) = (address.clone(), Arc::clone(&server.0));
        let spawned = thread::Builder::new()
            .name(String::from("http"))
            .stack_size(STACK_BYTES)
            .spawn(move || run(&address, bound.ok(), &shared, pages));
        if let Err(error) = spawned {
            tracing::error!("{pages} cannot be served: no thread: {error}");
        }
        server
    }

    /// Where a client of this machine reaches it; nothing while it has not got its address.
    pub fn address(&self) -> Option<SocketAddr> {
        let addresses = self.0.listening.addresses();
        addresses.first().copied().map(address::reachable)
    }
}

impl Drop for HttpServer {
    /// A listening thread ends with its next connection: this one.
    fn drop(&mut self) {
        for address in self.0.listening.close() {
            let address = address::reachable(address);
            // If it fails, there is no thread to wake, or the process ends anyway.
            let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        }
    }
}

fn run(address: &BindAddress, bound: Option<Vec<TcpListener>>, shared: &Arc<Shared>, pages: &str) {
    let listeners = bound.or_else(|| shared.listening.bind_later(address));
    for at in shared.listening.addresses() {
        announce(at, pages);
    }
    thread::scope(|scope| {
        for listener in listeners.unwrap_or_default() {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let spawned = thread.spawn_scoped(scope, move || serve(&listener, shared));
            if let Err(error) = spawned {
                tracing::error!("{pages} cannot be served on one of {address}: no thread: {error}");
            }
        }
    });
}

fn announce(at: SocketAddr, pages: &str) {
    tracing::info!("{pages} on http://{at}");
    if at.ip().is_unspecified() {
        let port = at.port();
        tracing::info!("that is every address of this machine; 127.0.0.1:{port} is loopback only");
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut last_logged: Option<Instant> = None;
    while !shared.listening.is_closing() {
        let accepted = listener.accept();
        if shared.listening.is_closing() {
            return;
        }
        let Err(error) = accepted.and_then(|(stream, _)| answer_aside(stream, shared)) else {
            continue;
        };
        if last_logged.is_none_or(|last_logged| last_logged.elapsed() >= TELLING) {
            tracing::warn!("http: a client is turned away: {error}");
            last_logged = Some(Instant::now());
        }
        thread::sleep(REST);
    }
}

/// Each connection has a thread of its own for its short life.
fn answer_aside(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let (site, life) = (Arc::clone(&shared.site), shared.life);
    shared.seats.take(stream, move |stream, seat| {
        if let Err(error) = exchange::run(stream, seat, &*site, life) {
            tracing::debug!("http: a client went away: {error}");
        }
    })
}

impl Page {
    /// A page of plain text.
    pub fn text(status: Status, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::seats::MOST;
    use super::{BarePort, BindAddress, Detail, HttpServer, Page, Site, Status};

    #[derive(Default)]
    struct Hello {
        /// Held while slow pages are to take long.
        slow: Mutex<()>,
        slow_pages: AtomicUsize,
    }

    impl Site for Hello {
        fn at_once(&self, path: &str) -> Option<Page> {
            (path == "/alive").then(|| Page::text(Status::Ok, "alive\n"))
        }

        fn page(&self, path: &str, _: Detail) -> Option<Page> {
            assert_ne!(path, "/panic", "as told");
            match path {
                "/hello" => Some(Page::text(Status::Ok, "hello\n")),
                "/slow" => {
                    self.slow_pages.fetch_add(1, Ordering::SeqCst);
                    drop(self.slow.lock().expect("nobody panics with it"));
                    Some(Page::text(Status::Ok, "slow\n"))
                }
                _ => None,
            }
        }
    }

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn start() -> HttpServer {
        at(&parsed(":0", BarePort::Loopback), &Arc::default())
    }

    fn parsed(text: &str, bare: BarePort) -> BindAddress {
        BindAddress::parse(text, bare).expect("an address")
    }

    fn at(address: &BindAddress, site: &Arc<Hello>) -> HttpServer {
        let site = Arc::clone(site) as Arc<dyn Site>;
        // No connection ends by its age.
        HttpServer::with_lives_of(10 * TIMEOUT, address, site, "/hello")
    }

    fn address_of(server: &HttpServer) -> SocketAddr {
        server.address().expect("the port was free")
    }

    fn ask(server: &HttpServer, request: &str) -> String {
        ask_at(address_of(server), request)
    }

    fn ask_at(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        // A refused peer may see a reset behind the answer.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn eventually(is_so: impl Fn() -> bool) {
        let patience = Instant::now() + TIMEOUT;
        while !is_so() {
            assert!(Instant::now() < patience, "it never came to pass");
            thread::yield_now();
        }
    }

    /// Guards: P35
    #[test]
    fn pages_are_served_and_all_else_is_refused() {
        let server = start();
        assert!(address_of(&server).ip().is_loopback());
        let answer = ask(
            &server,
            "GET /hello?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        );
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nContent-Length: 6\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nhello\n"), "{answer}");
        let head = ask(&server, "HEAD /hello HTTP/1.0\r\n\r\n");
        assert!(
            head.contains("Content-Length: 6") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        for (request, status) in [
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("POST /hello HTTP/1.1\r\n\r\n", "405"),
            ("GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
            ("nonsense\r\n\r\n", "400"),
            (
                &format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000)),
                "400",
            ),
        ] {
            let answer = ask(&server, request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
        }
    }

    /// A socket for both families reports an IPv4 address within an IPv6 one.
    /// Guards: P35
    #[test]
    fn a_page_on_every_address_is_for_no_other_host_on_loopback() {
        let server = at(&parsed(":0", BarePort::EveryAddress), &Arc::default());
        let port = address_of(&server).port();
        for ip in server.0.listening.addresses().iter().map(SocketAddr::ip) {
            let own = super::address::reachable(SocketAddr::new(ip, port));
            for own in [own, ([127, 0, 0, 1], port).into()] {
                let served = ask_at(own, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
                assert!(served.ends_with("hello\n"), "{own}: {served}");
                let evil = ask_at(own, "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n");
                assert!(evil.starts_with("HTTP/1.1 421 "), "{own}: {evil}");
            }
        }
        let shared = Arc::downgrade(&server.0);
        drop(server);
        eventually(|| shared.strong_count() == 0);
    }

    fn connected(server: &HttpServer, many: usize) -> Vec<TcpStream> {
        let connect = || TcpStream::connect(address_of(server)).expect("it listens");
        (0..many).map(|_| connect()).collect()
    }

    /// Waits until the server closes it; whether it did.
    fn is_closed(mut stream: &TcpStream) -> bool {
        stream.set_read_timeout(Some(TIMEOUT)).expect("set");
        match stream.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    fn is_open(stream: &TcpStream) -> bool {
        stream.set_nonblocking(true).expect("set");
        let looked = stream.peek(&mut [0]);
        looked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// They stay, and so do clients with an incomplete request.
    /// Guards: P34, P36
    #[test]
    fn silent_clients_do_not_keep_others_out() {
        let server = start();
        let silent = connected(&server, MOST + 4);
        for mut client in &silent {
            // A closed client notices here.
            let _ = client.write_all(b"GET /hello HTTP/1.1\r\n");
        }
        assert!(ask(&server, "GET /hello HTTP/1.1\r\n\r\n").ends_with("hello\n"));
        let (oldest, others) = silent.split_at(5);
        assert!(oldest.iter().all(is_closed), "they made room");
        assert!(others.iter().all(is_open), "and they need not");
    }

    /// Guards: P34
    #[test]
    fn slow_pages_are_bounded_and_do_not_block_fast_ones() {
        let site = Arc::<Hello>::default();
        let server = at(&parsed(":0", BarePort::Loopback), &site);
        let slow = site.slow.lock().expect("nobody panics with it");
        let waiting = connected(&server, MOST);
        for mut client in &waiting {
            let sent = client.write_all(b"GET /slow HTTP/1.1\r\n\r\n");
            sent.expect("it is read");
        }
        eventually(|| site.slow_pages.load(Ordering::SeqCst) == MOST);
        let refused = ask(&server, "GET /hello HTTP/1.1\r\n\r\n");
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
        assert!(ask(&server, "GET /alive HTTP/1.1\r\n\r\n").ends_with("alive\n"));
        drop(slow);
        for mut client in waiting {
            let mut answer = String::new();
            client.read_to_string(&mut answer).expect("an answer");
            assert!(answer.ends_with("slow\n"), "{answer}");
        }
        eventually(|| ask(&server, "GET /hello HTTP/1.1\r\n\r\n").ends_with("hello\n"));
    }

    /// Guards: P36
    #[test]
    fn a_page_that_panics_costs_its_connection_alone() {
        let server = start();
        for _ in 0..=MOST {
            // The last of them finds a place only if the earlier ones gave theirs back.
            eventually(|| ask(&server, "GET /other HTTP/1.1\r\n\r\n").contains(" 404 "));
            assert_eq!(ask(&server, "GET /panic HTTP/1.1\r\n\r\n"), "");
        }
        eventually(|| ask(&server, "GET /hello HTTP/1.1\r\n\r\n").ends_with("hello\n"));
    }

    #[test]
    fn a_dropped_server_gives_its_address_back() {
        let server = start();
        let address = address_of(&server);
        assert!(TcpListener::bind(address).is_err(), "taken");
        drop(server);
        eventually(|| TcpListener::bind(address).is_ok());
    }

    #[test]
    fn a_server_that_never_got_its_address_ends_when_it_is_dropped() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("it is bound").to_string();
        let server = at(&parsed(&address, BarePort::Loopback), &Arc::default());
        assert_eq!(server.address(), None);
        let shared = Arc::downgrade(&server.0);
        drop(server);
        // Its thread has the rest of it.
        eventually(|| shared.strong_count() == 0);
        drop(taken);
    }
}
