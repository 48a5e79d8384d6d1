//! Keeps secrets out of debug output, and wipes them when their message is dropped. The values of CSI's volume and
//! publish contexts count as secrets: kubelet puts a pod's service account tokens there.

use std::fmt::{self, Write};

use prost_types::field_descriptor_proto::Label;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use crate::names;

/// The messages of a file with a secret, with Rust's names for their fields. A nested one has its parent's name before
/// its own.
pub(crate) fn messages(file: &FileDescriptorProto) -> impl Iterator<Item = DescriptorProto> {
    let all = file.message_type.iter().flat_map(|message| {
        let nested = message.nested_type.iter().map(|nested| DescriptorProto {
            name: Some(format!("{}.{}", message.name(), nested.name())),
            ..nested.clone()
        });
        nested.chain([message.clone()])
    });
    all.filter(|message| message.field.iter().any(is_hidden))
}

/// prost's names of these messages.
pub(crate) fn paths(file: &FileDescriptorProto, messages: &[DescriptorProto]) -> Vec<String> {
    let path = |message: &DescriptorProto| format!(".{}.{}", file.package(), message.name());
    messages.iter().map(path).collect()
}

/// The implementations that replace prost's Debug and wipe the secrets.
pub(crate) fn write_impls(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    write_debug(message, code)?;
    match message.field.iter().any(is_secret) {
        true => write_drop(message, code),
        false => Ok(()),
    }
}

/// The method of a call that lists the secrets of its request.
pub(crate) fn write_list(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    writeln!(
        code,
        "        fn secrets(request: &super::{name}) -> Vec<&str> {{
            ::core::iter::empty()"
    )?;
    for field in message.field.iter().filter(|field| is_secret(field)) {
        let name = field.name();
        match field.label() {
            Label::Repeated => writeln!(
                code,
                "                .chain(request.{name}.values().map(String::as_str))"
            )?,
            _ => writeln!(code, "                .chain([&*request.{name}])")?,
        }
    }
    writeln!(code, "                .collect()\n        }}")
}

fn write_debug(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let (path, name) = rust_path(message);
    writeln!(
        code,
        "impl ::core::fmt::Debug for {path} {{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        f.debug_struct({name:?})"
    )?;
    for field in &message.field {
        let name = field.name();
        let value = match field {
            field if is_secret(field) => r#"::core::format_args!("<redacted>")"#.to_owned(),
            field if is_context(field) => {
                format!("self.{name}.keys().collect::<::std::vec::Vec<_>>()")
            }
            _ => format!("self.{name}"),
        };
        writeln!(code, "            .field({name:?}, &{value})")?;
    }
    writeln!(code, "            .finish()\n    }}\n}}")
}

fn write_drop(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    writeln!(code, "impl Drop for {name} {{\n    fn drop(&mut self) {{")?;
    for field in message.field.iter().filter(|field| is_hidden(field)) {
        let name = field.name();
        match field.label() {
            Label::Repeated => writeln!(
                code,
                "        self.{name}.values_mut().for_each(::zeroize::Zeroize::zeroize);"
            )?,
            _ => writeln!(
                code,
                "        ::zeroize::Zeroize::zeroize(&mut self.{name});"
            )?,
        }
    }
    writeln!(
        code,
        "    }}\n}}\nimpl ::zeroize::ZeroizeOnDrop for {name} {{}}"
    )
}

/// The type of a message, and its last name.
fn rust_path(message: &DescriptorProto) -> (String, &str) {
    match message.name().split_once('.') {
        Some((parent, name)) => (format!("{}::{name}", names::module(parent)), name),
        None => (message.name().to_owned(), message.name()),
    }
}

fn is_hidden(field: &FieldDescriptorProto) -> bool {
    is_secret(field) || is_context(field)
}

/// A map whose keys say what it has.
fn is_context(field: &FieldDescriptorProto) -> bool {
    field.name().ends_with("_context")
}

/// A secret is a text or, in CSI, a map of texts.
fn is_secret(field: &FieldDescriptorProto) -> bool {
    field.name().contains("password") || field.name().contains("secret")
}
