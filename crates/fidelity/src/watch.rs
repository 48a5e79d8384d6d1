use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use os::AfUnix;
use os::Arguments;
use os::Boot;
use os::BootId;
use os::Clock;
use os::Component;
use os::Dacl;
use os::Deadline;
use os::DeviceDescriptor;
use os::DirEntry;
use os::DiskAttributes;
use os::DiskNumber;
use os::Disks;
use os::DriveLayout;
use os::Entry;
use os::Event;
use os::EventLog;
use os::Extent;
use os::Facility;
use os::FileSystem;
use os::Files;
use os::Firmware;
use os::Held;
use os::Instance;
use os::LinkKind;
use os::Moment;
use os::ObjectPath;
use os::Os;
use os::Outcome;
use os::Paging;
use os::PartitionNumber;
use os::Pin;
use os::Provider;
use os::Query;
use os::Result;
use os::ScsiAddress;
use os::ServiceInfo;
use os::Services;
use os::Space;
use os::Target;
use os::VolumeId;
use os::VolumeLock;
use os::Volumes;
use os::WinPath;

use crate::Operation;
use crate::Recorder;

/// The same node, with each operation told to the recorder.
#[must_use]
pub fn watched(os: Os, recorder: &Recorder) -> Os {
    Os {
        afunix: os.afunix.watched(Facility::AfUnix, recorder),
        boot: os.boot.watched(Facility::Boot, recorder),
        clock: os.clock.watched(Facility::Clock, recorder),
        disks: os.disks.watched(Facility::Disks, recorder),
        event_log: os.event_log.watched(Facility::EventLog, recorder),
        files: os.files.watched(Facility::Files, recorder),
        firmware: os.firmware.watched(Facility::Firmware, recorder),
        iscsi: os.iscsi.watched(Facility::Iscsi, recorder),
        services: os.services.watched(Facility::Services, recorder),
        smb: os.smb.watched(Facility::Smb, recorder),
        storage: os.storage.watched(Facility::Storage, recorder),
        volumes: os.volumes.watched(Facility::Volumes, recorder),
    }
}

/// One facility of a node, which can be watched.
pub trait Watch {
    /// The same, with each operation told to the recorder.
    #[must_use]
    fn watched(self, facility: Facility, recorder: &Recorder) -> Self;
}

struct Watched<T> {
    inner: T,
    facility: Facility,
    recorder: Recorder,
}

impl<T> Watched<T> {
    fn saw(&self, name: String, is_done: bool) {
        let operation = Operation {
            facility: self.facility,
            name,
        };
        match is_done {
            true => self.recorder.saw_done(operation),
            false => self.recorder.saw_failed(operation),
        }
    }

    /// What an operation gave out, watched as well.
    fn given<G>(&self, inner: G) -> Watched<G> {
        Watched {
            inner,
            facility: self.facility,
            recorder: self.recorder.clone(),
        }
    }
}

/// How an operation ended.
trait Ending {
    fn is_done(&self) -> bool;
}

impl<T> Ending for Result<T> {
    fn is_done(&self) -> bool {
        self.is_ok()
    }
}

macro_rules! always_done {
    ($($answer:ty),*) => {
        $(impl Ending for $answer {
            fn is_done(&self) -> bool {
                true
            }
        })*
    };
}

always_done!((), Duration, Moment);

/// A facility is what stands behind an `Arc` in [`Os`].
macro_rules! facilities {
    ($($part:ident),*) => {
        $(impl Watch for Arc<dyn $part> {
            fn watched(self, facility: Facility, recorder: &Recorder) -> Self {
                Arc::new(Watched {
                    inner: self,
                    facility,
                    recorder: recorder.clone(),
                })
            }
        })*
    };
}

facilities!(
    AfUnix, Boot, Clock, Disks, EventLog, Files, Firmware, Provider, Services, Volumes
);

/// Watches each method of a trait, and lists them: what is missing here does not compile. A method that
/// gives something out says how that is wrapped.
macro_rules! calls {
    ($($part:ident in $facility:ident, as $inner:ty {
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty $(, given as $wrap:expr)?;)*
    })*) => {
        $(impl $part for Watched<$inner> {
            $(fn $name(&self, $($argument: $type),*) -> $answer {
                let answer = self.inner.$name($($argument),*);
                let name = concat!(stringify!($part), "::", stringify!($name));
                self.saw(name.to_owned(), answer.is_done());
                $(let answer = answer.map(|given| $wrap(self.given(given)));)?
                answer
            })*
        })*

        /// The methods of all traits but [`Provider`].
        pub(crate) const CALLS: &[(Facility, &str)] = &[
            $($((
                Facility::$facility,
                concat!(stringify!($part), "::", stringify!($name)),
            ),)*)*
        ];
    };
}

calls! {
    AfUnix in AfUnix, as Arc<dyn AfUnix> {
        fn is_available() -> Result<bool>;
    }
    Boot in Boot, as Arc<dyn Boot> {
        fn boot_id() -> Result<BootId>;
        fn paging() -> Result<Paging>;
    }
    Clock in Clock, as Arc<dyn Clock> {
        fn now() -> Moment;
        fn wall() -> Duration;
        fn sleep(duration: Duration) -> ();
    }
    Disks in Disks, as Arc<dyn Disks> {
        fn list() -> Result<Vec<DiskNumber>>;
        fn number_of(device_path: &str) -> Result<DiskNumber>;
        fn device_id_page(disk: DiskNumber) -> Result<Vec<u8>>;
        fn descriptor(disk: DiskNumber) -> Result<DeviceDescriptor>;
        fn scsi_address(disk: DiskNumber) -> Result<ScsiAddress>;
        fn length(disk: DiskNumber) -> Result<u64>;
        fn sector_size(disk: DiskNumber) -> Result<u32>;
        fn layout(disk: DiskNumber) -> Result<DriveLayout>;
        fn attributes(disk: DiskNumber) -> Result<DiskAttributes>;
        fn read(disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()>;
        fn update_properties(disk: DiskNumber) -> Result<()>;
        fn grow_partition(disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()>;
    }
    EventLog in EventLog, as Arc<dyn EventLog> {
        fn report(event: &Event) -> Result<()>;
    }
    Files in Files, as Arc<dyn Files> {
        fn entry(path: &WinPath) -> Result<Entry>;
        fn leads_to_directory(path: &WinPath) -> Result<bool>;
        fn reparse_data(path: &WinPath) -> Result<Vec<u8>>;
        fn list(directory: &WinPath) -> Result<Vec<DirEntry>>;
        fn pin(directory: &WinPath) -> Result<Pin>, given as Pin::holding;
        fn create_directory(path: &WinPath) -> Result<()>;
        fn remove_directory(path: &WinPath) -> Result<()>;
        fn remove_file(path: &WinPath) -> Result<()>;
        fn clear_read_only(path: &WinPath) -> Result<()>;
        fn create_symlink(link: &WinPath, target: &str, kind: LinkKind) -> Result<()>;
        fn dacl(directory: &WinPath) -> Result<String>;
        fn set_dacl(directory: &WinPath, dacl: &Dacl) -> Result<()>;
    }
    Held in Files, as Pin {
        fn pin(name: &Component) -> Result<Pin>, given as Pin::holding;
        fn remove(name: &Component) -> Result<()>;
        fn create_directory(name: &Component) -> Result<()>;
    }
    Firmware in Firmware, as Arc<dyn Firmware> {
        fn smbios() -> Result<Vec<u8>>;
    }
    Services in Services, as Arc<dyn Services> {
        fn query(name: &str) -> Result<ServiceInfo>;
        fn running_dependents(name: &str) -> Result<Vec<String>>;
        fn start(name: &str, deadline: Deadline) -> Result<()>;
        fn stop(name: &str, deadline: Deadline) -> Result<()>;
    }
    Volumes in Volumes, as Arc<dyn Volumes> {
        fn list() -> Result<Vec<VolumeId>>;
        fn extents(volume: VolumeId) -> Result<Vec<Extent>>;
        fn space(volume: VolumeId) -> Result<Space>;
        fn file_system(volume: VolumeId) -> Result<Option<FileSystem>>;
        fn mounted_at(folder: &WinPath) -> Result<VolumeId>;
        fn access_paths(volume: VolumeId) -> Result<Vec<WinPath>>;
        fn set_mount_point(folder: &WinPath, volume: VolumeId) -> Result<()>;
        fn delete_mount_point(folder: &WinPath) -> Result<()>;
        fn flush(volume: VolumeId) -> Result<()>;
        fn lock(volume: VolumeId) -> Result<Box<dyn VolumeLock>>, given as boxed;
        fn extend(volume: VolumeId, bytes: u64) -> Result<()>;
    }
    VolumeLock in Volumes, as Box<dyn VolumeLock> {
        fn dismount() -> Result<()>;
    }
}

fn boxed(lock: Watched<Box<dyn VolumeLock>>) -> Box<dyn VolumeLock> {
    Box::new(lock)
}

/// A provider's operations are those of its classes. A method has done something when it returned zero.
impl Provider for Watched<Arc<dyn Provider>> {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let answer = self.inner.query(query, deadline);
        self.saw(Operation::query(query.class), answer.is_done());
        answer
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        let answer = self
            .inner
            .associators(of, association, result_class, deadline);
        let name = Operation::associators(association, result_class);
        self.saw(name, answer.is_done());
        answer
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let answer = self.inner.invoke(target, method, arguments, deadline);
        let is_done = answer.as_ref().is_ok_and(|outcome| outcome.code == 0);
        self.saw(Operation::method(class_of(target), method), is_done);
        answer
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        let answer = self.inner.parameters(class, method, deadline);
        self.saw(Operation::parameters(class, method), answer.is_done());
        answer
    }
}

/// The class in `\\server\namespace:Class.Key="value"`. The recorder knows what is a class.
fn class_of(target: Target<'_>) -> &str {
    let named = match target {
        Target::Class(class) => return class,
        Target::Instance(path) => path.0.split('"').next().unwrap_or_default(),
    };
    let relative = named.rsplit(':').next().unwrap_or_default();
    relative.split(['.', '=']).next().unwrap_or_default()
}
