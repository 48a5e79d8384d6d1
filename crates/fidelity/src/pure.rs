/// What of operations is code without a system, and one of the tests that it has.
pub(crate) struct Pure {
    pub(crate) operations: &'static [&'static str],
    pub(crate) what: &'static str,
    pub(crate) test: &'static str,
}

/// `cargo xtask tidy` holds the tests' names against the sources.
pub(crate) const PURE: &[Pure] = &[
    Pure {
        operations: &["Disks::attributes", "Disks::scsi_address"],
        what: "the answer's bytes",
        test: "ioctl::an_address_and_attributes_are_read_whole",
    },
    Pure {
        operations: &["Disks::descriptor"],
        what: "the answer's bytes",
        test: "descriptor::texts_that_leave_the_descriptor_are_errors",
    },
    Pure {
        operations: &["Disks::device_id_page"],
        what: "the page's bytes, read above the seam",
        test: "device_id::bytes_as_windows_lays_them_out",
    },
    Pure {
        operations: &["Disks::grow_partition"],
        what: "the request's bytes",
        test: "ioctl::growth_is_never_negative",
    },
    Pure {
        operations: &["Disks::layout"],
        what: "the answer's bytes",
        test: "layout::a_gpt_has_its_used_entries",
    },
    Pure {
        operations: &["Disks::length"],
        what: "the answer's bytes",
        test: "ioctl::a_length_is_positive",
    },
    Pure {
        operations: &["Disks::number_of"],
        what: "the answer's bytes",
        test: "ioctl::only_disks_have_disk_numbers",
    },
    Pure {
        operations: &["Disks::sector_size"],
        what: "the answer's bytes",
        test: "ioctl::sectors_have_one_of_two_lengths",
    },
    Pure {
        operations: &["Disks::set_access"],
        what: "the request's bytes",
        test: "ioctl::read_only_alone_is_set_and_cleared_and_outlives_a_restart",
    },
    Pure {
        operations: &["Files::reparse_data"],
        what: "the data's bytes, read above the seam",
        test: "reparse::a_mounted_folder_as_windows_writes_it",
    },
    Pure {
        operations: &["Firmware::smbios"],
        what: "the table's bytes, read above the seam",
        test: "smbios::there_is_exactly_one_system",
    },
    Pure {
        operations: &["Volumes::extents"],
        what: "the answer's bytes",
        test: "extents::extents_are_read_in_their_order",
    },
    Pure {
        operations: &["query"],
        what: "the query's text",
        test: "wql::what_does_not_fit_is_refused",
    },
    Pure {
        operations: &["associators"],
        what: "the query's text",
        test: "wql::an_association_ties_both_classes",
    },
    Pure {
        operations: &["query", "associators", "methods"],
        what: "values on their way through COM",
        test: "variant::what_goes_out_comes_back",
    },
    Pure {
        operations: &["query", "associators", "methods"],
        what: "the path of an object",
        test: "path::a_path_needs_each_key",
    },
];

/// Whether pure code has a part in the operation. Those of providers are one by kind.
pub(crate) fn has_part_in(operation: &str) -> bool {
    let kind = match operation.split_once(' ') {
        Some((kind, _)) => kind,
        None if operation.starts_with("MSFT_") => "methods",
        None => operation,
    };
    PURE.iter().any(|pure| pure.operations.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_operations_that_there_are() {
        let all = crate::operations();
        let kinds = ["query", "associators", "methods"];
        for name in PURE.iter().flat_map(|pure| pure.operations) {
            let is_there = kinds.contains(name) || all.iter().any(|one| one.name == *name);
            assert!(is_there, "{name}");
        }
    }
}
