//! The memory of a copy, in a program of its own: no other test has a part of its peak.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use wincsi_smb::{CopyOrder, CopyProgress, Failure, Name, Privacy, Share, SharePath, Unsteady};

use crate::server::{Samba, soon};

#[path = "samba/server.rs"]
mod server;

/// All is listed, and so much of it copied. What would stay in memory of each listed entry is seen from some 7 bytes on,
/// of each copied one from some 300: how a copy goes on does not depend on how much was copied before.
const COPIED: u64 = 3_000;

#[test]
fn memory_does_not_grow_with_the_tree() {
    let samba = Samba::start();
    for (source, flat, folders) in [("few", 500, 1), ("many", 90_000, 20)] {
        for folder in 0..folders {
            let folder = samba.root().join(source).join(format!("folder-{folder}"));
            fs::create_dir_all(&folder).unwrap();
            (0..500).for_each(|n| fs::write(folder.join(format!("{n:040}")), b"x").unwrap());
        }
        let flat = (0..flat).map(|n| samba.root().join(source).join(format!("{n:040}")));
        flat.for_each(|file| fs::write(file, b"x").unwrap());
    }
    let few = peak_after(&samba, "few");
    let many = peak_after(&samba, "many");
    assert!(many * 10 <= few * 12, "{few} and {many} KiB");
}

/// The peak of this program after a copy, in KiB.
fn peak_after(samba: &Samba, source: &str) -> u64 {
    let mut share = samba.open("plain", Privacy::Offered);
    let target = SharePath::new(&format!("copy-of-{source}")).unwrap();
    let target_id = share.make_folder(&target, soon()).unwrap();
    let source = SharePath::new(source).unwrap();
    let order = CopyOrder {
        source_share: Name::new("plain").unwrap(),
        source_id: share.stat(&source, soon()).unwrap(),
        source,
        target,
        target_id,
        depth: 9,
        patience: Duration::from_secs(30),
        trusts: true,
        unsteady: Unsteady::Refuse,
    };
    let copied = share.copy(
        &order,
        &mut |progress: &CopyProgress| match progress.entries < COPIED {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        },
    );
    if let Err(error) = copied {
        assert_eq!(error.failure, Failure::Stopped, "{error}");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.split_whitespace().next());
    peak.unwrap().parse().unwrap()
}
