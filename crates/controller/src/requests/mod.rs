//! Requests, parsed: parameters of classes, Secrets, handles, and the places on shares that they name.

pub(crate) mod class;
mod handle;
pub(crate) mod place;
pub(crate) mod secret;
pub(crate) mod snapshot;

use driver::kinds::share::attributes::{self, SourceError};
use driver::record::HandleError;
use smb::{CredentialsError, NameError};

use crate::volumes::FolderError;

pub use self::class::Class;
pub use self::handle::Handle;
pub use self::place::Place;
pub use self::secret::Secret;
pub use self::snapshot::SnapshotId;

/// Why a request is refused. No value of a Secret is kept.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("the {0} is missing")]
    Missing(&'static str),
    #[error("block volumes do not exist on shares: the volume needs volumeMode Filesystem")]
    Block,
    #[error(
        "the source {0:?} has no snapshots: only volumes of wincsi-controller that have a folder of their own have ({1})"
    )]
    NoSource(String, Box<Self>),
    /// Its number.
    #[error(
        "line {0} of the key source of the list Secret names no base folder, as //server/share[/path]"
    )]
    ListSource(usize),
    #[error("consistency is {0:?}, and has to be listed or strict")]
    Consistency(String),
    #[error(
        "the source {0:?} is a share or a base folder, of which no clone is made: name a volume with a folder of its own"
    )]
    WholeShare(String),
    #[error(
        "the source is on the server {source_host:?}, and the class's password is for {host:?} alone: clone it by a class that names the source's server, by the same name"
    )]
    OtherServer { source_host: String, host: String },
    #[error("the class has the parameter {0:?}, which is unknown")]
    Parameter(String),
    #[error("the class has the parameter {0} twice")]
    Twice(String),
    #[error("{0} has blanks around it")]
    Blanks(String),
    #[error("onDelete is {0:?}, and has to be delete, retain or archive")]
    OnDelete(String),
    #[error(
        "{0} needs a Secret with the keys username and password, by csi.storage.k8s.io/provisioner-secret-name of the class"
    )]
    NoSecret(&'static str),
    #[error(
        "snapshots need a Secret with the keys username and password, by {0} of the VolumeSnapshotClass"
    )]
    NoSnapshotSecret(&'static str),
    #[error("{template} in subDir needs {key}: run csi-provisioner with --extra-create-metadata")]
    Metadata {
        template: &'static str,
        key: &'static str,
    },
    #[error(
        "subDir or source has ${{, and the templates are ${{pvc.metadata.name}}, ${{pvc.metadata.namespace}} and ${{pv.metadata.name}}, in subDir alone"
    )]
    Template,
    #[error("the volume is refused: {0}")]
    Source(SourceError),
    /// A handle could not be read again, or a server may read the path otherwise.
    #[error("a name has {0:?}, which no name of a volume, a share or a folder may have")]
    Character(char),
    #[error("a name of the path is refused: {0}")]
    Name(#[from] NameError),
    #[error("subDir is refused: {0}")]
    Folder(#[from] FolderError),
    #[error("source or subDir has the folder .wincsi, which holds the records of volumes")]
    Records,
    #[error("the name has a separator")]
    Separator,
    #[error("the volume's handle is refused: {0}")]
    Handle(#[from] HandleError),
    #[error("its handle has another form")]
    Form,
    #[error("the Secret has no username")]
    NoUser,
    #[error("the value of {0} in the Secret has a control character")]
    Control(&'static str),
    #[error("the Secret is refused: {0}")]
    Credentials(#[from] CredentialsError),
    #[error("the mount options of {place} are refused: {reason}")]
    MountOptions {
        place: &'static str,
        reason: attributes::RequestError,
    },
    #[error(
        "the mount options have port {0}, and the Secret's key mountOptions has {1}: a delete has those of the Secret alone, and would go to another server"
    )]
    Ports(u16, u16),
    #[error(
        "the mount options have seal, and the Secret's key mountOptions has not: a delete has those of the Secret alone, and would not be encrypted"
    )]
    Seal,
    #[error("a size or number is negative")]
    Negative,
}

impl From<SourceError> for RequestError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Missing => Self::Missing("parameter source"),
            SourceError::Template { template, key } => Self::Metadata { template, key },
            error => Self::Source(error),
        }
    }
}
