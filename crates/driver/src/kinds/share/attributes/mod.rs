//! Volumes that are shares, as csi-driver-smb's PersistentVolumes and StorageClasses describe them.

mod options;
mod source;
mod user;

use std::collections::BTreeSet;
use std::time::Duration;

use wincsi::Feature;
use wincsi::smb::{Credentials, RemotePath};
use wire::csi::v1::volume_capability::access_mode::Mode;

use self::options::{Class, OptionCounts};
use super::{Refused, RequestedShare};
use crate::cluster_dns::ClusterDns;
use crate::kubelet::{Refusal, Request};
use crate::life::{CallError, Context};
use crate::record::{Access, Lifetime, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

pub use self::options::{MountOptions, User, option_rows};
pub use self::source::{SourceError, folder, remote};

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

#[derive(Debug, Default)]
pub struct ShareRequests {
    rules: ShareRules,
    pub(super) counts: OptionCounts,
    reported: Unpoisoned<BTreeSet<(VolumeHandle, Report)>>,
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

/// Why a request for a share is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("the volume is refused: {0}")]
    Source(#[from] SourceError),
    #[error("-mount-options=strict refuses mount options: {0}")]
    MountOptions(String),
    #[error("the mount option port has to be a number from 1 to 65535")]
    Port,
    /// Windows cannot log on with it. No value is kept.
    #[error("the value of {0} in the volume's Secret has a control character")]
    Secret(&'static str),
    #[error(
        "-readonly=strict refuses a share that is read-only, because nothing on this node enforces it: give the volume's user a share that it cannot write to"
    )]
    ReadersOfShare,
    #[error(
        "the attribute secretName needs the Kubernetes API, which the node plugin does not call: name the Secret as nodePublishSecretRef of the pod's volume"
    )]
    SecretName,
    #[error("the volume has no user: {place} has to name a Secret with the keys username and password{guest}", place = place_of_secret(*.0), guest = or_guest(*.0))]
    NoUser(Lifetime),
    #[error(
        "an inline volume needs a user: without one Windows may connect as the node, so the option guest is for PersistentVolumes"
    )]
    InlineGuest,
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        Self::of_kind(error)
    }
}

fn place_of_secret(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Persistent => {
            "nodeStageSecretRef of the PersistentVolume (csi.storage.k8s.io/node-stage-secret-name of its StorageClass)"
        }
        Lifetime::Inline => "nodePublishSecretRef of the pod's volume",
    }
}

/// An inline volume may not be a guest.
fn or_guest(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Persistent => ", or the mount options have guest",
        Lifetime::Inline => "",
    }
}

impl ShareRequests {
    pub fn by(rules: ShareRules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// What the volume is to be like, its server by the name that it has there.
    pub(super) fn wanted(
        &self,
        request: &Request<'_>,
        ctx: &Context,
    ) -> Result<RequestedShare, Refusal> {
        request.mount()?;
        let volume = &request.volume;
        let given = remote(request.context).map_err(RequestError::from)?;
        let mut options = options(request)?;
        if !ctx.has(Feature::MapOptions) {
            options.drop_those_of_mappings();
        }
        let credentials = credentials_to_stage(request, options.user)?;
        self.note(volume, &options, ctx)?;
        self.admit(volume, access(request, &options))?;
        if has_secret_name(request) && self.is_first(volume, Report::SecretName) {
            tracing::warn!(
                "volume {volume}: secretName is ignored, as nodePublishSecretRef has its Secret"
            );
        }
        Ok(RequestedShare {
            server: given.server(),
            remote: given,
            credentials,
            options: options.mapping,
        })
    }

    /// The credentials with which a staged share is mapped again where Windows let the mapping go.
    pub(super) fn to_publish(&self, request: &Request<'_>) -> Result<Option<Credentials>, Refusal> {
        let options = options(request)?;
        self.admit(&request.volume, access(request, &options))?;
        Ok(credentials_of(request, options.user)?)
    }

    /// Counts the options, and says what becomes of them.
    fn note(
        &self,
        volume: &VolumeHandle,
        options: &MountOptions,
        ctx: &Context,
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
            return Err(RequestError::MountOptions(names).into());
        }
        if self.is_first(volume, Report::Ignored) {
            let text = format!("volume {volume}: mount options are ignored: {names}");
            tracing::warn!("{text}");
            ctx.machine.report(&text);
        }
        Ok(())
    }

    fn is_first(&self, volume: &VolumeHandle, report: Report) -> bool {
        let mut reported = self.reported.lock();
        if reported.len() >= MOST_REPORTED {
            reported.clear();
        }
        reported.insert((volume.clone(), report))
    }

    pub(super) fn note_not_taken_over(&self, volume: &VolumeHandle, why: &str) {
        if self.is_first(volume, Report::NotTakenOver) {
            tracing::warn!("volume {volume} is not taken over: {why}");
        }
    }

    fn admit(&self, volume: &VolumeHandle, access: Access) -> Result<(), Refusal> {
        if access == Access::ReadWrite {
            return Ok(());
        }
        if self.rules.readers == Strictness::Strict {
            return Err(RequestError::ReadersOfShare.into());
        }
        if self.is_first(volume, Report::Readers) {
            tracing::warn!(
                "volume {volume}: read-only is accepted, and nothing on this node enforces it: \
                 pods may do what the share allows the volume's user"
            );
        }
        Ok(())
    }

    /// Who resolves the server's name, if that is one of the cluster.
    pub(super) fn dns_for(&self, remote: &RemotePath) -> Option<&ClusterDns> {
        let dns = self.rules.cluster_dns.as_ref();
        dns.filter(|_| ClusterDns::is_of_cluster(&remote.server()))
    }
}

pub(super) fn resolved(
    given: &RemotePath,
    dns: &ClusterDns,
    within: Duration,
) -> Result<RemotePath, CallError> {
    let address = dns.address_of(&given.server(), within);
    let address = address.map_err(Refused::from)?;
    let at = source::at(given, address).map_err(RequestError::from);
    Ok(at.map_err(Refusal::from)?)
}

/// The mount options. A pod that names its volume inline has them in the context.
fn options(request: &Request<'_>) -> Result<MountOptions, Refusal> {
    let flags = request.mount()?.mount_flags.iter().map(String::as_str);
    let of_pod = match request.lifetime {
        Lifetime::Inline => request.attribute("mountOptions"),
        Lifetime::Persistent => None,
    };
    Ok(MountOptions::read(flags.chain(of_pod))?)
}

fn access(request: &Request<'_>, options: &MountOptions) -> Access {
    match request.mode() {
        Some(Mode::SingleNodeReaderOnly) => Access::ReadOnly,
        Some(Mode::MultiNodeReaderOnly) => Access::SharedReadOnly,
        _ if options.access == Access::ReadWrite => request.of_pod,
        _ => options.access,
    }
}

fn credentials_to_stage(
    request: &Request<'_>,
    user: User,
) -> Result<Option<Credentials>, RequestError> {
    let credentials = credentials_of(request, user)?;
    match user {
        User::OfSecret if credentials.is_some() => Ok(credentials),
        _ if has_secret_name(request) => Err(RequestError::SecretName),
        User::OfSecret => Err(RequestError::NoUser(request.lifetime)),
        // Windows may connect as the machine, which is not the pod's author.
        User::Guest if request.lifetime == Lifetime::Inline => Err(RequestError::InlineGuest),
        User::Guest => Ok(None),
    }
}

/// Whether there is the name of an inline volume's Secret, which csi-driver-smb reads from the Kubernetes API.
fn has_secret_name(request: &Request<'_>) -> bool {
    request.lifetime == Lifetime::Inline && request.attribute("secretName").is_some()
}

fn credentials_of(request: &Request<'_>, user: User) -> Result<Option<Credentials>, RequestError> {
    match user {
        User::Guest => Ok(None),
        User::OfSecret => user::credentials(request.secrets),
    }
}
