//! Keeps secrets out of debug output, and wipes them when their message is dropped.

use std::fmt::{self, Write};

use prost_types::{DescriptorProto, FileDescriptorProto};

/// The messages of a file that hold a secret, with Rust's names for their fields.
pub(crate) fn messages(file: &FileDescriptorProto) -> impl Iterator<Item = &DescriptorProto> {
    let holds_secret = |message: &&DescriptorProto| fields(message).any(is_secret);
    file.message_type.iter().filter(holds_secret)
}

/// The implementations that replace prost's Debug and wipe the secrets.
pub(crate) fn write_impls(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    write_debug(message, code)?;
    write_drop(message, code)
}

/// The method of a call that lists the secrets of its request.
pub(crate) fn write_list(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    let secrets = fields(message).filter(|field| is_secret(field));
    let texts: String = secrets.map(|field| format!("&request.{field}, ")).collect();
    writeln!(
        code,
        "        fn secrets(request: &super::{name}) -> Vec<&str> {{ vec![{texts}] }}"
    )
}

fn write_debug(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    writeln!(
        code,
        "impl ::core::fmt::Debug for {name} {{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        f.debug_struct({name:?})"
    )?;
    for field in fields(message) {
        let value = match is_secret(field) {
            true => r#"::core::format_args!("<redacted>")"#.to_owned(),
            false => format!("self.{field}"),
        };
        writeln!(code, "            .field({field:?}, &{value})")?;
    }
    writeln!(code, "            .finish()\n    }}\n}}")
}

fn write_drop(message: &DescriptorProto, code: &mut String) -> fmt::Result {
    let name = message.name();
    writeln!(code, "impl Drop for {name} {{\n    fn drop(&mut self) {{")?;
    for field in fields(message).filter(|field| is_secret(field)) {
        writeln!(
            code,
            "        ::zeroize::Zeroize::zeroize(&mut self.{field});"
        )?;
    }
    writeln!(
        code,
        "    }}\n}}\nimpl ::zeroize::ZeroizeOnDrop for {name} {{}}"
    )
}

fn fields(message: &DescriptorProto) -> impl Iterator<Item = &str> {
    message.field.iter().map(|field| field.name())
}

fn is_secret(field: &str) -> bool {
    field.contains("password") || field.contains("secret")
}
