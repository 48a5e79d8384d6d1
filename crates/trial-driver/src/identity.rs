//! The Identity service.

use transport::Status;
use wire::csi::v1::identity::{GetPluginCapabilities, GetPluginInfo, Probe};
use wire::csi::v1::plugin_capability::{self, service, volume_expansion};
use wire::csi::v1::{
    GetPluginCapabilitiesResponse, GetPluginInfoResponse, PluginCapability, ProbeResponse,
    plugin_capability as capability,
};

use crate::router::Router;

/// The driver's name in Kubernetes.
pub(crate) const NAME: &str = "trial.wincsi.example.com";

pub(crate) struct Identity;

impl Identity {
    pub(crate) fn register(&self, router: &mut Router) {
        router.on::<GetPluginInfo>(|_| Ok(info()));
        router.on::<GetPluginCapabilities>(|_| Ok(capabilities()));
        router.on::<Probe>(|_| Ok::<_, Status>(ProbeResponse { ready: Some(true) }));
    }
}

fn info() -> GetPluginInfoResponse {
    GetPluginInfoResponse {
        name: NAME.to_owned(),
        vendor_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    }
}

fn capabilities() -> GetPluginCapabilitiesResponse {
    let controller = capability::Service {
        r#type: service::Type::ControllerService.into(),
    };
    let expansion = capability::VolumeExpansion {
        r#type: volume_expansion::Type::Online.into(),
    };
    let types = [
        plugin_capability::Type::Service(controller),
        plugin_capability::Type::VolumeExpansion(expansion),
    ];
    let capability = |one| PluginCapability { r#type: Some(one) };
    GetPluginCapabilitiesResponse {
        capabilities: types.map(capability).into(),
    }
}
