//! The step for what grows unseen: csi-proxy.exe as it is released.

use anyhow::{Result, ensure};

use super::Session;
use super::outcome::Outcome;
use crate::bench::{self, Weight};

/// Bytes of the exe.
const MOST_EXE: u64 = 6_000_000;
/// KiB without the stacks of all threads but the first, which the idle program has too. 8.3 to 9.0 MiB on
/// 2026-11-29, 5.3 of which are the exe.
const MOST_MEMORY: f64 = 10.0 * 1024.0;
/// KiB of each thread's stack that Wine 8 touches when a thread begins.
const OF_A_THREAD: f64 = 964.0;

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let host = session.wine()?[0];
    Outcome::steady("the weight of csi-proxy.exe", || {
        Ok(judge(&bench::weigh(host)?))
    })
}

fn judge(weight: &Weight) -> Outcome {
    let own = weight.memory - (weight.threads - 1.0) * OF_A_THREAD;
    let mib = |kib: f64| kib / 1024.0;
    let size = format!("csi-proxy.exe: {} bytes, at most {MOST_EXE}", weight.exe);
    let private = format!(
        "its private memory: {:.1} MiB, {} threads, {:.1} without these, at most {:.1}",
        mib(weight.memory),
        weight.threads,
        mib(own),
        mib(MOST_MEMORY)
    );
    let mut outcome = at_most(&size, weight.exe <= MOST_EXE);
    outcome.add(at_most(&private, own <= MOST_MEMORY));
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
        let stacks = 9.0 * OF_A_THREAD;
        for (exe, memory, failed) in [
            (MOST_EXE, MOST_MEMORY + stacks, 0),
            (MOST_EXE + 1, MOST_MEMORY, 1),
            (MOST_EXE, MOST_MEMORY + stacks + 1.0, 1),
            (MOST_EXE, f64::NAN, 1),
        ] {
            let threads = 10.0;
            let weight = Weight {
                exe,
                memory,
                threads,
            };
            assert_eq!(judge(&weight).counts.failed, failed, "{exe} {memory}");
        }
    }
}
