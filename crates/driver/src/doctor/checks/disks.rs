//! The disks of LUNs, by the identifier that each had when it was staged. No list of disks is renewed: a disk that Windows
//! does not list, or that no longer says which it is, is not known to be sick.

use wincsi::disks::DiskIds;
use wincsi::{Feature, NodeApi};

use crate::doctor::notes::{Notes, Provider};
use crate::doctor::subject::Subject;
use crate::kinds::block::Disk;
use crate::kinds::iscsi::Target;
use crate::record::{Access, Record};

type Lun = Record<Disk<Target>>;

fn is_of(lun: &Lun, ids: &DiskIds) -> bool {
    lun.content.identity.as_ref() == Some(&ids.page83)
}

fn note(notes: &mut Notes, lun: &Lun, text: String) {
    let iqn = lun.content.source.iqn.to_string();
    notes.found(&iqn, text, [lun.volume.clone()]);
}

/// Of a LUN whose disk is online another one may stay offline: a second path to it.
pub(in crate::doctor) fn offline(subject: &Subject<'_>, notes: &mut Notes) {
    let staged = subject.staged_in_this_boot::<Disk<Target>>(notes);
    if staged.is_empty() {
        return;
    }
    let disks = subject.ask(Provider::Disks, |node, until| node.disks().ids(until));
    let Some(disks) = notes.seen(disks) else {
        return;
    };
    for lun in staged {
        let own = disks.iter().filter(|(_, ids)| is_of(&lun, ids));
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
            note(notes, &lun, text);
        }
    }
}

/// Of those that are online: an offline disk may be read-only until it is brought online.
pub(in crate::doctor) fn read_only(subject: &Subject<'_>, notes: &mut Notes) {
    let mut staged = subject.staged_in_this_boot::<Disk<Target>>(notes);
    staged.retain(|lun| lun.content.wanted.access == Access::ReadWrite);
    if staged.is_empty() {
        return;
    }
    let disks = subject.require(Feature::ReadOnlyDisks);
    let disks = disks.and_then(|()| {
        subject.ask(Provider::Disks, |node, until| {
            let (disks, mut read_only) = (node.disks(), Vec::new());
            for (disk, ids) in disks.ids(until)? {
                let is_staged = staged.iter().any(|lun| is_of(lun, &ids));
                if is_staged && disks.is_online(disk, until)? && disks.is_read_only(disk, until)? {
                    read_only.push((disk, ids));
                }
            }
            Ok(read_only)
        })
    });
    for (disk, ids) in notes.seen(disks).unwrap_or_default() {
        for lun in staged.iter().filter(|lun| is_of(lun, &ids)) {
            note(notes, lun, format!("disk {disk} is read-only"));
        }
    }
}
