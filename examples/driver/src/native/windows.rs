/// This machine itself: the driver must run in a HostProcess container, as an administrator.
pub(crate) fn os() -> anyhow::Result<os::Os> {
    Ok(os_windows::node("wincsi-example-driver"))
}
