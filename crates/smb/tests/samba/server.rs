//! Connections to a real Samba.

use std::time::{Duration, Instant};

use wincsi_smb::{Credentials, Login, Name, Privacy, RemoteShare, Result, Server};
use zeroize::Zeroizing;

// Its own path, as other crates' tests have this module by its path.
#[path = "smbd.rs"]
mod smbd;

pub(crate) use self::smbd::{PASSWORD, Samba, user};

impl Samba {
    pub(crate) fn open(&self, share: &str, privacy: Privacy) -> RemoteShare {
        let opened = open(self.port(), share, &user(), PASSWORD, privacy, soon());
        opened.unwrap()
    }
}

pub(crate) fn open(
    port: u16,
    share: &str,
    user: &str,
    password: &str,
    privacy: Privacy,
    by: Instant,
) -> Result<RemoteShare> {
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port,
    };
    let password = Zeroizing::new(password.to_owned());
    let credentials = Credentials::new(user, None, password).unwrap();
    let login = Login {
        server,
        share: Name::new(share).unwrap(),
        credentials,
        privacy,
    };
    RemoteShare::open(&login, by)
}

/// The deadline of calls that should succeed.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}
