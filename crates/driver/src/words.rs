//! The driver's own words for failures of the node. csi-proxy has the same failures and promises its texts: what an
//! operator of `wincsi node` cannot do, or has another name for, is put into other words here.

use wincsi::{Code, Error};

/// Parts of the node's texts, and after the arrow what stands in their place.
const INSTEAD: &str = "\
, or run csi-proxy with -format-guard=off ->
, which -disk-guard=warn passes over -> : repair the page file settings of Windows
not one volume but none -> not one volume but none: a pod with ReadWriteOnce has to write first
CompressNetworkTraffic -> compress (CompressNetworkTraffic)
RequireIntegrity -> sign (RequireIntegrity)
RequirePrivacy -> seal or -require-privacy (RequirePrivacy)
TcpPort -> port=N (TcpPort)
UseWriteThrough -> cache=none (UseWriteThrough)";

/// The text of a failure, with Windows's number.
pub(crate) fn of(error: &Error) -> String {
    let mut cause = error.cause.to_string();
    for (theirs, ours) in INSTEAD.lines().filter_map(|line| line.split_once(" ->")) {
        cause = cause.replace(theirs, ours.trim_start());
    }
    let text = format!("{} {}: {cause}", error.operation, error.object);
    let number = match error.code() {
        Some(Code::Win32(code)) => code.0.to_string(),
        Some(Code::Hresult(code)) => format!("{:#010x}", code.0),
        // A provider's own, which its text has.
        _ => return text,
    };
    let is_shown = |before| cause.contains(&format!("{before}{number}"));
    match ["code=", "error "].into_iter().any(is_shown) {
        true => text,
        false => format!("{text} ({number})"),
    }
}

#[cfg(test)]
mod tests {
    use wincsi::{Cause, Condition, Win32};

    use super::*;

    fn text_of(text: &str, code: Option<u32>) -> String {
        let mut cause = Cause::failed(Condition::Other, text);
        if let Cause::Failed { code: of_cause, .. } = &mut cause {
            *of_cause = code.map(|code| Code::Win32(Win32(code)));
        }
        of(&Error::new("do", "it", cause))
    }

    #[test]
    fn no_flag_of_csi_proxy_is_recommended() {
        for text in [
            "disk 1 is not overwritten; wipe it, or run csi-proxy with -format-guard=off",
            "it may hold a page file, which -disk-guard=warn passes over: unknown",
        ] {
            let text = text_of(text, None);
            assert!(!text.contains("-guard"), "{text}");
            assert!(!text.contains("csi-proxy"), "{text}");
        }
    }

    #[test]
    fn windowss_number_is_beside_its_words_once() {
        for (text, code, shown) in [
            (
                "disk 5: Access is denied.",
                Some(5),
                "disk 5: Access is denied. (5)",
            ),
            ("Windows error 4390", Some(4390), "Windows error 4390"),
            (
                "Create failed: code=53 (not found)",
                Some(53),
                "Create failed: code=53 (not found)",
            ),
            ("it is full", None, "it is full"),
        ] {
            assert_eq!(text_of(text, code), format!("do it: {shown}"));
        }
    }
}
