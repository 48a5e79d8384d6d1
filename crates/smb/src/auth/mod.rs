//! The logon: NTLM version 2 (MS-NLMP) within SPNEGO (RFC 4178).

mod ntlm;
mod rc4;
mod spnego;

use crate::credentials::Credentials;
use crate::crypto::Key;
use crate::error::{Failure, Outcome};

/// A logon that has sent its first token.
pub(crate) struct Logon<'a> {
    credentials: &'a Credentials,
    host: &'a str,
    negotiate: Vec<u8>,
}

/// The last token, and the key that both sides have if the server takes it.
pub(crate) struct Answered {
    pub(crate) token: Vec<u8>,
    pub(crate) session_key: Key,
}

impl<'a> Logon<'a> {
    /// A logon at a host, and the token that begins it.
    pub(crate) fn begin(credentials: &'a Credentials, host: &'a str) -> (Self, Vec<u8>) {
        let negotiate = ntlm::negotiate();
        let token = spnego::first(&negotiate);
        let logon = Self {
            credentials,
            host,
            negotiate,
        };
        (logon, token)
    }

    /// The answer to the server's challenge.
    pub(crate) fn answer(&self, token: &[u8]) -> Outcome<Answered> {
        let challenge = spnego::token(token).ok_or(Failure::Malformed("token of the logon"))?;
        let fresh = ntlm::Fresh::new()?;
        let answer = ntlm::answer(
            self.credentials,
            self.host,
            &self.negotiate,
            challenge,
            &fresh,
        )?;
        let check = ntlm::client_signature(&answer.session_key, &spnego::MECHANISMS);
        Ok(Answered {
            token: spnego::last(&answer.message, &check),
            session_key: answer.session_key,
        })
    }
}

pub(crate) fn decode_everything(bytes: &[u8]) {
    let _ = spnego::token(bytes);
    let _ = ntlm::Challenge::parse(bytes);
}
