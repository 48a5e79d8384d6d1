/// The native node is Windows's.
pub(crate) fn os() -> anyhow::Result<os::Os> {
    anyhow::bail!("there is a native node on Windows alone")
}
