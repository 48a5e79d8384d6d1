//! Volumes that are shares, as csi-driver-smb's PersistentVolumes and StorageClasses describe them.

mod options;
mod source;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use program::metrics::Exposition;
use transport::{Code, Status};
use wincsi::smb::{Credentials, RemotePath};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessType, MountVolume};

use self::options::{Class, MountOptions, OptionCounts, User};
use crate::cluster_dns::{ClusterDns, LookupError};
use crate::kinds::share::{OptionsOnHost, Wanted};
use crate::kubelet::Refusal;
use crate::record::{Access, Lifetime, Targets, VolumeHandle};

pub use self::options::{OptionError, option_rows};
pub use self::source::SourceError;
pub use self::user::SecretError;

/// How many reports are remembered. Beyond them each may come again.
const MOST_REPORTED: usize = 1024;

/// Whether what means nothing on Windows is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// It is: PersistentVolumes carry it, and csi-driver-smb ignores it on Windows.
    #[default]
    Lenient,
    /// It is refused by name.
    Strict,
}

/// How requests for shares are read.
#[derive(Clone, Debug, Default)]
pub struct ShareRules {
    /// Of mount options.
    pub options: Strictness,
    /// Of volumes that pods only read.
    pub readers: Strictness,
    /// Who resolves the names of the cluster's services; `None` leaves each name to Windows.
    pub cluster_dns: Option<ClusterDns>,
}

/// Reads requests for shares.
#[derive(Debug, Default)]
pub struct ShareRequests {
    rules: ShareRules,
    counts: OptionCounts,
    reported: Mutex<BTreeSet<(VolumeHandle, Report)>>,
}

/// What is said once of a volume: kubelet may publish it again and again (`requiresRepublish`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Report {
    /// Its options that mean nothing on Windows.
    OfLinux,
    /// Its other options that are ignored.
    Ignored,
    /// That nothing makes it read-only.
    Readers,
    /// That it stays another driver's.
    NotTakenOver,
    /// That it has a Secret of its own beside the one that it names.
    SecretName,
}

/// What a request says of a share.
pub(crate) struct ShareRequest<'a> {
    pub(crate) context: &'a BTreeMap<String, String>,
    pub(crate) secrets: &'a BTreeMap<String, String>,
    pub(crate) capability: Option<&'a VolumeCapability>,
    /// What the pod is to do, as far as it has a word of its own on it.
    pub(crate) of_pod: Access,
}

impl ShareRequests {
    /// Reads them by these rules.
    #[must_use]
    pub fn by(rules: ShareRules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// Adds what is known of the requests to a page of metrics.
    pub fn render(&self, page: &mut Exposition) {
        self.counts.render(page);
    }

    /// What the volume is to be like, its server by the name that it has there. `report` takes what people should look at,
    /// once for each volume.
    pub(crate) fn wanted(
        &self,
        volume: &VolumeHandle,
        request: &ShareRequest<'_>,
        (lifetime, on_host): (Lifetime, OptionsOnHost),
        report: impl FnOnce(&str),
    ) -> Result<Wanted, Refusal> {
        let targets = request.targets()?;
        let given = source::remote(request.context)?;
        let mut options = request.options(lifetime)?;
        if on_host == OptionsOnHost::Dropped {
            options.drop_those_of_mappings();
        }
        let credentials = request.credentials_to_stage(lifetime, options.user)?;
        self.note(volume, &options, report)?;
        self.admit(volume, request.access(&options))?;
        if request.has_secret_name(lifetime) && self.is_first(volume, Report::SecretName) {
            tracing::warn!(
                "volume {volume}: secretName is ignored, as nodePublishSecretRef has its Secret"
            );
        }
        Ok(Wanted {
            server: given.server(),
            remote: given,
            credentials,
            options: options.mapping,
            targets,
            lifetime,
        })
    }

    /// What a publish of a staged volume asks for: how many targets, and with which credentials the share is mapped
    /// where Windows let the mapping go.
    pub(crate) fn publish(
        &self,
        volume: &VolumeHandle,
        request: &ShareRequest<'_>,
    ) -> Result<(Targets, Option<Credentials>), Refusal> {
        let options = request.options(Lifetime::Persistent)?;
        self.admit(volume, request.access(&options))?;
        let credentials = request.credentials_of(options.user)?;
        Ok((request.targets()?, credentials))
    }

    /// Counts the options, and says what becomes of them.
    fn note(
        &self,
        volume: &VolumeHandle,
        options: &MountOptions,
        report: impl FnOnce(&str),
    ) -> Result<(), Refusal> {
        self.counts.count(&options.seen);
        let of_linux = options.shown(|class| class == Class::Linux);
        if !of_linux.is_empty() && self.is_first(volume, Report::OfLinux) {
            let names = of_linux.join(", ");
            tracing::info!("volume {volume}: mount options mean nothing on Windows: {names}");
        }
        let questionable = options.shown(|class| class.complaint().is_some());
        if questionable.is_empty() {
            return Ok(());
        }
        let names = questionable.join(", ");
        if self.rules.options == Strictness::Strict {
            return Err(Refusal::MountOptions(names));
        }
        if self.is_first(volume, Report::Ignored) {
            let text = format!("volume {volume}: mount options are ignored: {names}");
            tracing::warn!("{text}");
            report(&text);
        }
        Ok(())
    }

    fn is_first(&self, volume: &VolumeHandle, report: Report) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.len() >= MOST_REPORTED {
            reported.clear();
        }
        reported.insert((volume.clone(), report))
    }

    pub(crate) fn note_not_taken_over(&self, volume: &VolumeHandle, why: &str) {
        if self.is_first(volume, Report::NotTakenOver) {
            tracing::warn!("volume {volume} is not taken over: {why}");
        }
    }

    fn admit(&self, volume: &VolumeHandle, access: Access) -> Result<(), Refusal> {
        match (access, self.rules.readers) {
            (Access::ReadWrite, _) => Ok(()),
            (_, Strictness::Strict) => Err(Refusal::ReadersOfShare),
            (_, Strictness::Lenient) if !self.is_first(volume, Report::Readers) => Ok(()),
            (_, Strictness::Lenient) => {
                tracing::warn!(
                    "volume {volume}: read-only is accepted, and nothing on this node enforces it: \
                     pods may do what the share allows the volume's user"
                );
                Ok(())
            }
        }
    }

    /// Who resolves the server's name, if that is one of the cluster.
    pub(crate) fn dns_for(&self, remote: &RemotePath) -> Option<&ClusterDns> {
        let dns = self.rules.cluster_dns.as_ref();
        dns.filter(|_| ClusterDns::is_of_cluster(&remote.server()))
    }
}

/// The share by its server's address.
pub(crate) fn resolved(given: &RemotePath, dns: &ClusterDns) -> Result<RemotePath, Status> {
    let address = dns.address_of(&given.server())?;
    Ok(source::at(given, address).map_err(Refusal::from)?)
}

impl From<LookupError> for Status {
    fn from(error: LookupError) -> Self {
        Self::new(Code::Unavailable, error.to_string())
    }
}

impl ShareRequest<'_> {
    /// Whether the volume is a share: its context names a source.
    pub(crate) fn is_one(&self) -> bool {
        value(self.context, "source").is_some()
    }

    /// Whether kubelet stages the volume, or its pod names it inline.
    pub(crate) fn lifetime(&self) -> Lifetime {
        match value(self.context, "csi.storage.k8s.io/ephemeral") {
            Some("true") => Lifetime::Inline,
            _ => Lifetime::Persistent,
        }
    }

    fn mount(&self) -> Result<&MountVolume, Refusal> {
        let capability = self
            .capability
            .ok_or(Refusal::Missing("volume capability"))?;
        match &capability.access_type {
            Some(AccessType::Mount(mount)) => Ok(mount),
            Some(AccessType::Block(_)) => Err(Refusal::Block),
            None => Err(Refusal::Missing("access type of the volume capability")),
        }
    }

    fn mode(&self) -> Option<Mode> {
        let mode = self.capability?.access_mode.as_ref()?;
        Some(mode.mode())
    }

    /// How many targets there may be.
    fn targets(&self) -> Result<Targets, Refusal> {
        self.mount()?;
        Ok(match self.mode() {
            Some(Mode::SingleNodeSingleWriter) => Targets::One,
            _ => Targets::Many,
        })
    }

    /// The mount options. A pod that names its volume inline has them in the context.
    fn options(&self, lifetime: Lifetime) -> Result<MountOptions, Refusal> {
        let flags = self.mount()?.mount_flags.iter().map(String::as_str);
        let of_pod = match lifetime {
            Lifetime::Inline => value(self.context, "mountOptions"),
            Lifetime::Persistent => None,
        };
        Ok(MountOptions::read(flags.chain(of_pod))?)
    }

    fn access(&self, options: &MountOptions) -> Access {
        match self.mode() {
            Some(Mode::SingleNodeReaderOnly) => Access::ReadOnly,
            Some(Mode::MultiNodeReaderOnly) => Access::SharedReadOnly,
            _ if options.access == Access::ReadWrite => self.of_pod,
            _ => options.access,
        }
    }

    fn credentials_to_stage(
        &self,
        lifetime: Lifetime,
        user: User,
    ) -> Result<Option<Credentials>, Refusal> {
        let credentials = self.credentials_of(user)?;
        if credentials.is_none() && self.has_secret_name(lifetime) {
            return Err(Refusal::SecretName);
        }
        match (user, &credentials) {
            (User::OfSecret, None) => Err(Refusal::NoUser(lifetime)),
            // Windows may connect as the machine, which is not the pod's author.
            (User::Guest, _) if lifetime == Lifetime::Inline => Err(Refusal::InlineGuest),
            _ => Ok(credentials),
        }
    }

    /// The name of an inline volume's Secret, which csi-driver-smb reads from the Kubernetes API.
    fn has_secret_name(&self, lifetime: Lifetime) -> bool {
        lifetime == Lifetime::Inline && value(self.context, "secretName").is_some()
    }

    fn credentials_of(&self, user: User) -> Result<Option<Credentials>, Refusal> {
        match user {
            User::Guest => Ok(None),
            User::OfSecret => Ok(user::credentials(self.secrets)?),
        }
    }
}

/// The value of a key, without blanks around it; none if it is empty. Keys have no case; of several, the one that is
/// spelled like this goes first.
fn value<'a>(map: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    let spelled_so = map.get_key_value(key);
    let mut entries = map.iter();
    let found = spelled_so.or_else(|| entries.find(|(name, _)| name.eq_ignore_ascii_case(key)));
    let value = found.map(|(_, value)| value.trim());
    value.filter(|value| !value.is_empty())
}
