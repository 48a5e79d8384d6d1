use std::ffi::OsStr;
use std::os::windows::ffi::OsStrExt;

use os::Win32;

/// UTF-16 with one NUL, at its end; a NUL in the text would hide the rest.
pub(super) fn wide(text: impl AsRef<OsStr>) -> Result<Vec<u16>, Win32> {
    let mut units: Vec<u16> = text.as_ref().encode_wide().collect();
    if units.contains(&0) {
        return Err(Win32::INVALID_NAME);
    }
    units.push(0);
    Ok(units)
}

/// The text before the first NUL.
pub(super) fn text(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0);
    String::from_utf16_lossy(&units[..end.unwrap_or(units.len())])
}

#[cfg(test)]
mod tests {
    use os::Win32;

    use super::{text, wide};

    #[test]
    fn a_text_ends_at_its_one_nul() {
        assert_eq!(wide("ab"), Ok(vec![0x61, 0x62, 0]));
        assert_eq!(wide("a\0b"), Err(Win32::INVALID_NAME));
        assert_eq!(text(&[0x61, 0, 0x62]), "a");
        assert_eq!(text(&[0x61]), "a");
    }
}
