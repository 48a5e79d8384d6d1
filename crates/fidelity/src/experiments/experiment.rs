/// One assumption, and how a run on Windows Server settles it. The numbers up to ten are the review's that requested
/// them; a number is never reused.
#[derive(Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its number, used in observations.
    pub number: u8,
    /// The assumption, as a sentence.
    pub assumption: &'static str,
    /// The operations of the seam with code resting on it, by the names of [`operations`](crate::operations()).
    pub operations: &'static [&'static str],
    /// Its `Unverified` rows of [`os::schema`]: a property, a parameter, or the codes of a class.
    pub schema: &'static [&'static str],
    /// A fact missing in public records of a real Windows.
    pub unrecorded: &'static str,
    /// Its case of `windows-suite`.
    pub case: Option<&'static str>,
    /// The files beside the suite for observations beyond a single program: they need a reboot, a pod, a cloud.
    pub scripts: &'static [&'static str],
    /// The steps and checks by hand instead, on a suitable machine.
    pub by_hand: Option<&'static str>,
}

/// An assumption that a person on a suitable machine can check.
pub(super) const fn by_hand(
    number: u8,
    assumption: &'static str,
    operations: &'static [&'static str],
    how: &'static str,
) -> Experiment {
    Experiment {
        number,
        assumption,
        operations,
        schema: &[],
        unrecorded: "anything of it",
        case: None,
        scripts: &[],
        by_hand: Some(how),
    }
}
