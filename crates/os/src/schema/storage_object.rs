//! `MSFT_StorageObject`, the base of disks, partitions and volumes.

use super::cim::CimType::String;
use super::model::{Class, Namespace, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-storageobject",
);

rows! { PROPERTIES: Property {
    /// Opaque. Names the instance, and is what an object path is made of.
    OBJECT_ID = Property::new("ObjectId", String, PAGE).key();
    /// The same from every provider that sees the object. Of a volume `\\?\Volume{guid}\`.
    UNIQUE_ID = Property::new("UniqueId", String, PAGE).required();
    PASS_THROUGH_IDS = Property::new("PassThroughIds", String, PAGE);
    PASS_THROUGH_SERVER = Property::new("PassThroughServer", String, PAGE);
    PASS_THROUGH_NAMESPACE = Property::new("PassThroughNamespace", String, PAGE);
    PASS_THROUGH_CLASS = Property::new("PassThroughClass", String, PAGE);
}}

/// Abstract: it has no instances of its own.
pub static CLASS: Class = Class {
    name: "MSFT_StorageObject",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
