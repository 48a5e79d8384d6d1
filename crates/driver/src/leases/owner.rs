use serde::{Deserialize, Serialize};

/// Whose a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Owner {
    /// Another process's, as far as this driver knows.
    Foreign,
    /// This driver's, if the call that found none makes it.
    Presumed,
    /// This driver's.
    Ours,
}

/// How a call for a volume ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Made,
    /// It met one that another process made.
    MetForeign,
    /// It found the thing as it took it.
    Well,
    /// It failed, and what it made may be there.
    MayBeMade,
    /// It failed, and made nothing.
    InVain,
    /// It failed, and the thing is not there any more.
    Gone,
}
