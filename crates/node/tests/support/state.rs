//! The state of a node as text that two runs share, whatever identifiers Windows drew in each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use os::schema::smb_global_mapping as mapping;
use os::{
    Component, Deadline, DriveLayout, Entry, Files, PartitionStyle, Query, ReparseTag, Root,
    VolumeId, WinPath,
};

use super::{NodeFixture, path};

impl NodeFixture {
    /// Disks, partitions, volumes, files, mappings, services, and what the initiator knows.
    pub(crate) fn state(&self) -> String {
        // Volumes come late, and what only memory held of the clock is gone after a death.
        self.let_pass(Duration::from_secs(60));
        let names = self.volume_names();
        let mut text = String::new();
        self.say_disks(&mut text);
        for (volume, name) in &names {
            self.say_volume(&mut text, *volume, name, &names);
        }
        let kubelet = path(r"C:\var");
        if self.files().entry(&kubelet).is_ok() {
            self.say_folder(&mut text, &kubelet, &names);
        }
        self.say_mappings(&mut text);
        self.say_services(&mut text);
        self.say_initiator(&mut text);
        text
    }

    /// Each data volume by the disk and offset that it lies at.
    fn volume_names(&self) -> BTreeMap<VolumeId, String> {
        let volumes = &self.os().volumes;
        let mut names = BTreeMap::new();
        for volume in volumes.list().unwrap() {
            for extent in volumes.extents(volume).unwrap_or_default() {
                let name = format!(
                    "volume of {} at {}",
                    self.serial(extent.disk.0),
                    extent.offset
                );
                names.insert(volume, name);
            }
        }
        names
    }

    fn serial(&self, disk: u32) -> String {
        let descriptor = self.os().disks.descriptor(os::DiskNumber(disk));
        descriptor
            .unwrap()
            .serial
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    fn say_disks(&self, text: &mut String) {
        let disks = &self.os().disks;
        for disk in disks.list().unwrap() {
            let serial = self.serial(disk.0);
            let attributes = disks.attributes(disk).unwrap();
            let layout = disks.layout(disk).unwrap();
            let _ = writeln!(text, "disk {serial} {attributes:?}");
            say_layout(text, &layout);
        }
    }

    fn say_volume(
        &self,
        text: &mut String,
        volume: VolumeId,
        name: &str,
        names: &BTreeMap<VolumeId, String>,
    ) {
        if name.contains("SYSTEM") {
            return;
        }
        let volumes = &self.os().volumes;
        let file_system = volumes.file_system(volume);
        let size = volumes.space(volume).map(|space| space.total);
        let _ = writeln!(text, "{name}: {file_system:?} {:?}", size.ok());
        let mut folders: Vec<_> = volumes.access_paths(volume).unwrap_or_default();
        folders.sort_by_key(WinPath::folded);
        for folder in folders {
            let _ = writeln!(text, "  mounted at {folder}");
        }
        if matches!(volumes.file_system(volume), Ok(Some(_))) {
            let root = WinPath::of_root(Root::Volume(volume));
            let dacl = self.files().dacl(&root);
            let _ = writeln!(text, "  open to {}", dacl.unwrap());
            self.say_folder(text, &WinPath::of_root(Root::Volume(volume)), names);
        }
    }

    fn say_folder(&self, text: &mut String, folder: &WinPath, names: &BTreeMap<VolumeId, String>) {
        let files = self.files();
        let mut entries = files.list(folder).unwrap();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        for found in entries {
            let at = folder.join(Component::listed(found.name).unwrap());
            let _ = writeln!(text, "  {}", self.describe(&at, &found.entry, names));
            if found.entry.is_directory() && found.entry.tag.is_none() {
                self.say_folder(text, &at, names);
            }
        }
    }

    fn describe(&self, at: &WinPath, entry: &Entry, names: &BTreeMap<VolumeId, String>) -> String {
        let files = self.files();
        let name = match at.root() {
            Root::Volume(volume) => at.to_string().replace(&volume.to_string(), &names[volume]),
            _ => at.to_string(),
        };
        match entry.tag {
            Some(ReparseTag::MOUNT_POINT) => match files.mounted_volume(at) {
                Ok(volume) => format!("{name} => {:?}", names.get(&volume)),
                Err(_) => format!("{name} => elsewhere"),
            },
            Some(tag) => {
                let data = files.reparse_data(at).unwrap();
                let (kind, data) = (entry.attributes, String::from_utf8_lossy(&data));
                format!("{name} -> {tag:?} {kind:?} {data}")
            }
            None if entry.is_directory() => format!("{name}\\"),
            None => {
                let content = files.read_file(at).unwrap();
                format!("{name}: {}", String::from_utf8_lossy(&content))
            }
        }
    }

    fn say_mappings(&self, text: &mut String) {
        let query = Query::all(mapping::CLASS.name, &[mapping::REMOTE_PATH.name]);
        let found = self
            .os()
            .smb
            .query(&query, Deadline::NEVER)
            .unwrap_or_default();
        let mut shares: Vec<_> = found
            .iter()
            .map(|mapping| mapping.text(mapping::REMOTE_PATH.name).unwrap().to_owned())
            .collect();
        shares.sort();
        for share in shares {
            let _ = writeln!(text, "mapped {share}");
        }
    }
}

fn say_layout(text: &mut String, layout: &DriveLayout) {
    let style = match layout.style {
        PartitionStyle::Gpt { .. } => "GPT",
        PartitionStyle::Mbr { .. } => "MBR",
        PartitionStyle::Raw => "raw",
    };
    let _ = writeln!(text, "  {style}");
    for partition in &layout.partitions {
        let _ = writeln!(
            text,
            "  partition {} {} {} {}",
            partition.number, partition.offset, partition.length, partition.kind
        );
    }
}
