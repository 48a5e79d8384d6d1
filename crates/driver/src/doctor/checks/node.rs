//! Whether the node answers at all.

use wincsi::system::{ServiceState, StartType};
use wincsi::{Feature, NodeApi, WinPath};

use super::driver::service;
use crate::doctor::notes::{Doubt, Notes, Provider};
use crate::doctor::subject::Subject;

/// Where kubelet's folder is no path of Windows, as on a simulated node.
const SOMEWHERE: &str = r"C:\var\lib\kubelet";

/// Csi-proxy's service, where it is one.
const CSI_PROXY: &str = "csiproxy";

/// Asks what `/readyz` asks.
pub(in crate::doctor) fn fails(subject: &Subject<'_>, notes: &mut Notes) {
    let somewhere = || SOMEWHERE.parse::<WinPath>().ok();
    let Some(folder) = subject.site.kubelet.clone().or_else(somewhere) else {
        return;
    };
    let answer = subject.ask(Provider::Files, |node, until| {
        node.filesystem().path_exists(&folder, until)
    });
    match answer {
        Ok(_) => {}
        Err(Doubt::Failed(why)) => notes.found("", why, None),
        Err(doubt) => notes.unseen(doubt),
    }
}

/// Of a host that works through the pipes: whether csi-proxy comes back after a restart, and is the only one.
pub(in crate::doctor) fn csi_proxy(subject: &Subject<'_>, notes: &mut Notes) {
    let is_proxy = |node: &&dyn NodeApi| !node.supports(Feature::SystemIdentity);
    if !subject.node.as_ref().is_ok_and(is_proxy) {
        return;
    }
    // An old csi-proxy may not know services.
    let Ok(Some(service)) = service(subject, CSI_PROXY) else {
        return;
    };
    let text = match (service.state, service.start_type) {
        (ServiceState::Stopped, StartType::Automatic) => {
            "does not run, and another csi-proxy serves the pipes"
        }
        (ServiceState::Running, StartType::Manual | StartType::Disabled) => {
            "does not start with the node"
        }
        _ => return,
    };
    notes.found("", format!("the service {CSI_PROXY} {text}"), None);
}

pub(in crate::doctor) fn hangs(subject: &Subject<'_>, notes: &mut Notes) {
    for provider in subject.hung() {
        let text = format!("{} does not answer in time", provider.name());
        notes.found(provider.name(), text, None);
    }
}
