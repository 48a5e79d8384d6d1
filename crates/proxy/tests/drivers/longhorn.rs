//! The fork of Longhorn for Windows: an iSCSI target of its engine without CHAP, through csi-proxy. It queries a portal
//! before it adds it, never rescans, and sends the wanted filesystem in a field that csi-proxy lacks.

use std::path::PathBuf;

use os::Files;
use os_sim::SanPolicy;
use os_sim::iscsi::IscsiControl;
use wire::Rpc;
use wire::iscsi::v1alpha2 as iscsi;
use wire::volume::v2alpha1 as volume;

use super::calls::{Answer, Api, Force, Lifeline, Pipes, State, Stats};
use super::fixture::{NodeFixture, path};
use super::lives::{Driver, Form, Paths, lives_of};
use super::servers;

const NAME: &str = "longhorn";

struct Longhorn<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
    filesystem: &'static str,
}

/// FormatVolume with the fork's field; its number is not published.
#[derive(Clone, PartialEq, prost::Message)]
struct FormatRequest {
    #[prost(string, tag = "1")]
    volume_id: String,
    #[prost(string, tag = "2")]
    filesystem: String,
}

struct FormatVolume;

impl Rpc for FormatVolume {
    const GROUP: &'static wire::Group = volume::rpc::FormatVolume::GROUP;
    const METHOD: &'static wire::Method = volume::rpc::FormatVolume::METHOD;
    type Request = FormatRequest;
    type Response = volume::FormatVolumeResponse;
}

impl<'a> Longhorn<'a> {
    fn start(fixture: &'a NodeFixture, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new(NAME, Api::V1, fixture),
            paths: Paths::new("driver.longhorn.io", "pvc-1", form),
            filesystem: "ntfs",
        }
    }

    /// `ensurePortal`: a portal that knows the target already is not added.
    fn ensure_portal(&self) -> Answer<()> {
        let target_portal = portal();
        if self.discover().is_ok_and(|found| found) {
            return Ok(());
        }
        let add = iscsi::AddTargetPortalRequest { target_portal };
        self.pipes.call::<iscsi::rpc::AddTargetPortal>(&add)?;
        match self.discover()? {
            true => Ok(()),
            false => Err(self.pipes.failure("ensurePortal", "no target")),
        }
    }

    fn discover(&self) -> Answer<bool> {
        let request = iscsi::DiscoverTargetPortalRequest {
            target_portal: portal(),
        };
        let answer = self
            .pipes
            .call::<iscsi::rpc::DiscoverTargetPortal>(&request)?;
        let is_it = |iqn: &String| iqn.eq_ignore_ascii_case(servers::ENGINE);
        Ok(answer.iqns.iter().any(is_it))
    }

    /// A failure counts only if there is no disk after it.
    fn connect(&self) -> Answer<u32> {
        let login = iscsi::ConnectTargetRequest {
            target_portal: portal(),
            iqn: servers::ENGINE.to_owned(),
            auth_type: iscsi::AuthenticationType::None.into(),
            chap_username: String::new(),
            chap_secret: String::new(),
        };
        if let Err(failure) = self.pipes.call::<iscsi::rpc::ConnectTarget>(&login)
            && self.disks()?.is_empty()
        {
            return Err(failure);
        }
        // The storage provider notices the disk by itself: the driver counts on it.
        self.fixture.wait_until_the_provider_noticed();
        match self.disks()?.as_slice() {
            [disk] => Ok(disk.parse().unwrap()),
            disks => Err(self.pipes.failure("one disk", format!("{disks:?}"))),
        }
    }

    fn disks(&self) -> Answer<Vec<String>> {
        let request = iscsi::GetTargetDisksRequest {
            target_portal: portal(),
            iqn: servers::ENGINE.to_owned(),
        };
        let answer = self.pipes.call::<iscsi::rpc::GetTargetDisks>(&request)?;
        Ok(answer.disk_ids)
    }

    /// Exactly one is wanted.
    fn volume_on(&self, disk_number: u32) -> Answer<String> {
        let request = volume::ListVolumesOnDiskRequest {
            disk_number,
            partition_number: 0,
        };
        let listed = self
            .pipes
            .call::<volume::rpc::ListVolumesOnDisk>(&request)?;
        match listed.volume_ids.as_slice() {
            [one] => Ok(one.clone()),
            several => Err(self.pipes.failure("one volume", format!("{several:?}"))),
        }
    }

    fn format(&self, volume_id: &str) -> Answer<()> {
        let look = volume::IsVolumeFormattedRequest {
            volume_id: volume_id.to_owned(),
        };
        let looked = self.pipes.call::<volume::rpc::IsVolumeFormatted>(&look)?;
        if looked.formatted {
            return Ok(());
        }
        let request = FormatRequest {
            volume_id: volume_id.to_owned(),
            filesystem: self.filesystem.to_owned(),
        };
        self.pipes.call::<FormatVolume>(&request).map(drop)
    }

    fn ensure_directory(&self, path: &str) -> Answer<()> {
        match self.pipes.path_exists(path)? {
            true => Ok(()),
            false => self.pipes.mkdir(path),
        }
    }

    fn volume_of(&self, path: &str) -> Answer<String> {
        let request = volume::GetVolumeIdFromTargetPathRequest {
            target_path: path.to_owned(),
        };
        let answer = self
            .pipes
            .call::<volume::rpc::GetVolumeIdFromTargetPath>(&request)?;
        Ok(answer.volume_id)
    }

    /// Failures are passed over.
    fn unmount(&self, volume_id: &str) {
        let request = volume::UnmountVolumeRequest {
            volume_id: volume_id.to_owned(),
            target_path: self.paths.staging.clone(),
        };
        let _ = self.pipes.call::<volume::rpc::UnmountVolume>(&request);
        let request = volume::GetDiskNumberFromVolumeIdRequest {
            volume_id: volume_id.to_owned(),
        };
        let disk = self
            .pipes
            .call::<volume::rpc::GetDiskNumberFromVolumeId>(&request);
        if let Ok(disk) = disk {
            let _ = self.pipes.set_disk_state(disk.disk_number, State::Offline);
        }
    }
}

impl Driver for Longhorn<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        self.ensure_portal()?;
        let disk = self.connect()?;
        self.pipes.set_disk_state(disk, State::Online)?;
        self.pipes.partition_disk(disk)?;
        let volume_id = self.volume_on(disk)?;
        self.format(&volume_id)?;
        self.ensure_directory(&self.paths.staging)?;
        let target_path = self.paths.staging.clone();
        let mount = volume::MountVolumeRequest {
            volume_id,
            target_path,
        };
        self.pipes
            .call::<volume::rpc::MountVolume>(&mount)
            .map(drop)
    }

    fn node_publish_volume(&self) -> Answer<()> {
        let (staging, target) = (&self.paths.staging, &self.paths.target);
        if self.pipes.path_exists(target)? {
            if self.pipes.is_symlink(target).is_ok_and(|is_link| is_link) {
                return Ok(());
            }
            self.pipes.rmdir(target, Force::No)?;
        }
        self.ensure_directory(target.rsplit_once('\\').unwrap().0)?;
        match self.pipes.create_symlink(staging, target) {
            Err(failure) if !self.pipes.is_symlink(target)? => Err(failure),
            _ => Ok(()),
        }
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        let target = &self.paths.target;
        match self.pipes.rmdir(target, Force::Yes) {
            Err(failure) if self.pipes.path_exists(target)? => Err(failure),
            _ => Ok(()),
        }
    }

    /// After any failure the answer is success; the kubelet removes the folder.
    fn node_unstage_volume(&self) -> Answer<()> {
        if let Ok(volume_id) = self.volume_of(&self.paths.staging) {
            self.unmount(&volume_id);
        }
        let leave = iscsi::DisconnectTargetRequest {
            target_portal: portal(),
            iqn: servers::ENGINE.to_owned(),
        };
        let _ = self.pipes.call::<iscsi::rpc::DisconnectTarget>(&leave);
        if !self.pipes.lifeline.is_over() {
            let _ = self
                .fixture
                .sim
                .files()
                .remove_directory(&path(&self.paths.staging));
        }
        Ok(())
    }

    fn node_get_volume_stats(&self) -> Answer<Option<Stats>> {
        let volume_id = self.volume_of(&self.paths.target)?;
        let request = volume::GetVolumeStatsRequest { volume_id };
        let answer = self.pipes.call::<volume::rpc::GetVolumeStats>(&request)?;
        Ok(Some(Stats {
            total: answer.total_bytes,
            used: answer.used_bytes,
        }))
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        let volume = fixture.mounted_at(&self.paths.staging).unwrap();
        fixture.volume_folder(volume)
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        assert_eq!(self.disks().unwrap(), Vec::<String>::new(), "logged out");
        assert_eq!(
            fixture.disk(servers::ENGINE_SERIAL),
            None,
            "its disk is gone"
        );
    }
}

fn portal() -> Option<iscsi::TargetPortal> {
    Some(iscsi::TargetPortal {
        target_address: servers::ENGINE_PORTAL.to_owned(),
        target_port: 3260,
    })
}

fn fixture() -> NodeFixture {
    let fixture = NodeFixture::new(SanPolicy::OfflineShared);
    servers::engine_around(&IscsiControl::at(fixture.node_folder("")));
    fixture
}

lives_of!(v2alpha1, fixture(), |fixture, form| Longhorn::start(
    fixture, form
));

/// As with csi-proxy: it has no such field.
#[test]
fn the_filesystem_that_it_asks_for_is_ntfs_whatever_it_says() -> Answer<()> {
    let fixture = fixture();
    let driver = Longhorn {
        filesystem: "refs",
        ..Longhorn::start(&fixture, Form::Drive)
    };
    driver.node_stage_volume()?;
    let volume = fixture.mounted_at(&driver.paths.staging).unwrap();
    let made = fixture.sim.os().volumes.file_system(volume).unwrap();
    assert_eq!(made.map(|made| made.name).as_deref(), Some("NTFS"));
    Ok(())
}
