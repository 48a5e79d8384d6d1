//! Checks a script before it is played.

use std::collections::BTreeSet;

use super::script::{Line, Script, Source};
use super::{NodeFixture, Player};
use crate::lives::Form;

/// The words that begin a line without indentation, beside the names of routines.
const HEADS: [&str; 6] = ["content", "driver", "let", "mode", "node", "use"];

/// The routines that nothing in a script has to play: a call of the kubelet's, the start of node and driver, and what
/// tests in Rust play.
const PLAYED: [&str; 14] = [
    "expand",
    "grow",
    "look_at",
    "mapped",
    "measure",
    "node",
    "publish",
    "stage",
    "start",
    "stats",
    "unpublish",
    "unstage",
    "unstaged",
    "wipe",
];

/// Goes through each routine that no other plays, in each mode, without a call.
pub(super) fn check(fixture: &NodeFixture, source: Source) {
    let script = Script::parse(source.file, source.text);
    let headings = script.0.iter().filter_map(Line::heading);
    let cases: Vec<_> = headings.filter(|words| words[0] == "case").collect();
    for name in script.modes().chain(cases.iter().map(|case| case[1])) {
        let is_tested = source.tests.contains(&name) || cases.iter().any(|case| case[2] == name);
        assert!(is_tested, "{}.txt: {name} is no test", source.file);
    }
    let played: BTreeSet<_> = script.0.iter().flat_map(Line::plays).collect();
    let mut names = BTreeSet::new();
    // A common script has more than each of its users plays.
    for line in script.0.iter().filter(|line| line.is_of(source.file)) {
        let Some(heading) = line.heading().filter(|words| words[0] != "case") else {
            continue;
        };
        let name = heading[0];
        let is_made = cases.iter().any(|case| case.last() == Some(&name));
        let is_played = is_made || played.contains(name) || PLAYED.contains(&name);
        assert!(is_played, "{line}: nothing plays {name}");
        assert!(names.insert(name), "{line}: {name} is there twice");
    }
    for mode in script.modes() {
        let mut player = Player::new(fixture, source, mode, Form::Backslashes);
        player.is_dry = true;
        for line in &script.0 {
            let Some(heading) = line.heading() else {
                let is_known = HEADS.contains(&line.words[0].as_str());
                assert!(is_known, "{line}: no line begins with {}", line.words[0]);
                continue;
            };
            let is_case = heading[0] == "case";
            let parameters = heading[1..].iter().map(|name| (*name, ""));
            if is_case || !played.contains(heading[0]) {
                let parameters: Vec<_> = parameters.collect();
                player
                    .play(heading[usize::from(is_case)], &parameters)
                    .unwrap();
            }
        }
    }
}

/// Lines with their errors.
const TYPOS: &str = r#"
  disk.PartitonDisk -- disk/v1 has no RPC PartitonDisk
  disk.PartitionDisk disk=1 -- disk of /v1.Disk/PartitionDisk
  disk.PartitionDisk disk_number=x -- disk_number of /v1.Disk/PartitionDisk
  disk.GetDiskStats disk_number=1 -> bytes -- no field bytes in
  disk.GetDiskStats disk_number=1 -> a b -- it is not clear what to take from the answer
  volume.FormatVolume -- v1 has no volume
  disk.PartitionDisk disk_number=1 1 -- 1 is no NAME=VALUE
  disk.Rescan ignorng "x" -- ignorng is no NAME=VALUE
  connect dsik -- v1 has no dsik
  node mkdr a -- there is no action ["node", "mkdr", "a"]
  node mkdir -- there is no action ["node", "mkdir"]
  if $stagin then done -- nothing binds $stagin
  if $staging is a then done -- v1 has no c:\
  if $staging -- a condition is for `then` or for lines below
  do publsh -- there is no routine publsh
  do publish path=a -- the parameters of publish
  do publish path -- path is no NAME=VALUE
  publish -- there is no action ["publish"]
"#;

#[test]
fn each_typo_is_an_error_with_its_file_and_line() {
    for (line, error) in TYPOS.lines().filter_map(|row| row.split_once(" -- ")) {
        let script = format!("driver a\nnode ebs\nmode v1 disk.v1\npublish:\nstage:\n{line}\n");
        let source = Source {
            file: "typo",
            text: script.leak(),
            tests: &["v1"],
        };
        let played = std::panic::catch_unwind(|| drop(super::node(source, "v1", "node")));
        let panic = played.expect_err(line);
        let text = panic.downcast_ref::<String>().expect("a text");
        assert!(
            text.contains(&format!("typo.txt:6: {error}")),
            "{line}: {text}"
        );
    }
}

/// Calls of the kubelet's are optional: one that is misspelt would not be missed.
#[test]
fn a_routine_that_nothing_plays_is_an_error() {
    for (routine, error) in [
        ("stat", "nothing plays stat"),
        ("stage", "stage is there twice"),
    ] {
        let script = format!("driver a\nnode ebs\nmode v1 disk.v1\nstage:\n{routine}:\n");
        let source = Source {
            file: "typo",
            text: script.leak(),
            tests: &["v1"],
        };
        let played = std::panic::catch_unwind(|| drop(super::node(source, "v1", "node")));
        let panic = played.expect_err(routine);
        let text = panic.downcast_ref::<String>().expect("a text");
        assert!(text.contains(&format!("typo.txt:5: {error}")), "{text}");
    }
}
