//! Servers of shares and their mappings. Only the port is dialled: reading a share could log on.

use std::collections::{BTreeMap, BTreeSet};

use program::hidden;
use wincsi::iscsi::Portal;
use wincsi::smb::{MappingStatus, RemotePath};

use crate::doctor::notes::{Doubt, Notes};
use crate::doctor::subject::{NoConnection, Subject};
use crate::kinds::share::{Mappings, Share};
use crate::record::{Record, VolumeHandle};

const PORT: u16 = 445;

/// As many mappings of others as are a leak: nodes had 701 when Windows refused more
/// (<https://github.com/kubernetes-csi/csi-driver-smb/issues/1039>).
const MANY: usize = 100;

pub(in crate::doctor) fn server_away(subject: &Subject<'_>, notes: &mut Notes) {
    let mut servers = BTreeMap::<(String, String), BTreeSet<VolumeHandle>>::new();
    let mut ports = BTreeMap::new();
    for record in subject.records_of::<Share>() {
        let share = &record.content;
        let port = share.options.tcp_port.map_or(PORT, u16::from);
        match Portal::parse(&host_of(&share.remote), port.into()) {
            Ok(portal) => {
                let key = (share.server.clone(), portal.to_string());
                servers.entry(key).or_default().insert(record.volume);
                ports.insert(portal.to_string(), portal);
            }
            Err(error) => notes.unseen(Doubt::Lacking(error.to_string())),
        }
    }
    if ports.is_empty() {
        return;
    }
    let Some(answers) = notes.seen(subject.dial(ports.into_values().collect())) else {
        return;
    };
    for ((server, at), volumes) in servers {
        match answers.get(&at) {
            Some(Ok(Some(NoConnection { why, is_late: true }))) => {
                let text = format!("server {server} does not answer: {at}: {why}");
                notes.found_late(&server, text, volumes);
            }
            Some(Ok(Some(NoConnection { why, .. }))) => {
                let text = format!("server {server} is away: {at}: {why}");
                notes.found(&server, text, volumes);
            }
            Some(Err(doubt)) => notes.unseen(doubt.clone()),
            _ => {}
        }
    }
}

/// How a server is dialled: a name of Windows's domain of IPv6 addresses as its address.
fn host_of(remote: &RemotePath) -> String {
    let address = remote.ipv6_server();
    address.map_or_else(|| remote.server(), |address| address.to_string())
}

pub(in crate::doctor) fn not_mapped(subject: &Subject<'_>, notes: &mut Notes) {
    let staged = subject.staged_in_this_boot(notes);
    for_each(subject, notes, staged, |notes, mappings, record| {
        let remote = &record.content.remote;
        if !mappings.reach(remote.path()) {
            let text = format!("{} is not mapped", remote.share());
            notes.found(&record.content.server, text, [record.volume.clone()]);
        }
    });
}

pub(in crate::doctor) fn mapping_not_ok(subject: &Subject<'_>, notes: &mut Notes) {
    let staged = subject.staged().collect();
    for_each(subject, notes, staged, |notes, mappings, record| {
        let remote = &record.content.remote;
        match mappings.status(remote.path()) {
            None | Some(MappingStatus::Ok) => {}
            Some(status) => {
                let text = format!("Windows has {} as {status:?}", remote.share());
                notes.found(&record.content.server, text, [record.volume.clone()]);
            }
        }
    });
}

/// Without a drive letter, which a person gives.
pub(in crate::doctor) fn unused_mappings(subject: &Subject<'_>, notes: &mut Notes) {
    let Some(shares) = notes.seen(subject.all_of::<Share>()) else {
        return;
    };
    let Some(mappings) = notes.seen(subject.mappings()) else {
        return;
    };
    let paths = shares
        .iter()
        .map(|record| record.content.remote.path().clone());
    let mut unused = mappings.beside(&Vec::from_iter(paths));
    unused.retain(|mapping| mapping.local.is_none());
    if unused.len() >= MANY {
        let named = unused.iter().take(3).map(|mapping| {
            // Others may write secrets there.
            hidden::hide(&mapping.remote);
            mapping.remote.as_str()
        });
        let (count, named) = (unused.len(), Vec::from_iter(named).join(", "));
        let text = format!("{count} mappings are of no volume of this driver, as {named}");
        notes.found("", text, None);
    }
}

fn for_each(
    subject: &Subject<'_>,
    notes: &mut Notes,
    staged: Vec<Record<Share>>,
    look: impl Fn(&mut Notes, &Mappings, &Record<Share>),
) {
    if staged.is_empty() {
        return;
    }
    if let Some(mappings) = notes.seen(subject.mappings()) {
        for record in staged {
            look(notes, mappings, &record);
        }
    }
}
