use std::fmt;

use os::{Cause, Error, SystemText};

use crate::raw::message;

/// An error of `operation` on `object`, with the system's text for a code without one of ours.
pub(crate) fn error(
    operation: &'static str,
    object: impl fmt::Display,
    cause: impl Into<Cause>,
) -> Error {
    let error = Error::new(operation, object, cause);
    let system_text = system_text(&error.cause);
    error.with_system_text(system_text)
}

fn system_text(cause: &Cause) -> Option<SystemText> {
    let code = match cause {
        Cause::Win32(code) if code.text().is_none() => code.0,
        Cause::Hresult(code) => code.win32().map_or(code.0, |code| code.0),
        _ => return None,
    };
    let mut buffer = [0; LONGEST];
    let text = message::text(code, &mut buffer)?;
    SystemText::new(&String::from_utf16_lossy(text))
}

/// More units than any of Microsoft's messages has, and than are kept.
const LONGEST: usize = SystemText::LONGEST;

#[cfg(test)]
mod tests {
    use os::{Cause, Hresult, Win32};

    use super::error;

    fn system_text(cause: impl Into<Cause>) -> Option<String> {
        let error = error("CreateFileW", r"C:\x", cause);
        error.system_text.map(|text| text.to_string())
    }

    #[test]
    fn a_code_without_a_text_of_ours_has_the_systems() {
        // ERROR_BAD_LENGTH and RPC_S_SERVER_UNAVAILABLE: their texts are the system's own.
        for cause in [Cause::from(Win32(24)), Hresult(0x8007_06BA).into()] {
            let text = system_text(cause).expect("the system knows it");
            assert!(!text.ends_with(char::is_whitespace), "{text:?}");
        }
        assert_eq!(system_text(Win32::ACCESS_DENIED), None);
        assert_eq!(system_text(Win32(0x3FFF_FFFF)), None);
        assert_eq!(system_text(Cause::TimedOut), None);
    }

    #[test]
    fn the_systems_text_is_not_printed() {
        let error = error("CreateFileW", r"C:\x", Win32(24));
        assert_eq!(error.to_string(), r"CreateFileW C:\x: Windows error 24");
    }
}
