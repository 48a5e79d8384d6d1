//! An SMB 3.1.1 client for what a storage controller does on a share: folders, small files, locks, copies.
//!
//! [`Share`] is what callers know; [`RemoteShare`] is a share of a real server. [`remove_content`] empties a tree and
//! [`Share::copy`] copies one without following links. All of it blocks, starts no runtime and no thread that outlives a
//! lookup of a name.
//!
//! | promise | how |
//! |---|---|
//! | Each call ends at its deadline | every read and write of the socket has what is left of it |
//! | Nothing that changes something is sent twice | there is no repetition and no reconnect |
//! | Any failure but a status of the server ends the connection | later calls fail with [`Failure::Ended`] |
//! | Each message is signed or encrypted | an answer that is neither ends the connection |
//! | Names are the server's | UTF-16 units, never decoded ([`Name`]) |
//!
//! A change whose answer did not come may have happened.
//!
//! Sources: MS-SMB2 and MS-NLMP as Microsoft publishes them, RFC 4178 (SPNEGO). It ran against Samba only.

#![forbid(unsafe_code)]

mod auth;
mod bytes;
mod connection;
mod copy;
mod credentials;
mod crypto;
mod error;
mod name;
mod share;
mod status;
mod walk;
mod wire;

#[cfg(test)]
mod vectors;

pub use connection::{Login, Privacy, Server};
pub use copy::{Copied, CopiedEntry, CopyOrder, CopyProgress, Unsteady, Watch};
pub use credentials::{Credentials, CredentialsError};
pub use error::{Error, Failure, Operation, Result};
pub use name::{Name, NameError, SharePath};
pub use share::{
    Basic, Entry, Existing, FileId, Kind, LONGEST_FILE, Listing, OpenFile, RemoteShare, Share,
    Space,
};
pub use walk::{Limits, Removed, remove_content};

/// Feeds bytes to every decoder of what a server sends, for fuzz targets and tests.
#[doc(hidden)]
pub fn decode_everything(bytes: &[u8]) {
    let _ = auth::token(bytes);
    let _ = auth::Challenge::parse(bytes);
    let _ = wire::split(Vec::from(bytes));
    let _ = wire::negotiate::Answer::parse(bytes);
    let _ = wire::session::Answer::parse(bytes);
    let _ = wire::tree::Answer::parse(bytes);
    let _ = wire::create::Answer::parse(bytes);
    let _ = wire::create::changed(bytes);
    let _ = wire::file::read_answer(bytes, wire::PAYLOAD);
    let _ = wire::file::write_answer(bytes);
    let _ = wire::info::id_answer(bytes);
    let _ = wire::info::directory_answer(bytes);
    let _ = wire::info::name_answer(bytes);
    let _ = wire::info::space_answer(bytes);
    let _ = wire::create::closed(bytes);
    let _ = wire::ioctl::resume_key_answer(bytes);
    let _ = wire::ioctl::chunks_answer(bytes);
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Login, RemoteShare, auth, connection, crypto};

    // What holds secrets.
    os::assert_no_debug!(
        auth::Answer,
        connection::Connection,
        Credentials,
        Login,
        crypto::Keys,
        RemoteShare,
    );

    /// Guards: P22
    #[test]
    fn keys_and_ciphers_promise_to_wipe_themselves() {
        fn promise<T: zeroize::ZeroizeOnDrop>() {}
        promise::<sha2::Sha256>();
        promise::<(crypto::Key, aes_gcm::Aes128Gcm, aes_gcm::Aes256Gcm)>();
        promise::<(cmac::block_api::CmacCore<aes::Aes128>, md4::Md4)>();
    }
}
