use crate::Instance;

/// A value as WMI automation hands it over.
///
/// WMI has more types than automation: 64-bit integers travel as decimal text, all smaller integers
/// but `uint8` as a signed 32-bit number, and any property may be null. Source:
/// <https://learn.microsoft.com/windows/win32/wmisdk/numbers>. Typed reading is by [`Instance`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An array of values of one type.
    Array(Vec<Self>),
    /// `VT_BOOL`.
    Bool(bool),
    /// `VT_I4`: sint8, sint16, sint32, uint16 and uint32 (by its bits).
    I4(i32),
    /// `VT_NULL`: the object has the property, the property has no value.
    Null,
    /// An embedded object.
    Object(Box<Instance>),
    /// `VT_BSTR`: strings, references, dates and 64-bit integers.
    Text(String),
    /// `VT_UI1`.
    Ui1(u8),
}

impl Value {
    /// A `uint16` as automation carries it.
    #[must_use]
    pub fn uint16(value: u16) -> Self {
        Self::I4(i32::from(value))
    }

    /// A `uint32` as automation carries it: the same 32 bits, signed.
    #[must_use]
    pub fn uint32(value: u32) -> Self {
        Self::I4(value.cast_signed())
    }

    /// A `uint64` as automation carries it: decimal text.
    #[must_use]
    pub fn uint64(value: u64) -> Self {
        Self::Text(value.to_string())
    }

    /// A string.
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The unsigned integer that a `uint16`, `uint32` or `uint64` property carries.
    ///
    /// # Errors
    /// Null, another type, or text that is no number.
    pub fn unsigned(&self) -> Result<u64, ValueError> {
        match self {
            Self::I4(bits) => Ok(u64::from(bits.cast_unsigned())),
            Self::Ui1(byte) => Ok(u64::from(*byte)),
            Self::Text(text) => text
                .parse()
                .map_err(|_| ValueError::NotANumber(text.clone())),
            other => Err(other.mismatch("a number")),
        }
    }

    /// The string.
    ///
    /// # Errors
    /// Null or another type.
    pub fn as_text(&self) -> Result<&str, ValueError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.mismatch("text")),
        }
    }

    /// The boolean.
    ///
    /// # Errors
    /// Null or another type.
    pub fn as_bool(&self) -> Result<bool, ValueError> {
        match self {
            Self::Bool(value) => Ok(*value),
            other => Err(other.mismatch("a boolean")),
        }
    }

    fn mismatch(&self, wanted: &'static str) -> ValueError {
        match self {
            Self::Null => ValueError::Null,
            _ => ValueError::WrongType { wanted },
        }
    }
}

/// A value contradicts the documentation of its property.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The answer does not have the property at all.
    #[error("missing")]
    Missing,
    /// Text where a number was due.
    #[error("{0:?} is not a number")]
    NotANumber(String),
    /// The property has no value.
    #[error("null")]
    Null,
    /// The number does not fit.
    #[error("{0} is out of range")]
    OutOfRange(u64),
    /// Another type than documented.
    #[error("not {wanted}")]
    WrongType {
        /// The documented form of the property.
        wanted: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::{Value, ValueError};

    #[test]
    fn integers_survive_automation() {
        assert_eq!(Value::uint32(u32::MAX), Value::I4(-1));
        assert_eq!(Value::uint32(u32::MAX).unsigned(), Ok(u64::from(u32::MAX)));
        assert_eq!(Value::uint64(u64::MAX).unsigned(), Ok(u64::MAX));
    }

    /// Guards: P39
    #[test]
    fn null_is_never_zero_and_false() {
        assert_eq!(Value::Null.unsigned(), Err(ValueError::Null));
        assert_eq!(Value::Null.as_bool(), Err(ValueError::Null));
        assert_eq!(
            Value::text("").unsigned(),
            Err(ValueError::NotANumber(String::new()))
        );
    }
}
