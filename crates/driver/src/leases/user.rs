/// A volume that uses a thing.
#[derive(Clone, Debug)]
pub(crate) struct User<T> {
    pub(crate) key: String,
    pub(crate) terms: T,
    /// The boot in which it was staged, if the node reports boots.
    pub(crate) boot: Option<String>,
    pub(crate) is_leaving: bool,
    /// Whether the thing has served it in that boot.
    pub(crate) is_served: bool,
    /// Whether its call makes the thing, as far as that call knows.
    pub(super) presumes: bool,
    /// Whether that call died with its process.
    pub(super) is_of_dead: bool,
    /// Whether its call may give the thing another credential.
    pub(super) may_change_credential: bool,
    /// Whether its record is there.
    pub(super) is_recorded: bool,
}

impl<T> User<T> {
    /// A volume that is staged, or is being staged.
    pub(crate) fn new(key: String, terms: T, boot: Option<String>) -> Self {
        Self {
            key,
            terms,
            boot,
            is_leaving: false,
            is_served: false,
            presumes: false,
            is_of_dead: false,
            may_change_credential: false,
            is_recorded: false,
        }
    }
}
