//! The interfaces of CSI plugins, and wincsi's own: one .proto file each, with several services in one package.

use std::error::Error;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use prost::Message;
use prost_build::{Config, Service, ServiceGenerator};
use prost_types::{DescriptorProto, FileDescriptorProto, ServiceDescriptorProto};
use protox::Compiler;

use crate::messages::write_rpcs;
use crate::table::{Names, Row};
use crate::version::{Stability, Version};
use crate::{names, secrets};

/// The interfaces: the module, also the folder of `v1.proto`, and its documentation.
const INTERFACES: [(&str, &str); 3] = [
    (
        "csi",
        "The Container Storage Interface, specification 1.13.0: what Kubernetes calls a driver by.",
    ),
    (
        "pluginregistration",
        "How kubelet gets to know a plugin of the node.",
    ),
    (
        "lifecycle",
        "How a command on the node ends a running driver in order: wincsi's own.",
    ),
];

/// Writes the code of each interface into `out`, and `interfaces.rs` to include it.
pub(crate) fn write_all(root: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut code = String::new();
    for (name, documentation) in INTERFACES {
        let file = write(name, root, &out.join(name))?;
        write_module(name, documentation, &file, &mut code)?;
    }
    fs::write(out.join("interfaces.rs"), code)?;
    Ok(())
}

fn write(
    name: &'static str,
    root: &Path,
    out: &Path,
) -> Result<FileDescriptorProto, Box<dyn Error>> {
    fs::create_dir_all(out)?;
    let mut set = Compiler::new([root])?
        .include_source_info(true)
        .include_imports(true)
        .open_file(format!("{name}/v1.proto"))?
        .file_descriptor_set();
    let file = set.file.last().cloned().ok_or("an empty descriptor set")?;
    let secret: Vec<_> = secrets::messages(&file).collect();
    Config::new()
        .btree_map(["."])
        .skip_debug(secrets::paths(&file, &secret))
        .service_generator(Box::new(Services { name, secret }))
        .out_dir(out)
        .compile_fds(set.clone())?;
    for file in &mut set.file {
        file.source_code_info = None;
    }
    fs::write(out.join("v1.fds"), set.encode_to_vec())?;
    Ok(file)
}

fn write_module(
    name: &str,
    documentation: &str,
    file: &FileDescriptorProto,
    code: &mut String,
) -> fmt::Result {
    let package = file.package();
    let services: String = unary_services(file)
        .map(|service| format!("{}::GROUP, ", names::module(service.name())))
        .collect();
    writeln!(
        code,
        r#"/// {documentation}
pub mod {name} {{
    /// Version 1. The interface's own documentation says what each message and field means.
    #[allow(missing_docs, reason = "an interface that is documented where it comes from")]
    pub mod v1 {{
        include!(concat!(env!("OUT_DIR"), "/{name}/{package}.rs"));

        /// The services whose RPCs are unary.
        pub static SERVICES: &[crate::Group] = &[{services}];
    }}
}}"#
    )
}

/// Writes, for each service, a module with its names and a type per RPC.
struct Services {
    name: &'static str,
    /// Messages that hold a secret.
    secret: Vec<DescriptorProto>,
}

impl ServiceGenerator for Services {
    fn generate(&mut self, service: Service, code: &mut String) {
        let streams =
            |method: &prost_build::Method| method.client_streaming || method.server_streaming;
        if !service.methods.iter().any(streams) {
            self.write_service(&service, code)
                .expect("writing to a String does not fail");
        }
    }

    fn finalize_package(&mut self, _package: &str, code: &mut String) {
        for message in &self.secret {
            secrets::write_impls(message, code).expect("writing to a String does not fail");
        }
    }
}

impl Services {
    fn write_service(&self, service: &Service, code: &mut String) -> fmt::Result {
        service.comments.append_with_indent(0, code);
        writeln!(code, "pub mod {} {{", names::module(&service.proto_name))?;
        let names = Names {
            group: self.name,
            version: Version::new(1, Stability::Stable),
            package: &service.package,
            service: &service.proto_name,
        };
        names.write(service.methods.iter().map(Row::of_method), code)?;
        write_rpcs(service, &self.secret, code)?;
        writeln!(code, "}}")
    }
}

fn unary_services(file: &FileDescriptorProto) -> impl Iterator<Item = &ServiceDescriptorProto> {
    file.service.iter().filter(|service| {
        let mut methods = service.method.iter();
        !methods.any(|method| method.client_streaming() || method.server_streaming())
    })
}
