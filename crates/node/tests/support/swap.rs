//! Somebody who replaces a directory by a link, mounts a volume there, or makes one that was missed,
//! at the worst moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use os::layer::forward::{ForwardFiles, ForwardHeld};
use os::{Component, DirEntry, Entry, Files, Held, LinkKind, Pin, Result, VolumeId, WinPath};
use wincsi_node::{Node, Options};

use super::NodeFixture;

/// Operations over a node where something happens to `victim` just before it is pinned, listed or looked at, or
/// just after it was found, or was not.
pub(crate) struct Swap {
    pub(crate) node: Node,
    swapped: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Found,
    Listed,
    Looked,
    Missed,
    Pinned,
}

impl Swap {
    /// The victim becomes a link after it was found, and before it is pinned.
    pub(crate) fn to_link(fixture: &NodeFixture, victim: WinPath, target: &str) -> Self {
        let (tree, target) = (fixture.files().clone(), target.to_owned());
        Self::new(fixture, victim, When::Pinned, move |directory| {
            tree.remove_directory(directory)?;
            tree.create_symlink(directory, &target, LinkKind::Directory)
        })
    }

    /// The victim becomes a link just after a look at it.
    pub(crate) fn to_link_once_found(fixture: &NodeFixture, victim: WinPath, target: &str) -> Self {
        let (tree, target) = (fixture.files().clone(), target.to_owned());
        Self::new(fixture, victim, When::Found, move |directory| {
            tree.remove_directory(directory)?;
            tree.create_symlink(directory, &target, LinkKind::Directory)
        })
    }

    /// The directory above the victim becomes a link just before a look at that, if it can be removed.
    pub(crate) fn above_to_link(fixture: &NodeFixture, victim: WinPath, target: &str) -> Self {
        let (tree, target) = (fixture.files().clone(), target.to_owned());
        Self::new(fixture, victim, When::Looked, move |victim| {
            let above = victim.parent().unwrap();
            match tree.remove_directory(&above) {
                Ok(()) => tree.create_symlink(&above, &target, LinkKind::Directory),
                Err(_) => Ok(()),
            }
        })
    }

    /// A volume is mounted at the victim after it was pinned, and before it is listed.
    pub(crate) fn to_mount(fixture: &NodeFixture, victim: WinPath, volume: VolumeId) -> Self {
        let volumes = Arc::clone(&fixture.os().volumes);
        Self::new(fixture, victim, When::Listed, move |directory| {
            volumes.set_mount_point(directory, volume)
        })
    }

    /// The victim is made, as a directory, after somebody looked for it in vain.
    pub(crate) fn made_once_missed(fixture: &NodeFixture, victim: WinPath) -> Self {
        let tree = fixture.files().clone();
        Self::new(fixture, victim, When::Missed, move |directory| {
            tree.create_directory(directory)
        })
    }

    fn new(
        fixture: &NodeFixture,
        victim: WinPath,
        when: When,
        act: impl Fn(&WinPath) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let swapped = Arc::new(AtomicBool::new(false));
        let mut os = fixture.os().clone();
        os.files = Arc::new(Swapping {
            files: Arc::clone(&os.files),
            act: Arc::new(act),
            victim,
            when,
            swapped: Arc::clone(&swapped),
        });
        Self {
            node: Node::new(os, Options::default()),
            swapped,
        }
    }

    pub(crate) fn has_swapped(&self) -> bool {
        self.swapped.load(Ordering::SeqCst)
    }
}

#[allow(clippy::type_complexity, reason = "it is named nowhere else")]
#[derive(Clone)]
struct Swapping {
    files: Arc<dyn Files>,
    act: Arc<dyn Fn(&WinPath) -> Result<()> + Send + Sync>,
    victim: WinPath,
    when: When,
    swapped: Arc<AtomicBool>,
}

impl Swapping {
    fn seen<T>(&self, path: &WinPath, look: impl FnOnce() -> Result<T>) -> Result<T> {
        self.inject(When::Looked, path)?;
        let seen = look();
        let when = match seen {
            Ok(_) => When::Found,
            Err(_) => When::Missed,
        };
        self.inject(when, path)?;
        seen
    }

    fn inject(&self, when: When, directory: &WinPath) -> Result<()> {
        let is_it = *directory == self.victim && when == self.when;
        if is_it && !self.swapped.swap(true, Ordering::SeqCst) {
            (self.act)(directory)?;
        }
        Ok(())
    }
}

impl Swapping {
    fn watching(&self, directory: &WinPath, pin: Pin) -> Pin {
        Pin::holding(Watching {
            swapping: self.clone(),
            directory: directory.clone(),
            pin,
        })
    }
}

/// A pinned directory, below which the victim may be.
struct Watching {
    swapping: Swapping,
    directory: WinPath,
    pin: Pin,
}

impl ForwardHeld for Watching {
    fn to(&self) -> &dyn Held {
        &*self.pin
    }

    fn pin(&self, name: &Component) -> Result<Pin> {
        let below = self.directory.join(name.clone());
        self.swapping.inject(When::Pinned, &below)?;
        let is_mounted_later = below == self.swapping.victim && self.swapping.when == When::Listed;
        match is_mounted_later {
            true => self.swapping.files.pin(&self.directory),
            false => self.pin.pin(name),
        }
        .map(|pin| self.swapping.watching(&below, pin))
    }
}

impl ForwardFiles for Swapping {
    fn to(&self) -> &dyn Files {
        &*self.files
    }

    fn pin(&self, directory: &WinPath) -> Result<Pin> {
        self.inject(When::Pinned, directory)?;
        let is_mounted_later = *directory == self.victim && self.when == When::Listed;
        match directory.parent() {
            // Here a pin keeps the name alone, so that a volume can be mounted all the same.
            Some(above) if is_mounted_later => self.files.pin(&above),
            _ => self.files.pin(directory),
        }
        .map(|pin| self.watching(directory, pin))
    }

    fn entry(&self, path: &WinPath) -> Result<Entry> {
        self.seen(path, || self.files.entry(path))
    }

    fn leads_to_directory(&self, path: &WinPath) -> Result<bool> {
        self.seen(path, || self.files.leads_to_directory(path))
    }

    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>> {
        self.inject(When::Listed, directory)?;
        self.files.list(directory)
    }
}
