//! The flags of the drivers that an operator may come from, and what replaces them.
//!
//! Names: csi-driver-smb and azuredisk-csi-driver (`pkg/azuredisk/azuredisk_option.go`), with what manifests of both add.

/// A flag's name, whose it is, and what an operator does instead.
type ForeignFlag = (&'static str, &'static str, &'static str);

/// What replaces a flag of this name; `None` when no driver that is known has it.
pub(super) fn replacement_of(name: &str) -> Option<&'static str> {
    let found = FOREIGN.iter().find(|(known, ..)| *known == name);
    found.map(|(.., replacement)| *replacement)
}

/// Those that mean the same here and have the same name.
pub(super) const SHARED: &[&str] = &[
    "drivername",
    "endpoint",
    "metrics-address",
    "nodeid",
    "vol-stats-cache-expire-in-minutes",
];

const BOTH: &str = "csi-driver-smb, azuredisk";
const SMB: &str = "csi-driver-smb";
const DISK: &str = "azuredisk";

const NO_API: &str = "leave it out: the node plugin calls no Kubernetes API";
const CONTROLLER: &str = "leave it out: a flag of the controller, which another program is";
const CLOUD: &str = "leave it out: the node plugin calls no cloud, the controller does";
const TOPOLOGY: &str = "set -topology=KEY=VALUE for each key";
const HOST: &str =
    "leave it out, a HostProcess container is recognised; or set -host=native or -host=proxy";
const PIPES: &str =
    "leave it out: with -host=proxy the newest versions that csi-proxy serves are used";
const KERBEROS: &str =
    "leave it out: Windows has no Kerberos cache files, and logs on with the Secret's user";
const FORMATS: &str =
    "leave it out: formats of different disks run side by side, each with a deadline";

/// By name.
pub(super) const FOREIGN: &[ForeignFlag] = &[
    ("allow-empty-cloud-config", DISK, CLOUD),
    ("attach-detach-initial-delay-ms", DISK, CONTROLLER),
    ("check-disk-lun-collision", DISK, CONTROLLER),
    ("cloud-config-secret-name", DISK, CLOUD),
    ("cloud-config-secret-namespace", DISK, CLOUD),
    ("concurrent-format-timeout", DISK, FORMATS),
    ("custom-user-agent", DISK, CLOUD),
    ("default-ondelete-policy", SMB, CONTROLLER),
    ("disable-avset-nodes", DISK, CONTROLLER),
    ("disable-update-cache", DISK, CONTROLLER),
    ("enable-disk-capacity-check", DISK, CONTROLLER),
    ("enable-disk-online-resize", DISK, CONTROLLER),
    (
        "enable-get-volume-stats",
        SMB,
        "leave it out: stats are always announced, and those of shares are cached",
    ),
    ("enable-list-snapshots", DISK, CONTROLLER),
    ("enable-list-volumes", DISK, CONTROLLER),
    (
        "enable-otel-tracing",
        DISK,
        "leave it out: -metrics-address serves figures for each call",
    ),
    (
        "enable-perf-optimization",
        DISK,
        "leave it out: it tunes devices of Linux",
    ),
    ("enable-traffic-manager", DISK, CONTROLLER),
    ("enable-windows-host-process", BOTH, HOST),
    ("force-detach-backoff", DISK, CONTROLLER),
    ("get-node-info-from-labels", DISK, TOPOLOGY),
    ("get-nodeid-from-imds", DISK, "set -nodeid"),
    (
        "global-mapping-additional-params",
        SMB,
        "set the mount options seal, sign, compress, cache=none and port=N of each volume that \
         needs them; a mapping that lacks them has to go first",
    ),
    ("krb5-cache-directory", SMB, KERBEROS),
    ("krb5-prefix", SMB, KERBEROS),
    ("kubeconfig", BOTH, NO_API),
    ("max-concurrent-format", DISK, FORMATS),
    ("pre-stop-hook", DISK, "run `wincsi node drain` in preStop"),
    ("remove-archived-volume-path", SMB, CONTROLLER),
    ("remove-not-ready-taint", DISK, NO_API),
    (
        "remove-smb-mapping-during-unmount",
        SMB,
        "leave it out: a mapping goes with its last volume, also one that csi-driver-smb made",
    ),
    (
        "require-privacy-for-global-mapping",
        SMB,
        "set -require-privacy",
    ),
    (
        "reserved-data-disk-slot-num",
        DISK,
        "set -max-volumes to what is left",
    ),
    ("support-zone", DISK, TOPOLOGY),
    ("traffic-manager-port", DISK, CONTROLLER),
    ("use-csiproxy-ga-interface", DISK, PIPES),
    (
        "use-win-cim-api",
        DISK,
        "leave it out: no operation starts PowerShell",
    ),
    ("user-agent-suffix", DISK, CLOUD),
    ("ver", SMB, "use -version"),
    ("vm-type", DISK, CLOUD),
    ("vmss-cache-ttl-seconds", DISK, CLOUD),
    ("volume-attach-limit", DISK, "set -max-volumes"),
    ("wait-for-snapshot-ready", DISK, CONTROLLER),
    (
        "working-mount-dir",
        SMB,
        "leave it out: only a controller mounts shares for itself",
    ),
];
