//! A simulated node in memory with the driver's Node service, served on a socket.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use driver::kinds::share::Hashes;
use driver::kinds::{self, Row};
use driver::kubelet::{Router, serve_node};
use driver::life::{Kubelet, Volumes};
use driver::machine::Simulated;
use driver::record::Store;
use os_meter::{Meter, Tally};
use tempfile::TempDir;
use transport::{Endpoint, Server, ServerOptions};
use wincsi::sim::iscsi::IscsiControl;
use wincsi::sim::smb::{ServerSpec, Share, SmbControl};
use wincsi::sim::{
    Arrives, Bus, ClockMode, Content, DiskSpec, IdentifierKind, Inventory, Latency, NodeSpec,
    SimNode,
};
use wincsi::{Node, Options};
use wincsi_trial_driver::{PASSWORD, USER, Volume};
use wire::csi::v1::NodeGetInfoResponse;

/// How large a disk is, in bytes.
pub(crate) const LENGTH: u64 = 1 << 30;

const FILES: &str = "files";

/// A node and its driver. Only the records and the files of volumes lie on this machine's disk.
pub(crate) struct TestNode {
    pub(crate) sim: SimNode,
    pub(crate) node: Arc<Node>,
    home: TempDir,
}

impl TestNode {
    /// A node of so many formatted disks.
    pub(crate) fn new(latency: Latency, inventory: Inventory) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let spec = NodeSpec {
            latency,
            ..NodeSpec::named("bench")
        };
        let files = home.path().join(FILES);
        fs::create_dir(&files)?;
        let sim = SimNode::in_memory_with_files(&spec, inventory, ClockMode::Real, &files)?;
        let node = Arc::new(Node::new(sim.os(), Options::default()));
        Ok(Self { sim, node, home })
    }

    /// The same node, and a count of its operations.
    pub(crate) fn counted(self) -> (Self, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let os = os_meter::metered(self.sim.os(), &meter);
        let node = Arc::new(Node::new(os, Options::default()));
        (Self { node, ..self }, tally)
    }

    /// Plugs in a blank disk of this page 0x83 identifier.
    pub(crate) fn plug_in(&self, page83: &str) -> anyhow::Result<()> {
        let disk = DiskSpec::on(Bus::Sas)
            .serial(&page83[16..])
            .identified(IdentifierKind::Naa, page83)
            .arriving(Arrives::ByPolicy);
        let blank = Content::blank(LENGTH);
        self.sim.hardware().attach_disk(page83, &disk, &blank)?;
        Ok(())
    }

    /// Sets up a server with so many shares of each of these names.
    pub(crate) fn add_server(
        &self,
        name: &str,
        shares: &[&str],
        folders: u32,
    ) -> anyhow::Result<()> {
        let mut server = ServerSpec::sharing("", USER, PASSWORD);
        server.share = shares.iter().map(|share| named(share)).collect();
        self.smb().add_server(name, &server)?;
        for share in shares {
            let share = self.smb().share_folder(name, share);
            for index in 0..folders {
                fs::create_dir_all(share.join(Volume::folder_name(index)))?;
            }
        }
        Ok(())
    }

    pub(crate) fn smb(&self) -> SmbControl {
        SmbControl::at(self.files())
    }

    pub(crate) fn arrays(&self) -> IscsiControl {
        IscsiControl::at(self.files())
    }

    fn files(&self) -> PathBuf {
        self.home.path().join(FILES)
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.home.path().join("records")
    }

    /// Serves the driver's Node service.
    pub(crate) fn serve(&self, volumes: Arc<Volumes>) -> anyhow::Result<(Server, Endpoint)> {
        let mut router = Router::default();
        serve_node(&volumes, NodeGetInfoResponse::default(), &mut router);
        let endpoint = Endpoint::socket(self.home.path().join("csi").join("csi.sock"));
        let services = vec![(endpoint.clone(), Arc::new(router) as _)];
        Ok((Server::bind(services, ServerOptions::default())?, endpoint))
    }

    /// The driver at its start: with the existing records.
    pub(crate) fn driver(&self) -> anyhow::Result<Arc<Volumes>> {
        Ok(Arc::new(self.volumes(Hashes::SLOW)?))
    }

    /// The driver, for a node with thousands of shares mapped before any measurement.
    pub(crate) fn driver_hashing_quickly(&self) -> anyhow::Result<Arc<Volumes>> {
        Ok(Arc::new(self.volumes(Hashes::QUICK)?))
    }

    fn volumes(&self, hashes: Hashes) -> anyhow::Result<Volumes> {
        let mut settings = kinds::Settings::default();
        settings.shares.hashes = hashes;
        let kinds = kinds::table(settings);
        let store = Store::open(&self.records(), &Row::forms(&kinds))?;
        let machine = Arc::new(Simulated(self.sim.files().clone()));
        let kubelet = Kubelet {
            driver_name: driver::NAME.to_owned(),
            folder: Some(r"C:\var\lib\kubelet".parse()?),
        };
        let node = self.node.clone();
        Ok(Volumes::new(node, store, machine, kubelet, kinds))
    }
}

fn named(share: &str) -> Share {
    Share {
        name: share.to_owned(),
        users: Vec::new(),
        size: LENGTH,
        quota: None,
    }
}
