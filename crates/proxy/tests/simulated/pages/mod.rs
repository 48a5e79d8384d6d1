//! The pages generated from tables agree with the tables.

#[path = "../../../examples/compatibility_page/drivers.rs"]
mod drivers;
mod evidence;
#[path = "../../../examples/compatibility_page/page.rs"]
mod page;
mod sources;

use std::collections::BTreeSet;

use node::driver_texts;
use wincsi_proxy::{catalogue, flags};

use self::evidence::{TESTS, TEXTS};
use self::sources::Sources;

#[test]
fn the_page_of_flags_is_the_tables() {
    let page = include_str!("../../../../../docs/flags.md").replace("\r\n", "\n");
    assert!(
        page == flags::page(),
        "docs/flags.md is stale: run `cargo xtask docs`"
    );
}

#[test]
fn the_page_of_compatibility_is_the_tables() {
    let page = include_str!("../../../../../docs/compatibility.md").replace("\r\n", "\n");
    let tables = page::page().expect("the operations that are named are there");
    assert!(
        page == tables,
        "docs/compatibility.md is stale: run `cargo xtask docs`"
    );
}

#[test]
fn the_guide_has_the_table_of_features() {
    let page = include_str!("../../../../../docs/guide.md").replace("\r\n", "\n");
    assert!(page.contains(&node::api::feature_table()));
}

#[test]
fn every_method_of_every_version_has_a_test_that_names_it() {
    let sources = Sources::read();
    for group in wire::GROUPS {
        for method in group.methods {
            let operation = catalogue::find(group.name, method.name).expect("it is in the table");
            let tests = evidence::tests_of(&sources, group, method, operation).expect("they exist");
            assert!(!tests.is_empty(), "{group} {} has no test", method.name);
        }
    }
}

#[test]
fn every_text_that_drivers_look_for_has_a_test() {
    let sources = Sources::read();
    for text in driver_texts::ALL {
        let row = TEXTS.iter().find(|(words, _)| *words == text.words);
        let (words, test) = row.expect("a test for each text");
        assert!(sources.test(test).is_some(), "{words}: {test}");
    }
}

#[test]
fn every_test_is_named_for_an_operation_that_there_is_and_for_some_version_of_it() {
    let sources = Sources::read();
    for (operation, tests) in TESTS {
        let (group, name) = operation.split_once('.').expect("group and operation");
        let row = catalogue::find(group, name).expect("it is in the table");
        let versions = wire::GROUPS.iter().filter(|one| one.name == group);
        let methods = versions.flat_map(|one| one.methods.iter().map(move |method| (one, method)));
        let shown: BTreeSet<_> = methods
            .filter(|(_, method)| row.is_called(method.name))
            .flat_map(|(group, method)| evidence::tests_of(&sources, group, method, row))
            .flatten()
            .collect();
        for test in *tests {
            assert!(
                shown.contains(test),
                "{test} names no version of {operation}"
            );
        }
    }
}

#[test]
fn a_test_that_is_gone_and_a_mention_that_is_none_are_noticed() {
    let sources = Sources::of([(
        "x.rs",
        "macro_rules! m {\n    () => {\n        Mkdir\n    };\n}\n#[test]\nfn t() {\n    m!(v1);\n}\n\
         fn helper() {\n    Rmdir\n}\n",
    )]);
    assert_eq!(sources.test("x::gone"), None);
    assert_eq!(sources.test("x::helper"), None, "it is no test");
    let text = sources.test("x::t").expect("it is there");
    assert!(text.names("mkdir") && text.names("v1"));
    assert!(!text.names("Rmdir") && !text.names("v1beta1") && !text.names("Mkd"));
}
