//! What each fuzz target asks of the crate; the tests replay `seeds/` through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use wincsi_driver::doctor::bundle::report_in;
use wincsi_driver::doctor::server::parse;

/// A bundle. What is printed of it leads no terminal.
pub(crate) fn bundle(data: &[u8]) {
    match report_in(data) {
        Ok(report) => {
            let lines = report.to_string();
            assert!(lines.chars().all(|one| one == '\n' || !one.is_control()));
            assert!(matches!(report.exit_code(), 0 | 1 | 3 | 4));
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
}

/// A server's answer to NEGOTIATE.
pub(crate) fn negotiate(data: &[u8]) {
    if let Ok(negotiated) = parse(data) {
        assert!(negotiated.to_string().starts_with("SMB "));
    }
}
