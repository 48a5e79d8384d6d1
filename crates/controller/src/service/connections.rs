use std::time::Instant;

use smb::{Credentials, Name, Privacy, RemoteShare, Server, Share};

use crate::volumes::Connector;

/// As whom a share is opened.
pub(super) struct Login {
    pub(super) server: Server,
    pub(super) share: Name,
    pub(super) credentials: Credentials,
    pub(super) privacy: Privacy,
}

impl Connector for Login {
    fn open(&self, by: Instant) -> smb::Result<Box<dyn Share + Send>> {
        let (server, share) = (&self.server, &self.share);
        let opened = RemoteShare::open(server, share, &self.credentials, self.privacy, by)?;
        Ok(Box::new(opened))
    }
}
