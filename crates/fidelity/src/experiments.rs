//! Our code's unproved assumptions on Windows, and the experiments to settle them.

mod experiment;

pub use self::experiment::Experiment;
use self::experiment::by_hand;

/// The experiment of this number.
#[must_use]
pub fn experiment(number: u8) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|one| one.number == number)
}

/// All of them, by number.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        number: 1,
        assumption: "the layout of a disk without a table has the style RAW and no entry",
        operations: &["Disks::layout"],
        schema: &[],
        unrecorded: "the bytes of such a layout",
        case: Some("experiments::raw_layout"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 2,
        assumption: "EnumPageFilesW names each page file by a drive's path; without one it succeeds \
                     and names none, or gives one empty name while ExistingPageFiles is empty",
        operations: &["Boot::paging"],
        schema: &[],
        unrecorded: "its answer on a machine without a page file",
        case: Some("experiments::page_files"),
        scripts: &["page-files.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 3,
        assumption: "a mapping whose server went away reports a status other than OK, and Remove \
                     followed by Create gives one mapping that reports OK",
        operations: &[
            "MSFT_SmbGlobalMapping.Create",
            "MSFT_SmbGlobalMapping.Remove",
            "query MSFT_SmbGlobalMapping",
        ],
        schema: &[],
        unrecorded: "a listing with all properties; the code of Create beside a lost mapping",
        case: Some("experiments::lost_share"),
        scripts: &["smb-away.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 4,
        assumption: "beneath a folder that is bound into a HostProcess container, calls by a \
                     directory's handle fail with neither 87 nor 4395, though `os-windows` tries both \
                     up to 8 times and holds some directories by their paths",
        operations: &["Held::create_directory", "Held::pin", "Held::remove"],
        schema: &[],
        unrecorded: "how often they do, and whether 4395 comes at all",
        case: Some("experiments::calls_by_handle"),
        scripts: &["host-process-pod.yaml"],
        by_hand: None,
    },
    Experiment {
        number: 5,
        assumption: "SetAttributes clears read-only while the disk is offline, and the disk is \
                     writable once it is online",
        operations: &["MSFT_Disk.Online", "MSFT_Disk.SetAttributes"],
        schema: &[],
        unrecorded: "the code of SetAttributes on an offline disk; a simulated node can answer 41003 \
                     as well",
        case: Some("experiments::read_only_offline"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 6,
        assumption: "each method that succeeds sets its ReturnValue, and 0 is success",
        operations: &[
            "MSFT_Disk.CreatePartition",
            "MSFT_Disk.Initialize",
            "MSFT_Disk.Refresh",
            "MSFT_StorageSetting.UpdateHostStorageCache",
            "MSFT_Volume.Format",
        ],
        schema: &["MSFT_StorageSetting codes"],
        unrecorded: "a null ReturnValue, or that there is none",
        case: Some("experiments::return_values"),
        scripts: &["return-values.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 7,
        assumption: "MSFT_Disk.Offline succeeds while this process holds the lock of the disk's \
                     dismounted volume",
        operations: &["MSFT_Disk.Offline", "VolumeLock::dismount", "Volumes::lock"],
        schema: &[],
        unrecorded: "its code under a lock",
        case: Some("experiments::offline_under_lock"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 8,
        assumption: "resizing a ReFS volume to the size that it has succeeds and changes nothing: ReFS \
                     uses whole stretches of 64 MiB of its partition, and FSCTL_EXTEND_VOLUME \
                     within one fails with 87",
        operations: &["Volumes::extend", "Volumes::space"],
        schema: &[],
        unrecorded: "ReFS's size beside its partition's (two sizes of one record suggest the \
                     stretches), and FSCTL_EXTEND_VOLUME on it",
        case: Some("experiments::refs_sizes"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 9,
        assumption: "DeleteVolumeMountPointW frees a folder whose volume is gone",
        operations: &["Volumes::delete_mount_point"],
        schema: &[],
        unrecorded: "its code for such a folder",
        case: Some("experiments::vanished_volume"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 10,
        assumption: "MSFT_Disk.Path opens the disk that has the row's Number, and the disk's \
                     partitions have that DiskNumber",
        operations: &[
            "Disks::number_of",
            "query MSFT_Disk",
            "query MSFT_Partition",
        ],
        schema: &[],
        unrecorded: "a path of a clustered VMware disk that was tried; why the partition of one had no \
                     DiskNumber, which a simulated node's always have",
        case: Some("experiments::disk_paths"),
        scripts: &["disks.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 11,
        assumption: "after a disk grew in place, MSFT_Disk.Refresh lets MSFT_Partition.Resize \
                     take the new space",
        operations: &["MSFT_Disk.Refresh", "MSFT_Partition.Resize"],
        schema: &[],
        unrecorded: "the codes of Resize between the growth and a rescan, 40003 among them",
        case: Some("experiments::stale_size"),
        scripts: &["stale-size.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 12,
        assumption: "MSFT_Volume.Format succeeds as soon as the new partition has a volume",
        operations: &["MSFT_Volume.Format"],
        schema: &[],
        unrecorded: "how often it returns 5 (Invalid Parameter) there, outside Server 2016",
        case: Some("experiments::format_at_once"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 13,
        assumption: "Create on a mapped share fails with 0x80041001 and leaves one mapping",
        operations: &["MSFT_SmbGlobalMapping.Create"],
        schema: &[],
        unrecorded: "the code on Server 2022 and 2025, and for another user",
        case: Some("experiments::map_twice"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 14,
        assumption: "LocalPath and RemotePath are the keys of a global mapping, and TransportType \
                     counts None, TCP, QUIC from 0",
        operations: &["query MSFT_SmbGlobalMapping"],
        schema: &[
            "MSFT_SmbGlobalMapping.Create.TransportType",
            "MSFT_SmbGlobalMapping.LocalPath",
            "MSFT_SmbGlobalMapping.RemotePath",
        ],
        unrecorded: "the numbers of TransportType; both keys are in the repository of a Windows 11, \
                     build 22000 (os/fixtures)",
        case: Some("experiments::mapping_keys"),
        scripts: &["smb-class.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 15,
        assumption: "a mapping that Windows refuses is a failed call with a Win32 code: 67 for an \
                     unknown share, 86 or 1326 for a wrong password",
        operations: &["MSFT_SmbGlobalMapping.Create"],
        schema: &["MSFT_SmbGlobalMapping codes", "MSFT_WmiError.error_Type"],
        unrecorded: "67 and 86 in a log of the cmdlets",
        case: Some("experiments::refused_mappings"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 16,
        assumption: "a storage method that refuses returns its code in a call that succeeds",
        operations: &["MSFT_Disk.CreatePartition", "MSFT_Disk.Initialize"],
        schema: &[],
        unrecorded: "whether the call fails as well, for more than one method; 42002 and 42007 in \
                     a log",
        case: Some("experiments::refused_methods"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 17,
        assumption: "an iSCSI method that fails has one of the initiator's own codes, or a Win32 \
                     one",
        operations: &["MSFT_iSCSITargetPortal.New"],
        schema: &[
            "MSFT_iSCSISession codes",
            "MSFT_iSCSITarget codes",
            "MSFT_iSCSITargetPortal codes",
        ],
        unrecorded: "whether it is returned or the call fails",
        case: Some("experiments::refused_portal"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 18,
        assumption: "each disk's page 0x83 and Location parse, and an NVMe disk's path has its \
                     namespace",
        operations: &[
            "Disks::device_id_page",
            "Disks::scsi_address",
            "query MSFT_Disk",
        ],
        schema: &[],
        unrecorded: "UniqueIdFormat of NVMe; Location of EBS, of GCE's NVMe and of iSCSI from \
                     others than Microsoft; a whole page 0x83; Azure NVMe with 17 disks; the \
                     properties of the simulated machines in the last table here",
        case: Some("experiments::disk_identity"),
        scripts: &["disks.ps1"],
        by_hand: None,
    },
    Experiment {
        number: 19,
        assumption: "a mounted folder's reparse data names its volume by GUID",
        operations: &["Files::reparse_data", "Volumes::set_mount_point"],
        schema: &[],
        unrecorded: "fsutil's output of a mounted folder",
        case: Some("experiments::mounted_folder"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 20,
        assumption: "a process-isolated container that runs as ContainerAdministrator opens \
                     csi-proxy's pipes, and ContainerUser is refused",
        operations: &[],
        schema: &[],
        unrecorded: "which account such a container shows to a pipe",
        case: None,
        scripts: &["container-pipe.yaml"],
        by_hand: None,
    },
    Experiment {
        number: 21,
        assumption: "volumes, the storage setting and the initiator's objects have \
                     each property of the class table, and the firmware's table has a serial \
                     number",
        operations: &[
            "Firmware::smbios",
            "query MSFT_Volume",
            "query MSFT_iSCSISession",
            "query MSFT_iSCSITarget",
            "query MSFT_iSCSITargetPortal",
        ],
        schema: &[],
        unrecorded: "all properties of these objects on one machine; those of the simulated machines \
                     in the last table here",
        case: Some("experiments::all_properties"),
        scripts: &[],
        by_hand: None,
    },
    by_hand(
        22,
        "ebs: the first identifier of page 0x83 is an EUI-64 and the same for every volume, the \
         second is the text of `UniqueId`",
        &["Disks::device_id_page"],
        "experiment 18 with two EBS volumes on one machine: it has the whole page",
    ),
    by_hand(
        23,
        "hyper-v, azure-scsi: an NAA name stands behind the T10 identifier, and neither follows from \
         the other",
        &["Disks::device_id_page"],
        "experiment 18 with two data disks",
    ),
    by_hand(
        24,
        "azure-scsi: the images' policy for new disks is `OnlineAll`",
        &["Disks::attributes"],
        "`disks.ps1` of experiment 18, which has the policy, right after a disk was attached",
    ),
    by_hand(
        25,
        "azure-scsi, vsphere: the disk that the machine runs from is GPT",
        &["Disks::layout"],
        "experiment 18 on such a machine",
    ),
    by_hand(
        26,
        "vsphere: every disk's location is `SCSI0`, whatever its target",
        &["query MSFT_Disk"],
        "experiment 18 with two disks on one controller, and with two controllers",
    ),
    by_hand(
        27,
        "FSCTL_EXTEND_VOLUME fails with 1 on FAT32 and exFAT",
        &["Volumes::extend"],
        "its code on such a volume, which `diskpart` formats",
    ),
    by_hand(
        28,
        "the storage provider notices a new disk by itself after one second",
        &["query MSFT_Disk"],
        "a disk that is attached while `Get-Disk` is asked twice a second, without a rescan",
    ),
    by_hand(
        29,
        "a cluster's other nodes give their rows an `ObjectId` with their own name",
        &[
            "query MSFT_Disk",
            "query MSFT_Partition",
            "query MSFT_Volume",
        ],
        "`disks.ps1` of experiment 10 on a node of a failover cluster",
    ),
    by_hand(
        30,
        "a format that dies half-way leaves either copy of NTFS's boot sector, and nothing else of \
         NTFS",
        &["MSFT_Volume.Format"],
        "a virtual machine that is switched off during a quick format, and the first and last MiB of \
         its disk",
    ),
    by_hand(
        31,
        "the recorded latencies are those of one operation that does all the work of the measured \
         call; vSphere's and those of SMB's cmdlets are every machine's, and that of a new mapping \
         is that of a call that failed with 87",
        &[],
        "the durations of each operation that `csi-proxy.exe` reports at `/metrics` on a machine of \
         the cloud",
    ),
    Experiment {
        unrecorded: "why the first of two sessions, which nobody asked to be persistent, was so",
        ..by_hand(
            32,
            "a session that nobody asked to be persistent is not, as the second of two recorded \
             ones",
            &["MSFT_iSCSITarget.Connect"],
            "`Connect-IscsiTarget` without `-IsPersistent`, then `Get-IscsiSession`, on a server \
             that never had a session",
        )
    },
    by_hand(
        33,
        "a dynamic disk's volume may begin where its data partition does, and the kernel's layout has \
         that partition, with a GPT and with an MBR",
        &["Disks::layout", "Volumes::extents"],
        "both answers of each disk of a spanned volume, which `diskpart` makes",
    ),
    by_hand(
        34,
        "`MSFT_Volume` leaves out what lies on dynamic disks, and a disk that has just become dynamic \
         is listed until the storage provider looks anew",
        &["query MSFT_Disk", "query MSFT_Volume"],
        "`Get-Volume` and `Get-Disk` right after `diskpart` made a spanned volume, with and without a \
         rescan",
    ),
    Experiment {
        number: 35,
        assumption: "a file link to a directory answers 5, whether it is opened or names follow it",
        operations: &["Files::create_symlink", "Files::leads_to_directory"],
        schema: &[],
        unrecorded: "the code where names follow it",
        case: Some("experiments::file_link"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 36,
        assumption: "a folder keeps its file id when the mount manager lets its volume go, so that it \
                     is removed by the handle of its directory",
        operations: &["Held::remove"],
        schema: &[],
        unrecorded: "the ids before and after",
        case: Some("experiments::held_mounted_folder"),
        scripts: &[],
        by_hand: None,
    },
    Experiment {
        number: 37,
        assumption: "a disk takes the read-only attribute past the storage provider while it is offline, \
                     and is read-only still once Online has brought it online",
        operations: &["Disks::set_access", "MSFT_Disk.Online"],
        schema: &[],
        unrecorded: "anything of it",
        case: Some("experiments::online_read_only"),
        scripts: &[],
        by_hand: None,
    },
    by_hand(
        38,
        "a read-only MBR clone beside its original is left out of `MSFT_Disk`, and gets another \
         signature once it is writable and comes online",
        &["Disks::set_access", "MSFT_Disk.Online", "query MSFT_Disk"],
        "`Get-Disk` before and after `attributes disk clear readonly` of `diskpart`, and `uniqueid disk` \
         of both disks after `online disk`",
    ),
    by_hand(
        39,
        "Remove of a mapping without Force asks nobody, and fails while a file is open below the \
         share",
        &["MSFT_SmbGlobalMapping.Remove"],
        "`Invoke-CimMethod -MethodName Remove -Arguments @{Force=$false}` of a mapping, with a file open \
         and without",
    ),
    by_hand(
        41,
        "a Unix socket's `connect` with FD_CONNECT selected does not wait, its event is set when it is over, and a \
         server that has no room for another client is not told by WSAECONNREFUSED, which means that nobody serves \
         the socket",
        &[],
        "the suite's group `sockets`, and a dial of a socket that listens with a backlog of one and takes nobody",
    ),
    by_hand(
        42,
        "a folder that is open for listing without FILE_SHARE_DELETE is not renamed, nor one above it; of two who open \
         one to add files without FILE_SHARE_WRITE the second gets a sharing violation; a socket can be bound in it \
         meanwhile",
        &[],
        "the suite's group `sockets`, and the tests of `transport`'s `socket_file`",
    ),
    by_hand(
        43,
        "the file of a Unix socket belongs to the owner that its process's token gives to what it makes, and who may \
         connect may read that",
        &[],
        "the suite's group `sockets`, and `Get-Acl` of a socket that a service of LocalSystem has made",
    ),
    Experiment {
        number: 44,
        assumption: "IOCTL_DISK_IS_WRITABLE succeeds for a device that takes writes, also while the disk has the \
                     read-only attribute; our code asks while that is clear, and is right either way",
        operations: &["Disks::is_write_protected"],
        schema: &[],
        unrecorded: "the answer while the attribute is set",
        case: Some("experiments::write_protection"),
        scripts: &[],
        by_hand: None,
    },
    by_hand(
        45,
        "IOCTL_DISK_IS_WRITABLE answers 19 for a device that protects itself, whose disk comes online and need not \
         have the read-only attribute",
        &["Disks::is_write_protected"],
        "`Mount-DiskImage -Access ReadOnly` of a VHDX file, then the line of its disk in the suite's list of disks",
    ),
    by_hand(
        46,
        "vsphere: IOCTL_DISK_IS_WRITABLE does not answer 19 for a disk of PVSCSI, which refuses MODE SENSE and takes \
         writes, once its read-only attribute is clear",
        &["Disks::is_write_protected"],
        "`attributes disk clear readonly` of `diskpart`, then the line of the disk in the suite's list of disks",
    ),
    by_hand(
        47,
        "a share is refused with 1219, or mapped, while a folder of it is mapped with the same credentials; a folder \
         of a mapped share is refused; folders are mapped beside each other, and what is mapped so is removed by the \
         folder's path alone",
        &[
            "MSFT_SmbGlobalMapping.Create",
            "MSFT_SmbGlobalMapping.Remove",
        ],
        "`New-SmbGlobalMapping` of a folder, of its share and of another folder in each order, before and after a \
         restart, and `Get-SmbGlobalMapping` after each",
    ),
    by_hand(
        48,
        "the images are pulled and start on Windows Server 2019, 2022 and 2025",
        &[],
        "`kubectl get pods` on a node of each; a layer that a build refuses fails in ImportLayer with 0x3f1",
    ),
    by_hand(
        49,
        "in the root of a new NTFS volume ContainerUser makes folders and no files (csi-proxy#382), on ReFS as well",
        &["MSFT_Volume.Format"],
        "`icacls` of both roots, and `mkdir` and `echo` in a pod of nanoserver, with `rootAcl` and without",
    ),
    by_hand(
        50,
        "a container reads through a link that was made of raw reparse data, to a volume and to a UNC path",
        &["Placeholder::become_symlink"],
        "`dir` and `type` in a pod of a disk and of a share, on each Windows Server",
    ),
    by_hand(
        51,
        "the end of a pod reaches the program: a signal for `cmd /c` does not (kubernetes#124664), so preStop drains",
        &[],
        "`kubectl delete pod` of the driver during a stage, with and without preStop, and its last lines",
    ),
    by_hand(
        52,
        "kubelet registers a driver whose socket it sees between bind and listen, and one whose socket is replaced",
        &[],
        "20 restarts of the driver, with kubelet's log and CSINode after each",
    ),
    by_hand(
        53,
        "on Windows Server 2019 a Unix socket has no tag in a folder that is bound into a container \
         (kubernetes#81397); its owner there is the TokenOwner of its process",
        &[],
        "`fsutil reparsepoint query` and `Get-Acl` of the socket, in the container and on the node; `wincsi node drain`",
    ),
    by_hand(
        54,
        "a connect to a dead server's socket answers 10061",
        &[],
        "the driver ended by `Stop-Process`, its folder bound into a container and not: 10061, or 10022",
    ),
    by_hand(
        55,
        "a volume is locked within 10 s of its pod's end, unless a filter or the indexer has it",
        &["Volumes::lock"],
        "FSCTL_LOCK_VOLUME each second for 60 s after a pod's end, with Defender and without",
    ),
    by_hand(
        56,
        "a file that a scanner holds is free within half a second: then records are replaced",
        &[],
        "1,000 replacements of a record under Defender: how often 5, 32 and 33, and for how long",
    ),
    by_hand(
        57,
        "a volume of an MBR disk keeps its name over offline, a reboot and another node. Recorded: the name is \
         signature and offset there, and the partition's GUID on GPT (DFIRArtifactMuseum, bcf501b7)",
        &["Volumes::extents"],
        "`mountvol` before and after each, also where the signature is another disk's already",
    ),
    by_hand(
        58,
        "attributes that are set with Persist stay with a disk that is detached and attached again",
        &["Disks::set_access"],
        "`attributes disk` of `diskpart` before and after, on one node and on another",
    ),
    by_hand(
        59,
        "RequirePrivacy is read back as it was demanded",
        &[
            "MSFT_SmbGlobalMapping.Create",
            "query MSFT_SmbGlobalMapping",
        ],
        "`Get-SmbGlobalMapping` of a mapping with and without: true, false or null",
    ),
    by_hand(
        60,
        "a node reaches a share by the ClusterIP of a Service",
        &["MSFT_SmbGlobalMapping.Create"],
        "`New-SmbGlobalMapping` of `\\\\CLUSTER-IP\\share` on a node with each network plugin",
    ),
    by_hand(
        61,
        "the program and the `cmd` beside it commit less than the manifests' limit of 160 MiB",
        &[],
        "the counter `Private Bytes` of both, with 100 volumes",
    ),
];

#[cfg(test)]
mod tests;
