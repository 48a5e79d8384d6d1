//! The programs that run, as WMI lists them.

use std::sync::Arc;

use os::schema::Class;
use os::schema::process::{CLASS, COMMAND_LINE, HANDLE, NAME, PROCESS_ID};
use os::{Cause, Facility, Outcome, Value};

use crate::provider::{Done, Keyed, MethodCall, Namespace, Object};
use crate::shared_node::SharedNode;
use crate::spec::ProcessSpec;

/// The class `Win32_Process` of the namespace `Root\CimV2`.
pub(crate) struct Processes(pub(crate) Arc<SharedNode>);

/// A process and its id.
struct Process(u32, ProcessSpec);

impl Namespace for Processes {
    fn facility(&self) -> Facility {
        Facility::Processes
    }

    fn shared(&self) -> &Arc<SharedNode> {
        &self.0
    }

    fn objects(&self, class: &'static Class) -> Done<Vec<Box<dyn Object>>> {
        if class.name != CLASS.name {
            return Ok(Vec::new());
        }
        self.0.with(|machine| {
            // Ids are multiples of four.
            let ids = (4..).step_by(4);
            let processes = ids.zip(machine.spec.process.iter().cloned());
            let object = |(id, spec)| Box::new(Process(id, spec)) as _;
            Ok(processes.map(object).collect())
        })
    }

    fn associated(
        &self,
        _of: &Keyed<'_>,
        _association: &Class,
        _result: &'static Class,
    ) -> Done<Option<Vec<Box<dyn Object>>>> {
        Ok(None)
    }

    fn invoke(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let name = call.method.name;
        Err(Cause::Malformed(format!("{name} is not simulated")))
    }
}

impl Object for Process {
    fn property(&self, name: &str) -> Option<Value> {
        let Self(id, spec) = self;
        Some(match name {
            name if name == COMMAND_LINE.name => {
                spec.command.as_deref().map_or(Value::Null, Value::text)
            }
            name if name == HANDLE.name => Value::text(id.to_string()),
            name if name == NAME.name => Value::text(spec.name.as_str()),
            name if name == PROCESS_ID.name => Value::uint32(*id),
            _ => return None,
        })
    }
}
