use std::sync::Barrier;
use std::thread;

use super::*;

#[test]
fn a_credential_is_compared_with_that_of_the_mapping() {
    let process = Process::new();
    assert_eq!(process.compare(CREDENTIAL), Comparison::Unknown);
    process.make("a", "s");
    assert_eq!(process.compare(CREDENTIAL), Comparison::Unknown);
    process.0.note_credential("s", &secret(CREDENTIAL));
    assert_eq!(process.compare(CREDENTIAL), Comparison::Same);
    for other in ["u\0two", "u\0Canary", ""] {
        assert_eq!(process.compare(other), Comparison::Differs, "{other:?}");
    }
    process.0.leave(&volume("a"));
    process.0.note_gone("s").unwrap();
    assert_eq!(process.compare(CREDENTIAL), Comparison::Unknown);
}

/// Guards: P80
#[test]
fn the_next_process_knows_it_by_the_hash_alone() {
    let process = Process::new();
    process.make_known("a", "s");
    let files = process.files();
    assert!(files[0].contains("argon2id") && !files[0].contains("canary"));
    let Process(_, folder) = process;
    let next = Process::after(folder, &[("a", user("s"))]);
    assert_eq!(next.compare("u\0two"), Comparison::Differs);
    assert_eq!(next.compare(CREDENTIAL), Comparison::Same);
    assert_eq!(next.compare("u\0two"), Comparison::Differs);
}

/// As a process leaves them that dies while a call may give the mapping another credential.
#[test]
fn records_of_one_mapping_that_differ_tell_nothing_of_it() {
    for (may_change, expected) in [(false, Comparison::Same), (true, Comparison::Unknown)] {
        let process = Process::new();
        process.make_known("a", "s");
        process.take("b", "s", true);
        process.0.begin(&volume("b"), may_change).unwrap();
        assert_eq!(process.compare(CREDENTIAL), Comparison::Same);
        let Process(_, folder) = process;
        let next = Process::after(folder, &[("a", user("s"))]);
        assert_eq!(next.compare(CREDENTIAL), expected);
    }
}

/// A hash has a salt of its own.
#[test]
fn volumes_that_are_staged_at_once_have_one_hash() {
    const VOLUMES: usize = 8;
    let (process, all_there) = (Process::new(), Barrier::new(VOLUMES));
    process.make("a", "s");
    let hashes = thread::scope(|scope| {
        let note = || {
            all_there.wait();
            process.0.note_credential("s", &secret(CREDENTIAL));
            process.0.end_call(&volume("a"), Ended::Well).unwrap();
            process.files()
        };
        let noting = [(); VOLUMES].map(|()| scope.spawn(note));
        noting.map(|noted| noted.join().unwrap())
    });
    assert!(hashes.iter().all(|files| *files == hashes[0]));
}

#[test]
fn equal_credentials_have_different_hashes() {
    let process = Process::new();
    for key in ["s", "t"] {
        process.make_known(key, key);
    }
    let hash = |text: String| text.split("argon2id").nth(1).unwrap().to_owned();
    let hashes = BTreeSet::from_iter(process.files().into_iter().map(hash));
    assert_eq!(hashes.len(), 2);
}

#[test]
fn a_credential_is_of_one_thing_in_one_boot() {
    let noted = || {
        let process = Process::new();
        process.make_known("a", "s");
        process
    };
    let given_away = noted();
    given_away.0.leave(&volume("a"));
    given_away.0.give_away("s").unwrap();
    assert_eq!(given_away.compare(CREDENTIAL), Comparison::Unknown);
    let met = noted();
    met.0.end_call(&volume("a"), Ended::MetForeign).unwrap();
    assert_eq!(met.compare(CREDENTIAL), Comparison::Unknown);
    let Process(_, folder) = noted();
    let rebooted = Process::in_boot(Some("next"), folder, &[("a", user("s"))]);
    assert_eq!(rebooted.compare(CREDENTIAL), Comparison::Unknown);
    // The call that failed may have changed it.
    for ended in [Ended::MayBeMade, Ended::InVain] {
        let process = noted();
        process.take("b", "s", true);
        process.0.begin(&volume("b"), true).unwrap();
        process.0.end_call(&volume("b"), ended).unwrap();
        let Process(_, folder) = process;
        let next = Process::after(folder, &[("a", user("s"))]);
        assert_eq!(next.compare(CREDENTIAL), Comparison::Unknown, "{ended:?}");
    }
}
