use std::collections::BTreeMap;

use proptest::prelude::*;
use tar::EntryType;

use super::*;
use crate::doctor::report::{Finding, Severity, Way};

fn report() -> Report {
    let finding = Finding {
        check: String::from("server-away"),
        severity: Severity::Error,
        object: String::from("files"),
        text: String::from("it is away"),
        advice: String::from("check it"),
        page: String::from("p"),
    };
    Report::new(Way::Driver, 1, vec![finding], Vec::new())
}

fn bundle(files: &[(&'static str, &str)]) -> Vec<u8> {
    let present = files.iter().map(|(name, text)| (*name, (*text).to_owned()));
    let contents = Contents {
        present: present.collect(),
        missing: BTreeMap::new(),
    };
    let mut bundle = Vec::new();
    write(contents, &mut bundle).unwrap();
    bundle
}

/// A tar with one entry as someone may make it.
fn entry(name: &str, kind: EntryType, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_link_name("/etc/passwd").unwrap();
    header.set_cksum();
    [header.as_bytes().as_slice(), &vec![0; 1536]].concat()
}

/// Guards: P92
#[test]
fn what_is_no_bundle_has_no_findings() {
    let whole = bundle(&[(REPORT, &report().to_json())]);
    assert_eq!(report_in(whole.as_slice()).unwrap(), report());
    let many = vec![("a", ""); MOST_FILES];
    let many = [many.as_slice(), &[(REPORT, "{}")]].concat();
    let regular = EntryType::Regular;
    for (file, expected) in [
        (Vec::new(), "NoReport"),
        (vec![0x1F; 2000], "Io"),
        (whole[..600].to_vec(), "Malformed"),
        (bundle(&[("other.json", "{}")]), "NoReport"),
        (bundle(&many), "NoReport"),
        (bundle(&[(REPORT, "{")]), "Malformed"),
        (entry(REPORT, EntryType::Symlink, 0), "NoReport"),
        (entry("/report.json", regular, 1), "NoReport"),
        (entry("../report.json", regular, 1), "NoReport"),
        (entry(REPORT, regular, MOST_OF_FILE + 1), "Io"),
        (entry(REPORT, regular, 1), "Malformed"),
    ] {
        let error = format!("{:?}", report_in(file.as_slice()).unwrap_err());
        assert!(error.starts_with(expected), "{error} is not {expected}");
    }
}

/// Counts what is read of it.
struct Counted<R>(R, usize);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 += count;
        Ok(count)
    }
}

#[test]
fn a_file_without_an_end_is_read_to_a_bound() {
    let huge = entry("a", EntryType::Regular, 1 << 32);
    let zeros = io::repeat(0).take(2 * MOST);
    let mut endless = Counted(huge.as_slice().chain(zeros), 0);
    report_in(&mut endless).unwrap_err();
    let most = usize::try_from(MOST).unwrap();
    assert!(endless.1 <= most, "{} bytes", endless.1);
}

#[test]
fn no_text_of_a_bundle_leads_the_terminal() {
    let way = report()
        .to_json()
        .replace("driver", r"\u001b[2J\nnothing known");
    let newer = report().to_json().replace("\"version\":1", "\"version\":2");
    for (text, expected) in [(&way, "unknown variant"), (&newer, "it has version 2")] {
        let error = report_in(bundle(&[(REPORT, text)]).as_slice()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(expected) && !error.contains(char::is_control),
            "{error}"
        );
    }
    let hostile = report()
        .to_json()
        .replace("it is away", r"\u001b[2J\u202e\nerror x");
    let read = report_in(bundle(&[(REPORT, &hostile)]).as_slice()).unwrap();
    let lines = read.to_string();
    assert!(!lines.contains(['\u{1b}', '\u{202e}']), "{lines}");
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[test]
fn a_bundle_has_a_bound_and_names_what_it_lacks() {
    let largest = "a".repeat(usize::try_from(MOST_OF_FILE).unwrap());
    let too_large = largest.clone() + "a";
    let files = [("a", too_large.as_str()), ("b", &largest), ("c", &largest)];
    let files = [
        files.as_slice(),
        &[("d", &largest), ("e", &largest), ("f", "")],
    ]
    .concat();
    let bundle = bundle(&files);
    assert!(u64::try_from(bundle.len()).unwrap() <= MOST);
    let mut archive = tar::Archive::new(bundle.as_slice());
    let names = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    });
    let files = BTreeMap::from_iter(names);
    let names = Vec::from_iter(files.keys().map(String::as_str));
    assert_eq!(names, ["b", "c", "d", "f", "missing.json"]);
    let missing: BTreeMap<String, String> = serde_json::from_str(&files["missing.json"]).unwrap();
    assert_eq!(Vec::from_iter(missing.into_keys()), ["a", "e"]);
}

proptest! {
    #[test]
    fn no_bundle_panics(at in 0..1600_usize, byte: u8, length in 0..2048_usize, other: Vec<u8>) {
        let mut hostile = bundle(&[(REPORT, &report().to_json())]);
        if let Some(place) = hostile.get_mut(at) {
            *place = byte;
        }
        hostile.truncate(length);
        let _ = report_in(hostile.as_slice());
        let _ = report_in(other.as_slice());
    }
}
