//! Volumes as LUNs of the iSCSI server beside a node. Their ids and contexts are as democratic-csi's controllers write
//! them.

use std::collections::BTreeMap;
use std::fs;

use transport::{Code, Status};
use wincsi::sim::demo::{ISCSI_ADDRESS, ISCSI_SERVER};
use wincsi::sim::iscsi::{IscsiControl, Lun, ServerSpec, TargetSpec};
use wincsi::sim::{Bus, DiskSpec, HardwareError, IdentifierKind};
use wincsi_trial_driver::text_map;
use wire::csi::v1::{CreateVolumeRequest, Volume};

use super::service::{Wanted, failed, invalid, signed};
use super::volume::VolumeName;

/// The key in a class's parameters: of which driver of democratic-csi, as its configuration has it.
pub(crate) const DRIVER: &str = "driver";

/// A driver of democratic-csi.
struct Dialect {
    driver: &'static str,
    /// What its targets' names begin with.
    base: &'static str,
    targets: Targets,
}

#[derive(Clone, Copy)]
enum Targets {
    /// Each volume is LUN 0 of its own.
    OfVolumes,
    /// All volumes are LUNs of one, from 1 on, and share its session.
    Shared,
}

const DIALECTS: [Dialect; 3] = [
    Dialect {
        driver: "zfs-generic-iscsi",
        base: "iqn.2003-01.org.linux-iscsi.san.x8664:",
        targets: Targets::OfVolumes,
    },
    Dialect {
        driver: "freenas-api-iscsi",
        base: "iqn.2005-10.org.freenas.ctl:",
        targets: Targets::OfVolumes,
    },
    // Such servers have upper case in the names of their targets. democratic-csi makes a target for each volume here too.
    Dialect {
        driver: "synology-iscsi",
        base: "iqn.2000-01.com.synology:DiskStation.",
        targets: Targets::Shared,
    },
];

/// The LUNs of the server beside a node. Its calls are made one at a time.
#[derive(Clone)]
pub(crate) struct Luns(IscsiControl);

impl Luns {
    pub(crate) fn new(servers: IscsiControl) -> Self {
        Self(servers)
    }

    pub(crate) fn create(
        &self,
        request: &CreateVolumeRequest,
        wanted: &Wanted,
    ) -> Result<Volume, Status> {
        let name = &request.name;
        let driver = request.parameters.get(DRIVER);
        let mut dialects = DIALECTS.iter();
        let dialect = dialects.find(|one| driver.is_some_and(|driver| driver == one.driver));
        let dialect = dialect.ok_or_else(|| invalid("the driver is none of democratic-csi's"))?;
        match self
            .0
            .add_server(ISCSI_SERVER, &ServerSpec::at(ISCSI_ADDRESS))
        {
            Ok(()) | Err(HardwareError::Exists(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        let size = match self.length(name) {
            Some(size) => wanted.check(size)?,
            None => wanted.least,
        };
        self.grow(name, size)?;
        let (iqn, first) = match dialect.targets {
            Targets::OfVolumes => (format!("{}{name}", dialect.base), 0),
            Targets::Shared => (format!("{}volumes", dialect.base), 1),
        };
        let lun = self.map(
            name,
            first,
            asking(TargetSpec::named(&iqn), &request.secrets),
        )?;
        Ok(Volume {
            capacity_bytes: signed(size)?,
            volume_id: name.clone(),
            volume_context: context(dialect, &iqn, lun),
            ..Default::default()
        })
    }

    /// Whether the volume was a LUN.
    pub(crate) fn delete(&self, id: &str) -> Result<bool, Status> {
        if self.length(id).is_none() {
            return Ok(false);
        }
        let unmapped = self.0.change_server(ISCSI_SERVER, |server| {
            for target in &mut server.target {
                target.lun.retain(|lun| lun.image != id);
            }
            server.target.retain(|target| !target.lun.is_empty());
        });
        unmapped.map_err(failed)?;
        fs::remove_file(self.0.image(id))
            .map_err(|error| Status::new(Code::Unavailable, format!("the image: {error}")))?;
        Ok(true)
    }

    /// A volume's size, if it is a LUN.
    pub(crate) fn length(&self, id: &str) -> Option<u64> {
        let server = self.0.server(ISCSI_SERVER).ok()?;
        let mut luns = server.target.iter().flat_map(|target| &target.lun);
        let lun = luns.find(|lun| lun.image == id)?;
        let image = fs::metadata(self.0.image(&lun.image));
        image.map(|image| image.len()).ok()
    }

    pub(crate) fn grow(&self, id: &str, size: u64) -> Result<(), Status> {
        self.0.set_image(id, size).map_err(failed)
    }

    /// Makes an image a LUN of this target, or of the one of its name that is there, and returns the LUN's number.
    fn map(&self, image: &str, first: u8, new: TargetSpec) -> Result<u8, Status> {
        let mut number = None;
        let mapped = self.0.change_server(ISCSI_SERVER, |server| {
            let mut targets = server.target.iter();
            let there = targets.position(|target| target.name == new.name);
            let mut target = there.map_or(new, |at| server.target.remove(at));
            number = number_at(&mut target, image, first);
            server.target.push(target);
        });
        mapped.map_err(failed)?;
        number.ok_or_else(|| Status::new(Code::ResourceExhausted, "the target is full"))
    }
}

/// The LUN's number at a target; the first free one, if it is not there yet.
fn number_at(target: &mut TargetSpec, image: &str, first: u8) -> Option<u8> {
    let there = target.lun.iter().find(|lun| lun.image == image);
    if let Some(lun) = there {
        return Some(lun.number);
    }
    let is_free = |number: &u8| target.lun.iter().all(|lun| lun.number != *number);
    let number = (first..=u8::MAX).find(is_free)?;
    let page83 = VolumeName::of_wish(image);
    target.lun.push(Lun {
        number,
        image: image.to_owned(),
        disk: DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, page83.as_str()),
    });
    Some(number)
}

/// With CHAP, if the Secret has a login as nodes are to have it.
fn asking(target: TargetSpec, secrets: &BTreeMap<String, String>) -> TargetSpec {
    let value = |key: &str| secrets.get(&format!("node-db.node.session.auth.{key}"));
    match value("username").zip(value("password")) {
        Some((user, password)) => target.asking(user, password),
        None => target,
    }
}

fn context(dialect: &Dialect, iqn: &str, lun: u8) -> BTreeMap<String, String> {
    text_map([
        ("node_attach_driver", "iscsi"),
        ("portal", &format!("{ISCSI_ADDRESS}:3260")),
        ("portals", ""),
        ("interface", ""),
        ("iqn", iqn),
        ("lun", &lun.to_string()),
        ("provisioner_driver", dialect.driver),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luns(node: &tempfile::TempDir) -> Luns {
        Luns::new(IscsiControl::at(node.path()))
    }

    /// What its context has beside what all have, and its size.
    fn create(luns: &Luns, name: &str, driver: &str) -> (Vec<String>, i64) {
        let mut request = CreateVolumeRequest::default();
        name.clone_into(&mut request.name);
        request.parameters = text_map([(DRIVER, driver)]);
        let volume = luns.create(&request, &Wanted::of(None).unwrap()).unwrap();
        let values: Vec<_> = volume.volume_context.into_values().collect();
        let [interface, iqn, lun, attach, portal, portals, own] = values.try_into().unwrap();
        let all = [interface, attach, portal, portals, own];
        assert_eq!(all, ["", "iscsi", "10.0.0.9:3260", "", driver]);
        (vec![iqn, lun], volume.capacity_bytes)
    }

    #[test]
    fn contexts_are_as_each_driver_writes_them() {
        let node = tempfile::tempdir().unwrap();
        let luns = luns(&node);
        let shared = "iqn.2000-01.com.synology:DiskStation.volumes";
        for (name, driver, iqn, lun) in [
            (
                "a",
                "zfs-generic-iscsi",
                "iqn.2003-01.org.linux-iscsi.san.x8664:a",
                "0",
            ),
            (
                "b",
                "freenas-api-iscsi",
                "iqn.2005-10.org.freenas.ctl:b",
                "0",
            ),
            ("c", "synology-iscsi", shared, "1"),
            ("d", "synology-iscsi", shared, "2"),
            ("c", "synology-iscsi", shared, "1"),
        ] {
            assert_eq!(create(&luns, name, driver).0, [iqn, lun], "{name}");
        }
    }

    #[test]
    fn a_lun_grows_and_leaves_its_neighbours() {
        let node = tempfile::tempdir().unwrap();
        let luns = luns(&node);
        for name in ["a", "b"] {
            create(&luns, name, "synology-iscsi");
        }
        luns.grow("a", 2 << 30).unwrap();
        assert_eq!(create(&luns, "a", "synology-iscsi").1, 2 << 30);
        assert_eq!(
            (luns.length("a"), luns.length("b")),
            (Some(2 << 30), Some(1 << 30))
        );
        assert!(luns.delete("a").unwrap() && !luns.delete("a").unwrap());
        assert_eq!((luns.length("a"), luns.length("b")), (None, Some(1 << 30)));
        assert!(!luns.0.image("a").exists());
        // Its number is free, and the blank image is another one.
        assert_eq!(create(&luns, "c", "synology-iscsi").0[1], "1");
        assert!(luns.delete("b").unwrap() && luns.delete("c").unwrap());
        assert_eq!(luns.0.server(ISCSI_SERVER).unwrap().target, []);
    }
}
