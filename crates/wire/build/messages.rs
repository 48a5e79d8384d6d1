//! Runs prost, and adds a marker type for each RPC.

use std::error::Error;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use prost::Message;
use prost_build::{Config, Method, Service, ServiceGenerator};
use prost_types::{DescriptorProto, FileDescriptorSet};

use crate::source::GroupVersion;
use crate::{names, secrets};

/// Writes `<version>.rs` and the descriptors, `<version>.fds`, into `directory`.
pub(crate) fn write(group_version: &GroupVersion, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let descriptors = group_version.descriptor_set().encode_to_vec();
    fs::write(
        directory.join(format!("{}.fds", group_version.version)),
        descriptors,
    )?;

    let file = names::rust_file(&group_version.file);
    let secret: Vec<_> = secrets::messages(&file).collect();
    Config::new()
        .btree_map(["."])
        .skip_debug(secrets::paths(&file, &secret))
        .service_generator(Box::new(Companions { secret }))
        .out_dir(directory)
        .compile_fds(FileDescriptorSet { file: vec![file] })?;
    Ok(())
}

/// Writes the code beside the messages of one file.
struct Companions {
    /// Messages with a secret.
    secret: Vec<DescriptorProto>,
}

impl ServiceGenerator for Companions {
    fn generate(&mut self, service: Service, code: &mut String) {
        write_rpc_module(&service, &self.secret, code).expect("writing to a String does not fail");
        for message in &self.secret {
            secrets::write_impls(message, code).expect("writing to a String does not fail");
        }
    }
}

fn write_rpc_module(
    service: &Service,
    secret: &[DescriptorProto],
    code: &mut String,
) -> fmt::Result {
    service.comments.append_with_indent(0, code);
    writeln!(code, "pub mod rpc {{")?;
    writeln!(code, "    use super::GROUP;")?;
    write_rpcs(service, secret, code)?;
    writeln!(code, "}}")
}

/// Writes a type for each RPC of a service; its names are the constant `GROUP` in scope.
pub(crate) fn write_rpcs(
    service: &Service,
    secret: &[DescriptorProto],
    code: &mut String,
) -> fmt::Result {
    for (index, method) in service.methods.iter().enumerate() {
        method.comments.append_with_indent(1, code);
        let request = secret.iter().find(|one| one.name() == method.input_type);
        write_rpc(index, method, request, code)?;
    }
    Ok(())
}

fn write_rpc(
    index: usize,
    method: &Method,
    secret: Option<&DescriptorProto>,
    code: &mut String,
) -> fmt::Result {
    let Method {
        input_type,
        output_type,
        proto_name,
        ..
    } = method;
    let name = names::type_name(proto_name);
    writeln!(
        code,
        "    #[derive(Clone, Copy, Debug)]
    pub struct {name};
    impl crate::Rpc for {name} {{
        const GROUP: &'static crate::Group = &GROUP;
        const METHOD: &'static crate::Method = &GROUP.methods[{index}];
        type Request = super::{input_type};
        type Response = super::{output_type};"
    )?;
    if let Some(request) = secret {
        secrets::write_list(request, code)?;
    }
    writeln!(code, "    }}")
}
