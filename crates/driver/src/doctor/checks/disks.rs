//! The disks of volumes. No list of disks is renewed.

use wincsi::NodeApi;
use wincsi::disks::DiskIds;

use crate::doctor::notes::{Notes, Provider};
use crate::doctor::subject::Subject;
use crate::kinds::block::Disk;
use crate::kinds::iscsi::Target;

/// Of a LUN whose disk is online another one may stay offline: a second path to it. A disk that Windows does not list, or
/// that no longer says which it is, is not known to be offline.
pub(in crate::doctor) fn offline(subject: &Subject<'_>, notes: &mut Notes) {
    let staged = subject.staged_in_this_boot::<Disk<Target>>(notes);
    if staged.is_empty() {
        return;
    }
    let disks = subject.ask(Provider::Disks, |node, until| node.disks().ids(until));
    let Some(disks) = notes.seen(disks) else {
        return;
    };
    for record in staged {
        let is_of = |ids: &DiskIds| record.content.identity.as_ref() == Some(&ids.page83);
        let own = disks.iter().filter(|(_, ids)| is_of(ids));
        let own = own.map(|(disk, _)| {
            let is_online = |node: &dyn NodeApi, until| node.disks().is_online(*disk, until);
            (*disk, notes.seen(subject.ask(Provider::Disks, is_online)))
        });
        let own = Vec::from_iter(own);
        if !own.iter().all(|(_, is_online)| *is_online == Some(false)) {
            continue;
        }
        for (disk, _) in own {
            let reason = subject.ask(Provider::Disks, |node, until| {
                node.disks().offline_reason(disk, until)
            });
            let text = match notes.seen(reason).flatten() {
                Some(reason) => {
                    format!("disk {disk} is offline: {reason}, as Windows knew it last")
                }
                None => format!("disk {disk} is offline"),
            };
            let iqn = record.content.source.iqn.to_string();
            notes.found(&iqn, text, [record.volume.clone()]);
        }
    }
}
