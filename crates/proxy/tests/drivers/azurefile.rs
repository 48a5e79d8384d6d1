//! azurefile through csi-proxy: as csi-driver-smb, but it never removes a mapping.

use std::path::PathBuf;

use os_sim::SanPolicy;

use super::calls::{Answer, Api, Force, Lifeline, OldVolume, Pipes};
use super::fixture::NodeFixture;
use super::lives::{Driver, Form, Paths, lives_of};
use super::servers;
use super::share_mounter::{Found, Mounter};

/// The volume group is none of its own.
const FALLBACK: Api = Api::Fallback(OldVolume::V1Beta1);

struct AzureFile<'a> {
    fixture: &'a NodeFixture,
    pipes: Pipes,
    paths: Paths,
}

impl<'a> AzureFile<'a> {
    fn start(fixture: &'a NodeFixture, api: Api, form: Form) -> Self {
        Self {
            fixture,
            pipes: Pipes::new("azurefile", api, fixture),
            paths: Paths::new("file.csi.azure.com", "pvc-1", form),
        }
    }

    fn mounter(&self) -> Mounter<'_> {
        Mounter {
            fixture: self.fixture,
            pipes: &self.pipes,
        }
    }

    fn mount(&self) -> Answer<()> {
        let parent = self.paths.staging_parent();
        if !self.pipes.path_exists(parent)? {
            self.pipes.mkdir(parent)?;
        }
        let remote = format!(r"\\{}\share", servers::ACCOUNT_HOST);
        let account = [servers::ACCOUNT_USER, servers::ACCOUNT_KEY];
        self.pipes
            .new_smb_global_mapping(&remote, &self.paths.staging, account)
    }
}

impl Driver for AzureFile<'_> {
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
        self.pipes.rmdir(&self.paths.staging, Force::Yes)
    }

    fn content(&self, fixture: &NodeFixture) -> PathBuf {
        fixture
            .node_folder("smb")
            .join(servers::ACCOUNT)
            .join("share")
    }

    fn check_unstaged(&self, fixture: &NodeFixture) {
        let share = format!(r"\\{}\share", servers::ACCOUNT_HOST);
        let mapped = servers::mapped(&fixture.sim);
        let count = mapped.iter().filter(|mapped| **mapped == share).count();
        assert_eq!(count, 1, "the mapping stays, once: {mapped:?}");
    }
}

fn fixture() -> NodeFixture {
    NodeFixture::new(SanPolicy::OnlineAll)
}

lives_of!(v1, fixture(), |fixture, form| AzureFile::start(
    fixture,
    Api::V1,
    form
));
lives_of!(v1beta1, fixture(), |fixture, form| AzureFile::start(
    fixture, FALLBACK, form
));
