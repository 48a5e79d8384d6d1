//! NTLM version 2 as a client: MS-NLMP 2.2.1 (messages), 3.3.2 (keys), 3.4.4 (signature).

use std::time::{Duration, SystemTime};

use md4::{Digest, Md4};
use md5::Md5;
use zeroize::Zeroizing;

use super::rc4::Rc4;
use crate::bytes::{self, Out};
use crate::credentials::Credentials;
use crate::crypto::{self, Key};
use crate::error::{Failure, Outcome};
use crate::name;

const MAGIC: [u8; 8] = *b"NTLMSSP\0";

/// Unicode, target name, sign, NTLM, always sign, extended session security, target info, 128 bits, key exchange.
const FLAGS: u32 = 0x6088_8215;
/// Those without which keys would be weak, or none.
const NEEDED: u32 = 0x6088_0001;

/// Where the third message has its check, and where its fields begin.
const CHECK: std::ops::Range<usize> = 72..88;
/// More than any server has to tell of itself.
const LONGEST_TARGET: usize = 8 * 1024;

/// The fields of a target info that matter here (2.2.2.1).
const END: u16 = 0;
const SERVER_FLAGS: u16 = 6;
const TIME: u16 = 7;
const SERVICE: u16 = 9;
const BINDINGS: u16 = 10;
/// The third message has a check.
const HAS_CHECK: u32 = 2;

pub(crate) struct Challenge<'a> {
    flags: u32,
    challenge: [u8; 8],
    target: Vec<(u16, &'a [u8])>,
}

/// What is new in each logon.
pub(super) struct Fresh {
    challenge: [u8; 8],
    pub(super) session_key: Key,
    /// In units of 100 ns since 1601.
    now: u64,
}

pub(super) fn negotiate() -> Vec<u8> {
    let head = Out::default().bytes(&MAGIC).u32(1).u32(FLAGS);
    head.zeros(24).done()
}

/// The third message, for the server's challenge.
pub(super) fn answer(
    credentials: &Credentials,
    host: &str,
    challenge: &[u8],
    fresh: &Fresh,
) -> Outcome<Vec<u8>> {
    let parsed = Challenge::parse(challenge).ok_or(Failure::Malformed("challenge of the logon"))?;
    if parsed.flags & NEEDED != NEEDED {
        return Err(Failure::WeakLogon);
    }
    let owf = response_key(credentials);
    let blob = client_blob(&parsed, host, fresh);
    let proof = crypto::hmac_md5(&owf, &[&parsed.challenge, &blob]);
    let base = crypto::hmac_md5(&owf, &[proof.as_slice()]);

    let mut exchanged = *fresh.session_key;
    Rc4::new(&base).apply(&mut exchanged);
    let response = [proof.as_slice(), &blob].concat();
    let mut message = authenticate(credentials, &response, &exchanged);
    let check = crypto::hmac_md5(&fresh.session_key, &[&negotiate(), challenge, &message]);
    message[CHECK].copy_from_slice(check.as_slice());
    Ok(message)
}

/// The signature of a first message of the client (3.4.4.2).
pub(super) fn client_signature(session_key: &Key, message: &[u8]) -> [u8; 16] {
    let signing = magic_key(session_key, "signing");
    let sealing = magic_key(session_key, "sealing");
    let mac = crypto::hmac_md5(&signing, &[&[0; 4], message]);
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(&mac[..8]);
    Rc4::new(&sealing).apply(&mut signature[4..12]);
    signature
}

impl<'a> Challenge<'a> {
    pub(crate) fn parse(message: &'a [u8]) -> Option<Self> {
        if bytes::slice(message, 0, 8)? != MAGIC || bytes::u32_le(message, 8)? != 2 {
            return None;
        }
        let len = usize::from(bytes::u16_le(message, 40)?);
        let at = bytes::u32_le(message, 44).and_then(bytes::index)?;
        if len > LONGEST_TARGET {
            return None;
        }
        Some(Self {
            flags: bytes::u32_le(message, 20)?,
            challenge: bytes::array(message, 24)?,
            target: target(bytes::slice(message, at, len)?)?,
        })
    }

    fn time(&self) -> Option<u64> {
        let (_, value) = self.target.iter().find(|(id, _)| *id == TIME)?;
        Some(u64::from_le_bytes((*value).try_into().ok()?))
    }
}

impl Fresh {
    pub(super) fn new() -> Outcome<Self> {
        const EPOCH: Duration = Duration::from_secs(11_644_473_600);
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = (unix.unwrap_or_default() + EPOCH).as_nanos() / 100;
        Ok(Self {
            challenge: crypto::random()?,
            session_key: Key::new(crypto::random()?),
            now: u64::try_from(now).unwrap_or(u64::MAX),
        })
    }
}

/// The fields of a target info, without its end; it may lack one if it has no field.
fn target(mut bytes: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let id = bytes::u16_le(bytes, 0)?;
        let len = usize::from(bytes::u16_le(bytes, 2)?);
        if id == END {
            break;
        }
        let (value, rest) = bytes.get(4..)?.split_at_checked(len)?;
        fields.push((id, value));
        bytes = rest;
    }
    Some(fields)
}

/// The client's part of the response (2.2.2.7), with what 3.1.5.1.2 adds to the server's target info.
fn client_blob(challenge: &Challenge<'_>, host: &str, fresh: &Fresh) -> Vec<u8> {
    let replaced = [SERVER_FLAGS, SERVICE, BINDINGS];
    let fields = challenge.target.iter();
    let kept = fields.filter(|(id, _)| !replaced.contains(id));
    let field = |out: Out, id: u16, value: &[u8]| out.u16(id).len16(value).bytes(value);
    let info = kept.fold(Out::default(), |out, (id, value)| field(out, *id, value));
    let info = field(info, SERVER_FLAGS, &HAS_CHECK.to_le_bytes());
    let info = field(info, SERVICE, &bytes::utf16(&format!("cifs/{host}")));
    let time = challenge.time().unwrap_or(fresh.now);
    blob(time, fresh.challenge, &info.zeros(4).done())
}

fn blob(time: u64, challenge: [u8; 8], info: &[u8]) -> Vec<u8> {
    let head = Out::default().bytes(&[1, 1]).zeros(6).u64(time);
    let head = head.bytes(&challenge).zeros(4).bytes(info);
    head.zeros(4).done()
}

/// The third message, whose check is zero yet. The answer of LAN Manager is empty.
fn authenticate(credentials: &Credentials, response: &[u8], exchanged: &[u8; 16]) -> Vec<u8> {
    let domain = bytes::utf16(&credentials.domain);
    let user = bytes::utf16(&credentials.user);
    let fields: [&[u8]; 6] = [&[0; 24], response, &domain, &user, &[], exchanged];
    let mut out = Out::default().bytes(&MAGIC).u32(3);
    let mut at = CHECK.end;
    for field in fields {
        let offset = u32::try_from(at).expect("each field is below 64 KiB");
        out = out.len16(field).len16(field).u32(offset);
        at += field.len();
    }
    let out = out.u32(FLAGS).zeros(8 + CHECK.len());
    out.bytes(&fields.concat()).done()
}

/// NTOWFv2 (3.3.2).
fn response_key(credentials: &Credentials) -> Key {
    let password = Zeroizing::new(bytes::utf16(&credentials.password));
    let hash: Key = Zeroizing::new(Md4::digest(&*password).into());
    let names = [&name::upper(&credentials.user), &credentials.domain];
    let names = names.map(|name| bytes::utf16(name));
    crypto::hmac_md5(&hash, &names.each_ref().map(Vec::as_slice))
}

/// SIGNKEY and SEALKEY (3.4.5.2, 3.4.5.3) of the client.
fn magic_key(session_key: &Key, what: &str) -> Key {
    let magic = format!("session key to client-to-server {what} key magic constant\0");
    let hash = Md5::new().chain_update(session_key.as_slice());
    Zeroizing::new(hash.chain_update(magic).finalize().into())
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::response_key;
    use super::{Challenge, Fresh, Key, Rc4, answer, blob, client_signature, magic_key, negotiate};
    use crate::credentials::Credentials;
    use crate::crypto;
    use crate::error::Failure;
    use crate::vectors::{self, hex};

    os::assert_no_debug!(Fresh, Rc4);

    /// MS-NLMP 4.2.1 and 4.2.4.
    #[test]
    fn published_keys_are_computed() {
        let owf = response_key(&credentials());
        assert_eq!(owf.as_slice(), hex("0c868a403bfd7a93a3001ef22ef02e3f"));
        let info = hex(vectors::TARGET_INFO);
        let blob = blob(0, [0xaa; 8], &info);
        let proof = crypto::hmac_md5(&owf, &[&hex("0123456789abcdef"), &blob]);
        assert_eq!(proof.as_slice(), hex("68cd0ab851e51c96aabc927bebef6a1c"));
        let base = crypto::hmac_md5(&owf, &[proof.as_slice()]);
        assert_eq!(base.as_slice(), hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
        let mut exchanged = [0x55; 16];
        Rc4::new(&base).apply(&mut exchanged);
        assert_eq!(exchanged.to_vec(), hex("c5dad2544fc9799094ce1ce90bc9d03e"));
    }

    /// MS-NLMP 4.2.4.4, whose checksum is encrypted after 18 bytes of data.
    #[test]
    fn published_signing_keys_are_computed() {
        let session_key = Key::new([0x55; 16]);
        let signing = magic_key(&session_key, "signing");
        assert_eq!(signing.as_slice(), hex("4788dc861b4782f35d43fd98fe1a2d39"));
        let sealing = magic_key(&session_key, "sealing");
        assert_eq!(sealing.as_slice(), hex("59f600973cc4960a25480a7c196e4c58"));
        let plain = crate::bytes::utf16("Plaintext");
        let mut sealed = plain.clone();
        let mut stream = Rc4::new(&sealing);
        stream.apply(&mut sealed);
        assert_eq!(sealed, hex("54e50165bf1936dc996020c1811b0f06fb5f"));
        let mac = crypto::hmac_md5(&signing, &[&[0; 4], &plain]);
        let mut checksum = mac[..8].to_vec();
        assert_eq!(checksum, hex("70352851f2564309"));
        stream.apply(&mut checksum);
        assert_eq!(checksum, hex("7fb38ec5c55d4976"));
        assert_eq!(client_signature(&session_key, &plain)[..4], [1, 0, 0, 0]);
    }

    #[test]
    fn the_third_message_has_a_check_over_all_three() {
        let challenge = challenge(0xe28a_8215, &hex(vectors::TARGET_INFO));
        let fresh = fresh();
        let made = answer(&credentials(), "server", &challenge, &fresh).unwrap();
        let mut zeroed = made.clone();
        zeroed[72..88].fill(0);
        let check = crypto::hmac_md5(&fresh.session_key, &[&negotiate(), &challenge, &zeroed]);
        assert_eq!(made[72..88], *check.as_slice());
        let service = crate::bytes::utf16("cifs/server");
        assert!(made.windows(service.len()).any(|part| part == service));
        assert!(!made.windows(16).any(|part| part == [0x55; 16]));
    }

    #[test]
    fn a_challenge_without_ntlm_2_is_refused() {
        for missing in [1, 0x8_0000, 0x80_0000, 0x2000_0000, 0x4000_0000] {
            let weak = challenge(0xe28a_8215 & !missing, b"");
            let made = answer(&credentials(), "server", &weak, &fresh());
            assert_eq!(made.err(), Some(Failure::WeakLogon), "{missing:x}");
        }
        let whole = challenge(0xe28a_8215, &hex(vectors::TARGET_INFO));
        for len in 0..whole.len() - 4 {
            assert!(Challenge::parse(&whole[..len]).is_none(), "{len} bytes");
        }
    }

    fn challenge(flags: u32, info: &[u8]) -> Vec<u8> {
        let out = super::Out::default().bytes(&super::MAGIC).u32(2).zeros(8);
        let out = out.u32(flags).bytes(&hex("0123456789abcdef")).zeros(8);
        let out = out.len16(info).len16(info).u32(56).zeros(8);
        out.bytes(info).done()
    }

    fn credentials() -> Credentials {
        Credentials::new("Domain\\User", None, Zeroizing::new("Password".into())).unwrap()
    }

    fn fresh() -> Fresh {
        Fresh {
            challenge: [0xaa; 8],
            session_key: Key::new([0x55; 16]),
            now: 0,
        }
    }
}
