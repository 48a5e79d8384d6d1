//! A sentry: it sees the calls on files and volumes, and knows their physical places.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use os::layer::{Access, Layer, Object, Op, Part, Ran, Run};
use os::{Facility, Os, Result, Root, Volumes, WinPath};
use os_sim::{SimNode, demo};

use super::fixture::PathCall;

/// Calls outside the allowed places.
#[derive(Clone, Default)]
pub(crate) struct Offences(Arc<Mutex<Vec<Offence>>>);

struct Offence {
    text: String,
    /// It changed nothing, and was on the node's own drives and volumes.
    is_local_look: bool,
}

impl Offences {
    fn note(&self, offence: Offence) {
        self.0.lock().unwrap().push(offence);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        self.taken(|_| true)
    }

    /// The offences of this call: a look-up may read local entries.
    pub(crate) fn take_of(&self, call: PathCall) -> Vec<String> {
        self.taken(|offence| !(call.is_lookup() && offence.is_local_look))
    }

    fn taken(&self, counts: impl Fn(&Offence) -> bool) -> Vec<String> {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        let counting = all.into_iter().filter(counts);
        counting.map(|offence| offence.text).collect()
    }
}

/// The node with a sentry before its files and volumes.
pub(crate) fn watched(sim: &SimNode, roots: &[&str]) -> (Os, Offences) {
    let mut os = sim.os();
    let offences = Offences::default();
    let sentry = Sentry {
        sim: sim.clone(),
        volumes: Arc::clone(&os.volumes),
        roots: roots.iter().map(|root| root.parse().unwrap()).collect(),
        offences: offences.clone(),
    };
    let sentry: Arc<dyn Layer> = Arc::new(sentry);
    os.files = os.files.layered(Facility::Files, &sentry);
    os.volumes = os.volumes.layered(Facility::Volumes, &sentry);
    (os, offences)
}

#[derive(Clone)]
struct Sentry {
    sim: SimNode,
    volumes: Arc<dyn Volumes>,
    roots: Vec<WinPath>,
    offences: Offences,
}

impl Sentry {
    /// Notes a call on an entry in an outside directory, with all links followed.
    fn see(&self, op: &Op<'_>, path: &WinPath) {
        let is_inside = match (path.root(), path.parent()) {
            // The one share mapped by tests.
            (Root::Share { .. }, None) => path.to_string().starts_with(demo::SHARE),
            (Root::Share { .. }, Some(_)) => false,
            // A root's own entry is no secret.
            (_, None) => true,
            (_, Some(directory)) => match self.host(&directory) {
                Some(host) => self.is_root(path) || self.is_inside(&host),
                // A path that leads nowhere touches nothing.
                None => true,
            },
        };
        if !is_inside {
            let is_local = !matches!(path.root(), Root::Share { .. });
            self.offences.note(Offence {
                text: format!("{} {path}", op.method),
                is_local_look: is_local && op.access == Access::Look,
            });
        }
    }

    fn is_root(&self, path: &WinPath) -> bool {
        let is_it = |root: &WinPath| path.is_within(root) && root.is_within(path);
        self.roots.iter().any(is_it)
    }

    fn is_inside(&self, host: &Path) -> bool {
        let mut roots = self.roots.iter().filter_map(|root| self.host(root));
        roots.any(|root| host.starts_with(root))
            || self.volumes_inside().any(|volume| host.starts_with(volume))
    }

    /// The places of volumes mounted only at folders.
    fn volumes_inside(&self) -> impl Iterator<Item = PathBuf> {
        let volumes = self.volumes.list().unwrap_or_default();
        volumes.into_iter().filter_map(|volume| {
            let paths = self.volumes.access_paths(volume).ok()?;
            let is_drive = |path: &WinPath| path.name().is_none();
            let is_inside = !paths.is_empty() && !paths.iter().any(is_drive);
            let root = WinPath::of_root(Root::Volume(volume));
            is_inside.then(|| self.host(&root)).flatten()
        })
    }

    fn host(&self, path: &WinPath) -> Option<PathBuf> {
        self.sim.files().host_path(path).ok()
    }

    fn watching(&self, directory: WinPath) -> Arc<dyn Layer> {
        let sentry = self.clone();
        Arc::new(Watching { sentry, directory })
    }
}

impl Layer for Sentry {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        if let Object::Path(path) = op.object {
            self.see(op, path);
        }
        run.run()
    }

    fn opened(&self, op: &Op<'_>) -> Option<Arc<dyn Layer>> {
        match op.object {
            Object::Path(directory) => Some(self.watching(directory.clone())),
            _ => None,
        }
    }
}

/// A sentry before the entries of a held directory.
struct Watching {
    sentry: Sentry,
    directory: WinPath,
}

impl Layer for Watching {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        if let Object::Name(name) = op.object {
            self.sentry.see(op, &self.directory.join(name.clone()));
        }
        run.run()
    }

    fn opened(&self, op: &Op<'_>) -> Option<Arc<dyn Layer>> {
        match op.object {
            // A reserved entry takes other names in the same directory.
            Object::Name(_) if op.method == "Held::reserve" => {
                Some(self.sentry.watching(self.directory.clone()))
            }
            Object::Name(name) => Some(self.sentry.watching(self.directory.join(name.clone()))),
            _ => None,
        }
    }
}
