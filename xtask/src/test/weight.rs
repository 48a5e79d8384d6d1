//! The step for what grows unseen: csi-proxy.exe as it is released.

use anyhow::{Result, ensure};

use super::Session;
use super::outcome::Outcome;
use crate::bench::{self, Weight};

/// Bytes of the exe.
const MOST_EXE: u64 = 6_000_000;
/// KiB under Wine: 5.3 MiB of the exe and 964 KiB for each of about ten threads. 16.5 to 16.8 MiB on 2026-11-29.
const MOST_MEMORY: f64 = 20.0 * 1024.0;

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let host = session.wine()?[0];
    Outcome::steady("the weight of csi-proxy.exe", || {
        Ok(judge(&bench::weigh(host)?))
    })
}

fn judge(&Weight { exe, memory }: &Weight) -> Outcome {
    let (whole, part) = (exe / 1_000_000, exe / 10_000 % 100);
    let size = format!("csi-proxy.exe: {whole}.{part:02} MB, at most 6.00");
    let (mib, most) = (memory / 1024.0, MOST_MEMORY / 1024.0);
    let private = format!("its private memory: {mib:.1} MiB, at most {most:.1}");
    let mut outcome = at_most(&size, exe <= MOST_EXE);
    outcome.add(at_most(&private, memory <= MOST_MEMORY));
    outcome
}

fn at_most(what: &str, is_within: bool) -> Outcome {
    let grown = || {
        ensure!(is_within, "it has grown: see docs/benchmarks.md");
        Ok(())
    };
    Outcome::of_check(what, grown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exe_that_has_grown_is_red() {
        let failed = |exe, memory| judge(&Weight { exe, memory }).counts.failed;
        assert_eq!(failed(MOST_EXE, MOST_MEMORY), 0);
        assert_eq!(failed(MOST_EXE + 1, MOST_MEMORY), 1);
        assert_eq!(failed(MOST_EXE, MOST_MEMORY + 1.0), 1);
        assert_eq!(failed(MOST_EXE, f64::NAN), 1);
    }
}
