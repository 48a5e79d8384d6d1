//! The jobs for a method of the class table: list its in-parameters, and run it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use automation::{Row, SchemaMismatch, Secrets, WmiError};
use os::schema::{Class, Direction, Method, extended_status};
use os::{Arguments, Cause, Hresult, Outcome, Returned, Value};
use zeroize::Zeroize;

use super::com::{Begun, CallResult, Called, ClassObject, Progress};
use super::job::{Job, Step, Stepped};
use super::session::{Broken, Connection, Input, MethodName};

/// A method of the class table.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    pub(super) class: &'static Class,
    pub(super) method: &'static Method,
}

/// Lists a method's in-parameters.
pub(super) struct ListParameters(pub(super) Signature);

/// A method call allowed by the class table.
pub(super) struct Invoke {
    pub(super) signature: Signature,
    /// A class's name or an instance's path.
    pub(super) path: String,
    pub(super) arguments: WipedArguments,
}

/// Arguments on their way to another thread; their texts are wiped when this is dropped.
pub(super) struct WipedArguments(pub(super) Arguments);

os::assert_no_debug!(Invoke, WipedArguments);

impl Drop for WipedArguments {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl WipedArguments {
    fn wipe(&mut self) {
        for value in self.0.0.values_mut() {
            if let Value::Text(text) = value {
                text.zeroize();
            }
        }
    }
}

/// A method's definition, new on its connection. Nothing else was sent.
pub(super) enum Definition {
    /// It is on its way.
    Fetching { class: CallResult, latest: Instant },
    /// It has arrived. This is a state of its own, so an abandoned call ends before anything is sent.
    Arrived(ClassObject),
}

type Defined = Result<Step<Definition, Input>, Broken>;

impl Signature {
    fn name(self) -> MethodName {
        (self.class.name, self.method.name)
    }

    /// A job that needs a method's definition begins with it, unless it came over this connection
    /// before.
    fn define(self, over: &Connection) -> Defined {
        if let Some(known) = over.known(self.name()) {
            return Ok(Step::Ended(known));
        }
        let class = over.services.class(self.class.name);
        match class.map_err(Broken::before_a_change)? {
            Begun::Ended(class) => self.keep(&class, over),
            Begun::Running(class) => Ok(Step::On(Definition::Fetching {
                class,
                latest: Instant::now() + over.definition_within,
            })),
        }
    }

    fn go_on(self, definition: Definition, over: &Connection, wait: i32) -> Defined {
        let (class, latest) = match definition {
            Definition::Fetching { class, latest } => (class, latest),
            Definition::Arrived(class) => return self.keep(&class, over),
        };
        match class.end(wait).map_err(Broken::before_a_change)? {
            Progress::Ended(class) => Ok(Step::On(Definition::Arrived(class))),
            Progress::NotYet if Instant::now() < latest => {
                Ok(Step::On(Definition::Fetching { class, latest }))
            }
            Progress::NotYet => Err(Broken::never_repeated(Cause::TimedOut.into())),
        }
    }

    fn keep(self, class: &ClassObject, over: &Connection) -> Defined {
        let input = class
            .method(self.method.name)
            .map_err(Broken::before_a_change)?;
        let input = input.map(Rc::new);
        over.keep(self.name(), input.clone());
        Ok(Step::Ended(input))
    }
}

impl Job for ListParameters {
    type Reply = BTreeSet<String>;
    type State = Definition;

    fn class(&self) -> &'static Class {
        self.0.class
    }

    fn begin(&self, over: &Connection) -> Stepped<Self> {
        described(self.0.define(over)?)
    }

    fn advance(&self, state: Definition, over: &Connection, wait: i32) -> Stepped<Self> {
        described(self.0.go_on(state, over, wait)?)
    }
}

fn described(step: Step<Definition, Input>) -> Stepped<ListParameters> {
    match step {
        Step::On(definition) => Ok(Step::On(definition)),
        Step::Ended(input) => {
            let names = input.map_or(Ok(BTreeSet::new()), |input| input.names());
            names.map(Step::Ended).map_err(Broken::before_a_change)
        }
    }
}

/// How far a call of a method is.
pub(super) enum Invoking {
    /// Nothing but the question for its definition.
    Unsent(Definition),
    Sent(CallResult),
}

impl Job for Invoke {
    type Reply = Outcome;
    type State = Invoking;

    fn class(&self) -> &'static Class {
        self.signature.class
    }

    fn begin(&self, over: &Connection) -> Stepped<Self> {
        self.send_once_defined(self.signature.define(over)?, over)
    }

    fn advance(&self, state: Invoking, over: &Connection, wait: i32) -> Stepped<Self> {
        match state {
            Invoking::Unsent(definition) => {
                let step = self.signature.go_on(definition, over, wait)?;
                self.send_once_defined(step, over)
            }
            Invoking::Sent(call) => self.end(call, wait).map_err(Broken::never_repeated),
        }
    }
}

impl Invoke {
    fn send_once_defined(&self, step: Step<Definition, Input>, over: &Connection) -> Stepped<Self> {
        let definition = match step {
            Step::On(definition) => return Ok(Step::On(Invoking::Unsent(definition))),
            Step::Ended(definition) => definition,
        };
        let input = input(self, definition.as_deref()).map_err(Broken::before_a_change)?;
        let method = self.signature.method.name;
        let begun = over.services.begin(&self.path, method, input.as_ref());
        match begun.map_err(Broken::while_sending)? {
            Begun::Ended(output) => {
                let outcome = outcome(self, &output).map_err(Broken::never_repeated)?;
                Ok(Step::Ended(outcome))
            }
            Begun::Running(call) => Ok(Step::On(Invoking::Sent(call))),
        }
    }

    /// A method is never repeated here: it has been sent, and a code to the contrary belongs to the
    /// query for its end.
    fn end(&self, call: CallResult, wait: i32) -> Called<Step<Invoking, Outcome>> {
        match call.end(wait)? {
            Progress::Ended(output) => outcome(self, &output).map(Step::Ended),
            Progress::NotYet => Ok(Step::On(Invoking::Sent(call))),
        }
    }
}

/// The in-parameters, filled; none for a method without any.
fn input(call: &Invoke, definition: Option<&ClassObject>) -> Called<Option<ClassObject>> {
    let method = call.signature.method;
    let Some(definition) = definition else {
        return match call.arguments.0.0.keys().next() {
            Some(name) => Err(SchemaMismatch::property(method.name, name).into()),
            None => Ok(None),
        };
    };
    let input = definition.spawn()?;
    for (name, value) in &call.arguments.0.0 {
        put(&input, method, name, value)?;
    }
    Ok(Some(input))
}

/// Sets an argument. An unset argument is null.
fn put(input: &ClassObject, method: &Method, name: &str, value: &Value) -> Called<()> {
    let parameter = method
        .parameter(name)
        .ok_or_else(|| SchemaMismatch::property(method.name, name))?;
    if value.is_null() {
        return Ok(());
    }
    let row = Row {
        name: parameter.name,
        cim: parameter.cim,
        array: parameter.array,
    };
    let put = input.put(row, parameter.name, value);
    put.map_err(|fault| WmiError {
        extended: Some(format!("argument {}", parameter.name)),
        origin: fault.origin,
        cause: match fault.cause {
            // This is about the parameter, missing in this build, and not about the object.
            Cause::Hresult(Hresult::WBEM_E_NOT_FOUND) => {
                Hresult::WBEM_E_INVALID_METHOD_PARAMETERS.into()
            }
            other => other,
        },
    })
}

/// A method's result. The extended status is reported as its text.
fn outcome(call: &Invoke, output: &ClassObject) -> Called<Outcome> {
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

/// Null is no success, and no failure.
fn return_value(output: &ClassObject) -> Called<Returned> {
    let value = output.value(RETURN_VALUE)?;
    if value.is_null() {
        return Ok(Returned::Null);
    }
    let code = value.unsigned().map_err(|error| error.to_string());
    let code = code.and_then(|wide| u32::try_from(wide).map_err(|error| error.to_string()));
    let code = code.map(Returned::Code);
    code.map_err(|error| Cause::Malformed(format!("{RETURN_VALUE}: {error}")).into())
}

/// For an object its message; if the definition has a text, as on Microsoft's pages, all of it.
fn text_of(call: &Invoke, status: &Value) -> Option<String> {
    let text = match status {
        Value::Object(status) => status.text(extended_status::MESSAGE.name).ok()?,
        Value::Text(text) => text,
        _ => return None,
    };
    let kept = Secrets::of(call.signature.method, &call.arguments.0).keep(text);
    kept.map(|text| text.to_string())
}

/// A part of every method's definition:
/// <https://learn.microsoft.com/windows/win32/wmisdk/calling-a-method>.
const RETURN_VALUE: &str = "ReturnValue";

#[cfg(test)]
mod tests {
    use os::{Arguments, Value};

    use os::schema::volume;

    use super::{Invoke, Signature, WipedArguments, text_of};

    fn format() -> Invoke {
        Invoke {
            signature: Signature {
                class: &volume::CLASS,
                method: &volume::FORMAT,
            },
            path: String::new(),
            arguments: WipedArguments(Arguments::none()),
        }
    }

    /// Microsoft's pages print the parameter as a text, and definitions as an object.
    #[test]
    fn an_extended_status_that_is_a_text_is_kept() {
        let text = text_of(&format(), &Value::text("Not enough available capacity"));
        assert_eq!(text.as_deref(), Some("Not enough available capacity"));
        assert_eq!(text_of(&format(), &Value::Null), None);
    }

    /// Guards: P22
    #[test]
    fn the_texts_among_arguments_are_wiped() {
        let arguments = Arguments::none()
            .with("Password", Value::text("a secret"))
            .with("Port", Value::uint16(3260));
        let mut sealed = WipedArguments(arguments);
        sealed.wipe();
        assert_eq!(sealed.0.0["Password"], Value::text(""));
        assert_eq!(sealed.0.0["Port"], Value::uint16(3260));
    }
}
