use std::ops::Deref;

use wincsi::Deadline;

/// One call for a volume: a kind, and when the call ends.
pub struct Call<'a, K> {
    kind: &'a K,
    pub(crate) deadline: Deadline,
}

impl<'a, K> Call<'a, K> {
    pub(crate) fn until(deadline: Deadline, kind: &'a K) -> Self {
        Self { kind, deadline }
    }
}

impl<K> Deref for Call<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        self.kind
    }
}
