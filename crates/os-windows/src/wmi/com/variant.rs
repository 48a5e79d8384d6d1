//! VARIANTs, and the strings and arrays in them.

// UNSAFETY: a VARIANT is a union with a tag, and its arrays are read and filled by foreign functions.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;

use automation::{Scalar, SchemaMismatch, Text, Variant};
use os::schema::Automation;
use os::{Cause, Win32};
use windows::Win32::Foundation::{SysAllocStringLen, VARIANT_BOOL};
use windows::Win32::System::Com::SAFEARRAY;
use windows::Win32::System::Ole::{
    SafeArrayCreateVector, SafeArrayGetDim, SafeArrayGetElement, SafeArrayGetLBound,
    SafeArrayGetUBound, SafeArrayGetVartype, SafeArrayPutElement,
};
use windows::Win32::System::Variant::{
    VARENUM, VARIANT, VARIANT_0, VARIANT_0_0, VARIANT_0_0_0, VT_ARRAY, VT_BOOL, VT_BSTR, VT_EMPTY,
    VT_I2, VT_I4, VT_NULL, VT_UI1, VT_UNKNOWN,
};
use windows::core::{BSTR, IUnknown, Interface};
use zeroize::Zeroize;

use super::failure::fault;
use super::{Called, ClassObject};

/// A VARIANT. A string in it is wiped before it is freed: it may be a password. The crate's own conversions are not
/// used, since they go through `propsys`, and that also converts unrequested types.
pub(super) struct OwnedVariant(VARIANT);

impl OwnedVariant {
    /// An empty one, for a call to fill.
    pub(super) fn empty() -> Self {
        Self(VARIANT::default())
    }

    /// A VARIANT to send.
    pub(super) fn new(converted: &Variant<ClassObject>) -> Called<Self> {
        match converted {
            Variant::Null => Ok(Self::tagged(VT_NULL, VARIANT_0_0_0 { lVal: 0 })),
            Variant::One(scalar) => Self::scalar(scalar),
            Variant::Many { of, elements } => {
                let kind = kind(*of);
                let parray = filled(kind, elements)?;
                let tag = VARENUM(VT_ARRAY.0 | kind.0);
                Ok(Self::tagged(tag, VARIANT_0_0_0 { parray }))
            }
        }
    }

    /// A list of strings made by a call, freed with this.
    ///
    /// # Safety
    /// It is null or an array of strings, and the caller's own.
    pub(super) unsafe fn of_texts(parray: *mut SAFEARRAY) -> Self {
        let tag = VARENUM(VT_ARRAY.0 | VT_BSTR.0);
        Self::tagged(tag, VARIANT_0_0_0 { parray })
    }

    /// A received VARIANT's content.
    pub(super) fn read(&self) -> Called<Variant<ClassObject>> {
        let kind = self.kind();
        if kind == VT_EMPTY || kind == VT_NULL {
            return Ok(Variant::Null);
        }
        if kind.0 & VT_ARRAY.0 != 0 {
            return self.read_array();
        }
        self.read_scalar().map(Variant::One)
    }

    pub(super) fn as_ptr(&self) -> *const VARIANT {
        &raw const self.0
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut VARIANT {
        &raw mut self.0
    }

    fn scalar(scalar: &Scalar<ClassObject>) -> Called<Self> {
        let (kind, content) = match scalar {
            Scalar::Bool(value) => {
                let value = VARIANT_BOOL::from(*value);
                (VT_BOOL, VARIANT_0_0_0 { boolVal: value })
            }
            Scalar::Bstr(text) => {
                let string = ManuallyDrop::new(bstr(text)?);
                (VT_BSTR, VARIANT_0_0_0 { bstrVal: string })
            }
            Scalar::I2(value) => (VT_I2, VARIANT_0_0_0 { iVal: *value }),
            Scalar::I4(value) => (VT_I4, VARIANT_0_0_0 { lVal: *value }),
            Scalar::Ui1(value) => (VT_UI1, VARIANT_0_0_0 { bVal: *value }),
            Scalar::Unknown(object) => {
                let unknown = ManuallyDrop::new(Some(object.to_unknown()?));
                (VT_UNKNOWN, VARIANT_0_0_0 { punkVal: unknown })
            }
        };
        Ok(Self::tagged(kind, content))
    }

    /// `content` has to be the tag's field, and to be owned.
    fn tagged(vt: VARENUM, content: VARIANT_0_0_0) -> Self {
        let tagged = VARIANT_0_0 {
            vt,
            wReserved1: 0,
            wReserved2: 0,
            wReserved3: 0,
            Anonymous: content,
        };
        Self(VARIANT {
            Anonymous: VARIANT_0 {
                Anonymous: ManuallyDrop::new(tagged),
            },
        })
    }

    fn kind(&self) -> VARENUM {
        // SAFETY: in any VARIANT the tag is here.
        unsafe { self.0.Anonymous.Anonymous.vt }
    }

    fn read_scalar(&self) -> Called<Scalar<ClassObject>> {
        // SAFETY: as in `kind`; each field is read under its own tag alone.
        let content = unsafe { &self.0.Anonymous.Anonymous.Anonymous };
        match self.kind() {
            // SAFETY: the tag says that this is the field.
            VT_BOOL => Ok(Scalar::Bool(unsafe { content.boolVal }.as_bool())),
            // SAFETY: the tag says that this is the field.
            VT_BSTR => Ok(Scalar::Bstr(text(unsafe { &content.bstrVal }))),
            // SAFETY: the tag says that this is the field.
            VT_I2 => Ok(Scalar::I2(unsafe { content.iVal })),
            // SAFETY: the tag says that this is the field.
            VT_I4 => Ok(Scalar::I4(unsafe { content.lVal })),
            // SAFETY: the tag says that this is the field.
            VT_UI1 => Ok(Scalar::Ui1(unsafe { content.bVal })),
            // SAFETY: the tag says that this is the field.
            VT_UNKNOWN => object(unsafe { content.punkVal.as_ref() }),
            VARENUM(other) => Err(mismatch(SchemaMismatch::Kind(other))),
        }
    }

    fn read_array(&self) -> Called<Variant<ClassObject>> {
        // SAFETY: the tag says that the field is an array; it lives as long as this does.
        let array = unsafe { self.0.Anonymous.Anonymous.Anonymous.parray };
        let kind = VARENUM(self.kind().0 & !VT_ARRAY.0);
        let array = List::of(array, kind)?;
        let (of, read): (_, ReadElement) = match kind {
            VT_BOOL => (Automation::Bool, List::bool),
            VT_BSTR => (Automation::Bstr, List::bstr),
            VT_I2 => (Automation::I2, List::i2),
            VT_I4 => (Automation::I4, List::i4),
            VT_UI1 => (Automation::Ui1, List::ui1),
            VT_UNKNOWN => (Automation::Unknown, List::unknown),
            VARENUM(other) => return Err(mismatch(SchemaMismatch::Kind(other))),
        };
        let elements = array.indices().map(|index| read(&array, index));
        let elements = elements.collect::<Called<_>>()?;
        Ok(Variant::Many { of, elements })
    }
}

impl Drop for OwnedVariant {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl OwnedVariant {
    fn wipe(&mut self) {
        if self.kind() == VT_BSTR {
            // SAFETY: the tag says that this is the field, and the string is this VARIANT's own.
            wipe(unsafe { &mut (*self.0.Anonymous.Anonymous).Anonymous.bstrVal });
        }
    }
}

/// A string of its own. `SysAllocStringLen` makes a string for an empty text too; with a null pointer the provider
/// would decide whether it is a text.
pub(super) fn bstr(text: &Text) -> Called<BSTR> {
    // SAFETY: the call copies the units.
    let string = unsafe { SysAllocStringLen(Some(text.units())) };
    if string.len() != text.units().len() {
        return Err(out_of_memory());
    }
    Ok(string)
}

fn text(string: &BSTR) -> Text {
    Text::from_units(string.to_vec())
}

fn wipe(string: &mut BSTR) {
    let (start, length) = (string.as_ptr().cast_mut(), string.len());
    if length == 0 {
        return;
    }
    // SAFETY: a BSTR is memory of the allocator, without other references while we have it
    // exclusively, and it is this long.
    unsafe { std::slice::from_raw_parts_mut(start, length) }.zeroize();
}

fn object(unknown: Option<&IUnknown>) -> Called<Scalar<ClassObject>> {
    let unknown = unknown.ok_or_else(|| mismatch(SchemaMismatch::Kind(VT_UNKNOWN.0)))?;
    let object = unknown.cast().map_err(fault)?;
    Ok(Scalar::Unknown(ClassObject::new(object)))
}

fn kind(of: Automation) -> VARENUM {
    match of {
        Automation::Bool => VT_BOOL,
        Automation::Bstr => VT_BSTR,
        Automation::I2 => VT_I2,
        Automation::I4 => VT_I4,
        Automation::Ui1 => VT_UI1,
        Automation::Unknown => VT_UNKNOWN,
    }
}

/// A new array, owned by its future VARIANT. If filling fails, the VARIANT that holds it meanwhile
/// destroys it.
fn filled(kind: VARENUM, elements: &[Scalar<ClassObject>]) -> Called<*mut SAFEARRAY> {
    let length = u32::try_from(elements.len()).map_err(|_| mismatch(SchemaMismatch::NoList))?;
    // SAFETY: any type and length will do; failure is null.
    let array = unsafe { SafeArrayCreateVector(kind, 0, length) };
    if array.is_null() {
        return Err(out_of_memory());
    }
    let tag = VARENUM(VT_ARRAY.0 | kind.0);
    let holder = OwnedVariant::tagged(tag, VARIANT_0_0_0 { parray: array });
    for (index, element) in (0_i32..).zip(elements) {
        let element = OwnedVariant::scalar(element)?;
        if element.kind() != kind {
            return Err(mismatch(SchemaMismatch::NoList));
        }
        // SAFETY: the array has this element, of the type of `content`; the call copies it.
        let put = unsafe { SafeArrayPutElement(array, &raw const index, element.content()) };
        put.map_err(fault)?;
    }
    let _ = ManuallyDrop::new(holder);
    Ok(array)
}

impl OwnedVariant {
    /// The argument of `SafeArrayPutElement`: the string or the object itself, a pointer to all
    /// else.
    fn content(&self) -> *const c_void {
        // SAFETY: in any VARIANT the content begins here.
        let content = unsafe { &self.0.Anonymous.Anonymous.Anonymous };
        if self.kind() == VT_BSTR || self.kind() == VT_UNKNOWN {
            // SAFETY: under either tag the content is one pointer, a BSTR or an interface's.
            return unsafe { content.byref };
        }
        ptr::from_ref(content).cast()
    }
}

type ReadElement = fn(&List, i32) -> Called<Scalar<ClassObject>>;

/// A VARIANT's array of one dimension.
struct List {
    array: *const SAFEARRAY,
    first: i32,
    last: i32,
}

impl List {
    fn of(array: *const SAFEARRAY, kind: VARENUM) -> Called<Self> {
        let no_list = || mismatch(SchemaMismatch::NoList);
        // SAFETY: null is checked first; otherwise the VARIANT's array is one.
        if array.is_null() || unsafe { SafeArrayGetDim(array) } != 1 {
            return Err(no_list());
        }
        // SAFETY: the array exists.
        let is_kind = unsafe { SafeArrayGetVartype(array) }.is_ok_and(|found| found == kind);
        // SAFETY: it has a first dimension.
        let first = unsafe { SafeArrayGetLBound(array, 1) }.map_err(fault)?;
        // SAFETY: it has a first dimension.
        let last = unsafe { SafeArrayGetUBound(array, 1) }.map_err(fault)?;
        if !is_kind || last.checked_sub(first).is_none_or(|length| length < -1) {
            return Err(no_list());
        }
        Ok(Self { array, first, last })
    }

    fn indices(&self) -> std::ops::RangeInclusive<i32> {
        self.first..=self.last
    }

    fn bool(&self, index: i32) -> Called<Scalar<ClassObject>> {
        let value = self.element(index, VARIANT_BOOL(0))?;
        Ok(Scalar::Bool(value.as_bool()))
    }

    fn bstr(&self, index: i32) -> Called<Scalar<ClassObject>> {
        let string = self.element(index, BSTR::new())?;
        Ok(Scalar::Bstr(text(&string)))
    }

    fn i2(&self, index: i32) -> Called<Scalar<ClassObject>> {
        self.element(index, 0).map(Scalar::I2)
    }

    fn i4(&self, index: i32) -> Called<Scalar<ClassObject>> {
        self.element(index, 0).map(Scalar::I4)
    }

    fn ui1(&self, index: i32) -> Called<Scalar<ClassObject>> {
        self.element(index, 0).map(Scalar::Ui1)
    }

    fn unknown(&self, index: i32) -> Called<Scalar<ClassObject>> {
        let unknown: Option<IUnknown> = self.element(index, None)?;
        object(unknown.as_ref())
    }

    /// A copy of an element, in the place of `element`; its type has to be the array's.
    fn element<T>(&self, index: i32, mut element: T) -> Called<T> {
        let place = ptr::from_mut(&mut element).cast();
        // SAFETY: the methods above are chosen by the array's own type, and pass a value of just
        // this type that owns nothing; the copy written over it is ours.
        unsafe { SafeArrayGetElement(self.array, &raw const index, place) }.map_err(fault)?;
        Ok(element)
    }
}

fn mismatch(mismatch: SchemaMismatch) -> automation::WmiError {
    mismatch.into()
}

fn out_of_memory() -> automation::WmiError {
    Cause::Win32(Win32(14)).into()
}

#[cfg(test)]
mod tests {
    use automation::{Scalar, Text, Variant};
    use os::schema::Automation;

    use super::OwnedVariant;
    use crate::wmi::com::ClassObject;

    fn shown(converted: &Variant<ClassObject>) -> String {
        let scalar = |scalar: &Scalar<ClassObject>| match scalar {
            Scalar::Bool(value) => format!("bool {value}"),
            Scalar::Bstr(text) => format!("bstr {:?}", text.units()),
            Scalar::I2(value) => format!("i2 {value}"),
            Scalar::I4(value) => format!("i4 {value}"),
            Scalar::Ui1(value) => format!("ui1 {value}"),
            Scalar::Unknown(_) => "unknown".to_owned(),
        };
        match converted {
            Variant::Null => "null".to_owned(),
            Variant::One(one) => scalar(one),
            Variant::Many { of, elements } => {
                let elements: Vec<_> = elements.iter().map(scalar).collect();
                format!("{of:?} {elements:?}")
            }
        }
    }

    fn survives(converted: &Variant<ClassObject>) {
        let variant = OwnedVariant::new(converted).expect("a VARIANT");
        let read = variant.read().expect("what was put there");
        assert_eq!(shown(&read), shown(converted));
    }

    fn bstr(text: &str) -> Scalar<ClassObject> {
        Scalar::Bstr(Text::new(text))
    }

    #[test]
    fn scalars_survive_a_variant() {
        survives(&Variant::Null);
        for one in [
            Scalar::Bool(true),
            Scalar::Bool(false),
            Scalar::I2(i16::MIN),
            Scalar::I4(-1),
            Scalar::Ui1(u8::MAX),
            bstr(""),
            bstr("18446744073709551615"),
            bstr("a\0b \u{1F4BE}"),
            Scalar::Bstr(Text::from_units(vec![0xD800])),
        ] {
            survives(&Variant::One(one));
        }
    }

    #[test]
    fn arrays_survive_a_variant() {
        let many = |of, elements| survives(&Variant::Many { of, elements });
        many(
            Automation::Bool,
            vec![Scalar::Bool(true), Scalar::Bool(false)],
        );
        many(
            Automation::Bstr,
            vec![bstr("a"), bstr(""), bstr("long enough to be elsewhere")],
        );
        many(Automation::I2, vec![Scalar::I2(-2), Scalar::I2(3)]);
        many(Automation::I4, vec![Scalar::I4(i32::MIN), Scalar::I4(7)]);
        many(
            Automation::Ui1,
            vec![Scalar::Ui1(1), Scalar::Ui1(2), Scalar::Ui1(3)],
        );
        many(Automation::Unknown, Vec::new());
        many(Automation::Bstr, Vec::new());
    }

    /// Guards: P22
    #[test]
    fn a_string_in_a_variant_is_wiped_to_its_last_unit() {
        let secret = Variant::One(bstr("a secret \u{1F4BE}"));
        let mut variant = OwnedVariant::new(&secret).expect("a VARIANT");
        variant.wipe();
        let left = Variant::One(Scalar::Bstr(Text::from_units(vec![0; 11])));
        assert_eq!(shown(&variant.read().expect("a string")), shown(&left));
    }

    #[test]
    fn an_array_holds_one_type() {
        let mixed = Variant::Many {
            of: Automation::I4,
            elements: vec![Scalar::I4(1), bstr("2")],
        };
        assert!(OwnedVariant::new(&mixed).is_err());
    }
}
