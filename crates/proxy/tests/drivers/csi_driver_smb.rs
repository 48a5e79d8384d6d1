//! csi-driver-smb through csi-proxy. It counts a share's users itself, in files of its container, and these are lost
//! with it: then the operator makes them, as no volume without one is unstaged.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use os_sim::SanPolicy;

use super::calls::{Answer, Api, Force, Lifeline, OldVolume, Pipes};
use super::fixture::NodeFixture;
use super::lives::{Driver, Form, Paths, lives_of};
use super::servers;
use super::share_mounter::{Found, Mounter};

const NAME: &str = "csi-driver-smb";
/// The volume group is none of its own.
const FALLBACK: Api = Api::Fallback(OldVolume::V1Beta1);

/// The files under `c:\csi\smbmounts\fileserver\share` of the driver's container.
type Counts = Rc<RefCell<BTreeSet<&'static str>>>;

struct Smb<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
    remote: &'static str,
    volume: &'static str,
    counts: Counts,
}

impl<'a> Smb<'a> {
    fn start(fixture: &'a NodeFixture, api: Api, form: Form) -> Self {
        let smb = Self::without_counts(fixture, api, form);
        smb.make_count_if_linked();
        smb
    }

    fn without_counts(fixture: &'a NodeFixture, api: Api, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new(NAME, api, fixture),
            paths: Paths::new("smb.csi.k8s.io", "pvc-1", form),
            remote: r"\\fileserver\share\pvc-1",
            volume: "pvc-1",
            counts: Counts::default(),
        }
    }

    /// The same process with another volume of the same share.
    fn another(&self) -> Self {
        Self {
            pipes: Pipes::new(NAME, Api::V1, self.fixture),
            paths: Paths::new("smb.csi.k8s.io", "pvc-2", Form::Backslashes),
            remote: r"\\FileServer\share/pvc-2",
            volume: "pvc-2",
            counts: Rc::clone(&self.counts),
            ..*self
        }
    }

    fn make_count_if_linked(&self) {
        if self.fixture.read_link(&self.paths.staging).is_some() {
            self.counts.borrow_mut().insert(self.volume);
        }
    }

    fn mounter(&self) -> Mounter<'_> {
        Mounter {
            fixture: self.fixture,
            pipes: &self.pipes,
        }
    }

    /// `SMBMount`: the server makes the link.
    fn mount(&self) -> Answer<()> {
        let parent = self.paths.staging_parent();
        if !self.pipes.path_exists(parent)? {
            self.pipes.mkdir(parent)?;
        }
        let account = [servers::USER, servers::PASSWORD];
        self.pipes
            .new_smb_global_mapping(self.remote, &self.paths.staging, account)?;
        self.counts.borrow_mut().insert(self.volume);
        Ok(())
    }
}

impl Driver for Smb<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.pipes.lifeline
    }

    fn node_stage_volume(&self) -> Answer<()> {
        let mounter = self.mounter();
        if mounter.ensure_mount_point(&self.paths.staging)? == Found::Mounted {
            return Ok(());
        }
        mounter.clear(&self.paths.staging)?;
        self.mount()
    }

    fn node_publish_volume(&self) -> Answer<()> {
        self.mounter()
            .publish(&self.paths.staging, &self.paths.target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.pipes.rmdir(&self.paths.target, Force::Yes)
    }

    fn node_unstage_volume(&self) -> Answer<()> {
        if let Some(remote) = self.fixture.read_link(&self.paths.staging) {
            if !self.counts.borrow_mut().remove(self.volume) {
                return Err(self.pipes.failure("os.Remove", "File not found"));
            }
            if self.counts.borrow().is_empty() {
                self.pipes.remove_smb_global_mapping(&remote)?;
            }
        }
        self.pipes.rmdir(&self.paths.staging, Force::Yes)
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        fixture
            .node_folder("smb/fileserver/share")
            .join(self.volume)
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        assert_eq!(shares(fixture), 0, "the share is mapped no more");
    }
}

fn shares(fixture: &NodeFixture) -> usize {
    let mapped = servers::mapped(&fixture.sim);
    mapped
        .iter()
        .filter(|share| *share == r"\\fileserver\share")
        .count()
}

fn fixture() -> NodeFixture {
    NodeFixture::new(SanPolicy::OfflineShared)
}

lives_of!(v1, fixture(), |fixture, form| Smb::start(
    fixture,
    Api::V1,
    form
));
lives_of!(v1beta1, fixture(), |fixture, form| Smb::start(
    fixture, FALLBACK, form
));

#[test]
fn two_volumes_of_a_share_share_its_mapping() -> Answer<()> {
    let fixture = fixture();
    let one = Smb::start(&fixture, Api::V1, Form::Backslashes);
    let two = one.another();
    for driver in [&one, &two] {
        driver.node_stage_volume()?;
        driver.node_publish_volume()?;
        fixture.pod_writes(&driver.paths.target, driver.volume);
    }
    assert_eq!(shares(&fixture), 1);
    one.node_unpublish_volume()?;
    one.node_unstage_volume()?;
    assert_eq!(shares(&fixture), 1, "the other volume is in use");
    let read = fixture.pod_reads(&two.paths.target, "pvc-2");
    assert_eq!(read.as_deref(), Ok("pvc-2"));
    two.node_unpublish_volume()?;
    two.node_unstage_volume()?;
    two.check_unstaged(&fixture);
    Ok(())
}

/// Each volume stays staged and mapped until its count is there again.
#[test]
fn a_driver_that_lost_its_counts_unstages_no_volume() -> Answer<()> {
    let fixture = fixture();
    let before = Smb::start(&fixture, Api::V1, Form::Backslashes);
    before.node_stage_volume()?;
    let two = before.another();
    two.node_stage_volume()?;
    two.node_publish_volume()?;
    fixture.pod_writes(&two.paths.target, "kept");
    let one = Smb::without_counts(&fixture, Api::V1, Form::Backslashes);
    let two = one.another();
    for driver in [&one, &two] {
        driver.node_unstage_volume().unwrap_err();
        driver.node_stage_volume()?;
        driver.node_unstage_volume().unwrap_err();
    }
    assert_eq!(shares(&fixture), 1, "nobody was counted");
    let read = fixture.pod_reads(&two.paths.target, "kept");
    assert_eq!(read.as_deref(), Ok("kept"));
    two.node_unpublish_volume()?;
    for driver in [&one, &two] {
        driver.make_count_if_linked();
    }
    for driver in [&one, &two] {
        driver.node_unstage_volume()?;
    }
    two.check_unstaged(&fixture);
    Ok(())
}
