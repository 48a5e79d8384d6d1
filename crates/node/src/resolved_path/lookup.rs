use os::WinPath;

use super::ResolvedPath;

/// Where a call that only looks acts: a [`ResolvedPath`] that may lead out of the working folders.
///
/// It is a type of its own so that nothing that was resolved for a look reaches an operation that
/// changes something: a way makes a lookup path, and never the other way round.
#[derive(Clone, Debug)]
pub struct LookupPath(ResolvedPath);

impl LookupPath {
    pub(crate) fn resolved(&self) -> &ResolvedPath {
        &self.0
    }
}

impl From<ResolvedPath> for LookupPath {
    fn from(resolved: ResolvedPath) -> Self {
        Self(resolved)
    }
}

impl From<&ResolvedPath> for LookupPath {
    fn from(resolved: &ResolvedPath) -> Self {
        Self(resolved.clone())
    }
}

impl From<&WinPath> for LookupPath {
    fn from(path: &WinPath) -> Self {
        Self(path.into())
    }
}

impl From<&Self> for LookupPath {
    fn from(path: &Self) -> Self {
        path.clone()
    }
}
