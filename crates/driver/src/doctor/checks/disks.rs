//! The disks of volumes. No list of disks is renewed: a disk that Windows does not list, or that no longer says which it is,
//! is not known to be sick.

use wincsi::disks::DiskIds;
use wincsi::volumes::write_refusal_of;
use wincsi::{Condition, Feature, NodeApi, ResultExt as _};

use crate::doctor::notes::{Notes, Provider};
use crate::doctor::subject::Subject;
use crate::kinds::block::{Disk, Spec};
use crate::kinds::disk::Attached;
use crate::kinds::iscsi::Target;
use crate::record::{Access, Record};

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
        let is_of = |ids: &DiskIds| lun.content.identity.as_ref() == Some(&ids.page83);
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
            let iqn = lun.content.source.iqn.to_string();
            notes.found(&iqn, text, [lun.volume.clone()]);
        }
    }
}

/// By the volume that is mounted, so of disks that are online: an offline disk may be read-only until it is brought online.
pub(in crate::doctor) fn read_only(subject: &Subject<'_>, notes: &mut Notes) {
    for lun in subject.staged_in_this_boot::<Disk<Target>>(notes) {
        let iqn = lun.content.source.iqn.to_string();
        look_for_writers(subject, notes, &iqn, &lun);
    }
    for disk in subject.staged_in_this_boot::<Disk<Attached>>(notes) {
        look_for_writers(subject, notes, &disk.volume.to_string(), &disk);
    }
}

fn look_for_writers<S: Spec>(
    subject: &Subject<'_>,
    notes: &mut Notes,
    object: &str,
    record: &Record<Disk<S>>,
) {
    let (Access::ReadWrite, Some(mounted)) = (record.content.wanted.access, record.content.mounted)
    else {
        return;
    };
    let refusal = subject.require(Feature::ReadOnlyDisks).and_then(|()| {
        // The device is asked, and one that is dead may be silent.
        subject.ask_of(
            format!("the disk of volume {}", record.volume),
            |node, until| {
                let refusal = write_refusal_of(mounted, node, until);
                Ok(refusal.none_if(Condition::NotFound)?.flatten())
            },
        )
    });
    if let Some(refusal) = notes.seen(refusal).flatten() {
        notes.found(object, refusal.to_string(), [record.volume.clone()]);
    }
}
