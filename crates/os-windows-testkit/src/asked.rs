use os::schema::{self, CimType, Class, Namespace, Property};
use os::{Hresult, ObjectPath, Predicate, Value};

use crate::object_path::{self, Which};
use crate::wql::{Literal, Statement};

/// A query to a provider, in rows of the class table.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The objects associated with one.
    Associated {
        /// The object's path.
        of: ObjectPath,
        /// The association.
        association: &'static Class,
        result: &'static Class,
    },
    /// The objects of a class.
    Objects {
        class: &'static Class,
        /// The requested properties.
        select: Vec<&'static Property>,
        /// All must hold.
        conditions: Vec<Predicate>,
    },
}

/// Resolves a query to the providers of this namespace.
///
/// # Errors
/// [`Hresult::WBEM_E_INVALID_CLASS`], or [`Hresult::WBEM_E_INVALID_QUERY`] for an unknown property of the class, a
/// literal of another type than its property, a path of no object.
pub fn resolve(statement: &Statement, namespace: Namespace) -> Result<Asked, Hresult> {
    match statement {
        Statement::Associators {
            of,
            association,
            result,
        } => {
            let named = object_path::read(of).ok_or(Hresult::WBEM_E_INVALID_QUERY)?;
            class(&named.class, namespace)?;
            if !matches!(named.which, Which::Keyed(_)) {
                return Err(Hresult::WBEM_E_INVALID_QUERY);
            }
            Ok(Asked::Associated {
                of: ObjectPath(of.clone()),
                association: class(association, namespace)?,
                result: class(result, namespace)?,
            })
        }
        Statement::Select {
            columns,
            class: name,
            conditions,
        } => {
            let class = class(name, namespace)?;
            Ok(Asked::Objects {
                class,
                select: selected(class, columns)?,
                conditions: conditions
                    .iter()
                    .map(|condition| compared(class, condition))
                    .collect::<Result<_, _>>()?,
            })
        }
    }
}

/// The class of this name, if it is in this namespace.
pub(crate) fn class(name: &str, namespace: Namespace) -> Result<&'static Class, Hresult> {
    schema::class(name)
        .filter(|class| class.namespace == namespace)
        .ok_or(Hresult::WBEM_E_INVALID_CLASS)
}

fn selected(class: &'static Class, columns: &[String]) -> Result<Vec<&'static Property>, Hresult> {
    if columns.is_empty() {
        return Ok(class.all_properties().collect());
    }
    columns.iter().map(|name| property(class, name)).collect()
}

fn property(class: &'static Class, name: &str) -> Result<&'static Property, Hresult> {
    class.property(name).ok_or(Hresult::WBEM_E_INVALID_QUERY)
}

fn compared(
    class: &'static Class,
    condition: &crate::wql::Predicate,
) -> Result<Predicate, Hresult> {
    let property = property(class, &condition.property)?;
    let value = literal(property, &condition.literal).ok_or(Hresult::WBEM_E_INVALID_QUERY)?;
    Ok(Predicate {
        property: property.name,
        comparison: condition.comparison,
        value,
    })
}

/// The literal in its property's type; `None` when it is not of it, or out of its range.
fn literal(property: &Property, literal: &Literal) -> Option<Value> {
    if property.array {
        return None;
    }
    match (property.cim, literal) {
        (_, Literal::Null) => Some(Value::Null),
        (CimType::Boolean, Literal::Bool(value)) => Some(Value::Bool(*value)),
        (CimType::String | CimType::DateTime | CimType::Reference(_), Literal::Text(text)) => {
            Some(Value::text(text))
        }
        (cim, Literal::Number(number)) => integer(cim, *number),
        _ => None,
    }
}

fn integer(cim: CimType, number: i128) -> Option<Value> {
    match cim {
        CimType::Uint8 => u8::try_from(number).ok().map(Value::Ui1),
        CimType::Uint16 => u16::try_from(number).ok().map(Value::uint16),
        CimType::Uint32 => u32::try_from(number).ok().map(Value::uint32),
        CimType::Sint32 => i32::try_from(number).ok().map(Value::I4),
        CimType::Uint64 => u64::try_from(number).ok().map(Value::uint64),
        _ => None,
    }
}
