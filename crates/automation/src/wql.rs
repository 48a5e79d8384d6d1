use formats::wql::quoted;
use os::schema::{self, CimType, Class, Property};
use os::{Comparison, ObjectPath, Predicate, Query, Value};

use crate::{SchemaMismatch, class_of};

/// A query's text, and the properties to read from each object that it finds.
#[derive(Debug)]
pub struct Selection {
    /// In WQL.
    pub text: String,
    /// The class of the query.
    pub class: &'static Class,
    /// The properties that the caller requested. The query selects the keys as well, so that each
    /// object can be found again.
    pub properties: Vec<&'static Property>,
}

/// A query for associated objects. Each has the properties of its own class, which may be a derived one, or
/// lack a property.
#[derive(Debug)]
pub struct Associated(pub Selection);

/// `SELECT ... FROM class WHERE ...`.
///
/// # Errors
/// A class or a property that [`os::schema`] does not have, or a literal that is not of its
/// property's type or cannot be written in WQL.
pub fn select(query: &Query<'_>) -> Result<Selection, SchemaMismatch> {
    let class = known_class(query.class)?;
    let properties = query
        .select
        .iter()
        .map(|name| property(class, name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut text = format!("SELECT {} FROM {}", columns(class, &properties), class.name);
    for (index, condition) in query.conditions.iter().enumerate() {
        text.push_str(if index == 0 { " WHERE " } else { " AND " });
        text.push_str(&comparison(class, condition)?);
    }
    Ok(Selection {
        text,
        class,
        properties,
    })
}

/// `ASSOCIATORS OF {path} WHERE AssocClass = ... ResultClass = ...`. WQL has no list of columns here:
/// each property of the class is read.
///
/// # Errors
/// As [`select`]; a path that is none; an association that does not tie the two classes.
pub fn associators(
    of: &ObjectPath,
    association: &str,
    result_class: &str,
) -> Result<Associated, SchemaMismatch> {
    let source = class_of(of)?;
    let association = known_class(association)?;
    let result = known_class(result_class)?;
    let ties = association.end(source).is_some() && association.end(result).is_some();
    if !association.is_association() || !ties {
        return Err(SchemaMismatch::Association(association.name));
    }
    let (association, name) = (association.name, result.name);
    Ok(Associated(Selection {
        text: format!(
            "ASSOCIATORS OF {{{of}}} WHERE AssocClass = {association} ResultClass = {name}"
        ),
        class: result,
        properties: result.all_properties().collect(),
    }))
}

fn known_class(name: &str) -> Result<&'static Class, SchemaMismatch> {
    schema::class(name).ok_or_else(|| SchemaMismatch::class(name))
}

fn property(class: &'static Class, name: &str) -> Result<&'static Property, SchemaMismatch> {
    class
        .property(name)
        .ok_or_else(|| SchemaMismatch::property(class.name, name))
}

fn columns(class: &'static Class, wanted: &[&'static Property]) -> String {
    let mut names: Vec<_> = wanted.iter().map(|property| property.name).collect();
    let keys = class.keys().map(|key| key.name);
    for key in keys {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    if names.is_empty() {
        return "*".to_owned();
    }
    names.join(", ")
}

fn comparison(class: &'static Class, condition: &Predicate) -> Result<String, SchemaMismatch> {
    let property = property(class, condition.property)?;
    let name = property.name;
    if condition.value.is_null() {
        return Ok(match condition.comparison {
            Comparison::Equal => format!("{name} IS NULL"),
            Comparison::NotEqual => format!("{name} IS NOT NULL"),
        });
    }
    let operator = match condition.comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
    };
    let literal = literal(property, &condition.value)
        .ok_or_else(|| SchemaMismatch::value(format!("{}.{name}", class.name)))?;
    Ok(format!("{name} {operator} {literal}"))
}

/// The value as WQL writes it; `None` when it is not of the property's type. A `char16` has no
/// documented form, an array none at all.
fn literal(property: &Property, value: &Value) -> Option<String> {
    if property.array {
        return None;
    }
    match (property.cim, value) {
        (CimType::Boolean, Value::Bool(value)) => Some(value.to_string().to_uppercase()),
        (CimType::Uint8, Value::Ui1(value)) => Some(value.to_string()),
        (CimType::Uint16, Value::I4(value)) => u16::try_from(*value).ok().map(|it| it.to_string()),
        (CimType::Uint32, Value::I4(value)) => Some(value.cast_unsigned().to_string()),
        (CimType::Sint32, Value::I4(value)) => Some(value.to_string()),
        (CimType::Uint64, Value::Text(text)) => text.parse().ok().map(|it: u64| it.to_string()),
        (CimType::String | CimType::DateTime | CimType::Reference(_), Value::Text(text)) => {
            quoted(text).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use os::schema::{disk, disk_to_partition, partition, volume};
    use os::{ObjectPath, Query, Value};
    use proptest::proptest;

    use super::{associators, select};

    /// How a reader of WQL reads the literal, and the text after it.
    fn read(literal: &str) -> Option<(String, &str)> {
        let body = literal.strip_prefix('\'')?;
        let mut text = String::new();
        let mut characters = body.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' => return Some((text, &body[at + 1..])),
                '\\' => text.push(characters.next()?.1),
                _ => text.push(character),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn a_text_stays_one_condition(text in "[^\0]*") {
            let query = Query::all(disk::CLASS.name, &[])
                .with(disk::SERIAL_NUMBER.name, Value::text(text.clone()));
            let query = select(&query).expect("a string").text;
            let (_, literal) = query.split_once(" WHERE SerialNumber = ").expect("one condition");
            assert_eq!(read(literal), Some((text, "")));
        }

        #[test]
        fn numbers_of_each_width_are_written_unsigned(number: u32, wide: u64) {
            let query = Query::all(partition::CLASS.name, &[])
                .with(partition::DISK_NUMBER.name, Value::uint32(number))
                .without(partition::OFFSET.name, Value::uint64(wide));
            let text = select(&query).expect("numbers").text;
            assert!(text.ends_with(&format!("WHERE DiskNumber = {number} AND Offset <> {wide}")));
        }
    }

    #[test]
    fn the_keys_are_selected_whatever_is_asked_for() {
        let query = Query::all(disk::CLASS.name, &[disk::SIZE.name]);
        let selection = select(&query).expect("a query");
        assert!(
            selection.text.starts_with("SELECT Size, ObjectId"),
            "{}",
            selection.text
        );
        assert_eq!(selection.properties, [&disk::SIZE]);
    }

    #[test]
    fn nulls_are_compared_as_nulls() {
        let query = Query::all(disk::CLASS.name, &[])
            .with(disk::SERIAL_NUMBER.name, Value::Null)
            .without(disk::PATH.name, Value::Null);
        let text = select(&query).expect("a query").text;
        assert!(
            text.ends_with("WHERE SerialNumber IS NULL AND Path IS NOT NULL"),
            "{text}"
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let number = disk::NUMBER.name;
        let refused = [
            Query::all("MSFT_Elsewhere", &[]),
            Query::all(disk::CLASS.name, &["Elsewhere"]),
            Query::all(disk::CLASS.name, &[]).with("Elsewhere", Value::I4(1)),
            Query::all(disk::CLASS.name, &[]).with(number, Value::text("1 OR 1 = 1")),
            Query::all(disk::CLASS.name, &[]).with(disk::SIZE.name, Value::text("1 OR 1 = 1")),
            Query::all(disk::CLASS.name, &[]).with(disk::PARTITION_STYLE.name, Value::I4(-1)),
            Query::all(disk::CLASS.name, &[]).with(disk::SERIAL_NUMBER.name, Value::text("a\0b")),
        ];
        for query in refused {
            assert!(select(&query).is_err(), "{query:?}");
        }
    }

    #[test]
    fn an_association_ties_both_classes() {
        let path = ObjectPath(r#"MSFT_Disk.ObjectId="{1}""#.to_owned());
        let tie = disk_to_partition::CLASS.name;
        let super::Associated(selection) =
            associators(&path, tie, partition::CLASS.name).expect("tied");
        assert_eq!(
            selection.text,
            r#"ASSOCIATORS OF {MSFT_Disk.ObjectId="{1}"} WHERE AssocClass = MSFT_DiskToPartition ResultClass = MSFT_Partition"#
        );
        assert!(associators(&path, tie, volume::CLASS.name).is_err());
        assert!(associators(&path, disk::CLASS.name, partition::CLASS.name).is_err());
    }
}
