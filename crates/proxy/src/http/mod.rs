//! A small HTTP server for `/metrics` and `/healthz`.
//!
//! It answers one request for each connection, a few connections at a time, and ends each after a
//! fixed time whatever its peer does: a scraper notices nothing of that, and whoever would hold
//! connections open gains nothing. What happens here cannot end the process or delay a call on a
//! pipe. Requests are parsed by `httparse`, the parser of hyper.

mod address;
mod exchange;

use std::io;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

pub use self::address::BindAddress;

/// Connections at the same time; more are closed at once.
const MOST: usize = 16;

/// How long it rests after a connection that could not be accepted, when files run out for instance.
const REST: Duration = Duration::from_millis(100);

const STACK_BYTES: usize = 256 << 10;

/// Answers requests by their path.
pub(crate) trait Site: Send + Sync {
    /// The page at a path (without its query); `None` when there is none.
    fn page(&self, path: &str) -> Option<Page>;
}

/// What a request is answered with.
pub(crate) struct Page {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

/// The statuses that are needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    Unavailable,
}

/// A server that runs until this is dropped.
pub(crate) struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    site: Arc<dyn Site>,
    open: AtomicUsize,
    is_closing: AtomicBool,
}

impl HttpServer {
    /// Listens and serves.
    ///
    /// # Errors
    /// The address cannot be resolved or is taken, or there is no thread to be had.
    pub(crate) fn start(address: &BindAddress, site: Arc<dyn Site>) -> io::Result<Self> {
        let listener = TcpListener::bind(&*address.resolve()?)?;
        let server = Self {
            address: listener.local_addr()?,
            shared: Arc::new(Shared {
                site,
                open: AtomicUsize::new(0),
                is_closing: AtomicBool::new(false),
            }),
        };
        let shared = Arc::clone(&server.shared);
        thread::Builder::new()
            .name(String::from("http"))
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&listener, &shared))?;
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    /// The listening thread ends with the next connection, which is this one.
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Release);
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(address::loopback(address.ip()));
        }
        // When it fails there is nobody to wake, or the process is about to end anyway.
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_closing.load(Ordering::Acquire) {
            return;
        }
        let outcome = accepted.and_then(|(stream, _)| answer_aside(stream, shared));
        if let Err(error) = outcome {
            tracing::warn!("http: a client is turned away: {error}");
            thread::sleep(REST);
        }
    }
}

/// Each connection has a thread of its own for its short life.
fn answer_aside(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(place) = Place::take(shared) else {
        // Dropping the stream closes it.
        return Ok(());
    };
    thread::Builder::new()
        .name(String::from("http-client"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            if let Err(error) = exchange::run(&stream, &*place.0.site) {
                tracing::debug!("http: a client went away: {error}");
            }
        })
        .map(drop)
}

/// One of the [`MOST`] connections, until this is dropped.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.open.fetch_add(1, Ordering::AcqRel);
        let place = Self(Arc::clone(shared));
        (before < MOST).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Page {
    /// A page of plain text.
    pub(crate) fn text(status: Status, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::sync::Arc;

    use super::BindAddress;
    use super::HttpServer;
    use super::MOST;
    use super::Page;
    use super::Site;
    use super::Status;

    struct Hello;

    impl Site for Hello {
        fn page(&self, path: &str) -> Option<Page> {
            (path == "/hello").then(|| Page::text(Status::Ok, "hello\n"))
        }
    }

    fn start() -> HttpServer {
        let address = BindAddress::parse(":0").expect("an address");
        HttpServer::start(&address, Arc::new(Hello)).expect("a free port")
    }

    fn ask(server: &HttpServer, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        // A refused peer may see a reset behind the answer.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn pages_are_served_and_all_else_is_refused() {
        let server = start();
        assert!(server.address().ip().is_loopback());
        let answer = ask(&server, "GET /hello?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
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

    #[test]
    fn silent_clients_do_not_keep_others_out() {
        let server = start();
        let silent: Vec<TcpStream> = (0..MOST + 4)
            .map(|_| TcpStream::connect(server.address()).expect("it listens"))
            .collect();
        drop(silent);
        // The places come free as soon as the server notices.
        while !ask(&server, "GET /hello HTTP/1.1\r\n\r\n").ends_with("hello\n") {}
    }

    #[test]
    fn a_dropped_server_gives_its_address_back() {
        let server = start();
        let address = BindAddress::parse(&server.address().to_string()).expect("an address");
        assert!(
            HttpServer::start(&address, Arc::new(Hello)).is_err(),
            "taken"
        );
        drop(server);
        while HttpServer::start(&address, Arc::new(Hello)).is_err() {}
    }
}
