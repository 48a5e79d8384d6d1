//! `MSFT_PartitionToVolume`: which volume a partition holds.

use super::cim::CimType::Reference;
use super::model::{Class, Namespace, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partitiontovolume",
);

rows! { PROPERTIES: Property {
    PARTITION = Property::new("Partition", Reference("MSFT_Partition"), PAGE).key();
    VOLUME = Property::new("Volume", Reference("MSFT_Volume"), PAGE).key();
}}

pub static CLASS: Class = Class {
    name: "MSFT_PartitionToVolume",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
