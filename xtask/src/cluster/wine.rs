//! Kubelet as a Windows program, under Wine.
//!
//! Wine 8 has neither Unix sockets nor the access control lists that kubelet sets. So kubelet dials tcp, and in place of a
//! registration's socket it reads a file with the address to dial.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::kubelet::Edit;
use crate::process;
use crate::wine::Prefix;

const SHORT: Duration = Duration::from_secs(120);

pub(super) const EDITS: &[Edit] = &[
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

/// Makes the folders and registry values that kubelet expects of Windows, and its root.
pub(super) fn prepare(prefix: &Prefix, root: &Path) -> Result<()> {
    let drive_c = prefix.drive_c();
    for folder in ["var/lib", "var/log/containers"] {
        fs::create_dir_all(drive_c.join(folder)).context("make kubelet's folders")?;
    }
    let place = drive_c.join(super::node::ROOT);
    // That of a node before this one.
    let _ = fs::remove_file(&place);
    symlink(root, place).context("put kubelet's root on drive C")?;
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
