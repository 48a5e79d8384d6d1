//! Keeps secrets out of debug output, and wipes them when their message is dropped.

use std::fmt::{self, Write};

use prost_types::field_descriptor_proto::Label;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

/// The messages of a file that hold a secret, with Rust's names for their fields.
pub(crate) fn messages(file: &FileDescriptorProto) -> impl Iterator<Item = &DescriptorProto> {
    let holds_secret = |message: &&DescriptorProto| message.field.iter().any(is_secret);
    file.message_type.iter().filter(holds_secret)
}

/// What prost calls these messages.
pub(crate) fn paths(file: &FileDescriptorProto, messages: &[DescriptorProto]) -> Vec<String> {
    let path = |message: &DescriptorProto| format!(".{}.{}", file.package(), message.name());
    messages.iter().map(path).collect()
}

/// The implementations that replace prost's Debug and wipe the secrets.
pub(crate) fn write_impls(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    write_debug(message, code)?;
    write_drop(message, code)
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
    let name = message.name();
    writeln!(
        code,
        "impl ::core::fmt::Debug for {name} {{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        f.debug_struct({name:?})"
    )?;
    for field in &message.field {
        let name = field.name();
        let value = match is_secret(field) {
            true => r#"::core::format_args!("<redacted>")"#.to_owned(),
            false => format!("self.{name}"),
        };
        writeln!(code, "            .field({name:?}, &{value})")?;
    }
    writeln!(code, "            .finish()\n    }}\n}}")
}

fn write_drop(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    writeln!(code, "impl Drop for {name} {{\n    fn drop(&mut self) {{")?;
    for field in message.field.iter().filter(|field| is_secret(field)) {
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

/// A secret is a text or, in CSI, a map of texts.
fn is_secret(field: &FieldDescriptorProto) -> bool {
    field.name().contains("password") || field.name().contains("secret")
}
