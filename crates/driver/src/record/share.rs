use std::fmt;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use wincsi::smb::{MappingOptions, RemotePath};

use super::{Record, Targets};

/// A volume that is a share, or a folder below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// What the staging link leads to, and how much of that is mapped.
    pub remote: RemotePath,
    /// The server as the volume names it, in lower case: Windows logs on to it as one user at a time.
    pub server: String,
    /// As whom the share is mapped; `None` is without a user.
    pub user: Option<String>,
    /// The credential with which the share was mapped, as far as this driver knows it.
    pub secret: Option<SecretHash>,
    /// What the mapping is to be like.
    pub options: ShareOptions,
    /// How many targets there may be.
    pub targets: Targets,
    /// Whether the share was unmapped until this driver mapped it, or was about to.
    pub made_mapping: bool,
    /// Whether another driver staged the volume before, by a mapping that it leaves to this one.
    pub taken_over: bool,
    /// How long the volume lives.
    pub lifetime: Lifetime,
}

impl Record<Share> {
    /// Whether this driver mapped the share in this boot. Its mappings end with the boot: what is mapped in the next one is
    /// another's. Where no boot is known, the record's word counts.
    pub(crate) fn made_mapping_in(&self, boot: Option<&str>) -> bool {
        self.what.made_mapping && self.is_of_boot(boot)
    }
}

/// A slow, salted hash of a credential, in the PHC string format
/// (<https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md>).
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct SecretHash(pub(crate) String);

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

/// How long a volume lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as its PV: kubelet stages it.
    Persistent,
    /// As long as its pod: kubelet publishes it and nothing else.
    Inline,
}

/// What the mapping of a share is to be like; `None` leaves it to the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShareOptions {
    /// Whether it is encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<bool>,
    /// Whether it is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<bool>,
    /// Whether writes go past every cache to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_through: Option<bool>,
    /// Whether what goes over the network is compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<bool>,
    /// Another TCP port than 445.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_port: Option<NonZeroU16>,
}

impl ShareOptions {
    /// As the node takes them. The mapping ends with this boot: Windows keeps no password for the next one, and a mapping
    /// that it brings back without one refuses all others of the server (kubernetes-csi/csi-driver-smb issue 219).
    #[must_use]
    pub fn of_mapping(&self) -> MappingOptions {
        let mut options = MappingOptions::default().with_persistent(false);
        options.privacy = self.privacy;
        options.integrity = self.integrity;
        options.write_through = self.write_through;
        options.compression = self.compression;
        options.tcp_port = self.tcp_port;
        options
    }
}
