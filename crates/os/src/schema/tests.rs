//! Invariants of the table, whatever its rows.

use std::collections::HashSet;

use super::*;

/// Every row that has a source, and a path to name it by.
fn sources() -> Vec<(String, Source)> {
    let mut found = Vec::new();
    for class in CLASSES {
        found.push((class.name.to_owned(), class.source));
        for property in class.properties {
            found.push((format!("{}.{}", class.name, property.name), property.source));
        }
        for method in class.methods {
            let path = format!("{}.{}()", class.name, method.name);
            if let Scope::Static(shown_by) = method.scope {
                found.push((format!("{path} static"), shown_by));
            }
            found.push((format!("{path} codes"), method.returns.source));
            for parameter in method.parameters {
                found.push((format!("{path}.{}", parameter.name), parameter.source));
            }
            found.push((path, method.source));
        }
    }
    found
}

fn assert_distinct<'a>(what: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen = HashSet::new();
    for name in names {
        assert!(
            seen.insert(name.to_ascii_lowercase()),
            "{what}: {name} twice"
        );
    }
}

fn parameters_of(class: &Class) -> impl Iterator<Item = &'static Parameter> {
    class.methods.iter().flat_map(|method| method.parameters)
}

fn all_methods() -> impl Iterator<Item = (&'static Class, &'static Method)> {
    CLASSES
        .iter()
        .flat_map(|class| class.methods.iter().map(|method| (*class, method)))
}

#[test]
fn names_are_distinct_without_case() {
    assert_distinct("classes", CLASSES.iter().map(|class| class.name));
    for class in CLASSES {
        assert_distinct(class.name, class.all_properties().map(|row| row.name));
        assert_distinct(class.name, class.methods.iter().map(|row| row.name));
        for method in class.methods {
            assert_distinct(method.name, method.parameters.iter().map(|row| row.name));
        }
    }
}

#[test]
fn a_class_that_is_looked_up_by_instance_has_a_key() {
    let without: Vec<_> = CLASSES
        .iter()
        .filter(|class| class.keys().next().is_none())
        .map(|class| class.name)
        .collect();
    assert_eq!(
        without,
        [
            "MSFT_StorageSetting",
            "CIM_Error",
            "MSFT_StorageExtendedStatus",
            "MSFT_WmiError",
        ]
    );
}

#[test]
fn an_instance_method_belongs_to_a_class_with_a_key() {
    for (class, method) in all_methods() {
        if method.scope == Scope::Instance {
            assert!(
                class.keys().next().is_some(),
                "{}.{}",
                class.name,
                method.name
            );
        }
    }
}

#[test]
fn return_codes_are_distinct_and_zero_is_success() {
    for (class, method) in all_methods() {
        let codes = method.returns.codes;
        let distinct: HashSet<_> = codes.iter().map(|row| row.code).collect();
        assert_eq!(
            distinct.len(),
            codes.len(),
            "{}.{}",
            class.name,
            method.name
        );
        assert!(distinct.contains(&0), "{}.{}", class.name, method.name);
    }
}

#[test]
fn a_code_has_one_meaning() {
    for all in [codes::ALL, iscsi_codes::ALL, service::codes::ALL] {
        let distinct: HashSet<_> = all.iter().map(|row| row.code).collect();
        assert_eq!(distinct.len(), all.len());
    }
}

#[test]
fn what_is_called_a_secret_is_marked_as_one() {
    let named = |name: &str| ["Secret", "Password", "Credential"].map(|word| name.contains(word));
    for (class, method) in all_methods() {
        for parameter in method.parameters {
            let is_one =
                parameter.direction == Direction::In && named(parameter.name).contains(&true);
            assert_eq!(parameter.secret, is_one, "{}.{}", class.name, method.name);
        }
    }
}

#[test]
fn what_a_row_refers_to_is_in_its_own_namespace() {
    for class in CLASSES {
        let types = class
            .properties
            .iter()
            .map(|row| row.cim)
            .chain(parameters_of(class).map(|row| row.cim));
        for name in types.filter_map(CimType::class) {
            let other = super::class(name);
            assert!(
                other.is_some_and(|other| other.namespace == class.namespace),
                "{}: {name}",
                class.name
            );
        }
    }
}

#[test]
fn every_base_is_in_the_table_and_in_the_same_namespace() {
    for class in CLASSES {
        if let Some(base) = class.base {
            assert!(super::class(base.name).is_some(), "{}", class.name);
            assert_eq!(class.namespace, base.namespace, "{}", class.name);
        }
    }
}

#[test]
fn values_are_distinct_and_fit_their_type() {
    fn check(name: &str, cim: CimType, values: Values) {
        match values {
            Values::Any => {}
            Values::Numbers(rows) => {
                let most = match cim {
                    CimType::Uint8 => u32::from(u8::MAX),
                    CimType::Uint16 => u32::from(u16::MAX),
                    CimType::Uint32 => u32::MAX,
                    other => panic!("{name}: numbers for {other:?}"),
                };
                assert!(rows.iter().all(|row| row.value <= most), "{name}");
                let distinct: HashSet<_> = rows.iter().map(|row| row.value).collect();
                assert_eq!(distinct.len(), rows.len(), "{name}");
            }
            Values::Texts(rows) => {
                assert_eq!(cim, CimType::String, "{name}");
                assert_distinct(name, rows.iter().map(|row| row.value));
            }
        }
    }
    for class in CLASSES {
        for row in class.properties {
            check(row.name, row.cim, row.values);
        }
        for row in parameters_of(class) {
            check(row.name, row.cim, row.values);
        }
    }
}

#[test]
fn every_source_is_of_the_kind_that_it_claims() {
    for (path, source) in sources() {
        let prefix = match source {
            Source::Page(_) => "https://learn.microsoft.com/en-us/",
            Source::Cmdlet(_) => "https://learn.microsoft.com/en-us/powershell/module/",
            Source::Definition(_) => "https://github.com/microsoft/wmi/blob/master/",
            Source::Module(_) => "https://github.com/visualblind/Scripts-collection/blob/",
            Source::Unverified(why) => {
                assert!(why.len() > 20, "{path}: {why:?} explains nothing");
                continue;
            }
        };
        let url = source.url().unwrap();
        let rest = url.strip_prefix(prefix);
        assert!(rest.is_some_and(|rest| !rest.is_empty()), "{path}: {url}");
        let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-_()=".contains(&byte);
        assert!(url.bytes().all(well_formed), "{path}: {url}");
    }
}

#[test]
fn every_class_and_method_cites_a_page_of_microsofts() {
    for class in CLASSES {
        let sources = class
            .methods
            .iter()
            .map(|method| (method.name, method.source));
        for (name, source) in sources.chain([(class.name, class.source)]) {
            assert!(
                matches!(source, Source::Page(_) | Source::Cmdlet(_)),
                "{}: {name}: {source:?}",
                class.name
            );
        }
    }
}

#[test]
fn a_reference_is_only_ever_one_end_of_two() {
    for class in CLASSES {
        let references = class
            .properties
            .iter()
            .filter(|row| matches!(row.cim, CimType::Reference(_)));
        assert_eq!(
            references.count(),
            if class.is_association() { 2 } else { 0 },
            "{}",
            class.name
        );
    }
}

#[test]
fn the_table_is_counted() {
    let properties: usize = CLASSES.iter().map(|class| class.properties.len()).sum();
    let parameters: usize = all_methods()
        .map(|(_, method)| method.parameters.len())
        .sum();
    let rows = sources();
    let count = |kind: fn(&Source) -> bool| rows.iter().filter(|(_, source)| kind(source)).count();
    println!(
        "{} classes, {properties} properties, {} methods, {parameters} parameters, {} codes",
        CLASSES.len(),
        all_methods().count(),
        codes::ALL.len() + iscsi_codes::ALL.len() + service::codes::ALL.len(),
    );
    println!(
        "read on: {} pages, {} cmdlet pages, {} definitions, {} modules, {} unverified",
        count(|source| matches!(source, Source::Page(_))),
        count(|source| matches!(source, Source::Cmdlet(_))),
        count(|source| matches!(source, Source::Definition(_))),
        count(|source| matches!(source, Source::Module(_))),
        count(|source| matches!(source, Source::Unverified(_))),
    );
    for (path, source) in &rows {
        if let Source::Unverified(why) = source {
            println!("unverified: {path}: {why}");
        }
    }
    assert!(rows.len() > properties + parameters);
}

#[test]
fn a_look_up_ignores_case_and_sees_what_is_inherited() {
    let disk = class("MSFT_DISK").unwrap();
    assert_eq!(disk.property("objectid"), Some(&storage_object::OBJECT_ID));
    assert_eq!(disk.property("NUMBER"), Some(&disk::NUMBER));
    assert_eq!(
        disk.method("online").unwrap().meaning(41018),
        Some(codes::CLUSTER_MAINTENANCE.meaning)
    );
    assert_eq!(disk.property("Numbr"), None);
    assert_eq!(class("MSFT_Dsk"), None);
}

#[test]
fn an_association_knows_its_ends() {
    let class = class("MSFT_PartitionToVolume").unwrap();
    assert!(class.is_association());
    assert_eq!(
        class.end(&partition::CLASS),
        Some(&partition_to_volume::PARTITION)
    );
    assert_eq!(
        class.end(&volume::CLASS),
        Some(&partition_to_volume::VOLUME)
    );
    assert_eq!(class.end(&disk::CLASS), None);
}

#[test]
fn a_method_of_a_class_without_instances_is_static() {
    let create = class("MSFT_SmbGlobalMapping").and_then(|class| class.method("Create"));
    assert!(matches!(create.unwrap().scope, Scope::Static(_)));
    assert_eq!(smb_global_mapping::REMOVE.scope, Scope::Instance);
}

#[test]
fn an_unsigned_code_keeps_its_high_bit() {
    assert_eq!(
        iscsi_target::CONNECT.meaning(0xEFFF_0009),
        Some(iscsi_codes::AUTHENTICATION_FAILURE.meaning)
    );
    assert_eq!(service::STOP_SERVICE.meaning(25), None);
}

#[test]
fn sixty_four_bits_travel_as_text_and_sixteen_as_thirty_two() {
    assert_eq!(disk::SIZE.cim.automation(), Automation::Bstr);
    assert_eq!(disk::PARTITION_STYLE.cim.automation(), Automation::I4);
    assert_eq!(disk::NUMBER.cim.automation(), Automation::I4);
    assert_eq!(disk::IS_OFFLINE.cim.automation(), Automation::Bool);
    assert_eq!(partition::DRIVE_LETTER.cim.automation(), Automation::I2);
    assert_eq!(disk_to_partition::DISK.cim.automation(), Automation::Bstr);
    assert_eq!(
        extended_status::PARAMETER.cim.automation(),
        Automation::Unknown
    );
}
