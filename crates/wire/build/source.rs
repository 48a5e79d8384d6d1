//! Finds and compiles the .proto files.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use prost_types::{FileDescriptorProto, FileDescriptorSet, ServiceDescriptorProto};
use protox::Compiler;

use crate::version::Version;

/// The groups in csi-proxy's order of registration.
const GROUPS: [&str; 6] = ["filesystem", "disk", "volume", "smb", "system", "iscsi"];

/// Field number of `package` in FileDescriptorProto: the path of its comment.
const PACKAGE_PATH: [i32; 1] = [2];

/// One compiled .proto file.
pub(crate) struct GroupVersion {
    pub(crate) group: &'static str,
    pub(crate) version: Version,
    /// As written in the file, comments included.
    pub(crate) file: FileDescriptorProto,
    /// The file's only service.
    pub(crate) service: ServiceDescriptorProto,
}

impl GroupVersion {
    fn compile(root: &Path, group: &'static str, version: Version) -> Result<Self, Box<dyn Error>> {
        let name = format!("{group}/{version}.proto");
        let set = Compiler::new([root])?
            .include_source_info(true)
            .open_file(&name)?
            .file_descriptor_set();
        let [file] = <[_; 1]>::try_from(set.file).map_err(|_| format!("{name} has imports"))?;
        let [service] = <[_; 1]>::try_from(file.service.clone())
            .map_err(|_| format!("{name} must have one service"))?;
        if file.package() != version.to_string() {
            return Err(format!("the package of {name} must be {version}").into());
        }
        Ok(Self {
            group,
            version,
            file,
            service,
        })
    }

    /// The comment on the package statement: what is special about this version.
    pub(crate) fn comment(&self) -> &str {
        let locations = self
            .file
            .source_code_info
            .iter()
            .flat_map(|info| &info.location);
        locations
            .filter(|location| location.path == PACKAGE_PATH)
            .map(|location| location.leading_comments())
            .next()
            .unwrap_or_default()
    }

    /// The descriptors without comments, as reflection wants them.
    pub(crate) fn descriptor_set(&self) -> FileDescriptorSet {
        let mut file = self.file.clone();
        file.source_code_info = None;
        FileDescriptorSet { file: vec![file] }
    }
}

/// Compiles every `<group>/<version>.proto` below `root`: groups in registration order, versions
/// ascending.
pub(crate) fn compile_all(root: &Path) -> Result<Vec<GroupVersion>, Box<dyn Error>> {
    let found = file_names(root)?;
    if found != GROUPS.map(String::from).into() {
        return Err(format!(
            "{} must hold the groups {GROUPS:?}: {found:?}",
            root.display()
        )
        .into());
    }
    let mut compiled = Vec::new();
    for group in GROUPS {
        for version in versions(&root.join(group))? {
            compiled.push(GroupVersion::compile(root, group, version)?);
        }
    }
    Ok(compiled)
}

fn versions(group: &Path) -> Result<BTreeSet<Version>, Box<dyn Error>> {
    let mut versions = BTreeSet::new();
    for name in file_names(group)? {
        let version = name.strip_suffix(".proto").unwrap_or(&name).parse();
        versions.insert(version.map_err(|error| format!("{}: {error}", group.display()))?);
    }
    Ok(versions)
}

fn file_names(directory: &Path) -> std::io::Result<BTreeSet<String>> {
    fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}
