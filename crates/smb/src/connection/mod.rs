//! One connection: one server, port, user and share; one request at a time.

#[cfg(test)]
mod hostile;
mod logon;
mod socket;

use std::fmt;
use std::time::Instant;

use self::socket::Socket;
use crate::credentials::Credentials;
use crate::crypto::Keys;
use crate::error::{Failure, Operation, Outcome, Result};
use crate::name::Name;
use crate::status;
use crate::wire::{ASYNC, Address, Command, Header, Request, SIGNED, tree};

/// More credits than this are of no use to one request at a time.
const MOST_CREDITS: u32 = 1024;

/// A server, by name or address.
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
    /// From the opening of the share on; a server without AES-128-GCM is refused.
    Required,
}

/// An open share.
pub(crate) struct Connection {
    link: Link,
    tree: u32,
}

/// A connection, from its first message on.
struct Link {
    socket: Socket,
    session: u64,
    next: u64,
    credits: u32,
    protection: Protection,
    can_encrypt: bool,
    has_ended: bool,
}

enum Protection {
    /// Before the session has keys.
    None,
    Signed(Keys),
    Encrypted(Keys),
}

impl Server {
    fn object(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.host.escape_debug(), self.port)
    }
}

impl Connection {
    /// Connects, logs on and opens a share.
    pub(crate) fn open(
        server: &Server,
        share: &Name,
        credentials: &Credentials,
        privacy: Privacy,
        by: Instant,
    ) -> Result<Self> {
        let at =
            |operation: Operation| move |failure: Failure| failure.at(operation, server.object());
        let socket = Socket::connect(server, by).map_err(at(Operation::Connect))?;
        let mut link = Link::new(socket);
        let preauth = link
            .negotiate(privacy, by)
            .map_err(at(Operation::Negotiate))?;
        link.log_on(server, credentials, preauth, by)
            .map_err(at(Operation::LogOn))?;
        let path = format!(
            r"\\{}\{}",
            server.host,
            String::from_utf16_lossy(share.units())
        );
        let opened = link.open_share(&path, privacy, by);
        let tree = opened.map_err(|failure| {
            let object = format!(r"\\{}\{share}", server.host.escape_debug());
            failure.at(Operation::OpenShare, object)
        })?;
        Ok(Self { link, tree })
    }

    /// Sends a request, once, and returns its answer if its status is success.
    pub(crate) fn call(&mut self, request: &Request, by: Instant) -> Outcome<Vec<u8>> {
        match self.exchange(request, by)? {
            (status::SUCCESS, answer) => Ok(answer),
            (status, _) => Err(status::failure(status)),
        }
    }

    /// Sends a request, once, and returns its answer with its status.
    pub(crate) fn exchange(&mut self, request: &Request, by: Instant) -> Outcome<(u32, Vec<u8>)> {
        let (header, answer) = self.link.exchange(request, self.tree, by)?;
        Ok((header.status, answer))
    }

    /// Ends the connection after an answer that breaks the protocol.
    pub(crate) fn end(&mut self, failure: Failure) -> Failure {
        self.link.has_ended = true;
        failure
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.link.has_ended
    }
}

impl Link {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            session: 0,
            next: 0,
            credits: 1,
            protection: Protection::None,
            can_encrypt: false,
            has_ended: false,
        }
    }

    fn open_share(&mut self, path: &str, privacy: Privacy, by: Instant) -> Outcome<u32> {
        if privacy == Privacy::Required {
            self.encrypt()?;
        }
        let (header, answer) = self.exchange(&tree::request(path), 0, by)?;
        if header.status != status::SUCCESS {
            return Err(status::failure(header.status));
        }
        let share =
            tree::Answer::parse(&answer).ok_or(Failure::Malformed("answer about a share"))?;
        if header.flags & ASYNC != 0 {
            return Err(Failure::Malformed(
                "answer about a share, without the share's id",
            ));
        }
        if !share.is_disk {
            return Err(Failure::NotADisk);
        }
        if share.needs_encryption {
            self.encrypt()?;
        }
        Ok(header.tree)
    }

    /// From here on each message is encrypted, in both directions.
    fn encrypt(&mut self) -> Outcome<()> {
        if !self.can_encrypt {
            return Err(Failure::NoEncryption);
        }
        self.protection = match std::mem::replace(&mut self.protection, Protection::None) {
            Protection::Signed(keys) | Protection::Encrypted(keys) => Protection::Encrypted(keys),
            Protection::None => return Err(Failure::Ended),
        };
        Ok(())
    }

    /// One request and its answer. Any failure here is the end of the connection: nothing is known of the next bytes.
    fn exchange(
        &mut self,
        request: &Request,
        tree: u32,
        by: Instant,
    ) -> Outcome<(Header, Vec<u8>)> {
        if self.has_ended {
            return Err(Failure::Ended);
        }
        let done = self
            .send(request, tree, by)
            .and_then(|to| self.receive(request.command, to, by));
        self.has_ended = done.is_err();
        done
    }

    fn send(&mut self, request: &Request, tree: u32, by: Instant) -> Outcome<Address> {
        self.credits = self
            .credits
            .checked_sub(1)
            .ok_or(Failure::Malformed("number of credits"))?;
        let to = Address {
            message: self.next,
            session: self.session,
            tree,
        };
        self.next += 1;
        let message = self.protect(request, to)?;
        self.socket.send(&message, by)?;
        Ok(to)
    }

    fn receive(
        &mut self,
        command: Command,
        to: Address,
        by: Instant,
    ) -> Outcome<(Header, Vec<u8>)> {
        loop {
            let frame = self.socket.receive(by)?;
            let message = self.unprotect(frame)?;
            let header = Header::parse(&message).ok_or(Failure::Malformed("header"))?;
            let is_interim = header.status == status::PENDING && header.flags & ASYNC != 0;
            let is_ours = header.message == to.message
                && header.command == command as u16
                // The server makes the ids of sessions and trees that a request still lacks.
                && (to.session == 0 || header.session == to.session)
                && (to.tree == 0 || header.flags & ASYNC != 0 || header.tree == to.tree);
            if !is_ours {
                return Err(Failure::Malformed("answer, to another request"));
            }
            self.credits = (self.credits + u32::from(header.credits)).min(MOST_CREDITS);
            if !is_interim {
                return Ok((header, message));
            }
        }
    }

    fn protect(&mut self, request: &Request, to: Address) -> Outcome<Vec<u8>> {
        match &mut self.protection {
            Protection::None => Ok(request.encode(to, 0)),
            Protection::Signed(keys) => {
                let mut message = request.encode(to, SIGNED);
                keys.sign(&mut message);
                Ok(message)
            }
            Protection::Encrypted(keys) => keys.seal(to.session, &request.encode(to, 0)),
        }
    }

    fn unprotect(&self, frame: Vec<u8>) -> Outcome<Vec<u8>> {
        match &self.protection {
            Protection::None => Ok(frame),
            Protection::Encrypted(keys) => keys.open(self.session, &frame),
            Protection::Signed(keys) => {
                verify(keys, &frame)?;
                Ok(frame)
            }
        }
    }
}

/// An interim answer alone may lack a signature (MS-SMB2 3.2.5.1.3): it makes the client wait, until the deadline.
fn verify(keys: &Keys, message: &[u8]) -> Outcome<()> {
    if message.starts_with(&crate::crypto::TRANSFORM) {
        return Err(Failure::Unprotected(
            "it is encrypted, where signing was agreed",
        ));
    }
    let header = Header::parse(message).ok_or(Failure::Malformed("header"))?;
    let is_interim = header.status == status::PENDING && header.flags & ASYNC != 0;
    if is_interim && header.flags & SIGNED == 0 {
        return Ok(());
    }
    if header.flags & SIGNED == 0 {
        return Err(Failure::Unprotected("it is not signed"));
    }
    if !keys.verify(message) {
        return Err(Failure::Unprotected("its signature is wrong"));
    }
    Ok(())
}
