//! The compiled descriptors against `contract.txt`, the wire contract written down on its own.
//!
//! `contract.txt` comes from csi-proxy's published API, not from our .proto files, so a slip in one
//! of them shows. One line per item, each beginning with `<group>/<version>`:
//!
//! ```text
//! package <name>
//! import <file>
//! service <name>
//! rpc <service> <name> <request> -> <response>
//! enum <name>
//! value <enum> <number> <name>
//! message <name>
//! field <message> <number> <name> [repeated] <type> [in <oneof>]
//! ```
//!
//! `csi/v1`, `pluginregistration/v1` and `lifecycle/v1`, no groups of csi-proxy, are there in the same form. Options of
//! the specification's fields (`csi_secret`) are not on the wire and are left out.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};
use wincsi_wire::{GROUPS, Group, csi, lifecycle, pluginregistration};

const CONTRACT: &str = include_str!("contract.txt");

/// Guards: P47
#[test]
fn descriptors_say_what_the_contract_says() {
    let contract: BTreeSet<String> = CONTRACT.lines().map(String::from).collect();
    let compiled: BTreeSet<String> = compiled().into_iter().collect();
    let missing: Vec<_> = contract.difference(&compiled).collect();
    let extra: Vec<_> = compiled.difference(&contract).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing: {missing:#?}\nextra: {extra:#?}"
    );
}

#[test]
fn nothing_is_said_twice() {
    let lines = compiled();
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len());
    assert_eq!(
        CONTRACT.lines().collect::<BTreeSet<_>>().len(),
        CONTRACT.lines().count()
    );
}

#[test]
fn totals_are_those_of_the_interfaces() {
    let csi_proxy = totals(|line| !INTERFACES.iter().any(|name| line.starts_with(name)));
    let expected = [
        ("enum", 6),
        ("field", 301),
        ("message", 289),
        ("package", 23),
        ("rpc", 139),
        ("service", 23),
        ("value", 23),
    ];
    assert_eq!(csi_proxy, expected.into());
    let csi = totals(|line| line.starts_with(INTERFACES[0]));
    let expected = [
        ("enum", 8),
        ("field", 196),
        ("import", 2),
        ("message", 94),
        ("package", 1),
        ("rpc", 32),
        ("service", 5),
        ("value", 47),
    ];
    assert_eq!(csi, expected.into());
}

const INTERFACES: [&str; 3] = ["csi/v1 ", "pluginregistration/v1 ", "lifecycle/v1 "];

fn totals(mut of: impl FnMut(&str) -> bool) -> BTreeMap<&'static str, usize> {
    let mut totals = BTreeMap::new();
    for line in CONTRACT.lines().filter(|line| of(line)) {
        let kind = line.split(' ').nth(1).expect("each line has a kind");
        *totals.entry(kind).or_insert(0) += 1;
    }
    totals
}

/// The contract names no path: it follows from package, service and RPC by gRPC's own rule. RPCs that stream are in
/// no table.
#[test]
fn the_table_says_what_the_contract_says() {
    let contract: BTreeSet<&str> = CONTRACT
        .lines()
        .filter(|line| line.split(' ').nth(1) == Some("rpc") && !line.contains(" stream "))
        .collect();
    let table: Vec<String> = services().flat_map(table_lines).collect();
    assert_eq!(
        table.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        contract
    );
    for (group, method) in services().flat_map(|g| g.methods.iter().map(move |m| (g, m))) {
        let (package, service) = (group.package, group.service);
        assert_eq!(method.path, format!("/{package}.{service}/{}", method.name));
    }
    assert!(
        GROUPS
            .iter()
            .all(|group| group.package == group.version.to_string())
    );
}

fn services() -> impl Iterator<Item = &'static Group> {
    let interfaces = csi::v1::SERVICES
        .iter()
        .chain(pluginregistration::v1::SERVICES)
        .chain(lifecycle::v1::SERVICES);
    GROUPS.iter().chain(interfaces)
}

fn table_lines(group: &'static Group) -> impl Iterator<Item = String> {
    group.methods.iter().map(move |method| {
        let (service, name) = (group.service, method.name);
        format!(
            "{group} rpc {service} {name} {} -> {}",
            method.request, method.response
        )
    })
}

fn compiled() -> Vec<String> {
    let mut files: Vec<(String, FileDescriptorProto)> = Vec::new();
    for group in services() {
        let set = FileDescriptorSet::decode(group.descriptor_set).expect("the build wrote it");
        let own = set
            .file
            .into_iter()
            .filter(|file| file.package() == group.package);
        files.extend(own.map(|file| (group.to_string(), file)));
    }
    files.dedup();
    let lines = |(name, file): &(String, FileDescriptorProto)| {
        let lines = file_lines(file).into_iter();
        lines
            .map(|line| format!("{name} {line}"))
            .collect::<Vec<_>>()
    };
    files.iter().flat_map(lines).collect()
}

fn file_lines(file: &FileDescriptorProto) -> Vec<String> {
    let mut lines = vec![format!("package {}", file.package())];
    let unexpected = [
        (file.syntax() != "proto3").then(|| format!("syntax {}", file.syntax())),
        (!file.extension.is_empty()).then(|| "extensions".to_owned()),
    ];
    lines.extend(unexpected.into_iter().flatten());
    lines.extend(
        file.dependency
            .iter()
            .map(|import| format!("import {import}")),
    );
    lines.extend(file.service.iter().flat_map(service_lines));
    lines.extend(file.enum_type.iter().flat_map(|item| enum_lines("", item)));
    let scope = Scope {
        package: file.package(),
        prefix: String::new(),
    };
    lines.extend(
        file.message_type
            .iter()
            .flat_map(|message| scope.message_lines(message)),
    );
    lines
}

fn service_lines(service: &ServiceDescriptorProto) -> Vec<String> {
    let mut lines = vec![format!("service {}", service.name())];
    lines.extend(
        service
            .method
            .iter()
            .map(|method| rpc_line(service.name(), method)),
    );
    lines
}

fn rpc_line(service: &str, method: &MethodDescriptorProto) -> String {
    let stream = |on: bool| if on { "stream " } else { "" };
    format!(
        "rpc {service} {} {}{} -> {}{}",
        method.name(),
        stream(method.client_streaming()),
        local(method.input_type()),
        stream(method.server_streaming()),
        local(method.output_type()),
    )
}

fn enum_lines(prefix: &str, item: &EnumDescriptorProto) -> Vec<String> {
    let name = format!("{prefix}{}", item.name());
    let value = |value: &EnumValueDescriptorProto| {
        format!("value {name} {} {}", value.number(), value.name())
    };
    let values = item.value.iter().map(value);
    [format!("enum {name}")].into_iter().chain(values).collect()
}

/// The place of a message.
struct Scope<'a> {
    package: &'a str,
    /// The messages around it, `PluginCapability.Service.` say.
    prefix: String,
}

impl Scope<'_> {
    fn message_lines(&self, message: &DescriptorProto) -> Vec<String> {
        let name = format!("{}{}", self.prefix, message.name());
        let mut lines = vec![format!("message {name}")];
        for field in &message.field {
            let (number, kind) = (field.number(), self.field_type(message, field));
            lines.push(format!("field {name} {number} {} {kind}", field.name()));
        }
        let inner = Scope {
            package: self.package,
            prefix: format!("{name}."),
        };
        lines.extend(
            message
                .enum_type
                .iter()
                .flat_map(|item| enum_lines(&inner.prefix, item)),
        );
        let nested = message
            .nested_type
            .iter()
            .filter(|nested| !is_map_entry(nested));
        lines.extend(nested.flat_map(|nested| inner.message_lines(nested)));
        lines
    }

    fn field_type(&self, message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
        let entry = message.nested_type.iter().find(|nested| {
            is_map_entry(nested) && field.type_name().ends_with(&format!(".{}", nested.name()))
        });
        let of_entry = |entry: &DescriptorProto, index: usize| self.plain_type(&entry.field[index]);
        let kind = match (entry, field.label()) {
            (Some(entry), Label::Repeated) => {
                format!("map<{},{}>", of_entry(entry, 0), of_entry(entry, 1))
            }
            (None, Label::Repeated) => format!("repeated {}", self.plain_type(field)),
            (None, Label::Optional) if !field.proto3_optional() => self.plain_type(field),
            (entry, label) => format!("{label:?} {} {}", self.plain_type(field), entry.is_some()),
        };
        match field
            .oneof_index
            .and_then(|index| usize::try_from(index).ok())
        {
            Some(index) => format!("{kind} in {}", message.oneof_decl[index].name()),
            None => kind,
        }
    }

    /// `.v1.DiskLocation` is `DiskLocation`; a type of another package keeps its package.
    fn plain_type(&self, field: &FieldDescriptorProto) -> String {
        match field.r#type() {
            Type::Message | Type::Enum => {
                let name = field.type_name().trim_start_matches('.');
                let own = name
                    .strip_prefix(self.package)
                    .and_then(|name| name.strip_prefix('.'));
                own.unwrap_or(name).to_owned()
            }
            scalar => scalar
                .as_str_name()
                .trim_start_matches("TYPE_")
                .to_ascii_lowercase(),
        }
    }
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message
        .options
        .as_ref()
        .is_some_and(|options| options.map_entry())
}

/// `.v1.DiskLocation` to `DiskLocation`.
fn local(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or_default()
}
