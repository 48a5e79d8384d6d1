//! Each machine profile against each property that was recorded of such machines.
//!
//! The test makes a node by the profile and gives it disks of the record's number, place, length and identity; all
//! else that the record has must come from the profile. What differs between two machines of one kind is made
//! neutral by the rules of `neutral`, by name; nothing else is left out.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod compare;
mod latency;
mod machine;
mod neutral;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use formats::fixtures::field;
use os::schema::{disk, partition};
use wincsi_os_sim::Profile;

use crate::compare::Comparison;

/// What no record has, by profile and class; the page docs/fidelity.md shows it.
const UNBACKED: &str = include_str!("unbacked.txt");

#[test]
fn each_recorded_property_is_the_profiles() {
    let mut comparison = Comparison::default();
    for record in field::records() {
        let Some(profile) = &record.profile else {
            continue;
        };
        scenes::play(profile.parse().unwrap(), &record, &mut comparison);
    }
    assert_eq!(comparison.differences, Vec::<String>::new());
    let unused: Vec<_> = comparison.unused_rules().collect();
    assert_eq!(unused, Vec::<&str>::new(), "rules that nothing needs");
    assert_eq!(unbacked(&comparison.backed), UNBACKED);
}

#[test]
fn a_profile_has_the_name_that_a_nodes_file_has() {
    for profile in Profile::ALL {
        let written = format!("profile = \"{profile}\"");
        let spec: wincsi_os_sim::NodeSpec = toml::from_str(&written).unwrap();
        assert_eq!(spec.profile, Some(profile));
        assert_eq!(profile.to_string().parse(), Ok(profile));
    }
    assert!("azure".parse::<Profile>().is_err());
}

/// A line for each profile and class of which anything is recorded.
fn unbacked(backed: &BTreeMap<(String, &'static str), BTreeSet<&'static str>>) -> String {
    let mut text = String::new();
    for ((profile, class), known) in backed {
        let row = [&disk::CLASS, &partition::CLASS]
            .into_iter()
            .find(|row| row.name == *class);
        let Some(row) = row else {
            continue;
        };
        let names = row.all_properties().map(|property| property.name);
        let lacking: Vec<_> = names.filter(|name| !known.contains(name)).collect();
        let lacking = match lacking.is_empty() {
            true => "none".to_owned(),
            false => lacking.join(" "),
        };
        let _ = writeln!(text, "{profile} {class}: {lacking}");
    }
    text
}
