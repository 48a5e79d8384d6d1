/// This program has no native node yet: `os-windows` does not assemble one.
pub(crate) fn os() -> anyhow::Result<os::Os> {
    anyhow::bail!("os-windows does not assemble a native node yet")
}
