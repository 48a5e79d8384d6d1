//! The page files in use.

use std::ffi::OsString;

use os::{Cause, Error, Win32, WinPath};

use super::{if_there, path, unread};
use crate::raw::page_files::{Listing, list};
use crate::raw::registry;
use crate::{failure, wide};

const MEMORY_MANAGEMENT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management";

/// The page files at the boot. Microsoft does not document the value: it only confirms that there are none, and adds
/// files if the list failed.
const EXISTING: &str = "ExistingPageFiles";

/// The page files, as far as they are known.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) files: Vec<WinPath>,
    /// Why there may be others.
    pub(super) unknown: Option<Error>,
}

/// By `EnumPageFilesW`, and by the registry if that leaves a doubt.
pub(super) fn known() -> Known {
    decide(list(), existing)
}

/// A missing value is an empty list.
fn existing() -> os::Result<Vec<OsString>> {
    let block = if_there(EXISTING, registry::list(MEMORY_MANAGEMENT, EXISTING))?;
    let names = block.map_or(Ok(Vec::new()), |block| wide::texts(&block));
    names.map_err(|cause| failure::error("RegGetValueW", EXISTING, cause))
}

/// Windows's list without a page file is not documented. An empty list means none, and so does a single entry without a
/// name if the registry has none either. Any other oddity leaves it open.
fn decide(
    listed: Result<Listing, Win32>,
    existing: impl FnOnce() -> os::Result<Vec<OsString>>,
) -> Known {
    match listed {
        Ok(listing) if listing.is_one_without_a_name() => match existing() {
            Ok(names) if names.is_empty() => Known::default(),
            existing => contradicted(existing),
        },
        Ok(listing) => named(&listing.names).or_unknown(match listing.is_whole {
            true => None,
            false => Some(failure::error(
                "EnumPageFilesW",
                "all page files",
                Win32::MORE_DATA,
            )),
        }),
        Err(code) => {
            let known = existing().map(|names| named(&names));
            Known {
                files: known.unwrap_or_default().files,
                unknown: Some(unlisted(code)),
            }
        }
    }
}

fn contradicted(existing: os::Result<Vec<OsString>>) -> Known {
    let meaning = "its one entry has no name, while the registry has page files";
    let names = match existing {
        Ok(names) => names,
        Err(error) => return Known::default().or_unknown(Some(error)),
    };
    let cause = Cause::Malformed(meaning.to_owned());
    named(&names).or_unknown(Some(Error::new("EnumPageFilesW", "all page files", cause)))
}

fn named(names: &[OsString]) -> Known {
    let mut known = Known::default();
    for name in names {
        match path(name) {
            Some(file) => known.files.push(file),
            None => known.unknown = Some(unread("EnumPageFilesW", name)),
        }
    }
    known
}

impl Known {
    fn or_unknown(mut self, error: Option<Error>) -> Self {
        self.unknown = self.unknown.or(error);
        self
    }
}

/// Wine sets no code, and Windows's answer without a page file is not documented.
fn unlisted(code: Win32) -> Error {
    let cause = match code {
        Win32(0) => {
            let meaning = "it failed without a code, so every disk may hold a page file";
            Cause::Malformed(meaning.to_owned())
        }
        code => code.into(),
    };
    failure::error("EnumPageFilesW", "all page files", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = r"\??\C:\pagefile.sys";

    fn listing(names: &[&str]) -> Result<Listing, Win32> {
        Ok(Listing {
            names: names.iter().map(OsString::from).collect(),
            is_whole: true,
        })
    }

    fn registry(names: &'static [&str]) -> impl FnOnce() -> os::Result<Vec<OsString>> {
        || Ok(names.iter().map(OsString::from).collect())
    }

    fn files(known: &Known) -> Vec<String> {
        known.files.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_file_is_known_in_both_forms() {
        let known = decide(
            listing(&[r"C:\pagefile.sys", r"\??\D:\page.sys"]),
            registry(&[]),
        );
        assert_eq!(files(&known), [r"C:\pagefile.sys", r"D:\page.sys"]);
        assert_eq!(known.unknown, None);
    }

    #[test]
    fn a_list_without_names_is_none_where_the_registry_has_none() {
        for names in [&[][..], &[""]] {
            assert_eq!(decide(listing(names), registry(&[])), Known::default());
        }
    }

    #[test]
    fn an_entry_without_a_name_is_none_only_by_itself_and_with_the_registry() {
        let contradicted = decide(listing(&[""]), registry(&[OURS]));
        assert_eq!(files(&contradicted), [r"C:\pagefile.sys"]);
        assert!(contradicted.unknown.is_some());
        let denied = || {
            Err(failure::error(
                "RegGetValueW",
                EXISTING,
                Win32::ACCESS_DENIED,
            ))
        };
        assert!(decide(listing(&[""]), denied).unknown.is_some());
        for names in [&["", ""][..], &[OURS, ""]] {
            let known = decide(listing(names), registry(&[]));
            assert!(known.unknown.is_some(), "{names:?}");
        }
    }

    #[test]
    fn a_name_of_no_known_form_leaves_it_open_and_hides_no_other() {
        let names = [r"\Device\HarddiskVolume2\pagefile.sys", r"D:\page.sys"];
        let known = decide(listing(&names), registry(&[]));
        assert_eq!(files(&known), [r"D:\page.sys"]);
        assert!(known.unknown.is_some());
    }

    #[test]
    fn a_list_that_was_cut_leaves_it_open() {
        let cut = Listing {
            names: vec![OURS.into()],
            is_whole: false,
        };
        let known = decide(Ok(cut), registry(&[]));
        assert_eq!(files(&known), [r"C:\pagefile.sys"]);
        assert_eq!(
            known.unknown.and_then(|error| error.win32()),
            Some(Win32::MORE_DATA)
        );
    }

    #[test]
    fn a_list_that_fails_leaves_it_open_whatever_the_registry_has() {
        let silent = decide(Err(Win32(0)), registry(&[OURS]));
        assert_eq!(files(&silent), [r"C:\pagefile.sys"]);
        let text = silent.unknown.expect("it failed").to_string();
        assert!(text.contains("every disk may hold"), "{text}");
        let refused = decide(Err(Win32::ACCESS_DENIED), registry(&[]));
        let code = refused.unknown.and_then(|error| error.win32());
        assert_eq!(code, Some(Win32::ACCESS_DENIED));
    }
}
