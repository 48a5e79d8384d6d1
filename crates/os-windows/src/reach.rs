//! Opens entries of a held directory where an open by its handle fails.
//!
//! In a container that binds folders of its node, bindflt.sys answers opens by a directory's handle with
//! `STATUS_INVALID_PARAMETER` now and then while others are under way, and never opens by a whole path
//! (microsoft/Windows-Containers issue 635). It answers others by `STATUS_REPARSE`, an error for an open without
//! following (4395): this is suspected, and not seen by us. So both are tried again, and a directory to be held only is
//! then opened by its path, and proved to be the entry of the held one. Creation, removal and renaming go by the handle
//! alone.

use std::sync::Once;
use std::thread;
use std::time::Duration;

use formats::directory::FileId;
use os::Win32;

use crate::raw::identity::Identity;

/// The most tries of an open by a handle while it fails with one of [`BOUND`].
const ATTEMPTS: u32 = 8;

/// The codes of opens by a handle beneath a bound folder.
const BOUND: [Win32; 2] = [Win32::INVALID_PARAMETER, Win32::REPARSE_POINT_ENCOUNTERED];

/// A directory in a held one, to be held too.
pub(crate) trait Inner {
    /// Keeps it in place while it lives.
    type Handle;

    /// Opens it by the handle of the held directory, following nothing.
    fn by_handle(&self) -> Result<Self::Handle, Win32>;

    /// Opens it by its path, so shared that nobody can rename or remove it, and as an entry if it is a link. Links
    /// above it are followed.
    fn by_path(&self) -> Result<Self::Handle, Win32>;

    /// The identity of a handle's directory; `None` for anything but a plain directory.
    fn identity(&self, handle: &Self::Handle) -> Result<Option<Identity>, Win32>;

    /// The held directory itself; `None` if it is a reparse point by now.
    fn outer(&self) -> Result<Option<Identity>, Win32>;

    /// The id of the entry of this name in the held directory, listed by its handle; `None` unless there is exactly
    /// one.
    fn listed(&self) -> Result<Option<FileId>, Win32>;
}

/// Opens a directory of a held one.
///
/// # Errors
/// The code of the attempt by the handle, if the one by the path fails too or leads elsewhere.
pub(crate) fn open<I: Inner>(inner: &I) -> Result<I::Handle, Win32> {
    let code = match retry_bound_folder(|| inner.by_handle()) {
        Err(code) if BOUND.contains(&code) => code,
        done => return done,
    };
    match open_verified_by_path(inner) {
        Ok(Some(handle)) => {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    ?code,
                    "directories are held after they were opened by their paths: is a folder bound into this container?"
                );
            });
            Ok(handle)
        }
        Ok(None) => Err(code),
        Err(why) => {
            tracing::debug!(
                ?code,
                ?why,
                "a directory is reached neither by a handle nor by its path"
            );
            Err(code)
        }
    }
}

/// Opens it by its path; `None` if that leads to another directory than the entry of the held one. The list is made
/// last: a listed entry is open by then, so it can no longer leave the held directory. Nothing is opened through a held
/// directory that has become a link.
pub(crate) fn open_verified_by_path<I: Inner>(inner: &I) -> Result<Option<I::Handle>, Win32> {
    let Some(outer) = inner.outer()? else {
        return Ok(None);
    };
    let handle = inner.by_path()?;
    let Some(found) = inner.identity(&handle)? else {
        return Ok(None);
    };
    let is_proved = found.volume == outer.volume && inner.listed()? == Some(found.file);
    Ok(is_proved.then_some(handle))
}

/// Retries an open that fails with one of [`BOUND`], for 28 ms at most.
pub(crate) fn retry_bound_folder<T>(open: impl Fn() -> Result<T, Win32>) -> Result<T, Win32> {
    for attempt in 1..ATTEMPTS {
        match open() {
            Err(code) if BOUND.contains(&code) => {
                tracing::debug!(attempt, ?code, "an open by a directory's handle failed");
                thread::sleep(Duration::from_millis(attempt.into()));
            }
            done => return done,
        }
    }
    open()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum By {
        Handle,
        Path,
    }

    /// A held directory, an entry of it, and a path's target.
    struct Script {
        code: Win32,
        /// How many opens by the handle fail.
        failing: u32,
        tried: Cell<u32>,
        outer: Option<Identity>,
        opened: Cell<bool>,
        at_path: Result<Option<Identity>, Win32>,
        listed: Cell<Option<FileId>>,
        /// The listed id from the open of the path on.
        listed_then: Option<FileId>,
    }

    fn id(number: u8) -> Option<FileId> {
        FileId::new(&[number; 16])
    }

    fn on(volume: u64, file: u8) -> Identity {
        let file = id(file).unwrap();
        Identity { volume, file }
    }

    /// The entry 20 of a directory on volume 1, also the path's target.
    fn script(code: Win32, failing: u32) -> Script {
        Script {
            code,
            failing,
            tried: Cell::new(0),
            outer: Some(on(1, 10)),
            opened: Cell::new(false),
            at_path: Ok(Some(on(1, 20))),
            listed: Cell::new(id(20)),
            listed_then: id(20),
        }
    }

    impl Inner for Script {
        type Handle = By;

        fn by_handle(&self) -> Result<By, Win32> {
            self.tried.set(self.tried.get() + 1);
            match self.tried.get() <= self.failing {
                true => Err(self.code),
                false => Ok(By::Handle),
            }
        }

        fn by_path(&self) -> Result<By, Win32> {
            self.opened.set(true);
            self.listed.set(self.listed_then);
            self.at_path.map(|_| By::Path)
        }

        fn identity(&self, _: &By) -> Result<Option<Identity>, Win32> {
            self.at_path
        }

        fn outer(&self) -> Result<Option<Identity>, Win32> {
            Ok(self.outer)
        }

        fn listed(&self) -> Result<Option<FileId>, Win32> {
            Ok(self.listed.get())
        }
    }

    #[test]
    fn an_open_that_fails_now_and_then_is_tried_again() {
        for code in BOUND {
            let script = script(code, ATTEMPTS - 1);
            assert_eq!(open(&script), Ok(By::Handle), "{code}");
            assert_eq!(script.tried.get(), ATTEMPTS, "{code}");
        }
    }

    #[test]
    fn a_directory_to_which_no_handle_leads_is_opened_by_its_path() {
        for code in BOUND {
            let script = script(code, u32::MAX);
            assert_eq!(open(&script), Ok(By::Path), "{code}");
            assert_eq!(script.tried.get(), ATTEMPTS, "{code}");
        }
    }

    /// The action, the path's target then, and the held directory's id for the name.
    type Swap = (
        &'static str,
        Result<Option<Identity>, Win32>,
        Option<FileId>,
    );

    fn swaps() -> [Swap; 7] {
        let there = Ok(Some(on(1, 66)));
        [
            (
                "the held directory was emptied and became a junction",
                there,
                None,
            ),
            ("the path leads to an equal name elsewhere", there, id(20)),
            (
                "and to one on a clone of the volume",
                Ok(Some(on(2, 20))),
                id(20),
            ),
            ("a link is at the end", Ok(None), id(20)),
            ("nothing is there", Err(Win32::FILE_NOT_FOUND), id(20)),
            (
                "the entry was exchanged after it was opened",
                Ok(Some(on(1, 20))),
                id(21),
            ),
            ("and moved away", Ok(Some(on(1, 20))), None),
        ]
    }

    /// The code is the one from the handle.
    /// Guards: P55
    #[test]
    fn a_swap_at_4395_leads_nowhere() {
        for code in BOUND {
            for (swap, at_path, listed_then) in swaps() {
                let script = Script {
                    at_path,
                    listed_then,
                    ..script(code, u32::MAX)
                };
                assert_eq!(open(&script), Err(code), "{swap}");
            }
        }
    }

    /// The path would follow it: a symbolic link may lead to a server of others.
    /// Guards: P55
    #[test]
    fn nothing_is_opened_by_way_of_a_held_directory_that_became_a_link() {
        for code in BOUND {
            let script = Script {
                outer: None,
                ..script(code, u32::MAX)
            };
            assert_eq!(open(&script), Err(code));
            assert!(!script.opened.get());
        }
    }

    #[test]
    fn other_failures_are_final() {
        for code in [
            Win32::ACCESS_DENIED,
            Win32::FILE_NOT_FOUND,
            Win32::DIRECTORY,
        ] {
            let script = script(code, u32::MAX);
            assert_eq!(open(&script), Err(code));
            assert_eq!(script.tried.get(), 1);
        }
    }
}
