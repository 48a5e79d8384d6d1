use wincsi::sim::{ClockMode, Inventory, NodeSpec, SimNode};
use wincsi::{Node, Options};

use super::*;
use crate::doctor::report::Way;

fn sim() -> SimNode {
    let (spec, none) = (NodeSpec::named("n"), Inventory::of(0));
    SimNode::in_memory(&spec, none, ClockMode::Virtual).unwrap()
}

fn site() -> Site {
    Site {
        kubelet: None,
        registry: "tcp://127.0.0.1:9".parse().unwrap(),
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
            matches!(limit.why_away(probed), Ok(Some(_)))
        });
        assert_eq!(is_found, found, "{cause:?}");
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
