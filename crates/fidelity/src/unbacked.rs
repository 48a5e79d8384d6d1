//! Properties of the simulated machines missing in records of real ones.

use std::fmt::Write as _;

/// A line for each profile and class, `PROFILE CLASS: PROPERTY PROPERTY`. The test `profiles` of `os-sim` compares it
/// with the records and with the simulator.
const UNBACKED: &str = include_str!("../../os-sim/tests/it/profiles/unbacked.txt");

/// The experiments that record all properties of a class's objects.
const SETTLED_BY: &[(u8, &[&str])] = &[
    (14, &["MSFT_SmbGlobalMapping"]),
    (18, &["MSFT_Disk", "MSFT_Partition", "Page83"]),
    (
        21,
        &[
            "MSFT_Volume",
            "MSFT_StorageSetting",
            "MSFT_iSCSITargetPortal",
            "MSFT_iSCSITarget",
            "MSFT_iSCSISession",
            "MSFT_iSCSIConnection",
            "Win32_BIOS",
        ],
    ),
];

const HEAD: &str = "
# Simulated properties that no record backs

Page83 is what a disk reports to the kernel, Win32_BIOS the firmware's table. There are records of volumes and of global
mappings, but of no machine that is known to be one of these. The experiment on such a machine settles a row.

| class | profile | properties that no record has | experiment |
|---|---|---|---:|
";

/// The report's section.
pub(crate) fn section() -> String {
    let mut section = HEAD.to_owned();
    for (class, properties, profiles) in rows() {
        let (profiles, properties) = (profiles.join(", "), properties.replace(' ', ", "));
        let settled_by = match settled_by(class) {
            Some(number) if properties != "none" => number.to_string(),
            _ => "–".to_owned(),
        };
        let _ = writeln!(
            section,
            "| `{class}` | {profiles} | {properties} | {settled_by} |"
        );
    }
    section
}

type Row = (&'static str, &'static str, Vec<&'static str>);

/// One for all profiles with the same gaps in a class; the classes in their order.
fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in UNBACKED.lines() {
        let (object, properties) = line.split_once(": ").unwrap_or((line, ""));
        let (profile, class) = object.split_once(' ').unwrap_or((object, ""));
        let is_same = |row: &&mut Row| (row.0, row.1) == (class, properties);
        match rows.iter_mut().find(is_same) {
            Some((.., profiles)) => profiles.push(profile),
            None => rows.push((class, properties, vec![profile])),
        }
    }
    let first = |class: &str| UNBACKED.find(&format!(" {class}: "));
    rows.sort_by_key(|(class, ..)| first(class));
    rows
}

fn settled_by(class: &str) -> Option<u8> {
    let mut all = SETTLED_BY.iter();
    let found = all.find(|(_, classes)| classes.contains(&class));
    found.map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment;

    #[test]
    fn each_class_that_lacks_a_record_has_an_experiment_that_settles_it() {
        for (class, ..) in rows() {
            let number = settled_by(class);
            assert!(number.and_then(experiment).is_some(), "{class}");
        }
    }

    #[test]
    fn a_row_has_the_profiles_that_lack_the_same() {
        let rows = rows();
        let lines: usize = rows.iter().map(|(.., profiles)| profiles.len()).sum();
        assert_eq!(lines, UNBACKED.lines().count());
        let mut classes: Vec<_> = rows.iter().map(|(class, ..)| *class).collect();
        classes.dedup();
        let once: BTreeSet<_> = classes.iter().collect();
        assert_eq!(
            once.len(),
            classes.len(),
            "the rows of a class stand together"
        );
    }
}
