use std::sync::Arc;

use os::Value;

use crate::machine::Machine;
use crate::provider::Object;

/// An object of another node of the cluster, which is like this node's.
struct NeighbourObject {
    own: Box<dyn Object>,
    node: Arc<str>,
    neighbour: String,
}

impl Object for NeighbourObject {
    fn property(&self, name: &str) -> Option<Value> {
        let own = self.own.property(name)?;
        Some(match (name, own) {
            ("ObjectId", Value::Text(id)) => {
                let server = |name: &str| format!(r"\\{name}\");
                Value::text(id.replacen(&server(&self.node), &server(&self.neighbour), 1))
            }
            ("DiskNumber", _) => Value::Null,
            (_, own) => own,
        })
    }
}

/// The objects, and those of a neighbour if there is one.
pub(super) fn with_neighbours(
    machine: &Machine,
    objects: impl Fn() -> Vec<Box<dyn Object>>,
) -> Vec<Box<dyn Object>> {
    let mut all = objects();
    if let Some(neighbour) = &machine.spec.storage.neighbour {
        let theirs = objects().into_iter().map(|own| {
            let (node, neighbour) = (Arc::clone(machine.node()), neighbour.clone());
            let object = NeighbourObject {
                own,
                node,
                neighbour,
            };
            Box::new(object) as Box<dyn Object>
        });
        all.extend(theirs);
    }
    all
}
