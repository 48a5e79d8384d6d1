use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::Ordering;
use std::time::Duration;

use wincsi_smb::{CopyOrder, CopyProgress, Failure, Share};

use crate::fixture::{Fixture, at, copy, cut, failure, once, order, write};
use crate::proxy::{From, Instead, unchanged};
use crate::server::soon;

#[test]
fn a_copy_cut_at_any_request_is_resumed() {
    let fixture = Fixture::with_each_kind();
    // Before a request the server copies large files, after one the client reads and writes them.
    for side in [From::Client, From::Server] {
        for number in 0.. {
            fixture.clear();
            let (attack, is_cut) = cut(side, number);
            let [mut share, mut again] = [fixture.attacked(attack), fixture.open()];
            if side == From::Server {
                share.without_server_copies();
                again.without_server_copies();
            }
            // What was sent before the cut may still be carried out: its end is that of the lock.
            let locked = share.lock(&at("lock"), soon());
            let done = locked.and_then(|_| copy(&mut share));
            if !is_cut.load(Ordering::SeqCst) {
                done.unwrap();
                assert!(number > 40, "{number}");
                break;
            }
            if let Err(error) = done {
                assert!(error.failure.ends_connection(), "{error}");
            }
            drop(share);
            let lock = loop {
                match again.lock(&at("lock"), soon()) {
                    Ok(lock) => break lock,
                    Err(error) => assert_eq!(error.failure, Failure::InUse),
                }
            };
            copy(&mut again).unwrap();
            fixture.assert_equal(&format!("{side:?} {number}"));
            // The server notices the end of a connection on its own time: the next round has it at once.
            again.close(lock, soon()).unwrap();
        }
    }
}

#[test]
fn what_the_source_has_no_longer_goes() {
    let fixture = Fixture::with_each_kind();
    copy(&mut fixture.open()).unwrap();
    let source = fixture.source();
    fs::remove_dir_all(source.join("nested/deeper")).unwrap();
    write(&source.join("nested/deeper"), "now a file", 10, 0);
    fs::remove_file(source.join("read-only")).unwrap();
    fs::remove_file(source.join("hidden")).unwrap();
    fs::create_dir(source.join("hidden")).unwrap();
    fs::rename(source.join("system"), source.join("System")).unwrap();
    write(&source.join("size-65536"), "of another time", 65_536, 1);
    write(&source.join("size-1"), "of another size", 2, 0);
    let mode = PermissionsExt::from_mode(0o645);
    fs::set_permissions(source.join("size-65537"), mode).unwrap();
    let target = fixture.target();
    for n in 0..600 {
        fs::create_dir_all(target.join(format!("stale/{n}"))).unwrap();
    }
    fs::write(target.join("stale.txt"), b"x").unwrap();
    // The source's own file: who writes to the copy would change it.
    fs::remove_file(target.join("archive")).unwrap();
    symlink(source.join("archive"), target.join("archive")).unwrap();
    let done = copy(&mut fixture.open()).unwrap();
    fixture.assert_equal("changed between");
    assert!(
        fs::symlink_metadata(target.join("archive"))
            .unwrap()
            .is_file()
    );
    assert_eq!(done.written, 10 + 9 + 65_536 + 2 + 9);
}

/// The server takes its name for that of the source's file.
#[test]
fn another_file_in_the_way_stays() {
    let fixture = Fixture::new("");
    fixture.folder("d");
    fixture.file("d/f", 9);
    let place = fixture.target().join("d/F");
    let mut refused = 0;
    for number in 0.. {
        fixture.clear();
        let other = place.clone();
        let (attack, is_done) = once(number, move || {
            let _ = fs::write(&other, b"another's");
        });
        if let Err(error) = copy(&mut fixture.attacked(attack)) {
            assert_eq!(error.failure, Failure::Exists, "{number}: {error}");
            assert!(error.object.ends_with(r"\c\d\f"), "{error}");
            assert!(place.exists());
            refused += 1;
        }
        assert!(!place.exists() || fs::read(&place).unwrap() == b"another's");
        if !is_done.load(Ordering::SeqCst) {
            break;
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_server_that_falls_silent_ends_the_copy() {
    let fixture = Fixture::with_each_kind();
    let attack = |from, n, message: &[u8]| match (from, n) {
        (From::Server, 20) => Instead::BytesThenSilence(Vec::new()),
        _ => unchanged(message),
    };
    let mut share = fixture.attacked(Box::new(attack));
    let patience = Duration::from_millis(300);
    let order = CopyOrder {
        patience,
        ..order(&mut share).unwrap()
    };
    let late = share.copy(&order, &mut |_: &CopyProgress| ControlFlow::Continue(()));
    assert_eq!(failure(late), Failure::TimedOut);
    copy(&mut fixture.open()).unwrap();
    fixture.assert_equal("repeated");
}

#[test]
fn what_is_not_trusted_is_copied_once_more() {
    let fixture = Fixture::with_each_kind();
    let first = copy(&mut fixture.open()).unwrap();
    for (trusts, written) in [(true, 0), (false, first.written)] {
        let mut share = fixture.open();
        let order = CopyOrder {
            trusts,
            ..order(&mut share).unwrap()
        };
        let mut on = |_: &CopyProgress| ControlFlow::Continue(());
        assert_eq!(share.copy(&order, &mut on).unwrap().written, written);
        fixture.assert_equal("copied again");
    }
}
