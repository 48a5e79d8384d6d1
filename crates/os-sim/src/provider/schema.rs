//! The class table's guard: every query and every answer needs a row that allows it.
//!
//! A violation is our own mistake, in the client or in the simulator, and not a code of Windows: it
//! returns [`Cause::Malformed`], which no caller mistakes for an answer.

use formats::wql;
use os::schema::{Build, CimType, Class, Direction, Method, Parameter, Property, Scope, Values};
use os::{Arguments, Cause, Hresult, Outcome, Returned, Target, Value};

use super::{Done, Object};

pub(super) fn class(name: &str) -> Done<&'static Class> {
    os::schema::class(name).ok_or_else(|| missing(format_args!("class {name}")))
}

pub(super) fn property(class: &'static Class, name: &str) -> Done<&'static Property> {
    let row = class.property(name);
    row.ok_or_else(|| missing(format_args!("property {}.{name}", class.name)))
}

pub(super) fn method(class: &'static Class, name: &str) -> Done<&'static Method> {
    let row = class.method(name);
    row.ok_or_else(|| missing(format_args!("method {}.{name}", class.name)))
}

/// The value of a property, of the type and among the values that its row has.
pub(super) fn value(class: &Class, row: &Property, object: &dyn Object) -> Done<Value> {
    let Some(value) = object.property(row.name) else {
        let text = format!("{}.{} is not simulated", class.name, row.name);
        return Err(Cause::Malformed(text));
    };
    if value.is_null() && row.required {
        return Err(wrong(class.name, row.name, "null"));
    }
    let shape = Shape {
        cim: row.cim,
        is_array: row.array,
        values: row.values,
    };
    match shape.refuse(&value) {
        Some(reason) => Err(wrong(class.name, row.name, &reason)),
        None => Ok(value),
    }
}

/// A literal of a query has to have the property's type, or be null.
pub(super) fn check_literal(class: &Class, row: &Property, value: &Value) -> Done<()> {
    let reason = (!value.is_null()).then(|| type_error(row.cim, value));
    match reason.flatten() {
        Some(reason) => Err(wrong(class.name, row.name, &reason)),
        None => Ok(()),
    }
}

/// An association has two ends; both must be the ones in the query.
pub(super) fn check_ends(
    association: &Class,
    of: &'static Class,
    result: &'static Class,
) -> Done<()> {
    let has_both = association.end(of).is_some() && association.end(result).is_some();
    if association.is_association() && has_both {
        return Ok(());
    }
    let (name, of, result) = (association.name, of.name, result.name);
    Err(missing(format_args!(
        "association {name} of {of} and {result}"
    )))
}

pub(super) fn check_target(class: &Class, method: &Method, target: Target<'_>) -> Done<()> {
    let is_right = matches!(
        (method.scope, target),
        (Scope::Instance, Target::Instance(_)) | (Scope::Static(_), Target::Class(_))
    );
    if is_right {
        return Ok(());
    }
    let text = format!("{}.{} called on {target}", class.name, method.name);
    Err(Cause::Malformed(text))
}

/// Every argument is declared and of the declared type, and none that is required is left out.
pub(super) fn check_arguments(class: &Class, method: &Method, arguments: &Arguments) -> Done<()> {
    for (name, value) in &arguments.0 {
        let row = parameter(class, method, name, Direction::In)?;
        check_parameter(class, method, row, value)?;
    }
    for row in method.parameters {
        let is_given = arguments
            .0
            .iter()
            .any(|(name, value)| name.eq_ignore_ascii_case(row.name) && !value.is_null());
        if row.direction == Direction::In && !row.optional && !is_given {
            return Err(wrong(method.name, row.name, "left out"));
        }
    }
    Ok(())
}

/// The in-parameters that a method has on this build.
pub(super) fn known(method: &Method, build: Build) -> impl Iterator<Item = &'static Parameter> {
    let inputs = method
        .parameters
        .iter()
        .filter(|row| row.direction == Direction::In);
    inputs.filter(move |row| row.since.is_none_or(|since| since <= build))
}

/// Every argument is one that this build knows: its class definition has no place for others.
pub(super) fn check_build(method: &Method, arguments: &Arguments, build: Build) -> Done<()> {
    let is_known = |name: &str| known(method, build).any(|row| row.name.eq_ignore_ascii_case(name));
    match arguments.0.keys().all(|name| is_known(name)) {
        true => Ok(()),
        false => Err(Hresult::WBEM_E_INVALID_METHOD_PARAMETERS.into()),
    }
}

/// Code and out-parameters are declared.
pub(crate) fn check_outcome(class: &Class, method: &Method, outcome: &Outcome) -> Done<()> {
    if let Returned::Code(code) = outcome.code
        && method.meaning(code).is_none()
    {
        let (class, method) = (class.name, method.name);
        return Err(missing(format_args!(
            "return code {code} of {class}.{method}"
        )));
    }
    for (name, value) in &outcome.out {
        let row = parameter(class, method, name, Direction::Out)?;
        check_parameter(class, method, row, value)?;
    }
    Ok(())
}

/// A value as a query spells it.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string().to_uppercase(),
        Value::I4(value) => value.cast_unsigned().to_string(),
        // A text with a NUL has no literal.
        Value::Text(text) => wql::quoted(text).unwrap_or_else(|_| format!("{text:?}")),
        other => format!("{other:?}"),
    }
}

fn parameter<'a>(
    class: &Class,
    method: &'a Method,
    name: &str,
    direction: Direction,
) -> Done<&'a Parameter> {
    let row = method
        .parameter(name)
        .filter(|row| row.direction == direction);
    let (class, method) = (class.name, method.name);
    row.ok_or_else(|| missing(format_args!("parameter {class}.{method}.{name}")))
}

fn check_parameter(class: &Class, method: &Method, row: &Parameter, value: &Value) -> Done<()> {
    let shape = Shape {
        cim: row.cim,
        is_array: row.array,
        values: row.values,
    };
    match shape.refuse(value) {
        Some(reason) => {
            let method = format!("{}.{}", class.name, method.name);
            Err(wrong(&method, row.name, &reason))
        }
        None => Ok(()),
    }
}

/// A row's demands on a value.
struct Shape {
    cim: CimType,
    is_array: bool,
    values: Values,
}

impl Shape {
    /// Why the value violates the row.
    fn refuse(&self, value: &Value) -> Option<String> {
        if value.is_null() {
            return None;
        }
        match (self.is_array, value) {
            (true, Value::Array(elements)) => elements.iter().find_map(|value| self.element(value)),
            (true, _) => Some("not an array".to_owned()),
            (false, value) => self.element(value),
        }
    }

    fn element(&self, value: &Value) -> Option<String> {
        type_error(self.cim, value).or_else(|| self.undocumented(value))
    }

    fn undocumented(&self, value: &Value) -> Option<String> {
        let is_documented = match (self.values, value) {
            (Values::Numbers(rows), value) => value
                .unsigned()
                .is_ok_and(|number| rows.iter().any(|row| u64::from(row.value) == number)),
            (Values::Texts(rows), Value::Text(text)) => {
                rows.iter().any(|row| row.value.eq_ignore_ascii_case(text))
            }
            _ => true,
        };
        (!is_documented).then(|| format!("{} is no documented value", literal(value)))
    }
}

/// How automation carries the types: <https://learn.microsoft.com/windows/win32/wmisdk/numbers>. The
/// seam carries `char16` as it carries the other small integers.
fn type_error(cim: CimType, value: &Value) -> Option<String> {
    let is_right = match (cim, value) {
        (CimType::Boolean, Value::Bool(_))
        | (CimType::Uint8, Value::Ui1(_))
        | (CimType::Uint32 | CimType::Sint32, Value::I4(_))
        | (CimType::String | CimType::DateTime | CimType::Reference(_), Value::Text(_)) => true,
        (CimType::Uint16 | CimType::Char16, Value::I4(number)) => u16::try_from(*number).is_ok(),
        (CimType::Uint64, Value::Text(text)) => text.parse::<u64>().is_ok(),
        (CimType::Object(class), Value::Object(object)) => object.class == class,
        _ => false,
    };
    (!is_right).then(|| format!("{} is no {cim:?} of automation", literal(value)))
}

fn missing(what: std::fmt::Arguments<'_>) -> Cause {
    Cause::Malformed(format!("{what} is not in the class table"))
}

fn wrong(of: &str, name: &str, reason: &str) -> Cause {
    Cause::Malformed(format!("{of}.{name}: {reason}"))
}

#[cfg(test)]
mod tests {
    use os::schema::{disk, partition};
    use os::{Arguments, Cause, Outcome, Value};

    use super::{check_arguments, check_outcome, value};
    use crate::provider::Object;

    struct Only(&'static str, Value);

    impl Object for Only {
        fn property(&self, name: &str) -> Option<Value> {
            (name == self.0).then(|| self.1.clone())
        }
    }

    fn size(value_of_size: Value) -> Result<Value, Cause> {
        value(&disk::CLASS, &disk::SIZE, &Only("Size", value_of_size))
    }

    #[test]
    fn a_value_has_the_automation_type_of_its_row() {
        assert_eq!(size(Value::uint64(7)), Ok(Value::text("7")));
        for wrong in [Value::I4(7), Value::text("seven"), Value::Null] {
            assert!(size(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_value_outside_the_documented_ones_is_refused() {
        let style = |number| {
            let object = Only("PartitionStyle", Value::uint16(number));
            value(&disk::CLASS, &disk::PARTITION_STYLE, &object)
        };
        assert!(style(2).is_ok());
        assert!(style(3).is_err());
    }

    #[test]
    fn a_property_that_is_not_simulated_is_told_of() {
        let answer = value(&disk::CLASS, &disk::SIZE, &Only("Number", Value::Null));
        let expected = Cause::Malformed("MSFT_Disk.Size is not simulated".to_owned());
        assert_eq!(answer, Err(expected));
    }

    #[test]
    fn arguments_are_declared_typed_and_complete() {
        let resize = |arguments| check_arguments(&partition::CLASS, &partition::RESIZE, &arguments);
        let none = Arguments::none;
        assert!(resize(none().with("size", Value::uint64(1 << 40))).is_ok());
        for wrong in [
            none(),
            none().with("Size", Value::Null),
            none().with("Size", Value::I4(1)),
            none()
                .with("Size", Value::uint64(1))
                .with("Force", Value::Bool(true)),
            none()
                .with("Size", Value::uint64(1))
                .with("ExtendedStatus", Value::Null),
        ] {
            assert!(resize(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_return_code_that_the_method_does_not_have_is_refused() {
        let online = |code| check_outcome(&disk::CLASS, &disk::ONLINE, &Outcome::of(code));
        assert!(online(0).is_ok());
        assert!(online(42009).is_err());
    }
}
