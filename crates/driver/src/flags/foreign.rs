//! The flags of the drivers that an operator may come from, and what replaces them.
//!
//! Names: csi-driver-smb and azuredisk-csi-driver (`pkg/azuredisk/azuredisk_option.go`), with what manifests of both add.

#[derive(Clone, Copy, Debug)]
pub(super) struct ForeignFlag {
    pub(super) name: &'static str,
    pub(super) of: &'static str,
    /// What an operator does instead.
    pub(super) replacement: &'static str,
}

/// What replaces a flag of this name; `None` when no driver that is known has it.
pub(super) fn replacement_of(name: &str) -> Option<&'static str> {
    let found = FOREIGN.iter().find(|flag| flag.name == name);
    found.map(|flag| flag.replacement)
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
    foreign("allow-empty-cloud-config", DISK, CLOUD),
    foreign("attach-detach-initial-delay-ms", DISK, CONTROLLER),
    foreign("check-disk-lun-collision", DISK, CONTROLLER),
    foreign("cloud-config-secret-name", DISK, CLOUD),
    foreign("cloud-config-secret-namespace", DISK, CLOUD),
    foreign("concurrent-format-timeout", DISK, FORMATS),
    foreign("custom-user-agent", DISK, CLOUD),
    foreign("default-ondelete-policy", SMB, CONTROLLER),
    foreign("disable-avset-nodes", DISK, CONTROLLER),
    foreign("disable-update-cache", DISK, CONTROLLER),
    foreign("enable-disk-capacity-check", DISK, CONTROLLER),
    foreign("enable-disk-online-resize", DISK, CONTROLLER),
    foreign(
        "enable-get-volume-stats",
        SMB,
        "leave it out: stats are always announced, and those of shares are cached",
    ),
    foreign("enable-list-snapshots", DISK, CONTROLLER),
    foreign("enable-list-volumes", DISK, CONTROLLER),
    foreign(
        "enable-otel-tracing",
        DISK,
        "leave it out: -metrics-address serves figures for each call",
    ),
    foreign(
        "enable-perf-optimization",
        DISK,
        "leave it out: it tunes devices of Linux",
    ),
    foreign("enable-traffic-manager", DISK, CONTROLLER),
    foreign("enable-windows-host-process", BOTH, HOST),
    foreign("force-detach-backoff", DISK, CONTROLLER),
    foreign("get-node-info-from-labels", DISK, TOPOLOGY),
    foreign("get-nodeid-from-imds", DISK, "set -nodeid"),
    foreign(
        "global-mapping-additional-params",
        SMB,
        "set the mount options seal, sign, compress, cache=none and port=N of each volume that \
         needs them; a mapping that lacks them has to go first",
    ),
    foreign("krb5-cache-directory", SMB, KERBEROS),
    foreign("krb5-prefix", SMB, KERBEROS),
    foreign("kubeconfig", BOTH, NO_API),
    foreign("max-concurrent-format", DISK, FORMATS),
    foreign("pre-stop-hook", DISK, "run `wincsi node drain` in preStop"),
    foreign("remove-archived-volume-path", SMB, CONTROLLER),
    foreign("remove-not-ready-taint", DISK, NO_API),
    foreign(
        "remove-smb-mapping-during-unmount",
        SMB,
        "leave it out: a mapping goes with its last volume, also one that csi-driver-smb made",
    ),
    foreign(
        "require-privacy-for-global-mapping",
        SMB,
        "set -require-privacy",
    ),
    foreign(
        "reserved-data-disk-slot-num",
        DISK,
        "set -max-volumes to what is left",
    ),
    foreign("support-zone", DISK, TOPOLOGY),
    foreign("traffic-manager-port", DISK, CONTROLLER),
    foreign("use-csiproxy-ga-interface", DISK, PIPES),
    foreign(
        "use-win-cim-api",
        DISK,
        "leave it out: no operation starts PowerShell",
    ),
    foreign("user-agent-suffix", DISK, CLOUD),
    foreign("ver", SMB, "use -version"),
    foreign("vm-type", DISK, CLOUD),
    foreign("vmss-cache-ttl-seconds", DISK, CLOUD),
    foreign("volume-attach-limit", DISK, "set -max-volumes"),
    foreign("wait-for-snapshot-ready", DISK, CONTROLLER),
    foreign(
        "working-mount-dir",
        SMB,
        "leave it out: only a controller mounts shares for itself",
    ),
];

const fn foreign(name: &'static str, of: &'static str, replacement: &'static str) -> ForeignFlag {
    ForeignFlag {
        name,
        of,
        replacement,
    }
}
