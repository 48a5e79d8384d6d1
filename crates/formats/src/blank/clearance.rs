//! Leave to overwrite, or a refusal that names what would be lost.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Found, Verdict, View, scan};
use crate::gpt::types::MICROSOFT_RESERVED;
use crate::gpt::{Disagreement, Gpt, GptError, GptState};

/// How non-zero bytes without a known signature are judged. Known signatures always refuse.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlankRule {
    /// They refuse too.
    Strict,
    /// They are reported in the [`Clearance`] and do not refuse.
    Signatures,
}

/// `strict` or `signatures`, as flags spell it.
impl fmt::Display for BlankRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strict => "strict",
            Self::Signatures => "signatures",
        })
    }
}

impl FromStr for BlankRule {
    type Err = UnknownBlankRule;

    fn from_str(text: &str) -> Result<Self, UnknownBlankRule> {
        match text {
            "strict" => Ok(Self::Strict),
            "signatures" => Ok(Self::Signatures),
            _ => Err(UnknownBlankRule {
                text: text.to_owned(),
            }),
        }
    }
}

/// A text that names no [`BlankRule`].
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{text:?} is no guard: strict or signatures")]
pub struct UnknownBlankRule {
    text: String,
}

/// Permission to overwrite the object whose view was judged, valid only while the lock under which
/// the view was read is held.
#[derive(Debug, Eq, PartialEq)]
#[must_use]
pub struct Clearance {
    unknown: Option<u64>,
}

impl Clearance {
    /// Byte offset of the first byte that is not zero and that [`BlankRule::Signatures`] let pass;
    /// `None` when everything that was read is blank.
    pub fn unknown(&self) -> Option<u64> {
        self.unknown
    }
}

/// Why an object must not be overwritten.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Refusal {
    /// The two copies of the GPT, or the master boot record before them, contradict each other.
    #[error("its partition table contradicts itself: {0}")]
    DisagreeingGpt(#[source] Disagreement),
    /// A copy of the GPT is broken or missing; `None` is a copy without fault.
    #[error("its partition table is damaged (primary: {}, backup: {})", state(.primary), state(.backup))]
    DamagedGpt {
        /// The error in the copy at the start.
        primary: Option<GptError>,
        /// The error in the copy at the end.
        backup: Option<GptError>,
    },
    /// A partition was to be created without a GPT. The verdict has the content found.
    #[error("it has no GUID partition table but {}", content(.0))]
    NoGpt(Verdict),
    /// The table holds partitions other than the Microsoft Reserved one; these are their numbers.
    #[error("it already holds partitions {numbers:?}")]
    Partitions {
        /// Numbers of the entries in the table, counted from 1.
        numbers: Vec<u32>,
    },
    /// Formats that are known by name.
    #[error("it holds {}", list(.0))]
    Signatures(Vec<Found>),
    /// Bytes of no known format, under [`BlankRule::Strict`].
    #[error("it holds unknown data at offset {first_nonzero}")]
    Unknown {
        /// Byte offset of the first byte that is not zero.
        first_nonzero: u64,
    },
}

/// May a disk that Windows calls RAW be initialised? The view is of the whole disk.
///
/// # Errors
/// The disk is not blank.
pub fn for_initialise(view: &View, rule: BlankRule) -> Result<Clearance, Refusal> {
    judge(view, rule)
}

/// May a partition be created over the largest free extent of a disk? The view is of the whole
/// disk.
///
/// The disk must have a GPT whose copies are whole and agree, with nothing in it but Microsoft
/// Reserved partitions. The table's own structures do not count; everything else must be blank,
/// the inside of the reserved partition too. So a retry after a death between initialising and
/// creating goes on.
///
/// # Errors
/// There is no such table, or something besides it.
pub fn for_create_partition(view: &View, rule: BlankRule) -> Result<Clearance, Refusal> {
    match Gpt::read(view) {
        GptState::Absent => Err(Refusal::NoGpt(scan(view))),
        GptState::Damaged { primary, backup } => Err(Refusal::DamagedGpt { primary, backup }),
        GptState::Disagree(disagreement) => Err(Refusal::DisagreeingGpt(disagreement)),
        GptState::Valid(gpt) => {
            refuse_partitions(&gpt)?;
            judge(&view.clone().masked(gpt.own_ranges().iter().cloned()), rule)
        }
    }
}

/// May a partition be formatted? The view is of the partition alone.
///
/// # Errors
/// The partition is not blank.
pub fn for_format(view: &View, rule: BlankRule) -> Result<Clearance, Refusal> {
    judge(view, rule)
}

fn judge(view: &View, rule: BlankRule) -> Result<Clearance, Refusal> {
    match (scan(view), rule) {
        (Verdict::Blank, _) => Ok(Clearance { unknown: None }),
        (Verdict::Signatures(found), _) => Err(Refusal::Signatures(found)),
        (Verdict::Unknown { first_nonzero }, BlankRule::Strict) => {
            Err(Refusal::Unknown { first_nonzero })
        }
        (Verdict::Unknown { first_nonzero }, BlankRule::Signatures) => Ok(Clearance {
            unknown: Some(first_nonzero),
        }),
    }
}

fn refuse_partitions(gpt: &Gpt) -> Result<(), Refusal> {
    let numbers: Vec<_> = gpt
        .partitions()
        .iter()
        .filter(|partition| partition.type_guid != MICROSOFT_RESERVED)
        .map(|partition| partition.number)
        .collect();
    if numbers.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Partitions { numbers })
    }
}

fn state(error: &Option<GptError>) -> String {
    error
        .as_ref()
        .map_or_else(|| "whole".to_owned(), ToString::to_string)
}

fn content(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Blank => "is blank".to_owned(),
        Verdict::Signatures(found) => format!("holds {}", list(found)),
        Verdict::Unknown { first_nonzero } => {
            format!("holds unknown data at offset {first_nonzero}")
        }
    }
}

fn list(found: &[Found]) -> String {
    found
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
