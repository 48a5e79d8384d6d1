//! The path rules of csi-proxy's filesystem group, in its order and with its texts.

use std::sync::Arc;

use node::{AllowedRoots, LookupPath, ResolveError, ResolvedPath};
use os::{Os, PathError, WinPath};

/// The folders for clients' paths.
#[derive(Debug, Clone)]
pub struct WorkingDirs {
    folders: Folders,
    /// For mounting and unmounting volumes: the same folders and those for volumes alone.
    for_volumes: Folders,
    confinement: Confinement,
}

/// Folders, each as it was given and, once they are looked up, with where it leads.
#[derive(Debug, Clone)]
struct Folders {
    texts: Vec<String>,
    roots: Vec<WinPath>,
    allowed: Option<Arc<AllowedRoots>>,
}

/// How far the paths of clients may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// csi-proxy's: links are followed wherever they lead, and IsSymlink and the volume group take
    /// any path.
    Anywhere,
    /// Into the working folders only, through any links; for look-ups that csi-proxy does not check
    /// (IsSymlink, the volume of a path) anywhere on this node's own drives and volumes.
    WorkingDirs,
}

impl WorkingDirs {
    /// Parses the allowed roots; `C:` is the drive. Skips, with a warning, a root that could hold no client's path in
    /// csi-proxy either, as it names no drive or has refused characters: csi-proxy starts with such a root.
    ///
    /// # Errors
    /// The first root that is empty or that Windows would rename.
    pub fn parse(roots: Vec<String>) -> Result<Self, WorkingDirError> {
        let folders = Folders::parse_useful(roots)?;
        Ok(Self {
            for_volumes: folders.clone(),
            folders,
            confinement: Confinement::WorkingDirs,
        })
    }

    /// The same folders, and further ones for mounting and unmounting volumes only.
    ///
    /// # Errors
    /// The first folder without an absolute path.
    pub fn with_volume_dirs(mut self, dirs: Vec<String>) -> Result<Self, WorkingDirError> {
        let dirs = Folders::parse(dirs)?;
        self.for_volumes.texts.extend(dirs.texts);
        self.for_volumes.roots.extend(dirs.roots);
        Ok(self)
    }

    /// The same folders with another reach.
    #[must_use]
    pub fn confined_by(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// The working folders, without those for volumes: a volume mounted only there is not staged.
    pub(crate) fn roots(&self) -> &[WinPath] {
        &self.folders.roots
    }

    pub(crate) fn first(&self) -> Option<&WinPath> {
        self.folders.roots.first()
    }

    /// Looks where the folders lead: from now on the places count as well, and paths lead there.
    #[must_use]
    pub fn resolved(mut self, os: &Os) -> Self {
        if self.confinement == Confinement::WorkingDirs {
            for folders in [&mut self.folders, &mut self.for_volumes] {
                folders.allowed = Some(AllowedRoots::resolve_roots(os, &folders.roots));
            }
        }
        self
    }

    /// The folders that confine paths, if any.
    pub(crate) fn allowed(&self) -> Option<&Arc<AllowedRoots>> {
        self.folders.allowed.as_ref()
    }

    /// Follows the links on an admitted path, each within the working folders.
    ///
    /// # Errors
    /// A link leads out of them, or cannot be followed.
    pub fn follow(&self, os: &Os, path: WinPath) -> Result<ResolvedPath, PathRule> {
        self.folders.follow(os, path)
    }

    /// As [`WorkingDirs::follow`], for a removal: the links may also lead to a working folder by another name.
    ///
    /// # Errors
    /// Also if it is a working folder, or holds one.
    pub fn follow_removal(&self, os: &Os, path: WinPath) -> Result<ResolvedPath, PathRule> {
        let resolved_path = self.follow(os, path)?;
        match &self.folders.allowed {
            Some(allowed) if allowed.lie_within(resolved_path.path()) => {
                Err(PathRule::WorkingDir(resolved_path.path().to_string()))
            }
            _ => Ok(resolved_path),
        }
    }

    /// Parses a client's path by csi-proxy's rules and ours.
    ///
    /// Ours close csi-proxy's gaps: a working folder contains only paths below it, not a sibling
    /// with the same beginning, and names that Win32 would change are refused.
    ///
    /// # Errors
    /// The first rule that the path breaks, in csi-proxy's order.
    pub fn admit(&self, text: &str) -> Result<WinPath, PathRule> {
        refuse_form(text)?;
        let path = text
            .parse()
            .map_err(|_| PathRule::Characters(text.to_owned()))?;
        self.folders.confine(text, path)
    }

    /// As [`WorkingDirs::admit`], for a removal: a working folder itself stays.
    ///
    /// # Errors
    /// The first rule that the path breaks.
    pub fn admit_removal(&self, text: &str) -> Result<WinPath, PathRule> {
        let path = self.admit(text)?;
        if self.folders.roots.iter().any(|root| root.is_within(&path)) {
            return Err(PathRule::WorkingDir(text.to_owned()));
        }
        Ok(path)
    }

    /// Where a volume is mounted or unmounted. csi-proxy does not check such a path; here it must lie
    /// in a working folder or in one for volumes, links resolved.
    ///
    /// # Errors
    /// No path, one outside of these folders, or a link leads out of them.
    pub fn mount_point(&self, os: &Os, text: &str) -> Result<ResolvedPath, PathRule> {
        let path = normalise(text)?;
        let path = match self.confinement {
            Confinement::Anywhere => path,
            Confinement::WorkingDirs => self.for_volumes.confine(text, path)?,
        };
        self.for_volumes.follow(os, path)
    }

    /// A path of a look-up unchecked by csi-proxy: anywhere on this node's own drives and volumes.
    ///
    /// # Errors
    /// No path, or it leads to another machine or to a drive unknown to the mount manager.
    pub fn lookup(&self, os: &Os, text: &str) -> Result<LookupPath, PathRule> {
        let path = normalise(text)?;
        match &self.folders.allowed {
            Some(allowed) => Ok(allowed.resolve_lookup(os, &path)?),
            None => Ok(LookupPath::from(&path)),
        }
    }
}

impl Folders {
    fn parse(texts: Vec<String>) -> Result<Self, WorkingDirError> {
        let roots = texts.iter().map(|text| root(text));
        let roots = roots.collect::<Result<_, _>>()?;
        Ok(Self::of(texts, roots))
    }

    /// Without roots that can hold no path.
    fn parse_useful(texts: Vec<String>) -> Result<Self, WorkingDirError> {
        let mut roots = Vec::new();
        for text in &texts {
            match root(text) {
                Ok(root) => roots.push(root),
                Err(error) if error.is_of_no_use() => {
                    tracing::warn!("{error}; it is passed over, as no path of a client lies in it");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self::of(texts, roots))
    }

    fn of(texts: Vec<String>, roots: Vec<WinPath>) -> Self {
        Self {
            texts,
            roots,
            allowed: None,
        }
    }

    fn follow(&self, os: &Os, path: WinPath) -> Result<ResolvedPath, PathRule> {
        match &self.allowed {
            Some(allowed) => Ok(allowed.resolve(os, &path)?),
            None => Ok(ResolvedPath::from(&path)),
        }
    }

    fn confine(&self, text: &str, path: WinPath) -> Result<WinPath, PathRule> {
        let is_at_a_place = |allowed: &Arc<AllowedRoots>| allowed.contain(&path);
        let is_inside = self.roots.iter().any(|root| path.is_within(root));
        if is_inside || self.allowed.as_ref().is_some_and(is_at_a_place) {
            return Ok(path);
        }
        Err(PathRule::Outside {
            path: text.to_owned(),
            roots: self.texts.join(" "),
        })
    }
}

fn root(text: &str) -> Result<WinPath, WorkingDirError> {
    let parsed = match is_drive(text) {
        true => format!("{text}\\").parse(),
        false => text.parse(),
    };
    parsed.map_err(|reason| WorkingDirError {
        text: text.to_owned(),
        reason,
    })
}

/// `C:`: for csi-proxy, a prefix of clients' paths.
fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

/// Parses a path of a call unchecked by csi-proxy: without a drive it is on `C:`, and either
/// separator works, as drivers send such paths (`/var/lib/kubelet/...`).
fn normalise(text: &str) -> Result<WinPath, PathRule> {
    let parsed = WinPath::parse_on_drive(text, 'C');
    parsed.map_err(|error| match error {
        PathError::Empty | PathError::NotAbsolute => PathRule::NotAbsolute(text.to_owned()),
        _ => PathRule::Characters(text.to_owned()),
    })
}

/// A working folder without an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("working folder {text:?}: {reason}")]
pub struct WorkingDirError {
    /// The text given.
    pub text: String,
    /// What is wrong with it.
    pub reason: PathError,
}

impl WorkingDirError {
    /// Whether csi-proxy admits no path with this beginning: paths of clients have a drive, no `..`
    /// and no characters invalid in names.
    fn is_of_no_use(&self) -> bool {
        matches!(
            self.reason,
            PathError::NotAbsolute | PathError::Relative | PathError::Character(_)
        )
    }
}

/// A broken rule. The texts are part of the wire contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRule {
    /// It begins with a backslash.
    #[error("invalid character \\ at beginning of path: {0}")]
    Backslash(String),
    /// A forbidden character or form.
    #[error("path contains invalid characters: {0}")]
    Characters(String),
    /// Longer than Windows's classic limit.
    #[error("path length {0} exceeds maximum characters: 260")]
    Length(usize),
    /// No drive in front.
    #[error("not an absolute Windows path: {0}")]
    NotAbsolute(String),
    /// Not in any of the working folders.
    #[error("path: {path} is not within the working directories: [{roots}]")]
    Outside {
        /// The path as sent.
        path: String,
        /// The working folders as configured, separated by blanks.
        roots: String,
    },
    /// A link on the path leads out of the working folders, or cannot be followed.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A working folder itself: a removal would take it from every driver.
    #[error("path: {0} is a working directory and is not removed")]
    WorkingDir(String),
}

/// csi-proxy counts bytes, and looks for characters behind the drive's colon.
fn refuse_form(text: &str) -> Result<(), PathRule> {
    if text.len() > 260 {
        return Err(PathRule::Length(text.len()));
    }
    if text.starts_with('\\') {
        return Err(PathRule::Backslash(text.to_owned()));
    }
    let below = text.get(2..).filter(|_| has_drive(text)).unwrap_or(text);
    if below.contains(['"', '/', ':', '?', '*', '|']) || below.contains("..") {
        return Err(PathRule::Characters(text.to_owned()));
    }
    if has_drive(text) && below.starts_with('\\') {
        return Ok(());
    }
    Err(PathRule::NotAbsolute(text.to_owned()))
}

fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::WorkingDirs;

    fn dirs() -> WorkingDirs {
        let roots = [r"C:\work", r"C:\var\lib\kubelet"];
        WorkingDirs::parse(roots.map(str::to_owned).to_vec()).expect("both are absolute")
    }

    fn refusal(text: &str) -> String {
        dirs().admit(text).expect_err(text).to_string()
    }

    /// Guards: P48
    #[test]
    fn paths_inside_are_admitted_whatever_their_case() {
        let admitted = dirs().admit(r"c:\VAR\lib\kubelet\pods\a").expect("inside");
        assert_eq!(admitted.to_string(), r"C:\VAR\lib\kubelet\pods\a");
        assert!(dirs().admit(r"C:\work").is_ok());
    }

    #[test]
    fn refusals_have_csi_proxys_texts_in_its_order() {
        let long = format!(r"C:\var\lib\kubelet\{}", "x".repeat(242));
        assert_eq!(
            refusal(&long),
            "path length 261 exceeds maximum characters: 260"
        );
        assert_eq!(
            refusal(r"\\host\share"),
            r"invalid character \ at beginning of path: \\host\share"
        );
        assert_eq!(
            refusal(r"C:\a..b"),
            r"path contains invalid characters: C:\a..b"
        );
        assert_eq!(
            refusal("C:/var"),
            "path contains invalid characters: C:/var"
        );
        assert_eq!(refusal("var"), "not an absolute Windows path: var");
        assert_eq!(refusal(""), "not an absolute Windows path: ");
        assert_eq!(
            refusal(r"C:\Windows"),
            r"path: C:\Windows is not within the working directories: [C:\work C:\var\lib\kubelet]"
        );
    }

    #[test]
    fn paths_as_drivers_send_them_to_the_volume_group_are_understood() {
        let there = dirs().admit(r"C:\var\lib\kubelet\pods\a").expect("inside");
        for text in [
            "/var/lib/kubelet/pods/a",
            r"\var\lib\kubelet\pods\a\",
            "c:/var/lib/kubelet//pods/a",
        ] {
            let same = super::normalise(text).expect(text);
            assert_eq!(same.folded(), there.folded());
        }
        for text in [
            r"C:\var\lib\kubelet\..\x",
            r"\.\pipe\x",
            r"\?\GLOBALROOT\x",
            "",
        ] {
            assert!(super::normalise(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_drive_is_a_working_folder_with_and_without_its_separator() {
        for text in ["C:", r"c:\", "C:/"] {
            let dirs = WorkingDirs::parse(vec![text.to_owned()]).expect(text);
            assert!(dirs.admit(r"C:\any\where").is_ok(), "{text}");
            assert!(dirs.admit(r"D:\any\where").is_err(), "{text}");
            assert!(dirs.admit_removal(r"C:\").is_err(), "{text}");
        }
    }

    /// csi-proxy starts with these, and admits no path for them.
    #[test]
    fn a_working_folder_that_no_path_can_lie_in_admits_nothing() {
        let useless = [
            r"\mnt\disks",
            "/var/lib/kubelet",
            "kubelet",
            r"C:\a\..\b",
            r"C:\a|b",
        ];
        for text in useless {
            let dirs = [text, r"C:\work"].map(str::to_owned).to_vec();
            let dirs = WorkingDirs::parse(dirs).expect(text);
            assert!(dirs.admit(r"C:\work\a").is_ok(), "{text}");
            for path in [
                r"C:\mnt\disks\a",
                r"C:\var\lib\kubelet\a",
                r"C:\b\a",
                r"C:\kubelet",
            ] {
                assert!(dirs.admit(path).is_err(), "{text}: {path}");
            }
        }
        for text in ["", r"C:\a.", r"C:\con"] {
            let refused = WorkingDirs::parse(vec![text.to_owned()]);
            assert!(refused.is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_folder_for_volumes_that_is_no_path_is_refused() {
        for text in ["", r"\mnt\disks", "x"] {
            let refused = dirs().with_volume_dirs(vec![text.to_owned()]);
            assert!(refused.is_err(), "{text:?}");
        }
        assert!(dirs().with_volume_dirs(vec![String::from("D:")]).is_ok());
    }

    #[test]
    fn a_working_folder_itself_is_not_removed() {
        for text in [r"C:\work", r"c:\var\lib\kubelet\"] {
            let refused = dirs().admit_removal(text).expect_err(text).to_string();
            assert!(refused.contains("is a working directory"), "{refused}");
        }
        assert!(dirs().admit_removal(r"C:\work\a").is_ok());
    }

    /// Guards: P48
    #[test]
    fn a_sibling_of_the_kubelets_folder_is_outside() {
        assert!(refusal(r"C:\var\lib\kubelet-evil").contains("is not within"));
    }

    #[test]
    fn names_that_windows_would_change_are_refused() {
        for text in [
            "C:\\work\\a\0",
            r"C:\work\nul",
            r"C:\work\a.",
            r"C:\work\<",
            "C:\\work\\\u{7}",
        ] {
            assert!(
                refusal(text).starts_with("path contains invalid characters"),
                "{text:?}"
            );
        }
    }
}
