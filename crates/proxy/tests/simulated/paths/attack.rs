//! Attacks by a process that may write in a folder while a link is made there.

use formats::reparse::{Names, Reparse};
use os::{Component, Files, LinkKind, WinPath};
use os_sim::SimNode;

use super::fixture::{ServerFixture, path};

pub(crate) const POD: &str = r"C:\var\lib\kubelet\pods\p";
pub(crate) const LINK: &str = r"C:\var\lib\kubelet\pods\p\smb";
pub(crate) const OUTSIDE: &str = r"C:\ProgramData\sentry";

pub(crate) fn swapping() -> ServerFixture {
    let fixture = ServerFixture::new();
    fixture.directory(POD);
    fixture.directory(OUTSIDE);
    fixture
}

/// Attacks by a process that may write in [`POD`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Empties it and makes it a junction in place.
    Junction,
    /// Turns its entries into junctions.
    JunctionsWithin,
    /// Puts files into its entries.
    Fill,
    /// Takes it away, and puts a link in its place.
    Link,
    /// Takes the link's name.
    TakeName,
}

fn junction() -> Vec<u8> {
    let names = Names {
        substitute: format!(r"\??\{OUTSIDE}"),
        print: String::new(),
    };
    Reparse::MountPoint(names).encode().unwrap()
}

impl Attack {
    /// Attacks refused by the system are skipped.
    pub(crate) fn run(self, sim: &SimNode) {
        let (tree, pod) = (sim.files(), path(POD));
        match self {
            Self::Junction => {
                empty(sim);
                let _ = tree.become_reparse_point(&pod, &junction());
            }
            Self::JunctionsWithin => within(sim, |entry| {
                let _ = tree.become_reparse_point(entry, &junction());
            }),
            Self::Fill => within(sim, |entry| {
                let name = Component::parse("full").unwrap();
                let _ = tree.create_directory(&entry.join(name));
            }),
            Self::Link => {
                empty(sim);
                let _ = tree.remove_directory(&pod);
                let _ = tree.create_symlink(&pod, OUTSIDE, LinkKind::Directory);
            }
            Self::TakeName if is_plain(sim) => drop(tree.create_directory(&path(LINK))),
            Self::TakeName => {}
        }
    }
}

fn is_plain(sim: &SimNode) -> bool {
    let pod = sim.files().entry(&path(POD));
    pod.is_ok_and(|pod| pod.tag.is_none())
}

/// Links are left alone: the attacker may not write behind them.
fn within(sim: &SimNode, act: impl Fn(&WinPath)) {
    let pod = path(POD);
    if !is_plain(sim) {
        return;
    }
    for found in sim.files().list(&pod).unwrap() {
        if found.entry.tag.is_none() {
            act(&pod.join(Component::listed(found.name).unwrap()));
        }
    }
}

fn empty(sim: &SimNode) {
    within(sim, |entry| {
        let _ = sim.files().remove_directory(entry);
        let _ = sim.files().remove_file(entry);
    });
}

/// Releases hung calls, so a scope can end after a panic in its own part: it waits for its threads.
pub(crate) struct Released<'a>(pub(crate) &'a ServerFixture);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.heal();
    }
}
