//! Values in VARIANTs, each in the one of its CIM type.
//!
//! Types: <https://learn.microsoft.com/windows/win32/wmisdk/numbers> and the pages that [`CimType::automation`] cites.
//! The crate's own `TryFrom`s are not used: they go through `propsys`: Wine lacks it, and it converts unrequested
//! types.

// UNSAFETY: a VARIANT is a union, and arrays in one are foreign memory.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use os::schema::{Automation, CimType};
use os::{Instance, Value};
use windows::Win32::Foundation::{E_OUTOFMEMORY, VARIANT_BOOL};
use windows::Win32::System::Com::SAFEARRAY;
use windows::Win32::System::Ole::{
    SafeArrayCreateVector, SafeArrayGetDim, SafeArrayGetElement, SafeArrayGetLBound,
    SafeArrayGetUBound, SafeArrayPutElement,
};
use windows::Win32::System::Variant::{
    VARENUM, VARIANT, VARIANT_0_0_0, VT_ARRAY, VT_BOOL, VT_BSTR, VT_EMPTY, VT_I2, VT_I4, VT_NULL,
    VT_UI1, VT_UNKNOWN,
};
use windows::core::{BSTR, Error, IUnknown, Result};

use super::shape::Field;

/// Makes the carrier of an embedded object.
pub(super) type Embed<'a> = &'a dyn Fn(&Instance) -> Option<IUnknown>;

/// The VARIANT of a provider's value; `None` when the value is not of the field's type.
pub(super) fn of(value: &Value, field: Field, embed: Embed<'_>) -> Option<VARIANT> {
    match value {
        Value::Null => Some(null()),
        Value::Array(values) if field.array => {
            let elements: Option<Vec<_>> = values
                .iter()
                .map(|value| scalar(value, field.cim, embed))
                .collect();
            array(kind(field.cim), &elements?)
        }
        value if !field.array => scalar(value, field.cim, embed),
        _ => None,
    }
}

/// The value in a client's VARIANT; `None` if the VARIANT is not of the field's type, or the value is out of its range.
/// No client puts objects.
pub(super) fn value(variant: &VARIANT, field: Field) -> Option<Value> {
    if variant.vt() == VT_NULL || variant.vt() == VT_EMPTY {
        return Some(Value::Null);
    }
    let tag = kind(field.cim);
    // SAFETY: each reader reads the field of the tag compared before.
    let content = unsafe { &variant.Anonymous.Anonymous.Anonymous };
    if !field.array {
        return (variant.vt() == tag)
            .then(|| read(content, field.cim))
            .flatten();
    }
    if variant.vt().0 != VT_ARRAY.0 | tag.0 {
        return None;
    }
    // SAFETY: the tag says that this is the field.
    elements(unsafe { content.parray }, field.cim).map(Value::Array)
}

/// A list of texts, owned by the caller.
pub(super) fn list(texts: &[&str]) -> Result<*mut SAFEARRAY> {
    let texts: Vec<_> = texts.iter().map(|&text| VARIANT::from(text)).collect();
    let list = filled(VT_BSTR, &texts);
    list.ok_or_else(|| Error::from_hresult(E_OUTOFMEMORY))
}

/// The texts of a list; frees the list.
///
/// # Safety
/// The list is the caller's own, and of strings.
pub(super) unsafe fn texts(list: *mut SAFEARRAY) -> Option<Vec<String>> {
    // SAFETY: our caller's promise.
    let list = unsafe { owned(VT_BSTR, list) };
    // SAFETY: the tag says that this is the field.
    let values = elements(
        unsafe { list.Anonymous.Anonymous.Anonymous.parray },
        CimType::String,
    )?;
    let texts = values.iter().map(|it| it.as_text().map(str::to_owned).ok());
    texts.collect()
}

fn scalar(value: &Value, cim: CimType, embed: Embed<'_>) -> Option<VARIANT> {
    Some(match (cim, value) {
        (CimType::Boolean, Value::Bool(value)) => VARIANT::from(*value),
        (CimType::Uint8, Value::Ui1(value)) => VARIANT::from(*value),
        (CimType::Uint16, Value::I4(value)) => {
            VARIANT::from(i32::from(u16::try_from(*value).ok()?))
        }
        (CimType::Uint32 | CimType::Sint32, Value::I4(value)) => VARIANT::from(*value),
        (CimType::Char16, Value::I4(value)) => {
            VARIANT::from(u16::try_from(*value).ok()?.cast_signed())
        }
        (CimType::Uint64, Value::Text(text)) => {
            text.parse::<u64>().ok()?;
            VARIANT::from(BSTR::from(text))
        }
        (CimType::String | CimType::DateTime | CimType::Reference(_), Value::Text(text)) => {
            VARIANT::from(BSTR::from(text))
        }
        (CimType::Object(class), Value::Object(object)) if object.class == class => {
            VARIANT::from(embed(object)?)
        }
        _ => return None,
    })
}

fn null() -> VARIANT {
    let mut variant = VARIANT::default();
    // SAFETY: in any VARIANT the tag is here, and this one holds nothing.
    unsafe { (*variant.Anonymous.Anonymous).vt = VT_NULL };
    variant
}

fn kind(cim: CimType) -> VARENUM {
    match cim.automation() {
        Automation::Bool => VT_BOOL,
        Automation::Bstr => VT_BSTR,
        Automation::I2 => VT_I2,
        Automation::I4 => VT_I4,
        Automation::Ui1 => VT_UI1,
        Automation::Unknown => VT_UNKNOWN,
    }
}

fn array(kind: VARENUM, elements: &[VARIANT]) -> Option<VARIANT> {
    // SAFETY: the array was made here, of this type.
    filled(kind, elements).map(|array| unsafe { owned(kind, array) })
}

/// # Safety
/// The array is the caller's own, of elements of this type.
unsafe fn owned(kind: VARENUM, array: *mut SAFEARRAY) -> VARIANT {
    let mut variant = VARIANT::default();
    // SAFETY: the VARIANT holds nothing, and owns the array from now on, of the type in the tag.
    unsafe {
        let inner = &mut *variant.Anonymous.Anonymous;
        inner.vt = VARENUM(VT_ARRAY.0 | kind.0);
        inner.Anonymous.parray = array;
    }
    variant
}

fn filled(kind: VARENUM, elements: &[VARIANT]) -> Option<*mut SAFEARRAY> {
    let length = u32::try_from(elements.len()).ok()?;
    // SAFETY: any type and length will do; failure is null.
    let array = unsafe { SafeArrayCreateVector(kind, 0, length) };
    if array.is_null() {
        return None;
    }
    for (index, element) in (0_i32..).zip(elements) {
        // SAFETY: the array has this element, and `content` is of its type.
        unsafe { SafeArrayPutElement(array, &raw const index, content(element)) }.ok()?;
    }
    Some(array)
}

/// `SafeArrayPutElement` takes a string or an object itself, a pointer to all else.
fn content(element: &VARIANT) -> *const c_void {
    // SAFETY: in any VARIANT the content begins here; under these two tags it is one pointer.
    unsafe {
        let content = &element.Anonymous.Anonymous.Anonymous;
        match element.vt() {
            VT_BSTR | VT_UNKNOWN => content.byref,
            _ => ptr::from_ref(content).cast(),
        }
    }
}

fn read(content: &VARIANT_0_0_0, cim: CimType) -> Option<Value> {
    // SAFETY: the caller compared the tag with the type, so each field read is the present one.
    unsafe {
        match cim.automation() {
            Automation::Bool => Some(Value::Bool(content.boolVal.as_bool())),
            Automation::Bstr => text(&content.bstrVal, cim),
            Automation::I2 => Some(Value::uint16(content.iVal.cast_unsigned())),
            Automation::I4 => number(content.lVal, cim),
            Automation::Ui1 => Some(Value::Ui1(content.bVal)),
            Automation::Unknown => None,
        }
    }
}

fn number(number: i32, cim: CimType) -> Option<Value> {
    if cim == CimType::Uint16 {
        u16::try_from(number).ok()?;
    }
    Some(Value::I4(number))
}

fn text(string: &BSTR, cim: CimType) -> Option<Value> {
    let text = String::from_utf16(string).ok()?;
    if cim == CimType::Uint64 {
        text.parse::<u64>().ok()?;
    }
    Some(Value::Text(text))
}

fn elements(array: *const SAFEARRAY, cim: CimType) -> Option<Vec<Value>> {
    // SAFETY: the array is the client's, whole, and outlives the call.
    let (first, last) = unsafe {
        if SafeArrayGetDim(array) != 1 {
            return None;
        }
        (
            SafeArrayGetLBound(array, 1).ok()?,
            SafeArrayGetUBound(array, 1).ok()?,
        )
    };
    (first..=last)
        .map(|index| element(array, index, cim))
        .collect()
}

fn element(array: *const SAFEARRAY, index: i32, cim: CimType) -> Option<Value> {
    match cim.automation() {
        Automation::Bool => Some(Value::Bool(
            copied(array, index, VARIANT_BOOL(0))?.as_bool(),
        )),
        Automation::Bstr => text(&copied(array, index, BSTR::new())?, cim),
        Automation::I2 => Some(Value::uint16(copied(array, index, 0_i16)?.cast_unsigned())),
        Automation::I4 => number(copied(array, index, 0_i32)?, cim),
        Automation::Ui1 => copied(array, index, 0_u8).map(Value::Ui1),
        Automation::Unknown => None,
    }
}

/// A copy of an element, in the place of a value of its type that owns nothing.
fn copied<T>(array: *const SAFEARRAY, index: i32, mut place: T) -> Option<T> {
    // SAFETY: the array's type was compared with the field's by its tag, and `element` chooses `T` by
    // the same type.
    unsafe { SafeArrayGetElement(array, &raw const index, ptr::from_mut(&mut place).cast()) }
        .ok()?;
    Some(place)
}
