use os_sim::SanPolicy;

use super::*;
use crate::calls::Lifeline;
use crate::lives::{Form, Paths, lives_of};
use crate::servers;

const REMOTE: &str = r"\\nas\share\pvc-1";
const SHARE: &str = r"\\nas\share";

struct Smb {
    calls: Calls,
    paths: Paths,
}

impl Smb {
    fn start(fixture: &NodeFixture, form: Form) -> Self {
        Self {
            calls: Calls::start(fixture),
            paths: Paths::new("org.democratic-csi.smb", "pvc-1", form),
        }
    }

    fn map(&self) -> Answer<()> {
        let account = [servers::NAS_USER, servers::PASSWORD];
        let pipes = &self.calls.pipes;
        let mapped = pipes.new_smb_global_mapping(REMOTE, &self.paths.staging, account);
        unless(mapped, "ResourceExists", ())
    }
}

impl Driver for Smb {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.calls.pipes.lifeline
    }

    /// The share is mapped each time, and the link made again.
    fn node_stage_volume(&self) -> Answer<()> {
        let staging = &self.paths.staging;
        if self.calls.path_exists(staging)? && !self.calls.is_symlink(staging)? {
            self.calls.rmdir(staging)?;
        }
        self.map()
    }

    fn node_publish_volume(&self) -> Answer<()> {
        self.calls.publish(&self.paths.staging, &self.paths.target)
    }

    fn node_unpublish_volume(&self) -> Answer<()> {
        self.calls.unpublish(&self.paths.target)
    }

    fn node_unstage_volume(&self) -> Answer<()> {
        let removed = self.calls.pipes.remove_smb_global_mapping(REMOTE);
        unless(removed, "No MSFT_SmbGlobalMapping objects found", ())?;
        self.calls.rmdir(&self.paths.staging)
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        fixture.node_folder(r"smb/nas/share/pvc-1")
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        let mapped = servers::mapped(&fixture.sim);
        assert!(!mapped.iter().any(|share| share == SHARE), "{mapped:?}");
    }
}

fn fixture() -> NodeFixture {
    NodeFixture::new(SanPolicy::OfflineShared)
}

lives_of!(v1, fixture(), |fixture, form| Smb::start(fixture, form));

/// It sends paths unchanged, and takes the text for "there is nothing".
#[test]
fn a_path_without_a_drive_is_taken_for_missing() -> Answer<()> {
    let fixture = fixture();
    let calls = Calls::start(&fixture);
    assert!(!calls.path_exists(r"var\lib\kubelet")?);
    assert!(!calls.is_symlink(r"var\lib\kubelet")?);
    Ok(())
}
