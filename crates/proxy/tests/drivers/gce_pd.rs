//! gce-pd through csi-proxy. It knows an NVMe disk by a number in its serial number, others by the last word of their
//! page 0x83, checks only by `IsSymlink` whether a volume is staged, and takes the disk offline at the end.

use std::path::PathBuf;

use os_sim::{Bus, Content, DiskSpec, IdentifierKind, SanPolicy};

use super::calls::{Answer, Api, DiskIds, Force, Lifeline, OldVolume, Pipes, State, Stats};
use super::fixture::NodeFixture;
use super::lives::{self, Driver, Form, Paths, lives_of};

const FALLBACK: Api = Api::Fallback(OldVolume::V1Beta1);
const NAME: &str = "pvc-1";
const SERIAL: &str = "00AB_CDEF_0123_4567_0000.";
/// The metadata server's word for the NVMe disk.
const NAMESPACE: u64 = 0x00ab_cdef_0123_4567;

#[derive(Debug, Clone, Copy)]
enum Model {
    Nvme,
    Scsi,
}

struct GcePd<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
    model: Model,
}

impl<'a> GcePd<'a> {
    fn start(fixture: &'a NodeFixture, api: Api, model: Model, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new("gce-pd", api, fixture),
            paths: Paths::new("pd.csi.storage.gke.io", NAME, form),
            model,
        }
    }

    fn find_disk(&self) -> Answer<u32> {
        let disks = self.pipes.list_disk_ids()?;
        let is_ours = |ids: &DiskIds| match self.model {
            Model::Nvme => namespace(&ids.serial_number) == Some(NAMESPACE),
            Model::Scsi => ids.page83.split_whitespace().last() == Some(NAME),
        };
        let mut found = disks.iter().filter(|(_, ids)| is_ours(ids));
        let disk = found.next().map(|(disk, _)| *disk);
        disk.ok_or_else(|| {
            self.pipes
                .failure("find disk", format!("{} disks", disks.len()))
        })
    }

    /// An error counts as "not mounted".
    fn is_mounted(&self, path: &str) -> bool {
        self.pipes.is_symlink(path).unwrap_or(false)
    }

    fn format_and_mount(&self, disk: u32) -> Answer<()> {
        self.pipes.disk_stats(disk)?;
        self.pipes.partition_disk(disk)?;
        self.pipes.set_disk_state(disk, State::Online)?;
        let volume = &self.pipes.list_volumes_on_disk(disk)?[0];
        if !self.pipes.is_volume_formatted(volume)? {
            self.pipes.format_volume(volume)?;
        }
        self.pipes.mount_volume(volume, &self.paths.raw_staging)
    }
}

impl Driver for GcePd<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        let disk = self.find_disk()?;
        if self.is_mounted(&self.paths.staging) {
            return Ok(());
        }
        self.format_and_mount(disk)?;
        let volume = self.pipes.volume_of_target(&self.paths.raw_staging)?;
        self.pipes.resize_volume(&volume, 0)
    }

    fn node_publish_volume(&self) -> Answer<()> {
        let target = &self.paths.target;
        if self.is_mounted(target) {
            return Ok(());
        }
        if self.pipes.path_exists(target)? {
            self.pipes.rmdir(target, Force::Yes)?;
        }
        self.fixture
            .make_directories(target.rsplit_once('\\').unwrap().0);
        self.pipes.create_symlink(&self.paths.staging, target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.pipes.rmdir(&self.paths.target, Force::Yes)
    }

    fn node_unstage_volume(&self) -> Answer<()> {
        if !self.pipes.path_exists(&self.paths.staging)? {
            return Ok(());
        }
        let volume = self.pipes.volume_of_target(&self.paths.raw_staging)?;
        self.pipes
            .unmount_volume(&volume, &self.paths.raw_staging)?;
        self.pipes.rmdir(&self.paths.staging, Force::Yes)?;
        let disk = self.pipes.disk_number_of(&volume)?;
        self.pipes.set_disk_state(disk, State::Offline)
    }

    fn node_get_volume_stats(&self) -> Answer<Option<Stats>> {
        let volume = self.pipes.volume_of_target(&self.paths.raw_target)?;
        self.pipes.volume_stats(&volume).map(Some)
    }

    fn node_expand_volume(&self) -> Answer<Option<()>> {
        let disk = self.find_disk()?;
        let volume = self.pipes.volume_of_target(&self.paths.raw_target)?;
        self.pipes.resize_volume(&volume, 0)?;
        let bytes = self.pipes.disk_stats(disk)?;
        assert_eq!(bytes, 4 << 30, "{disk}");
        Ok(Some(()))
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        let volume = fixture.mounted_at(&self.paths.staging).unwrap();
        fixture.volume_folder(volume)
    }

    fn grow(&self, fixture: &NodeFixture) {
        fixture.sim.hardware().grow_disk(NAME, 4 << 30).unwrap();
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        assert!(!fixture.is_online(SERIAL), "the disk is offline");
    }
}

/// `AAAA_BBBB_CCCC_DDDD_0000.`: the first 16 digits are the namespace's number.
fn namespace(serial: &str) -> Option<u64> {
    let digits = serial.strip_suffix('.')?.replace('_', "");
    u64::from_str_radix(digits.get(..16)?, 16).ok()
}

/// A node whose disks stay offline until a driver brings them online.
fn fixture(model: Model) -> NodeFixture {
    let fixture = just_attached(model);
    fixture.wait_until_the_provider_noticed();
    fixture
}

fn just_attached(model: Model) -> NodeFixture {
    let fixture = NodeFixture::new(SanPolicy::OfflineAll);
    let page83 = format!("Google  PersistentDisk  {NAME}");
    let disk = match model {
        Model::Nvme => DiskSpec::on(Bus::Nvme),
        Model::Scsi => DiskSpec::on(Bus::Scsi).identified(IdentifierKind::Vendor, &page83),
    };
    let content = Content::blank(2 << 30);
    let hardware = fixture.sim.hardware();
    let disk = disk.serial(SERIAL).lun(3);
    hardware.attach_disk(NAME, &disk, &content).unwrap();
    fixture
}

lives_of!(v1_nvme, fixture(Model::Nvme), |fixture, form| GcePd::start(
    fixture,
    Api::V1,
    Model::Nvme,
    form
));
lives_of!(v1beta1_scsi, fixture(Model::Scsi), |fixture, form| {
    GcePd::start(fixture, FALLBACK, Model::Scsi, form)
});

/// It never rescans: the kubelet repeats the call until the disk is there.
#[test]
fn v1_scsi_stages_a_disk_that_is_noticed_late() {
    let fixture = just_attached(Model::Scsi);
    let driver = GcePd::start(&fixture, Api::V1, Model::Scsi, Form::Drive);
    fixture.make_directories(&driver.paths.staging);
    assert!(driver.node_stage_volume().is_err());
    fixture.wait_until_the_provider_noticed();
    driver.node_stage_volume().unwrap();
}

#[test]
fn v1_scsi_whole_life() -> Answer<()> {
    let fixture = fixture(Model::Scsi);
    let driver = GcePd::start(&fixture, Api::V1, Model::Scsi, Form::Drive);
    lives::whole(&fixture, &driver)
}

#[test]
fn v1beta1_nvme_whole_life() -> Answer<()> {
    let fixture = fixture(Model::Nvme);
    let driver = GcePd::start(&fixture, FALLBACK, Model::Nvme, Form::Drive);
    lives::whole(&fixture, &driver)
}
