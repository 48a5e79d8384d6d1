use os::{Firmware, Win32};

use crate::failure;
use crate::raw::firmware;

/// The firmware's tables, by `GetSystemFirmwareTable`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeFirmware;

impl NativeFirmware {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Firmware for NativeFirmware {
    fn smbios(&self) -> os::Result<Vec<u8>> {
        smbios().map_err(|code| failure::error("GetSystemFirmwareTable", "RSMB", code))
    }
}

/// The most retries for a table that grew since its length was read.
const ATTEMPTS: usize = 4;

/// Room for most tables: a table of SMBIOS 2 has at most 64 KiB.
const USUAL: usize = 0x1_0000;

/// Longer than any table; bounds the allocation.
const LONGEST: usize = 0x100_0000;

fn smbios() -> Result<Vec<u8>, Win32> {
    let mut table = vec![0; USUAL];
    for _ in 0..ATTEMPTS {
        let length = firmware::smbios(&mut table)?;
        if length <= table.len() {
            table.truncate(length);
            return Ok(table);
        }
        if length > LONGEST {
            return Err(Win32::MORE_DATA);
        }
        table.resize(length, 0);
    }
    Err(Win32::MORE_DATA)
}
