//! A method of the class table, its in-parameters and what it gives back.

use std::collections::BTreeMap;

use automation::Fault;
use automation::Odd;
use automation::Row;
use automation::Secrets;
use os::Arguments;
use os::Cause;
use os::Hresult;
use os::Outcome;
use os::Value;
use os::schema::Class;
use os::schema::Direction;
use os::schema::Method;
use os::schema::extended_status;
use zeroize::Zeroize;

use super::com::Called;
use super::com::ClassObject;

/// A method of the class table.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    pub(super) class: &'static Class,
    pub(super) method: &'static Method,
}

impl Signature {
    pub(super) fn name(self) -> MethodName {
        (self.class.name, self.method.name)
    }
}

pub(super) type MethodName = (&'static str, &'static str);

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

/// The in-parameters, filled; none for a method that takes none.
pub(super) fn input(call: &Call, definition: Option<&ClassObject>) -> Called<Option<ClassObject>> {
    let method = call.signature.method;
    let Some(definition) = definition else {
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

/// What a method gave back. The extended status is told as its text.
pub(super) fn outcome(call: &Call, output: &ClassObject) -> Called<Outcome> {
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
