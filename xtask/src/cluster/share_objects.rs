//! The requests to Kubernetes for shares, with the fields from csi-driver-smb's pages and its provisioner.

use serde_json::{Value, json};

use super::objects::{self, DRIVER};
use crate::trial;

/// The lists for new objects.
pub(super) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
pub(super) const VOLUMES: &str = "/api/v1/persistentvolumes";

const CLASS: &str = "smb";
const SECRET: &str = "smbcreds";
const NAMESPACE: &str = "default";
const SIZE: &str = "1Gi";

/// Where a pod's volume comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// A claim of a class: the controller makes a folder of the share for it.
    Claim,
    /// A PersistentVolume by an administrator.
    Static,
    /// One by csi-driver-smb's provisioner.
    Provisioned,
    /// The pod names the share itself.
    Inline,
}

impl Origin {
    pub(super) const ALL: [Self; 4] = [Self::Claim, Self::Static, Self::Provisioned, Self::Inline];

    /// The name of the pod, and of its claim.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claim => "smb-claim",
            Self::Static => "smb-static",
            Self::Provisioned => "smb-provisioned",
            Self::Inline => "smb-inline",
        }
    }

    /// Whether kubelet stages the volume before it publishes it.
    pub(super) fn is_staged(self) -> bool {
        self != Self::Inline
    }

    /// How the pod came to the share, in a step's line.
    pub(super) fn shown_by(self) -> &'static str {
        match self {
            Self::Claim => "Running, on the folder that its class has made",
            Self::Static => "Running, on a PV that an administrator wrote",
            Self::Provisioned => "Running, on a PV as csi-driver-smb's provisioner writes it",
            Self::Inline => "Running, with an inline volume",
        }
    }

    /// The share's folder of a PersistentVolume.
    pub(super) fn folder(self, volume: &str) -> &str {
        match self {
            Self::Static => "static",
            Self::Claim | Self::Provisioned | Self::Inline => volume,
        }
    }

    /// The PersistentVolume made before its claim.
    pub(super) fn volume(self) -> Option<Given> {
        let source = trial::source();
        let below = source.trim_start_matches('/');
        match self {
            Self::Claim | Self::Inline => None,
            Self::Static => Some(Given {
                name: "pv-smb",
                folder: "static",
                handle: format!("{below}#static#pv-smb#"),
                reclaim: "Retain",
            }),
            Self::Provisioned => Some(Given {
                name: "pvc-2b1dbd0c-6a4f-4d3c-9e6e-3c1a7e5d7f10",
                folder: "pvc-2b1dbd0c-6a4f-4d3c-9e6e-3c1a7e5d7f10",
                handle: format!("{below}#pvc-2b1dbd0c-6a4f-4d3c-9e6e-3c1a7e5d7f10##"),
                reclaim: "Delete",
            }),
        }
    }
}

/// A PersistentVolume as csi-driver-smb's clusters have it, but for the driver's name.
pub(super) struct Given {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) handle: String,
    reclaim: &'static str,
}

impl Given {
    pub(super) fn object(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": self.name,
                "annotations": {
                    "pv.kubernetes.io/provisioned-by": DRIVER,
                    "volume.kubernetes.io/provisioner-deletion-secret-name": SECRET,
                    "volume.kubernetes.io/provisioner-deletion-secret-namespace": NAMESPACE,
                },
            },
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "capacity": {"storage": SIZE},
                "csi": {
                    "driver": DRIVER,
                    "volumeHandle": self.handle,
                    "volumeAttributes": {"source": trial::source(), "subDir": self.folder},
                    "nodeStageSecretRef": {"name": SECRET, "namespace": NAMESPACE},
                },
                "mountOptions": ["dir_mode=0777", "file_mode=0777"],
                "persistentVolumeReclaimPolicy": self.reclaim,
                "storageClassName": CLASS,
                "volumeMode": "Filesystem",
            },
        })
    }
}

pub(super) fn secret() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "stringData": {"username": trial::USER, "password": trial::PASSWORD},
    })
}

/// The class, with a Secret for each call.
pub(super) fn class() -> Value {
    let mut parameters = json!({"source": trial::source()});
    for call in ["provisioner", "node-stage", "node-publish"] {
        parameters[format!("csi.storage.k8s.io/{call}-secret-name")] = json!(SECRET);
        parameters[format!("csi.storage.k8s.io/{call}-secret-namespace")] = json!(NAMESPACE);
    }
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": DRIVER,
        "parameters": parameters,
        "reclaimPolicy": "Delete",
    })
}

/// A claim, of the given volume or of one made for it.
pub(super) fn claim(origin: Origin) -> Value {
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": origin.name()},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": SIZE}},
            "storageClassName": CLASS,
        },
    });
    if let Some(volume) = origin.volume() {
        claim["spec"]["volumeName"] = json!(volume.name);
    }
    claim
}

/// The pod, on the node.
pub(super) fn pod(origin: Origin) -> Value {
    let source = match origin.is_staged() {
        true => json!({"persistentVolumeClaim": {"claimName": origin.name()}}),
        false => json!({"csi": {
            "driver": DRIVER,
            "volumeAttributes": {"source": trial::source()},
            "nodePublishSecretRef": {"name": SECRET},
        }}),
    };
    objects::pod_with(origin.name(), source)
}
