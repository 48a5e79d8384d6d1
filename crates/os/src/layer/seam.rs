//! The seam's operations, each a row: its method, what a layer sees of it, and by that the forwarding.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{Access, Ending, Kind, Layer, Layered, Object, Op, Part, Run};
use crate::{
    AfUnix, Arguments, Boot, BootId, Clock, Component, Dacl, Deadline, DeviceDescriptor, DirEntry,
    DiskAccess, DiskAttributes, DiskFacts, DiskNumber, Disks, DriveLayout, Entry, Event, EventLog,
    Extent, Facility, FileSystem, Files, Firmware, Held, Instance, LinkKind, Moment, ObjectPath,
    Outcome, Paging, PartitionNumber, Pin, Placeholder, Provider, Query, Result, ScsiAddress,
    ServiceInfo, Services, Space, Target, VolumeId, VolumeLock, Volumes, WinPath,
};

macro_rules! ending_by {
    () => {
        |_| Ending::Done
    };
    ($ending:expr) => {
        $ending
    };
}

/// Writes the forwarding of each trait, and lists its methods: what has no row here does not compile. A
/// row is `access kind "Windows's name" / subject, object`, and, where it is so, how the opened thing is
/// held or how the answer says that the operation failed.
macro_rules! operations {
    ($($part:ident as $forward:ident: $($bound:ident)+, in $facility:expr, around $inner:ty {
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty
            = $access:ident $kind:ident $windows:literal / $subject:expr, $object:expr
            $(; opened by $holding:expr)? $(; ended by $ending:expr)?;)*
    })*) => {
        $(impl $part for Layered<$inner> {
            $(fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                let op = Op {
                    facility: self.facility,
                    method: concat!(stringify!($part), "::", stringify!($name)),
                    name: $windows,
                    subject: $subject,
                    kind: Kind::$kind,
                    access: Access::$access,
                    object: $object,
                };
                let run = |inner: &$inner| inner.$name($($argument),*);
                let answer = self.pass(&op, ending_by!($($ending)?), run)?;
                $(let answer = self.opened(&op, answer, $holding);)?
                Ok(answer)
            })*
        })*

        $(#[doc = concat!("Forwards the methods of [`", stringify!($part), "`] that it does not override.")]
        pub trait $forward: $($bound +)+ {
            /// Where to.
            fn to(&self) -> &dyn $part;

            $(#[doc = concat!("As [`", stringify!($part), "::", stringify!($name), "`].")]
            #[doc = "\n\n# Errors\nThe same."]
            fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                self.to().$name($($argument),*)
            })*
        }

        impl<T: $forward> $part for T {
            $(fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                $forward::$name(self, $($argument),*)
            })*
        })*

        /// The methods that a layer sees, with their facility; that of [`Provider`] is the node's field.
        pub const METHODS: &[(Option<Facility>, &str)] = &[
            $($(($facility, concat!(stringify!($part), "::", stringify!($name))),)*)*
            (Some(Facility::Clock), SLEEP),
        ];
    };
}

operations! {
    AfUnix as ForwardAfUnix: Send Sync, in Some(Facility::AfUnix), around Arc<dyn AfUnix> {
        fn is_available() -> bool = Look Handle "QueryServiceStatusEx" / "", Object::Node;
        fn connect(host: &str, port: u16, within: Duration) -> ()
            = Look Handle "connect" / "", Object::Host(host);
    }
    Boot as ForwardBoot: Send Sync, in Some(Facility::Boot), around Arc<dyn Boot> {
        fn boot_id() -> BootId = Look Call "boot" / "id", Object::Node;
        fn computer_name() -> String = Look Call "GetComputerNameExW" / "", Object::Node;
        fn paging() -> Paging = Look Call "boot" / "paging", Object::Node;
    }
    Disks as ForwardDisks: Send Sync, in Some(Facility::Disks), around Arc<dyn Disks> {
        fn list() -> Vec<DiskNumber> = List Handle "SetupDiGetClassDevsW" / "", Object::Node;
        fn number_of(device_path: &str) -> DiskNumber
            = Look Handle "IOCTL_STORAGE_GET_DEVICE_NUMBER" / "", Object::Device(device_path);
        fn facts(device_path: &str) -> DiskFacts
            = Look Handle "IOCTL_STORAGE_GET_DEVICE_NUMBER" / "facts", Object::Device(device_path);
        fn device_id_page(disk: DiskNumber) -> Vec<u8>
            = Look Handle "IOCTL_STORAGE_QUERY_PROPERTY" / "device id", Object::Disk(disk);
        fn descriptor(disk: DiskNumber) -> DeviceDescriptor
            = Look Handle "IOCTL_STORAGE_QUERY_PROPERTY" / "descriptor", Object::Disk(disk);
        fn scsi_address(disk: DiskNumber) -> ScsiAddress
            = Look Handle "IOCTL_SCSI_GET_ADDRESS" / "", Object::Disk(disk);
        fn length(disk: DiskNumber) -> u64
            = Look Handle "IOCTL_DISK_GET_LENGTH_INFO" / "", Object::Disk(disk);
        fn sector_size(disk: DiskNumber) -> u32
            = Look Handle "IOCTL_DISK_GET_DRIVE_GEOMETRY" / "", Object::Disk(disk);
        fn layout(disk: DiskNumber) -> DriveLayout
            = Look Handle "IOCTL_DISK_GET_DRIVE_LAYOUT_EX" / "", Object::Disk(disk);
        fn attributes(disk: DiskNumber) -> DiskAttributes
            = Look Handle "IOCTL_DISK_GET_DISK_ATTRIBUTES" / "", Object::Disk(disk);
        fn is_write_protected(disk: DiskNumber) -> bool
            = Look Handle "IOCTL_DISK_IS_WRITABLE" / "", Object::Disk(disk);
        fn read(disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> ()
            = Look Handle "ReadFile" / "", Object::Disk(disk);
        fn set_access(disk: DiskNumber, access: DiskAccess) -> ()
            = Change Handle "IOCTL_DISK_SET_DISK_ATTRIBUTES" / "", Object::Disk(disk);
        fn update_properties(disk: DiskNumber) -> ()
            = Look Handle "IOCTL_DISK_UPDATE_PROPERTIES" / "", Object::Disk(disk);
        fn grow_partition(disk: DiskNumber, partition: PartitionNumber, by: u64) -> ()
            = Change Handle "IOCTL_DISK_GROW_PARTITION" / "", Object::Disk(disk);
    }
    EventLog as ForwardEventLog: Send Sync, in Some(Facility::EventLog), around Arc<dyn EventLog> {
        fn report(event: &Event) -> () = Change Handle "ReportEventW" / "", Object::Node;
    }
    Files as ForwardFiles: Send Sync, in Some(Facility::Files), around Arc<dyn Files> {
        fn entry(path: &WinPath) -> Entry
            = Look Call "GetFileAttributesExW" / "", Object::Path(path);
        fn leads_to_directory(path: &WinPath) -> bool
            = Look Handle "CreateFileW" / "follow", Object::Path(path);
        fn reparse_data(path: &WinPath) -> Vec<u8>
            = Look Handle "FSCTL_GET_REPARSE_POINT" / "", Object::Path(path);
        fn list(directory: &WinPath) -> Vec<DirEntry>
            = List Handle "FindFirstFileExW" / "", Object::Path(directory);
        fn list_some(directory: &WinPath, most: usize) -> Vec<DirEntry>
            = List Handle "FindFirstFileExW" / "some", Object::Path(directory);
        fn pin(directory: &WinPath) -> Pin
            = Open Handle "CreateFileW" / "pin", Object::Path(directory); opened by Pin::holding;
        fn create_directory(path: &WinPath) -> ()
            = Change Call "CreateDirectoryW" / "", Object::Path(path);
        fn remove_directory(path: &WinPath) -> ()
            = Change Call "RemoveDirectoryW" / "", Object::Path(path);
        fn remove_file(path: &WinPath) -> ()
            = Change Call "DeleteFileW" / "", Object::Path(path);
        fn remove_symlink(path: &WinPath, kind: LinkKind) -> ()
            = Change Handle "SetFileInformationByHandle" / "symlink", Object::Path(path);
        fn clear_read_only(path: &WinPath) -> ()
            = Change Call "SetFileAttributesW" / "", Object::Path(path);
        fn create_symlink(link: &WinPath, target: &str, kind: LinkKind) -> ()
            = Change Call "CreateSymbolicLinkW" / "", Object::Path(link);
        fn dacl(directory: &WinPath) -> String
            = Look Handle "GetSecurityInfo" / "", Object::Path(directory);
        fn set_dacl(directory: &WinPath, dacl: &Dacl) -> ()
            = Change Handle "SetSecurityInfo" / "", Object::Path(directory);
    }
    Held as ForwardHeld: Send, in Some(Facility::Files), around Pin {
        fn pin(name: &Component) -> Pin
            = Open Handle "NtCreateFile" / "pin", Object::Name(name); opened by Pin::holding;
        fn remove(name: &Component) -> ()
            = Change Handle "SetFileInformationByHandle" / "", Object::Name(name);
        fn remove_symlink(name: &Component, kind: LinkKind) -> ()
            = Change Handle "SetFileInformationByHandle" / "symlink", Object::Name(name);
        fn create_directory(name: &Component) -> ()
            = Change Handle "NtCreateFile" / "create directory", Object::Name(name);
        fn reserve(name: &Component, kind: LinkKind) -> Box<dyn Placeholder>
            = Change Handle "NtCreateFile" / "reserve", Object::Name(name); opened by kept;
    }
    Firmware as ForwardFirmware: Send Sync, in Some(Facility::Firmware), around Arc<dyn Firmware> {
        fn smbios() -> Vec<u8> = Look Call "GetSystemFirmwareTable" / "", Object::Node;
    }
    Placeholder as ForwardPlaceholder: Send, in Some(Facility::Files), around Box<dyn Placeholder> {
        fn become_symlink(target: &str) -> ()
            = Change Call "FSCTL_SET_REPARSE_POINT" / "", Object::Node;
        fn rename(name: &Component) -> ()
            = Change Call "NtSetInformationFile" / "rename", Object::Name(name);
    }
    Provider as ForwardProvider: Send Sync, in None, around Arc<dyn Provider> {
        fn query(query: &Query<'_>, deadline: Deadline) -> Vec<Instance>
            = Look Query "query" / query.class, Object::Class(query.class);
        fn associators(
            of: &ObjectPath,
            association: &'static str,
            result_class: &'static str,
            deadline: Deadline
        ) -> Vec<Instance>
            = Look Query "associators" / result_class, Object::Related { of, by: association };
        fn invoke(
            target: Target<'_>,
            method: &'static str,
            arguments: &Arguments,
            deadline: Deadline
        ) -> Outcome
            = Change Method "invoke" / method, Object::from(target); ended by by_code;
        fn parameters(
            class: &'static str,
            method: &'static str,
            deadline: Deadline
        ) -> BTreeSet<String>
            = Look Query "parameters" / method, Object::Class(class);
    }
    Services as ForwardServices: Send Sync, in Some(Facility::Services), around Arc<dyn Services> {
        fn query(name: &str) -> ServiceInfo
            = Look Handle "QueryServiceStatusEx" / "", Object::Service(name);
        fn running_dependents(name: &str) -> Vec<String>
            = List Handle "EnumDependentServicesW" / "", Object::Service(name);
        fn start(name: &str, deadline: Deadline) -> ()
            = Change Handle "StartServiceW" / "", Object::Service(name);
        fn stop(name: &str, deadline: Deadline) -> ()
            = Change Handle "ControlService" / "", Object::Service(name);
    }
    Volumes as ForwardVolumes: Send Sync, in Some(Facility::Volumes), around Arc<dyn Volumes> {
        fn list() -> Vec<VolumeId> = List Handle "FindFirstVolumeW" / "", Object::Node;
        fn extents(volume: VolumeId) -> Vec<Extent>
            = Look Handle "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS" / "", Object::Volume(volume);
        fn space(volume: VolumeId) -> Space
            = Look Call "GetDiskFreeSpaceExW" / "", Object::Volume(volume);
        fn space_at(directory: &WinPath) -> Space
            = Look Call "GetDiskFreeSpaceExW" / "path", Object::Path(directory);
        fn file_system(volume: VolumeId) -> Option<FileSystem>
            = Look Call "GetVolumeInformationW" / "", Object::Volume(volume);
        fn mounted_at(folder: &WinPath) -> VolumeId
            = Look Call "GetVolumeNameForVolumeMountPointW" / "", Object::Path(folder);
        fn access_paths(volume: VolumeId) -> Vec<WinPath>
            = Look Call "GetVolumePathNamesForVolumeNameW" / "", Object::Volume(volume);
        fn set_mount_point(folder: &WinPath, volume: VolumeId) -> ()
            = Change Call "SetVolumeMountPointW" / "", Object::Path(folder);
        fn delete_mount_point(folder: &WinPath) -> ()
            = Change Call "DeleteVolumeMountPointW" / "", Object::Path(folder);
        fn delete_reparse_point(folder: &WinPath, volume: VolumeId) -> ()
            = Change Handle "FSCTL_DELETE_REPARSE_POINT" / "", Object::Path(folder);
        fn flush(volume: VolumeId) -> ()
            = Look Handle "FlushFileBuffers" / "", Object::Volume(volume);
        fn lock(volume: VolumeId) -> Box<dyn VolumeLock>
            = Open Handle "FSCTL_LOCK_VOLUME" / "", Object::Volume(volume); opened by boxed;
        fn extend(volume: VolumeId, bytes: u64) -> ()
            = Change Handle "FSCTL_EXTEND_VOLUME" / "", Object::Volume(volume);
    }
    VolumeLock as ForwardVolumeLock: Send, in Some(Facility::Volumes), around Box<dyn VolumeLock> {
        fn dismount() -> () = Change Call "FSCTL_DISMOUNT_VOLUME" / "", Object::Node;
    }
}

fn by_code(outcome: &Outcome) -> Ending {
    match outcome.code == 0 {
        true => Ending::Done,
        false => Ending::Failed,
    }
}

fn kept(placeholder: Layered<Box<dyn Placeholder>>) -> Box<dyn Placeholder> {
    Box::new(placeholder)
}

fn boxed(lock: Layered<Box<dyn VolumeLock>>) -> Box<dyn VolumeLock> {
    Box::new(lock)
}

const SLEEP: &str = "Clock::sleep";

impl Clock for Layered<Arc<dyn Clock>> {
    fn now(&self) -> Moment {
        self.inner.now()
    }

    fn wall(&self) -> Duration {
        self.inner.wall()
    }

    fn sleep(&self, duration: Duration) {
        let op = Op {
            facility: self.facility,
            method: SLEEP,
            name: "Sleep",
            subject: "",
            kind: Kind::Wait,
            access: Access::Look,
            object: Object::Node,
        };
        let mut has_passed = false;
        let mut wait = || {
            self.inner.sleep(duration);
            has_passed = true;
            Ok(Ending::Done)
        };
        // A wait has no error to report.
        let _ = self.layer.around(&op, Run::of(&mut wait));
        if !has_passed {
            self.inner.sleep(duration);
        }
    }
}

/// A facility is the object behind an `Arc` in [`Os`](crate::Os).
macro_rules! parts {
    ($($part:ident),*) => {
        $(impl Part for Arc<dyn $part> {
            fn layered(self, facility: Facility, layer: &Arc<dyn Layer>) -> Self {
                Arc::new(Layered {
                    inner: self,
                    facility,
                    layer: Arc::clone(layer),
                })
            }
        })*
    };
}

parts!(
    AfUnix, Boot, Clock, Disks, EventLog, Files, Firmware, Provider, Services, Volumes
);
