//! The compiled descriptors against `contract.txt`, the wire contract written down on its own.
//!
//! `contract.txt` comes from csi-proxy's published API, not from our .proto files, so a slip in one
//! of them shows. One line per item, each beginning with `<group>/<version>`:
//!
//! ```text
//! package <name>
//! service <name>
//! rpc <service> <name> <request> -> <response>
//! enum <name>
//! value <enum> <number> <name>
//! message <name>
//! field <message> <number> <name> [repeated] <type>
//! ```

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};
use wincsi_wire::{GROUPS, Group};

const CONTRACT: &str = include_str!("contract.txt");

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
fn totals_are_those_of_csi_proxy() {
    let mut totals = BTreeMap::new();
    for line in compiled() {
        let kind = line.split(' ').nth(1).unwrap().to_owned();
        *totals.entry(kind).or_insert(0) += 1;
    }
    let expected = [
        ("enum", 6),
        ("field", 301),
        ("message", 289),
        ("package", 23),
        ("rpc", 139),
        ("service", 23),
        ("value", 23),
    ];
    assert_eq!(
        totals,
        expected
            .map(|(kind, count)| (kind.to_owned(), count))
            .into()
    );
}

/// The contract names no path: it follows from package, service and RPC by gRPC's own rule.
#[test]
fn the_table_says_what_the_contract_says() {
    let contract: Vec<&str> = CONTRACT
        .lines()
        .filter(|line| line.split(' ').nth(1) == Some("rpc"))
        .collect();
    let table: Vec<String> = GROUPS.iter().flat_map(table_lines).collect();
    assert_eq!(table.iter().collect::<BTreeSet<_>>().len(), contract.len());
    for line in contract {
        assert!(table.iter().any(|row| row == line), "missing: {line}");
    }
    for (group, method) in GROUPS
        .iter()
        .flat_map(|g| g.methods.iter().map(move |m| (g, m)))
    {
        assert_eq!(
            method.path,
            format!("/{}.{}/{}", group.version, group.service, method.name)
        );
        assert_eq!(group.package, group.version.to_string());
    }
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
    let mut lines = Vec::new();
    for group in GROUPS {
        let set = FileDescriptorSet::decode(group.descriptor_set).unwrap_or_default();
        for file in &set.file {
            lines.extend(
                file_lines(file)
                    .into_iter()
                    .map(|line| format!("{group} {line}")),
            );
        }
    }
    lines
}

fn file_lines(file: &FileDescriptorProto) -> Vec<String> {
    let mut lines = vec![format!("package {}", file.package())];
    let unexpected = [
        (file.syntax() != "proto3").then(|| format!("syntax {}", file.syntax())),
        (!file.dependency.is_empty()).then(|| format!("imports {:?}", file.dependency)),
        (!file.extension.is_empty()).then(|| "extensions".to_owned()),
    ];
    lines.extend(unexpected.into_iter().flatten());
    lines.extend(file.service.iter().flat_map(service_lines));
    lines.extend(file.enum_type.iter().flat_map(enum_lines));
    lines.extend(file.message_type.iter().flat_map(message_lines));
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

fn enum_lines(item: &EnumDescriptorProto) -> Vec<String> {
    let mut lines = vec![format!("enum {}", item.name())];
    for value in &item.value {
        lines.push(format!(
            "value {} {} {}",
            item.name(),
            value.number(),
            value.name()
        ));
    }
    lines
}

fn message_lines(message: &DescriptorProto) -> Vec<String> {
    let name = message.name();
    let mut lines = vec![format!("message {name}")];
    for field in &message.field {
        let kind = field_type(message, field);
        lines.push(format!(
            "field {name} {} {} {kind}",
            field.number(),
            field.name()
        ));
    }
    lines.extend(
        message
            .oneof_decl
            .iter()
            .map(|oneof| format!("oneof {name} {}", oneof.name())),
    );
    lines.extend(
        message
            .enum_type
            .iter()
            .map(|item| format!("enum {name}.{}", item.name())),
    );
    for nested in message
        .nested_type
        .iter()
        .filter(|nested| !is_map_entry(nested))
    {
        lines.push(format!("message {name}.{}", nested.name()));
    }
    lines
}

fn field_type(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let entry = message.nested_type.iter().find(|nested| {
        is_map_entry(nested) && field.type_name().ends_with(&format!(".{}", nested.name()))
    });
    match (entry, field.label()) {
        (Some(entry), Label::Repeated) => {
            format!(
                "map<{},{}>",
                plain_type(&entry.field[0]),
                plain_type(&entry.field[1])
            )
        }
        (None, Label::Repeated) => format!("repeated {}", plain_type(field)),
        (None, Label::Optional) if !field.proto3_optional() => plain_type(field),
        (entry, label) => format!("{label:?} {} {}", plain_type(field), entry.is_some()),
    }
}

fn plain_type(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Enum => local(field.type_name()).to_owned(),
        scalar => scalar
            .as_str_name()
            .trim_start_matches("TYPE_")
            .to_ascii_lowercase(),
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
