//! The identifier of an error of WMI's that names a code: `Windows System Error 53`, `StorageWMI 41003`, `HRESULT
//! 0xefff0009`, `MI RESULT 2`.
//!
//! PowerShell shows it with the cmdlet's name behind it (`FullyQualifiedErrorId : StorageWMI 41003,New-Partition`).
//! That it is the `MessageID` of the error object behind a call is unverified, and that no language of the system
//! changes it. Those that were seen are in `fixtures::field_errors`, each with its source.

/// The code that an identifier names, by its origin. Only an HRESULT can be zero, which is no failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorId {
    /// An HRESULT, which may be a success. A result of MI's own is the HRESULT that WMI fails with where MI does so.
    Hresult(u32),
    /// A code of the storage provider.
    Storage(u32),
    /// A code of Win32.
    Win32(u32),
}

impl ErrorId {
    /// Reads an identifier, without a cmdlet's name; `None` for one that is written in any other way.
    #[must_use]
    pub fn parse(identifier: &str) -> Option<Self> {
        let (kind, number) = identifier.rsplit_once(' ')?;
        match kind {
            "Windows System Error" => decimal(number).map(Self::Win32),
            "StorageWMI" => decimal(number).map(Self::Storage),
            "MI RESULT" => decimal(number).and_then(of_mi).map(Self::Hresult),
            "HRESULT" => hexadecimal(number).map(Self::Hresult),
            _ => None,
        }
    }
}

/// Zero is no failure.
fn decimal(digits: &str) -> Option<u32> {
    let is_plain = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_plain.then(|| digits.parse().ok())?
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// <https://learn.microsoft.com/windows/win32/api/mi/ne-mi-mi_result>,
/// <https://learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants>
fn of_mi(result: u32) -> Option<u32> {
    match result {
        // MI_RESULT_FAILED, WBEM_E_FAILED
        1 => Some(0x8004_1001),
        // MI_RESULT_ACCESS_DENIED, WBEM_E_ACCESS_DENIED
        2 => Some(0x8004_1003),
        // MI_RESULT_INVALID_NAMESPACE, WBEM_E_INVALID_NAMESPACE
        3 => Some(0x8004_100E),
        // MI_RESULT_INVALID_PARAMETER, WBEM_E_INVALID_PARAMETER
        4 => Some(0x8004_1008),
        // MI_RESULT_INVALID_CLASS, WBEM_E_INVALID_CLASS
        5 => Some(0x8004_1010),
        // MI_RESULT_NOT_FOUND, WBEM_E_NOT_FOUND
        6 => Some(0x8004_1002),
        // MI_RESULT_NOT_SUPPORTED, WBEM_E_NOT_SUPPORTED
        7 => Some(0x8004_100C),
        // MI_RESULT_METHOD_NOT_FOUND, WBEM_E_INVALID_METHOD
        17 => Some(0x8004_102E),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_of_identifier_names_its_code() {
        for (identifier, code) in [
            ("Windows System Error 53", ErrorId::Win32(53)),
            ("Windows System Error 4294967295", ErrorId::Win32(u32::MAX)),
            ("StorageWMI 41003", ErrorId::Storage(41003)),
            ("HRESULT 0xEFFF003e", ErrorId::Hresult(0xEFFF_003E)),
            ("HRESULT 0x0", ErrorId::Hresult(0)),
            ("MI RESULT 2", ErrorId::Hresult(0x8004_1003)),
        ] {
            assert_eq!(ErrorId::parse(identifier), Some(code), "{identifier}");
        }
    }

    #[test]
    fn an_identifier_that_is_written_otherwise_names_no_code() {
        for text in [
            "",
            "53",
            "windows system error 53",
            "Windows System Error",
            "Windows System Error ",
            "Windows System Error 0",
            "Windows System Error 053",
            "Windows System Error +53",
            "Windows System Error -53",
            "Windows System Error 53 ",
            "Windows System Error  53",
            "Windows System Error 53,New-SmbGlobalMapping",
            "Windows System Error 0x35",
            "Windows System Error 4294967296",
            "HRESULT 0x",
            "HRESULT 53",
            "HRESULT 0x+5",
            "HRESULT 0x180041001",
            "StorageWMI 0",
            "StorageWMI 0x5",
            "MI RESULT 0",
            "MI RESULT 999",
        ] {
            assert_eq!(ErrorId::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_code_is_found_in_its_identifier_and_in_no_other(code in 1_u32.., around in "[^0-9]+") {
            let identifier = format!("Windows System Error {code}");
            prop_assert_eq!(ErrorId::parse(&identifier), Some(ErrorId::Win32(code)));
            prop_assert_eq!(ErrorId::parse(&format!("{identifier}{around}")), None);
            prop_assert_eq!(ErrorId::parse(&format!("{around}{identifier}")), None);
        }

        #[test]
        fn an_identifier_that_names_a_code_is_written_in_one_way(text in "(Windows System Error )?[0-9+ \\PC]{0,12}") {
            if let Some(found) = ErrorId::parse(&text) {
                let ErrorId::Win32(code) = found else {
                    return Err(TestCaseError::fail(format!("{found:?}")));
                };
                prop_assert_eq!(text, format!("Windows System Error {code}"));
            }
        }
    }
}
