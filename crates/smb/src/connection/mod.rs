//! One connection: one server, port and user, and the shares that are open on it; one request at a time, or some whose
//! answers wait for each other.

#[cfg(test)]
mod hostile;
mod logon;
mod socket;

use std::fmt;
use std::time::Instant;

use self::socket::Socket;
use crate::credentials::Credentials;
use crate::crypto::{Cipher, Keys};
use crate::error::{Failure, Operation, Outcome, Result};
use crate::name::Name;
use crate::status;
use crate::wire::ioctl::Portion;
use crate::wire::{self, ASYNC, Address, Header, Request, SIGNED, tree};

/// More credits than this are of no use.
const MOST_CREDITS: usize = 1024;
/// An answer has so many bytes beside the data that its request asks for: headers, names, interim answers.
const PER_REQUEST: usize = 4 * 1024;

/// An answer's header, and the whole of it.
pub(crate) type Answer = (Header, Vec<u8>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A name in DNS, or an address without brackets.
    pub host: String,
    /// 445, unless a mount option has another.
    pub port: u16,
}

/// Whether messages must be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// If the server or its share demands it; else they are signed.
    Offered,
    /// From the opening of the share on; a server without AES-GCM is refused.
    Required,
}

/// A share, and as whom it is opened.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub server: Server,
    pub share: Name,
    pub credentials: Credentials,
    pub privacy: Privacy,
}

/// A connection, from its first message on.
pub(crate) struct Connection {
    socket: Socket,
    /// Of the next request; ids that the server has not made yet are 0.
    next: Address,
    credits: usize,
    protection: Protection,
    /// Of both sides, if the server has one of ours.
    cipher: Option<Cipher>,
    /// What goes with the next requests, in messages of their own.
    later: Vec<Vec<Request>>,
    has_ended: bool,
    /// What the server copies for one request, unless it copies nothing.
    pub(crate) server_copies: Option<Portion>,
}

enum Protection {
    /// Before the session has keys.
    None,
    Signed(Keys),
    Encrypted(Keys),
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.host.escape_debug(), self.port)
    }
}

impl Login {
    /// `\\server`, for requests and errors.
    pub(crate) fn server(&self) -> String {
        format!(r"\\{}", self.server.host)
    }
}

impl Connection {
    pub(crate) fn open(login: &Login, by: Instant) -> Result<Self> {
        let at = |operation: Operation| {
            move |failure: Failure| failure.at(operation, login.server.to_string())
        };
        let socket = Socket::connect(&login.server, by).map_err(at(Operation::Connect))?;
        let mut opened = Self {
            socket,
            next: Address::default(),
            credits: 1,
            protection: Protection::None,
            cipher: None,
            later: Vec::new(),
            has_ended: false,
            server_copies: Some(Portion::MOST),
        };
        let preauth = opened.negotiate(login.privacy);
        let preauth = preauth.map_err(at(Operation::Negotiate))?;
        let logon = opened.log_on(login, preauth);
        logon.map_err(at(Operation::LogOn))?;
        let place = format!(r"{}\{}", login.server().escape_debug(), login.share);
        let encrypted = match login.privacy {
            Privacy::Offered => Ok(()),
            Privacy::Required => opened.encrypt(),
        };
        encrypted.map_err(|failure| failure.at(Operation::OpenShare, place))?;
        Ok(opened)
    }

    /// From here on, what it does must end by then.
    pub(crate) fn end_by(&mut self, by: Instant) {
        self.socket.by = by;
    }

    /// Sends a request, once, and returns its answer if its status is success.
    pub(crate) fn call(&mut self, request: Request) -> Outcome<Vec<u8>> {
        let answer = self.exchange(request)?;
        self.expect_success(&answer)?;
        Ok(answer.1)
    }

    pub(crate) fn exchange(&mut self, request: Request) -> Outcome<Answer> {
        let mut answers = self.exchange_all(&[vec![request]])?;
        answers.pop().ok_or(Failure::Ended)
    }

    /// Sends a request with the next ones: its answer tells only whether the connection goes on.
    pub(crate) fn later(&mut self, request: Request) {
        self.later.push(vec![request.of_share(self.next.tree)]);
    }

    /// Sends requests, each once, and returns their answers in the order of the requests. The server carries out those of
    /// a chain one after the other, chains in any order. Any failure here is the end of the connection: nothing is known
    /// of the bytes that follow.
    pub(crate) fn exchange_all(&mut self, chains: &[Vec<Request>]) -> Outcome<Vec<Answer>> {
        if self.has_ended {
            return Err(Failure::Ended);
        }
        let before = std::mem::take(&mut self.later);
        let all: Vec<&[Request]> = before.iter().chain(chains).map(Vec::as_slice).collect();
        let mut answers = Vec::new();
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.affordable(rest));
            let sent = self.send(now);
            let done = sent.and_then(|to| self.receive(now, to));
            self.has_ended = done.is_err();
            answers.extend(done?);
            rest = later;
        }
        for answer in answers.drain(..before.len()) {
            match self.expect_success(&answer) {
                Err(failure) if failure.ends_connection() => return Err(failure),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(answers)
    }

    /// What a status other than success means, for this connection too.
    pub(crate) fn expect_success(&mut self, (header, _): &Answer) -> Outcome<()> {
        if header.status == status::SUCCESS {
            return Ok(());
        }
        let failure = status::failure(header.status);
        self.has_ended |= failure.ends_connection();
        Err(failure)
    }

    /// Ends the connection after an answer that breaks the protocol.
    pub(crate) fn malformed(&mut self, what: &'static str) -> Failure {
        self.has_ended = true;
        Failure::Malformed(what)
    }

    /// Opens a share, to which the next requests go, and returns its number.
    pub(crate) fn open_share(&mut self, server: &str, share: &Name) -> Outcome<u32> {
        let share = String::from_utf16_lossy(share.units());
        self.select(0);
        let answer = self.exchange(tree::request(&format!(r"{server}\{share}")))?;
        self.expect_success(&answer)?;
        let (header, answer) = answer;
        // An asynchronous answer has another number in the place of the share's.
        let share = tree::Answer::parse(&answer).filter(|_| header.flags & ASYNC == 0);
        let share = share.ok_or_else(|| self.malformed("answer about a share"))?;
        if !share.is_disk {
            self.has_ended = true;
            return Err(Failure::NotADisk);
        }
        if share.needs_encryption {
            self.encrypt().inspect_err(|_| self.has_ended = true)?;
        }
        self.select(header.tree);
        Ok(header.tree)
    }

    /// How many requests the server takes now.
    pub(crate) fn credits(&self) -> usize {
        self.credits
    }

    /// The share to which the next requests go, by its number.
    pub(crate) fn select(&mut self, share: u32) {
        self.next.tree = share;
    }

    /// From here on each message is encrypted, in both directions.
    fn encrypt(&mut self) -> Outcome<()> {
        if self.cipher.is_none() {
            return Err(Failure::NoEncryption);
        }
        self.protection = match std::mem::replace(&mut self.protection, Protection::None) {
            Protection::Signed(keys) | Protection::Encrypted(keys) => Protection::Encrypted(keys),
            Protection::None => return Err(Failure::Ended),
        };
        Ok(())
    }

    fn affordable(&self, chains: &[&[Request]]) -> usize {
        let mut needed = 0;
        let affordable = chains.iter().take_while(|chain| {
            needed += chain.len();
            needed <= self.credits
        });
        affordable.count()
    }

    fn send(&mut self, chains: &[&[Request]]) -> Outcome<Address> {
        if chains.is_empty() {
            return Err(Failure::Malformed("number of credits"));
        }
        let to = self.next;
        let mut messages = Vec::new();
        for chain in chains {
            messages.push(self.protect(chain)?);
            self.credits = self.credits.saturating_sub(chain.len());
            self.next.message += u64::try_from(chain.len()).unwrap_or(u64::MAX);
        }
        self.socket.send(&messages)?;
        Ok(to)
    }

    fn receive(&mut self, chains: &[&[Request]], to: Address) -> Outcome<Vec<Answer>> {
        let requests: Vec<&Request> = chains.iter().copied().flatten().collect();
        let data: usize = requests.iter().map(|request| request.asks_for).sum();
        let mut left = data + requests.len() * PER_REQUEST;
        let mut answers: Vec<Option<Answer>> = requests.iter().map(|_| None).collect();
        while answers.iter().any(Option::is_none) {
            let frame = self.socket.receive(left)?;
            left -= frame.len();
            for (header, message) in self.unprotect(frame)? {
                let place = header.message.checked_sub(to.message);
                let place = place.and_then(|place| usize::try_from(place).ok());
                let open = place.and_then(|at| Some((requests.get(at)?, answers.get_mut(at)?)));
                let open = open.filter(|(request, answer)| {
                    answer.is_none()
                        && header.command == request.command as u16
                        // The server makes the ids of sessions and trees that a request still lacks.
                        && (to.session == 0 || header.session == to.session)
                        && (header.flags & ASYNC != 0 || request.is_to(to.tree, header.tree))
                });
                let (_, answer) = open.ok_or(Failure::Malformed("answer, to another request"))?;
                self.credits = (self.credits + usize::from(header.credits)).min(MOST_CREDITS);
                if !header.is_interim() {
                    *answer = Some((header, message));
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn protect(&mut self, chain: &[Request]) -> Outcome<Vec<u8>> {
        let plain = || wire::chain(chain, self.next, 0).concat();
        match &mut self.protection {
            Protection::None => Ok(plain()),
            Protection::Signed(keys) => {
                let mut messages = wire::chain(chain, self.next, SIGNED);
                messages.iter_mut().for_each(|message| keys.sign(message));
                Ok(messages.concat())
            }
            Protection::Encrypted(keys) => keys.seal(self.next.session, &plain()),
        }
    }

    fn unprotect(&self, frame: Vec<u8>) -> Outcome<Vec<Answer>> {
        let frame = match &self.protection {
            Protection::Encrypted(keys) => keys.open(self.next.session, &frame)?,
            Protection::None | Protection::Signed(_) => frame,
        };
        let answers = wire::split(frame).ok_or(Failure::Malformed("header"))?;
        if let Protection::Signed(keys) = &self.protection {
            answers.iter().try_for_each(|answer| verify(keys, answer))?;
        }
        Ok(answers)
    }
}

/// Only an interim answer may lack a signature (MS-SMB2 3.2.5.1.3): it makes the client wait, until the deadline.
fn verify(keys: &Keys, (header, message): &Answer) -> Outcome<()> {
    match header.flags & SIGNED {
        0 if header.is_interim() => Ok(()),
        0 => Err(Failure::Unprotected("it is not signed")),
        _ if keys.verify(message) => Ok(()),
        _ => Err(Failure::Unprotected("its signature is wrong")),
    }
}
