//! azuredisk through csi-proxy. It knows its disk by the logical unit, resizes by the disk's number in
//! the place of a volume id, passes some paths as the kubelet wrote them, and unmounts by removing the
//! folder.

use std::path::PathBuf;

use os_sim::{Content, DiskSpec, Profile};

use super::calls::{Answer, Api, Force, Lifeline, OldVolume, Pipes, Stats};
use super::fixture::NodeFixture;
use super::lives::{Driver, Form, Paths, lives_of};
use super::share_mounter::{Found, Mounter};

const FALLBACK: Api = Api::Fallback(OldVolume::V1Beta2);
const LUN: u8 = 3;
const DISK: &str = "data";
/// Azure's name of the disk, unknown to the driver.
const NAA: &str = "60022480a1b2c3d4e5f60718293a4b5c";

struct AzureDisk<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
}

impl<'a> AzureDisk<'a> {
    fn start(fixture: &'a NodeFixture, api: Api, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new("azuredisk", api, fixture),
            paths: Paths::new("disk.csi.azure.com", "pvc-1", form),
        }
    }

    fn mounter(&self) -> Mounter<'_> {
        Mounter {
            fixture: self.fixture,
            pipes: &self.pipes,
        }
    }

    fn find_disk(&self) -> Answer<u32> {
        self.pipes.rescan()?;
        let locations = self.pipes.list_disk_locations()?;
        let wanted = LUN.to_string();
        let mut found = locations.iter().filter(|(_, lun)| **lun == wanted);
        let disk = found.next().map(|(disk, _)| *disk);
        disk.ok_or_else(|| self.pipes.failure("find disk", format!("{locations:?}")))
    }

    /// `FormatAndMount`.
    fn format_and_mount(&self, disk: u32) -> Answer<()> {
        self.pipes.partition_disk(disk)?;
        let volume = &self.pipes.list_volumes_on_disk(disk)?[0];
        if !self.pipes.is_volume_formatted(volume)? {
            self.pipes.format_volume(volume)?;
        }
        self.pipes.mount_volume(volume, &self.paths.staging)
    }

    fn volume_id(&self) -> Answer<String> {
        self.pipes.volume_of_target(&self.paths.raw_target)
    }
}

impl Driver for AzureDisk<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        let disk = self.find_disk()?;
        if self.mounter().ensure_mount_point(&self.paths.staging)? == Found::Nothing {
            self.format_and_mount(disk)?;
        }
        self.pipes.resize_volume(&disk.to_string(), 0)
    }

    fn node_publish_volume(&self) -> Answer<()> {
        let target = &self.paths.target;
        self.mounter().clear(target)?;
        if self.pipes.path_exists(target)? {
            self.pipes.is_symlink(target)?;
        }
        self.pipes.create_symlink(&self.paths.staging, target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.pipes.rmdir(&self.paths.target, Force::Yes)
    }

    /// If the flush fails, the driver only logs it.
    fn node_unstage_volume(&self) -> Answer<()> {
        if let Ok(volume) = self.pipes.volume_of_target(&self.paths.raw_staging) {
            self.pipes.write_volume_cache(&volume)?;
        }
        self.pipes.rmdir(&self.paths.staging, Force::Yes)
    }

    fn node_get_volume_stats(&self) -> Answer<Option<Stats>> {
        let volume = self.volume_id()?;
        self.pipes.volume_stats(&volume).map(Some)
    }

    fn node_expand_volume(&self) -> Answer<Option<()>> {
        let volume = self.volume_id()?;
        self.pipes.volume_stats(&volume)?;
        self.pipes.resize_volume(&volume, 0)?;
        let stats = self.pipes.volume_stats(&volume)?;
        match stats.total > 3 << 30 {
            true => Ok(Some(())),
            false => Err(self.pipes.failure("expand", format!("{stats:?}"))),
        }
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        let volume = fixture.mounted_at(&self.paths.staging).unwrap();
        fixture.volume_folder(volume)
    }

    fn grow(&self, fixture: &NodeFixture) {
        fixture.sim.hardware().grow_disk(DISK, 4 << 30).unwrap();
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        let page83 = page83();
        assert!(fixture.is_online(&page83), "the disk stays online");
        for volume in fixture.volumes_of(&page83) {
            assert_eq!(fixture.mounts_of(volume), Vec::<String>::new());
        }
    }
}

/// An Azure node, with its temporary disk.
fn fixture() -> NodeFixture {
    let fixture = NodeFixture::on(Profile::AzureScsi);
    let content = Content::blank(2 << 30);
    let hardware = fixture.sim.hardware();
    hardware.attach_disk(DISK, &disk(), &content).unwrap();
    fixture
}

fn disk() -> DiskSpec {
    Profile::AzureScsi.disk(LUN, NAA)
}

/// The identifier by which csi-proxy lists the disk.
fn page83() -> String {
    disk().identifier[0].value.clone()
}

lives_of!(v1, fixture(), |fixture, form| AzureDisk::start(
    fixture,
    Api::V1,
    form
));
lives_of!(v1beta2, fixture(), |fixture, form| AzureDisk::start(
    fixture, FALLBACK, form
));
