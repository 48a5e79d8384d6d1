//! Whether the node answers at all.

use wincsi::WinPath;

use crate::doctor::notes::{Doubt, Notes, Provider};
use crate::doctor::subject::Subject;

/// Where kubelet's folder is no path of Windows, as on a simulated node.
const SOMEWHERE: &str = r"C:\var\lib\kubelet";

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

pub(in crate::doctor) fn hangs(subject: &Subject<'_>, notes: &mut Notes) {
    for provider in subject.hung() {
        let text = format!("{} does not answer in time", provider.name());
        notes.found(provider.name(), text, None);
    }
}
