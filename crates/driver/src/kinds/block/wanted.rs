use serde::{Deserialize, Serialize};
use wincsi::volumes::{Dacl, DaclError, FileSystemType, FormatOptions, FormatOptionsError};

use crate::record::as_text;

/// What a blank volume is formatted with. A volume that has the filesystem keeps the rest as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Choice", into = "Choice")]
pub struct Format {
    choice: Choice,
    options: FormatOptions,
}

/// The same as it was written, in a request or a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    #[serde(with = "as_text")]
    pub file_system: FileSystemType,
    /// The allocation unit in bytes; `None` is Windows's own choice.
    pub allocation_unit: Option<u32>,
    pub label: String,
    /// The access control list of the root directory, in SDDL.
    pub root_acl: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("the access control list of the root directory: {0}")]
    Acl(#[from] DaclError),
    /// The allocation unit or the label.
    #[error(transparent)]
    Options(#[from] FormatOptionsError),
}

impl TryFrom<Choice> for Format {
    type Error = FormatError;

    /// Checks a choice by what Windows accepts.
    fn try_from(choice: Choice) -> Result<Self, FormatError> {
        let mut options = FormatOptions::new(choice.file_system);
        if let Some(bytes) = choice.allocation_unit {
            options = options.allocation_unit(bytes)?;
        }
        if !choice.label.is_empty() {
            options = options.label(&choice.label)?;
        }
        if let Some(list) = &choice.root_acl {
            options = options.root_dacl(list.parse::<Dacl>()?);
        }
        Ok(Self { choice, options })
    }
}

impl From<Format> for Choice {
    fn from(format: Format) -> Self {
        format.choice
    }
}

impl Format {
    /// As it was written.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// As the node takes it.
    pub fn options(&self) -> &FormatOptions {
        &self.options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_windows_does_not_format_is_refused() {
        let refs = FileSystemType::Refs;
        for choice in [
            Choice {
                file_system: refs,
                allocation_unit: Some(8192),
                ..Choice::default()
            },
            Choice {
                label: "x".repeat(33),
                ..Choice::default()
            },
            Choice {
                root_acl: Some(String::from("everyone")),
                ..Choice::default()
            },
        ] {
            assert!(Format::try_from(choice.clone()).is_err(), "{choice:?}");
        }
    }
}
