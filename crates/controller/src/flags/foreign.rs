//! The flags of csi-driver-smb's controller, and what replaces them.

/// What replaces a flag of this name; `None` if csi-driver-smb does not have it.
pub(super) fn replacement_of(name: &str) -> Option<&'static str> {
    let found = FOREIGN.iter().find(|(known, _)| *known == name);
    found.map(|(_, replacement)| *replacement)
}

/// Those that mean the same here and have the same name.
pub(super) const SHARED: &[&str] = &[
    "default-ondelete-policy",
    "drivername",
    "endpoint",
    "metrics-address",
];

const API: &str = "leave it out: the controller calls no Kubernetes API";
const ARCHIVE: &str = "leave it out: no archive is ever removed, a second one gets another name";
const KERBEROS: &str = "leave it out: the controller logs on by NTLM, with the Secret's user";
const MOUNT: &str = "leave it out: the controller mounts nothing";
const NODE: &str = "leave it out: a flag of the node plugin, `wincsi node`";
const NODE_ID: &str = "leave it out: the controller runs on any node, and needs no id";

pub(super) const FOREIGN: &[(&str, &str)] = &[
    ("enable-get-volume-stats", NODE),
    ("enable-windows-host-process", NODE),
    ("global-mapping-additional-params", NODE),
    ("krb5-cache-directory", KERBEROS),
    ("krb5-prefix", KERBEROS),
    ("kubeconfig", API),
    ("nodeid", NODE_ID),
    ("remove-archived-volume-path", ARCHIVE),
    ("remove-smb-mapping-during-unmount", NODE),
    ("require-privacy-for-global-mapping", "set -require-privacy"),
    ("ver", "use -version"),
    ("vol-stats-cache-expire-in-minutes", NODE),
    ("working-mount-dir", MOUNT),
];
