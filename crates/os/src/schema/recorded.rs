//! The table beside the WMI repository of a Windows 11, build 22000, which nobody of us wrote: names, keys, types,
//! scopes and return codes. `fixtures/wmi.py` made the fixture, and says from what.
//!
//! A client's build is no proof that a server lacks something: rows are added for what it has, and none is taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::*;

const RECORDED: &str = include_str!("../../fixtures/windows-11-22000.wmi");

/// What the table has and the record lacks, by the beginning of its line, and why.
const OURS_ALONE: &[(&str, &str)] = &[
    (
        "in MSFT_SmbGlobalMapping.Create.",
        "of Windows Server 2025: its cmdlet's page has them",
    ),
    (
        "method MSFT_SmbGlobalMapping.Remove instance",
        "Remove-SmbGlobalMapping calls it on instances, which works in the field",
    ),
    (
        "returns MSFT_iSCSI",
        "the initiator's classes list no codes; those of its library are taken",
    ),
    ("returns MSFT_SmbGlobalMapping.", "its class lists no codes"),
    ("returns MSFT_StorageSetting.", "its class lists no codes"),
    (
        "returns MSFT_Partition.GetSupportedSize 4097",
        "Microsoft's page of the method has it",
    ),
    (
        "returns MSFT_Volume.Format 40018",
        "Microsoft's page of the method has it",
    ),
];

/// What the record has and the table lacks.
const RECORDED_ALONE: &[(&str, &str)] = &[
    (
        "method MSFT_SmbGlobalMapping.Remove static",
        "Remove-SmbGlobalMapping calls it on instances, which works in the field",
    ),
    (
        "method Win32_BaseService.",
        "the table leaves the methods of services to Win32_Service",
    ),
    (
        "property MSFT_WmiError.ErrorType",
        "nothing reads it: the type of the number is in error_Type",
    ),
    (
        "returns Win32_BaseService.",
        "the table leaves the methods of services to Win32_Service",
    ),
];

/// Each line of the record, a method's codes one by one, without those of the codes' meanings.
fn recorded() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for line in RECORDED.lines() {
        match line.split_once(' ') {
            Some(("#" | "code", _)) => {}
            Some(("returns", rest)) => {
                let mut words = rest.split(' ');
                let method = words.next().unwrap();
                lines.extend(words.map(|code| format!("returns {method} {code}")));
            }
            _ => drop(lines.insert(line.to_owned())),
        }
    }
    lines
}

fn ours() -> BTreeSet<String> {
    let mut text = String::new();
    for class in CLASSES {
        let name = class.name;
        writeln!(text, "class {name}").unwrap();
        for row in class.all_properties() {
            let key = if row.key { " key" } else { "" };
            let cim = type_of(row.cim, row.array);
            writeln!(text, "property {name}.{} {cim}{key}", row.name).unwrap();
        }
        for method in class.methods {
            let path = format!("{name}.{}", method.name);
            let scope = match method.scope {
                Scope::Instance => "instance",
                Scope::Static(_) => "static",
            };
            writeln!(text, "method {path} {scope}").unwrap();
            for row in method.parameters {
                let way = match row.direction {
                    Direction::In => "in",
                    Direction::Out => "out",
                };
                let cim = type_of(row.cim, row.array);
                writeln!(text, "{way} {path}.{} {cim}", row.name).unwrap();
            }
            for row in method.returns.codes {
                writeln!(text, "returns {path} {}", row.code).unwrap();
            }
        }
    }
    text.lines().map(str::to_owned).collect()
}

fn type_of(cim: CimType, is_array: bool) -> String {
    let name = match cim {
        CimType::Object(class) => format!("object:{class}"),
        CimType::Reference(class) => format!("ref:{class}"),
        plain => format!("{plain:?}").to_lowercase(),
    };
    name + if is_array { "[]" } else { "" }
}

/// Lines that one has alone are listed, each by one row, and each row lists some.
#[track_caller]
fn assert_listed(alone: &[&String], rows: &[(&str, &str)]) {
    let row_of = |line: &&&String| rows.iter().any(|(begin, _)| line.starts_with(begin));
    let unlisted: Vec<_> = alone.iter().filter(|line| !row_of(line)).collect();
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    for (begin, reason) in rows {
        let is_of_row = |line: &&String| line.starts_with(begin);
        assert!(alone.iter().any(is_of_row), "{begin}: nothing is so");
        assert!(reason.len() > 20, "{begin}: {reason:?} explains nothing");
    }
}

#[test]
fn the_table_is_as_recorded() {
    let (ours, recorded) = (ours(), recorded());
    let ours_alone: Vec<_> = ours.difference(&recorded).collect();
    let recorded_alone: Vec<_> = recorded.difference(&ours).collect();

    assert_listed(&recorded_alone, RECORDED_ALONE);
    assert_listed(&ours_alone, OURS_ALONE);
}

/// Words of three letters and more, by their first four, without those that are in every text.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let long = words.filter(|word| word.len() >= 3 && !["not", "the"].contains(word));
    long.map(|word| word.to_lowercase().chars().take(4).collect())
        .collect()
}

#[test]
fn a_code_means_what_is_recorded() {
    let lines = RECORDED.lines();
    let recorded: BTreeMap<u32, &str> = lines
        .filter_map(|line| line.strip_prefix("code ")?.split_once(' '))
        .map(|(code, text)| (code.parse().unwrap(), text))
        .collect();
    assert!(recorded.len() > 50);
    let own = |code: u32| codes::ALL.iter().find(|row| row.code == code);
    let other: Vec<_> = recorded
        .iter()
        .filter(|(code, text)| {
            own(**code).is_none_or(|row| words(row.meaning).is_disjoint(&words(text)))
        })
        .collect();
    assert!(other.is_empty(), "{other:#?}");
}
