//! The step for what grows unseen: csi-proxy.exe as it is released.

use anyhow::{Result, ensure};

use super::Session;
use super::outcome::Outcome;
use crate::bench::{self, Weight};

/// Bytes of the exe.
const MOST_EXE: u64 = 6_000_000;
/// Private memory after 32 clients, as a part of the Go peer's.
const MOST_MEMORY: f64 = 0.36;

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let host = session.wine()?[0];
    Outcome::steady("the weight of csi-proxy.exe", || {
        Ok(judge(&bench::weigh(host)?))
    })
}

fn judge(&Weight { exe, memory }: &Weight) -> Outcome {
    let (whole, part) = (exe / 1_000_000, exe / 10_000 % 100);
    let mut outcome = at_most(
        &format!("csi-proxy.exe: {whole}.{part:02} MB, at most 6.00"),
        exe <= MOST_EXE,
    );
    outcome.add(at_most(
        &format!("its memory: {memory:.2} of the Go peer's, at most {MOST_MEMORY}"),
        memory <= MOST_MEMORY,
    ));
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
        assert_eq!(failed(MOST_EXE, MOST_MEMORY + 0.01), 1);
        assert_eq!(failed(MOST_EXE, f64::NAN), 1);
    }
}
