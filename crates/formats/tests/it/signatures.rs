//! Every known format is recognised, and nothing else is.

use std::collections::BTreeSet;

use wincsi_formats::blank::{Found, SectorSize, Signature, Verdict, scan};
use wincsi_formats::fixtures;

fn found(verdict: Verdict) -> Vec<Found> {
    match verdict {
        Verdict::Signatures(found) => found,
        Verdict::Blank | Verdict::Unknown { .. } => Vec::new(),
    }
}

#[test]
fn every_fixture_is_recognised_as_what_it_is_and_as_nothing_else() {
    for fixture in fixtures::all() {
        let verdict = scan(&fixture.image.view(SectorSize::B512).unwrap());
        let seen: BTreeSet<_> = found(verdict).iter().map(|found| found.signature).collect();
        let meant: BTreeSet<_> = fixture
            .also
            .iter()
            .copied()
            .chain([fixture.signature])
            .collect();
        assert_eq!(seen, meant, "{}", fixture.name);
    }
}

#[test]
fn every_signature_has_a_fixture() {
    let covered: BTreeSet<_> = fixtures::all()
        .iter()
        .map(|fixture| fixture.signature)
        .collect();
    let missing: Vec<_> = Signature::ALL
        .iter()
        .filter(|each| !covered.contains(each))
        .collect();
    assert_eq!(missing, Vec::<&Signature>::new());
}

#[test]
fn fixture_names_are_unique() {
    let all = fixtures::all();
    let names: BTreeSet<_> = all.iter().map(|fixture| fixture.name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn a_fixture_is_recognised_on_an_object_of_another_length() {
    for fixture in fixtures::all() {
        let moved = fixture.image.resized(fixture.image.length() + (3 << 20));
        let seen = found(scan(&moved.view(SectorSize::B512).unwrap()));
        let named = seen
            .iter()
            .any(|found| found.signature == fixture.signature);
        assert!(named, "{}: {seen:?}", fixture.name);
    }
}
