use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{Cause, Deadline, Error, Result, Value, ValueError};

/// A WMI provider: the objects of a namespace and their methods.
///
/// Storage, SMB mappings and iSCSI are all reached through this one trait; which classes exist,
/// their properties, methods and return codes is in [`crate::schema`]. An implementation answers
/// from the provider's own cache, as Windows does: it may lag behind [`crate::Disks`] and
/// [`crate::Volumes`] until `MSFT_Disk.Refresh` or `MSFT_StorageSetting.UpdateHostStorageCache`.
pub trait Provider: Send + Sync {
    /// The instances of a class that meet all conditions, each with a usable [`ObjectPath`].
    ///
    /// # Errors
    /// An unknown class or property, a provider failure, the deadline.
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>>;

    /// The instances of `result_class` that `association` ties to the object `of`.
    ///
    /// # Errors
    /// As [`Provider::query`]; [`crate::Hresult::WBEM_E_NOT_FOUND`] when `of` does not exist any more.
    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>>;

    /// Runs a method. A return value other than zero is an [`Outcome`], not an error.
    ///
    /// # Errors
    /// The call itself failed: no such object or method, a wrong argument type, the deadline (then
    /// the method may still be running and take effect).
    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome>;

    /// The names of the in-parameters that a method has on this build of Windows, as its own class
    /// definition spells them; names in WMI have no case. Of what [`crate::schema`] has, an older build
    /// may lack some.
    ///
    /// # Errors
    /// This build has no such class or method, the deadline.
    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>>;
}

/// A query for the instances of one class: `SELECT select FROM class WHERE a = b AND ...`.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// The class, as [`crate::schema`] names it.
    pub class: &'static str,
    /// The properties wanted; the key always comes along in [`Instance::path`].
    pub select: &'a [&'static str],
    /// Conditions that must all hold.
    pub conditions: Vec<Predicate>,
}

impl<'a> Query<'a> {
    /// All instances of a class.
    #[must_use]
    pub fn all(class: &'static str, select: &'a [&'static str]) -> Self {
        Self {
            class,
            select,
            conditions: Vec::new(),
        }
    }

    /// Keeps the instances whose property equals the value; with null, those without a value.
    #[must_use]
    pub fn with(mut self, property: &'static str, value: Value) -> Self {
        self.conditions.push(Predicate {
            property,
            comparison: Comparison::Equal,
            value,
        });
        self
    }

    /// Leaves out the instances whose property equals the value; WMI leaves out nulls as well.
    #[must_use]
    pub fn without(mut self, property: &'static str, value: Value) -> Self {
        self.conditions.push(Predicate {
            property,
            comparison: Comparison::NotEqual,
            value,
        });
        self
    }
}

/// One condition of a [`Query`].
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// The property that is compared.
    pub property: &'static str,
    /// How.
    pub comparison: Comparison,
    /// With what, in automation's type. Text compares without regard to case, as WQL does.
    pub value: Value,
}

/// How a [`Predicate`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
}

/// The path by which WMI finds one instance again: opaque, valid while the object exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectPath(pub String);

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The object or class of a method call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A static method of a class.
    Class(&'static str),
    /// A method of one instance.
    Instance(&'a ObjectPath),
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => f.write_str(class),
            Self::Instance(path) => path.fmt(f),
        }
    }
}

/// The in-parameters of a method by name; one that is not here stays null. Its debug form has the names
/// alone, because a value may be a password.
#[derive(Clone, Default, PartialEq)]
pub struct Arguments(pub BTreeMap<&'static str, Value>);

impl Arguments {
    /// No arguments.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Sets one argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.0.insert(name, value);
        self
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The result of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The return value; zero is success, the others are in the method's row of the schema.
    pub code: Returned,
    /// The out-parameters.
    pub out: BTreeMap<String, Value>,
    /// The text of `MSFT_StorageExtendedStatus`, in the node's language: data, never matched on.
    pub extended: Option<String>,
}

impl Outcome {
    /// An answer without out-parameters.
    #[must_use]
    pub fn of(code: impl Into<Returned>) -> Self {
        Self {
            code: code.into(),
            out: BTreeMap::new(),
            extended: None,
        }
    }
}

/// The `ReturnValue` of a method that WMI ended without an error.
///
/// It equals a number that it has, and null equals none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// This.
    Code(u32),
    /// The provider left it null, which proves neither success nor failure of the method.
    Null,
}

impl fmt::Display for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Null => f.write_str("null"),
        }
    }
}

impl From<u32> for Returned {
    fn from(code: u32) -> Self {
        Self::Code(code)
    }
}

impl PartialEq<u32> for Returned {
    fn eq(&self, code: &u32) -> bool {
        *self == Self::Code(*code)
    }
}

/// One object that a provider answered with.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its class.
    pub class: String,
    /// Where to find it again.
    pub path: ObjectPath,
    /// The properties that were selected.
    pub properties: BTreeMap<String, Value>,
}

impl Instance {
    /// The property as it came.
    ///
    /// # Errors
    /// It was not among the answer's properties.
    pub fn value(&self, property: &'static str) -> Result<&Value> {
        self.properties
            .get(property)
            .ok_or_else(|| self.wrong(property, &ValueError::Missing))
    }

    /// A string property.
    ///
    /// # Errors
    /// Missing, null or of another type.
    pub fn text(&self, property: &'static str) -> Result<&str> {
        let value = self.value(property)?;
        value
            .as_text()
            .map_err(|error| self.wrong(property, &error))
    }

    /// A string property that may be null.
    ///
    /// # Errors
    /// Missing or of another type.
    pub fn text_or_null(&self, property: &'static str) -> Result<Option<&str>> {
        self.nullable(property, |_| self.text(property))
    }

    /// A boolean property that may be null.
    ///
    /// # Errors
    /// Missing or of another type.
    pub fn bool_or_null(&self, property: &'static str) -> Result<Option<bool>> {
        self.nullable(property, |_| self.bool(property))
    }

    /// A boolean property.
    ///
    /// # Errors
    /// Missing, null or of another type.
    pub fn bool(&self, property: &'static str) -> Result<bool> {
        let value = self.value(property)?;
        value
            .as_bool()
            .map_err(|error| self.wrong(property, &error))
    }

    /// An unsigned property of up to 64 bits.
    ///
    /// # Errors
    /// Missing, null, or no number.
    pub fn u64(&self, property: &'static str) -> Result<u64> {
        let value = self.value(property)?;
        value
            .unsigned()
            .map_err(|error| self.wrong(property, &error))
    }

    /// An unsigned property of up to 32 bits.
    ///
    /// # Errors
    /// Missing, null, no number, or one that needs more than 32 bits.
    pub fn u32(&self, property: &'static str) -> Result<u32> {
        let wide = self.u64(property)?;
        u32::try_from(wide).map_err(|_| self.wrong(property, &ValueError::OutOfRange(wide)))
    }

    /// An unsigned property of up to 32 bits that may be null.
    ///
    /// # Errors
    /// Missing, no number, or one that needs more than 32 bits.
    pub fn u32_or_null(&self, property: &'static str) -> Result<Option<u32>> {
        self.nullable(property, |_| self.u32(property))
    }

    fn nullable<'a, T>(
        &'a self,
        property: &'static str,
        read: impl FnOnce(&'a Value) -> Result<T>,
    ) -> Result<Option<T>> {
        let value = self.value(property)?;
        if value.is_null() {
            return Ok(None);
        }
        read(value).map(Some)
    }

    fn wrong(&self, property: &str, error: &ValueError) -> Error {
        let object = format!("{}.{property}", self.path);
        Error::new("read property", object, Cause::Malformed(error.to_string()))
    }
}
