//! Values of the registry, below `HKEY_LOCAL_MACHINE`.

// UNSAFETY: foreign functions fill buffers of ours, get their lengths, and make keys that close
// themselves here.
#![expect(unsafe_code)]

use std::ffi::OsString;
use std::ptr;

use os::Win32;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, KEY_QUERY_VALUE, REG_EXPAND_SZ, REG_OPTION_VOLATILE,
    REG_ROUTINE_FLAGS, RRF_RT_REG_DWORD, RRF_RT_REG_MULTI_SZ, RRF_RT_REG_SZ, RegCloseKey,
    RegCreateKeyExW, RegGetValueW, RegQueryInfoKeyW, RegSetKeyValueW,
};

use crate::wide::{self, Wide};

/// Units of the longest text read; paths are shorter.
const LONGEST: usize = 0x8000;

/// A number.
///
/// <https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-reggetvaluew>
pub(crate) fn number(key: &str, value: &str) -> Result<u32, Win32> {
    let (key, value) = (Wide::new(key)?, Wide::new(value)?);
    let (mut number, mut size) = (0_u32, 4_u32);
    // SAFETY: the texts end in a NUL, and the number is as long as we say.
    outcome(unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_DWORD,
            ptr::null_mut(),
            (&raw mut number).cast(),
            &mut size,
        )
    })?;
    Ok(number)
}

/// A text; for a value of the type with variables of the environment, `RegGetValueW` replaces them
/// by itself.
pub(crate) fn text(key: &str, value: &str) -> Result<OsString, Win32> {
    Ok(wide::text(&units(key, value, RRF_RT_REG_SZ)?))
}

/// Sets a text with variables of the environment; the key is made if it is missing.
///
/// <https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-regsetkeyvaluew>
pub(crate) fn set_expandable(key: &str, value: &str, text: &str) -> Result<(), Win32> {
    let (key, value) = (Wide::new(key)?, Wide::new(value)?);
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let bytes = u32::try_from(size_of_val(units.as_slice()));
    let bytes = bytes.map_err(|_| Win32::INVALID_PARAMETER)?;
    // SAFETY: the texts end in a NUL and outlive the call, and the data is as long as we say.
    outcome(unsafe {
        RegSetKeyValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            REG_EXPAND_SZ,
            units.as_ptr().cast(),
            bytes,
        )
    })
}

/// A list of texts, as one block of UTF-16 and the zeros behind it.
pub(crate) fn list(key: &str, value: &str) -> Result<Vec<u16>, Win32> {
    units(key, value, RRF_RT_REG_MULTI_SZ)
}

fn units(key: &str, value: &str, kind: REG_ROUTINE_FLAGS) -> Result<Vec<u16>, Win32> {
    let (key, value) = (Wide::new(key)?, Wide::new(value)?);
    let mut units = vec![0_u16; LONGEST];
    let mut size = u32::try_from(size_of_val(units.as_slice())).unwrap_or(u32::MAX);
    // SAFETY: the texts end in a NUL, and the buffer is as long as we say.
    outcome(unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            kind,
            ptr::null_mut(),
            units.as_mut_ptr().cast(),
            &mut size,
        )
    })?;
    Ok(units)
}

/// The creation time of a volatile key, in units of 100 ns since 1601; made now if need be, and gone after the next
/// boot. Nothing is ever written to it, so its last change is its creation.
///
/// <https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-regcreatekeyexw>,
/// <https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-regqueryinfokeyw>
pub(crate) fn volatile_since(path: &str) -> Result<u64, Win32> {
    let key = Key::volatile(path)?;
    let mut time = FILETIME {
        dwLowDateTime: 0,
        dwHighDateTime: 0,
    };
    // SAFETY: the key is open, the time is ours, and the call's other outputs are left out.
    outcome(unsafe {
        RegQueryInfoKeyW(
            key.0,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &mut time,
        )
    })?;
    Ok(u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime))
}

struct Key(HKEY);

impl Key {
    /// Opens a volatile key, and makes it if it is missing.
    fn volatile(path: &str) -> Result<Self, Win32> {
        let path = Wide::new(path)?;
        let mut key = ptr::null_mut();
        // SAFETY: the path ends in a NUL, and the outputs are ours.
        outcome(unsafe {
            RegCreateKeyExW(
                HKEY_LOCAL_MACHINE,
                path.as_ptr(),
                0,
                ptr::null(),
                REG_OPTION_VOLATILE,
                KEY_QUERY_VALUE,
                ptr::null(),
                &mut key,
                ptr::null_mut(),
            )
        })?;
        Ok(Self(key))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is open and nobody uses it any more.
        unsafe { RegCloseKey(self.0) };
    }
}

/// These functions answer their code.
fn outcome(code: u32) -> Result<(), Win32> {
    match code {
        0 => Ok(()),
        code => Err(Win32(code)),
    }
}
