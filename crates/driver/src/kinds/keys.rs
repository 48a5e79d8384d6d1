//! Keys of attributes and Secrets. One that nobody reads may be another driver's. One that is nearly a key that is absent
//! is a mistake, which would give a pod another folder, or a server no password.

use strsim::osa_distance;

use crate::kubelet::{Refusal, Request};

/// The keys that a kind reads.
pub struct Keys {
    pub attributes: Vec<&'static str>,
    pub of_secret: &'static [&'static str],
    /// Whether two spellings are one key.
    pub is_same: fn(&str, &str) -> bool,
}

impl Keys {
    /// Refuses a key that is nearly one that is absent.
    pub(crate) fn check(&self, request: &Request<'_>) -> Result<(), Refusal> {
        for (place, given, known) in [
            ("the volume", request.context, &self.attributes[..]),
            ("the volume's Secret", request.secrets, self.of_secret),
        ] {
            let is_there = |name: &str| {
                let mut keys = given.keys().chain(request.publish_context.keys());
                keys.any(|key| (self.is_same)(key, name))
            };
            let absent: Vec<_> = known.iter().filter(|name| !is_there(name)).collect();
            for key in given.keys().filter(|key| !self.is_among(known, key)) {
                if let Some(meant) = absent.iter().find(|name| is_near(key, name)) {
                    let key = key.clone();
                    return Err(Refusal::Misspelt { place, key, meant });
                }
            }
        }
        Ok(())
    }

    /// The attributes that nobody reads, but for those of Kubernetes and its provisioner.
    pub(crate) fn unknown<'a>(&self, request: &Request<'a>) -> Vec<&'a String> {
        let is_known = |key: &str| {
            let of_kubernetes = ["k8s.io/", "kubernetes.io/"];
            self.is_among(&self.attributes, key) || of_kubernetes.iter().any(|it| key.contains(it))
        };
        let keys = request.context.keys();
        keys.filter(|key| !is_known(key)).collect()
    }

    fn is_among(&self, known: &[&str], key: &str) -> bool {
        known.iter().any(|name| (self.is_same)(key, name))
    }
}

/// Whether a key is a name in another case, or one or two letters off: a short name is near many words.
fn is_near(key: &str, name: &str) -> bool {
    let most = if name.len() < 6 { 1 } else { 2 };
    let (key, name) = (key.to_lowercase(), name.to_lowercase());
    (key.as_str(), name.as_str()) == ("src", "source")
        || key.len() <= name.len() + most && osa_distance(&key, &name) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_near_by_case_and_few_letters() {
        for (key, name) in [
            ("subDirr", "subDir"),
            ("subDri", "subDir"),
            ("suDri", "subDir"),
            ("SUBDIR", "subDir"),
            ("src", "source"),
            ("pasword", "password"),
            ("Page83", "page83"),
            ("luns", "lun"),
        ] {
            assert!(is_near(key, name), "{key}");
        }
        for (key, name) in [
            ("sku", "lun"),
            ("level", "label"),
            ("devicePath", "deviceName"),
            ("createSubDir", "subDir"),
            ("storageAccount", "source"),
            ("server", "source"),
            ("type", "port"),
            ("", "lun"),
        ] {
            assert!(!is_near(key, name), "{key}");
        }
    }
}
