//! Others' volumes, off limits for the drivers here: a mounted one in use by a pod, a blank disk and a mapped share.

use os::{Deadline, VolumeId};
use os_sim::{Arrives, Bus, Content, DiskSpec, IdentifierKind};

use super::fixture::{KUBELET, NodeFixture, path};
use super::servers;

const SHARE: &str = r"\\fileserver\other";
const USED: &str = "used-by-another";
const BLANK: &str = "blank";
const FILE: &str = "kept";

pub(crate) struct Bystanders {
    volume: VolumeId,
    mounts: Vec<String>,
}

impl Bystanders {
    pub(crate) fn on(fixture: &NodeFixture) -> Self {
        attach(fixture, USED, 9, Arrives::Online);
        attach(fixture, BLANK, 8, Arrives::ByPolicy);
        servers::map(&fixture.sim, SHARE);
        let volume = format(fixture, USED);
        let staging = staging();
        fixture.make_directories(&staging);
        let volumes = fixture.sim.os().volumes;
        volumes.set_mount_point(&path(&staging), volume).unwrap();
        fixture.pod_writes(&staging, FILE);
        let mounts = fixture.mounts_of(volume);
        assert_eq!(mounts.len(), 1, "{mounts:?}");
        Self { volume, mounts }
    }

    pub(crate) fn check(&self, fixture: &NodeFixture) {
        let kept = fixture.pod_reads(&staging(), FILE);
        assert_eq!(kept.as_deref(), Ok(FILE), "another volume's file");
        assert_eq!(
            fixture.mounts_of(self.volume),
            self.mounts,
            "another volume"
        );
        assert!(fixture.is_online(USED), "another volume's disk");
        let mut start = vec![0xff; 2 << 20];
        let hardware = fixture.sim.hardware();
        hardware.read_disk(BLANK, 0, &mut start).unwrap();
        assert!(start == vec![0; start.len()], "another disk is blank");
        let mapped = servers::mapped(&fixture.sim);
        assert!(mapped.iter().any(|share| share == SHARE), "{mapped:?}");
    }
}

fn staging() -> String {
    format!(r"{KUBELET}\plugins\kubernetes.io\csi\another\globalmount")
}

fn attach(fixture: &NodeFixture, name: &str, lun: u8, arrives: Arrives) {
    let spec = DiskSpec::on(Bus::Sas)
        .serial(name)
        .lun(lun)
        .identified(
            IdentifierKind::Vendor,
            &format!("Google  PersistentDisk  {name}"),
        )
        .arriving(arrives);
    let content = Content::blank(1 << 30);
    fixture
        .sim
        .hardware()
        .attach_disk(name, &spec, &content)
        .unwrap();
}

/// The volume on a new disk.
pub(crate) fn formatted(fixture: &NodeFixture, name: &str, lun: u8) -> VolumeId {
    attach(fixture, name, lun, Arrives::Online);
    format(fixture, name)
}

fn format(fixture: &NodeFixture, name: &str) -> VolumeId {
    let node = fixture.library();
    node.operations().disks().rescan(Deadline::NEVER).unwrap();
    let disk = fixture.disk(name).unwrap();
    node.operations()
        .disks()
        .partition(disk, Deadline::NEVER)
        .unwrap();
    let volume = node
        .operations()
        .volumes()
        .sole_on_disk(disk, Deadline::NEVER)
        .unwrap();
    node.operations()
        .volumes()
        .format(volume, Deadline::NEVER)
        .unwrap();
    volume
}
