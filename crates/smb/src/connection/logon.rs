//! The first messages: NEGOTIATE, and SESSION_SETUP twice. Each is hashed into the keys, so that who changes one on its
//! way has no valid signature for the last.

use super::{Answer, Connection, Login, Privacy, Protection};
use crate::auth;
use crate::crypto::{self, Cipher, Keys, Preauth};
use crate::error::{Failure, Outcome};
use crate::status;
use crate::wire::{PAYLOAD, Request, negotiate, session};

impl Connection {
    pub(super) fn negotiate(&mut self, privacy: Privacy) -> Outcome<Preauth> {
        let mut preauth = Preauth::new();
        let request = negotiate::request(crypto::random()?, &crypto::random()?);
        let answer = self.hashed(request, &mut preauth)?;
        preauth.absorb(&answer.1);
        if answer.0.status == status::NOT_SUPPORTED {
            return Err(Failure::Dialect("it refuses that dialect".to_owned()));
        }
        self.expect_success(&answer)?;
        let answer = negotiate::Answer::parse(&answer.1);
        let answer = answer.ok_or(Failure::Malformed("answer to the negotiation"))?;
        if answer.dialect != negotiate::DIALECT {
            let chosen = format!("it chose {:#06x}", answer.dialect);
            return Err(Failure::Dialect(chosen));
        }
        self.cipher = answer.cipher.and_then(Cipher::of);
        // Servers that answer with less at once are not worth a client.
        let is_usable = answer.has_sha_512
            && answer.cipher.is_some() == self.cipher.is_some()
            && answer.max_size >= PAYLOAD;
        if !is_usable {
            return Err(Failure::Malformed("choice of algorithms or sizes"));
        }
        if privacy == Privacy::Required && self.cipher.is_none() {
            return Err(Failure::NoEncryption);
        }
        Ok(preauth)
    }

    pub(super) fn log_on(&mut self, login: &Login, mut preauth: Preauth) -> Outcome<()> {
        let first = session::request(&auth::begin());
        let (header, answer) = self.hashed(first, &mut preauth)?;
        match header.status {
            status::MORE_PROCESSING_REQUIRED => {}
            // A server that wants no proof makes a session of no user.
            status::SUCCESS => {
                return Err(other_user(parse(&answer)?.flags).unwrap_or(Failure::Anonymous));
            }
            status => return Err(status::failure(status)),
        }
        preauth.absorb(&answer);
        self.next.session = header.session;
        let challenge = parse(&answer)?;
        let answered = auth::answer(&login.credentials, &login.server.host, challenge.token)?;

        let last = self.hashed(session::request(&answered.token), &mut preauth)?;
        self.expect_success(&last)?;
        // A guest's session has no key that could sign: its name comes before that.
        let flags = parse(&last.1)?.flags;
        if let Some(failure) = other_user(flags) {
            return Err(failure);
        }
        // Without a cipher the keys for one are never used.
        let cipher = self.cipher.unwrap_or(Cipher::Aes128Gcm);
        let keys = Keys::derive(&answered.session_key, &preauth, cipher);
        super::verify(&keys, &last)?;
        self.protection = Protection::Signed(keys);
        if flags & session::ENCRYPT != 0 {
            self.encrypt()?;
        }
        Ok(())
    }

    /// An exchange without protection, whose request is hashed. Its answer is the caller's: the last one is not hashed.
    fn hashed(&mut self, request: Request, preauth: &mut Preauth) -> Outcome<Answer> {
        preauth.absorb(&request.encode(self.next, 0));
        self.exchange(request)
    }
}

fn parse(answer: &[u8]) -> Outcome<session::Answer<'_>> {
    session::Answer::parse(answer).ok_or(Failure::Malformed("answer to the logon"))
}

/// Whom the server takes the user for, if not for the user.
fn other_user(flags: u16) -> Option<Failure> {
    if flags & session::GUEST != 0 {
        return Some(Failure::Guest);
    }
    (flags & session::ANONYMOUS != 0).then_some(Failure::Anonymous)
}
