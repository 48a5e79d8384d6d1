/// How many handles this process has open; Wine 8 counts none.
pub(crate) fn handles() -> os::Result<u64> {
    Ok(u64::from(os_windows::process_usage()?.handles))
}
