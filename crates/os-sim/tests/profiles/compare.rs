//! Recorded values beside those that a simulated object has.

use std::collections::{BTreeMap, BTreeSet};

use formats::fixtures::field::{Object, Record, Recorded};
use os::Value;
use os::schema::{self, Class, Property, Values};

use crate::neutral::{Context, Neutral};

/// What was compared so far, and what differed.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<String>,
    /// The properties that a record has, by profile and class.
    pub(crate) backed: BTreeMap<(String, &'static str), BTreeSet<&'static str>>,
    neutral: Neutral,
}

impl Comparison {
    /// Compares every property of the object with what `actual` has.
    pub(crate) fn object(
        &mut self,
        record: &Record,
        object: &Object,
        actual: impl Fn(&'static Class, &'static Property) -> Value,
    ) {
        let class = schema::class(&object.class).unwrap();
        for (name, recorded) in &object.properties {
            let property = property(class, name);
            let value = actual(class, property);
            let context = Context {
                record,
                property: property.name,
            };
            if !self.agrees(&context, property, recorded, &value) {
                let (record, form) = (record.name, record.form);
                self.differences.push(format!(
                    "{record} ({form:?}) {object} {name}: {recorded:?} there, {value:?} here"
                ));
            }
            let profile = record.profile.clone().unwrap();
            let backed = self.backed.entry((profile, class.name)).or_default();
            backed.insert(property.name);
        }
    }

    /// Compares a text that is of no WMI class.
    pub(crate) fn text(&mut self, record: &Record, property: &str, recorded: &str, actual: &str) {
        let context = Context { record, property };
        let same = |text: &str| self.neutral.text(&context, text);
        if same(recorded) != same(actual) {
            let name = record.name;
            self.differences.push(format!(
                "{name} {property}: {recorded:?} there, {actual:?} here"
            ));
        }
    }

    pub(crate) fn unused_rules(&self) -> impl Iterator<Item = &'static str> {
        self.neutral.unused().into_iter()
    }

    fn agrees(
        &self,
        context: &Context<'_>,
        property: &Property,
        recorded: &Recorded,
        value: &Value,
    ) -> bool {
        match recorded {
            // A cluster's disk has no number on a node.
            Recorded::Empty if context.record.name == "vsphere-cluster" => {
                value.is_null() || property.name == "DiskNumber"
            }
            Recorded::Empty => value.is_null() || value.as_text() == Ok(""),
            Recorded::Bool(wanted) => value.as_bool() == Ok(*wanted),
            // Windows draws it.
            Recorded::Number(_) if property.name == "Signature" => value.unsigned().is_ok(),
            Recorded::Number(wanted) => value.unsigned() == Ok(*wanted),
            Recorded::Text(letter) if property.name == "DriveLetter" => {
                let letter = letter.chars().next().map(u64::from);
                value.unsigned().ok() == letter
            }
            Recorded::Text(wanted) => value.as_text().is_ok_and(|text| {
                self.neutral.text(context, wanted) == self.neutral.text(context, text)
            }),
            Recorded::Word(word) => is_word(property, word, value),
            Recorded::List(items) => match value {
                Value::Array(values) => {
                    let mut pairs = items.iter().zip(values);
                    items.len() == values.len()
                        && pairs.all(|(item, value)| self.agrees(context, property, item, value))
                }
                _ => false,
            },
        }
    }
}

/// PowerShell has other names for some.
fn property(class: &'static Class, name: &str) -> &'static Property {
    let own = match name {
        "DiskPath" => "DiskId",
        "Type" => "GptType",
        name => name,
    };
    class.property(own).unwrap()
}

/// Whether the value is the one that PowerShell has this word for.
fn is_word(property: &Property, word: &str, value: &Value) -> bool {
    let value = match value {
        Value::Array(values) if values.len() == 1 => &values[0],
        value => value,
    };
    match property.values {
        Values::Numbers(values) => {
            let wanted = values.iter().find(|row| is_name(row.name, word)).unwrap();
            value.unsigned() == Ok(wanted.value.into())
        }
        _ => {
            word == "Basic" && value.as_text() == Ok(schema::partition::gpt_type::BASIC_DATA.value)
        }
    }
}

/// PowerShell's words have no blanks here and there.
fn is_name(name: &str, word: &str) -> bool {
    let name = name.replace(' ', "");
    name.eq_ignore_ascii_case(&word.replace(' ', ""))
}
