//! Recorded values beside those that a simulated object has.

use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, mem};

use formats::fixtures::field::{Object, Record, Recorded};
use os::Value;
use os::schema::{self, Class, Property, Values};

use crate::profiles::neutral::{Context, Neutral};

/// The comparisons so far, and the differences.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<String>,
    /// The properties that a record has and the profile's object agrees with, by profile and class.
    pub(crate) backed: BTreeMap<(String, String), BTreeSet<String>>,
    /// The objects of the record at hand that were compared.
    compared: BTreeSet<String>,
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
                object,
                property: property.name,
            };
            if self.neutral.exempts(&context, recorded, &value) {
                continue;
            }
            let is_equal = self.agrees(&context, property, recorded, &value);
            self.note(
                &context,
                is_equal,
                &format_args!("{recorded:?} there, {value:?} here"),
            );
        }
        self.compared.insert(object.to_string());
    }

    /// Compares every property of an object that is of no class of a provider's with the text that `actual` has.
    pub(crate) fn texts(
        &mut self,
        record: &Record,
        object: &Object,
        actual: impl Fn(&str) -> Option<String>,
    ) {
        for (property, recorded) in &object.properties {
            let value = actual(property);
            let context = Context {
                record,
                object,
                property,
            };
            let same = |text: &str| self.neutral.text(&context, text);
            let is_equal = match (recorded, &value) {
                (Recorded::Text(recorded), Some(value)) => same(recorded) == same(value),
                _ => false,
            };
            self.note(
                &context,
                is_equal,
                &format_args!("{recorded:?} there, {value:?} here"),
            );
        }
        self.compared.insert(object.to_string());
    }

    /// Ends with a record: each of its objects has to have been compared.
    pub(crate) fn finish(&mut self, record: &Record) {
        let compared = mem::take(&mut self.compared);
        for object in &record.objects {
            if !compared.contains(&object.to_string()) {
                let name = record.name;
                self.differences
                    .push(format!("{name} {object}: compared with nothing"));
            }
        }
    }

    pub(crate) fn unused_rules(&self) -> impl Iterator<Item = &'static str> {
        self.neutral.unused().into_iter()
    }

    fn note(&mut self, context: &Context<'_>, is_equal: bool, values: &fmt::Arguments<'_>) {
        let Context {
            record,
            object,
            property,
        } = *context;
        if !is_equal {
            let (name, form) = (record.name, record.form);
            self.differences
                .push(format!("{name} ({form:?}) {object} {property}: {values}"));
        }
        let of = (record.profile.clone().unwrap(), object.class.clone());
        self.backed
            .entry(of)
            .or_default()
            .insert(property.to_owned());
    }

    fn agrees(
        &self,
        context: &Context<'_>,
        property: &Property,
        recorded: &Recorded,
        value: &Value,
    ) -> bool {
        match recorded {
            Recorded::Empty => value.is_null() || value.as_text() == Ok(""),
            Recorded::Bool(wanted) => value.as_bool() == Ok(*wanted),
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
