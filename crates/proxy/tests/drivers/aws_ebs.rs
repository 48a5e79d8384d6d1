//! aws-ebs through csi-proxy, v1 alone. It knows its disk by the serial number, builds a new disk client
//! for each search, and reads from the texts of failures whether anything is mounted.

use std::path::PathBuf;

use os_sim::{Content, Profile};

use super::calls::{Answer, Api, Force, Lifeline, Pipes, State, Stats, StepFailure};
use super::fixture::NodeFixture;
use super::lives::{Driver, Form, Paths, lives_of};

const NAME: &str = "aws-ebs";
const VOLUME: &str = "vol-0123456789abcdef0";
const SERIAL: &str = "vol0123456789abcdef0_00000001.";
const DISK: &str = "data";

struct AwsEbs<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
}

impl<'a> AwsEbs<'a> {
    fn start(fixture: &'a NodeFixture, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new(NAME, Api::V1, fixture),
            paths: Paths::new("ebs.csi.aws.com", "pvc-1", form),
        }
    }

    /// `FindDevicePath`.
    fn find_disk(&self) -> Answer<u32> {
        let pipes = self.pipes.reopened(self.fixture);
        let disks = pipes.list_disk_ids()?;
        let volume = VOLUME.replace('-', "");
        let mut found = disks
            .iter()
            .filter(|(_, ids)| ids.serial_number.contains(&volume));
        let disk = found.next().map(|(disk, _)| *disk);
        disk.ok_or_else(|| pipes.failure("FindDevicePath", format!("{} disks", disks.len())))
    }

    /// `GetDeviceNameFromMount`: the disk of the volume mounted at a path, if any.
    fn mounted_disk(&self, path: &str) -> Answer<Option<u32>> {
        match self.pipes.volume_of_target(path) {
            Ok(volume) => self.pipes.disk_number_of(&volume).map(Some),
            Err(failure) if means_nothing_is_mounted(&failure) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn format_and_mount(&self, disk: u32) -> Answer<()> {
        self.pipes.partition_disk(disk)?;
        self.pipes.set_disk_state(disk, State::Online)?;
        let volume = &self.pipes.list_volumes_on_disk(disk)?[0];
        if !self.pipes.is_volume_formatted(volume)? {
            self.pipes.format_volume(volume)?;
        }
        self.pipes.mount_volume(volume, &self.paths.staging)
    }

    /// `NeedResize`, and `Resize` where the filesystem is smaller.
    fn fill_disk(&self, disk: u32) -> Answer<()> {
        self.pipes.rescan()?;
        let bytes = self.pipes.disk_stats(disk)?;
        let volume = self.pipes.volume_of_target(&self.paths.staging)?;
        let stats = self.pipes.volume_stats(&volume)?;
        if bytes > stats.total + 4096 {
            self.resize(&self.paths.staging)?;
        }
        Ok(())
    }

    fn resize(&self, path: &str) -> Answer<()> {
        self.pipes.rescan()?;
        let volume = self.pipes.volume_of_target(path)?;
        self.pipes.resize_volume(&volume, 0)
    }

    /// `Unstage` of its mounter.
    fn unmount(&self) -> Answer<()> {
        let staging = &self.paths.staging;
        let volume = self.pipes.volume_of_target(staging)?;
        self.pipes.unmount_volume(&volume, staging)?;
        self.pipes.rmdir(staging, Force::Yes)?;
        let disk = self.pipes.disk_number_of(&volume)?;
        self.pipes.set_disk_state(disk, State::Offline)
    }
}

impl Driver for AwsEbs<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        let disk = self.find_disk()?;
        if !self.pipes.path_exists(&self.paths.staging)? {
            self.pipes.mkdir(&self.paths.staging)?;
        }
        if self.mounted_disk(&self.paths.staging)? == Some(disk) {
            return Ok(());
        }
        self.format_and_mount(disk)?;
        self.fill_disk(disk)
    }

    fn node_publish_volume(&self) -> Answer<()> {
        let target = &self.paths.target;
        if self.pipes.path_exists(target)? {
            self.pipes.rmdir(target, Force::Yes)?;
        }
        let is_mounted = self.pipes.path_exists(target)? && self.pipes.is_symlink(target)?;
        assert!(!is_mounted, "{target} was removed");
        self.pipes.create_symlink(&self.paths.staging, target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.pipes.rmdir(&self.paths.target, Force::Yes)
    }

    fn node_unstage_volume(&self) -> Answer<()> {
        match self.mounted_disk(&self.paths.staging)? {
            Some(_) => self.unmount(),
            None => Ok(()),
        }
    }

    /// The driver reads the figures from the system, once it knows that the path exists.
    fn node_get_volume_stats(&self) -> Answer<Option<Stats>> {
        assert!(
            self.pipes.path_exists(&self.paths.target)?,
            "{:?}",
            self.paths
        );
        Ok(Some(self.fixture.free_space(&self.paths.staging)))
    }

    fn node_expand_volume(&self) -> Answer<Option<()>> {
        let mounted = self.mounted_disk(&self.paths.target)?;
        let disk = self.find_disk()?;
        assert_eq!(mounted, Some(disk), "{NAME}: the disk of the path");
        self.resize(&self.paths.target)?;
        assert_eq!(self.pipes.disk_stats(disk)?, 4 << 30, "disk {disk}");
        Ok(Some(()))
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        let volume = fixture.mounted_at(&self.paths.staging).unwrap();
        fixture.volume_folder(volume)
    }

    fn grow(&self, fixture: &NodeFixture) {
        fixture.sim.hardware().grow_disk(DISK, 4 << 30).unwrap();
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        assert!(!fixture.is_online(SERIAL), "the disk is offline");
    }
}

/// `(Get-Item -Path \S+).Target, output: , error: <nil>` or `because it does not exist`, as expressions:
/// parentheses group, and a dot is any character.
fn means_nothing_is_mounted(failure: &StepFailure) -> bool {
    let text = &failure.text;
    let has_no_target = text.split("Get-Item -Path ").skip(1).any(|rest| {
        let end = rest.find("Target, output: , error: <nil>");
        end.is_some_and(|end| end > 1 && !rest[..end].contains(char::is_whitespace))
    });
    has_no_target || text.contains("because it does not exist")
}

/// A node of EC2, where a new volume arrives online.
fn fixture() -> NodeFixture {
    let fixture = NodeFixture::on(Profile::Ebs);
    let disk = Profile::Ebs.disk(1, VOLUME);
    let content = Content::blank(2 << 30);
    let hardware = fixture.sim.hardware();
    hardware.attach_disk(DISK, &disk, &content).unwrap();
    fixture.wait_until_the_provider_noticed();
    fixture
}

lives_of!(v1, fixture(), |fixture, form| AwsEbs::start(fixture, form));

/// Taken for "nothing is mounted", this would detach the disk of the pod's volume.
#[test]
fn a_volume_that_vanished_is_not_taken_for_unstaged() -> Answer<()> {
    let fixture = fixture();
    let driver = AwsEbs::start(&fixture, Form::Backslashes);
    driver.node_stage_volume()?;
    fixture.sim.hardware().detach_disk(DISK).unwrap();
    let failure = driver
        .node_unstage_volume()
        .expect_err("the volume is gone");
    assert!(!means_nothing_is_mounted(&failure), "{failure:?}");
    assert!(fixture.is_there(&driver.paths.staging), "its folder stays");
    Ok(())
}
