//! From a view to a verdict.

use std::collections::BTreeMap;
use std::fmt;

use super::rules::RULES;
use super::{Signature, View};

/// The content of an object's scan ranges.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Zeros only.
    Blank,
    /// At least one known format, in the order of their offsets, each named once.
    Signatures(Vec<Found>),
    /// Bytes of no known format.
    Unknown {
        /// Byte offset of the first that is not zero.
        first_nonzero: u64,
    },
}

/// A known format and where its mark stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Found {
    /// The format.
    pub signature: Signature,
    /// Byte offset of its magic number in the object.
    pub offset: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.signature, self.offset)
    }
}

/// Judges everything in the view against every rule.
pub fn scan(view: &View) -> Verdict {
    let Some(first_nonzero) = view.first_nonzero() else {
        return Verdict::Blank;
    };
    let found = signatures(view);
    if found.is_empty() {
        Verdict::Unknown { first_nonzero }
    } else {
        Verdict::Signatures(found)
    }
}

fn signatures(view: &View) -> Vec<Found> {
    let mut first = BTreeMap::new();
    for rule in RULES {
        if let Some(offset) = rule.first_match(view) {
            let known = first.entry(rule.signature).or_insert(offset);
            *known = offset.min(*known);
        }
    }
    let mut found: Vec<_> = first
        .into_iter()
        .map(|(signature, offset)| Found { signature, offset })
        .collect();
    found.sort_by_key(|found| found.offset);
    found
}
