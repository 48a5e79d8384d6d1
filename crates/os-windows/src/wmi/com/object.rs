//! One object or class definition of WMI's.

// UNSAFETY: interfaces of COM are called, and read and fill VARIANTs of ours.
#![expect(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use automation::{Row, SchemaMismatch, Variant, WmiError, path_of};
use os::schema::{self, Class, Property, wmi_error};
use os::{Cause, Hresult, Instance, ObjectPath, Value};
use windows::Win32::System::Wmi::{IWbemClassObject, WBEM_FLAG_NONSYSTEM_ONLY};
use windows::core::{IUnknown, Interface, PCWSTR};

use super::Called;
use super::failure::fault;
use super::variant::OwnedVariant;
use crate::wide::Wide;

/// `IWbemClassObject`.
pub(in crate::wmi) struct ClassObject(IWbemClassObject);

impl ClassObject {
    pub(super) fn new(object: IWbemClassObject) -> Self {
        Self(object)
    }

    pub(super) fn interface(&self) -> &IWbemClassObject {
        &self.0
    }

    pub(super) fn to_unknown(&self) -> Called<IUnknown> {
        self.0.cast().map_err(fault)
    }

    /// A property in automation's type (`Get`).
    pub(in crate::wmi) fn value(&self, name: &str) -> Called<Value> {
        let wide = Wide::new(name).map_err(Cause::Win32)?;
        let mut variant = OwnedVariant::empty();
        let mut cim = 0;
        // SAFETY: the name ends in a NUL, the VARIANT is empty and the number ours; all outlive the
        // call.
        let got = unsafe {
            self.0.Get(
                PCWSTR(wide.as_ptr()),
                0,
                variant.as_mut_ptr(),
                Some(&raw mut cim),
                None,
            )
        };
        got.map_err(fault)?;
        let converted = variant.read()?;
        converted.into_value(cim, &mut |object| object.embedded())
    }

    /// The same, or `None` where the object has no such property.
    pub(in crate::wmi) fn value_if_any(&self, name: &str) -> Called<Option<Value>> {
        match self.value(name) {
            Err(fault) if fault.cause == Cause::Hresult(Hresult::WBEM_E_NOT_FOUND) => Ok(None),
            other => other.map(Some),
        }
    }

    /// An answer of a query: it has all requested properties, and a path.
    pub(in crate::wmi) fn instance(&self, properties: &[&Property]) -> Called<Instance> {
        let mut values = BTreeMap::new();
        for property in properties {
            values.insert(property.name.to_owned(), self.value(property.name)?);
        }
        self.named(self.path()?, values)
    }

    /// An answer with a path and those of these properties that this build's class has.
    pub(in crate::wmi) fn whole(&self, properties: &[&Property]) -> Called<Instance> {
        let values = self.known(properties.iter().copied())?;
        self.named(self.path()?, values)
    }

    /// An embedded object: it need not have a path.
    pub(in crate::wmi) fn embedded(&self) -> Called<Instance> {
        let class = self.text(CLASS)?;
        let properties = schema::class(&class).into_iter();
        let values = self.known(properties.flat_map(Class::all_properties))?;
        let path = self.path().unwrap_or_else(|_| ObjectPath(String::new()));
        self.named(path, values)
    }

    /// Its properties of an error, whatever its class. Missing ones are left out: this is read because a call failed,
    /// and makes no call that would leave another error behind.
    pub(super) fn error(&self) -> Called<Instance> {
        let names = self.names()?;
        let is_there = |property: &&Property| names.contains(property.name);
        let there = wmi_error::CLASS.all_properties().filter(is_there);
        let value = |property: &Property| {
            let value = self.value(property.name).ok()?;
            Some((property.name.to_owned(), value))
        };
        self.named(ObjectPath(String::new()), there.filter_map(value).collect())
    }

    /// The in-parameters of a method, if it takes any (`GetMethod`). This is a class definition.
    pub(in crate::wmi) fn method(&self, name: &str) -> Called<Option<Self>> {
        let wide = Wide::new(name).map_err(Cause::Win32)?;
        let mut input = None;
        let mut output = None;
        // SAFETY: the name ends in a NUL, both places are empty; all outlive the call.
        let got = unsafe {
            self.0
                .GetMethod(PCWSTR(wide.as_ptr()), 0, &raw mut input, &raw mut output)
        };
        got.map_err(fault)?;
        Ok(input.map(Self))
    }

    /// Its properties, without WMI's own of every object (`GetNames`).
    pub(in crate::wmi) fn names(&self) -> Called<BTreeSet<String>> {
        // SAFETY: neither a name nor a value is handed over, for this condition has none.
        let array = unsafe {
            self.0
                .GetNames(PCWSTR::null(), WBEM_FLAG_NONSYSTEM_ONLY, ptr::null())
        };
        // SAFETY: the call made the array for us: it is one of strings.
        let names = unsafe { OwnedVariant::of_texts(array.map_err(fault)?) };
        names.read()?.into_texts().map_err(WmiError::from)
    }

    /// An instance of this class definition, all null or default (`SpawnInstance`).
    pub(in crate::wmi) fn spawn(&self) -> Called<Self> {
        // SAFETY: the interface is alive.
        unsafe { self.0.SpawnInstance(0) }.map(Self).map_err(fault)
    }

    /// Sets a property (`Put`). We cannot wipe the copy made there, nor the one sent to WMI's process, and it is not
    /// documented that WMI wipes them.
    pub(in crate::wmi) fn put(&self, row: Row<'_>, name: &str, value: &Value) -> Called<()> {
        let wide = Wide::new(name).map_err(Cause::Win32)?;
        // No method of the table takes an object.
        let no_object = &mut |_: &Instance| Err(SchemaMismatch::value(name.to_owned()));
        let converted: Variant<Self> = Variant::from_value(value, row, no_object)?;
        let variant = OwnedVariant::new(&converted)?;
        // SAFETY: name and VARIANT are whole and outlive the call, and the call copies the value.
        unsafe { self.0.Put(PCWSTR(wide.as_ptr()), 0, variant.as_ptr(), 0) }.map_err(fault)
    }

    fn known<'a>(
        &self,
        properties: impl Iterator<Item = &'a Property>,
    ) -> Called<BTreeMap<String, Value>> {
        let mut values = BTreeMap::new();
        for property in properties {
            if let Some(value) = self.value_if_any(property.name)? {
                values.insert(property.name.to_owned(), value);
            }
        }
        Ok(values)
    }

    fn named(&self, path: ObjectPath, properties: BTreeMap<String, Value>) -> Called<Instance> {
        let class = self.text(CLASS)?;
        Ok(Instance {
            class,
            path,
            properties,
        })
    }

    /// Its object path. Wine gives a path only to objects queried without selected columns, though
    /// the query requests one; the keys are always selected.
    fn path(&self) -> Called<ObjectPath> {
        if !self.value(PATH)?.is_null() {
            return self.text(PATH).map(ObjectPath);
        }
        let class = schema::class(&self.text(CLASS)?);
        let made = class.map(|class| path_of(class, &self.keys(class)));
        let pathless = || Cause::Malformed("an object without a path".to_owned()).into();
        made.flatten().ok_or_else(pathless)
    }

    fn keys(&self, class: &'static Class) -> Vec<(&'static str, Value)> {
        let value = |name| self.value(name).ok().map(|value| (name, value));
        class.keys().filter_map(|key| value(key.name)).collect()
    }

    /// A property of WMI's own. Wine's have NULs at their end.
    fn text(&self, name: &'static str) -> Called<String> {
        let value = self.value(name)?;
        let text = value
            .as_text()
            .map_err(|error| Cause::Malformed(format!("{name}: {error}")))?;
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

/// The class of an object, and where to find it again:
/// <https://learn.microsoft.com/windows/win32/wmisdk/wmi-system-properties>.
const CLASS: &str = "__CLASS";
const PATH: &str = "__PATH";
