//! One connection: one server, port, user and share; one request at a time.

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
    /// From the opening of the share on; a server without AES-GCM is refused.
    Required,
}

/// A connection, from its first message to an open share.
pub(crate) struct Connection {
    socket: Socket,
    /// Of the next request; ids that the server has not made yet are 0.
    next: Address,
    credits: u32,
    protection: Protection,
    /// Of both sides, if the server has one of ours.
    cipher: Option<Cipher>,
    has_ended: bool,
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

impl Connection {
    /// Connects, logs on and opens a share.
    pub(crate) fn open(
        server: &Server,
        share: &Name,
        credentials: &Credentials,
        privacy: Privacy,
        by: Instant,
    ) -> Result<Self> {
        let at = |operation: Operation| {
            move |failure: Failure| failure.at(operation, server.to_string())
        };
        let socket = Socket::connect(server, by).map_err(at(Operation::Connect))?;
        let mut opened = Self {
            socket,
            next: Address::default(),
            credits: 1,
            protection: Protection::None,
            cipher: None,
            has_ended: false,
        };
        let preauth = opened.negotiate(privacy, by);
        let preauth = preauth.map_err(at(Operation::Negotiate))?;
        let logon = opened.log_on(server, credentials, preauth, by);
        logon.map_err(at(Operation::LogOn))?;
        opened
            .open_share(server, share, privacy, by)
            .map_err(|failure| {
                let object = format!(r"\\{}\{share}", server.host.escape_debug());
                failure.at(Operation::OpenShare, object)
            })?;
        Ok(opened)
    }

    /// Sends a request, once, and returns its answer if its status is success.
    pub(crate) fn call(&mut self, request: &Request, by: Instant) -> Outcome<Vec<u8>> {
        match self.exchange(request, by)? {
            (header, answer) if header.status == status::SUCCESS => Ok(answer),
            (header, _) => Err(self.refused(header.status)),
        }
    }

    /// Sends a request, once, and returns its answer. Any failure here is the end of the connection: nothing is known
    /// of the bytes that follow.
    pub(crate) fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Outcome<(Header, Vec<u8>)> {
        if self.has_ended {
            return Err(Failure::Ended);
        }
        let sent = self.send(request, by);
        let done = sent.and_then(|to| self.receive(request.command, to, by));
        self.has_ended = done.is_err();
        done
    }

    /// What a status other than success means, for this connection too.
    pub(crate) fn refused(&mut self, status: u32) -> Failure {
        let failure = status::failure(status);
        self.has_ended |= failure.ends_connection();
        failure
    }

    /// Ends the connection after an answer that breaks the protocol.
    pub(crate) fn end(&mut self, failure: Failure) -> Failure {
        self.has_ended = true;
        failure
    }

    fn open_share(
        &mut self,
        server: &Server,
        share: &Name,
        privacy: Privacy,
        by: Instant,
    ) -> Outcome<()> {
        if privacy == Privacy::Required {
            self.encrypt()?;
        }
        let share = String::from_utf16_lossy(share.units());
        let request = tree::request(&format!(r"\\{}\{share}", server.host));
        let (header, answer) = self.exchange(&request, by)?;
        if header.status != status::SUCCESS {
            return Err(status::failure(header.status));
        }
        // An asynchronous answer has another number in the place of the share's.
        let share = tree::Answer::parse(&answer).filter(|_| header.flags & ASYNC == 0);
        let share = share.ok_or(Failure::Malformed("answer about a share"))?;
        if !share.is_disk {
            return Err(Failure::NotADisk);
        }
        if share.needs_encryption {
            self.encrypt()?;
        }
        self.next.tree = header.tree;
        Ok(())
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

    fn send(&mut self, request: &Request, by: Instant) -> Outcome<Address> {
        let credits = self.credits.checked_sub(1);
        self.credits = credits.ok_or(Failure::Malformed("number of credits"))?;
        let to = self.next;
        self.next.message += 1;
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
            Protection::Encrypted(keys) => keys.open(self.next.session, &frame),
            Protection::Signed(keys) => {
                verify(keys, &frame)?;
                Ok(frame)
            }
        }
    }
}

/// Only an interim answer may lack a signature (MS-SMB2 3.2.5.1.3): it makes the client wait, until the deadline.
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
