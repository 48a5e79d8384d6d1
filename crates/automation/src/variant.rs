use std::fmt;

use os::schema::{Automation, CimType};
use os::{Instance, Value};
use zeroize::Zeroizing;

/// The content of a WMI VARIANT. `O` carries an embedded object.
#[derive(Debug, Clone, PartialEq)]
pub enum Variant<O> {
    /// An array (`VT_ARRAY`).
    Many {
        /// The type of its elements, which an empty one has too.
        of: Automation,
        /// One after the other.
        elements: Vec<Scalar<O>>,
    },
    /// `VT_NULL`, and `VT_EMPTY` where it is read.
    Null,
    /// A single value.
    One(Scalar<O>),
}

/// A single value in a VARIANT, or an element of an array in one.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<O> {
    /// `VT_BOOL`.
    Bool(bool),
    /// `VT_BSTR`.
    Bstr(Text),
    /// `VT_I2`.
    I2(i16),
    /// `VT_I4`.
    I4(i32),
    /// `VT_UI1`.
    Ui1(u8),
    /// `VT_UNKNOWN`, asked for `IWbemClassObject`.
    Unknown(O),
}

/// A text as COM carries it: UTF-16, perhaps malformed. Wiped when dropped and not shown by `Debug`,
/// because it may be a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Zeroizing<Vec<u16>>);

/// A value, a name or a path that contradicts the class table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaMismatch {
    /// An association that does not tie the two classes.
    #[error("{0} does not tie these classes in the class table")]
    Association(&'static str),
    /// A VARIANT of a type in which WMI carries nothing.
    #[error("a value of VARIANT type {0:#x}")]
    Kind(u16),
    /// An array with more than one dimension, or bounds that do not make sense.
    #[error("an array that is no list")]
    NoList,
    /// Text that is no path of an instance.
    #[error("{0:?} is no path of an instance")]
    Path(String),
    /// UTF-16 with half a surrogate pair.
    #[error("text that is not well-formed UTF-16")]
    Surrogate,
    /// A class, a method, a property or a parameter without a row.
    #[error("{0} is not in the class table")]
    Unknown(String),
    /// A value that is not of the type that its row has, or cannot be said.
    #[error("the value of {0} does not have its type")]
    Value(String),
}

impl SchemaMismatch {
    /// No row for a class.
    #[must_use]
    pub fn class(name: &str) -> Self {
        Self::Unknown(format!("class {name}"))
    }

    /// No row for a member of a class: a property, a method, a parameter.
    #[must_use]
    pub fn property(class: &str, name: &str) -> Self {
        Self::Unknown(format!("{class}.{name}"))
    }

    /// A value that does not fit the row of this name. The value is not told: it may be a secret.
    #[must_use]
    pub fn value(name: String) -> Self {
        Self::Value(name)
    }
}

impl Text {
    /// A text to be handed over.
    #[must_use]
    pub fn new(text: &str) -> Self {
        // Sized before it is filled: a vector that grows leaves copies behind.
        let mut units = Vec::with_capacity(text.encode_utf16().count());
        units.extend(text.encode_utf16());
        Self::from_units(units)
    }

    /// A text that was handed over.
    #[must_use]
    pub fn from_units(units: Vec<u16>) -> Self {
        Self(Zeroizing::new(units))
    }

    /// Its UTF-16.
    #[must_use]
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// The text.
    ///
    /// # Errors
    /// The text is not well-formed: a replacement of the unpaired half would be another text than
    /// the system's.
    pub fn to_text(&self) -> Result<String, SchemaMismatch> {
        String::from_utf16(&self.0).map_err(|_| SchemaMismatch::Surrogate)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} units)", self.0.len())
    }
}

impl<O> Variant<O> {
    /// The texts of a list.
    ///
    /// # Errors
    /// It is no list of texts, or one of them is malformed.
    pub fn into_texts<T: FromIterator<String>>(self) -> Result<T, SchemaMismatch> {
        let Self::Many { elements, .. } = self else {
            return Err(SchemaMismatch::NoList);
        };
        let text = |element: Scalar<O>| match element {
            Scalar::Bstr(text) => text.to_text(),
            _ => Err(SchemaMismatch::NoList),
        };
        elements.into_iter().map(text).collect()
    }

    /// Converts a value of a property or a parameter of this type. `object` makes the carrier of an
    /// embedded object.
    ///
    /// # Errors
    /// The value is not of the type; or `object` failed.
    pub fn from_value<E: From<SchemaMismatch>>(
        value: &Value,
        row: Row<'_>,
        object: &mut dyn FnMut(&Instance) -> Result<O, E>,
    ) -> Result<Self, E> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Array(values) if row.array => {
                let elements = values
                    .iter()
                    .map(|value| Scalar::from_value(value, row, object))
                    .collect::<Result<_, _>>()?;
                let of = row.cim.automation();
                Ok(Self::Many { of, elements })
            }
            value if !row.array => Scalar::from_value(value, row, object).map(Self::One),
            _ => Err(row.refused().into()),
        }
    }

    /// Converts a received value of the type with this number in `CIMTYPE_ENUMERATION`: a VARIANT
    /// alone cannot distinguish a `char16` from a `sint16`. `object` reads the carrier of an
    /// embedded object.
    ///
    /// # Errors
    /// Malformed text; or `object` failed.
    pub fn into_value<E: From<SchemaMismatch>>(
        self,
        cim: i32,
        object: &mut dyn FnMut(O) -> Result<Instance, E>,
    ) -> Result<Value, E> {
        match self {
            Self::Null => Ok(Value::Null),
            Self::One(scalar) => scalar.into_value(cim, object),
            Self::Many { elements, .. } => elements
                .into_iter()
                .map(|element| element.into_value(cim, object))
                .collect::<Result<_, _>>()
                .map(Value::Array),
        }
    }
}

/// The class table's row for a value.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// For errors.
    pub name: &'a str,
    /// The declared type, of the elements where it is an array.
    pub cim: CimType,
    /// Whether it is an array.
    pub array: bool,
}

impl Row<'_> {
    fn refused(&self) -> SchemaMismatch {
        SchemaMismatch::value(self.name.to_owned())
    }
}

impl<O> Scalar<O> {
    fn from_value<E: From<SchemaMismatch>>(
        value: &Value,
        row: Row<'_>,
        object: &mut dyn FnMut(&Instance) -> Result<O, E>,
    ) -> Result<Self, E> {
        if let (CimType::Object(_), Value::Object(instance)) = (row.cim, value) {
            return object(instance).map(Self::Unknown);
        }
        Self::plain(row.cim, value).ok_or_else(|| row.refused().into())
    }

    /// The VARIANT of a value other than an object; `None` if the value is not of the type.
    fn plain(cim: CimType, value: &Value) -> Option<Self> {
        match (cim, value) {
            (CimType::Boolean, Value::Bool(value)) => Some(Self::Bool(*value)),
            (CimType::Uint8, Value::Ui1(value)) => Some(Self::Ui1(*value)),
            (CimType::Uint16, Value::I4(value)) => {
                u16::try_from(*value).ok().map(|_| Self::I4(*value))
            }
            (CimType::Char16, Value::I4(value)) => {
                let unit = u16::try_from(*value).ok()?;
                Some(Self::I2(unit.cast_signed()))
            }
            (CimType::Uint32 | CimType::Sint32, Value::I4(value)) => Some(Self::I4(*value)),
            (CimType::Uint64, Value::Text(text)) => text
                .parse::<u64>()
                .ok()
                .map(|_| Self::Bstr(Text::new(text))),
            (CimType::String | CimType::DateTime | CimType::Reference(_), Value::Text(text)) => {
                Some(Self::Bstr(Text::new(text)))
            }
            _ => None,
        }
    }

    fn into_value<E: From<SchemaMismatch>>(
        self,
        cim: i32,
        object: &mut dyn FnMut(O) -> Result<Instance, E>,
    ) -> Result<Value, E> {
        Ok(match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Bstr(text) => Value::Text(text.to_text()?),
            Self::I2(value) if is_char16(cim) => Value::I4(value.cast_unsigned().into()),
            Self::I2(value) => Value::I4(value.into()),
            Self::I4(value) => Value::I4(value),
            Self::Ui1(value) => Value::Ui1(value),
            Self::Unknown(carrier) => Value::Object(Box::new(object(carrier)?)),
        })
    }
}

/// `CIM_FLAG_ARRAY`, which comes on top of the type of an array's elements.
const OF_ARRAY: i32 = 0x2000;

fn is_char16(cim: i32) -> bool {
    cim & !OF_ARRAY == CimType::Char16.number()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use os::schema::{Automation, CimType};
    use os::{Instance, ObjectPath, Value};
    use proptest::prelude::{Strategy, any};
    use proptest::{prop_oneof, proptest};

    use super::{Row, Scalar, SchemaMismatch, Text, Variant};

    fn row(cim: CimType, array: bool) -> Row<'static> {
        let name = "Class.Property";
        Row { name, cim, array }
    }

    fn converted(value: &Value, row: Row<'_>) -> Result<Variant<Instance>, SchemaMismatch> {
        Variant::from_value(value, row, &mut |instance| Ok(instance.clone()))
    }

    fn value(converted: Variant<Instance>, cim: CimType) -> Result<Value, SchemaMismatch> {
        converted.into_value(cim.number(), &mut Ok)
    }

    fn instance(text: String) -> Instance {
        Instance {
            class: "Embedded".to_owned(),
            path: ObjectPath(String::new()),
            properties: BTreeMap::from([("Name".to_owned(), Value::Text(text))]),
        }
    }

    fn typed() -> impl Strategy<Value = (CimType, Value)> {
        let of_text = |cim| any::<String>().prop_map(move |it| (cim, Value::Text(it)));
        prop_oneof![
            any::<bool>().prop_map(|it| (CimType::Boolean, Value::Bool(it))),
            any::<u8>().prop_map(|it| (CimType::Uint8, Value::Ui1(it))),
            any::<u16>().prop_map(|it| (CimType::Uint16, Value::uint16(it))),
            any::<u16>().prop_map(|it| (CimType::Char16, Value::uint16(it))),
            any::<u32>().prop_map(|it| (CimType::Uint32, Value::uint32(it))),
            any::<i32>().prop_map(|it| (CimType::Sint32, Value::I4(it))),
            any::<u64>().prop_map(|it| (CimType::Uint64, Value::uint64(it))),
            of_text(CimType::String),
            of_text(CimType::DateTime),
            of_text(CimType::Reference("Elsewhere")),
            any::<String>().prop_map(|it| {
                let object = Value::Object(Box::new(instance(it)));
                (CimType::Object("Embedded"), object)
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_goes_out_comes_back((cim, sent) in typed()) {
            let out = converted(&sent, row(cim, false)).expect("of its type");
            assert_eq!(value(out, cim), Ok(sent));
        }

        #[test]
        fn arrays_keep_order_and_length((cim, sent) in typed(), length in 0_usize..4) {
            let sent = Value::Array(vec![sent; length]);
            let out = converted(&sent, row(cim, true)).expect("of its type");
            assert_eq!(value(out, cim), Ok(sent));
        }

        #[test]
        fn nulls_stay_nulls((cim, sent) in typed(), array: bool) {
            assert_eq!(converted(&Value::Null, row(cim, array)), Ok(Variant::Null));
            assert_eq!(value(Variant::Null, cim), Ok(Value::Null));
            let among = Value::Array(vec![sent, Value::Null]);
            assert!(converted(&among, row(cim, true)).is_err());
        }

        #[test]
        fn a_value_of_another_type_is_refused((cim, _) in typed(), (other, sent) in typed()) {
            let fits = converted(&sent, row(cim, false)).is_ok();
            let same = cim.automation() == other.automation();
            assert!(same || !fits || cim == CimType::Char16 || other == CimType::Char16);
            assert!(converted(&sent, row(cim, true)).is_err());
        }

        #[test]
        fn an_integer_leaves_in_the_variant_that_wmi_documents(small: u16, wide: u32, long: u64) {
            let out = |value: Value, cim| converted(&value, row(cim, false)).expect("of its type");
            let one = |scalar| Variant::One(scalar);
            assert_eq!(out(Value::uint16(small), CimType::Uint16), one(Scalar::I4(small.into())));
            assert_eq!(out(Value::uint32(wide), CimType::Uint32), one(Scalar::I4(wide.cast_signed())));
            let text = one(Scalar::Bstr(Text::new(&long.to_string())));
            assert_eq!(out(Value::uint64(long), CimType::Uint64), text);
        }

        #[test]
        fn small_signed_numbers_keep_their_sign(number: i16) {
            let sint16 = 2;
            let read = Variant::<Instance>::One(Scalar::I2(number)).into_value(sint16, &mut Ok::<_, SchemaMismatch>);
            assert_eq!(read, Ok(Value::I4(number.into())));
        }
    }

    #[test]
    fn an_empty_array_has_its_type() {
        let empty = converted(&Value::Array(Vec::new()), row(CimType::Uint64, true));
        let of = Automation::Bstr;
        let elements = Vec::new();
        assert_eq!(empty, Ok(Variant::Many { of, elements }));
    }

    #[test]
    fn half_a_surrogate_is_an_error_and_no_other_text() {
        let text = Text::from_units(vec![0x61, 0xD800]);
        assert_eq!(
            value(Variant::One(Scalar::Bstr(text)), CimType::String),
            Err(SchemaMismatch::Surrogate)
        );
    }

    #[test]
    fn texts_are_not_shown() {
        let shown = format!("{:?}", Scalar::<Instance>::Bstr(Text::new("secret")));
        assert_eq!(shown, "Bstr(Text(6 units))");
    }
}
