//! A provider with prepared answers that records its requests.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use os::schema::{self, CimType, Class, Direction};
use os::{
    Arguments, Deadline, Instance, ObjectPath, Outcome, Predicate, Provider, Query, Result, Target,
    Value,
};
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode};
use wincsi_os_windows_testkit::OutParameters;

use crate::provider_fixture::ProviderFixture;

#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) arguments: Mutex<Arguments>,
    pub(crate) conditions: Mutex<Vec<Predicate>>,
    pub(crate) found: Mutex<Vec<Instance>>,
    pub(crate) outcome: Mutex<Option<Outcome>>,
}

impl Echo {
    /// An echo, and a node with it as its providers.
    pub(crate) fn with_bench(place: OutParameters) -> (Arc<Self>, ProviderFixture) {
        let echo = Arc::new(Self::default());
        let spec = NodeSpec::default();
        let node = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).expect("a node");
        let mut os = node.os();
        os.iscsi = Arc::clone(&echo) as Arc<dyn Provider>;
        os.smb = Arc::clone(&echo) as Arc<dyn Provider>;
        os.storage = Arc::clone(&echo) as Arc<dyn Provider>;
        (echo, ProviderFixture::over(os, place, node))
    }
}

/// Puts a value where another thread will look for it.
pub(crate) fn set<T>(place: &Mutex<T>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

/// A clone of the place's value.
pub(crate) fn get<T: Clone>(place: &Mutex<T>) -> T {
    place.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Provider for Echo {
    fn query(&self, query: &Query<'_>, _: Deadline) -> Result<Vec<Instance>> {
        set(&self.conditions, query.conditions.clone());
        Ok(get(&self.found))
    }

    fn associators(
        &self,
        _: &ObjectPath,
        _: &'static str,
        _: &'static str,
        _: Deadline,
    ) -> Result<Vec<Instance>> {
        Ok(get(&self.found))
    }

    fn invoke(
        &self,
        _: Target<'_>,
        _: &'static str,
        arguments: &Arguments,
        _: Deadline,
    ) -> Result<Outcome> {
        set(&self.arguments, arguments.clone());
        Ok(get(&self.outcome).unwrap_or_else(|| Outcome::of(0)))
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        _: Deadline,
    ) -> Result<BTreeSet<String>> {
        let method = schema::class(class).and_then(|class| class.method(method));
        let rows = method.into_iter().flat_map(|method| method.parameters);
        let inputs = rows.filter(|row| row.direction == Direction::In);
        Ok(inputs.map(|row| row.name.to_owned()).collect())
    }
}

/// A test's value for a row: the lowest of its type, the highest, or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    High,
    Low,
    Null,
}

impl Sample {
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Low, Self::Null];

    /// A value of this type; the lowest of an array is empty.
    pub(crate) fn value(self, cim: CimType, array: bool) -> Value {
        match (self, array) {
            (Self::Null, _) => Value::Null,
            (_, false) => self.element(cim),
            (Self::Low, true) => Value::Array(Vec::new()),
            (Self::High, true) => {
                Value::Array(vec![Self::Low.element(cim), Self::High.element(cim)])
            }
        }
    }

    fn element(self, cim: CimType) -> Value {
        let is_high = self == Self::High;
        match cim {
            CimType::Boolean => Value::Bool(is_high),
            CimType::Uint8 => Value::Ui1(if is_high { u8::MAX } else { 0 }),
            CimType::Uint16 | CimType::Char16 => Value::uint16(if is_high { u16::MAX } else { 0 }),
            CimType::Uint32 => Value::uint32(if is_high { u32::MAX } else { 0 }),
            CimType::Uint64 => Value::uint64(if is_high { u64::MAX } else { 0 }),
            CimType::Sint32 => Value::I4(if is_high { i32::MAX } else { i32::MIN }),
            CimType::Object(class) => embedded(class, self),
            CimType::String | CimType::DateTime | CimType::Reference(_) => {
                Value::text(if is_high { HARD_TEXT } else { "" })
            }
        }
    }
}

/// All special characters of WQL, of a path, and of UTF-16.
const HARD_TEXT: &str = "a 'b' \"c\" \\d\\ {e} 100% \u{e9} \u{1F4BE}\t\u{1}";

/// An object with every property of its class.
pub(crate) fn object(class: &'static Class, sample: Sample) -> Instance {
    let values = class.all_properties().map(|row| {
        let value = sample.value(row.cim, row.array);
        (row.name.to_owned(), value)
    });
    Instance {
        class: class.name.to_owned(),
        path: path(class),
        properties: values.collect(),
    }
}

/// A possible path of the class.
pub(crate) fn path(class: &'static Class) -> ObjectPath {
    let keys: Vec<_> = class
        .keys()
        .map(|key| format!("{}=\"\\\\\\\"x\"", key.name))
        .collect();
    let namespace = class.namespace.path();
    match keys.as_slice() {
        [] => ObjectPath(String::new()),
        keys => ObjectPath(format!(
            r"\\NODE\{namespace}:{}.{}",
            class.name,
            keys.join(",")
        )),
    }
}

fn embedded(class: &str, sample: Sample) -> Value {
    let class = schema::class(class).expect("a row");
    Value::Object(Box::new(object(class, sample)))
}

/// Properties or parameters with a value of each.
pub(crate) type Values = BTreeMap<String, Value>;
