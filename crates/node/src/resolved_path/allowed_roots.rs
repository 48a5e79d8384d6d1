use std::sync::Arc;

use os::{Component, Entry, Os, ReparseTag, Root, VolumeId, WinPath};

use super::resolve::{self, Resolver};
use super::{LookupPath, ResolveError, ResolvedPath, Scope};
use crate::link::{self, Leads};

/// How deep volumes may be mounted in one another.
const MOST_NESTED: usize = 16;

/// The folders that paths of clients are confined to.
///
/// They are resolved once: the text of each as it was given and the place that it led to at that
/// time both count, whatever becomes of the links between the two (the kubelet's folder is often a
/// junction to another drive). What lies above them is the administrator's and is trusted. Of a
/// folder that does not exist yet, what exists of it is resolved; the rest must be plain directories
/// when it appears, since anybody may have made it.
#[derive(Debug)]
pub struct AllowedRoots {
    roots: Vec<AllowedRoot>,
}

#[derive(Debug)]
struct AllowedRoot {
    given: WinPath,
    /// As much of the place as existed.
    base: WinPath,
    /// The names below that were missing.
    missing: Vec<Component>,
}

/// A path as names below a directory that is free of links.
pub(super) struct Start {
    pub(super) base: WinPath,
    /// How many of the names must not be links.
    pub(super) plain: usize,
    pub(super) names: Vec<Component>,
}

impl AllowedRoots {
    /// Resolves the folders. What cannot be followed is taken by its name, and must then be no link.
    #[must_use]
    pub fn resolve_roots(os: &Os, roots: &[WinPath]) -> Arc<Self> {
        let mut roots: Vec<_> = roots
            .iter()
            .map(|root| AllowedRoot::find(os, root))
            .collect();
        // Of folders within one another the innermost counts: it was resolved as such.
        roots.sort_by_key(|root| std::cmp::Reverse(root.given.components().len()));
        Arc::new(Self { roots })
    }

    /// Follows every link on the path but one at its end, each to a place within bounds.
    ///
    /// Nothing outside is looked at, and no other machine: a link's word decides, before it is
    /// followed. A mounted folder counts as inside when every path of its volume that the mount
    /// manager knows is inside, and it knows one: a reparse point that merely looks like a mounted
    /// folder is easily made.
    ///
    /// # Errors
    /// The path or a link leads out of bounds, or a part of it cannot be looked at. A part that is
    /// missing is no error: the way is then the path as far as it can be told.
    pub fn resolve(
        self: &Arc<Self>,
        os: &Os,
        path: &WinPath,
    ) -> Result<ResolvedPath, ResolveError> {
        Resolver::begin(os, (self, Scope::Inside), path)?.run()
    }

    /// Follows every link on the path but one at its end, for a call that only looks: each to a
    /// place within bounds, or on another drive or volume of this node.
    ///
    /// A drive is one of this node's when the mount manager has its letter for a volume. It does not
    /// know the letters of network drives and of `subst`, and nothing on the drive is opened to ask
    /// it (`FindFirstVolumeW`, and `GetVolumePathNamesForVolumeNameW` for one volume after the other
    /// until the letter is found). Shares are never followed.
    ///
    /// # Errors
    /// The path or a link leads to another machine or to a drive that the mount manager does not
    /// know, or a part of it cannot be looked at.
    pub fn resolve_lookup(
        self: &Arc<Self>,
        os: &Os,
        path: &WinPath,
    ) -> Result<LookupPath, ResolveError> {
        let resolved = Resolver::begin(os, (self, Scope::Local), path)?.run()?;
        Ok(LookupPath::from(resolved))
    }

    /// Whether the path, by its names, lies in one of the folders.
    #[must_use]
    pub fn contain(&self, path: &WinPath) -> bool {
        self.roots
            .iter()
            .any(|root| path.is_within(&root.given) || path.is_within(&root.place()))
    }

    /// Whether one of the folders is this or lies in it.
    #[must_use]
    pub fn lie_within(&self, path: &WinPath) -> bool {
        self.roots
            .iter()
            .any(|root| root.given.is_within(path) || root.place().is_within(path))
    }

    /// A link that appeared where a folder was missing when the folders were resolved, if there is
    /// one: every path there is refused until they are resolved anew.
    ///
    /// # Errors
    /// What is there cannot be looked at.
    pub fn late_link(&self, os: &Os) -> os::Result<Option<WinPath>> {
        for root in &self.roots {
            if let Some(link) = root.late_link(os)? {
                return Ok(Some(link));
            }
        }
        Ok(None)
    }

    /// The links right below the folders that lead out of all of them, with where they lead: a
    /// folder `pods` on another drive, say. What cannot be looked at is left out.
    #[must_use]
    pub fn links_out(&self, os: &Os) -> Vec<(WinPath, WinPath)> {
        let links = self.roots.iter().flat_map(|root| root.links(os));
        let leads_out = |(_, target): &(WinPath, WinPath)| !self.contain(target);
        links.filter(leads_out).collect()
    }

    /// The links and mounted folders right below the folders. Those on shares are left out.
    pub(crate) fn entries_that_lead_on(&self, os: &Os) -> os::Result<Vec<WinPath>> {
        const LEAD_ON: [ReparseTag; 2] = [ReparseTag::MOUNT_POINT, ReparseTag::SYMLINK];
        let is_local = |root: &&AllowedRoot| !matches!(root.base.root(), Root::Share { .. });
        let mut found = Vec::new();
        for root in self.roots.iter().filter(is_local) {
            let tagged = match root.reparse_points(os) {
                Err(error) if error.is_not_found() => continue,
                tagged => tagged?.into_iter(),
            };
            let leads_on = |entry: Entry| entry.tag.is_some_and(|tag| LEAD_ON.contains(&tag));
            found.extend(tagged.filter_map(|(path, entry)| leads_on(entry).then_some(path)));
        }
        Ok(found)
    }

    /// The folders by their texts, and the places that these led to.
    pub(crate) fn paths(&self) -> impl Iterator<Item = WinPath> {
        let both = |root: &AllowedRoot| [root.given.clone(), root.place()];
        self.roots.iter().flat_map(both)
    }

    /// Where to begin with a path; `None` when it is outside.
    pub(super) fn start(&self, os: &Os, path: &WinPath, scope: Scope) -> os::Result<Option<Start>> {
        for root in &self.roots {
            let names = below(path, &root.given).or_else(|| below(path, &root.place()));
            if let Some(names) = names {
                return Ok(Some(root.start(names)));
            }
        }
        let is_admitted = match (path.root(), scope) {
            (Root::Share { .. }, _) | (Root::Drive(_), Scope::Inside) => false,
            (Root::Drive(_), Scope::Local) => has_drive(os, path)?,
            (Root::Volume(_), Scope::Local) => true,
            (Root::Volume(volume), Scope::Inside) => {
                self.is_mounted_inside(os, *volume, MOST_NESTED)?
            }
        };
        Ok(is_admitted.then(|| Start {
            base: path.prefix(0),
            plain: 0,
            names: path.components().to_vec(),
        }))
    }

    fn is_mounted_inside(&self, os: &Os, volume: VolumeId, depth: usize) -> os::Result<bool> {
        let Some(depth) = depth.checked_sub(1) else {
            return Ok(false);
        };
        let paths = os.volumes.access_paths(volume)?;
        for path in &paths {
            let is_inside = match path.root() {
                _ if self.contain(path) => true,
                Root::Volume(outer) => self.is_mounted_inside(os, *outer, depth)?,
                _ => false,
            };
            if !is_inside {
                return Ok(false);
            }
        }
        Ok(!paths.is_empty())
    }
}

impl AllowedRoot {
    fn find(os: &Os, given: &WinPath) -> Self {
        let (base, missing) = resolve::root(os, given);
        Self {
            given: given.clone(),
            base,
            missing,
        }
    }

    fn place(&self) -> WinPath {
        let missing = self.missing.iter().cloned();
        missing.fold(self.base.clone(), |path, name| path.join(name))
    }

    fn late_link(&self, os: &Os) -> os::Result<Option<WinPath>> {
        let mut at = self.base.clone();
        for name in &self.missing {
            at = at.join(name.clone());
            let entry = match os.files.entry(&at) {
                Err(error) if error.is_not_found() => return Ok(None),
                entry => entry?,
            };
            if entry.tag.is_some() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn links(&self, os: &Os) -> Vec<(WinPath, WinPath)> {
        let found = self.reparse_points(os).unwrap_or_default();
        let target = |(link, entry): (WinPath, Entry)| {
            let Ok(Leads::To(target)) = link::leads(&*os.files, &link, &entry) else {
                return None;
            };
            Some((link, target))
        };
        found.into_iter().filter_map(target).collect()
    }

    fn reparse_points(&self, os: &Os) -> os::Result<Vec<(WinPath, Entry)>> {
        let place = self.place();
        let found = os.files.list(&place)?.into_iter();
        let tagged = found.filter(|found| found.entry.tag.is_some());
        let named = tagged.filter_map(|found| {
            let name = Component::listed(found.name).ok()?;
            Some((place.join(name), found.entry))
        });
        Ok(named.collect())
    }

    fn start(&self, names: &[Component]) -> Start {
        Start {
            base: self.base.clone(),
            plain: self.missing.len(),
            names: [&self.missing, names].concat(),
        }
    }
}

/// Whether the mount manager has the drive of a path for one of its volumes.
fn has_drive(os: &Os, path: &WinPath) -> os::Result<bool> {
    let drive = path.prefix(0).folded();
    for volume in os.volumes.list()? {
        // One that went since it was listed, or whose disk is offline, has no drive.
        let paths = os.volumes.access_paths(volume).unwrap_or_default();
        if paths.iter().any(|path| path.folded() == drive) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names of a path below another, if it lies there.
fn below<'a>(path: &'a WinPath, above: &WinPath) -> Option<&'a [Component]> {
    if !path.is_within(above) {
        return None;
    }
    path.components().get(above.components().len()..)
}
