use super::*;

#[test]
fn a_boot_learned_late_makes_no_older_thing_ours() {
    for ended in [Some(Ended::Made), None] {
        let process = Process::new();
        process.take("a", "s", false);
        process.0.begin(&volume("a"), true).unwrap();
        if let Some(ended) = ended {
            process.0.end_call(&volume("a"), ended).unwrap();
        }
        let Process(_, folder) = process;
        let process = Process::in_boot(None, folder, &[("a", user("s"))]);
        process.0.learn_boot(|| Some(String::from("next")));
        assert_eq!(process.owner("a"), Owner::Foreign, "{ended:?}");
        let boot = Some(String::from("next"));
        let again = User { boot, ..user("s") };
        process.0.take(&volume("a"), again, true).unwrap();
        assert_eq!(process.owner("a"), Owner::Foreign, "{ended:?}");
    }
}

#[test]
fn what_a_later_version_has_of_a_lease_stays() {
    let process = Process::new();
    process.make_known("a", "s");
    let file = process.paths().remove(0);
    let Process(_, folder) = process;
    let text = fs::read_to_string(&file).unwrap();
    let later = text.replacen('{', r#"{"later":{"of":["it"]},"#, 1);
    fs::write(&file, later).unwrap();
    let process = Process::after(folder, &[("a", user("s"))]);
    assert_eq!(process.owner("a"), Owner::Ours);
    process.take("b", "s", true);
    process.0.begin(&volume("b"), true).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#""later":{"of":["it"]}"#), "{text}");
    assert!(text.contains(r#""secret":null"#), "not written: {text}");
}

/// A stage that died left it, and the next one finds it.
#[test]
fn what_a_dead_call_presumed_is_its_volumes_own() {
    for (is_there, expected) in [(true, Owner::Ours), (false, Owner::Presumed)] {
        let process = Process::new();
        process.take("a", "s", false);
        process.0.begin(&volume("a"), true).unwrap();
        let next = Process::after(process.1, &[("a", user("s"))]);
        assert_eq!(next.take("a", "s", is_there), expected);
    }
}
