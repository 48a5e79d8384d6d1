use std::fmt;

use crate::volumes::{Left, Policy};

impl Policy {
    /// The policy of a word, in any case; none of any other.
    pub fn by_word(word: &str) -> Option<Self> {
        let words = [
            ("delete", Self::Delete),
            ("retain", Self::Keep(Left::Retained)),
            ("archive", Self::Archive),
        ];
        let mut words = words.into_iter();
        let found = words.find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, policy)| policy)
    }
}

/// A volume's handle: `host/share[/folder]#subDir#name#onDelete`, with a name if the class has `subDir`, and with
/// `onDelete` if it is another than `delete`. Older ones end before the third or the fourth field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    pub source: String,
    pub folder: String,
    /// The third field; empty if there is none.
    pub name: String,
    /// The word of the fourth field; empty if there is none.
    pub policy: String,
}

impl Handle {
    pub fn of(source: &str, folder: &str, name: &str, policy: &str) -> Self {
        let is_kept = Policy::by_word(policy).is_some_and(|policy| policy != Policy::Delete);
        Self {
            source: source.trim_matches('/').to_owned(),
            folder: folder.trim_matches('/').to_owned(),
            name: name.to_owned(),
            policy: if is_kept { policy } else { "" }.to_owned(),
        }
    }

    /// The fields of a handle; none if it has another form.
    pub fn read(id: &str) -> Option<Self> {
        let fields: Vec<&str> = id.split('#').collect();
        let (source, folder, name, policy) = match fields.as_slice() {
            [source, folder] => (source, folder, "", ""),
            [source, folder, name] => (source, folder, *name, ""),
            [source, folder, name, policy] => (source, folder, *name, *policy),
            _ => return None,
        };
        Some(Self {
            source: format!("//{}", source.trim_start_matches(['/', '\\'])),
            folder: (*folder).to_owned(),
            name: name.to_owned(),
            policy: policy.to_owned(),
        })
    }

    pub fn policy(&self) -> Policy {
        match self.policy.as_str() {
            "" => Policy::Delete,
            word => Policy::by_word(word).unwrap_or(Policy::Keep(Left::UnknownPolicy)),
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, folder) = (&self.source, &self.folder);
        write!(f, "{source}#{folder}#{}#{}", self.name, self.policy)
    }
}
