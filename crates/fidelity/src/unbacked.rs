//! What of the simulated machines no record of a real one has.

use std::fmt::Write as _;

/// A line for each profile and class, `PROFILE CLASS: PROPERTY PROPERTY`. The test `profiles` of `os-sim` holds it
/// against the records.
const UNBACKED: &str = include_str!("../../os-sim/tests/profiles/unbacked.txt");

/// What a profile assumes beside properties, and what would settle it.
const ASSUMED: &[(&str, &str)] = &[
    (
        "ebs: the first identifier of page 0x83 is an EUI-64 and the same for every volume, the second is the text of \
         `UniqueId`",
        "experiment 18 with two EBS volumes on one machine: it has the whole page",
    ),
    (
        "hyper-v, azure-scsi: an NAA name stands behind the T10 identifier, and neither follows from the other",
        "experiment 18 with two data disks",
    ),
    (
        "azure-scsi: the images' policy for new disks is `OnlineAll`",
        "`disks.ps1` of experiment 18, which has the policy, right after a disk was attached",
    ),
    (
        "azure-scsi, vsphere: the disk that the machine runs from is GPT",
        "experiment 18 on such a machine",
    ),
    (
        "vsphere: every disk's location is `SCSI0`, whatever its target",
        "experiment 18 with two disks on one controller, and with two controllers",
    ),
    (
        "ReFS uses whole stretches of 64 MiB of its partition, as two sizes of a record suggest, and \
         FSCTL_EXTEND_VOLUME within one fails with 87",
        "experiment 8",
    ),
    (
        "FSCTL_EXTEND_VOLUME fails with 1 on FAT32 and exFAT",
        "its code on such a volume, which `diskpart` formats",
    ),
    (
        "the storage provider notices a new disk by itself after one second",
        "a disk that is attached while `Get-Disk` is asked twice a second, without a rescan",
    ),
    (
        "SetAttributes clears read-only of an offline disk, or answers 41003",
        "experiment 5",
    ),
    (
        "a cluster's other nodes give their rows an `ObjectId` with their own name",
        "`disks.ps1` of experiment 10 on a node of a failover cluster",
    ),
    (
        "a format that dies half-way leaves either copy of NTFS's boot sector, and nothing else of NTFS",
        "a virtual machine that is switched off during a quick format, and the first and last MiB of its disk",
    ),
    (
        "the latencies are vSphere's and those of SMB's cmdlets on every machine, and the one of a new mapping is that \
         of a call that failed with 87",
        "the durations at `/metrics` on a machine of the cloud",
    ),
    (
        "recorded latencies: one operation does all the work of the call that was measured",
        "the durations that `csi-proxy.exe` reports of each operation at `/metrics` on such a machine",
    ),
];

const HEAD: &str = "
## What of the simulated machines no record backs

A simulated node can answer as machines of a cloud did (`os_sim::Profile`). What was recorded of them stands under
`crates/formats/fixtures/field`, and the test `profiles` of `os-sim` compares each recorded property. These properties
are in no record of the machine; the simulator's values are its own.
Experiment 18 on such a machine settles a row: it writes all properties of its disks and partitions down.

| profile | class | properties that no record has |
|---|---|---|
";

const ASSUMED_HEAD: &str = "
Assumed besides:

| assumption | what would settle it |
|---|---|
";

/// The page's section.
pub(crate) fn section() -> String {
    let mut section = HEAD.to_owned();
    for line in UNBACKED.lines() {
        let (object, properties) = line.split_once(": ").unwrap_or((line, ""));
        let (profile, class) = object.split_once(' ').unwrap_or((object, ""));
        let properties = properties.replace(' ', ", ");
        let _ = writeln!(section, "| {profile} | `{class}` | {properties} |");
    }
    section += ASSUMED_HEAD;
    for (assumption, experiment) in ASSUMED {
        let _ = writeln!(section, "| {assumption} | {experiment} |");
    }
    section
}
