use wincsi::sim::{ClockMode, Inventory, NodeSpec, ServiceSpec, SimNode, Start};
use wincsi::{Node, Options};

use super::*;
use crate::doctor::report::Way;
use crate::record::VolumeHandle;

fn sim() -> SimNode {
    sim_of(&NodeSpec::named("n"))
}

fn sim_of(spec: &NodeSpec) -> SimNode {
    SimNode::in_memory(spec, Inventory::of(0), ClockMode::Virtual).unwrap()
}

fn site() -> Site {
    Site {
        kubelet: None,
        registry: None,
        records: None,
        forms: Vec::new(),
        aside: Aside::default(),
    }
}

fn late<T>(_: &dyn NodeApi, _: Deadline) -> Result<T, Error> {
    Err(Error::new("ask", "it", Cause::Deadline))
}

#[test]
fn what_hangs_is_asked_no_more() {
    let (sim, site) = (sim(), site());
    let node = Node::new(sim.os(), Options::default());
    let subject = Subject::new(Ok(&node), Driver::Own(None), &site);
    let hangs = Err(Doubt::Hangs(Provider::Shares));
    assert_eq!(subject.ask(Provider::Shares, late::<()>), hangs);
    assert_eq!(subject.ask(Provider::Shares, |_, _| Ok(())), hangs);
    assert_eq!(subject.ask(Provider::Files, |_, _| Ok(())), Ok(()));
    assert_eq!(subject.hung(), BTreeSet::from([Provider::Shares]));
}

/// Neither a question that had less than its time nor one that had none says anything of what it asks.
#[test]
fn without_time_nothing_is_found() {
    let (sim, site) = (sim(), site());
    let node = Node::new(sim.os(), Options::default());
    let subject = Subject::new(Ok(&node), Driver::Own(Some(Ok(()))), &site);
    let clock = sim.os().clock;
    clock.sleep(ALL - Duration::from_secs(1));
    assert_eq!(subject.ask(Provider::Files, late::<()>), Err(Doubt::NoTime));
    assert_eq!(subject.ask(Provider::Files, |_, _| Ok(1)), Ok(1));
    clock.sleep(Duration::from_secs(1));
    let answer = subject.ask(Provider::Files, |_, _| Ok(1));
    assert_eq!(answer, Err(Doubt::NoTime));
    let port = Portal::parse("files", 445).unwrap();
    let answers = subject.dial(vec![port]).unwrap();
    assert_eq!(Vec::from_iter(answers.into_values()), [Err(Doubt::NoTime)]);
    let report = subject.report(Way::Driver, subject.look(), &BTreeSet::new());
    assert_eq!(
        (report.findings.len(), report.exit_code()),
        (0, 4),
        "{report}"
    );
}

#[test]
fn a_port_is_away_only_if_the_network_says_so() {
    let failed = |condition, code: Option<u32>| Cause::Failed {
        condition,
        text: "no".to_owned(),
        code: code.map(|code| Code::Win32(Win32(code))),
        system_text: None,
    };
    let other = |code| failed(Condition::Other, Some(code));
    // What a dial ends with, and whether the port is away if it had its time, and if it had not.
    for (cause, found) in [
        (other(10061), [true, true]),
        (other(11001), [true, true]),
        (Cause::Deadline, [true, false]),
        (other(10060), [true, false]),
        // No socket to spare, no leave to dial, no answer of a name server, no thread.
        (other(10055), [false; 2]),
        (failed(Condition::AccessDenied, Some(10013)), [false; 2]),
        (other(11002), [false; 2]),
        (failed(Condition::Other, None), [false; 2]),
    ] {
        let is_found = [false, true].map(|is_short| {
            let limit = Limit {
                deadline: Deadline::NEVER,
                is_short,
            };
            let probed = Err(Error::new("probe portal", "files", cause.clone()));
            let late = cause == Cause::Deadline || cause == other(10060);
            matches!(limit.why_away(probed), Ok(Some(it)) if it.is_late == late)
        });
        assert_eq!(is_found, found, "{cause:?}");
    }
}

/// The account that asks may not, or there was no thread: that says nothing of the node.
#[test]
fn what_was_not_asked_is_no_failure_of_the_node() {
    let (sim, site) = (sim(), site());
    let node = Node::new(sim.os(), Options::default());
    let subject = Subject::new(Ok(&node), Driver::Own(None), &site);
    let failed = |condition| Cause::Failed {
        condition,
        text: "no".to_owned(),
        code: None,
        system_text: None,
    };
    let pipe = |reason| Cause::Unreachable {
        endpoint: "pipe".to_owned(),
        reason,
    };
    for (cause, is_asked) in [
        (failed(Condition::DeviceFailed), true),
        (pipe(Unreachable::NoPipe), true),
        (failed(Condition::AccessDenied), false),
        (failed(Condition::Crowded), false),
        (failed(Condition::Other), false),
        (pipe(Unreachable::AccessDenied), false),
    ] {
        let fails = |_: &dyn NodeApi, _| Err::<(), _>(Error::new("ask", "it", cause.clone()));
        let answer = subject.ask(Provider::Files, fails);
        assert_eq!(
            matches!(answer, Err(Doubt::Failed(_))),
            is_asked,
            "{cause:?}"
        );
    }
}

/// A check whose questions take long has them unanswered, and leaves the others their time.
#[test]
fn a_check_has_its_own_time() {
    let (sim, site) = (sim(), site());
    let node = Node::new(sim.os(), Options::default());
    let subject = Subject::new(Ok(&node), Driver::Own(None), &site);
    let ask = || subject.ask(Provider::Files, |_, _| Ok(1));
    *subject.until_of_check.lock() = Some(node.deadline(Duration::ZERO));
    assert_eq!(ask(), Err(Doubt::NoTime));
    let report = subject.report(Way::Driver, subject.look(), &BTreeSet::new());
    let mut unseen = report.unseen.iter();
    assert!(
        !unseen.any(|one| one.reason == Doubt::NoTime.reason()),
        "{report}"
    );
    // Who looks on, for a bundle, has the time of all.
    sim.os().clock.sleep(CHECK);
    assert_eq!(ask(), Ok(1));
}

/// A call may be what moved it: one of a volume that is not known yet, or of a driver that was not asked.
#[test]
fn what_calls_may_move_is_in_doubt() {
    let site = site();
    let unknown = || Driver::Unknown(String::new());
    let new = BTreeSet::from([VolumeHandle::parse("new").unwrap()]);
    for (driver, called, findings) in [
        (Driver::Own(None), BTreeSet::new(), 1),
        (Driver::Own(None), new, 0),
        (unknown(), BTreeSet::new(), 0),
        (Driver::Older, BTreeSet::new(), 0),
    ] {
        let subject = Subject::new(Err(String::new()), driver, &site);
        let check = CHECKS.iter().find(|check| check.id == "share-not-mapped");
        let mut notes = Notes::default();
        notes.found("files", "it is not mapped".to_owned(), None);
        let report = subject.report(Way::Driver, vec![(check.unwrap(), notes)], &called);
        let outcome = (report.findings.len(), report.unseen.len());
        assert_eq!(outcome, (findings, 1 - findings), "{report}");
    }
}

/// A server that may only be slow explains a warning, and no error.
#[test]
fn what_is_late_covers_no_error() {
    let site = site();
    let subject = Subject::new(Err(String::new()), Driver::Own(None), &site);
    for (covered, is_late, findings) in [
        ("share-not-mapped", false, 1),
        ("share-not-mapped", true, 2),
        ("mapping-not-ok", true, 1),
    ] {
        let row = |id| CHECKS.iter().find(|check| check.id == id).unwrap();
        let mut notes = [Notes::default(), Notes::default()];
        match is_late {
            true => notes[0].found_late("files", String::new(), None),
            false => notes[0].found("files", String::new(), None),
        }
        notes[1].found("files", String::new(), None);
        let rows = [row("server-away"), row(covered)];
        let looked = rows.into_iter().zip(notes).collect();
        let report = subject.report(Way::Driver, looked, &BTreeSet::new());
        assert_eq!(report.findings.len(), findings, "{report}");
    }
}

/// A folder that may not be looked at is in doubt, as one with a name that no file has.
#[cfg(unix)]
#[test]
fn a_folder_that_is_not_seen_is_not_missing() {
    let site = site();
    let subject = Subject::new(Err(String::new()), Driver::Older, &site);
    let nameless = PathBuf::from(format!("/{}", "x".repeat(1_000)));
    let seen = subject.is_folder(nameless);
    assert!(matches!(seen, Err(Doubt::Unasked(_))), "{seen:?}");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(subject.is_folder(folder.path().join("none")), Ok(false));
    assert_eq!(subject.is_folder(folder.path().to_owned()), Ok(true));
}

/// Without its driver of Windows no socket answers, and then it is known that no driver does.
#[test]
fn a_node_without_unix_sockets_has_no_driver() {
    let absent = || Driver::Absent(String::from("why"));
    let unknown = || Driver::Unknown(String::from("why"));
    for (is_there, is_dead, driver, is_found, is_named) in [
        (true, true, absent(), true, true),
        (true, true, unknown(), true, true),
        (true, true, Driver::Own(None), false, false),
        (true, false, absent(), true, false),
        (true, false, unknown(), false, false),
        (false, false, absent(), true, false),
        (false, false, unknown(), false, false),
    ] {
        let mut spec = NodeSpec::named("n");
        spec.service.extend(is_there.then(|| ServiceSpec {
            name: String::from("afunix"),
            start: Start::System,
            dies_at_start: is_dead,
            ..ServiceSpec::default()
        }));
        let (sim, site) = (sim_of(&spec), site());
        let node = Node::new(sim.os(), Options::default());
        let subject = Subject::new(Ok(&node), driver, &site);
        let report = subject.report(Way::Command, subject.look(), &BTreeSet::new());
        let texts = report.findings.iter().map(|one| one.text.as_str());
        let texts = Vec::from_iter(texts);
        assert_eq!(!texts.is_empty(), is_found, "{report}");
        assert_eq!(texts.concat().contains("afunix"), is_named, "{report}");
    }
}
