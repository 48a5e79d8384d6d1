//! Where a node is, as NodeGetInfo reports it.

use std::collections::BTreeMap;

use wire::csi;

/// The most bytes that a map of CSI has (spec, Size Limits).
const MOST_BYTES: usize = 4 << 10;

/// The most characters of a key's prefix, of its name and of a value.
const LONGEST: usize = 63;

/// The keys of a node with their values, in the form of CSI's message `Topology`.
///
/// CSI asks that all keys have the same prefix. It is not checked, because other programs of the same driver may
/// report the well-known keys of Kubernetes beside their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology(BTreeMap<String, String>);

impl Topology {
    /// Adds pairs, as `KEY=VALUE,KEY=VALUE`, which is how kubectl takes labels. A key that is there gets the new value.
    ///
    /// # Errors
    /// What the text should have been; nothing is added then.
    pub fn add(&mut self, text: &str) -> Result<(), &'static str> {
        let mut all = self.0.clone();
        for (key, value) in pairs(text)? {
            // Keys are case-insensitive.
            let is_respelt = |known: &String| *known != key && known.eq_ignore_ascii_case(&key);
            if all.keys().any(is_respelt) {
                return Err("two of its keys differ in upper and lower case only");
            }
            all.insert(key, value);
        }
        let bytes: usize = all.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > MOST_BYTES {
            return Err("its keys and values must have at most 4096 bytes");
        }
        self.0 = all;
        Ok(())
    }

    /// None if there is no key.
    pub fn message(&self) -> Option<csi::v1::Topology> {
        let segments = self.0.clone().into_iter().collect();
        (!self.0.is_empty()).then_some(csi::v1::Topology { segments })
    }
}

fn pairs(text: &str) -> Result<BTreeMap<String, String>, &'static str> {
    let mut pairs = BTreeMap::new();
    if text.is_empty() {
        return Ok(pairs);
    }
    for pair in text.split(',') {
        let (key, value) = pair
            .split_once('=')
            .ok_or("it must be KEY=VALUE, or several with commas between them")?;
        if !is_key(key) {
            return Err(
                "a key must be PREFIX/NAME or NAME, each of 1 to 63 letters and digits, \
                 with dots and hyphens between them, in the prefix no capitals, in the name also underscores",
            );
        }
        if !is_word(value, is_of_name) {
            return Err(
                "a value must have 1 to 63 letters and digits, with dots, hyphens and underscores between them",
            );
        }
        if pairs.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err("it has a key twice");
        }
    }
    Ok(pairs)
}

fn is_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_domain(prefix) && is_word(name, is_of_name),
        None => is_word(text, is_of_name),
    }
}

fn is_domain(text: &str) -> bool {
    text.len() <= LONGEST && text.split('.').all(|label| is_word(label, is_of_prefix))
}

fn is_word(text: &str, is_of_it: fn(u8) -> bool) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= LONGEST
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| is_of_it(*byte))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn is_of_prefix(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(texts: &[&str]) -> Result<Vec<(String, String)>, &'static str> {
        let mut topology = Topology::default();
        for text in texts {
            topology.add(text)?;
        }
        Ok(topology.0.into_iter().collect())
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn pairs_add_up_and_the_last_value_of_a_key_holds() {
        let expected = owned(&[
            ("rack", "1.b_c"),
            ("topology.wincsi.io/region", "r-1"),
            ("topology.wincsi.io/zone", "3"),
        ]);
        let of_one = "topology.wincsi.io/zone=3,topology.wincsi.io/region=r-1,rack=1.b_c";
        assert_eq!(added(&[of_one]), Ok(expected.clone()));
        let of_several = [
            "rack=1.b_c,topology.wincsi.io/zone=2",
            "",
            "topology.wincsi.io/zone=3",
            "topology.wincsi.io/region=r-1",
        ];
        assert_eq!(added(&of_several), Ok(expected));
    }

    #[test]
    fn what_csi_does_not_allow_is_refused() {
        let long = "x".repeat(64);
        let (long_value, long_key) = (format!("zone={long}"), format!("{long}=1"));
        let long_prefix = format!("{long}/zone=1");
        for text in [
            "zone",
            "zone=",
            "=1",
            ",",
            "zone=1,",
            ",zone=1",
            "zone=1,,rack=2",
            "zone=1, rack=2",
            "zone=1;rack=2",
            "zone=1,zone=2",
            "zone=1,Zone=1",
            "zone=a=b",
            "zone=-a",
            "zone=a-",
            "zone=& calc | %PATH%",
            "zone=\u{e9}",
            "zone=1\n",
            "zo ne=1",
            "/zone=1",
            "a/b/zone=1",
            "Topology.io/zone=1",
            "topology..io/zone=1",
            "-topology.io/zone=1",
            "top_ology.io/zone=1",
            &long_value,
            &long_key,
            &long_prefix,
        ] {
            assert!(added(&[text]).is_err(), "{text:?}");
        }
        assert!(added(&["zone=1", "ZONE=1"]).is_err());
    }

    #[test]
    fn a_map_has_csis_size_at_most() {
        let value = "x".repeat(LONGEST);
        let pairs = |count| {
            let pairs: Vec<_> = (100..100 + count)
                .map(|key| format!("k{key}={value}"))
                .collect();
            pairs.join(",")
        };
        // Of 67 bytes each.
        assert!(added(&[&pairs(61)]).is_ok());
        assert!(added(&[&pairs(62)]).is_err());
        assert!(added(&[&pairs(61), "k0=0123456789"]).is_err());
    }

    #[test]
    fn a_text_that_is_refused_adds_nothing() {
        let mut topology = Topology::default();
        topology.add("rack=1").unwrap();
        assert!(topology.add("zone=1,rack=").is_err());
        assert_eq!(topology.0.len(), 1);
    }
}
