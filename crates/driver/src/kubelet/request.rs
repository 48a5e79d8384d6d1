//! Requests, parsed as far as each kind of volume has the same.

use std::collections::BTreeMap;
use std::error::Error;

use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessType, MountVolume};
use wire::csi::v1::{NodePublishVolumeRequest, NodeStageVolumeRequest, VolumeCapability};

use crate::life::{KubeletPathError, kubelet_path};
use crate::path::KubeletPath;
use crate::record::{Access, HandleError, Lifetime, Targets, VolumeHandle};

/// A request to stage or publish a volume.
pub struct Request<'a> {
    pub volume: VolumeHandle,
    pub lifetime: Lifetime,
    /// The staging path, as kubelet wrote it; empty if there is none.
    pub staging: &'a str,
    /// The target path, as kubelet wrote it; empty if there is none.
    pub target: &'a str,
    pub context: &'a BTreeMap<String, String>,
    /// What the controller wrote about its attachment.
    pub publish_context: &'a BTreeMap<String, String>,
    pub secrets: &'a BTreeMap<String, String>,
    /// How the volume is to be used.
    pub capability: Option<&'a VolumeCapability>,
    /// What the pod is to do, as far as it has a word of its own on it.
    pub of_pod: Access,
}

/// A request that no repetition helps.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("block volumes do not exist on Windows: the volume needs volumeMode Filesystem")]
    Block,
    #[error(transparent)]
    OfKind(Box<dyn Error + Send + Sync>),
    #[error("the {0} is missing")]
    Missing(&'static str),
    #[error("{place} has the key {key:?}, which is not read: write {meant}")]
    Misspelt {
        place: &'static str,
        key: String,
        meant: &'static str,
    },
    #[error("the volume's attributes name no kind of volume that this driver has")]
    NoKind,
    #[error("the {name} {text:?} is no path of Windows: {reason}")]
    Path {
        name: &'static str,
        text: String,
        reason: KubeletPathError,
    },
    #[error("the volume id is refused: {0}")]
    VolumeId(HandleError),
}

impl Refusal {
    pub fn of_kind(error: impl Error + Send + Sync + 'static) -> Self {
        Self::OfKind(Box::new(error))
    }
}

impl<'a> Request<'a> {
    pub(super) fn to_stage(request: &'a NodeStageVolumeRequest) -> Result<Self, Refusal> {
        let volume = volume(&request.volume_id)?;
        given("staging path", &request.staging_target_path)?;
        Ok(Self {
            volume,
            lifetime: Lifetime::Persistent,
            staging: &request.staging_target_path,
            target: "",
            context: &request.volume_context,
            publish_context: &request.publish_context,
            secrets: &request.secrets,
            capability: request.volume_capability.as_ref(),
            of_pod: Access::ReadWrite,
        })
    }

    pub(super) fn to_publish(request: &'a NodePublishVolumeRequest) -> Result<Self, Refusal> {
        let volume = volume(&request.volume_id)?;
        given("target path", &request.target_path)?;
        let is_inline = value(&request.volume_context, "csi.storage.k8s.io/ephemeral");
        Ok(Self {
            volume,
            lifetime: match is_inline {
                Some("true") => Lifetime::Inline,
                _ => Lifetime::Persistent,
            },
            staging: &request.staging_target_path,
            target: &request.target_path,
            context: &request.volume_context,
            publish_context: &request.publish_context,
            secrets: &request.secrets,
            capability: request.volume_capability.as_ref(),
            of_pod: match request.readonly {
                true => Access::ReadOnly,
                false => Access::ReadWrite,
            },
        })
    }

    pub(crate) fn staging(&self) -> Result<KubeletPath, Refusal> {
        path("staging path", self.staging)
    }

    pub(crate) fn target(&self) -> Result<KubeletPath, Refusal> {
        path("target path", self.target)
    }

    /// An attribute, as [`value`].
    pub(crate) fn attribute(&self, key: &str) -> Option<&'a str> {
        value(self.context, key)
    }

    pub(crate) fn mount(&self) -> Result<&'a MountVolume, Refusal> {
        let missing = Refusal::Missing("volume capability");
        match &self.capability.ok_or(missing)?.access_type {
            Some(AccessType::Mount(mount)) => Ok(mount),
            Some(AccessType::Block(_)) => Err(Refusal::Block),
            None => Err(Refusal::Missing("access type of the volume capability")),
        }
    }

    pub(crate) fn mode(&self) -> Option<Mode> {
        let mode = self.capability?.access_mode.as_ref()?;
        Some(mode.mode())
    }

    pub(crate) fn targets(&self) -> Result<Targets, Refusal> {
        self.mount()?;
        Ok(match self.mode() {
            Some(Mode::SingleNodeSingleWriter) => Targets::One,
            _ => Targets::Many,
        })
    }
}

/// The value of a key, without blanks around it; none if it is empty. Keys have no case; of several, the one that is
/// spelled like this goes first.
pub fn value<'a>(map: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    let spelled_so = map.get_key_value(key);
    let mut entries = map.iter();
    let found = spelled_so.or_else(|| entries.find(|(name, _)| name.eq_ignore_ascii_case(key)));
    let value = found.map(|(_, value)| value.trim());
    value.filter(|value| !value.is_empty())
}

pub(super) fn volume(id: &str) -> Result<VolumeHandle, Refusal> {
    given("volume id", id)?;
    VolumeHandle::parse(id).map_err(Refusal::VolumeId)
}

/// A path of a request, which kubelet writes with or without a drive.
pub(super) fn path(name: &'static str, text: &str) -> Result<KubeletPath, Refusal> {
    let given = given(name, text)?;
    kubelet_path(given).map_err(|reason| Refusal::Path {
        name,
        text: text.to_owned(),
        reason,
    })
}

/// A text of a request that may not be empty.
pub(super) fn given<'a>(name: &'static str, text: &'a str) -> Result<&'a str, Refusal> {
    match text {
        "" => Err(Refusal::Missing(name)),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_paths_get_their_drive() {
        for text in [
            r"\var\lib\kubelet\x",
            "/var/lib/kubelet/x",
            r"c:\var\lib\kubelet\x",
        ] {
            let path = path("staging path", text).unwrap();
            assert_eq!(path.to_string().to_lowercase(), r"c:\var\lib\kubelet\x");
        }
        assert!(matches!(
            path("target path", ""),
            Err(Refusal::Missing("target path"))
        ));
        assert!(matches!(
            path("target path", r"C:\a\..\b"),
            Err(Refusal::Path { .. })
        ));
    }
}
