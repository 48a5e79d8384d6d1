//! A driver that reads requests for shares, and what it is asked for.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use program::metrics::Exposition;
use prost::Message as _;
use transport::{Call, Code, Service as _, Status};
use wincsi::sim::smb::ServerSpec;
use wincsi::sim::testing::{LONG, TestNode};
use wincsi::sim::{ClockMode, NodeSpec, SimNode};
use wincsi::smb::{Credentials, MapRequest, Privacy, RemotePath};
use wincsi::{Node, NodeApi, Options, WinPath};
use wincsi_driver::kinds::share::attributes::ShareRules;
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::{Router, serve_node};
use wincsi_driver::life::{Kubelet, Volumes};
use wincsi_driver::machine::Machine;
use wincsi_driver::record::Store;
use wire::Rpc;
use wire::csi::v1::node::{NodePublishVolume, NodeStageVolume, NodeUnpublishVolume};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{
    NodeGetInfoResponse, NodePublishVolumeRequest, NodeStageVolumeRequest,
    NodeUnpublishVolumeRequest, VolumeCapability,
};
use zeroize::Zeroizing;

pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const STAGING: &str =
    r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\1\globalmount";
pub(crate) const TARGET: &str = r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~csi\pv\mount";
pub(crate) const ADDRESS: [u8; 4] = [10, 0, 0, 7];

/// What is reported to people, and the file that kubelet writes beside a staging path.
#[derive(Default)]
pub(crate) struct Events {
    pub(crate) reported: Mutex<Vec<String>>,
    pub(crate) vol_data: Mutex<Option<String>>,
}

impl Machine for Events {
    fn read(&self, _file: &WinPath) -> io::Result<String> {
        let text = self.vol_data.lock().unwrap().clone();
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn report(&self, event: &str) {
        self.reported.lock().unwrap().push(event.to_owned());
    }
}

pub(crate) struct Fixture {
    pub(crate) router: Router,
    pub(crate) events: Arc<Events>,
    pub(crate) node: Arc<Node>,
    volumes: Arc<Volumes>,
    _served: Option<Box<dyn Any>>,
    _sim: TestNode,
}

impl Fixture {
    /// A driver that reads requests by these rules, beside the servers `files` and 10.0.0.7.
    pub(crate) fn by(rules: ShareRules) -> Self {
        Self::on(rules, |_, node| (Arc::clone(node) as _, None))
    }

    /// The same by another host than the node itself, with what serves it.
    pub(crate) fn on(
        rules: ShareRules,
        host: impl FnOnce(&SimNode, &Arc<Node>) -> (Arc<dyn NodeApi>, Option<Box<dyn Any>>),
    ) -> Self {
        let sim = TestNode::by(tempfile::tempdir().unwrap(), |folder| {
            SimNode::create(folder, &NodeSpec::named("n"), ClockMode::Real)
        });
        let server = ServerSpec::sharing("data", r"AZURE\pods", PASSWORD);
        for name in ["files", "10.0.0.7"] {
            sim.servers().add_server(name, &server).unwrap();
        }
        // What a volume itself asks for is to be seen.
        let mut options = Options::default();
        options.privacy = Privacy::Unasked;
        let node = Arc::new(Node::new(sim.os(), options));
        let events = Arc::<Events>::default();
        let kubelet = Kubelet {
            driver_name: String::from("wincsi.io"),
            folder: r"C:\var\lib\kubelet".parse().ok(),
        };
        let mut settings = kinds::Settings::default();
        settings.shares.rules = rules;
        let kinds = kinds::table(settings);
        let store = Store::open(&sim.home().join("records"), &Row::forms(&kinds)).unwrap();
        let machine = Arc::clone(&events) as Arc<dyn Machine>;
        let (host, served) = host(&sim, &node);
        let volumes = Arc::new(Volumes::new(host, store, machine, kubelet, kinds));
        let mut router = Router::default();
        serve_node(&volumes, NodeGetInfoResponse::default(), &mut router);
        Self {
            router,
            events,
            node,
            volumes,
            _served: served,
            _sim: sim,
        }
    }

    pub(crate) fn lenient() -> Self {
        Self::by(ShareRules::default())
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, Status> {
        let deadline = Instant::now() + LONG;
        let message = request.encode_to_vec().into();
        let call = Call::in_process(R::PATH, message, deadline).unwrap();
        let answer = self.router.call(&call)?;
        Ok(R::Response::decode(answer.as_slice()).unwrap())
    }

    pub(crate) fn stage(&self, volume: &Volume) -> Result<(), Status> {
        let staged = self.call::<NodeStageVolume>(&NodeStageVolumeRequest {
            volume_id: volume.handle.to_owned(),
            staging_target_path: STAGING.to_owned(),
            volume_capability: Some(volume.capability()),
            secrets: owned(&volume.secrets),
            volume_context: owned(&volume.context),
            publish_context: Default::default(),
        });
        staged.map(drop)
    }

    pub(crate) fn publish(&self, volume: &Volume) -> Result<(), Status> {
        let published = self.call::<NodePublishVolume>(&NodePublishVolumeRequest {
            volume_id: volume.handle.to_owned(),
            staging_target_path: STAGING.to_owned(),
            target_path: TARGET.to_owned(),
            volume_capability: Some(volume.capability()),
            readonly: volume.readonly,
            secrets: owned(&volume.secrets),
            volume_context: owned(&volume.context),
            publish_context: Default::default(),
        });
        published.map(drop)
    }

    pub(crate) fn unpublish(&self) {
        let request = NodeUnpublishVolumeRequest {
            volume_id: String::from("pv"),
            target_path: TARGET.to_owned(),
        };
        self.call::<NodeUnpublishVolume>(&request).unwrap();
    }

    /// csi-driver-smb has staged a share, when it had this driver's name.
    pub(crate) fn stage_by_csi_driver_smb(&self, share: &str) {
        let soon = self.node.deadline(LONG);
        let remote = RemotePath::parse(share).unwrap();
        let password = Zeroizing::new(PASSWORD.to_owned());
        let pods = Credentials::new(r"AZURE\pods", password).unwrap();
        let request = MapRequest::of(&remote).with_credentials(Some(&pods));
        self.node.smb().map(&request, soon).unwrap();
        let (files, staging) = (self.node.filesystem(), STAGING.parse::<WinPath>().unwrap());
        files
            .make_directory(&staging.parent().unwrap(), soon)
            .unwrap();
        files.link_directory(remote.path(), &staging, soon).unwrap();
        self.write_vol_data();
    }

    /// Kubelet's file beside the staging path.
    pub(crate) fn write_vol_data(&self) {
        let vol_data = r#"{"driverName": "wincsi.io", "volumeHandle": "pv"}"#;
        *self.events.vol_data.lock().unwrap() = Some(vol_data.to_owned());
    }

    /// Somebody unmaps a share.
    pub(crate) fn unmap(&self, share: &str) {
        let deadline = self.node.deadline(LONG);
        let share = RemotePath::parse(share).unwrap();
        self.node.smb().unmap(&share, deadline).unwrap();
    }

    pub(crate) fn refusal(&self, volume: &Volume) -> String {
        let refused = self.stage(volume).unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        refused.to_string()
    }

    /// The mappings, and whether they are encrypted.
    pub(crate) fn mappings(&self) -> Vec<(String, Option<bool>)> {
        let deadline = self.node.deadline(LONG);
        let mappings = self.node.smb().mappings(deadline).unwrap();
        let mappings = mappings.into_iter();
        mappings
            .map(|it| (it.remote.to_lowercase(), it.privacy))
            .collect()
    }

    pub(crate) fn metrics(&self) -> String {
        let mut page = Exposition::default();
        self.volumes.render(&mut page);
        page.into_text()
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.reported.lock().unwrap().clone()
    }
}

#[derive(Clone)]
pub(crate) struct Volume {
    pub(crate) handle: &'static str,
    pub(crate) context: Vec<(&'static str, &'static str)>,
    pub(crate) secrets: Vec<(&'static str, &'static str)>,
    pub(crate) flags: Vec<&'static str>,
    pub(crate) mode: Mode,
    pub(crate) readonly: bool,
}

impl Volume {
    pub(crate) fn of(source: &'static str) -> Self {
        Self {
            handle: "pv",
            context: vec![("source", source)],
            secrets: vec![("username", "pods"), ("password", PASSWORD)],
            flags: Vec::new(),
            mode: Mode::MultiNodeMultiWriter,
            readonly: false,
        }
    }

    pub(crate) fn inline(source: &'static str) -> Self {
        let mut volume = Self::of(source);
        volume
            .context
            .push(("csi.storage.k8s.io/ephemeral", "true"));
        volume
    }

    pub(crate) fn with(mut self, flags: &[&'static str]) -> Self {
        self.flags = flags.to_vec();
        self
    }

    pub(crate) fn capability(&self) -> VolumeCapability {
        let mount = MountVolume {
            mount_flags: self.flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Default::default()
        };
        VolumeCapability {
            access_type: Some(AccessType::Mount(mount)),
            access_mode: Some(AccessMode {
                mode: self.mode.into(),
            }),
        }
    }
}

pub(crate) fn owned<T: FromIterator<(String, String)>>(pairs: &[(&str, &str)]) -> T {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}
