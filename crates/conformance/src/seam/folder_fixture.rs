use formats::reparse::{Names, Reparse, Tag};
use os::{Component, Entry, Files, LinkKind, WinPath};
use uuid::Uuid;

use crate::failure::holds;
use crate::{CaseControl, CaseResult, Failure, Fixture};

/// The fixture of one case: short names for the set-up in its folder.
pub(crate) struct FolderFixture<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) hand: &'a dyn CaseControl,
}

impl<'a> FolderFixture<'a> {
    pub(crate) fn of(fixture: &'a Fixture) -> Self {
        Self {
            files: fixture.files(),
            hand: fixture.control(),
        }
    }

    /// A path below the case's folder.
    pub(crate) fn at(&self, below: &str) -> WinPath {
        below
            .split('\\')
            .fold(self.hand.folder().clone(), |path, name| {
                path.join(component(name))
            })
    }

    /// The text of a path below the case's folder.
    pub(crate) fn text(&self, below: &str) -> String {
        self.at(below).to_string()
    }

    /// Creates a directory.
    pub(crate) fn directory(&self, below: &str) -> CaseResult<WinPath> {
        let path = self.at(below);
        self.files.create_directory(&path)?;
        Ok(path)
    }

    /// Creates a file with its own name as content.
    pub(crate) fn file(&self, below: &str) -> CaseResult<WinPath> {
        let path = self.at(below);
        self.hand.write_file(&path, below.as_bytes())?;
        Ok(path)
    }

    /// Creates a symbolic link, and checks that it exists.
    pub(crate) fn symlink(&self, below: &str, target: &str, kind: LinkKind) -> CaseResult<WinPath> {
        let path = self.at(below);
        self.files.create_symlink(&path, target, kind)?;
        holds("the new link is there", self.files.entry(&path).is_ok())?;
        Ok(path)
    }

    /// Creates a junction to a path below the case's folder.
    pub(crate) fn junction(&self, below: &str, target: &str) -> CaseResult<WinPath> {
        self.reparse_point(below, LinkKind::Directory, &self.junction_to(target))
    }

    /// Makes an empty directory a junction, held or not.
    pub(crate) fn become_junction(&self, below: &str, target: &str) -> CaseResult<os::Result<()>> {
        let data = bytes(&self.junction_to(target))?;
        Ok(self.hand.become_reparse_point(&self.at(below), &data))
    }

    fn junction_to(&self, target: &str) -> Reparse {
        let shown = self.text(target);
        Reparse::MountPoint(Names {
            substitute: format!(r"\??\{shown}"),
            print: shown,
        })
    }

    /// Creates a mounted folder for the volume of the case's own folder.
    pub(crate) fn mounted_folder(&self, below: &str) -> CaseResult<WinPath> {
        let names = Names::volume(self.hand.volume().0);
        self.reparse_point(below, LinkKind::Directory, &Reparse::MountPoint(names))
    }

    /// Creates a reparse point with a tag unknown to every driver.
    pub(crate) fn unknown_tag(&self, below: &str, kind: LinkKind) -> CaseResult<WinPath> {
        self.reparse_point(below, kind, &unknown())
    }

    /// Creates any reparse point.
    pub(crate) fn reparse_point(
        &self,
        below: &str,
        kind: LinkKind,
        content: &Reparse,
    ) -> CaseResult<WinPath> {
        let path = self.at(below);
        self.hand
            .create_reparse_point(&path, kind, &bytes(content)?)?;
        Ok(path)
    }

    /// The case's folder as seen through a mounted folder in it.
    pub(crate) fn through(&self, mounted: &WinPath) -> WinPath {
        let names = self.hand.folder().components();
        names
            .iter()
            .cloned()
            .fold(mounted.clone(), |path, name| path.join(name))
    }

    /// The content of a file below the case's folder as text.
    pub(crate) fn read(&self, below: &str) -> CaseResult<String> {
        let content = self.hand.read_file(&self.at(below))?;
        Ok(String::from_utf8_lossy(&content).into_owned())
    }

    /// The entry of a path below the case's folder.
    pub(crate) fn entry(&self, below: &str) -> CaseResult<Entry> {
        Ok(self.files.entry(&self.at(below))?)
    }

    /// The names in a directory, in order.
    pub(crate) fn names(&self, directory: &WinPath) -> CaseResult<Vec<String>> {
        let listed = self.files.list(directory)?;
        let mut names: Vec<_> = listed
            .iter()
            .map(|entry| entry.name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }
}

/// The bytes of a reparse point.
pub(crate) fn bytes(content: &Reparse) -> CaseResult<Vec<u8>> {
    content.encode().map_err(Failure::unexpected)
}

/// A third party's unregistered tag, with a made-up owner.
pub(crate) fn unknown() -> Reparse {
    Reparse::Other {
        tag: Tag(0x0000_7A11),
        owner: Some(Uuid::from_u128(0x1c0a_3f52_77d1_4b0e_9f2e_5a86_9c3b_0d41)),
        data: b"opaque".to_vec(),
    }
}

/// A test's name, as the system would list it.
pub(crate) fn component(name: &str) -> Component {
    Component::listed(name.into()).expect("tests spell names without separators")
}
