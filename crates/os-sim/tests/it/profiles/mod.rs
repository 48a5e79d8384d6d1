//! Each machine profile against each property that was recorded of such machines.
//!
//! The test makes a node by the profile and gives it disks of the record's number, place, length and identity; all
//! else that the record has must come from the profile. What differs between two machines of one kind is made
//! neutral by the rules of `neutral`, by name; nothing else is left out.

mod compare;
mod latency;
mod machine;
mod neutral;
mod reported;
mod scenes;

use std::fmt::Write as _;

use formats::fixtures::field;
use wincsi_os_sim::Profile;

use crate::profiles::compare::Comparison;
use crate::profiles::reported::reported;

/// Values that a profile reports without a record, by profile and class.
const UNBACKED: &str = include_str!("unbacked.txt");

#[test]
fn each_recorded_property_is_the_profiles() {
    let comparison = compared();
    assert_eq!(comparison.differences, Vec::<String>::new());
    let unused: Vec<_> = comparison.unused_rules().collect();
    assert_eq!(unused, Vec::<&str>::new(), "rules that nothing needs");
}

#[test]
fn each_property_that_a_profile_reports_is_recorded_or_listed_as_not() {
    let unbacked = unbacked(&compared());
    assert!(unbacked == UNBACKED, "unbacked.txt has to be:\n{unbacked}");
}

#[test]
fn an_object_that_is_compared_with_nothing_is_told() {
    let mut records = field::records().into_iter();
    let mut record = records.find(|record| record.name == "hyper-v").unwrap();
    let mut third = record.objects[1].clone();
    "third".clone_into(&mut third.name);
    record.objects.push(third);
    let mut comparison = Comparison::default();
    scenes::compare(Profile::HyperV, &record, &mut comparison);
    let expected = ["hyper-v [MSFT_Disk third]: compared with nothing"];
    assert_eq!(comparison.differences, expected);
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

/// Each record with its profile's machine.
fn compared() -> Comparison {
    let mut comparison = Comparison::default();
    for record in field::records() {
        if let Some(profile) = &record.profile {
            scenes::compare(profile.parse().unwrap(), &record, &mut comparison);
        }
    }
    comparison
}

/// A line for each profile and each class that it has objects of.
fn unbacked(comparison: &Comparison) -> String {
    let mut text = String::new();
    for profile in Profile::ALL {
        for (class, reported) in reported(profile) {
            let of = (profile.to_string(), class.to_owned());
            let is_backed = |property: &str| {
                let backed = comparison.backed.get(&of);
                backed.is_some_and(|backed| backed.contains(property))
            };
            let lacking = reported.into_iter().filter(|name| !is_backed(name));
            let lacking: Vec<_> = lacking.collect();
            let lacking = match lacking.is_empty() {
                true => "none".to_owned(),
                false => lacking.join(" "),
            };
            let _ = writeln!(text, "{profile} {class}: {lacking}");
        }
    }
    text
}
