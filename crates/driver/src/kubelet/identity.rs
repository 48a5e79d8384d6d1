use wire::csi::v1::identity::{GetPluginCapabilities, GetPluginInfo, Probe};
use wire::csi::v1::plugin_capability::{self, service, volume_expansion};
use wire::csi::v1::{
    GetPluginCapabilitiesResponse, GetPluginInfoResponse, PluginCapability, ProbeResponse,
};

use super::Router;

pub struct Identity {
    pub name: String,
    /// Whether the driver has a controller, in this process or another: a plugin's capabilities are those of all its instances.
    pub has_controller: bool,
    /// Whether volumes are reached from the nodes with their topology alone. A plugin announces it if its nodes report
    /// topology (CSI, `CreateVolume`).
    pub has_topology: bool,
}

impl Identity {
    pub fn register(self, router: &mut Router) {
        let capabilities = self.capabilities();
        router.on::<GetPluginInfo>(move |_| Ok(self.info()));
        router.on::<GetPluginCapabilities>(move |_| Ok(capabilities.clone()));
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

    fn capabilities(&self) -> GetPluginCapabilitiesResponse {
        let expansion = plugin_capability::VolumeExpansion {
            r#type: volume_expansion::Type::Online.into(),
        };
        let mut types = vec![plugin_capability::Type::VolumeExpansion(expansion)];
        if self.has_controller {
            types.push(service(service::Type::ControllerService));
        }
        if self.has_topology {
            types.push(service(service::Type::VolumeAccessibilityConstraints));
        }
        let capability = |one| PluginCapability { r#type: Some(one) };
        GetPluginCapabilitiesResponse {
            capabilities: types.into_iter().map(capability).collect(),
        }
    }
}

fn service(one: service::Type) -> plugin_capability::Type {
    plugin_capability::Type::Service(plugin_capability::Service { r#type: one.into() })
}

#[cfg(test)]
mod tests {
    use super::service::Type;
    use super::*;

    #[test]
    fn a_controller_and_topology_are_announced_if_there_are() {
        let (of_controller, of_topology) = (
            Type::ControllerService,
            Type::VolumeAccessibilityConstraints,
        );
        for (has_controller, has_topology, expected) in [
            (false, false, &[][..]),
            (true, false, &[of_controller]),
            (false, true, &[of_topology]),
            (true, true, &[of_controller, of_topology]),
        ] {
            let identity = Identity {
                name: String::new(),
                has_controller,
                has_topology,
            };
            let announced = identity.capabilities().capabilities;
            let services: Vec<_> = announced.into_iter().filter_map(service_of).collect();
            assert_eq!(services, expected, "{has_controller} {has_topology}");
        }
    }

    fn service_of(capability: PluginCapability) -> Option<Type> {
        match capability.r#type? {
            plugin_capability::Type::Service(service) => Some(service.r#type()),
            plugin_capability::Type::VolumeExpansion(_) => None,
        }
    }
}
