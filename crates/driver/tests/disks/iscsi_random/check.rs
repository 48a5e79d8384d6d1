//! What holds after each step.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::SystemTime;

use serde_json::Value;
use wincsi::NodeApi;
use wincsi::volumes::VolumeId;

use super::World;
use super::steps::{LUNS, PORTALS, Step, address, places, target_named, target_of};
use crate::support::path;

#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) target: usize,
    pub(super) is_persistent: bool,
    pub(super) is_connected: bool,
}

/// What a node and its records show.
#[derive(Default)]
pub(super) struct Seen {
    /// The image to which the record of each volume is bound, if it is to one.
    pub(super) records: BTreeMap<usize, Option<String>>,
    /// The portal in the lease of each target.
    pub(super) leases: BTreeMap<usize, Option<usize>>,
    /// While the initiator runs.
    pub(super) sessions: Option<BTreeMap<String, Session>>,
    pub(super) portals: BTreeSet<usize>,
    /// When each image was last written to.
    pub(super) written: BTreeMap<String, SystemTime>,
}

impl World {
    pub(super) fn look(&self) -> Seen {
        let (iscsi, soon) = (NodeApi::iscsi(&self.fixture.hand), self.fixture.soon());
        let mut seen = Seen::default();
        for file in self.fixture.record_files() {
            let text = fs::read_to_string(&file).unwrap();
            let read: Value = serde_json::from_str(&text).unwrap();
            if let Some(handle) = read["volume"].as_str() {
                let image = read["identity"]
                    .as_str()
                    .map(|name| name[name.len() - 2..].to_owned());
                seen.records.insert(handle[1..].parse().unwrap(), image);
            } else {
                let is_it = |at: &usize| read["portal"] == format!("{}:3260", address(*at));
                let target = target_named(read["key"].as_str().unwrap());
                seen.leases.insert(target, (0..PORTALS).find(is_it));
            }
        }
        if let Ok(sessions) = iscsi.sessions(soon) {
            let sessions = sessions.into_iter().map(|session| {
                let now = Session {
                    target: target_named(&session.target),
                    is_persistent: session.is_persistent == Some(true),
                    is_connected: session.is_connected == Some(true),
                };
                (session.id, now)
            });
            seen.sessions = Some(sessions.collect());
            let portals = iscsi.portals(soon).unwrap().into_iter();
            let known = |(host, _): (String, u32)| (0..PORTALS).find(|at| address(*at) == host);
            seen.portals = portals.filter_map(known).collect();
        } else {
            seen.portals.clone_from(&self.seen.portals);
        }
        for image in (0..LUNS).flat_map(|lun| ['a', 'b'].map(|one| format!("{lun}{one}"))) {
            let file = fs::metadata(self.fixture.array().image(&image)).unwrap();
            seen.written.insert(image, file.modified().unwrap());
        }
        seen
    }

    pub(super) fn check(&mut self, step: Step, of: Option<usize>) -> Result<(), String> {
        let now = self.look();
        let before = std::mem::replace(&mut self.seen, now);
        self.check_written(&before, of)?;
        let Seen {
            records, leases, ..
        } = &self.seen;
        let recorded = BTreeSet::from_iter(records.keys().map(|of| target_of(*of)));
        self.left.extend(&self.kept);
        let mut leases = leases.keys();
        let is_needed = |target: &usize| recorded.contains(target) || self.left.contains(target);
        if let Some(lease) = leases.find(|target| !is_needed(target)) {
            return Err(format!("the lease of target {lease} is nobody's"));
        }
        let Some(sessions) = self.seen.sessions.clone() else {
            return Ok(());
        };
        self.check_sessions(&before, &sessions, of)?;
        let mut ours = BTreeSet::new();
        for (id, session) in &sessions {
            let Session {
                target,
                is_persistent,
                ..
            } = session;
            if !self.theirs.contains_key(id) {
                if *is_persistent && !self.lasting.contains(target) || !ours.insert(*target) {
                    return Err(format!(
                        "{id} of {session:?} is persistent, or a second one"
                    ));
                }
                if !recorded.contains(target) && !self.kept.contains(target) {
                    return Err(format!("{id} of {session:?} leaked"));
                }
            } else if self.lasting.contains(target) && !is_persistent {
                return Err(format!("{id} of {session:?} was to come back at each boot"));
            }
        }
        self.kept
            .retain(|target| ours.contains(target) || recorded.contains(target));
        self.check_portals(&before, step, &recorded)
    }

    /// An image is written to for a volume of its own alone.
    fn check_written(&self, before: &Seen, of: Option<usize>) -> Result<(), String> {
        for (image, written) in &self.seen.written {
            let is_bound = |of: usize| match before.records.get(&of).cloned().flatten() {
                Some(bound) => bound == *image,
                None => self.image_of(of) == *image,
            };
            if before.written[image] != *written && !of.is_some_and(is_bound) {
                return Err(format!("image {image} was written to"));
            }
        }
        Ok(())
    }

    /// A stranger's session stays, and so does one that another staged volume needs.
    fn check_sessions(
        &mut self,
        before: &Seen,
        now: &BTreeMap<String, Session>,
        of: Option<usize>,
    ) -> Result<(), String> {
        for (id, session) in now {
            let target = session.target;
            // What comes at the boot comes before what this driver makes.
            if !self.theirs.contains_key(id) && self.due.remove(&target) {
                match session.is_persistent {
                    true => drop(self.theirs.insert(id.clone(), target)),
                    // Theirs found no portal. Of two logins to a target that are persistent Windows tells of one: what the
                    // driver takes back is theirs too.
                    false => drop(self.lasting.remove(&target)),
                }
            }
        }
        if let Some(gone) = self.theirs.keys().find(|id| !now.contains_key(*id)) {
            return Err(format!("{gone} was a stranger's, and is gone"));
        }
        let gone = before.sessions.iter().flatten();
        let gone = gone.filter(|(id, _)| of.is_some() && !now.contains_key(*id));
        for (id, Session { target, .. }) in gone {
            let mut others = self.staged.iter().filter(|other| Some(**other) != of);
            if let Some(other) = others.find(|other| target_of(**other) == *target) {
                return Err(format!("{id} is gone, and volume {other} needs it"));
            }
        }
        Ok(())
    }

    fn check_portals(
        &mut self,
        before: &Seen,
        step: Step,
        recorded: &BTreeSet<usize>,
    ) -> Result<(), String> {
        let portals = &self.seen.portals;
        if let Some(gone) = self.their_portals.difference(portals).next() {
            return Err(format!("portal {gone} was a stranger's, and is gone"));
        }
        // Through a session of strangers, or one that was left to them.
        let is_left = |id: &String, target: &usize| {
            self.theirs.contains_key(id) || self.kept.contains(target) && !recorded.contains(target)
        };
        let sessions = self.seen.sessions.iter().flatten();
        let left = sessions.filter(|(id, session)| is_left(id, &session.target));
        // Of the driver's own it is known by which portal it goes.
        let used = left.flat_map(|(id, Session { target, .. })| {
            let portal = self.seen.leases.get(target).copied().flatten();
            let either = [target / 2 * 2, target / 2 * 2 + 1];
            match portal.filter(|_| !self.theirs.contains_key(id)) {
                Some(portal) => [portal; 2],
                None => either,
            }
        });
        let used = BTreeSet::from_iter(used);
        for gone in before.portals.difference(portals) {
            // A portal that is dead since the boot tells of no target.
            let tells = step != Step::RemovePortal(*gone) && self.answers[*gone];
            if tells && used.contains(gone) {
                return Err(format!(
                    "portal {gone} is gone, and a session goes through it"
                ));
            }
        }
        let kept = portals.iter().filter(|portal| used.contains(portal));
        self.kept_portals.extend(kept);
        self.kept_portals.retain(|kept| portals.contains(kept));
        let is_needed = |portal: &usize| {
            self.their_portals.contains(portal)
                || self.kept_portals.contains(portal)
                || recorded.iter().any(|target| target / 2 == portal / 2)
        };
        match portals.iter().find(|portal| !is_needed(portal)) {
            Some(leaked) => Err(format!("portal {leaked} leaked")),
            None => Ok(()),
        }
    }

    /// A disk in the place of a volume's own is left as it is.
    pub(super) fn check_untouched(&self) -> Result<(), String> {
        let changes = ["Online", "Initialize", "CreatePartition", "Format"];
        let is_change = |op: &str| changes.iter().any(|change| op.ends_with(change));
        let mut trace = self.fixture.sim.take_trace().into_iter();
        match trace.find(|op| is_change(op.operation)) {
            Some(change) => Err(format!("{change:?} of a disk in another's place")),
            None => Ok(()),
        }
    }

    /// What is staged is the image that is there now, with the file that the first volume of it wrote.
    pub(super) fn check_content(&mut self, of: usize) -> Result<(), String> {
        let (image, [staging, _]) = (self.image_of(of), places(of));
        let volumes = NodeApi::volumes(&self.fixture.hand);
        let mounted = volumes.of_target(&path(&staging), self.fixture.soon());
        let mounted = mounted.map_err(|error| format!("volume {of} is staged: {error}"))?;
        let folder = self
            .fixture
            .folder()
            .join("volumes")
            .join(mounted.0.to_string());
        let is_other = |(other, id): (&String, &VolumeId)| (*other == image) != (*id == mounted);
        if self.contents.iter().any(is_other) {
            return Err(format!(
                "volume {of} has the content of another image than {image}"
            ));
        }
        match self.contents.insert(image.clone(), mounted) {
            None => fs::write(folder.join(&image), "by a pod").unwrap(),
            Some(_) if folder.join(&image).exists() => {}
            Some(_) => return Err(format!("volume {of} has lost the content of {image}")),
        }
        Ok(())
    }
}
