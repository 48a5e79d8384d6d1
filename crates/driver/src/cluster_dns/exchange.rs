//! One question and its answer: over UDP, and over TCP if the answer is too long for that (RFC 1035, 4.2).

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use simple_dns::{
    CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, SimpleDnsError, TYPE, header_buffer,
};
use uuid::Uuid;

/// The longest datagram that is read: twice what UDP carries without an extension.
const LONGEST_DATAGRAM: usize = 1024;

pub(super) struct Query<'a> {
    id: u16,
    question: Question<'a>,
    message: Vec<u8>,
}

impl<'a> Query<'a> {
    pub(super) fn new(name: &'a str, kind: TYPE) -> Result<Self, SimpleDnsError> {
        let (id, kind, class) = (random_id(), QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN));
        let question = Question::new(Name::new(name)?, kind, class, false);
        let mut packet = Packet::new_query(id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        packet.questions.push(question.clone());
        Ok(Self {
            id,
            message: packet.build_bytes_vec()?,
            question,
        })
    }

    pub(super) fn name(&self) -> &Name<'a> {
        &self.question.qname
    }

    /// Asks a server, which has until then for an attempt that begins now.
    pub(super) fn ask(
        &self,
        server: SocketAddr,
        until: impl Fn() -> Instant,
    ) -> io::Result<Vec<u8>> {
        // A datagram may be lost.
        let again = |_| self.over_udp(server, until());
        let answer = self.over_udp(server, until()).or_else(again)?;
        match header_buffer::has_flags(&answer, PacketFlag::TRUNCATION) {
            Ok(false) => Ok(answer),
            _ => self.over_tcp(server, until()),
        }
    }

    /// The first datagram that is an answer to this. A connected socket gets none but those of its peer, and each
    /// attempt has a socket and so a port of its own.
    fn over_udp(&self, server: SocketAddr, deadline: Instant) -> io::Result<Vec<u8>> {
        left(deadline)?;
        let socket = UdpSocket::bind(match server {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        })?;
        socket.connect(server)?;
        socket.send(&self.message)?;
        let mut datagram = vec![0; LONGEST_DATAGRAM];
        loop {
            socket.set_read_timeout(Some(left(deadline)?))?;
            let length = socket.recv(&mut datagram).map_err(silence)?;
            if self.is_answered_by(&datagram[..length]) {
                datagram.truncate(length);
                return Ok(datagram);
            }
        }
    }

    fn over_tcp(&self, server: SocketAddr, deadline: Instant) -> io::Result<Vec<u8>> {
        let stream = TcpStream::connect_timeout(&server, left(deadline)?);
        let mut stream = stream.map_err(silence)?;
        stream.set_write_timeout(Some(left(deadline)?))?;
        let length = u16::try_from(self.message.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes(), &*self.message].concat())?;
        let mut length = [0; 2];
        fill(&mut stream, &mut length, deadline)?;
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        fill(&mut stream, &mut answer, deadline)?;
        match self.is_answered_by(&answer) {
            true => Ok(answer),
            false => Err(io::Error::other("the answer is to another question")),
        }
    }

    /// Whether a message answers this question and no other. One that was cut may end anywhere, and counts by its head.
    fn is_answered_by(&self, message: &[u8]) -> bool {
        let has = |flag| header_buffer::has_flags(message, flag) == Ok(true);
        if header_buffer::id(message) != Ok(self.id) || !has(PacketFlag::RESPONSE) {
            return false;
        }
        if has(PacketFlag::TRUNCATION) {
            return true;
        }
        let packet = Packet::parse(message);
        packet.is_ok_and(|packet| match packet.questions.as_slice() {
            [only] => only.qname == self.question.qname && only.qtype == self.question.qtype,
            _ => false,
        })
    }
}

/// Not to be guessed: these two bytes of a random UUID are all random (RFC 9562, 5.4).
fn random_id() -> u16 {
    let [first, second, ..] = *Uuid::new_v4().as_bytes();
    u16::from_be_bytes([first, second])
}

fn fill(stream: &mut TcpStream, mut rest: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !rest.is_empty() {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(rest).map_err(silence)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => rest = &mut rest[length..],
        }
    }
    Ok(())
}

fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(silence(io::ErrorKind::TimedOut.into())),
        left => Ok(left),
    }
}

/// The same error, in words that say who is silent.
fn silence(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "the server does not answer")
        }
        _ => error,
    }
}
