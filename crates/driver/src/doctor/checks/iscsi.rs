//! The initiator, portals and sessions of staged LUNs. No portal is asked for its targets, and nothing is logged in to.

use std::collections::{BTreeMap, BTreeSet};

use wincsi::iscsi::{Portal, SessionInfo, TargetName};
use wincsi::system::ServiceState;
use wincsi::{Feature, NodeApi};

use super::driver::service;
use crate::doctor::notes::{Doubt, Notes, Provider};
use crate::doctor::subject::{NoConnection, Subject};
use crate::kinds::block::Disk;
use crate::kinds::iscsi::{SERVICE, Target};
use crate::record::{Record, VolumeHandle};

/// A target with staged LUNs.
#[derive(Default)]
struct Used {
    portals: BTreeMap<String, Portal>,
    volumes: BTreeSet<VolumeHandle>,
}

fn targets(staged: impl IntoIterator<Item = Record<Disk<Target>>>) -> BTreeMap<String, Used> {
    let mut targets = BTreeMap::<String, Used>::new();
    for record in staged {
        let target = record.content.source;
        let used = targets.entry(target.iqn.to_string()).or_default();
        used.volumes.insert(record.volume);
        let portals = target.portals.into_iter();
        used.portals
            .extend(portals.map(|one| (one.to_string(), one)));
    }
    targets
}

pub(in crate::doctor) fn stopped(subject: &Subject<'_>, notes: &mut Notes) {
    let targets = targets(subject.staged());
    if targets.is_empty() {
        return;
    }
    if let Some(service) = notes.seen(service(subject, SERVICE)).flatten()
        && service.state != ServiceState::Running
    {
        let text = format!("{SERVICE} does not run: {:?}", service.state);
        let volumes = targets.into_values().flat_map(|used| used.volumes);
        notes.found(SERVICE, text, volumes);
    }
}

pub(in crate::doctor) fn target_away(subject: &Subject<'_>, notes: &mut Notes) {
    for (iqn, used, dead) in dead_portals(subject, notes) {
        if dead.len() == used.portals.len() {
            let is_late = dead.iter().any(|(_, is_late)| *is_late);
            let dead = Vec::from_iter(dead.into_iter().map(|(portal, _)| portal)).join(", ");
            let text = format!("no portal of {iqn} answers: {dead}");
            match is_late {
                true => notes.found_late(&iqn, text, used.volumes),
                false => notes.found(&iqn, text, used.volumes),
            }
        }
    }
}

pub(in crate::doctor) fn portal_away(subject: &Subject<'_>, notes: &mut Notes) {
    for (iqn, used, dead) in dead_portals(subject, notes) {
        if dead.len() < used.portals.len() {
            for (portal, _) in dead {
                let text = format!("a portal of {iqn} does not answer: {portal}");
                notes.found(&iqn, text, used.volumes.iter().cloned());
            }
        }
    }
}

/// Portals and why they take no connection; and whether each may only be slow.
type Dead = Vec<(String, bool)>;

/// Targets with those of their portals that take no connection, and why.
fn dead_portals(subject: &Subject<'_>, notes: &mut Notes) -> Vec<(String, Used, Dead)> {
    let targets = targets(subject.staged());
    if targets.is_empty() {
        return Vec::new();
    }
    let Some(answers) = notes.seen(subject.dial_portals(|| {
        let all = targets.values().flat_map(|used| used.portals.clone());
        BTreeMap::from_iter(all).into_values().collect()
    })) else {
        return Vec::new();
    };
    let with_dead = targets.into_iter().map(|(iqn, used)| {
        let mut dead = Dead::new();
        for portal in used.portals.keys() {
            match answers.get(portal) {
                Some(Ok(Some(NoConnection { why, is_late }))) => {
                    dead.push((format!("{portal} ({why})"), *is_late));
                }
                Some(Err(doubt)) => notes.unseen(doubt.clone()),
                _ => {}
            }
        }
        (iqn, used, dead)
    });
    with_dead.collect()
}

pub(in crate::doctor) fn session_away(subject: &Subject<'_>, notes: &mut Notes) {
    let targets = targets(subject.staged_in_this_boot(notes));
    if targets.is_empty() {
        return;
    }
    let Some(sessions) = notes.seen(subject.sessions()) else {
        return;
    };
    for (iqn, used) in targets {
        let mut of_target = sessions
            .iter()
            .filter(|one| one.target.eq_ignore_ascii_case(&iqn));
        // One that Windows reports nothing of is not known to be away.
        if !of_target.any(|session| session.is_connected != Some(false)) {
            let text = format!("the session of {iqn} is not connected");
            notes.found(&iqn, text, used.volumes);
        }
    }
}

/// Of a target that no record has, whatever its state, and whose disks are offline. A login that comes back after a
/// restart is a person's.
pub(in crate::doctor) fn session_unused(subject: &Subject<'_>, notes: &mut Notes) {
    let Some(targets) = notes.seen(subject.all_of().map(targets)) else {
        return;
    };
    // Where nobody uses iSCSI, its provider is not asked.
    let initiator = subject.require(Feature::SessionList);
    let initiator = initiator.and_then(|()| service(subject, SERVICE));
    let initiator = notes.seen(initiator).flatten();
    if !initiator.is_some_and(|service| service.state == ServiceState::Running) {
        return;
    }
    let Some(sessions) = notes.seen(subject.sessions()) else {
        return;
    };
    let is_used = |target: &str| targets.keys().any(|one| one.eq_ignore_ascii_case(target));
    for SessionInfo {
        id,
        target,
        is_persistent,
        ..
    } in sessions
    {
        if *is_persistent == Some(false)
            && !is_used(target)
            && notes.seen(may_be_used(subject, target)) == Some(false)
        {
            let text =
                format!("session {id} of {target} is of no volume, and its disks are offline");
            notes.found(target, text, None);
            notes.fill("ID", id.clone());
        }
    }
}

/// Whether others may use a target's disk, as far as that is known.
fn may_be_used(subject: &Subject<'_>, target: &str) -> Result<bool, Doubt> {
    let Ok(target) = TargetName::parse(target) else {
        return Ok(true);
    };
    let portals = subject.ask(Provider::Initiator, |node, until| {
        node.iscsi().portals(until)
    })?;
    for (host, port) in portals {
        let Ok(portal) = Portal::parse(&host, port) else {
            continue;
        };
        let own = subject.ask(Provider::Initiator, |node, until| {
            node.iscsi().disks(&portal, &target, until)
        });
        match own {
            Ok(own) if !own.is_empty() => {
                for disk in own {
                    let is_online = |node: &dyn NodeApi, until| node.disks().is_online(disk, until);
                    if subject.ask(Provider::Disks, is_online)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            // Windows may not have noticed them yet, or the portal does not lead there.
            Ok(_) | Err(Doubt::Failed(_)) => {}
            Err(doubt) => return Err(doubt),
        }
    }
    Ok(true)
}
