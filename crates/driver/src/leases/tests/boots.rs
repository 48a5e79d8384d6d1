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
    }
}
