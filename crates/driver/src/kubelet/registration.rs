use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{PluginInfo, RegistrationStatus, RegistrationStatusResponse};

use super::Router;

/// What kubelet asks of a plugin whose socket it finds in its folder.
#[derive(Clone)]
pub struct Registration {
    name: Arc<str>,
    endpoint: Arc<str>,
    is_registered: Arc<AtomicBool>,
}

impl Registration {
    /// The registration of a driver of this name that kubelet is to call at this endpoint.
    #[must_use]
    pub fn new(name: &str, endpoint: &str) -> Self {
        Self {
            name: name.into(),
            endpoint: endpoint.into(),
            is_registered: Arc::default(),
        }
    }

    /// Whether kubelet has reported that it registered the driver. A dial that asks nothing is no registration.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.is_registered.load(Ordering::Acquire)
    }

    /// Answers its RPCs.
    pub fn register(&self, router: &mut Router) {
        let own = self.clone();
        router.on::<GetInfo>(move |_| Ok(own.info()));
        let own = self.clone();
        router.on::<NotifyRegistrationStatus>(move |status| {
            own.note(&status);
            Ok(RegistrationStatusResponse {})
        });
    }

    fn info(&self) -> PluginInfo {
        PluginInfo {
            r#type: String::from("CSIPlugin"),
            name: self.name.to_string(),
            endpoint: self.endpoint.to_string(),
            supported_versions: vec![String::from("1.0.0")],
        }
    }

    fn note(&self, status: &RegistrationStatus) {
        let name = &self.name;
        match status.plugin_registered {
            true => tracing::info!("kubelet registered {name}"),
            false => tracing::error!("kubelet did not register {name}: {}", status.error),
        }
        self.is_registered
            .store(status.plugin_registered, Ordering::Release);
    }
}
