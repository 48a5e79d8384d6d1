//! The Controller service without a socket, and requests to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use program::flags::Invocation;
use program::metrics::Exposition;
use prost::Message as _;
use transport::{Call, Code, Service as _, Status};
use wincsi_controller::flags;
use wincsi_controller::service::Controller;
use wire::Rpc;
use wire::csi::v1::controller::{CreateVolume, DeleteVolume, ValidateVolumeCapabilities};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::volume_content_source::{SnapshotSource, Type, VolumeSource};
use wire::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, CreateVolumeRequest, DeleteVolumeRequest,
    ValidateVolumeCapabilitiesRequest, Volume, VolumeCapability, VolumeContentSource,
};

use crate::server::{PASSWORD, Samba, user};

pub(crate) const UUID: &str = "0f61d5ad-6a4e-4f5d-9d6d-1b3c0c1e0f2a";

/// What is changed in a request that is right.
pub(crate) type Change = fn(&mut CreateVolumeRequest);

/// Parameters, or a Secret.
pub(crate) type Pairs = BTreeMap<String, String>;

/// A port where nobody listens: what reaches it is Unavailable.
pub(crate) const NOWHERE: u16 = 1;

pub(crate) struct Fixture {
    controller: Arc<Controller>,
    router: driver::kubelet::Router,
}

/// A server, and a controller with no flags.
pub(crate) fn start() -> (Samba, Fixture) {
    (Samba::start(), Fixture::with(&[]))
}

impl Fixture {
    pub(crate) fn with(flags: &[&str]) -> Self {
        let flags: Vec<_> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let Invocation::Serve(config) = flags::parse(&flags, |_| None).unwrap() else {
            panic!("not served");
        };
        let controller = Arc::new(Controller::new(&config));
        let mut router = driver::kubelet::Router::default();
        controller.register(&mut router);
        Self { controller, router }
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, Status> {
        self.call_within::<R>(request, Duration::from_secs(60))
    }

    pub(crate) fn call_within<R: Rpc>(
        &self,
        request: &R::Request,
        left: Duration,
    ) -> Result<R::Response, Status> {
        let message = request.encode_to_vec().into();
        let call = Call::in_process(R::PATH, message, Instant::now() + left).unwrap();
        let answer = self.router.call(&call)?;
        Ok(R::Response::decode(answer.as_slice()).unwrap())
    }

    pub(crate) fn create(&self, request: &CreateVolumeRequest) -> Result<Volume, Status> {
        let response = self.call::<CreateVolume>(request)?;
        Ok(response.volume.unwrap())
    }

    pub(crate) fn try_delete(&self, id: &str, secrets: &Pairs) -> Result<(), Status> {
        let request = DeleteVolumeRequest {
            volume_id: id.to_owned(),
            secrets: secrets.clone(),
        };
        self.call::<DeleteVolume>(&request).map(drop)
    }

    pub(crate) fn delete(&self, id: &str, secrets: &Pairs) -> Code {
        let deleted = self.try_delete(id, secrets);
        deleted.map_or_else(|status| status.code, |()| Code::Ok)
    }

    /// Whether the capability is confirmed.
    pub(crate) fn validate(
        &self,
        id: &str,
        secrets: Pairs,
        capability: VolumeCapability,
    ) -> Result<bool, Code> {
        let request = look(id, secrets, capability);
        let answer = self.call::<ValidateVolumeCapabilities>(&request);
        let confirmed = answer.map(|it| it.confirmed.is_some());
        confirmed.map_err(|it| it.code)
    }

    pub(crate) fn metrics(&self) -> String {
        let mut page = Exposition::default();
        self.controller.render(&mut page);
        page.into_text()
    }
}

/// A request for a folder of a share at this port.
pub(crate) fn request(name: &str, port: u16) -> CreateVolumeRequest {
    let mut wanted = CreateVolumeRequest::default();
    wanted.name = name.to_owned();
    wanted.capacity_range = range(1 << 30, 0);
    wanted.volume_capabilities = vec![capability(&format!("port={port}"))];
    wanted.parameters = map(&[("source", "//127.0.0.1/encrypted")]);
    wanted.secrets = secrets(port);
    wanted
}

/// Asks for a copy of a volume, by its handle.
pub(crate) fn clone_of(request: &mut CreateVolumeRequest, id: &str) {
    let volume_id = id.to_owned();
    request.volume_content_source = Some(VolumeContentSource {
        r#type: Some(Type::Volume(VolumeSource { volume_id })),
    });
}

/// Asks for what a snapshot has.
pub(crate) fn restore_of(request: &mut CreateVolumeRequest, id: &str) {
    let snapshot_id = id.to_owned();
    request.volume_content_source = Some(VolumeContentSource {
        r#type: Some(Type::Snapshot(SnapshotSource { snapshot_id })),
    });
}

pub(crate) fn range(required_bytes: i64, limit_bytes: i64) -> Option<CapacityRange> {
    Some(CapacityRange {
        required_bytes,
        limit_bytes,
    })
}

pub(crate) fn look(
    id: &str,
    secrets: Pairs,
    capability: VolumeCapability,
) -> ValidateVolumeCapabilitiesRequest {
    let mut request = ValidateVolumeCapabilitiesRequest::default();
    request.volume_id = id.to_owned();
    request.volume_capabilities = vec![capability];
    request.secrets = secrets;
    request
}

pub(crate) fn growth(
    id: &str,
    range: Option<CapacityRange>,
    secrets: Pairs,
) -> ControllerExpandVolumeRequest {
    let mut request = ControllerExpandVolumeRequest::default();
    request.volume_id = id.to_owned();
    request.capacity_range = range;
    request.secrets = secrets;
    request
}

pub(crate) fn set(request: &mut CreateVolumeRequest, key: &str, value: &str) {
    request.parameters.insert(key.to_owned(), value.to_owned());
}

pub(crate) fn folder(request: &mut CreateVolumeRequest, path: &str) {
    set(request, "subDir", path);
}

/// A share of the server, or a folder of it.
pub(crate) fn source(request: &mut CreateVolumeRequest, path: &str) {
    set(request, "source", &format!("//127.0.0.1/{path}"));
}

pub(crate) fn secret(request: &mut CreateVolumeRequest, key: &str, value: &str) {
    request.secrets.insert(key.to_owned(), value.to_owned());
}

pub(crate) fn secrets(port: u16) -> Pairs {
    let (user, options) = (user(), format!("port={port}"));
    map(&[
        ("username", &user),
        ("password", PASSWORD),
        ("mountOptions", &options),
    ])
}

pub(crate) fn capability(options: &str) -> VolumeCapability {
    let mount = MountVolume {
        mount_flags: vec![options.to_owned()],
        ..Default::default()
    };
    VolumeCapability {
        access_type: Some(AccessType::Mount(mount)),
        access_mode: Some(AccessMode {
            mode: Mode::MultiNodeMultiWriter.into(),
        }),
    }
}

pub(crate) fn map(pairs: &[(&str, &str)]) -> Pairs {
    let pairs = pairs.iter();
    let owned = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}
