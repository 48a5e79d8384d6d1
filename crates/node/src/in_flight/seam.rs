//! The layer over the system's disks, volumes and files that limits the queries of each object under way
//! at a time.
//!
//! These go through as they are:
//! - changes: the caller holds the object's lock, and must not get an error for a change that is under way;
//! - lists of all disks and volumes: they concern no single object;
//! - a directory's list, which may take long, and held directories: the caller holds the path's lock;
//! - the disk of a device path: the path does not name a disk, so the caller guards the one that it expects.

use std::sync::Arc;

use os::layer::{Access, Layer, Op, Part, Ran, Run};
use os::{Facility, Os, Result, Root, WinPath};

use super::{InFlight, Object};

/// The same system, with its queries limited.
pub(crate) fn guarded(os: Os, in_flight: &InFlight) -> Os {
    let layer: Arc<dyn Layer> = Arc::new(Guard(in_flight.clone()));
    Os {
        disks: os.disks.layered(Facility::Disks, &layer),
        files: os.files.layered(Facility::Files, &layer),
        volumes: os.volumes.layered(Facility::Volumes, &layer),
        ..os
    }
}

struct Guard(InFlight);

impl Layer for Guard {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        match looked_at(op) {
            Some(object) => self.0.at(&object, || run.run()),
            None => run.run(),
        }
    }
}

fn looked_at(op: &Op<'_>) -> Option<Object> {
    match (op.access, op.object, op.method) {
        (Access::Look, os::layer::Object::Disk(disk), _) => Some(Object::Disk(disk)),
        (Access::Look, os::layer::Object::Volume(volume), method) => Some(match method {
            "Volumes::access_paths" => Object::AccessPaths(volume),
            "Volumes::flush" => Object::Cache(volume),
            _ => Object::Volume(volume),
        }),
        (Access::Look, os::layer::Object::Path(path), method) => Some(match method {
            "Volumes::mounted_at" => of_mount(path),
            _ => of_path(path),
        }),
        _ => None,
    }
}

fn of_mount(path: &WinPath) -> Object {
    match (path.root(), path.name()) {
        (Root::Drive(_) | Root::Volume(_), None) => Object::Drive(path.folded()),
        _ => Object::Folder(path.folded()),
    }
}

fn of_path(path: &WinPath) -> Object {
    match path.root() {
        Root::Volume(volume) => Object::Files(*volume),
        Root::Drive(_) | Root::Share { .. } => Object::Path(path.folded()),
    }
}

#[cfg(test)]
mod tests {
    use os::layer::Kind;
    use os::{DiskNumber, VolumeId};
    use uuid::Uuid;

    use super::*;

    fn object(
        access: Access,
        method: &'static str,
        object: os::layer::Object<'_>,
    ) -> Option<Object> {
        let facility = Facility::Volumes;
        looked_at(&Op {
            facility,
            method,
            name: "",
            subject: "",
            kind: Kind::Call,
            access,
            object,
        })
    }

    #[test]
    fn a_flush_and_a_list_of_paths_keep_no_other_look_at_the_volume_waiting() {
        let volume = VolumeId(Uuid::from_u128(7));
        let at = |method| object(Access::Look, method, os::layer::Object::Volume(volume));
        assert_eq!(at("Volumes::flush"), Some(Object::Cache(volume)));
        assert_eq!(
            at("Volumes::access_paths"),
            Some(Object::AccessPaths(volume))
        );
        assert_eq!(at("Volumes::space"), Some(Object::Volume(volume)));
        let rows: Vec<_> = os::layer::METHODS
            .iter()
            .map(|(_, method)| *method)
            .collect();
        for named in [
            "Volumes::flush",
            "Volumes::access_paths",
            "Volumes::mounted_at",
        ] {
            assert!(rows.contains(&named), "{named}");
        }
    }

    #[test]
    fn a_drive_or_volume_is_told_from_a_folder_where_a_volume_is_mounted() {
        let volume = WinPath::of_root(Root::Volume(VolumeId(Uuid::from_u128(7))));
        let paths = [r"C:\", r"C:\x"].map(|path| path.parse::<WinPath>().unwrap());
        let at = |path| {
            object(
                Access::Look,
                "Volumes::mounted_at",
                os::layer::Object::Path(path),
            )
        };
        let [drive, folder] = &paths;
        assert_eq!(at(drive), Some(Object::Drive(drive.folded())));
        assert_eq!(at(&volume), Some(Object::Drive(volume.folded())));
        assert_eq!(at(folder), Some(Object::Folder(folder.folded())));
    }

    #[test]
    fn what_changes_or_lists_or_is_held_goes_through() {
        let disk = os::layer::Object::Disk(DiskNumber(1));
        for access in [Access::Change, Access::List, Access::Open] {
            assert_eq!(object(access, "Disks::any", disk), None);
        }
        assert_eq!(
            object(Access::Look, "Disks::any", disk),
            Some(Object::Disk(DiskNumber(1)))
        );
        let device = os::layer::Object::Device(r"\\?\scsi#1");
        assert_eq!(object(Access::Look, "Disks::number_of", device), None);
    }
}
