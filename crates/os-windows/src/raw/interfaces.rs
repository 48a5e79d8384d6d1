//! The present devices, by their interface.

// UNSAFETY: a set of devices comes from and goes to foreign functions; these fill structures and a
// buffer of ours.
#![expect(unsafe_code)]

use std::ffi::OsString;
use std::ptr;

use os::Win32;
use windows_sys::Win32::Devices::DeviceAndDriverInstallation::{
    DIGCF_DEVICEINTERFACE, DIGCF_PRESENT, HDEVINFO, SP_DEVICE_INTERFACE_DATA,
    SP_DEVICE_INTERFACE_DETAIL_DATA_W, SetupDiDestroyDeviceInfoList, SetupDiEnumDeviceInterfaces,
    SetupDiGetClassDevsW, SetupDiGetDeviceInterfaceDetailW,
};
use windows_sys::Win32::Foundation::ERROR_NO_MORE_ITEMS;
use windows_sys::core::GUID;

use super::handle::size_of_u32;
use super::{last_error, outcome};
use crate::wide;

/// The paths of all present devices with the interface `class` (`SetupDiGetClassDevsW` and its companion calls). A
/// device removed meanwhile may still be named. If a device's path cannot be read, its place has the error.
///
/// <https://learn.microsoft.com/windows/win32/api/setupapi/nf-setupapi-setupdigetdeviceinterfacedetailw>
pub(crate) fn present(class: &GUID) -> Result<Vec<Result<OsString, Win32>>, Win32> {
    let devices = Devices::present(class)?;
    let mut paths = Vec::new();
    for index in 0.. {
        match devices.interface(class, index) {
            Ok(interface) => paths.push(devices.path(&interface)),
            Err(Win32(ERROR_NO_MORE_ITEMS)) => break,
            Err(code) => return Err(code),
        }
    }
    Ok(paths)
}

/// A set of devices. It ends with its value.
struct Devices(HDEVINFO);

/// `INVALID_HANDLE_VALUE`, as the set's handle is written here.
const INVALID: HDEVINFO = -1;

/// Words of room for a path: 32 Ki characters, more than any name of an object has.
const ROOM: usize = 0x4000;

impl Devices {
    fn present(class: &GUID) -> Result<Self, Win32> {
        let which = DIGCF_PRESENT | DIGCF_DEVICEINTERFACE;
        // SAFETY: the class outlives the call; neither an enumerator nor a window is named.
        let set = unsafe { SetupDiGetClassDevsW(class, ptr::null(), ptr::null_mut(), which) };
        if set == INVALID {
            return Err(last_error());
        }
        Ok(Self(set))
    }

    fn interface(&self, class: &GUID, index: u32) -> Result<SP_DEVICE_INTERFACE_DATA, Win32> {
        let mut interface = SP_DEVICE_INTERFACE_DATA {
            cbSize: size_of_u32::<SP_DEVICE_INTERFACE_DATA>(),
            ..SP_DEVICE_INTERFACE_DATA::default()
        };
        // SAFETY: the set is open, and the structure is ours and has its size in it; no single device is
        // named.
        outcome(unsafe {
            SetupDiEnumDeviceInterfaces(self.0, ptr::null(), class, index, &raw mut interface)
        })?;
        Ok(interface)
    }

    fn path(&self, interface: &SP_DEVICE_INTERFACE_DATA) -> Result<OsString, Win32> {
        let mut words = vec![0_u32; ROOM];
        let length = u32::try_from(ROOM * size_of::<u32>()).map_err(|_| Win32::MORE_DATA)?;
        if let Some(fixed) = words.first_mut() {
            *fixed = size_of_u32::<SP_DEVICE_INTERFACE_DETAIL_DATA_W>();
        }
        // SAFETY: the set is open, the interface is one of it, and the buffer is aligned for the
        // structure, has its fixed size in it, and is as long as we say; the other results may be
        // null.
        outcome(unsafe {
            SetupDiGetDeviceInterfaceDetailW(
                self.0,
                interface,
                words.as_mut_ptr().cast(),
                length,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        Ok(path_of(&words))
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        // SAFETY: the set is open, and this is its end. A failure leaves nothing to be done.
        unsafe { SetupDiDestroyDeviceInfoList(self.0) };
    }
}

/// The path follows the first word, the structure's size.
fn path_of(words: &[u32]) -> OsString {
    let halves = |word: &u32| {
        let [first, second, third, fourth] = word.to_le_bytes();
        [[first, second], [third, fourth]].map(u16::from_le_bytes)
    };
    let units = words.iter().skip(1).flat_map(halves);
    let path: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    wide::text(&path)
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn a_path_stands_behind_its_size_and_ends_at_its_nul() {
        let words = [8, 0x005C_005C, 0x0000_003F, 0x0061_0061];
        assert_eq!(path_of(&words), r"\\?");
        assert_eq!(path_of(&[8]), "");
    }
}
