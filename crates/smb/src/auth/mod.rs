//! The logon: NTLM version 2 (MS-NLMP) within SPNEGO (RFC 4178).

mod ntlm;
mod rc4;
mod spnego;

use crate::credentials::Credentials;
use crate::crypto::Key;
use crate::error::{Failure, Outcome};

pub(crate) use self::ntlm::Challenge;
pub(crate) use self::spnego::token;

/// The last token, and the key that both sides have if the server takes it.
pub(crate) struct Answer {
    pub(crate) token: Vec<u8>,
    pub(crate) session_key: Key,
}

/// The token that begins a logon.
pub(crate) fn begin() -> Vec<u8> {
    spnego::first(&ntlm::negotiate())
}

/// The answer to a host's challenge.
pub(crate) fn answer(credentials: &Credentials, host: &str, challenge: &[u8]) -> Outcome<Answer> {
    let challenge = token(challenge).ok_or(Failure::Malformed("token of the logon"))?;
    let fresh = ntlm::Fresh::new()?;
    let message = ntlm::answer(credentials, host, challenge, &fresh)?;
    let session_key = fresh.session_key;
    let check = ntlm::client_signature(&session_key, &spnego::MECHANISMS);
    let token = spnego::last(&message, &check);
    Ok(Answer { token, session_key })
}
