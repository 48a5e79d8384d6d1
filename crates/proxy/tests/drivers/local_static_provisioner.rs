//! The local static provisioner: no CSI driver. An administrator mounts volumes, or links to them, in a folder of their
//! own outside of the kubelet's; it reports each as a PersistentVolume, and wipes a released one by formatting it. The
//! kubelet brings volumes to pods without csi-proxy.

use os::VolumeId;

use super::*;
use crate::fixture::path;

/// The script plays no life of a volume.
const SCRIPT: Source = Source {
    file: "local_static_provisioner",
    text: include_str!("scripts/local_static_provisioner.txt"),
    tests: &["v1", "v1beta2"],
};

/// The administrator's folder, as the node has it.
const FOLDER: &str = r"C:\mnt\disks";

struct Provisioner<'a> {
    fixture: &'a NodeFixture,
    player: Player<'a>,
    /// The folder as it is configured: with a drive, or without.
    host_dir: &'static str,
}

/// A volume for its report.
#[derive(Debug, PartialEq, Eq)]
struct Local {
    host_path: String,
    bytes: u64,
}

impl<'a> Provisioner<'a> {
    fn start(fixture: &'a NodeFixture, mode: &str, host_dir: &'static str) -> Self {
        Self {
            fixture,
            player: Player::start(fixture, SCRIPT, mode, Form::Drive),
            host_dir,
        }
    }

    /// The entries of the folder mounted into its container, each with its result.
    fn discover(&self) -> Vec<Answer<Local>> {
        let tree = self.fixture.sim.files();
        let found = os::Files::list(tree, &path(FOLDER)).unwrap();
        let names = found.into_iter().map(|entry| entry.name.into_string());
        let mut names: Vec<_> = names.map(Result::unwrap).collect();
        names.sort();
        names.iter().map(|name| self.look_at(name)).collect()
    }

    fn look_at(&self, name: &str) -> Answer<Local> {
        let host_path = self.host_path(name);
        let seen = self.player.play("look_at", &[("path", &host_path)])?;
        let bytes = seen["total_bytes"].parse().unwrap();
        Ok(Local { host_path, bytes })
    }

    fn wipe(&self, name: &str) -> Answer<()> {
        let path = self.host_path(name);
        self.player.play("wipe", &[("path", &path)]).map(drop)
    }

    fn host_path(&self, name: &str) -> String {
        format!(r"{}\{name}", self.host_dir)
    }
}

/// Local volumes as an administrator leaves them.
fn fixture() -> (NodeFixture, [VolumeId; 2]) {
    let fixture = player::node(SCRIPT, "v1", "node");
    let volumes = [
        bystanders::formatted(&fixture, "local-a", 4),
        bystanders::formatted(&fixture, "local-b", 5),
    ];
    fixture.make_directories(FOLDER);
    mount(&fixture, &format!(r"{FOLDER}\mounted"), volumes[0]);
    mount(&fixture, r"C:\volumes\b", volumes[1]);
    link(&fixture, "to-folder", r"C:\volumes\b");
    link(&fixture, "to-volume", &volumes[1].to_string());
    (fixture, volumes)
}

fn mount(fixture: &NodeFixture, folder: &str, volume: VolumeId) {
    fixture.make_directories(folder);
    let volumes = fixture.sim.os().volumes;
    volumes.set_mount_point(&path(folder), volume).unwrap();
}

fn link(fixture: &NodeFixture, name: &str, target: &str) {
    let link = path(&format!(r"{FOLDER}\{name}"));
    let kind = os::LinkKind::Directory;
    os::Files::create_symlink(fixture.sim.files(), &link, target, kind).unwrap();
}

#[test]
fn local_volumes_are_found_without_a_flag_for_their_folder() {
    let (fixture, _) = fixture();
    for api in ["v1", "v1beta2"] {
        for host_dir in [FOLDER, r"\mnt\disks", "c:/mnt/disks"] {
            let provisioner = Provisioner::start(&fixture, api, host_dir);
            let found = provisioner.discover();
            let found: Vec<Local> = found.into_iter().collect::<Answer<_>>().unwrap();
            let paths: Vec<_> = found.iter().map(|local| &local.host_path).collect();
            let names = ["mounted", "to-folder", "to-volume"];
            let expected = names.map(|name| provisioner.host_path(name));
            assert_eq!(paths, expected.iter().collect::<Vec<_>>(), "{api:?}");
            let is_whole = |local: &Local| local.bytes > 900 << 20;
            assert!(found.iter().all(is_whole), "{found:?}");
        }
    }
    fixture.check_bystanders();
}

/// It is neither reported nor wiped.
#[test]
fn what_is_no_volume_is_not_reported() {
    let (fixture, volumes) = fixture();
    fixture.make_directories(&format!(r"{FOLDER}\plain"));
    fixture.pod_writes(FOLDER, "file");
    link(&fixture, "dangling", r"C:\volumes\none");
    link(&fixture, "to-plain", r"C:\Windows");
    link(&fixture, "to-share", r"\\fileserver\share");
    let gone = os::Volumes::delete_mount_point;
    gone(&*fixture.sim.os().volumes, &path(r"C:\volumes\b")).unwrap();
    let provisioner = Provisioner::start(&fixture, "v1", FOLDER);
    let found: Vec<_> = provisioner.discover().into_iter().flatten().collect();
    let paths: Vec<_> = found.iter().map(|local| local.host_path.as_str()).collect();
    assert_eq!(paths, [r"C:\mnt\disks\mounted", r"C:\mnt\disks\to-volume"]);
    fixture.sim.hardware().detach_disk("local-a").unwrap();
    assert!(provisioner.look_at("mounted").is_err(), "{:?}", volumes[0]);
    fixture.check_bystanders();
}

/// Otherwise it stays Released for ever, or its next tenant reads the last one's files.
#[test]
fn a_released_volume_is_wiped_and_found_again() {
    let (fixture, volumes) = fixture();
    for api in ["v1", "v1beta2"] {
        let provisioner = Provisioner::start(&fixture, api, r"\mnt\disks");
        for (name, volume) in [("mounted", volumes[0]), ("to-folder", volumes[1])] {
            let content = fixture.volume_folder(volume).join("of-the-last-tenant");
            std::fs::write(&content, "secret").unwrap();
            provisioner.wipe(name).unwrap();
            assert!(!content.exists(), "{api:?}, {name}");
            let found = provisioner.look_at(name).unwrap();
            assert!(found.bytes > 900 << 20, "{found:?}");
        }
    }
    fixture.check_bystanders();
}

/// A link in its folder to a driver's volume, staged for a pod.
#[test]
fn what_is_staged_for_a_pod_is_not_wiped() {
    let (fixture, _) = fixture();
    let staged = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\another\globalmount";
    assert!(fixture.is_there(staged), "a bystander is mounted there");
    link(&fixture, "to-staged", staged);
    let provisioner = Provisioner::start(&fixture, "v1", FOLDER);
    let refused = provisioner.wipe("to-staged").unwrap_err();
    assert!(refused.text.contains("-format-guard"), "{refused:?}");
    fixture.check_bystanders();
}
