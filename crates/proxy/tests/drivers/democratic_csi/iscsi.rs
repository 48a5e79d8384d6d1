use wire::iscsi::v1alpha2 as iscsi;

use os_sim::SanPolicy;
use os_sim::iscsi::IscsiControl;

use super::*;
use crate::calls::{Lifeline, Stats};
use crate::lives::{Form, Paths, lives_of};
use crate::servers;

struct Iscsi {
    calls: Calls,
    paths: Paths,
}

impl Iscsi {
    fn start(fixture: &NodeFixture, form: Form) -> Self {
        Self {
            calls: Calls::start(fixture),
            paths: Paths::new("org.democratic-csi.iscsi", "pvc-1", form),
        }
    }

    fn log_in(&self) -> Answer<()> {
        let pipes = &self.calls.pipes;
        let target_portal = portal();
        let add = iscsi::AddTargetPortalRequest { target_portal };
        pipes.call::<iscsi::rpc::AddTargetPortal>(&add)?;
        let login = iscsi::ConnectTargetRequest {
            target_portal: portal(),
            iqn: servers::TARGET.to_owned(),
            auth_type: iscsi::AuthenticationType::OneWayChap.into(),
            chap_username: servers::CHAP_USER.to_owned(),
            chap_secret: servers::CHAP_SECRET.to_owned(),
        };
        let done = pipes.call::<iscsi::rpc::ConnectTarget>(&login);
        let connected = "The target has already been logged in via an iSCSI session";
        unless(done.map(drop), connected, ())
    }

    fn log_out(&self) -> Answer<()> {
        let leave = iscsi::DisconnectTargetRequest {
            target_portal: portal(),
            iqn: servers::TARGET.to_owned(),
        };
        let pipes = &self.calls.pipes;
        let done = pipes.call::<iscsi::rpc::DisconnectTarget>(&leave);
        unless(done.map(drop), "ObjectNotFound", ())
    }

    /// The target's disks: decimal texts.
    fn disks(&self) -> Answer<Vec<u32>> {
        let request = iscsi::GetTargetDisksRequest {
            target_portal: portal(),
            iqn: servers::TARGET.to_owned(),
        };
        let pipes = &self.calls.pipes;
        let answer = pipes.call::<iscsi::rpc::GetTargetDisks>(&request);
        let ids = unless(
            answer.map(|answer| answer.disk_ids),
            "ObjectNotFound",
            Vec::new(),
        )?;
        Ok(ids.iter().map(|id| id.parse().unwrap()).collect())
    }

    /// Exactly one is wanted.
    fn disk(&self) -> Answer<u32> {
        match self.disks()?.as_slice() {
            [disk] => Ok(*disk),
            disks => Err(self.calls.pipes.failure("one disk", format!("{disks:?}"))),
        }
    }

    /// The volumes of a disk without reserved partitions, whose id is empty.
    fn volumes(&self, disk: u32) -> Answer<Vec<String>> {
        let mut volumes = self.calls.pipes.list_volumes_on_disk(disk)?;
        volumes.retain(|volume| !volume.is_empty());
        Ok(volumes)
    }

    fn volume(&self, disk: u32) -> Answer<String> {
        if let Some(volume) = self.volumes(disk)?.pop() {
            return Ok(volume);
        }
        self.calls.pipes.partition_disk(disk)?;
        let found = self.volumes(disk)?.pop();
        found.ok_or_else(|| self.calls.pipes.failure("one volume", disk))
    }

    fn format_and_mount(&self, volume: &str) -> Answer<()> {
        let pipes = &self.calls.pipes;
        if !pipes.is_volume_formatted(volume)? {
            pipes.format_volume(volume)?;
        }
        let staging = &self.paths.staging;
        if !self.calls.path_exists(staging)? {
            pipes.mkdir(staging)?;
        }
        let mounted = pipes.mount_volume(volume, staging);
        unless(mounted, "The requested access path is already in use", ())
    }

    fn unmount(&self, volume: &str) -> Answer<()> {
        let pipes = &self.calls.pipes;
        pipes.write_volume_cache(volume)?;
        let unmounted = pipes.unmount_volume(volume, &self.paths.staging);
        unless(unmounted, "The access path is not valid", ())
    }
}

impl Driver for Iscsi {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.calls.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        self.log_in()?;
        self.calls.pipes.rescan()?;
        let volume = self.volume(self.disk()?)?;
        self.format_and_mount(&volume)
    }

    fn node_publish_volume(&self) -> Answer<()> {
        self.calls.publish(&self.paths.staging, &self.paths.target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.calls.unpublish(&self.paths.target)
    }

    /// The portal stays.
    fn node_unstage_volume(&self) -> Answer<()> {
        for disk in self.disks()? {
            for volume in self.volumes(disk)? {
                self.unmount(&volume)?;
            }
        }
        self.log_out()?;
        self.calls.rmdir(&self.paths.staging)
    }

    fn node_get_volume_stats(&self) -> Answer<Option<Stats>> {
        let volume = self.volume(self.disk()?)?;
        self.calls.pipes.volume_stats(&volume).map(Some)
    }

    fn node_expand_volume(&self) -> Answer<Option<()>> {
        assert!(
            self.calls.path_exists(&self.paths.staging)?,
            "{:?}",
            self.paths
        );
        let disk = self.disk()?;
        let volume = self.volume(disk)?;
        let pipes = &self.calls.pipes;
        pipes.rescan()?;
        let resized = pipes.resize_volume(&volume, 0);
        let full = "The size of the extent is less than the minimum of 1MB";
        unless(resized, full, ())?;
        assert_eq!(pipes.disk_stats(disk)?, 4 << 30, "disk {disk}");
        Ok(Some(()))
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        let volume = fixture.mounted_at(&self.paths.staging).unwrap();
        fixture.volume_folder(volume)
    }

    fn grow(&self, fixture: &NodeFixture) {
        let servers = IscsiControl::at(fixture.node_folder(""));
        servers.set_image(servers::TARGET_IMAGE, 4 << 30).unwrap();
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        assert_eq!(self.disks().unwrap(), Vec::<u32>::new(), "logged out");
        assert_eq!(
            fixture.disk(servers::TARGET_SERIAL),
            None,
            "its disk is gone"
        );
        let request = iscsi::ListTargetPortalsRequest {};
        let pipes = &self.calls.pipes;
        let listed = pipes.call::<iscsi::rpc::ListTargetPortals>(&request);
        assert_eq!(listed.unwrap().target_portals.len(), 1, "the portal stays");
    }
}

fn portal() -> Option<iscsi::TargetPortal> {
    Some(iscsi::TargetPortal {
        target_address: servers::PORTAL.to_owned(),
        target_port: 3260,
    })
}

fn fixture() -> NodeFixture {
    NodeFixture::new(SanPolicy::OfflineShared)
}

lives_of!(v1alpha2, fixture(), |fixture, form| Iscsi::start(
    fixture, form
));
