//! Logs a machine's disks' answers that no document defines.

use os::{DiskNumber, Disks, PartitionStyle, Result};

/// A line for each disk: its table, and its page of identifiers or the error instead.
///
/// # Errors
/// The disks cannot be listed.
pub fn lines(disks: &dyn Disks) -> Result<Vec<String>> {
    let line = |number| line(disks, number);
    Ok(disks.list()?.into_iter().map(line).collect())
}

fn line(disks: &dyn Disks, number: DiskNumber) -> String {
    let table = text_or_error(disks.layout(number), |layout| match layout.style {
        PartitionStyle::Gpt { .. } => "GPT".to_owned(),
        PartitionStyle::Mbr { .. } => "MBR".to_owned(),
        PartitionStyle::Raw => "no table".to_owned(),
    });
    let page = text_or_error(disks.device_id_page(number), |page| {
        format!("{} bytes", page.len())
    });
    let state = text_or_error(disks.attributes(number), |attributes| {
        format!(
            "offline: {}, read-only: {}",
            attributes.offline, attributes.read_only
        )
    });
    let protected = text_or_error(disks.is_write_protected(number), |is_so| is_so.to_string());
    format!("disk {number}: {table}; page 0x83: {page}; {state}, write-protected: {protected}")
}

fn text_or_error<T>(answer: Result<T>, say: impl FnOnce(T) -> String) -> String {
    answer.map_or_else(|error| error.to_string(), say)
}
