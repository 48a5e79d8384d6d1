//! `MSFT_DiskToPartition`: which partitions a disk holds.

use super::cim::CimType::Reference;
use super::model::{Class, Namespace, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disktopartition",
);

rows! { PROPERTIES: Property {
    DISK = Property::new("Disk", Reference("MSFT_Disk"), PAGE).key();
    PARTITION = Property::new("Partition", Reference("MSFT_Partition"), PAGE).key();
}}

pub static CLASS: Class = Class {
    name: "MSFT_DiskToPartition",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
