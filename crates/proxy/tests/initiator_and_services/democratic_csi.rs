//! The calls of democratic-csi's csi-proxy client for an iSCSI volume, in its order.

use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::iscsi::v1alpha2 as iscsi;
use wire::volume::v1 as volume;

use crate::stage::ADDRESS;
use crate::stage::GUARDED;
use crate::stage::SECRET;
use crate::stage::Stage;

const STAGING: &str =
    r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\org.democratic-csi\v1\globalmount";

#[test]
fn democratic_csi_iscsi_volume_is_staged_and_unstaged() {
    let stage = Stage::new();
    let node = Driver { stage: &stage };
    let volume_id = node.stage_volume();
    let again = node.stage_volume();
    assert_eq!(
        again, volume_id,
        "a repeated NodeStage finds the same volume"
    );
    let stats = volume::GetVolumeStatsRequest {
        volume_id: volume_id.clone(),
    };
    let stats = stage.answer::<volume::rpc::GetVolumeStats>(&stats);
    assert!(stats.total_bytes > 900 << 20, "{stats:?}");
    node.unstage_volume(&volume_id);
    assert_eq!(node.disks(), Vec::<u32>::new());
    let text = stage.refusal::<iscsi::rpc::DisconnectTarget>(&iscsi::DisconnectTargetRequest {
        target_portal: portal(),
        iqn: "iqn.2026-01.com.example:gone".to_owned(),
    });
    assert!(
        text.contains("ObjectNotFound"),
        "what it takes for disconnected: {text}"
    );
}

struct Driver<'a> {
    stage: &'a Stage,
}

impl Driver<'_> {
    fn stage_volume(&self) -> String {
        let add = iscsi::AddTargetPortalRequest {
            target_portal: portal(),
        };
        self.stage.answer::<iscsi::rpc::AddTargetPortal>(&add);
        let login = iscsi::ConnectTargetRequest {
            target_portal: portal(),
            iqn: GUARDED.to_owned(),
            auth_type: iscsi::AuthenticationType::OneWayChap.into(),
            chap_username: "node".to_owned(),
            chap_secret: SECRET.to_owned(),
        };
        self.stage.answer::<iscsi::rpc::ConnectTarget>(&login);
        let rescan = disk::RescanRequest {};
        self.stage.answer::<disk::rpc::Rescan>(&rescan);
        let disks = self.disks();
        let [disk_number] = disks.as_slice() else {
            panic!("exactly one disk is wanted: {disks:?}");
        };
        let volume_id = self.volume(*disk_number);
        self.format(&volume_id);
        self.mount(&volume_id);
        volume_id
    }

    fn unstage_volume(&self, volume_id: &str) {
        let flush = volume::WriteVolumeCacheRequest {
            volume_id: volume_id.to_owned(),
        };
        self.stage.answer::<volume::rpc::WriteVolumeCache>(&flush);
        let unmount = volume::UnmountVolumeRequest {
            volume_id: volume_id.to_owned(),
            target_path: STAGING.to_owned(),
        };
        self.stage.answer::<volume::rpc::UnmountVolume>(&unmount);
        let leave = iscsi::DisconnectTargetRequest {
            target_portal: portal(),
            iqn: GUARDED.to_owned(),
        };
        self.stage.answer::<iscsi::rpc::DisconnectTarget>(&leave);
        let remove = filesystem::RmdirRequest {
            path: STAGING.to_owned(),
            force: false,
        };
        self.stage.answer::<filesystem::rpc::Rmdir>(&remove);
    }

    /// As the driver reads them: decimal text.
    fn disks(&self) -> Vec<u32> {
        let request = iscsi::GetTargetDisksRequest {
            target_portal: portal(),
            iqn: GUARDED.to_owned(),
        };
        let answer = self.stage.answer::<iscsi::rpc::GetTargetDisks>(&request);
        let numbers = answer.disk_ids.iter().map(|number| number.parse());
        numbers.collect::<Result<_, _>>().expect("numbers")
    }

    /// The volume of the disk, which is partitioned when it has none.
    fn volume(&self, disk_number: u32) -> String {
        if let Some(found) = self.listed(disk_number) {
            return found;
        }
        let online = disk::SetDiskStateRequest {
            disk_number,
            is_online: true,
        };
        self.stage.answer::<disk::rpc::SetDiskState>(&online);
        let partition = disk::PartitionDiskRequest { disk_number };
        self.stage.answer::<disk::rpc::PartitionDisk>(&partition);
        self.listed(disk_number).expect("a volume")
    }

    fn listed(&self, disk_number: u32) -> Option<String> {
        let list = volume::ListVolumesOnDiskRequest {
            disk_number,
            partition_number: 0,
        };
        let listed = self.stage.answer::<volume::rpc::ListVolumesOnDisk>(&list);
        listed.volume_ids.into_iter().next()
    }

    fn format(&self, volume_id: &str) {
        let volume_id = volume_id.to_owned();
        let look = volume::IsVolumeFormattedRequest {
            volume_id: volume_id.clone(),
        };
        let is_formatted = self.stage.answer::<volume::rpc::IsVolumeFormatted>(&look);
        if !is_formatted.formatted {
            let format = volume::FormatVolumeRequest { volume_id };
            self.stage.answer::<volume::rpc::FormatVolume>(&format);
        }
    }

    fn mount(&self, volume_id: &str) {
        let path = STAGING.to_owned();
        let look = filesystem::PathExistsRequest { path: path.clone() };
        let exists = self.stage.answer::<filesystem::rpc::PathExists>(&look);
        if !exists.exists {
            let make = filesystem::MkdirRequest { path: path.clone() };
            self.stage.answer::<filesystem::rpc::Mkdir>(&make);
        }
        let mount = volume::MountVolumeRequest {
            volume_id: volume_id.to_owned(),
            target_path: path,
        };
        self.stage.answer::<volume::rpc::MountVolume>(&mount);
    }
}

fn portal() -> Option<iscsi::TargetPortal> {
    Some(iscsi::TargetPortal {
        target_address: ADDRESS.to_owned(),
        target_port: 3260,
    })
}
