use os::Facility;
use os::layer::{METHODS, Op};
use os::schema::{CLASSES, CimType, Class, Namespace};

/// An operation of the seam.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeamOperation {
    /// Its facility.
    pub facility: Facility,
    /// `Files::entry`; for providers `query MSFT_Disk`, `MSFT_Disk.Initialize`, `parameters
    /// MSFT_SmbGlobalMapping.Create`, and with its association
    /// `associators MSFT_iSCSITarget by MSFT_iSCSITargetToiSCSITargetPortal`.
    pub name: String,
}

impl SeamOperation {
    /// Whether it comes from [`os::schema`], and not from a trait.
    pub(crate) fn is_of_class_table(&self) -> bool {
        self.name.contains("MSFT_")
    }

    /// Whether it queries a class's definition, and nothing of the node.
    pub(crate) fn is_of_a_definition(&self) -> bool {
        self.name.starts_with("parameters ")
    }

    fn query(class: &str) -> String {
        format!("query {class}")
    }

    fn associators(association: &str, result: &str) -> String {
        format!("associators {result} by {association}")
    }

    fn method(class: &str, method: &str) -> String {
        format!("{class}.{method}")
    }

    fn parameters(class: &str, method: &str) -> String {
        format!("parameters {class}.{method}")
    }
}

/// A provider's operations are those of its classes.
impl From<&Op<'_>> for SeamOperation {
    fn from(op: &Op<'_>) -> Self {
        let (class, subject) = (op.class(), op.subject);
        let name = match op.name {
            "query" => Self::query(class),
            "associators" => Self::associators(class, subject),
            "invoke" => Self::method(class, subject),
            "parameters" => Self::parameters(class, subject),
            _ => op.method.to_owned(),
        };
        Self {
            facility: op.facility,
            name,
        }
    }
}

/// All operations: the methods of the seam's traits, and the class table's requests to the storage, SMB and iSCSI
/// providers. The seam has no requests to CimV2.
#[must_use]
pub fn operations() -> Vec<SeamOperation> {
    let calls = METHODS.iter().filter_map(|(facility, name)| {
        let name = (*name).to_owned();
        facility.map(|facility| SeamOperation { facility, name })
    });
    let classes = CLASSES.iter().copied().filter(|class| is_asked(class));
    let asked = classes.flat_map(|class| {
        let facility = facility(class);
        let operation = move |name| SeamOperation { facility, name };
        names(class).into_iter().map(operation)
    });
    let mut all: Vec<_> = calls.chain(asked).collect();
    all.sort();
    all
}

/// A base class has no objects of its own; an embedded class has neither key nor method.
fn is_asked(class: &'static Class) -> bool {
    let is_base = CLASSES.iter().any(|other| other.base == Some(class));
    let is_found = class.keys().next().is_some() || !class.methods.is_empty();
    class.namespace != Namespace::CimV2 && !is_base && is_found
}

fn names(class: &'static Class) -> Vec<String> {
    if class.is_association() {
        let ends = class.properties.iter();
        let ends = ends.filter_map(|property| match property.cim {
            CimType::Reference(end) => Some(end),
            _ => None,
        });
        return ends
            .map(|end| SeamOperation::associators(class.name, end))
            .collect();
    }
    let methods = class.methods.iter().flat_map(|method| {
        [SeamOperation::method, SeamOperation::parameters]
            .map(|named| named(class.name, method.name))
    });
    // A class without keys has no objects, and methods of its own alone.
    let query = class
        .keys()
        .next()
        .map(|_| SeamOperation::query(class.name));
    query.into_iter().chain(methods).collect()
}

fn facility(class: &Class) -> Facility {
    match class.namespace {
        Namespace::Smb => Facility::Smb,
        _ if class.name.starts_with("MSFT_iSCSI") => Facility::Iscsi,
        _ => Facility::Storage,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_operation_stands_once_and_each_facility_has_some() {
        let all = operations();
        let once: BTreeSet<_> = all.iter().collect();
        assert_eq!(once.len(), all.len());
        let facilities: BTreeSet<_> = all.iter().map(|one| one.facility).collect();
        assert_eq!(facilities, Facility::ALL.into_iter().collect());
    }

    #[test]
    fn what_is_embedded_and_what_is_a_base_is_not_asked() {
        let all = operations();
        let has = |name: &str| all.iter().any(|one| one.name == name);
        assert!(has("query MSFT_Disk") && has("MSFT_Disk.Initialize"));
        assert!(has("associators MSFT_Partition by MSFT_DiskToPartition"));
        assert!(has("MSFT_StorageSetting.UpdateHostStorageCache"));
        assert!(!has("query MSFT_StorageObject") && !has("query MSFT_WmiError"));
    }
}
