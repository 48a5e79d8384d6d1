//! Disk ids of the versions with ids as text.

use os::DiskNumber;
use wire::Version;

/// Reads a disk id: decimal digits for 32 bits. csi-proxy reads 64 bits and cuts them, so
/// 4294967297 acts on disk 1.
///
/// # Errors
/// It is anything else; the texts are those of Go's `strconv.ParseUint`.
pub(crate) fn parse(text: &str) -> Result<DiskNumber, ParseUint> {
    let fault = |reason| ParseUint {
        text: text.to_owned(),
        reason,
    };
    // Rust's own reader accepts a plus sign, Go's does not.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(fault("invalid syntax"));
    }
    let number = text.parse().map_err(|_| fault("value out of range"))?;
    Ok(DiskNumber(number))
}

/// Go's error for a text without an unsigned number, or with too large a one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("strconv.ParseUint: parsing {text:?}: {reason}")]
pub(crate) struct ParseUint {
    text: String,
    reason: &'static str,
}

/// A request with an invalid disk id. Each text is csi-proxy's for its call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskIdError {
    #[error("Failed to convert {version}.PartitionDiskRequest.DiskID to uint32: {source}")]
    Convert { version: Version, source: ParseUint },
    #[error("Failed to format {rpc}Request.DiskID with err: {source}")]
    Format {
        rpc: &'static str,
        source: ParseUint,
    },
    #[error("Failed to parse diskId: err={0}")]
    Parse(#[source] ParseUint),
}

impl DiskIdError {
    pub(crate) fn convert(version: Version) -> impl FnOnce(ParseUint) -> Self {
        move |source| Self::Convert { version, source }
    }

    pub(crate) fn format(rpc: &'static str) -> impl FnOnce(ParseUint) -> Self {
        move |source| Self::Format { rpc, source }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused_and_never_cut() {
        assert_eq!(parse("4294967295"), Ok(DiskNumber(u32::MAX)));
        assert_eq!(parse("007"), Ok(DiskNumber(7)));
        for text in ["4294967296", "4294967297", "18446744073709551617"] {
            assert_eq!(
                refusal(text),
                format!("strconv.ParseUint: parsing \"{text}\": value out of range")
            );
        }
    }

    #[test]
    fn what_is_no_number_is_refused_with_gos_text() {
        for text in ["", "x", "+1", "-1", "1 ", "0x1", "1_0", "\u{661}"] {
            assert_eq!(
                refusal(text),
                format!("strconv.ParseUint: parsing \"{text}\": invalid syntax")
            );
        }
    }

    proptest! {
        #[test]
        fn a_disk_number_is_the_one_that_was_written(number: u64) {
            let read = parse(&number.to_string()).map(|disk| u64::from(disk.0));
            prop_assert_eq!(read.is_ok(), u32::try_from(number).is_ok());
            prop_assert_eq!(read.unwrap_or(number), number);
        }
    }
}
