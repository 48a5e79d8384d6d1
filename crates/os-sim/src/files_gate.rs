//! The file tree behind the gate.

use std::path::Path;
use std::sync::Arc;

use os::layer::{self, Layer, Object, Part, Ran, Run};
use os::{Cause, Facility, Files, Result, VolumeId, WinPath};
use uuid::Uuid;

use crate::files::FileTree;
use crate::gate::Op;
use crate::machine::Machine;
use crate::shared_node::SharedNode;

/// The node's files, every call through the gate.
pub(crate) fn gated(shared: Arc<SharedNode>, tree: FileTree) -> Arc<dyn Files> {
    let files: Arc<dyn Files> = Arc::new(tree.clone());
    let gate: Arc<dyn Layer> = Arc::new(FilesGate { shared, tree });
    files.layered(Facility::Files, &gate)
}

#[derive(Clone)]
struct FilesGate {
    shared: Arc<SharedNode>,
    tree: FileTree,
}

impl FilesGate {
    fn pass<'run>(
        &self,
        op: &layer::Op<'_>,
        object: &dyn std::fmt::Display,
        run: Run<'run>,
    ) -> Result<Ran<'run>> {
        let op = Op::new(op.facility, op.name, object);
        self.shared
            .gate
            .pass(&op, || run.run().map_err(|error| error.cause))
    }

    /// The same gate for what is done through a directory that is held.
    fn holding(&self, directory: WinPath) -> Arc<dyn Layer> {
        Arc::new(HeldGate {
            hold: self.hold(&directory),
            gate: self.clone(),
            directory,
        })
    }

    /// Counts a handle on the volume that the directory lies on, which keeps that from being locked.
    fn hold(&self, directory: &WinPath) -> Option<Hold> {
        let host = self.tree.host_path(directory).ok()?;
        let held = self.shared.with(|machine| {
            let volume = volume_of(machine, &host);
            if let Some(volume) = volume {
                machine.hold(volume);
            }
            Ok::<_, Cause>(volume)
        });
        Some(Hold {
            volume: held.ok()??,
            shared: Arc::clone(&self.shared),
        })
    }
}

impl Layer for FilesGate {
    fn around<'run>(&self, op: &layer::Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        self.pass(op, &op.object, run)
    }

    fn opened(&self, op: &layer::Op<'_>) -> Option<Arc<dyn Layer>> {
        match op.object {
            Object::Path(directory) => Some(self.holding(directory.clone())),
            _ => None,
        }
    }
}

/// Around a directory that is held. Its entries are known by their names.
struct HeldGate {
    gate: FilesGate,
    directory: WinPath,
    hold: Option<Hold>,
}

impl HeldGate {
    /// The gate for a directory in this one, which lies on the same volume: only plain directories are held.
    fn holding(&self, directory: WinPath) -> Arc<dyn Layer> {
        Arc::new(Self {
            hold: self.hold.as_ref().and_then(Hold::again),
            gate: self.gate.clone(),
            directory,
        })
    }
}

impl Layer for HeldGate {
    fn around<'run>(&self, op: &layer::Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        match op.object {
            Object::Name(name) => self.gate.pass(op, &self.directory.join(name.clone()), run),
            _ => self.gate.around(op, run),
        }
    }

    fn opened(&self, op: &layer::Op<'_>) -> Option<Arc<dyn Layer>> {
        match op.object {
            // A reserved entry takes other names in the same directory.
            Object::Name(_) if op.method == "Held::reserve" => {
                Some(self.holding(self.directory.clone()))
            }
            Object::Name(name) => Some(self.holding(self.directory.join(name.clone()))),
            _ => None,
        }
    }
}

/// The volume whose folder contains a host path. The outermost folder with a volume's name counts;
/// hosts spell the folders above it in several ways.
fn volume_of(machine: &Machine, host: &Path) -> Option<VolumeId> {
    let names = host
        .iter()
        .filter_map(|name| Uuid::try_parse(name.to_str()?).ok());
    let mut volumes = names.map(VolumeId);
    volumes.find(|volume| machine.home(*volume).is_ok())
}

/// An open handle on a volume.
pub(crate) struct Hold {
    pub(crate) volume: VolumeId,
    pub(crate) shared: Arc<SharedNode>,
}

impl Hold {
    /// One more handle on the volume.
    fn again(&self) -> Option<Self> {
        let held = self.shared.with(|machine| {
            machine.hold(self.volume);
            Ok(())
        });
        held.ok().map(|()| Self {
            volume: self.volume,
            shared: Arc::clone(&self.shared),
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // A closing handle cannot report an error; the count is in memory anyway.
        let _ = self.shared.with(|machine| {
            machine.let_go(self.volume);
            Ok(())
        });
    }
}
