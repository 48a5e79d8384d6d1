use wincsi::smb::{Credentials, RemotePath};

use super::{Share, ShareOptions};

/// What a volume that is a share is to be like.
pub struct RequestedShare {
    /// The share, or the folder below it.
    pub remote: RemotePath,
    /// The server as the volume names it, in lower case.
    pub server: String,
    /// As whom; `None` is without a user.
    pub credentials: Option<Credentials>,
    pub options: ShareOptions,
}

impl RequestedShare {
    /// What a staged volume has otherwise. Another address of the server and another user are no other volume: names are
    /// resolved anew, and secrets change.
    pub(super) fn differs(&self, share: &Share) -> Option<&'static str> {
        match () {
            () if share.options != self.options => Some("mount options"),
            () if share.server != self.server || !self.has_same_folder(share) => Some("source"),
            () => None,
        }
    }

    /// Whether share and folder are the same, whatever the server's address is.
    fn has_same_folder(&self, share: &Share) -> bool {
        let below_server = |remote: &RemotePath| {
            let text = remote.to_string().to_lowercase();
            text.trim_start_matches('\\')
                .split_once('\\')
                .map(|(_, folder)| folder.trim_end_matches('\\').to_owned())
        };
        below_server(&share.remote) == below_server(&self.remote)
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.credentials.as_ref().map(Credentials::username)
    }
}
