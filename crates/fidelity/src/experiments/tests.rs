use std::collections::BTreeSet;

use os::schema::{CLASSES, Class, Source};

use super::*;
use crate::operations;

fn is_unverified(source: Source) -> bool {
    matches!(source, Source::Unverified(_))
}

/// The rows of a class with an unverified source, by their names in experiments.
fn unverified(class: &Class) -> BTreeSet<String> {
    let name = class.name;
    let properties = class.properties.iter();
    let properties = properties.filter(|row| is_unverified(row.source));
    let mut found: BTreeSet<_> = properties
        .map(|row| format!("{name}.{}", row.name))
        .collect();
    for method in class.methods {
        if is_unverified(method.returns.source) {
            found.insert(format!("{name} codes"));
        }
        let parameters = method.parameters.iter();
        let parameters = parameters.filter(|row| is_unverified(row.source));
        found.extend(parameters.map(|row| format!("{name}.{}.{}", method.name, row.name)));
    }
    found
}

#[test]
fn what_the_schema_has_unverified_has_an_experiment_and_nothing_else() {
    let wanted: BTreeSet<_> = CLASSES.iter().flat_map(|class| unverified(class)).collect();
    let named = EXPERIMENTS.iter().flat_map(|one| one.schema);
    let named: BTreeSet<_> = named.map(|row| (*row).to_owned()).collect();
    assert_eq!(named, wanted);
}

#[test]
fn an_experiment_names_operations_that_there_are() {
    let all = operations();
    for name in EXPERIMENTS.iter().flat_map(|one| one.operations) {
        assert!(all.iter().any(|one| one.name == *name), "{name}");
    }
}

#[test]
fn numbers_ascend_and_each_experiment_can_be_made() {
    let numbers: Vec<_> = EXPERIMENTS.iter().map(|one| one.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    for one in EXPERIMENTS {
        let by_itself = one.case.is_some() || !one.scripts.is_empty();
        assert!(by_itself || one.by_hand.is_some(), "{one:?}");
    }
}
