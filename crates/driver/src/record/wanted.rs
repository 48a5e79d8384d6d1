use wincsi::Feature;
use wincsi::volumes::{Dacl, DaclError, FileSystemType, FormatOptions, FormatOptionsError};

/// What a volume is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What a blank volume is formatted with.
    pub format: Format,
    /// Who may write.
    pub access: Access,
    /// How many targets there may be.
    pub targets: Targets,
}

/// A filesystem that Windows formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// NTFS.
    #[default]
    Ntfs,
    /// ReFS.
    Refs,
}

/// Who may write to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Pods read and write.
    ReadWrite,
    /// Pods read; the disk comes online read-only and is never formatted, grown or labelled.
    ReadOnly,
    /// The same, of a disk that other nodes have too (`MULTI_NODE_READER_ONLY`).
    SharedReadOnly,
}

/// How many targets a volume may be published at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// One (`SINGLE_NODE_SINGLE_WRITER`).
    One,
    /// Any number.
    Many,
}

/// What a blank volume is formatted with. A volume that has the filesystem keeps the rest as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    choice: Choice,
    options: FormatOptions,
}

/// The same as it was written, in a request or a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The filesystem.
    pub file_system: FileSystem,
    /// The allocation unit in bytes; `None` is Windows's own choice.
    pub allocation_unit: Option<u32>,
    /// The label.
    pub label: String,
    /// The access control list of the root directory, in SDDL.
    pub root_acl: Option<String>,
}

/// Windows does not format so.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The access control list is none.
    #[error("the access control list of the root directory: {0}")]
    Acl(#[from] DaclError),
    /// The allocation unit or the label.
    #[error(transparent)]
    Options(#[from] FormatOptionsError),
}

impl Wanted {
    /// The features that not each host has, with what needs them.
    pub(crate) fn needs(&self) -> Vec<(Feature, &'static str)> {
        let plain = FormatOptions::new(FileSystemType::Ntfs);
        let special = (self.format.options != plain).then_some((
            Feature::FormatOptions,
            "ReFS, an allocation unit, a label or an access control list",
        ));
        let readers = (self.access != Access::ReadWrite)
            .then_some((Feature::ReadOnlyDisks, "a disk that is online read-only"));
        special.into_iter().chain(readers).collect()
    }
}

impl Format {
    /// Checks a choice by what Windows accepts.
    ///
    /// # Errors
    /// Windows does not format so.
    pub fn of(choice: Choice) -> Result<Self, FormatError> {
        let mut options = FormatOptions::new(match choice.file_system {
            FileSystem::Ntfs => FileSystemType::Ntfs,
            FileSystem::Refs => FileSystemType::Refs,
        });
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

    /// As it was written.
    #[must_use]
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// As the node takes it.
    #[must_use]
    pub fn options(&self) -> &FormatOptions {
        &self.options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_windows_does_not_format_is_refused() {
        let refs = FileSystem::Refs;
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
            assert!(Format::of(choice.clone()).is_err(), "{choice:?}");
        }
    }

    #[test]
    fn plain_ntfs_for_writers_needs_nothing_of_the_host() {
        let mut wanted = Wanted {
            format: Format::default(),
            access: Access::ReadWrite,
            targets: Targets::Many,
        };
        assert!(wanted.needs().is_empty());
        let label = String::from("data");
        let labelled = Choice {
            label,
            ..Choice::default()
        };
        wanted.format = Format::of(labelled).unwrap();
        wanted.access = Access::ReadOnly;
        assert_eq!(wanted.needs().len(), 2);
    }
}
