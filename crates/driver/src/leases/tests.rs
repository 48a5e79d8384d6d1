mod boots;
mod credentials;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::path::KubeletPath;

const NOW: Option<&str> = Some("now");
const CREDENTIAL: &str = "u\0canary";

/// Nothing conflicts.
#[derive(Clone)]
pub(super) struct Plain;

impl Terms for Plain {
    const KIND: &'static str = "thing";
    type Conflict = ();
}

fn old_user() -> User<Plain> {
    let boot = Some(String::from("before"));
    User { boot, ..user("s") }
}

/// The leases of a process, and its folder.
pub(super) struct Process(pub(super) Leases<Plain>, TempDir);

impl Process {
    pub(super) fn new() -> Self {
        Self::after(tempfile::tempdir().unwrap(), &[])
    }

    /// The next process in a folder, with these users by their records.
    fn after(folder: TempDir, users: &[(&str, User<Plain>)]) -> Self {
        Self::in_boot(NOW, folder, users)
    }

    fn in_boot(boot: Option<&str>, folder: TempDir, users: &[(&str, User<Plain>)]) -> Self {
        let store = Store::open(folder.path(), &[]).unwrap();
        let of = |(name, user): &(&str, User<Plain>)| (volume(name), user.clone());
        let users = users.iter().map(of);
        let boot = || boot.map(str::to_owned);
        let leases = Leases::open(&store, users.collect(), Hashes::QUICK, boot);
        leases.learn_boot(boot);
        Self(leases, folder)
    }

    fn take(&self, name: &str, key: &str, is_there: bool) -> Owner {
        self.0.take(&volume(name), user(key), is_there).unwrap();
        self.owner(name)
    }

    /// A volume whose call made the thing.
    fn make(&self, name: &str, key: &str) {
        self.take(name, key, false);
        self.0.begin(&volume(name), true).unwrap();
        self.0.end_call(&volume(name), Ended::Made).unwrap();
    }

    /// And the lease has its credential.
    fn make_known(&self, name: &str, key: &str) {
        self.make(name, key);
        self.0.note_credential(key, &secret(CREDENTIAL));
        self.0.end_call(&volume(name), Ended::Well).unwrap();
    }

    fn owner(&self, name: &str) -> Owner {
        self.0.owner(&volume(name))
    }

    fn release(&self, name: &str) {
        self.0.release(&volume(name)).unwrap();
    }

    fn compare(&self, text: &str) -> Comparison {
        self.0.compare("s", &secret(text))
    }

    fn files(&self) -> Vec<String> {
        let text = |file| fs::read_to_string(file).unwrap();
        self.paths().into_iter().map(text).collect()
    }

    fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.1.path()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let is_lease = |file: &PathBuf| file.extension().is_some_and(|end| end == "lease");
        files.filter(is_lease).collect()
    }
}

fn volume(name: &str) -> VolumeHandle {
    VolumeHandle::parse(name).unwrap()
}

fn user(key: &str) -> User<Plain> {
    User::new(key.to_owned(), Plain, NOW.map(str::to_owned))
}

fn secret(text: &str) -> SecretText {
    SecretText::new(text.to_owned())
}

#[test]
fn a_mapping_stays_this_drivers_until_its_last_volume_is_gone() {
    let process = Process::new();
    process.make("a", "s");
    assert_eq!(process.take("b", "s", true), Owner::Ours);
    assert_eq!(process.take("c", "t", true), Owner::Foreign);
    process.0.begin(&volume("b"), false).unwrap();
    process.release("a");
    assert_eq!(process.take("d", "s", true), Owner::Ours);
    assert_eq!(process.files().len(), 1, "one file for all users");
}

#[test]
fn what_could_not_be_written_is_written_by_the_next_change() {
    let process = Process::new();
    process.make("a", "s");
    process.0.note_credential("s", &secret(CREDENTIAL));
    let [file] = process.paths().try_into().unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    process.0.end_call(&volume("a"), Ended::Well).unwrap_err();
    fs::remove_dir(&file).unwrap();
    process.0.end_call(&volume("a"), Ended::Well).unwrap();
    assert!(process.files()[0].contains("argon2id"));
}

#[test]
fn a_mapping_of_an_earlier_boot_is_this_drivers_no_more() {
    let process = Process::new();
    let before = old_user();
    process.0.take(&volume("a"), before, false).unwrap();
    process.0.end_call(&volume("a"), Ended::Made).unwrap();
    assert_eq!(process.owner("a"), Owner::Foreign);
    assert!(!process.0.is_ours("s"));
    assert_eq!(process.take("b", "s", true), Owner::Foreign);
    assert_eq!(process.0.users("s"), 1);
    process.0.adopt("s");
    assert_eq!(process.take("c", "s", true), Owner::Ours);
}

#[test]
fn a_mapping_is_adopted_once_for_each_volume() {
    let process = Process::new();
    for name in ["a", "b", "leaving"] {
        process.take(name, "s", true);
        process.0.begin(&volume(name), false).unwrap();
    }
    process.0.leave(&volume("leaving"));
    assert_eq!(process.0.adopt("s"), 2);
    assert_eq!(
        (process.owner("a"), process.owner("b")),
        (Owner::Ours, Owner::Ours)
    );
    let files = process.files();
    assert!(files[0].contains(r#""owner":"ours""#), "{files:?}");
    assert_eq!(process.0.adopt("s"), 2);
    assert_eq!(process.0.adopt("t"), 0, "nobody uses it");
    assert_eq!(process.files(), files);
}

#[test]
fn who_comes_while_the_last_volume_leaves_takes_its_mapping_over() {
    let process = Process::new();
    process.make("a", "s");
    process.0.leave(&volume("a"));
    assert_eq!(process.0.users("s"), 0);
    assert_eq!(process.take("b", "s", true), Owner::Ours);
    assert_eq!(process.0.users("s"), 1);
}

#[test]
fn a_map_in_vain_ends_a_presumption_and_no_mapping_that_was_left_to_the_volume() {
    let process = Process::new();
    let a = volume("a");
    assert_eq!(process.take("a", "s", false), Owner::Presumed);
    process.0.end_call(&a, Ended::InVain).unwrap();
    assert_eq!(process.owner("a"), Owner::Foreign);
    assert_eq!(process.take("a", "s", false), Owner::Presumed);
    process.make("last", "s");
    process.0.leave(&volume("last"));
    assert_eq!(process.0.adopt("s"), 1);
    process.release("last");
    process.0.end_call(&a, Ended::InVain).unwrap();
    assert_eq!(process.owner("a"), Owner::Ours);
}

#[test]
fn of_two_calls_that_presume_one_mapping_each_learns_alone_whose_it_is() {
    let process = Process::new();
    let (in_vain, other) = (volume("in vain"), volume("other"));
    process.take("in vain", "s", false);
    // It finds what the first one, or another process, mapped meanwhile.
    assert_eq!(process.take("other", "s", true), Owner::Presumed);
    process.0.end_call(&in_vain, Ended::InVain).unwrap();
    assert_eq!(process.owner("in vain"), Owner::Foreign);
    assert_eq!(process.owner("other"), Owner::Presumed);
    process.0.end_call(&other, Ended::Made).unwrap();
    process.take("in vain", "s", false);
    assert_eq!(
        process.owner("in vain"),
        Owner::Ours,
        "the other one made it"
    );
}

#[test]
fn a_volume_that_leaves_goes_by_no_presumption_of_another() {
    let process = Process::new();
    process.take("a", "s", false);
    assert!(!process.0.is_ours("s"));
    process.0.end_call(&volume("a"), Ended::MayBeMade).unwrap();
    assert!(process.0.is_ours("s"));
}

#[test]
fn a_call_that_finds_no_mapping_knows_nothing_of_the_next_one_by_its_volumes_earlier_call() {
    let process = Process::new();
    process.make("a", "s");
    assert_eq!(process.take("a", "s", false), Owner::Presumed);
}

#[test]
fn a_mapping_of_others_that_went_is_presumed_unless_one_was_left_meanwhile() {
    let process = Process::new();
    process.take("a", "s", true);
    process.0.presume(&volume("a"));
    assert_eq!(process.owner("a"), Owner::Presumed);
    process.0.adopt("s");
    process.0.presume(&volume("a"));
    assert_eq!(process.owner("a"), Owner::Ours);
}

#[test]
fn who_comes_while_another_driver_is_left_takes_its_mapping_over() {
    let process = Process::new();
    let link: KubeletPath = r"C:\globalmount".parse().unwrap();
    let leaving = process.0.leave_foreign(&link);
    leaving.leaves("s");
    assert_eq!(process.take("a", "s", true), Owner::Ours);
    assert_eq!(process.take("b", "t", true), Owner::Foreign);
    assert!(process.0.is_left(&link));
    drop(leaving);
    assert!(!process.0.is_left(&link));
    process.0.give_away("s").unwrap();
    assert_eq!(process.owner("a"), Owner::Ours, "a volume uses it");
    process.0.leave(&volume("a"));
    process.0.give_away("s").unwrap();
    process.release("a");
    assert_eq!(process.take("c", "s", true), Owner::Foreign);
}

#[test]
fn a_share_is_unmapped_when_nobody_uses_it_and_nobody_claims_it_meanwhile() {
    let process = Process::new();
    let leases = &process.0;
    process.take("a", "s", true);
    assert_eq!(leases.end("s", || ()), None);
    leases.leave(&volume("a"));
    let meanwhile = leases.end("s", || {
        assert_eq!(leases.end("s", || ()), None);
        leases.take(&volume("b"), user("s"), true)
    });
    assert!(matches!(meanwhile, Some(Err(NotTaken::Ending))));
    assert_eq!(process.take("b", "s", true), Owner::Foreign);
}

#[test]
fn what_comes_after_one_that_is_gone_is_not_ours() {
    let process = Process::new();
    process.make("a", "s");
    process.0.leave(&volume("a"));
    process.0.note_gone("s").unwrap();
    assert!(process.0.kept_for_links().is_empty());
    assert_eq!(process.take("b", "s", true), Owner::Foreign);
    process.make("b", "s");
    // The first one's end comes late.
    process.0.note_gone("s").unwrap();
    process.release("a");
    assert_eq!(process.owner("b"), Owner::Ours);
}

/// The record of a volume comes first.
#[test]
fn a_lease_without_a_record_of_a_user_has_no_file() {
    let process = Process::new();
    process.take("a", "s", false);
    assert_eq!(process.0.adopt("s"), 1);
    assert!(process.files().is_empty());
    process.0.begin(&volume("a"), true).unwrap();
    assert_eq!(process.files().len(), 1);
}

#[test]
fn a_lease_goes_with_its_last_user_or_is_kept() {
    let process = Process::new();
    for key in ["gone", "kept"] {
        process.make(key, key);
        process.0.leave(&volume(key));
    }
    process.0.note_gone("gone").unwrap();
    // Another call writes it meanwhile.
    process.0.end_call(&volume("gone"), Ended::InVain).unwrap();
    process.0.keep("kept");
    assert_eq!(process.files().len(), 2, "until the volumes are released");
    process.release("gone");
    process.release("kept");
    assert_eq!(process.files().len(), 1);
    assert_eq!(process.0.kept_for_links(), ["kept"]);
    process.0.keep("new");
    let of_boot = process
        .files()
        .into_iter()
        .filter(|text| text.contains(r#""boot":"now""#));
    assert_eq!(of_boot.count(), 2);
    process.0.give_away("new").unwrap();
    let Process(_, folder) = process;
    assert_eq!(Process::after(folder, &[]).0.kept_for_links(), ["kept"]);
}

/// What a process that died in a stage presumed is removed by the volume that presumed it, and by no other.
#[test]
fn the_next_process_has_owners_as_the_files_say() {
    let process = Process::new();
    process.make("made", "made");
    process.take("presumed", "presumed", false);
    process.0.begin(&volume("presumed"), true).unwrap();
    process.take("foreign", "foreign", true);
    process.0.begin(&volume("foreign"), true).unwrap();
    let users = ["made", "presumed", "foreign", "no lease yet"].map(|key| (key, user(key)));
    let Process(_, folder) = process;
    let next = Process::after(folder, &users);
    let owners = users.each_ref().map(|(name, _)| next.owner(name));
    let expected = [Owner::Ours, Owner::Presumed, Owner::Foreign, Owner::Foreign];
    assert_eq!(owners, expected);
    assert!(!next.0.is_ours("presumed"));
}

#[test]
fn a_lease_of_before_or_unreadable_is_foreign() {
    for (from, to) in [
        ("now", "before"),
        (r#""version":1"#, r#""version":2"#),
        ("{", ""),
    ] {
        let process = Process::new();
        process.make("a", "s");
        let file = process.paths().remove(0);
        let text = fs::read_to_string(&file).unwrap().replace(from, to);
        fs::write(&file, &text).unwrap();
        let Process(_, folder) = process;
        let next = Process::after(folder, &[("a", user("s"))]);
        assert_eq!(next.owner("a"), Owner::Foreign, "{to:?}");
        next.make("a", "s");
        let is_readable = to == "before";
        assert_eq!(next.owner("a") == Owner::Ours, is_readable, "{to:?}");
        assert_eq!(next.0.is_unreadable("s"), !is_readable);
        assert_eq!(next.0.is_ours("s"), is_readable);
        assert_eq!(fs::read_to_string(&file).unwrap() == text, !is_readable);
    }
}

#[test]
fn a_presumption_is_of_the_volumes_of_its_boot() {
    let process = Process::new();
    process.take("b", "s", false);
    process.0.begin(&volume("b"), true).unwrap();
    let Process(_, folder) = process;
    let next = Process::after(folder, &[("b", user("s")), ("old", old_user())]);
    assert_eq!(next.owner("b"), Owner::Presumed);
    assert_eq!(next.owner("old"), Owner::Foreign);
    let Process(_, folder) = next;
    let rebooted = Process::in_boot(Some("next"), folder, &[("b", user("s"))]);
    assert_eq!(rebooted.owner("b"), Owner::Foreign);
    let process = Process::new();
    process.0.take(&volume("old"), old_user(), false).unwrap();
    assert_eq!(process.take("b", "s", true), Owner::Foreign);
}

#[test]
fn a_boot_that_is_not_known_changes_none_of_a_lease() {
    let process = Process::new();
    process.make("a", "s");
    let Process(_, folder) = process;
    let process = Process::in_boot(None, folder, &[("a", user("s"))]);
    let unknown = User {
        boot: None,
        ..user("s")
    };
    process.0.take(&volume("b"), unknown, true).unwrap();
    process.0.begin(&volume("b"), false).unwrap();
    process.0.adopt("s");
    assert!(process.files()[0].contains(r#""boot":"now""#));
}

#[test]
fn a_lease_of_ours_has_a_file_while_volumes_change() {
    // A user is staged again while another leaves; or a first one comes while the last leaves.
    for stays in [true, false] {
        let process = Process::new();
        process.make("a", "s");
        if stays {
            process.take("b", "s", true);
            process.0.begin(&volume("b"), false).unwrap();
        }
        process.0.leave(&volume("a"));
        process.take("b", "s", true);
        assert_eq!(process.0.adopt("s"), 1);
        process.release("a");
        assert_eq!(process.files().len(), 1, "{stays}");
    }
    // Or a foreign thing is left to a user that is staged again.
    let process = Process::new();
    for _ in 0..2 {
        process.take("a", "s", true);
        if process.0.adopt("s") == 1 && process.files().is_empty() {
            process.0.begin(&volume("a"), false).unwrap();
            process.0.end_call(&volume("a"), Ended::MetForeign).unwrap();
        }
    }
    assert_eq!(process.files().len(), 1);
}

#[test]
fn a_volume_of_another_thing_leaves_the_first() {
    let process = Process::new();
    process.make("a", "s");
    process.make("a", "t");
    assert_eq!((process.0.users("s"), process.0.users("t")), (0, 1));
    let files = process.files();
    assert!(
        files.len() == 1 && files[0].contains(r#""key":"t""#),
        "{files:?}"
    );
}

/// A directory is in the place of the file.
#[test]
fn a_lease_that_cannot_be_removed_stays() {
    let process = Process::new();
    process.make("a", "s");
    let file = process.paths().remove(0);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    process.0.leave(&volume("a"));
    process.0.note_gone("s").unwrap();
    process.0.release(&volume("a")).unwrap_err();
    assert!(process.0.is_gone("s"));
    process.0.keep("s");
    process.0.give_away("s").unwrap();
    fs::remove_dir(&file).unwrap();
    process.release("a");
    assert!(!process.0.is_gone("s") && process.files().is_empty());
}

#[test]
fn what_is_gone_is_foreign_to_its_only_volume_alone() {
    let process = Process::new();
    process.make("a", "s");
    process.make("b", "s");
    process.0.end_call(&volume("a"), Ended::Gone).unwrap();
    assert_eq!(
        process.owner("a"),
        Owner::Ours,
        "the other may have made it"
    );
    process.0.leave(&volume("b"));
    process.release("b");
    process.0.end_call(&volume("a"), Ended::Gone).unwrap();
    assert_eq!(process.owner("a"), Owner::Foreign);
}

#[test]
fn a_file_is_of_the_thing_of_its_name() {
    let process = Process::new();
    process.make("a", "s");
    process.take("b", "t", false);
    process.0.begin(&volume("b"), true).unwrap();
    let files = process.paths();
    let of = |key: &str| {
        let text = format!(r#""key":"{key}""#);
        let mut files = files.iter();
        files
            .find(|file| fs::read_to_string(file).unwrap().contains(&text))
            .unwrap()
    };
    let other = fs::read_to_string(of("s"))
        .unwrap()
        .replace(r#""key":"s""#, r#""key":"u""#);
    fs::write(of("t").with_file_name("thing-copy.lease"), other).unwrap();
    let Process(_, folder) = process;
    let next = Process::after(folder, &[("a", user("s"))]);
    let left = next.paths();
    assert_eq!(
        left.len(),
        2,
        "the copy stays, the presumption goes: {left:?}"
    );
    assert_eq!(next.owner("a"), Owner::Ours);
    assert!(!next.0.is_ours("u"));
}
