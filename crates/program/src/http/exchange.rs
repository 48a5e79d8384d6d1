use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::seats::{Refusal, Seat};
use super::{Page, Request, Site, Status};
use crate::hidden;

/// How long a read may take before a look whether the connection is to make room.
const SLICE: Duration = Duration::from_millis(100);

/// The longest request line and headers, in bytes.
const LONGEST_HEAD: usize = 8 << 10;

/// The bytes of one write.
const PIECE: usize = 16 << 10;

/// Answers the one request of a connection, within so long from its beginning to its end.
pub(super) fn run(
    stream: &TcpStream,
    mut seat: Seat,
    site: &dyn Site,
    life: Duration,
) -> io::Result<()> {
    let deadline = Instant::now() + life;
    let head = read_head(stream, &seat, deadline)?;
    let request = Request::parse(&head);
    let page = match &request {
        Some(request) if is_misled(request, stream) => {
            Page::text(Status::Misdirected, "this is another host\n")
        }
        Some(request) => page(request, &mut seat, site)?,
        None => Page::text(Status::BadRequest, "bad request\n"),
    };
    let wants_body = request.is_none_or(|request| request.method() != "HEAD");
    write(stream, &rendered(&page, wants_body), deadline)?;
    stream.shutdown(Shutdown::Write)
}

/// Whether a browser on this machine was led here by a foreign name. Clients from elsewhere read the pages anyway.
fn is_misled(request: &Request, stream: &TcpStream) -> bool {
    let own = stream.local_addr();
    own.is_ok_and(|own| own.ip().to_canonical().is_loopback()) && !request.names_only_this_host()
}

/// An error when the connection was closed to make room for another.
fn page(request: &Request, seat: &mut Seat, site: &dyn Site) -> io::Result<Page> {
    if !matches!(request.method(), "GET" | "HEAD") {
        let refusal = Page::text(Status::MethodNotAllowed, "only GET and HEAD\n");
        return Ok(refusal);
    }
    if let Some(page) = site.at_once(request.path()) {
        return Ok(page);
    }
    let page = match seat.begin_answer() {
        Ok(()) => site.page(request.path(), request.detail()),
        Err(Refusal::Full) => Some(Page::text(Status::Unavailable, "too many are answered\n")),
        Err(Refusal::Shed) => return Err(io::ErrorKind::ConnectionAborted.into()),
    };
    Ok(page.unwrap_or_else(|| Page::text(Status::NotFound, "not found\n")))
}

/// The bytes up to the empty line, or as many as a request may have.
fn read_head(mut stream: &TcpStream, seat: &Seat, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !Request::is_complete(&head) && head.len() < LONGEST_HEAD {
        stream.set_read_timeout(Some(left(deadline)?.min(SLICE)))?;
        match stream.read(&mut piece) {
            // Not every system wakes a read when another thread closes its connection.
            _ if seat.is_shed() => return Err(io::ErrorKind::ConnectionAborted.into()),
            Ok(0) => break,
            Ok(count) => head.extend_from_slice(&piece[..count]),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(head)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn write(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        let piece = &bytes[..bytes.len().min(PIECE)];
        match stream.write(piece)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn rendered(page: &Page, wants_body: bool) -> Vec<u8> {
    let lines = page.body.split_inclusive('\n');
    let body: String = lines.map(hidden::shown).collect();
    let mut bytes = format!(
        "HTTP/1.1 {}\r\n\
         Content-Type: {}\r\n\
         Content-Length: {}\r\n\
         Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n",
        page.status.line(),
        page.content_type,
        body.len()
    )
    .into_bytes();
    if wants_body {
        bytes.extend_from_slice(body.as_bytes());
    }
    bytes
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::Misdirected => "421 Misdirected Request",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}
