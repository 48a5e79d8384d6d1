//! Volumes that are shares, as csi-driver-smb's PersistentVolumes and StorageClasses describe them.

use std::collections::BTreeMap;

use wincsi::smb::{Credentials, RemotePath};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::volume_capability::access_mode::Mode;
use zeroize::Zeroizing;

use super::Refusal;
use crate::record::{Access, Lifetime, ShareOptions, Targets};
use crate::volume::share::Wanted;

/// The domain of a user that names none, as csi-driver-smb has it on Windows.
const DOMAIN: &str = "AZURE";

/// What a request says of a share.
pub(super) struct ShareRequest<'a> {
    pub(super) context: &'a BTreeMap<String, String>,
    pub(super) secrets: &'a BTreeMap<String, String>,
    pub(super) capability: Option<&'a VolumeCapability>,
}

impl ShareRequest<'_> {
    /// Whether the volume is a share: its context names a source.
    pub(super) fn is_one(&self) -> bool {
        value(self.context, "source").is_some()
    }

    /// What the volume is to be like.
    pub(super) fn wanted(&self, lifetime: Lifetime) -> Result<Wanted, Refusal> {
        let remote = self.remote()?;
        Ok(Wanted {
            server: remote.server(),
            remote,
            credentials: self.credentials(),
            options: ShareOptions::default(),
            targets: self.targets()?,
            lifetime,
        })
    }

    fn remote(&self) -> Result<RemotePath, Refusal> {
        let source = value(self.context, "source").ok_or(Refusal::Missing("source"))?;
        let folder = value(self.context, "subDir").unwrap_or_default();
        let path = format!("{source}/{folder}");
        RemotePath::parse(&path).map_err(Refusal::Share)
    }

    /// The credentials of the request's secrets, if there are any.
    pub(super) fn credentials(&self) -> Option<Credentials> {
        let user = value(self.secrets, "username")?;
        let password = value(self.secrets, "password").unwrap_or_default();
        let domain = value(self.secrets, "domain").unwrap_or(DOMAIN);
        let user = match user.contains(['\\', '@']) {
            true => user.to_owned(),
            false => format!(r"{domain}\{user}"),
        };
        Credentials::new(user, Zeroizing::new(password.to_owned()))
    }

    /// Whether kubelet stages the volume, or its pod names it inline.
    pub(super) fn lifetime(&self) -> Lifetime {
        match value(self.context, "csi.storage.k8s.io/ephemeral") {
            Some("true") => Lifetime::Inline,
            _ => Lifetime::Persistent,
        }
    }

    /// Who writes to the volume.
    pub(super) fn access(&self) -> Access {
        Access::ReadWrite
    }

    /// How many targets there may be.
    pub(super) fn targets(&self) -> Result<Targets, Refusal> {
        let capability = self
            .capability
            .ok_or(Refusal::Missing("volume capability"))?;
        match &capability.access_type {
            Some(AccessType::Mount(_)) => {}
            Some(AccessType::Block(_)) => return Err(Refusal::Block),
            None => return Err(Refusal::Missing("access type of the volume capability")),
        }
        let mode = capability.access_mode.as_ref().map(|mode| mode.mode());
        Ok(match mode {
            Some(Mode::SingleNodeSingleWriter) => Targets::One,
            _ => Targets::Many,
        })
    }
}

/// The value of a key, without blanks around it; none if it is empty. Keys have no case.
fn value<'a>(map: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    let mut entries = map.iter();
    let found = entries.find(|(name, _)| name.eq_ignore_ascii_case(key));
    let value = found.map(|(_, value)| value.trim());
    value.filter(|value| !value.is_empty())
}
