//! The parts that all simulated WMI providers share: queries, object paths, methods, and the check
//! of everything against the class table.

mod path;
mod schema;

pub(crate) use schema::check_outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use os::schema::{Class, Method, Property};
use os::{
    Arguments, Cause, Comparison, Deadline, Facility, Hresult, Instance, ObjectPath, Outcome,
    Predicate, Query, Result, Target, Value,
};

use self::path::Keys;
use crate::gate::{FaultPlan, FirstStep, Op};
use crate::shared_node::SharedNode;

/// The result inside an operation, before the gate names it.
pub(crate) type Done<T> = std::result::Result<T, Cause>;

/// The classes of a namespace that a provider answers for, and what they do.
pub(crate) trait Namespace: Send + Sync {
    /// The facility that this is.
    fn facility(&self) -> Facility;

    /// The node that this is on.
    fn shared(&self) -> &Arc<SharedNode>;

    /// The objects of a class, as the provider's cache has them.
    fn objects(&self, class: &'static Class) -> Done<Vec<Box<dyn Object>>>;

    /// The objects of `result` that the association ties to an object of `class` with these keys.
    /// `None` when there is no such object.
    fn associated(
        &self,
        of: &Keyed<'_>,
        association: &Class,
        result: &'static Class,
    ) -> Done<Option<Vec<Box<dyn Object>>>>;

    /// Runs a method. Names and types of the arguments are those of the class table.
    fn invoke(&self, call: &MethodCall<'_>) -> Done<Outcome>;
}

/// One object of a provider.
pub(crate) trait Object {
    /// The property in automation's type; `None` when the simulator does not have it.
    fn property(&self, name: &str) -> Option<Value>;
}

/// The object that a path names.
#[derive(Debug)]
pub(crate) struct Keyed<'a> {
    pub(crate) class: &'static Class,
    keys: &'a Keys,
}

/// A method call that has passed the gate and the class table.
pub(crate) struct MethodCall<'a> {
    pub(crate) class: &'static Class,
    pub(crate) method: &'static Method,
    /// The object of the call; `None` for a method of the class.
    pub(crate) on: Option<Keyed<'a>>,
    /// Stop after the first step.
    pub(crate) half_way: Option<FirstStep>,
    /// For how long a new volume cannot be formatted.
    pub(crate) unsettled: Option<Duration>,
    arguments: &'a Arguments,
}

impl Keyed<'_> {
    /// A key's value.
    pub(crate) fn key(&self, name: &str) -> Done<&str> {
        let value = self.keys.get(&name.to_lowercase());
        let value = value.map(String::as_str);
        value.ok_or_else(|| Hresult::WBEM_E_INVALID_PARAMETER.into())
    }
}

impl MethodCall<'_> {
    /// The object that the method is called on.
    pub(crate) fn object(&self) -> Done<&Keyed<'_>> {
        let object = self.on.as_ref();
        object.ok_or_else(|| Hresult::WBEM_E_INVALID_PARAMETER.into())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.argument(name)?.as_text().ok()
    }

    pub(crate) fn bool(&self, name: &str) -> Option<bool> {
        self.argument(name)?.as_bool().ok()
    }

    pub(crate) fn u64(&self, name: &str) -> Option<u64> {
        self.argument(name)?.unsigned().ok()
    }

    pub(crate) fn u32(&self, name: &str) -> Option<u32> {
        u32::try_from(self.u64(name)?).ok()
    }

    /// The argument, unless it was left out or is null.
    fn argument(&self, name: &str) -> Option<&Value> {
        let mut arguments = self.arguments.0.iter();
        arguments
            .find(|(argument, _)| argument.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }
}

/// A namespace as the seam's provider.
pub(crate) struct Provider<N>(pub(crate) N);

impl<N: Namespace> os::Provider for Provider<N> {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        self.pass("IWbemServices.ExecQuery", wql(query), deadline, || {
            let class = schema::class(query.class)?;
            let conditions = resolved(class, &query.conditions)?;
            let mut found = Vec::new();
            for object in self.0.objects(class)? {
                if meets(&*object, class, &conditions)? {
                    found.push(self.instance(&*object, class, query.select)?);
                }
            }
            Ok(found)
        })
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        let object = format!(
            "ASSOCIATORS OF {{{of}}} WHERE AssocClass = {association} ResultClass = {result_class}"
        );
        self.pass("IWbemServices.ExecQuery", object, deadline, || {
            let association = schema::class(association)?;
            let result = schema::class(result_class)?;
            let (class, keys) = path::parse(of)?;
            schema::check_ends(association, class, result)?;
            let keyed = Keyed { class, keys: &keys };
            let found = self.0.associated(&keyed, association, result)?;
            let found = found.ok_or(Hresult::WBEM_E_NOT_FOUND)?;
            found
                .iter()
                .map(|object| self.whole(&**object, result))
                .collect()
        })
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let class = match target {
            Target::Class(class) => class.to_owned(),
            Target::Instance(path) => path::class_name(path).to_owned(),
        };
        let op = Op::new(
            self.0.facility(),
            interned(format!("{class}.{method}")),
            target,
        );
        let gate = &self.0.shared().gate;
        let mut plan = gate.admit(&op, deadline)?;
        let done = match plan.take_answer() {
            Some(answer) => Ok(answer),
            None => self.call(target, method, arguments, &plan),
        };
        gate.conclude_outcome(&op, plan, done)
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        let object = format!("{class}.{method}");
        self.pass("IWbemServices.GetObject", object, deadline, || {
            let method = schema::method(schema::class(class)?, method)?;
            let rows = schema::known(method, self.0.shared().build());
            Ok(rows.map(|row| row.name.to_owned()).collect())
        })
    }
}

impl<N: Namespace> Provider<N> {
    fn pass<T>(
        &self,
        operation: &'static str,
        object: String,
        deadline: Deadline,
        act: impl FnOnce() -> Done<T>,
    ) -> Result<T> {
        let op = Op::new(self.0.facility(), operation, object);
        self.0.shared().gate.pass_within(&op, deadline, act)
    }

    fn call(
        &self,
        target: Target<'_>,
        method: &str,
        arguments: &Arguments,
        plan: &FaultPlan,
    ) -> Done<Outcome> {
        let (class, keys) = match target {
            Target::Class(class) => (schema::class(class)?, None),
            Target::Instance(path) => path::parse(path).map(|(class, keys)| (class, Some(keys)))?,
        };
        let method = schema::method(class, method)?;
        schema::check_target(class, method, target)?;
        schema::check_arguments(class, method, arguments)?;
        schema::check_build(method, arguments, self.0.shared().build())?;
        let on = keys.as_ref().map(|keys| Keyed { class, keys });
        let outcome = self.0.invoke(&MethodCall {
            class,
            method,
            on,
            half_way: plan.half_way,
            unsettled: plan.unsettled,
            arguments,
        })?;
        check_outcome(class, method, &outcome)?;
        Ok(outcome)
    }

    /// The object with the properties that were asked for.
    fn instance(
        &self,
        object: &dyn Object,
        class: &'static Class,
        select: &[&'static str],
    ) -> Done<Instance> {
        let mut properties = BTreeMap::new();
        for name in select {
            let property = schema::property(class, name)?;
            let value = schema::value(class, property, object)?;
            properties.insert(property.name.to_owned(), value);
        }
        Ok(Instance {
            class: class.name.to_owned(),
            path: self.path(object, class)?,
            properties,
        })
    }

    /// The object with every property that the simulator has.
    fn whole(&self, object: &dyn Object, class: &'static Class) -> Done<Instance> {
        whole(object, class, || self.path(object, class))
    }

    fn path(&self, object: &dyn Object, class: &'static Class) -> Done<ObjectPath> {
        let mut keys = Vec::new();
        for key in class.keys() {
            let value = schema::value(class, key, object)?;
            keys.push((key.name, value.as_text().unwrap_or_default().to_owned()));
        }
        let shared = self.0.shared();
        Ok(path::format(shared.node_name(), class, &keys))
    }
}

/// An object as a method hands it out: all its properties, and a path when it has one.
pub(crate) fn whole(
    object: &dyn Object,
    class: &'static Class,
    path: impl FnOnce() -> Done<ObjectPath>,
) -> Done<Instance> {
    let mut properties = BTreeMap::new();
    for property in class.all_properties() {
        if object.property(property.name).is_some() {
            let value = schema::value(class, property, object)?;
            properties.insert(property.name.to_owned(), value);
        }
    }
    Ok(Instance {
        class: class.name.to_owned(),
        path: path()?,
        properties,
    })
}

fn resolved<'a>(
    class: &'static Class,
    conditions: &'a [Predicate],
) -> Done<Vec<(&'static Property, &'a Predicate)>> {
    conditions
        .iter()
        .map(|condition| {
            let property = schema::property(class, condition.property)?;
            schema::check_literal(class, property, &condition.value)?;
            Ok((property, condition))
        })
        .collect()
}

fn meets(
    object: &dyn Object,
    class: &'static Class,
    conditions: &[(&'static Property, &Predicate)],
) -> Done<bool> {
    for (property, condition) in conditions {
        let value = schema::value(class, property, object)?;
        let is_equal = match condition.value.is_null() {
            true => value.is_null(),
            false => equal(&value, &condition.value),
        };
        let is_met = match condition.comparison {
            Comparison::Equal => is_equal,
            Comparison::NotEqual => !is_equal && !value.is_null(),
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.to_lowercase() == right.to_lowercase(),
        _ => left == right && !left.is_null(),
    }
}

fn wql(query: &Query<'_>) -> String {
    let mut text = query.class.to_owned();
    for (index, condition) in query.conditions.iter().enumerate() {
        let word = if index == 0 { "WHERE" } else { "AND" };
        let comparison = comparison(condition);
        text = format!("{text} {word} {} {comparison}", condition.property);
    }
    text
}

fn comparison(condition: &Predicate) -> String {
    let value = &condition.value;
    match (condition.comparison, value.is_null()) {
        (Comparison::Equal, true) => "IS NULL".to_owned(),
        (Comparison::NotEqual, true) => "IS NOT NULL".to_owned(),
        (Comparison::Equal, false) => format!("= {}", schema::literal(value)),
        (Comparison::NotEqual, false) => format!("<> {}", schema::literal(value)),
    }
}

/// Operations are `&'static str` in errors; there are as many as the class table has methods.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.into_boxed_str());
    names.insert(leaked);
    leaked
}

#[cfg(test)]
mod tests {
    use os::{Query, Value};

    use super::{equal, wql};

    #[test]
    fn text_compares_without_regard_to_case_and_null_equals_nothing() {
        assert!(equal(&Value::text("{ABC}"), &Value::text("{abc}")));
        assert!(!equal(&Value::Null, &Value::Null));
        assert!(!equal(&Value::text("1"), &Value::I4(1)));
    }

    #[test]
    fn a_query_is_named_as_it_would_be_written() {
        let query = Query::all("MSFT_Partition", &["Size"])
            .with("DiskNumber", Value::uint32(3))
            .without("GptType", Value::text("{e3c9e316}"));
        let expected = "MSFT_Partition WHERE DiskNumber = 3 AND GptType <> '{e3c9e316}'";
        assert_eq!(wql(&query), expected);
    }
}
