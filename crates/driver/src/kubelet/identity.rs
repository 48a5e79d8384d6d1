use wire::csi::v1::identity::{GetPluginCapabilities, GetPluginInfo, Probe};
use wire::csi::v1::plugin_capability::{self, service, volume_expansion};
use wire::csi::v1::{
    GetPluginCapabilitiesResponse, GetPluginInfoResponse, PluginCapability, ProbeResponse,
};

use super::Router;

/// The Identity service.
pub struct Identity {
    pub name: String,
    /// Whether the driver has a controller.
    pub controlling: Controlling,
    /// Which nodes reach a volume.
    pub accessibility: Accessibility,
}

/// Whether the driver has a controller, somewhere: a plugin's capabilities are those of all its instances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Controlling {
    /// It has, in this process or another.
    Somewhere,
    /// It has none: something else makes the volumes.
    Nowhere,
}

/// Which nodes reach a volume.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Accessibility {
    /// All.
    Everywhere,
    /// Those with the volume's topology. A plugin announces it if its nodes report topology (CSI, `CreateVolume`).
    ByTopology,
}

impl Identity {
    /// Answers its RPCs.
    pub fn register(self, router: &mut Router) {
        let capabilities = capabilities(self.controlling, self.accessibility);
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
}

fn capabilities(
    controlling: Controlling,
    accessibility: Accessibility,
) -> GetPluginCapabilitiesResponse {
    let expansion = plugin_capability::VolumeExpansion {
        r#type: volume_expansion::Type::Online.into(),
    };
    let mut types = vec![plugin_capability::Type::VolumeExpansion(expansion)];
    if controlling == Controlling::Somewhere {
        types.push(service(service::Type::ControllerService));
    }
    if accessibility == Accessibility::ByTopology {
        types.push(service(service::Type::VolumeAccessibilityConstraints));
    }
    let capability = |one| PluginCapability { r#type: Some(one) };
    GetPluginCapabilitiesResponse {
        capabilities: types.into_iter().map(capability).collect(),
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
        let (somewhere, nowhere) = (Controlling::Somewhere, Controlling::Nowhere);
        let (some, all) = (Accessibility::ByTopology, Accessibility::Everywhere);
        let (of_controller, of_topology) = (
            Type::ControllerService,
            Type::VolumeAccessibilityConstraints,
        );
        for (controlling, accessibility, expected) in [
            (nowhere, all, &[][..]),
            (somewhere, all, &[of_controller]),
            (nowhere, some, &[of_topology]),
            (somewhere, some, &[of_controller, of_topology]),
        ] {
            let announced = capabilities(controlling, accessibility).capabilities;
            let services: Vec<_> = announced.into_iter().filter_map(service_of).collect();
            assert_eq!(services, expected, "{controlling:?} {accessibility:?}");
        }
    }

    fn service_of(capability: PluginCapability) -> Option<Type> {
        match capability.r#type? {
            plugin_capability::Type::Service(service) => Some(service.r#type()),
            plugin_capability::Type::VolumeExpansion(_) => None,
        }
    }
}
