use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use automation::Fault;
use automation::Odd;
use automation::Row;
use automation::Secrets;
use automation::Selection;
use os::Arguments;
use os::Cause;
use os::Hresult;
use os::Instance;
use os::Outcome;
use os::Value;
use os::schema::Class;
use os::schema::Direction;
use os::schema::Method;
use os::schema::Namespace;
use os::schema::extended_status;
use zeroize::Zeroize;

use super::Connect;
use super::com::Begun;
use super::com::CallResult;
use super::com::Called;
use super::com::ClassObject;
use super::com::Enumerator;
use super::com::Progress;
use super::com::Services;

/// What is asked of WMI, complete, to be begun again on another connection if it must.
pub(super) enum Ask {
    /// Which in-parameters a method has.
    Describe(Signature),
    /// A query whose objects have all that was selected.
    Find(Selection),
    /// A query whose objects have what their class has.
    FindWhole(Selection),
    Run(Call),
}

/// A method of the class table.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    pub(super) class: &'static Class,
    pub(super) method: &'static Method,
}

/// A call of a method that the class table allows.
pub(super) struct Call {
    pub(super) signature: Signature,
    /// A class's name or an instance's path.
    pub(super) path: String,
    pub(super) arguments: Sealed,
}

/// Arguments on their way to another thread; their texts are wiped when this is dropped.
pub(super) struct Sealed(pub(super) Arguments);

impl Drop for Sealed {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Sealed {
    fn wipe(&mut self) {
        for value in self.0.0.values_mut() {
            if let Value::Text(text) = value {
                text.zeroize();
            }
        }
    }
}

/// What WMI answered.
pub(super) enum Answer {
    Described(BTreeSet<String>),
    Found(Vec<Instance>),
    Ended(Outcome),
}

impl Ask {
    fn namespace(&self) -> Namespace {
        match self {
            Self::Describe(signature) => signature.class.namespace,
            Self::Find(selection) | Self::FindWhole(selection) => selection.class.namespace,
            Self::Run(call) => call.signature.class.namespace,
        }
    }

    fn is_method(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}

/// One thread's connections, each opened when it is first needed and kept.
pub(super) struct Session {
    connect: Arc<dyn Connect>,
    open: HashMap<Namespace, Rc<Connection>>,
}

impl Session {
    pub(super) fn new(connect: Arc<dyn Connect>) -> Self {
        let open = HashMap::new();
        Self { connect, open }
    }

    /// Begins what is asked; once more, on another connection, when the first one turns out to be dead
    /// and nothing can have left over it.
    pub(super) fn begin(&mut self, ask: &Ask) -> Called<Running> {
        match self.try_begin(ask) {
            Err(unbegun) if unbegun.may_repeat => self.try_begin(ask),
            other => other,
        }
        .map_err(|unbegun| unbegun.fault)
    }

    /// Whether what was under way and failed so may be begun again. A connection that is gone is
    /// forgotten. A method never is: it has been sent, and a code that says otherwise is that of the
    /// question for its end.
    pub(super) fn may_repeat(&mut self, ask: &Ask, running: &Running, fault: &Fault) -> bool {
        self.forget_if_broken(ask.namespace(), &running.connection, fault);
        fault.is_lost() && !ask.is_method()
    }

    fn try_begin(&mut self, ask: &Ask) -> Result<Running, Unbegun> {
        let namespace = ask.namespace();
        let connection = self.connection(namespace).map_err(Unbegun::for_good)?;
        match connection.begin(ask) {
            Ok(stage) => Ok(Running { stage, connection }),
            Err(unbegun) => {
                self.forget_if_broken(namespace, &connection, &unbegun.fault);
                Err(unbegun)
            }
        }
    }

    /// Another call may have put a new connection in the place of the one that is gone.
    fn forget_if_broken(&mut self, namespace: Namespace, gone: &Rc<Connection>, fault: &Fault) {
        let open = self.open.get(&namespace);
        if fault.breaks_connection() && open.is_some_and(|open| Rc::ptr_eq(open, gone)) {
            self.open.remove(&namespace);
        }
    }

    fn connection(&mut self, namespace: Namespace) -> Called<Rc<Connection>> {
        let open = match self.open.entry(namespace) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => {
                let services =
                    Services::new(self.connect.connect(namespace), self.connect.methods())?;
                place.insert(Rc::new(Connection::new(services)))
            }
        };
        Ok(Rc::clone(open))
    }
}

/// A call that failed before it had begun.
struct Unbegun {
    fault: Fault,
    /// The connection is gone, and nothing that changes anything can have left over it.
    may_repeat: bool,
}

impl Unbegun {
    fn for_good(fault: Fault) -> Self {
        let may_repeat = false;
        Self { fault, may_repeat }
    }

    /// It failed where nothing was to change yet.
    fn harmless(fault: Fault) -> Self {
        let may_repeat = fault.is_lost();
        Self { fault, may_repeat }
    }

    /// It failed where a method was sent.
    fn sending(fault: Fault) -> Self {
        let may_repeat = fault.is_unsent();
        Self { fault, may_repeat }
    }
}

/// A connection, and the classes' definitions that came over it.
struct Connection {
    services: Services,
    inputs: std::cell::RefCell<HashMap<MethodName, Option<Rc<ClassObject>>>>,
}

type MethodName = (&'static str, &'static str);

impl Connection {
    fn new(services: Services) -> Self {
        let inputs = std::cell::RefCell::default();
        Self { services, inputs }
    }

    fn begin(&self, ask: &Ask) -> Result<Stage, Unbegun> {
        match ask {
            Ask::Describe(signature) => {
                let names = self.names(*signature);
                Ok(Stage::Described(names.map_err(Unbegun::harmless)?))
            }
            Ask::Find(selection) | Ask::FindWhole(selection) => {
                let answers = self.services.query(&selection.text);
                Ok(Stage::Query {
                    answers: answers.map_err(Unbegun::harmless)?,
                    found: Vec::new(),
                })
            }
            Ask::Run(call) => {
                let input = self.input(call).map_err(Unbegun::harmless)?;
                self.run(call, input.as_ref()).map_err(Unbegun::sending)
            }
        }
    }

    fn run(&self, call: &Call, input: Option<&ClassObject>) -> Called<Stage> {
        let begun = self
            .services
            .begin(&call.path, call.signature.method.name, input)?;
        Ok(match begun {
            Begun::Ended(output) => Stage::Ended(Some(output)),
            Begun::Running(running) => Stage::Method(running),
        })
    }

    /// The in-parameters, filled; none for a method that takes none.
    fn input(&self, call: &Call) -> Called<Option<ClassObject>> {
        let method = call.signature.method;
        let Some(definition) = self.definition(call.signature)? else {
            return match call.arguments.0.0.keys().next() {
                Some(name) => Err(Odd::property(method.name, name).into()),
                None => Ok(None),
            };
        };
        let input = definition.spawn()?;
        for (name, value) in &call.arguments.0.0 {
            put(&input, method, name, value)?;
        }
        Ok(Some(input))
    }

    fn names(&self, signature: Signature) -> Called<BTreeSet<String>> {
        let definition = self.definition(signature)?;
        definition.map_or(Ok(BTreeSet::new()), |definition| definition.names())
    }

    fn definition(&self, signature: Signature) -> Called<Option<Rc<ClassObject>>> {
        let Signature { class, method } = signature;
        let name = (class.name, method.name);
        if let Some(known) = self.inputs.borrow().get(&name) {
            return Ok(known.clone());
        }
        let class = self.services.class(class.name)?;
        let input = class.method(method.name)?.map(Rc::new);
        self.inputs.borrow_mut().insert(name, input.clone());
        Ok(input)
    }
}

/// Sets an argument. Null is what an argument is before it is set.
fn put(input: &ClassObject, method: &Method, name: &str, value: &Value) -> Called<()> {
    let parameter = method
        .parameter(name)
        .ok_or_else(|| Odd::property(method.name, name))?;
    if value.is_null() {
        return Ok(());
    }
    let row = Row {
        name: parameter.name,
        cim: parameter.cim,
        array: parameter.array,
    };
    let put = input.put(row, parameter.name, value);
    put.map_err(|fault| Fault {
        extended: Some(format!("argument {}", parameter.name)),
        cause: match fault.cause {
            // Said of the parameter, which this build does not have, and not of the object.
            Cause::Hresult(Hresult::WBEM_E_NOT_FOUND) => {
                Hresult::WBEM_E_INVALID_METHOD_PARAMETERS.into()
            }
            other => other,
        },
    })
}

/// A call that has begun, and what it goes over.
pub(super) struct Running {
    stage: Stage,
    connection: Rc<Connection>,
}

enum Stage {
    Described(BTreeSet<String>),
    /// A method that had ended when it had begun; taken once.
    Ended(Option<ClassObject>),
    Method(CallResult),
    Query {
        answers: Enumerator,
        found: Vec<ClassObject>,
    },
}

impl Running {
    /// The answer, if the call ends within this many milliseconds.
    pub(super) fn advance(&mut self, ask: &Ask, wait: i32) -> Called<Option<Answer>> {
        match &mut self.stage {
            Stage::Described(names) => Ok(Some(Answer::Described(std::mem::take(names)))),
            Stage::Ended(output) => match output.take() {
                Some(output) => ended(ask, &output).map(Some),
                None => Err(Cause::Malformed("asked again after its end".to_owned()).into()),
            },
            Stage::Method(running) => match running.end(wait)? {
                Progress::Ended(output) => ended(ask, &output).map(Some),
                Progress::NotYet => Ok(None),
            },
            Stage::Query { answers, found } => match answers.next(wait, found)? {
                Progress::Ended(()) => instances(ask, found).map(Some),
                Progress::NotYet => Ok(None),
            },
        }
    }
}

fn instances(ask: &Ask, found: &[ClassObject]) -> Called<Answer> {
    let instances: Called<_> = match ask {
        Ask::Find(selection) => found
            .iter()
            .map(|object| object.instance(&selection.properties))
            .collect(),
        Ask::FindWhole(selection) => found
            .iter()
            .map(|object| object.whole(&selection.properties))
            .collect(),
        Ask::Describe(_) | Ask::Run(_) => Ok(Vec::new()),
    };
    instances.map(Answer::Found)
}

fn ended(ask: &Ask, output: &ClassObject) -> Called<Answer> {
    let Ask::Run(call) = ask else {
        return Err(Cause::Malformed("a query that ended as a method".to_owned()).into());
    };
    outcome(call, output).map(Answer::Ended)
}

/// What a method gave back. The extended status is told as its text.
fn outcome(call: &Call, output: &ClassObject) -> Called<Outcome> {
    let mut out = BTreeMap::new();
    let mut extended = None;
    let parameters = call.signature.method.parameters.iter();
    for parameter in parameters.filter(|row| row.direction == Direction::Out) {
        let Some(value) = output.value_if_any(parameter.name)? else {
            continue;
        };
        if parameter.name == extended_status::PARAMETER.name {
            extended = text_of(call, &value);
        } else {
            out.insert(parameter.name.to_owned(), value);
        }
    }
    let code = return_value(output)?;
    Ok(Outcome {
        code,
        out,
        extended,
    })
}

/// Null is no success.
fn return_value(output: &ClassObject) -> Called<u32> {
    let value = output.value(RETURN_VALUE)?;
    let code = value.unsigned().map_err(|error| error.to_string());
    let code = code.and_then(|wide| u32::try_from(wide).map_err(|error| error.to_string()));
    code.map_err(|error| Cause::Malformed(format!("{RETURN_VALUE}: {error}")).into())
}

fn text_of(call: &Call, status: &Value) -> Option<String> {
    let Value::Object(status) = status else {
        return None;
    };
    let text = status.text(extended_status::MESSAGE.name).ok()?;
    let kept = Secrets::of(call.signature.method, &call.arguments.0).keep(text);
    kept.map(|text| text.to_string())
}

/// What every method's definition has:
/// <https://learn.microsoft.com/windows/win32/wmisdk/calling-a-method>.
const RETURN_VALUE: &str = "ReturnValue";

#[cfg(test)]
mod tests {
    use os::Arguments;
    use os::Value;

    use super::Sealed;

    #[test]
    fn the_texts_among_arguments_are_wiped() {
        let arguments = Arguments::none()
            .with("Password", Value::text("a secret"))
            .with("Port", Value::uint16(3260));
        let mut sealed = Sealed(arguments);
        sealed.wipe();
        assert_eq!(sealed.0.0["Password"], Value::text(""));
        assert_eq!(sealed.0.0["Port"], Value::uint16(3260));
    }
}
