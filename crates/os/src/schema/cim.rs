//! CIM types and how they cross COM.

/// The type that a class declares for a property or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CimType {
    Boolean,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Sint32,
    String,
    /// One UTF-16 code unit.
    Char16,
    /// Text of the form `yyyymmddHHMMSS.mmmmmmsUUU`.
    DateTime,
    /// An object carried by value; the name of its class.
    Object(&'static str),
    /// The path of an object, as text; the name of its class.
    Reference(&'static str),
}

/// The VARIANT type in which `IWbemClassObject::Get` returns a value, and `Put` takes it.
///
/// An absent value is `VT_NULL` for every type, and an array is `VT_ARRAY` of the element's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Automation {
    /// `VT_BOOL`.
    Bool,
    /// `VT_UI1`.
    Ui1,
    /// `VT_I2`.
    I2,
    /// `VT_I4`. A `uint32` above `i32::MAX` arrives as a negative number: same bits.
    I4,
    /// `VT_BSTR`. A 64-bit integer arrives as decimal text.
    Bstr,
    /// `VT_UNKNOWN`; query it for `IWbemClassObject`.
    Unknown,
}

impl CimType {
    /// How a value of this type crosses COM.
    ///
    /// Integers: <https://learn.microsoft.com/en-us/windows/win32/wmisdk/numbers>. The rest:
    /// <https://learn.microsoft.com/en-us/windows/win32/wmisdk/mof-data-types> and the pages it
    /// lists. Microsoft's own client maps all of them so, both ways:
    /// <https://github.com/dotnet/runtime/blob/main/src/libraries/System.Management/src/System/Management/Property.cs>.
    pub const fn automation(self) -> Automation {
        match self {
            Self::Boolean => Automation::Bool,
            Self::Uint8 => Automation::Ui1,
            Self::Char16 => Automation::I2,
            Self::Uint16 | Self::Uint32 | Self::Sint32 => Automation::I4,
            Self::Uint64 | Self::String | Self::DateTime | Self::Reference(_) => Automation::Bstr,
            Self::Object(_) => Automation::Unknown,
        }
    }

    /// The number that stands for this type in `CIMTYPE_ENUMERATION`.
    ///
    /// <https://learn.microsoft.com/en-us/windows/win32/api/wbemdisp/ne-wbemdisp-wbemcimtypeenum>
    pub const fn number(self) -> i32 {
        match self {
            Self::Sint32 => 3,
            Self::String => 8,
            Self::Boolean => 11,
            Self::Object(_) => 13,
            Self::Uint8 => 17,
            Self::Uint16 => 18,
            Self::Uint32 => 19,
            Self::Uint64 => 21,
            Self::DateTime => 101,
            Self::Reference(_) => 102,
            Self::Char16 => 103,
        }
    }

    /// The class that an object or a reference is of.
    pub const fn class(self) -> Option<&'static str> {
        match self {
            Self::Object(class) | Self::Reference(class) => Some(class),
            _ => None,
        }
    }
}
