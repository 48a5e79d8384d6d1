//! Our code's unproved assumptions on Windows, and how a run on a server settles each.

use super::{Experiment, disks, folders, iscsi, methods, objects, shares, sizes};

/// One assumption, with the experiment that settles it.
#[derive(Debug, Clone, Copy)]
pub struct Assumption {
    /// Observations name it. A number is never used again.
    pub number: u8,
    /// The assumption, as a sentence.
    pub text: &'static str,
    /// The operations of the seam with code resting on it: `Disks::layout`, `query MSFT_Disk`, `MSFT_Disk.Initialize`.
    pub operations: &'static [&'static str],
    /// Its `Unverified` rows of [`os::schema`]: a property, a parameter, or the codes of a class.
    pub schema: &'static [&'static str],
    /// A fact missing in public records of a real Windows.
    pub unrecorded: &'static str,
    /// Its experiment that a program makes by itself.
    pub experiment: Option<Experiment>,
    /// The files beside the suite for observations beyond a single program: they need a reboot, a pod, a cloud.
    pub scripts: &'static [&'static str],
    /// The steps and checks by hand instead, on a suitable machine.
    pub by_hand: Option<&'static str>,
}

/// A row: the fields that are not as in [`of`] follow number and text.
macro_rules! assumptions {
    ($($number:literal $text:literal $($field:ident $value:tt)*;)*) => {
        /// All of them, by number.
        pub const ASSUMPTIONS: &[Assumption] = &[
            $(Assumption {
                $($field: value!($number $field $value),)*
                ..of($number, $text)
            },)*
        ];
    };
}

macro_rules! value {
    ($number:literal experiment ($module:ident::$name:ident)) => {
        Some(Experiment {
            number: $number,
            name: stringify!($name),
            run: $module::$name,
        })
    };
    ($number:literal by_hand $how:literal) => {
        Some($how)
    };
    ($number:literal unrecorded $fact:literal) => {
        $fact
    };
    ($number:literal $list:ident [$($one:literal),* $(,)?]) => {
        &[$($one),*]
    };
}

const fn of(number: u8, text: &'static str) -> Assumption {
    Assumption {
        number,
        text,
        operations: &[],
        schema: &[],
        unrecorded: "anything of it",
        experiment: None,
        scripts: &[],
        by_hand: None,
    }
}

/// Each assumption by its number.
impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            number,
            text,
            unrecorded,
            ..
        } = self;
        let rests: Vec<_> = self.operations.iter().chain(self.schema).copied().collect();
        let case = self
            .experiment
            .map(|one| format!("experiments::{}", one.name));
        let scripts = self.scripts.iter().map(|&script| script.to_owned());
        let by_hand = self.by_hand.map(|how| format!("by hand: {how}"));
        let by: Vec<_> = case.into_iter().chain(scripts).chain(by_hand).collect();
        writeln!(f, "{number}. {text}")?;
        if !rests.is_empty() {
            writeln!(f, "   rests on it: {}", rests.join("; "))?;
        }
        writeln!(f, "   not on record: {unrecorded}")?;
        write!(f, "   observed by: {}", by.join("; "))
    }
}

assumptions! {
    1 "the layout of a disk without a table has the style RAW and no entry"
        operations ["Disks::layout"]
        unrecorded "the bytes of such a layout"
        experiment (disks::raw_layout);
    2 "EnumPageFilesW names each page file by a drive's path; without one it succeeds and names \
        none, or gives one empty name while ExistingPageFiles is empty"
        operations ["Boot::paging"]
        unrecorded "its answer on a machine without a page file"
        experiment (disks::page_files)
        scripts ["page-files.ps1"];
    3 "a mapping whose server went away reports a status other than OK, and Remove followed by \
        Create gives one mapping that reports OK"
        operations [
            "MSFT_SmbGlobalMapping.Create", "MSFT_SmbGlobalMapping.Remove",
            "query MSFT_SmbGlobalMapping",
        ]
        unrecorded "a listing with all properties; the code of Create beside a lost mapping"
        experiment (shares::lost_share)
        scripts ["smb-away.ps1"];
    4 "beneath a folder that is bound into a HostProcess container, calls by a directory's \
        handle fail with neither 87 nor 4395, though `os-windows` tries both up to 8 times and \
        holds some directories by their paths"
        operations ["Held::create_directory", "Held::pin", "Held::remove"]
        unrecorded "how often they do, and whether 4395 comes at all"
        experiment (folders::calls_by_handle)
        scripts ["host-process-pod.yaml"];
    5 "SetAttributes clears read-only while the disk is offline, and the disk is writable once \
        it is online"
        operations ["MSFT_Disk.Online", "MSFT_Disk.SetAttributes"]
        unrecorded "the code of SetAttributes on an offline disk; a simulated node can answer \
            41003 as well"
        experiment (methods::read_only_offline);
    6 "each method that succeeds sets its ReturnValue, and 0 is success"
        operations [
            "MSFT_Disk.CreatePartition", "MSFT_Disk.Initialize", "MSFT_Disk.Refresh",
            "MSFT_StorageSetting.UpdateHostStorageCache", "MSFT_Volume.Format",
        ]
        schema ["MSFT_StorageSetting codes"]
        unrecorded "a null ReturnValue, or that there is none"
        experiment (methods::return_values)
        scripts ["return-values.ps1"];
    7 "MSFT_Disk.Offline succeeds while this process holds the lock of the disk's dismounted \
        volume"
        operations ["MSFT_Disk.Offline", "VolumeLock::dismount", "Volumes::lock"]
        unrecorded "its code under a lock"
        experiment (methods::offline_under_lock);
    8 "resizing a ReFS volume to the size that it has succeeds and changes nothing: ReFS uses \
        whole stretches of 64 MiB of its partition, and FSCTL_EXTEND_VOLUME within one fails \
        with 87"
        operations ["Volumes::extend", "Volumes::space"]
        unrecorded "ReFS's size beside its partition's (two sizes of one record suggest the \
            stretches), and FSCTL_EXTEND_VOLUME on it"
        experiment (sizes::refs_sizes);
    9 "DeleteVolumeMountPointW frees a folder whose volume is gone"
        operations ["Volumes::delete_mount_point"]
        unrecorded "its code for such a folder"
        experiment (folders::vanished_volume);
    10 "MSFT_Disk.Path opens the disk that has the row's Number, and the disk's partitions have \
        that DiskNumber"
        operations ["Disks::number_of", "query MSFT_Disk", "query MSFT_Partition"]
        unrecorded "a path of a clustered VMware disk that was tried; why the partition of one \
            had no DiskNumber, which a simulated node's always have"
        experiment (disks::disk_paths)
        scripts ["disks.ps1"];
    11 "after a disk grew in place, MSFT_Disk.Refresh lets MSFT_Partition.Resize take the new \
        space"
        operations ["MSFT_Disk.Refresh", "MSFT_Partition.Resize"]
        unrecorded "the codes of Resize between the growth and a rescan, 40003 among them"
        experiment (sizes::stale_size)
        scripts ["stale-size.ps1"];
    12 "MSFT_Volume.Format succeeds as soon as the new partition has a volume"
        operations ["MSFT_Volume.Format"]
        unrecorded "how often it returns 5 (Invalid Parameter) there, outside Server 2016"
        experiment (methods::format_at_once);
    13 "Create on a mapped share fails with 0x80041001 and leaves one mapping"
        operations ["MSFT_SmbGlobalMapping.Create"]
        unrecorded "the code on Server 2022 and 2025, and for another user"
        experiment (shares::map_twice);
    14 "LocalPath and RemotePath are the keys of a global mapping, and TransportType counts \
        None, TCP, QUIC from 0"
        operations ["query MSFT_SmbGlobalMapping"]
        schema [
            "MSFT_SmbGlobalMapping.Create.TransportType", "MSFT_SmbGlobalMapping.LocalPath",
            "MSFT_SmbGlobalMapping.RemotePath",
        ]
        unrecorded "the numbers of TransportType; both keys are in the repository of a Windows \
            11, build 22000 (os/fixtures)"
        experiment (shares::mapping_keys)
        scripts ["smb-class.ps1"];
    15 "a mapping that Windows refuses is a failed call with a Win32 code: 67 for an unknown \
        share, 86 or 1326 for a wrong password"
        operations ["MSFT_SmbGlobalMapping.Create"]
        schema ["MSFT_SmbGlobalMapping codes", "MSFT_WmiError.error_Type"]
        unrecorded "67 and 86 in a log of the cmdlets"
        experiment (shares::refused_mappings);
    16 "a storage method that refuses returns its code in a call that succeeds"
        operations ["MSFT_Disk.CreatePartition", "MSFT_Disk.Initialize"]
        unrecorded "whether the call fails as well, for more than one method; 42002 and 42007 in \
            a log"
        experiment (methods::refused_methods);
    17 "an iSCSI method that fails has one of the initiator's own codes, or a Win32 one"
        operations ["MSFT_iSCSITargetPortal.New"]
        schema [
            "MSFT_iSCSISession codes", "MSFT_iSCSITarget codes", "MSFT_iSCSITargetPortal codes",
        ]
        unrecorded "whether it is returned or the call fails"
        experiment (iscsi::refused_portal);
    18 "each disk's page 0x83 and Location parse, and an NVMe disk's path has its namespace"
        operations ["Disks::device_id_page", "Disks::scsi_address", "query MSFT_Disk"]
        unrecorded "UniqueIdFormat of NVMe; Location of EBS, of GCE's NVMe and of iSCSI from \
            others than Microsoft; a whole page 0x83; Azure NVMe with 17 disks; the properties \
            of the simulated machines that `os-sim` lists as unbacked"
        experiment (disks::disk_identity)
        scripts ["disks.ps1"];
    19 "a mounted folder's reparse data names its volume by GUID"
        operations ["Files::reparse_data", "Volumes::set_mount_point"]
        unrecorded "fsutil's output of a mounted folder"
        experiment (folders::mounted_folder);
    20 "a process-isolated container that runs as ContainerAdministrator opens csi-proxy's \
        pipes, and ContainerUser is refused"
        unrecorded "which account such a container shows to a pipe"
        scripts ["container-pipe.yaml"];
    21 "volumes, the storage setting and the initiator's objects have each property of the class \
        table, and the firmware's table has a serial number"
        operations [
            "Firmware::smbios", "query MSFT_Volume", "query MSFT_iSCSISession",
            "query MSFT_iSCSITarget", "query MSFT_iSCSITargetPortal",
        ]
        unrecorded "all properties of these objects on one machine; those of the simulated \
            machines that `os-sim` lists as unbacked"
        experiment (objects::all_properties);
    22 "ebs: the first identifier of page 0x83 is an EUI-64 and the same for every volume, the \
        second is the text of `UniqueId`"
        operations ["Disks::device_id_page"]
        by_hand "experiment 18 with two EBS volumes on one machine: it has the whole page";
    23 "hyper-v, azure-scsi: an NAA name stands behind the T10 identifier, and neither follows \
        from the other"
        operations ["Disks::device_id_page"]
        by_hand "experiment 18 with two data disks";
    24 "azure-scsi: the images' policy for new disks is `OnlineAll`"
        operations ["Disks::attributes"]
        by_hand "`disks.ps1` of experiment 18, which has the policy, right after a disk was \
            attached";
    25 "azure-scsi, vsphere: the disk that the machine runs from is GPT"
        operations ["Disks::layout"]
        by_hand "experiment 18 on such a machine";
    26 "vsphere: every disk's location is `SCSI0`, whatever its target"
        operations ["query MSFT_Disk"]
        by_hand "experiment 18 with two disks on one controller, and with two controllers";
    27 "FSCTL_EXTEND_VOLUME fails with 1 on FAT32 and exFAT"
        operations ["Volumes::extend"]
        by_hand "its code on such a volume, which `diskpart` formats";
    28 "the storage provider notices a new disk by itself after one second"
        operations ["query MSFT_Disk"]
        by_hand "a disk that is attached while `Get-Disk` is asked twice a second, without a \
            rescan";
    29 "a cluster's other nodes give their rows an `ObjectId` with their own name"
        operations ["query MSFT_Disk", "query MSFT_Partition", "query MSFT_Volume"]
        by_hand "`disks.ps1` of experiment 10 on a node of a failover cluster";
    30 "a format that dies half-way leaves either copy of NTFS's boot sector, and nothing else \
        of NTFS"
        operations ["MSFT_Volume.Format"]
        by_hand "a virtual machine that is switched off during a quick format, and the first and \
            last MiB of its disk";
    31 "the recorded latencies are those of one operation that does all the work of the measured \
        call; vSphere's and those of SMB's cmdlets are every machine's, and that of a new \
        mapping is that of a call that failed with 87"
        by_hand "the durations of each operation that `csi-proxy.exe` reports at `/metrics` on a \
            machine of the cloud";
    32 "a session that nobody asked to be persistent is not, as the second of two recorded ones"
        operations ["MSFT_iSCSITarget.Connect"]
        unrecorded "why the first of two sessions, which nobody asked to be persistent, was so"
        by_hand "`Connect-IscsiTarget` without `-IsPersistent`, then `Get-IscsiSession`, on a \
            server that never had a session";
    33 "a dynamic disk's volume may begin where its data partition does, and the kernel's layout \
        has that partition, with a GPT and with an MBR"
        operations ["Disks::layout", "Volumes::extents"]
        by_hand "both answers of each disk of a spanned volume, which `diskpart` makes";
    34 "`MSFT_Volume` leaves out what lies on dynamic disks, and a disk that has just become \
        dynamic is listed until the storage provider looks again"
        operations ["query MSFT_Disk", "query MSFT_Volume"]
        by_hand "`Get-Volume` and `Get-Disk` right after `diskpart` made a spanned volume, with \
            and without a rescan";
    35 "a file link to a directory answers 5, whether it is opened or names follow it"
        operations ["Files::create_symlink", "Files::leads_to_directory"]
        unrecorded "the code where names follow it"
        experiment (folders::file_link);
    36 "a folder keeps its file id when the mount manager lets its volume go, so that it is \
        removed by the handle of its directory"
        operations ["Held::remove"]
        unrecorded "the ids before and after"
        experiment (folders::held_mounted_folder);
    37 "a disk takes the read-only attribute past the storage provider while it is offline, and \
        is read-only still once Online has brought it online"
        operations ["Disks::set_access", "MSFT_Disk.Online"]
        experiment (methods::online_read_only);
    38 "a read-only MBR clone beside its original is left out of `MSFT_Disk`, and gets another \
        signature once it is writable and comes online"
        operations ["Disks::set_access", "MSFT_Disk.Online", "query MSFT_Disk"]
        by_hand "`Get-Disk` before and after `attributes disk clear readonly` of `diskpart`, and \
            `uniqueid disk` of both disks after `online disk`";
    39 "Remove of a mapping without Force asks nobody, and fails while a file is open below the \
        share"
        operations ["MSFT_SmbGlobalMapping.Remove"]
        by_hand "`Invoke-CimMethod -MethodName Remove -Arguments @{Force=$false}` of a mapping, \
            with a file open and without";
    41 "a Unix socket's `connect` with FD_CONNECT selected does not wait, its event is set when \
        it is over, and a server that has no room for another client is not told by \
        WSAECONNREFUSED, which means that nobody serves the socket"
        by_hand "the suite's group `sockets`, and a dial of a socket that listens with a backlog \
            of one and takes nobody";
    42 "a folder that is open for listing without FILE_SHARE_DELETE is not renamed, nor one \
        above it; of two who open one to add files without FILE_SHARE_WRITE the second gets a \
        sharing violation; a socket can be bound in it meanwhile"
        by_hand "the suite's group `sockets`, and the tests of `transport`'s `socket_file`";
    43 "the file of a Unix socket belongs to the owner that its process's token gives to what it \
        makes, and who may connect may read that"
        by_hand "the suite's group `sockets`, and `Get-Acl` of a socket that a service of \
            LocalSystem has made";
    44 "IOCTL_DISK_IS_WRITABLE succeeds for a device that takes writes, also while the disk has \
        the read-only attribute; our code asks while that is clear, and is right either way"
        operations ["Disks::is_write_protected"]
        unrecorded "the answer while the attribute is set"
        experiment (methods::write_protection);
    45 "IOCTL_DISK_IS_WRITABLE answers 19 for a device that protects itself, whose disk comes \
        online and need not have the read-only attribute"
        operations ["Disks::is_write_protected"]
        by_hand "`Mount-DiskImage -Access ReadOnly` of a VHDX file, then experiment 18, which \
            has the answer of each disk";
    46 "vsphere: IOCTL_DISK_IS_WRITABLE does not answer 19 for a disk of PVSCSI, which refuses \
        MODE SENSE and takes writes, once its read-only attribute is clear"
        operations ["Disks::is_write_protected"]
        by_hand "`attributes disk clear readonly` of `diskpart`, then experiment 18";
    47 "a share is refused with 1219, or mapped, while a folder of it is mapped with the same \
        credentials; a folder of a mapped share is refused; folders are mapped beside each \
        other, and what is mapped so is removed by the folder's path alone"
        operations ["MSFT_SmbGlobalMapping.Create", "MSFT_SmbGlobalMapping.Remove"]
        by_hand "`New-SmbGlobalMapping` of a folder, of its share and of another folder in each \
            order, before and after a restart, and `Get-SmbGlobalMapping` after each";
    48 "the images are pulled and start on Windows Server 2019, 2022 and 2025"
        by_hand "`kubectl get pods` on a node of each; a layer that a build refuses fails in \
            ImportLayer with 0x3f1";
    49 "in the root of a new NTFS volume ContainerUser makes folders and no files \
        (csi-proxy#382), on ReFS as well"
        operations ["MSFT_Volume.Format"]
        by_hand "`icacls` of both roots, and `mkdir` and `echo` in a pod of nanoserver, with \
            `rootAcl` and without";
    50 "a container reads through a link that was made of raw reparse data, to a volume and to a \
        UNC path"
        operations ["Placeholder::become_symlink"]
        by_hand "`dir` and `type` in a pod of a disk and of a share, on each Windows Server";
    51 "the end of a pod reaches the program: a signal for `cmd /c` does not \
        (kubernetes#124664), so preStop drains"
        by_hand "`kubectl delete pod` of the driver during a stage, with and without preStop, \
            and its last lines";
    52 "kubelet registers a driver whose socket it sees between bind and listen, and one whose \
        socket is replaced"
        by_hand "20 restarts of the driver, with kubelet's log and CSINode after each";
    53 "on Windows Server 2019 a Unix socket has no tag in a folder that is bound into a \
        container (kubernetes#81397); its owner there is the TokenOwner of its process"
        by_hand "`fsutil reparsepoint query` and `Get-Acl` of the socket, in the container and \
            on the node; `wincsi node drain`";
    54 "a connect to a dead server's socket answers 10061"
        by_hand "the driver ended by `Stop-Process`, its folder bound into a container and not: \
            10061, or 10022";
    55 "a volume is locked within 10 s of its pod's end, unless a filter or the indexer has it"
        operations ["Volumes::lock"]
        by_hand "FSCTL_LOCK_VOLUME each second for 60 s after a pod's end, with Defender and \
            without";
    56 "a file that a scanner holds is free within half a second: then records are replaced"
        by_hand "1,000 replacements of a record under Defender: how often 5, 32 and 33, and for \
            how long";
    57 "a volume of an MBR disk keeps its name over offline, a reboot and another node. \
        Recorded: the name is signature and offset there, and the partition's GUID on GPT \
        (DFIRArtifactMuseum, bcf501b7)"
        operations ["Volumes::extents"]
        by_hand "`mountvol` before and after each, also where the signature is another disk's \
            already";
    58 "attributes that are set with Persist stay with a disk that is detached and attached \
        again"
        operations ["Disks::set_access"]
        by_hand "`attributes disk` of `diskpart` before and after, on one node and on another";
    59 "RequirePrivacy is read back as it was demanded"
        operations ["MSFT_SmbGlobalMapping.Create", "query MSFT_SmbGlobalMapping"]
        by_hand "`Get-SmbGlobalMapping` of a mapping with and without: true, false or null";
    60 "a node reaches a share by the ClusterIP of a Service"
        operations ["MSFT_SmbGlobalMapping.Create"]
        by_hand "`New-SmbGlobalMapping` of `\\\\CLUSTER-IP\\share` on a node with each network \
            plugin";
    61 "the program and the `cmd` beside it commit less than the manifests' limit of 160 MiB"
        by_hand "the counter `Private Bytes` of both, with 100 volumes";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use os::layer::METHODS;
    use os::schema::{CLASSES, Class, Source};

    use super::ASSUMPTIONS;

    fn is_unverified(source: Source) -> bool {
        matches!(source, Source::Unverified(_))
    }

    /// The rows of a class with an unverified source, by their names in assumptions.
    fn unverified(class: &Class) -> BTreeSet<String> {
        let name = class.name;
        let properties = class.properties.iter();
        let properties = properties.filter(|row| is_unverified(row.source));
        let mut found: BTreeSet<_> = properties
            .map(|row| format!("{name}.{}", row.name))
            .collect();
        for method in class.methods {
            if is_unverified(method.returns.source) {
                found.insert(format!("{name} codes"));
            }
            let parameters = method.parameters.iter();
            let parameters = parameters.filter(|row| is_unverified(row.source));
            found.extend(parameters.map(|row| format!("{name}.{}.{}", method.name, row.name)));
        }
        found
    }

    #[test]
    fn each_unverified_row_of_the_schema_is_assumed() {
        let wanted: BTreeSet<_> = CLASSES.iter().flat_map(|class| unverified(class)).collect();
        let named = ASSUMPTIONS.iter().flat_map(|one| one.schema);
        let named: BTreeSet<_> = named.map(|row| (*row).to_owned()).collect();
        assert_eq!(named, wanted);
    }

    /// A method of the seam, a class that is queried, or a class's method.
    fn is_operation(name: &str) -> bool {
        let is_class = |class: &str| CLASSES.iter().any(|one| one.name == class);
        let has_method = |(class, method): (&str, &str)| {
            let mut classes = CLASSES.iter().filter(|one| one.name == class);
            classes.any(|one| one.methods.iter().any(|row| row.name == method))
        };
        METHODS.iter().any(|(_, method)| *method == name)
            || name.strip_prefix("query ").is_some_and(is_class)
            || name.split_once('.').is_some_and(has_method)
    }

    #[test]
    fn an_assumption_names_operations_of_the_seam() {
        for name in ASSUMPTIONS.iter().flat_map(|one| one.operations) {
            assert!(is_operation(name), "{name}");
        }
    }

    #[test]
    fn numbers_ascend_and_each_can_be_observed() {
        let numbers: Vec<_> = ASSUMPTIONS.iter().map(|one| one.number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        for one in ASSUMPTIONS {
            let by_itself = one.experiment.is_some() || !one.scripts.is_empty();
            assert!(by_itself || one.by_hand.is_some(), "{one:?}");
        }
    }

    #[test]
    fn an_entry_has_all_of_its_assumption() {
        let entry = ASSUMPTIONS[1].to_string();
        assert!(
            entry.starts_with("2. EnumPageFilesW names each page file"),
            "{entry}"
        );
        assert!(
            entry.contains("\n   rests on it: Boot::paging\n"),
            "{entry}"
        );
        let observed = "\n   observed by: experiments::page_files; page-files.ps1";
        assert!(entry.ends_with(observed), "{entry}");
    }
}
