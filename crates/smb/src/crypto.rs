//! Keys of a session, signatures, encryption: MS-SMB2 3.1.4 for dialect 3.1.1, with AES-CMAC and AES-GCM.

use aes::Aes128;
use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

use crate::bytes::{self, Out};
use crate::error::{Failure, Outcome};

/// A key, zeroed when dropped.
pub(crate) type Key = Zeroizing<[u8; 16]>;

/// The first bytes of an encrypted message.
pub(crate) const TRANSFORM: [u8; 4] = [0xfd, b'S', b'M', b'B'];
const TRANSFORM_LEN: usize = 52;
/// What is authenticated of the header of an encrypted message: all after its signature.
const AUTHENTICATED: usize = 20;
const NONCE_LEN: usize = 12;
const SIGNATURE: std::ops::Range<usize> = 48..64;

/// The running hash of all messages before a session has keys (3.1.4.4).
#[derive(Clone)]
pub(crate) struct Preauth([u8; 64]);

/// What encrypts messages, by its number in the negotiation (2.2.3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Cipher {
    Aes128Gcm = 2,
    Aes256Gcm = 4,
}

/// The keys of one session, in one direction each.
pub(crate) struct Keys {
    signing: Key,
    sending: Sealer,
    receiving: Sealer,
    /// The next nonce: never used twice, since a session's keys are its own.
    nonce: u64,
}

/// A cipher and its key, zeroed when dropped.
enum Sealer {
    Aes128(Aes128Gcm),
    Aes256(Aes256Gcm),
}

impl Preauth {
    pub(crate) fn new() -> Self {
        Self([0; 64])
    }

    pub(crate) fn absorb(&mut self, message: &[u8]) {
        let hash = Sha512::new().chain_update(self.0).chain_update(message);
        self.0 = hash.finalize().into();
    }
}

impl Cipher {
    /// The favourite first.
    pub(crate) const ALL: [Self; 2] = [Self::Aes128Gcm, Self::Aes256Gcm];

    pub(crate) fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|one| *one as u16 == number)
    }
}

impl Keys {
    /// From the key of the logon (3.2.5.3.1).
    pub(crate) fn derive(session: &Key, preauth: &Preauth, cipher: Cipher) -> Self {
        let sealer = |label| Sealer::derive(session, label, preauth, cipher);
        Self {
            signing: derive(session, b"SMBSigningKey\0", preauth),
            sending: sealer(b"SMBC2SCipherKey\0"),
            receiving: sealer(b"SMBS2CCipherKey\0"),
            nonce: 0,
        }
    }

    /// Writes the signature into a whole message, whose header has the flag already.
    pub(crate) fn sign(&self, message: &mut [u8]) {
        message[SIGNATURE].fill(0);
        let tag = self.signature(message).finalize().into_bytes();
        message[SIGNATURE].copy_from_slice(&tag);
    }

    /// Whether the signature of a whole message is right, compared in constant time.
    pub(crate) fn verify(&self, message: &[u8]) -> bool {
        let Some(signature) = message.get(SIGNATURE) else {
            return false;
        };
        let mut unsigned = message.to_vec();
        unsigned[SIGNATURE].fill(0);
        self.signature(&unsigned).verify_slice(signature).is_ok()
    }

    /// The message in its encrypted form (3.1.4.3).
    pub(crate) fn seal(&mut self, session: u64, message: &[u8]) -> Outcome<Vec<u8>> {
        self.nonce = self.nonce.checked_add(1).ok_or(Failure::Ended)?;
        let mut nonce = [0; NONCE_LEN];
        nonce[..8].copy_from_slice(&self.nonce.to_le_bytes());
        self.sending.seal(nonce, session, message)
    }

    pub(crate) fn open(&self, session: u64, frame: &[u8]) -> Outcome<Vec<u8>> {
        let header = frame.get(..TRANSFORM_LEN);
        let header = header.filter(|header| header.starts_with(&TRANSFORM));
        let header = header.ok_or(Failure::Unprotected("it is not encrypted"))?;
        let sealed = &frame[TRANSFORM_LEN..];
        let fits = bytes::u32_le(header, 36).and_then(bytes::index) == Some(sealed.len())
            && bytes::u16_le(header, 42) == Some(1)
            && bytes::u64_le(header, 44) == Some(session);
        let nonce: Option<[u8; NONCE_LEN]> = bytes::array(header, AUTHENTICATED);
        let (true, Some(nonce)) = (fits, nonce) else {
            return Err(Failure::Malformed("encrypted message"));
        };
        let with_tag = [sealed, &header[4..AUTHENTICATED]].concat();
        let payload = Payload {
            msg: &with_tag,
            aad: &header[AUTHENTICATED..],
        };
        let opened = match &self.receiving {
            Sealer::Aes128(aes) => aes.decrypt((&nonce).into(), payload),
            Sealer::Aes256(aes) => aes.decrypt((&nonce).into(), payload),
        };
        opened.map_err(|_| Failure::Unprotected("it cannot be decrypted"))
    }

    fn signature(&self, message: &[u8]) -> Cmac<Aes128> {
        Cmac::<Aes128>::new((&*self.signing).into()).chain_update(message)
    }
}

impl Sealer {
    fn derive(session: &Key, label: &[u8], preauth: &Preauth, cipher: Cipher) -> Self {
        match cipher {
            Cipher::Aes128Gcm => {
                let key = derive::<16>(session, label, preauth);
                Self::Aes128(Aes128Gcm::new((&*key).into()))
            }
            Cipher::Aes256Gcm => {
                let key = derive::<32>(session, label, preauth);
                Self::Aes256(Aes256Gcm::new((&*key).into()))
            }
        }
    }

    fn seal(&self, nonce: [u8; NONCE_LEN], session: u64, message: &[u8]) -> Outcome<Vec<u8>> {
        let head = Out::default().bytes(&nonce).zeros(4).len32(message);
        let authenticated = head.u16(0).u16(1).u64(session).done();
        let payload = Payload {
            msg: message,
            aad: &authenticated,
        };
        let sealed = match self {
            Self::Aes128(aes) => aes.encrypt((&nonce).into(), payload),
            Self::Aes256(aes) => aes.encrypt((&nonce).into(), payload),
        };
        let sealed = sealed.map_err(|_| Failure::Ended)?;
        let (sealed, tag) = sealed.split_at(message.len());
        Ok([TRANSFORM.as_slice(), tag, &authenticated, sealed].concat())
    }
}

pub(crate) fn hmac_md5(key: &[u8; 16], parts: &[&[u8]]) -> Key {
    let mut mac = keyed::<Hmac<Md5>>(key);
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

pub(crate) fn random<const N: usize>() -> Outcome<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Failure::NoRandom)?;
    Ok(bytes)
}

/// SP 800-108 in counter mode, of which these lengths need one round (3.1.4.2).
fn derive<const LEN: usize>(key: &Key, label: &[u8], preauth: &Preauth) -> Zeroizing<[u8; LEN]> {
    let mut mac = keyed::<Hmac<Sha256>>(key);
    let bits = u32::try_from(8 * LEN).expect("keys have 128 or 256 bits");
    let (round, bits) = (1_u32.to_be_bytes(), bits.to_be_bytes());
    for part in [&round, label, &[0], &preauth.0, &bits] {
        mac.update(part);
    }
    let full = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    let mut key = Zeroizing::new([0; LEN]);
    key.copy_from_slice(&full[..LEN]);
    key
}

fn keyed<M: Mac + KeyInit>(key: &[u8; 16]) -> M {
    <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::{Cipher, Key, Keys, Preauth, derive};
    use crate::error::Failure;
    use crate::vectors::{self, hex};

    /// From Microsoft's "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys".
    #[test]
    fn published_keys_of_3_1_1_are_derived() {
        let session = key("270E1BA896585EEB7AF3472D3B4C75A7");
        let preauth = Preauth(hex(vectors::PREAUTH).try_into().unwrap());
        for (label, expected) in [
            ("SMBSigningKey\0", "73FE7A9A77BEF0BDE49C650D8CCB5F76"),
            ("SMBC2SCipherKey\0", "629BCBC54422A0F572B97F45989B6073"),
            ("SMBS2CCipherKey\0", "E2AF0DCEFAC68DA71A0DFBD0D1350D74"),
        ] {
            let found = derive::<16>(&session, label.as_bytes(), &preauth);
            assert_eq!(found.as_slice(), hex(expected));
        }
        let keys = Keys::derive(&session, &preauth, Cipher::Aes128Gcm);
        let answer = vectors::SIGNED_ANSWER;
        assert!(keys.verify(answer));
        let mut again = answer.to_vec();
        keys.sign(&mut again);
        assert_eq!(again, answer);
        for broken in each_bit_flipped(answer) {
            assert!(!keys.verify(&broken), "{broken:x?}");
        }
        assert!(!keys.verify(&answer[..63]));
    }

    #[test]
    fn the_published_preauth_hash_is_reached() {
        let mut preauth = Preauth(hex(vectors::PREAUTH_BEFORE_LOGON).try_into().unwrap());
        let [first, last] = vectors::LOGON.map(hex);
        for message in [&first, vectors::CHALLENGED, &last] {
            preauth.absorb(message);
        }
        assert_eq!(preauth.0.as_slice(), hex(vectors::PREAUTH));
    }

    /// From Microsoft's "SMB 3.1.1 Encryption in Windows 10".
    #[test]
    fn published_messages_are_encrypted_and_decrypted() {
        let preauth = Preauth(hex(vectors::SEALING_PREAUTH).try_into().unwrap());
        let session_key = key("419FDDF34C1E001909D362AE7FB6AF79");
        let keys = Keys::derive(&session_key, &preauth, Cipher::Aes128Gcm);
        let nonce = hex("C7D6822D269CAF48904C664C").try_into().unwrap();
        let session = 0x1000_0000_0025;
        let sealed = keys.sending.seal(nonce, session, &hex(vectors::WRITE));
        assert_eq!(sealed.unwrap(), hex(vectors::SEALED_WRITE));

        let answer = hex(vectors::SEALED_ANSWER);
        assert_eq!(keys.open(session, &answer).unwrap(), vectors::ANSWER);
        for broken in each_bit_flipped(&answer) {
            assert!(keys.open(session, &broken).is_err(), "{broken:x?}");
        }
        for len in 0..answer.len() {
            assert!(keys.open(session, &answer[..len]).is_err(), "{len} bytes");
        }
        let other = keys.open(session + 1, &answer);
        assert_eq!(other, Err(Failure::Malformed("encrypted message")));
    }

    #[test]
    fn no_nonce_is_used_twice() {
        let mut keys = Keys::derive(&Key::default(), &Preauth::new(), Cipher::Aes256Gcm);
        let first = keys.seal(1, b"message").unwrap();
        assert_ne!(first, keys.seal(1, b"message").unwrap());
        keys.nonce = u64::MAX;
        assert_eq!(keys.seal(1, b"message"), Err(Failure::Ended));
    }

    fn each_bit_flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        (0..bytes.len() * 8).map(|bit| {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        })
    }

    fn key(text: &str) -> Key {
        Key::new(hex(text).try_into().unwrap())
    }
}
