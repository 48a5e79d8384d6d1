use std::ops::Deref;
use std::time::Duration;

use wincsi::Deadline;

use super::Volumes;
use crate::kinds::Unrecorded;
use crate::path::KubeletPath;
use crate::record::VolumeHandle;

/// How long a call may take: less than the two minutes after which kubelet calls again.
pub(crate) const CALL: Duration = Duration::from_secs(110);

/// The end of it, which a stage that fails has to undo its steps; a fifth of a shorter call.
const UNDO: Duration = Duration::from_secs(20);

/// One call for a volume: of the volumes or of a kind, and when the call ends.
pub struct Call<'a, T> {
    of: &'a T,
    pub(crate) deadline: Deadline,
}

impl<'a, T> Call<'a, T> {
    pub(crate) fn until(deadline: Deadline, of: &'a T) -> Self {
        Self { of, deadline }
    }
}

impl Volumes {
    /// A call that begins now, and whose client waits so long.
    pub fn within(&self, left: Duration) -> Call<'_, Self> {
        Call::until(self.ctx.node.deadline(left.min(CALL)), self)
    }
}

impl Call<'_, Volumes> {
    /// A volume without a record, for this call.
    pub(super) fn unrecorded<'a>(
        &self,
        volume: &'a VolumeHandle,
        at: &'a KubeletPath,
    ) -> Unrecorded<'a> {
        Unrecorded {
            volume,
            at,
            deadline: self.deadline,
        }
    }

    /// When the steps of a stage or publish end that begins now.
    pub(super) fn end_of_steps(&self) -> Deadline {
        let left = self.ctx.left_until(self.deadline);
        self.ctx.node.deadline(left - UNDO.min(left / 5))
    }
}

impl<T> Deref for Call<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.of
    }
}
