//! `IWbemClassObject`: definitions of classes, objects, parameters.

// UNSAFETY: the caller's places are filled.
#![expect(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use os::schema::{self, CimType, Class, Method};
use os::{Hresult, Instance, Value};
use windows::Win32::System::Com::{IErrorInfo, IErrorInfo_Impl, SAFEARRAY};
use windows::Win32::System::Variant::VARIANT;
use windows::Win32::System::Wmi::{
    IWbemClassObject, IWbemClassObject_Impl, IWbemQualifierSet, WBEM_COMPARISON_FLAG,
    WBEM_CONDITION_FLAG_TYPE, WBEM_FLAG_NONSYSTEM_ONLY,
};
use windows::core::{BSTR, GUID, IUnknown, OutRef, PCWSTR, Ref, Result, implement};

use super::failure::{INVALID_OPERATION, failed, not_served, refused, text};
use super::shape::{Field, Shape};
use super::variant;
use crate::held::{HeldCount, Token};
use crate::provided;
use crate::wmi::Shared;

/// A WMI object. Any of them may be left on a thread as its error object, so each has that
/// interface too.
#[implement(IWbemClassObject, IErrorInfo)]
pub(super) struct Object {
    shape: Shape,
    genus: Genus,
    path: Option<String>,
    /// For a class's definition: the source of its methods' in-parameters.
    node: Option<Arc<Shared>>,
    /// Its values; a definition has nulls.
    values: Mutex<BTreeMap<&'static str, Value>>,
    /// How far the enumeration of its properties is.
    cursor: Mutex<Option<usize>>,
    held: HeldCount,
    _token: Token,
}

/// `__GENUS`: <https://learn.microsoft.com/windows/win32/wmisdk/wmi-system-properties>.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Genus {
    Class = 1,
    Instance = 2,
}

impl Object {
    /// A provider's answer, with its own properties and nothing else.
    pub(super) fn answer(instance: Instance, held: &HeldCount) -> Result<Self> {
        let provider_failed = || refused(Hresult::WBEM_E_PROVIDER_FAILURE);
        let class = schema::class(&instance.class).ok_or_else(provider_failed)?;
        let mut values = BTreeMap::new();
        for (name, value) in instance.properties {
            let row = class.property(&name).ok_or_else(provider_failed)?;
            values.insert(row.name, value);
        }
        let path = Some(instance.path.0).filter(|path| !path.is_empty());
        Ok(Self::new(
            Shape::Class(class),
            Genus::Instance,
            path,
            values,
            held,
        ))
    }

    /// The definition of a class.
    pub(super) fn definition(class: &'static Class, node: &Arc<Shared>) -> Self {
        let empty = Self::empty(Shape::Class(class), Genus::Class, &node.held);
        let node = Some(Arc::clone(node));
        Self { node, ..empty }
    }

    /// A method's result.
    pub(super) fn output(
        method: &'static Method,
        values: BTreeMap<&'static str, Value>,
        held: &HeldCount,
    ) -> Self {
        Self::new(Shape::Output(method), Genus::Instance, None, values, held)
    }

    fn empty(shape: Shape, genus: Genus, held: &HeldCount) -> Self {
        let nulls = shape.fields().into_iter();
        let nulls = nulls.map(|field| (field.name, Value::Null)).collect();
        Self::new(shape, genus, None, nulls, held)
    }

    fn new(
        shape: Shape,
        genus: Genus,
        path: Option<String>,
        values: BTreeMap<&'static str, Value>,
        held: &HeldCount,
    ) -> Self {
        Self {
            shape,
            genus,
            path,
            node: None,
            values: Mutex::new(values),
            cursor: Mutex::default(),
            held: held.clone(),
            _token: held.take(),
        }
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<&'static str, Value>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cursor(&self) -> MutexGuard<'_, Option<usize>> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A property and its value.
    fn property(&self, name: &str) -> Result<(Field, Value)> {
        if name.starts_with("__") {
            return self.system(name);
        }
        let field = self.shape.field(name);
        let value = field.and_then(|field| self.values().get(field.name).cloned());
        let missing = || refused(Hresult::WBEM_E_NOT_FOUND);
        field.zip(value).ok_or_else(missing)
    }

    /// A property of every object by WMI itself.
    fn system(&self, name: &str) -> Result<(Field, Value)> {
        let path = |path: Option<&str>| path.map_or(Value::Null, Value::text);
        let whole = self.path.as_deref();
        let base = match self.shape {
            Shape::Class(class) => class.base.map(|base| base.name),
            Shape::Input(_) | Shape::Output(_) => None,
        };
        let (name, cim, value) = match name.to_ascii_uppercase().as_str() {
            "__CLASS" => ("__CLASS", CimType::String, Value::text(self.shape.name())),
            "__GENUS" => ("__GENUS", CimType::Sint32, Value::I4(self.genus as i32)),
            "__PATH" => ("__PATH", CimType::String, path(whole)),
            "__RELPATH" => ("__RELPATH", CimType::String, path(whole.and_then(relative))),
            "__SUPERCLASS" => ("__SUPERCLASS", CimType::String, path(base)),
            _ => return Err(refused(Hresult::WBEM_E_NOT_FOUND)),
        };
        let array = false;
        Ok((Field { name, cim, array }, value))
    }

    fn embed(&self, instance: &Instance) -> Option<IUnknown> {
        let object = Self::answer(instance.clone(), &self.held).ok()?;
        Some(object.into())
    }

    /// The definition of a method's in-parameters, if it has any: those known to the node.
    fn input(&self, class: &Class, method: &'static Method) -> Result<Option<IWbemClassObject>> {
        let node = self.node.as_ref();
        let node = node.ok_or_else(|| refused(Hresult::WBEM_E_INVALID_METHOD))?;
        let known = provided::inputs(&node.os, class, method);
        let known = known.map_err(|it| failed(it, &self.held))?;
        let shape = Shape::Input(method);
        let fields = shape.fields().into_iter().map(|field| field.name);
        let nulls: BTreeMap<_, _> = fields
            .filter(|name| known.contains(*name))
            .map(|name| (name, Value::Null))
            .collect();
        let definition = || Self::new(shape, Genus::Class, None, nulls.clone(), &self.held);
        Ok((!nulls.is_empty()).then(|| definition().into()))
    }

    /// The definition of a method's out-parameters: each has a return value.
    fn output_definition(&self, method: &'static Method) -> IWbemClassObject {
        Self::empty(Shape::Output(method), Genus::Class, &self.held).into()
    }

    fn method(&self, name: &str) -> Result<(&'static Class, &'static Method)> {
        let (Shape::Class(class), Genus::Class) = (self.shape, self.genus) else {
            return Err(refused(Hresult::WBEM_E_INVALID_METHOD));
        };
        let method = class.method(name);
        let method = method.ok_or_else(|| refused(Hresult::WBEM_E_NOT_FOUND))?;
        Ok((class, method))
    }

    /// Fills those of these places that exist.
    ///
    /// # Safety
    /// Each place is null or a writable one of the caller's.
    unsafe fn hand_out(&self, (field, value): (Field, Value), places: &Places) -> Result<()> {
        let variant = variant::of(&value, field, &|instance| self.embed(instance));
        let variant = variant.ok_or_else(|| refused(Hresult::WBEM_E_PROVIDER_FAILURE))?;
        let of_array = if field.array { OF_ARRAY } else { 0 };
        // SAFETY: our caller's promise.
        unsafe {
            if !places.value.is_null() {
                places.value.write(variant);
            }
            if !places.cim.is_null() {
                places.cim.write(field.cim.number() | of_array);
            }
            if !places.flavor.is_null() {
                places.flavor.write(0);
            }
        }
        Ok(())
    }
}

/// `CIM_FLAG_ARRAY`.
const OF_ARRAY: i32 = 0x2000;

struct Places {
    value: *mut VARIANT,
    cim: *mut i32,
    flavor: *mut i32,
}

fn relative(path: &str) -> Option<&str> {
    path.split_once(':').map(|(_, relative)| relative)
}

impl IWbemClassObject_Impl for Object_Impl {
    fn Get(
        &self,
        name: &PCWSTR,
        _: i32,
        value: *mut VARIANT,
        cim: *mut i32,
        flavor: *mut i32,
    ) -> Result<()> {
        let property = self.property(&text(name)?)?;
        // SAFETY: the places are the caller's, as COM has it.
        unsafe { self.hand_out(property, &Places { value, cim, flavor }) }
    }

    fn Put(&self, name: &PCWSTR, _: i32, value: *const VARIANT, _: i32) -> Result<()> {
        let (field, _) = self.property(&text(name)?)?;
        if self.genus == Genus::Class || field.name.starts_with("__") {
            return Err(refused(INVALID_OPERATION));
        }
        // SAFETY: null is told from a VARIANT, and the VARIANT is the caller's and whole.
        let value = match unsafe { value.as_ref() } {
            Some(variant) => variant::value(variant, field),
            None => Some(Value::Null),
        };
        let value = value.ok_or_else(|| refused(Hresult::WBEM_E_TYPE_MISMATCH))?;
        self.values().insert(field.name, value);
        Ok(())
    }

    fn BeginEnumeration(&self, _: i32) -> Result<()> {
        *self.cursor() = Some(0);
        Ok(())
    }

    fn Next(
        &self,
        _: i32,
        name: *mut BSTR,
        value: *mut VARIANT,
        cim: *mut i32,
        flavor: *mut i32,
    ) -> Result<()> {
        let mut cursor = self.cursor();
        let at = cursor.ok_or_else(|| refused(INVALID_OPERATION))?;
        let key = self.values().keys().nth(at).copied();
        let key = key.ok_or_else(|| refused(NO_MORE_DATA))?;
        let property = self.property(key)?;
        *cursor = Some(at + 1);
        // SAFETY: the places are the caller's, as COM has it; each is null or may be written to.
        unsafe {
            if !name.is_null() {
                name.write(BSTR::from(key));
            }
            self.hand_out(property, &Places { value, cim, flavor })
        }
    }

    fn EndEnumeration(&self) -> Result<()> {
        *self.cursor() = None;
        Ok(())
    }

    fn SpawnInstance(&self, _: i32) -> Result<IWbemClassObject> {
        if self.genus == Genus::Instance {
            return Err(refused(INVALID_OPERATION));
        }
        let values = self.values().clone();
        Ok(Object::new(self.shape, Genus::Instance, None, values, &self.held).into())
    }

    fn GetMethod(
        &self,
        name: &PCWSTR,
        _: i32,
        input: OutRef<'_, IWbemClassObject>,
        output: OutRef<'_, IWbemClassObject>,
    ) -> Result<()> {
        let (class, method) = self.method(&text(name)?)?;
        if !input.is_null() {
            input.write(self.input(class, method)?)?;
        }
        if !output.is_null() {
            output.write(Some(self.output_definition(method)))?;
        }
        Ok(())
    }

    fn GetQualifierSet(&self) -> Result<IWbemQualifierSet> {
        not_served()
    }

    fn Delete(&self, _: &PCWSTR) -> Result<()> {
        not_served()
    }

    fn GetNames(
        &self,
        qualifier: &PCWSTR,
        condition: WBEM_CONDITION_FLAG_TYPE,
        _: *const VARIANT,
    ) -> Result<*mut SAFEARRAY> {
        if !qualifier.is_null() || condition != WBEM_FLAG_NONSYSTEM_ONLY {
            return not_served();
        }
        let names: Vec<_> = self.values().keys().copied().collect();
        variant::list(&names)
    }

    fn GetPropertyQualifierSet(&self, _: &PCWSTR) -> Result<IWbemQualifierSet> {
        not_served()
    }

    fn Clone(&self) -> Result<IWbemClassObject> {
        not_served()
    }

    fn GetObjectText(&self, _: i32) -> Result<BSTR> {
        not_served()
    }

    fn SpawnDerivedClass(&self, _: i32) -> Result<IWbemClassObject> {
        not_served()
    }

    fn CompareTo(&self, _: WBEM_COMPARISON_FLAG, _: Ref<'_, IWbemClassObject>) -> Result<()> {
        not_served()
    }

    fn GetPropertyOrigin(&self, _: &PCWSTR) -> Result<BSTR> {
        not_served()
    }

    fn InheritsFrom(&self, _: &PCWSTR) -> Result<()> {
        not_served()
    }

    fn PutMethod(
        &self,
        _: &PCWSTR,
        _: i32,
        _: Ref<'_, IWbemClassObject>,
        _: Ref<'_, IWbemClassObject>,
    ) -> Result<()> {
        not_served()
    }

    fn DeleteMethod(&self, _: &PCWSTR) -> Result<()> {
        not_served()
    }

    fn BeginMethodEnumeration(&self, _: i32) -> Result<()> {
        not_served()
    }

    fn NextMethod(
        &self,
        _: i32,
        _: *mut BSTR,
        _: OutRef<'_, IWbemClassObject>,
        _: OutRef<'_, IWbemClassObject>,
    ) -> Result<()> {
        not_served()
    }

    fn EndMethodEnumeration(&self) -> Result<()> {
        not_served()
    }

    fn GetMethodQualifierSet(&self, _: &PCWSTR) -> Result<IWbemQualifierSet> {
        not_served()
    }

    fn GetMethodOrigin(&self, _: &PCWSTR) -> Result<BSTR> {
        not_served()
    }
}

/// `WBEM_S_NO_MORE_DATA`: a success; the wrapper around our method can return it only in this way.
const NO_MORE_DATA: Hresult = Hresult(0x0004_0005);

impl IErrorInfo_Impl for Object_Impl {
    fn GetGUID(&self) -> Result<GUID> {
        Ok(GUID::zeroed())
    }

    fn GetSource(&self) -> Result<BSTR> {
        not_served()
    }

    fn GetDescription(&self) -> Result<BSTR> {
        let (_, message) = self.property("Message")?;
        let text = message.as_text();
        text.map(BSTR::from)
            .map_err(|_| refused(Hresult::WBEM_E_NOT_FOUND))
    }

    fn GetHelpFile(&self) -> Result<BSTR> {
        not_served()
    }

    fn GetHelpContext(&self) -> Result<u32> {
        not_served()
    }
}
