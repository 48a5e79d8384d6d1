//! Kubelet as a Windows program, under Wine.
//!
//! Wine 8 has neither Unix sockets nor the access control lists that kubelet sets. So kubelet is built from a copy of
//! Kubernetes' module with a few edited places: it dials tcp, and in place of a registration's socket it reads a file
//! with the address to dial. A place is given by a text that has to occur exactly once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::programs::{BUILD, linker_flags};
use crate::env::{self, Go};
use crate::wine::Prefix;
use crate::{cargo, process};

const KUBERNETES: &str = "k8s.io/kubernetes";

const SHORT: Duration = Duration::from_secs(120);

/// A place in kubelet's source, and its text for Wine.
struct Edit {
    file: &'static str,
    text: &'static str,
    instead: &'static str,
}

const EDITS: &[Edit] = &[
    Edit {
        file: "pkg/util/filesystem/util_windows.go",
        text: "func IsUnixDomainSocket(filePath string) (bool, error) {",
        instead: "func IsUnixDomainSocket(filePath string) (bool, error) {\n\
            \treturn strings.HasSuffix(filePath, \".sock\"), nil",
    },
    Edit {
        file: "pkg/util/filesystem/util_windows.go",
        text: "func Chmod(path string, filemode os.FileMode) error {",
        instead: "func Chmod(path string, filemode os.FileMode) error {\n\treturn nil",
    },
    Edit {
        file: "pkg/volume/csi/csi_client.go",
        text: "network := \"unix\"",
        instead: "network := \"tcp\"",
    },
    Edit {
        file: "pkg/kubelet/pluginmanager/operationexecutor/operation_generator.go",
        text: "\n\t\"net\"\n",
        instead: "\n\t\"net\"\n\t\"os\"\n",
    },
    Edit {
        file: "pkg/kubelet/pluginmanager/operationexecutor/operation_generator.go",
        text: "DialContext(ctx, \"unix\", addr)",
        instead: "DialContext(ctx, \"tcp\", func() string { at, _ := os.ReadFile(addr); return string(at) }())",
    },
];

/// Builds kubelet's program for Windows.
pub(super) fn build_kubelet(go: &Go) -> Result<PathBuf> {
    let copy = copy_of_kubernetes(go)?;
    let program = cargo::work_dir("cluster/bin")?.join("kubelet.exe");
    let mut command = go.command(env::GO_CLUSTER, &["build", "-trimpath", "-ldflags"]);
    command.arg(linker_flags()?);
    command.arg("-modfile").arg(write_modfile(&copy)?);
    command.arg("-o").arg(&program).arg("./kubelet");
    process::follow(command.env("GOOS", "windows"), BUILD)?.success("go build of kubelet.exe")?;
    Ok(program)
}

/// Makes the folders and registry values that kubelet expects of Windows, and its root.
pub(super) fn prepare(prefix: &Prefix, root: &Path) -> Result<()> {
    let drive_c = prefix.drive_c();
    for folder in ["var/lib", "var/log/containers"] {
        fs::create_dir_all(drive_c.join(folder)).context("make kubelet's folders")?;
    }
    symlink(root, drive_c.join(super::node::ROOT)).context("put kubelet's root on drive C")?;
    for name in [
        "CurrentMajorVersionNumber",
        "CurrentMinorVersionNumber",
        "UBR",
    ] {
        let mut reg = prefix.command(Path::new("reg"));
        reg.args(["add", r"HKLM\Software\Microsoft\Windows NT\CurrentVersion"]);
        reg.args(["/v", name, "/t", "REG_DWORD", "/d", "10", "/f"]);
        process::capture(&mut reg, SHORT)?.success("reg add")?;
    }
    Ok(())
}

/// Kubernetes' versions, with the copy in place of the module.
fn write_modfile(copy: &Path) -> Result<PathBuf> {
    let versions = env::GO_CLUSTER.path();
    let modfile = cargo::work_dir("cluster")?.join("wine.mod");
    let text = fs::read_to_string(&versions).context("read Kubernetes' versions")?;
    fs::write(
        &modfile,
        format!("{text}\nreplace {KUBERNETES} => {}\n", copy.display()),
    )?;
    fs::copy(
        versions.with_extension("sum"),
        modfile.with_extension("sum"),
    )?;
    Ok(modfile)
}

fn copy_of_kubernetes(go: &Go) -> Result<PathBuf> {
    let module = module_folder(go)?;
    let copy = cargo::work_dir("cluster")?.join("kubernetes");
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&module, &copy).with_context(|| format!("copy {}", module.display()))?;
    for Edit {
        file,
        text,
        instead,
    } in EDITS
    {
        let file = copy.join(file);
        let source = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let edited =
            replace_once(&source, text, instead).with_context(|| file.display().to_string())?;
        fs::write(&file, edited)?;
    }
    Ok(copy)
}

/// The module's folder in Go's cache; fetches a missing one.
fn module_folder(go: &Go) -> Result<PathBuf> {
    let mut fetch = go.command(env::GO_CLUSTER, &["mod", "download", KUBERNETES]);
    process::capture(&mut fetch, BUILD)?.success("go mod download")?;
    let mut list = go.command(
        env::GO_CLUSTER,
        &["list", "-m", "-f", "{{.Dir}}", KUBERNETES],
    );
    let printed = process::capture(&mut list, SHORT)?.success("go list")?;
    Ok(PathBuf::from(printed.trim()))
}

/// Copies a folder's files, to be changed: those of Go's cache may not be.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &place)?,
            false => fs::write(place, fs::read(entry.path())?)?,
        }
    }
    Ok(())
}

/// Fails unless the text occurs exactly once: otherwise the edit was made for another source.
fn replace_once(source: &str, text: &str, instead: &str) -> Result<String> {
    let found = source.matches(text).count();
    ensure!(found == 1, "{text:?} is there {found} times, not once");
    Ok(source.replacen(text, instead, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_to_be_there_exactly_once() {
        assert_eq!(replace_once("a b c", "b", "d").unwrap(), "a d c");
        let error = replace_once("a b b", "b", "d").unwrap_err().to_string();
        assert_eq!(error, "\"b\" is there 2 times, not once");
        assert!(replace_once("a c", "b", "d").is_err());
    }
}
