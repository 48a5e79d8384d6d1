//! Kubelet's registration.

use std::sync::Arc;

use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{PluginInfo, RegistrationStatusResponse};

use crate::identity::NAME;
use crate::router::Router;

/// Answers kubelet on the registration endpoint.
pub(crate) struct Registration {
    /// Where kubelet is to dial CSI.
    endpoint: Arc<str>,
}

impl Registration {
    pub(crate) fn of(endpoint: String) -> Self {
        let endpoint = endpoint.into();
        Self { endpoint }
    }

    pub(crate) fn router(self) -> Router {
        let mut router = Router::default();
        router.on::<GetInfo>(move |_| Ok(self.info()));
        router.on::<NotifyRegistrationStatus>(|status| {
            match status.plugin_registered {
                true => println!("kubelet has registered {NAME}"),
                false => println!("kubelet did not register {NAME}: {}", status.error),
            }
            Ok(RegistrationStatusResponse {})
        });
        router
    }

    fn info(&self) -> PluginInfo {
        PluginInfo {
            r#type: "CSIPlugin".to_owned(),
            name: NAME.to_owned(),
            endpoint: self.endpoint.to_string(),
            supported_versions: vec!["1.0.0".to_owned()],
        }
    }
}
