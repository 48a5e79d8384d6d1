//! Writes `groups.rs`: the modules that include prost's output, and the table of groups.

use std::fmt::{self, Write};

use prost_types::MethodDescriptorProto;

use crate::source::GroupVersion;
use crate::version::{Stage, Version};

/// The text of `groups.rs`.
pub(crate) fn write(group_versions: &[GroupVersion]) -> Result<String, fmt::Error> {
    let mut code = String::new();
    for group in group_versions.chunk_by(|one, next| one.group == next.group) {
        write_group(group, &mut code)?;
    }
    writeln!(
        code,
        "/// Every group in every version, in the order in which csi-proxy registers the groups; versions\n\
         /// ascend."
    )?;
    writeln!(code, "pub static GROUPS: &[Group] = &[")?;
    for GroupVersion { group, version, .. } in group_versions {
        writeln!(code, "    {group}::{version}::GROUP,")?;
    }
    writeln!(code, "];")?;
    Ok(code)
}

fn write_group(versions: &[GroupVersion], code: &mut String) -> fmt::Result {
    let group = versions[0].group;
    writeln!(
        code,
        "/// The {group} group, one module per version.\npub mod {group} {{"
    )?;
    for version in versions {
        write_version(version, code)?;
    }
    writeln!(code, "}}")
}

fn write_version(source: &GroupVersion, code: &mut String) -> fmt::Result {
    let GroupVersion {
        group,
        version,
        service,
        ..
    } = source;
    for line in source.comment().lines() {
        writeln!(code, "    ///{line}")?;
    }
    writeln!(
        code,
        r#"    pub mod {version} {{
        include!(concat!(env!("OUT_DIR"), "/{group}/{version}.rs"));

        /// Names of the group and its methods.
        pub const GROUP: crate::Group = crate::Group {{
            name: {group:?},
            version: {},
            package: {:?},
            service: {:?},
            methods: &["#,
        version_literal(*version),
        source.file.package(),
        service.name(),
    )?;
    for method in &service.method {
        write_method(source, method, code)?;
    }
    writeln!(
        code,
        r#"            ],
            descriptor_set: include_bytes!(concat!(env!("OUT_DIR"), "/{group}/{version}.fds")),
        }};
    }}"#
    )
}

fn write_method(
    source: &GroupVersion,
    method: &MethodDescriptorProto,
    code: &mut String,
) -> fmt::Result {
    let package = source.file.package();
    let local = |type_name: &str| type_name.rsplit('.').next().unwrap_or_default().to_owned();
    writeln!(
        code,
        "                crate::Method {{ name: {name:?}, request: {request:?}, response: {response:?}, \
         path: \"/{package}.{service}/{name}\" }},",
        name = method.name(),
        request = local(method.input_type()),
        response = local(method.output_type()),
        service = source.service.name(),
    )
}

fn version_literal(version: Version) -> String {
    let stage = match version.stage() {
        Stage::Alpha(number) => format!("Alpha({number})"),
        Stage::Beta(number) => format!("Beta({number})"),
        Stage::Stable => "Stable".to_owned(),
    };
    format!(
        "crate::Version::new({}, crate::Stage::{stage})",
        version.major()
    )
}
