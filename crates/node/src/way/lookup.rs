use os::WinPath;

use super::Way;

/// Where a call that only looks acts: a [`Way`] that may lead out of the working folders.
///
/// It is a type of its own so that nothing that was resolved for a look reaches an operation that
/// changes something: a way makes a lookup path, and never the other way round.
#[derive(Clone, Debug)]
pub struct LookupPath(Way);

impl LookupPath {
    pub(crate) fn way(&self) -> &Way {
        &self.0
    }
}

impl From<Way> for LookupPath {
    fn from(way: Way) -> Self {
        Self(way)
    }
}

impl From<&Way> for LookupPath {
    fn from(way: &Way) -> Self {
        Self(way.clone())
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
