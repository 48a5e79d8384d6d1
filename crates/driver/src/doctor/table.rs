//! The table of checks, from which come the command's lines, the metric and rows of docs/stuck.md.

use super::checks::{disks, driver, iscsi, node, shares};
use super::notes::Notes;
use super::report::Severity;
use super::subject::Subject;

/// One thing that a look compares with what it should be.
pub struct Check {
    /// Its name in reports and in the metric, which stays.
    pub id: &'static str,
    pub severity: Severity,
    /// What is looked at.
    pub looks_at: &'static str,
    /// The words by which kubelet shows it; none if kubelet shows nothing.
    pub words: &'static [&'static str],
    /// What a person does.
    pub advice: &'static str,
    /// The page and its section.
    pub page: &'static str,
    /// The checks whose finding explains this one's: of the same object, or of the whole node.
    pub covered_by: &'static [&'static str],
    /// Whether a call may make it so for a moment: then a finding of a volume or server that has a call is none.
    pub is_moved_by_calls: bool,
    pub(super) look: fn(&Subject<'_>, &mut Notes),
}

/// A cause comes before what it covers.
pub const CHECKS: &[Check] = &[
    Check {
        id: "kubelet-folder",
        severity: Severity::Error,
        looks_at: "kubelet's folder `plugins_registry`, and the `--root-dir` of its service or process",
        words: &["not found in the list of registered CSI drivers"],
        advice: "set -kubelet-path to DIR, the --root-dir of this node's kubelet, if all nodes of the DaemonSet have it; with Helm: helm upgrade wincsi charts/wincsi --namespace wincsi --reset-then-reuse-values --set-literal 'windows.kubelet=DIR'",
        page: "docs/driver.md#registration",
        covered_by: &[],
        is_moved_by_calls: false,
        look: driver::kubelet_folder,
    },
    Check {
        id: "driver-absent",
        severity: Severity::Error,
        looks_at: "the driver's socket, and the service afunix",
        words: &["Error while dialing", "connection refused"],
        advice: "wait a minute if it starts; else read its pod's log, and delete the pod if it hangs; if afunix does not run: sc.exe start afunix",
        page: "docs/stuck.md#kubelets-texts",
        covered_by: &[],
        is_moved_by_calls: false,
        look: driver::absent,
    },
    Check {
        id: "not-registered",
        severity: Severity::Error,
        looks_at: "whether kubelet has registered the driver",
        words: &["not found in the list of registered CSI drivers"],
        advice: "wait 2 min 2 s after a start of the node or the driver; then see whether another driver has the socket, and run sc.exe query afunix",
        page: "docs/driver.md#registration",
        covered_by: &["kubelet-folder", "driver-absent"],
        is_moved_by_calls: false,
        look: driver::not_registered,
    },
    Check {
        id: "record-unreadable",
        severity: Severity::Error,
        looks_at: "the files of records",
        words: &["is not read: "],
        advice: "install the program that wrote it again, or move a broken file away, and delete the driver's pod",
        page: "docs/driver.md#a-record-is-not-read",
        covered_by: &[],
        is_moved_by_calls: false,
        look: driver::unreadable_records,
    },
    Check {
        id: "node-fails",
        severity: Severity::Error,
        looks_at: "the node's cheapest operation; over csi-proxy's pipes, whether its pipe answers",
        words: &[
            "nobody serves it",
            "The system cannot find the file specified",
        ],
        advice: "read the text; a pipe that is missing needs csi-proxy's service or DaemonSet, or a newer csi-proxy",
        page: "docs/service.md#install-the-service",
        covered_by: &[],
        is_moved_by_calls: false,
        look: node::fails,
    },
    Check {
        id: "server-away",
        severity: Severity::Error,
        looks_at: "the TCP port of each server of a share with a record",
        words: &["its server is away", "The network path was not found"],
        advice: "check the server, its name and the firewall: Test-NetConnection SERVER -Port 445, or wincsi doctor //SERVER/SHARE; if the event stays though it answers, kubectl drain (docs/smb.md#drain-a-node)",
        page: "docs/stuck.md#shares",
        covered_by: &[],
        is_moved_by_calls: false,
        look: shares::server_away,
    },
    Check {
        id: "share-not-mapped",
        severity: Severity::Error,
        looks_at: "the mapping of each staged share",
        words: &["is not mapped, or does not answer"],
        advice: "delete all pods of the volume on the node; new volumes: nodePublishSecretRef",
        page: "docs/stuck.md#shares",
        covered_by: &["server-away", "driver-absent"],
        is_moved_by_calls: true,
        look: shares::not_mapped,
    },
    Check {
        id: "mapping-not-ok",
        severity: Severity::Warning,
        looks_at: "the status of each mapping that a staged share needs",
        words: &["is not mapped, or does not answer"],
        advice: "Windows connects it at its next use; if it stays, run wincsi doctor //SERVER/SHARE and check the share on the server",
        page: "docs/stuck.md#shares",
        covered_by: &["server-away", "driver-absent"],
        is_moved_by_calls: true,
        look: shares::mapping_not_ok,
    },
    Check {
        id: "mappings-unused",
        severity: Severity::Warning,
        looks_at: "mappings that no volume of this driver has, from 100 on",
        words: &["Not enough memory resources"],
        advice: "another driver may use them: list those that nobody uses (docs/migrate-csi-driver-smb.md#mappings-that-nobody-uses), and drain the node before you remove them",
        page: "docs/migrate-csi-driver-smb.md#mappings-that-nobody-uses",
        covered_by: &["record-unreadable"],
        is_moved_by_calls: true,
        look: shares::unused_mappings,
    },
    Check {
        id: "iscsi-stopped",
        severity: Severity::Error,
        looks_at: "the service MSiSCSI, if a LUN is staged",
        words: &[
            "MSiSCSI does not run",
            "the initiator service is not running",
        ],
        advice: "Set-Service MSiSCSI -StartupType Automatic; Start-Service MSiSCSI",
        page: "docs/iscsi.md#a-lun-in-a-pod",
        covered_by: &["driver-absent"],
        is_moved_by_calls: false,
        look: iscsi::stopped,
    },
    Check {
        id: "target-away",
        severity: Severity::Error,
        looks_at: "the TCP port of all portals of each staged LUN",
        words: &["probe portal"],
        advice: "check array and network: Test-NetConnection ADDRESS -Port 3260",
        page: "docs/iscsi.md#when-it-fails",
        covered_by: &[],
        is_moved_by_calls: false,
        look: iscsi::target_away,
    },
    Check {
        id: "portal-away",
        severity: Severity::Warning,
        looks_at: "the TCP port of each portal of a staged LUN that has another one",
        words: &["probe portal"],
        advice: "check this way to the array; the volume goes on by another one",
        page: "docs/iscsi.md#when-it-fails",
        covered_by: &[],
        is_moved_by_calls: false,
        look: iscsi::portal_away,
    },
    Check {
        id: "session-away",
        severity: Severity::Error,
        looks_at: "the session of each staged LUN",
        words: &["is not connected"],
        advice: "mend the network, or delete the volume's pods",
        page: "docs/iscsi.md#when-it-fails",
        covered_by: &["iscsi-stopped", "target-away", "driver-absent"],
        is_moved_by_calls: true,
        look: iscsi::session_away,
    },
    Check {
        id: "session-unused",
        severity: Severity::Warning,
        looks_at: "each iSCSI session that does not come back after a restart: whether a volume has its target, or its disks are online",
        words: &[],
        advice: "Get-IscsiSession -SessionIdentifier ID | Get-Disk; if no person and no other driver needs these: Disconnect-IscsiTarget -SessionIdentifier ID",
        page: "docs/iscsi.md#when-it-fails",
        covered_by: &["record-unreadable"],
        is_moved_by_calls: true,
        look: iscsi::session_unused,
    },
    Check {
        id: "disk-offline",
        severity: Severity::Error,
        looks_at: "whether the disk of each staged LUN is online",
        words: &["Windows keeps it offline"],
        advice: "bring it online, of several paths to one disk one alone: Set-Disk -Number N -IsOffline $false. Policy: a person or a program took it offline. Collision: detach the clone first",
        page: "docs/stuck.md#disks",
        covered_by: &[
            "iscsi-stopped",
            "target-away",
            "session-away",
            "driver-absent",
        ],
        is_moved_by_calls: true,
        look: disks::offline,
    },
    Check {
        id: "disk-read-only",
        severity: Severity::Error,
        looks_at: "whether the disk of each volume is writable, unless its pods only read",
        words: &["is read-only", "The media is write protected"],
        advice: "if no other node writes to it: Set-Disk -Number N -IsReadOnly $false; the protection of a device ends at the storage",
        page: "docs/stuck.md#disks",
        covered_by: &["iscsi-stopped", "target-away", "session-away"],
        is_moved_by_calls: true,
        look: disks::read_only,
    },
    Check {
        id: "node-hangs",
        severity: Severity::Error,
        looks_at: "whether each part of Windows answered the other checks in time",
        words: &[
            "did not end before its deadline",
            "a call from before has not ended",
        ],
        advice: "find what hangs in the driver's log and the event log; over the pipes restart csi-proxy, else restart the node if it stays",
        page: "docs/stuck.md#both",
        covered_by: &[],
        is_moved_by_calls: false,
        look: node::hangs,
    },
];

/// The rows of docs/stuck.md.
#[doc(hidden)]
pub fn stuck_rows() -> String {
    let rows = CHECKS.iter().map(|check| {
        let words = check.words.iter().map(|words| format!("`{words}`"));
        let words = match check.words {
            [] => String::from("no event"),
            _ => Vec::from_iter(words).join(", "),
        };
        let Check { id, looks_at, .. } = check;
        let (advice, severity) = (check.advice.replace('|', r"\|"), check.severity.name());
        format!("| {words} | `{id}` ({severity}): {looks_at} | {advice} |\n")
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_a_cause_comes_first() {
        let mut seen = BTreeSet::new();
        for check in CHECKS {
            for cause in check.covered_by {
                assert!(seen.contains(cause), "{}: {cause}", check.id);
            }
            assert!(seen.insert(check.id), "{}", check.id);
        }
    }
}
