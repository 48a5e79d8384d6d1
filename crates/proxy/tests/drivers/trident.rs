//! NetApp Trident on Windows: SMB shares, through csi-proxy. It stages a link to a share, publishes a link to this
//! link, remembers its volumes in files on the node, and queries the volume of a share to measure it.

use std::path::PathBuf;

use os::Files;
use os_sim::SanPolicy;

use super::calls::{Answer, Api, Force, Lifeline, Pipes};
use super::fixture::{NodeFixture, path};
use super::lives::{Driver, Form, Paths, lives_of};
use super::servers;

const NAME: &str = "trident";
const REMOTE: &str = "//fileserver/share";
const TRACKING: &str = r"C:\var\lib\trident\tracking";

struct Trident<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
}

impl<'a> Trident<'a> {
    fn start(fixture: &'a NodeFixture, form: Form) -> Self {
        fixture.make_directories(TRACKING);
        Self {
            fixture,
            pipes: Pipes::new(NAME, Api::V1, fixture),
            paths: Paths::new("csi.trident.netapp.io", "pvc-1", form),
        }
    }

    /// `MountSMBPath`. An entry at the path goes, even a link from an earlier stage.
    fn mount_share(&self) -> Answer<()> {
        let staging = &self.paths.staging;
        if self.pipes.path_exists(staging)? {
            self.pipes.rmdir(staging, Force::Yes)?;
        }
        let parent = self.paths.staging_parent();
        if !self.pipes.path_exists(parent)? {
            self.pipes.mkdir(parent)?;
        }
        let account = [servers::USER, servers::PASSWORD];
        self.pipes
            .new_smb_global_mapping(&remote(), staging, account)
    }

    /// `IsLikelyNotMountPoint`, turned round.
    fn is_link(&self, path: &str) -> Answer<bool> {
        Ok(self.pipes.path_exists(path)? && self.pipes.is_symlink(path)?)
    }

    fn tracking() -> os::WinPath {
        path(&format!(r"{TRACKING}\pvc-1.json"))
    }
}

impl Driver for Trident<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        self.mount_share()?;
        let written = self
            .fixture
            .sim
            .files()
            .write_file(&Self::tracking(), b"{}");
        written.unwrap();
        Ok(())
    }

    fn node_publish_volume(&self) -> Answer<()> {
        let (staging, target) = (&self.paths.staging, &self.paths.target);
        if self.is_link(target)? {
            return Ok(());
        }
        self.fixture.make_directories(target);
        self.pipes.rmdir(target, Force::Yes)?;
        self.pipes.create_symlink(staging, target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.pipes.rmdir(&self.paths.target, Force::Yes)
    }

    /// A forgotten volume counts as unstaged.
    fn node_unstage_volume(&self) -> Answer<()> {
        let tree = self.fixture.sim.files();
        if tree.entry(&Self::tracking()).is_err() {
            return Ok(());
        }
        self.pipes.rmdir(&self.paths.staging, Force::Yes)?;
        self.pipes.remove_smb_global_mapping(&remote())?;
        tree.remove_file(&Self::tracking()).unwrap();
        Ok(())
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        fixture.node_folder("smb/fileserver/share")
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        let mapped = servers::mapped(&fixture.sim);
        assert!(!mapped.contains(&remote()), "{mapped:?}");
    }
}

fn remote() -> String {
    REMOTE.replace('/', r"\")
}

fn fixture() -> NodeFixture {
    NodeFixture::new(SanPolicy::OfflineShared)
}

lives_of!(v1, fixture(), |fixture, form| Trident::start(fixture, form));

/// NodeGetVolumeStats. The driver logs the failure and reports that nothing is used.
#[test]
fn a_share_has_no_volume_and_is_not_asked_for_one() -> Answer<()> {
    let fixture = fixture();
    let driver = Trident::start(&fixture, Form::Backslashes);
    driver.node_stage_volume()?;
    driver.node_publish_volume()?;
    let _ = fixture.sim.take_trace();
    let looked = driver.pipes.volume_of_target(&driver.paths.target);
    let failure = looked.expect_err("a share is no volume");
    assert!(
        failure.text.contains("on no drive or volume of this node"),
        "{failure:?}"
    );
    let known = node::driver_texts::ALL.iter().map(|known| known.words);
    let read = known.into_iter().find(|known| failure.text.contains(known));
    assert_eq!(read, None, "{failure:?}");
    let seen = fixture.sim.take_trace();
    let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
    assert_eq!(packets.count(), 0, "{seen:?}");
    Ok(())
}
