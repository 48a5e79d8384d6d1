use std::collections::BTreeMap;

use driver::kinds::share::attributes;

use super::RequestError;
use crate::volumes::Policy;

const FOLDER: &str = "subDir";

/// The parameters of a class, in lower case.
const KEYS: [&str; 6] = [
    "source",
    "subdir",
    "ondelete",
    "csi.storage.k8s.io/pvc/name",
    "csi.storage.k8s.io/pvc/namespace",
    "csi.storage.k8s.io/pv/name",
];

/// What a class says of a volume, as csi-driver-smb reads it.
#[derive(Debug)]
pub struct Class {
    pub source: String,
    /// `subDir`, with what its templates stand for.
    pub folder: Option<String>,
    /// The word of `onDelete`, as it is written.
    pub policy: String,
    /// All of them, by their names in lower case.
    pub parameters: BTreeMap<String, String>,
}

impl Class {
    pub fn read(
        given: &BTreeMap<String, String>,
        default_policy: &str,
    ) -> Result<Self, RequestError> {
        let mut parameters = BTreeMap::new();
        for (key, value) in given {
            let known = key.to_lowercase();
            if !KEYS.contains(&known.as_str()) {
                return Err(RequestError::Parameter(key.clone()));
            }
            if value.trim() != value {
                return Err(RequestError::Blanks(key.clone()));
            }
            if parameters.insert(known, value.clone()).is_some() {
                return Err(RequestError::Twice(key.clone()));
            }
        }
        let set = |key: &str| parameters.get(key).filter(|value| !value.is_empty());
        let source = set("source").ok_or(RequestError::Missing("parameter source"))?;
        let folder = match set("subdir") {
            Some(_) => Some(attributes::folder(&parameters)?),
            None => None,
        };
        let policy = set("ondelete").map_or(default_policy, String::as_str);
        if !policy.is_empty() && Policy::by_word(policy).is_none() {
            return Err(RequestError::OnDelete(policy.to_owned()));
        }
        Ok(Self {
            source: source.clone(),
            folder,
            policy: policy.to_owned(),
            parameters,
        })
    }
}

/// The context of a volume that is made: the class's parameters, and the folder in the place of its own.
pub(crate) fn context(given: &BTreeMap<String, String>, folder: &str) -> BTreeMap<String, String> {
    let mut context = given.clone();
    let key = given.keys().find(|key| key.eq_ignore_ascii_case(FOLDER));
    let key = key.map_or(FOLDER, String::as_str);
    context.insert(key.to_owned(), folder.to_owned());
    context
}
