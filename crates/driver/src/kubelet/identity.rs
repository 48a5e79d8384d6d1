use wire::csi::v1::identity::{GetPluginCapabilities, GetPluginInfo, Probe};
use wire::csi::v1::plugin_capability::{self, service, volume_expansion};
use wire::csi::v1::{
    GetPluginCapabilitiesResponse, GetPluginInfoResponse, PluginCapability, ProbeResponse,
};

use super::Router;

/// The Identity service.
pub struct Identity {
    /// The driver's name.
    pub name: String,
    /// Whether the driver has a controller.
    pub controlling: Controlling,
}

/// Whether the driver has a controller, somewhere: a plugin's capabilities are those of all its instances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Controlling {
    /// It has, in this process or another.
    Somewhere,
    /// It has none: something else makes the volumes.
    Nowhere,
}

impl Identity {
    /// Answers its RPCs.
    pub fn register(self, router: &mut Router) {
        let controlling = self.controlling;
        router.on::<GetPluginInfo>(move |_| Ok(self.info()));
        router.on::<GetPluginCapabilities>(move |_| Ok(capabilities(controlling)));
        // Whether storage answers is not asked: no restart of the driver mends a dead server.
        router.on::<Probe>(|_| Ok(ProbeResponse { ready: Some(true) }));
    }

    fn info(&self) -> GetPluginInfoResponse {
        GetPluginInfoResponse {
            name: self.name.clone(),
            vendor_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        }
    }
}

fn capabilities(controlling: Controlling) -> GetPluginCapabilitiesResponse {
    let expansion = plugin_capability::VolumeExpansion {
        r#type: volume_expansion::Type::Online.into(),
    };
    let mut types = vec![plugin_capability::Type::VolumeExpansion(expansion)];
    if controlling == Controlling::Somewhere {
        let controller = plugin_capability::Service {
            r#type: service::Type::ControllerService.into(),
        };
        types.push(plugin_capability::Type::Service(controller));
    }
    let capability = |one| PluginCapability { r#type: Some(one) };
    GetPluginCapabilitiesResponse {
        capabilities: types.into_iter().map(capability).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_reported_only_where_the_driver_has_one() {
        let reported = |controlling| {
            let response = capabilities(controlling);
            let is_service = |one: &PluginCapability| {
                matches!(one.r#type, Some(plugin_capability::Type::Service(_)))
            };
            response.capabilities.iter().any(is_service)
        };
        assert!(reported(Controlling::Somewhere));
        assert!(!reported(Controlling::Nowhere));
    }
}
