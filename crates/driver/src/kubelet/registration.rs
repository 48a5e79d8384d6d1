use std::sync::Arc;
use std::time::{Duration, Instant};

use program::metrics::Exposition;
use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{PluginInfo, RegistrationStatus, RegistrationStatusResponse};

use super::Router;
use crate::unpoisoned::Unpoisoned;

/// The time, which tests set.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// What kubelet asks of a plugin whose socket it finds in its folder, and what it has asked so far.
pub struct Registration {
    info: PluginInfo,
    clock: Clock,
    progress: Unpoisoned<Progress>,
}

struct Progress {
    is_registered: bool,
    /// When the socket was made, or was found to be gone.
    offered: Instant,
    last_call: Option<Instant>,
    renewals: u64,
}

impl Registration {
    /// The registration of a driver of this name that kubelet is to call at this endpoint, by this clock.
    pub fn new(clock: Clock, name: &str, endpoint: &str) -> Self {
        let progress = Progress {
            is_registered: false,
            offered: clock(),
            last_call: None,
            renewals: 0,
        };
        Self {
            info: PluginInfo {
                r#type: String::from("CSIPlugin"),
                name: name.to_owned(),
                endpoint: endpoint.to_owned(),
                supported_versions: vec![String::from("1.0.0")],
            },
            clock,
            progress: Unpoisoned::new(progress),
        }
    }

    /// Whether kubelet has reported that it registered the driver. On Windows kubelet dials each socket and hangs up, to
    /// see whether it is one: such a dial is no registration.
    pub fn is_registered(&self) -> bool {
        self.progress.lock().is_registered
    }

    /// How long kubelet has called nothing while the driver waits for it; `None` when it is registered.
    pub fn silence(&self) -> Option<Duration> {
        let progress = self.progress.lock();
        let since = progress.last_call.max(Some(progress.offered))?;
        (!progress.is_registered).then(|| self.now().saturating_duration_since(since))
    }

    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    pub fn note_renewal(&self) {
        self.progress.lock().renewals += 1;
    }

    /// Notes that the socket is gone, so that kubelet has to register the driver again.
    pub fn note_loss(&self) {
        let now = self.now();
        let mut progress = self.progress.lock();
        progress.is_registered = false;
        progress.offered = now;
    }

    pub fn register(self: &Arc<Self>, router: &mut Router) {
        let own = Arc::clone(self);
        router.on::<GetInfo>(move |_| {
            own.progress.lock().last_call = Some(own.now());
            Ok(own.info.clone())
        });
        let own = Arc::clone(self);
        router.on::<NotifyRegistrationStatus>(move |status| {
            own.note(&status);
            Ok(RegistrationStatusResponse {})
        });
    }

    /// Adds the state to a page of metrics.
    pub fn render(&self, page: &mut Exposition) {
        let (is_registered, renewals, age) = {
            let progress = self.progress.lock();
            let since = |call| self.now().saturating_duration_since(call);
            let age = progress.last_call.map(since);
            (progress.is_registered, progress.renewals, age)
        };
        let help = "Whether kubelet has registered the driver: 1 or 0.";
        page.gauge("wincsi_registered", help, u8::from(is_registered));
        let help = "How often the registration socket was made anew: kubelet did not call, or its file was gone.";
        page.counter("wincsi_registration_renewals_total", help, renewals);
        if let Some(age) = age {
            let name = "wincsi_registration_last_call_age_seconds";
            let help = "Time since kubelet's last call of the registration.";
            page.gauge(name, help, age.as_secs_f64());
        }
    }

    fn note(&self, status: &RegistrationStatus) {
        let name = &self.info.name;
        match status.plugin_registered {
            true => tracing::info!("kubelet registered {name}"),
            false => tracing::error!("kubelet did not register {name}: {}", status.error),
        }
        let now = self.now();
        let mut progress = self.progress.lock();
        progress.is_registered = status.plugin_registered;
        progress.last_call = Some(now);
    }
}
