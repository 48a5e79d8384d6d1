//! API versions, with csi-proxy's grammar and order.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An API version such as `v1`, `v2alpha1` or `v1beta3`.
///
/// Older is less: the major number counts first, then alpha before beta before stable, then the
/// number behind alpha or beta.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    major: u32,
    stability: Stability,
}

impl Version {
    /// For the generated table; elsewhere a version is parsed, and its numbers start at 1.
    pub(crate) const fn new(major: u32, stability: Stability) -> Self {
        Self { major, stability }
    }

    /// The number after `v`, from 1.
    pub const fn major(self) -> u32 {
        self.major
    }

    /// How mature this version is.
    pub const fn stability(self) -> Stability {
        self.stability
    }
}

/// How mature a version is, with its number at that stage, from 1. There are no other variants.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Stability {
    /// `v1alpha2` is `Alpha(2)`.
    Alpha(u32),
    /// `v1beta3` is `Beta(3)`.
    Beta(u32),
    /// `v1`, without a suffix.
    Stable,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, stability } = self;
        match stability {
            Stability::Alpha(number) => write!(f, "v{major}alpha{number}"),
            Stability::Beta(number) => write!(f, "v{major}beta{number}"),
            Stability::Stable => write!(f, "v{major}"),
        }
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    /// Parses `v<n>`, `v<n>alpha<n>` or `v<n>beta<n>`; numbers start at 1, have no leading zero and
    /// fit 32 bits.
    fn from_str(name: &str) -> Result<Self, InvalidVersion> {
        name.strip_prefix('v')
            .and_then(parse)
            .ok_or_else(|| InvalidVersion { name: name.into() })
    }
}

/// A text without an API version's name.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("invalid version name: {name:?}")]
pub struct InvalidVersion {
    /// The text.
    pub name: String,
}

fn parse(numbers: &str) -> Option<Version> {
    let end = numbers
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(numbers.len());
    let (major, stability) = numbers.split_at(end);
    Some(Version::new(
        parse_number(major)?,
        parse_stability(stability)?,
    ))
}

fn parse_stability(text: &str) -> Option<Stability> {
    if text.is_empty() {
        return Some(Stability::Stable);
    }
    if let Some(number) = text.strip_prefix("alpha") {
        return parse_number(number).map(Stability::Alpha);
    }
    text.strip_prefix("beta")
        .and_then(parse_number)
        .map(Stability::Beta)
}

/// Stricter than [`u32::from_str`], which accepts `+1` and `01`.
fn parse_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in [
            "v1",
            "v1alpha1",
            "v1beta2",
            "v2alpha7",
            "v10",
            "v975beta986654",
        ] {
            assert_eq!(name.parse::<Version>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let version: Version = "v2beta13".parse().unwrap();
        assert_eq!(
            (version.major(), version.stability()),
            (2, Stability::Beta(13))
        );
    }

    #[test]
    fn other_names_are_refused() {
        let names = [
            "",
            "v",
            "1",
            "V1",
            "v0",
            "v01",
            "v+1",
            "v1beta",
            "v1beta0",
            "v1beta01",
            "v1beta+1",
            "v1gamma1",
            "v1alpha1beta1",
            "v1.1",
            " v1",
            "v1 ",
            "v1\n",
            "valpha1",
            "v-1",
            "v१",
            "v4294967296",
            "v1alpha4294967296",
        ];
        for name in names {
            let error = name.parse::<Version>().unwrap_err();
            assert_eq!(error.name, name);
        }
    }

    #[test]
    fn order_is_major_then_stage_then_number() {
        let ascending = [
            "v1alpha1",
            "v1alpha2",
            "v1alpha10",
            "v1beta1",
            "v1beta9",
            "v1beta10",
            "v1",
            "v2alpha1",
            "v2",
            "v10alpha1",
        ];
        let parsed: Vec<Version> = ascending.iter().map(|name| name.parse().unwrap()).collect();
        assert!(
            parsed.windows(2).all(|pair| pair[0] < pair[1]),
            "{parsed:?}"
        );
    }
}
