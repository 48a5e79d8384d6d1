//! Writes `groups.rs`: the modules with prost's output, and the table of groups.

use std::fmt::{self, Write};

use prost_build::Method;
use prost_types::MethodDescriptorProto;

use crate::source::GroupVersion;
use crate::version::{Stability, Version};

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
"#
    )?;
    let names = Names {
        group,
        version: *version,
        package: source.file.package(),
        service: service.name(),
    };
    names.write(service.method.iter().map(Row::of_descriptor), code)?;
    writeln!(code, "    }}")
}

/// The names of a service.
pub(crate) struct Names<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: Version,
    pub(crate) package: &'a str,
    pub(crate) service: &'a str,
}

/// The names of an RPC, its request and its response.
pub(crate) struct Row<'a> {
    name: &'a str,
    request: &'a str,
    response: &'a str,
}

impl Names<'_> {
    /// Writes the constant `GROUP`.
    pub(crate) fn write<'a>(
        &self,
        rows: impl Iterator<Item = Row<'a>>,
        code: &mut String,
    ) -> fmt::Result {
        let Self {
            group,
            version,
            package,
            service,
        } = self;
        writeln!(
            code,
            "/// Names of the service and its methods.
pub const GROUP: crate::Group = crate::Group {{
    name: {group:?},
    version: {},
    package: {package:?},
    service: {service:?},
    methods: &[",
            version_literal(*version),
        )?;
        for row in rows {
            row.write(self, code)?;
        }
        writeln!(
            code,
            r#"    ],
    descriptor_set: include_bytes!(concat!(env!("OUT_DIR"), "/{group}/{version}.fds")),
}};"#
        )
    }
}

impl<'a> Row<'a> {
    pub(crate) fn of_descriptor(method: &'a MethodDescriptorProto) -> Self {
        Self {
            name: method.name(),
            request: local(method.input_type()),
            response: local(method.output_type()),
        }
    }

    pub(crate) fn of_method(method: &'a Method) -> Self {
        Self {
            name: &method.proto_name,
            request: local(&method.input_proto_type),
            response: local(&method.output_proto_type),
        }
    }

    fn write(&self, names: &Names<'_>, code: &mut String) -> fmt::Result {
        let Self {
            name,
            request,
            response,
        } = self;
        writeln!(
            code,
            "        crate::Method {{ name: {name:?}, request: {request:?}, response: {response:?}, \
             path: \"/{}.{}/{name}\" }},",
            names.package, names.service,
        )
    }
}

/// `.v1.DiskLocation` to `DiskLocation`.
fn local(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or_default()
}

fn version_literal(version: Version) -> String {
    let stability = match version.stability() {
        Stability::Alpha(number) => format!("Alpha({number})"),
        Stability::Beta(number) => format!("Beta({number})"),
        Stability::Stable => "Stable".to_owned(),
    };
    format!(
        "crate::Version::new({}, crate::Stability::{stability})",
        version.major()
    )
}
