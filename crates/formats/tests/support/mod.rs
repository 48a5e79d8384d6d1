//! Runs the tools that write known formats, for the test and for the recorder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use wincsi_formats::blank::{Extent, SectorSize, View};
use wincsi_formats::fixtures::tools::Tool;

/// Administrators' programs are not on everybody's path.
const ADMIN_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Is the tool's program there?
pub(crate) fn installed(tool: &Tool) -> bool {
    path()
        .split(':')
        .any(|folder| Path::new(folder).join(tool.program()).is_file())
}

/// Runs the tool in `folder` and gives the file that it wrote, at least as long as the tool's row
/// says and a whole number of MiB.
pub(crate) fn run(tool: &Tool, folder: &Path) -> Result<PathBuf, String> {
    let image = folder.join("image");
    let inner = folder.join("folder");
    let describe = |what: &str, error: io::Error| format!("{}: {what}: {error}", tool.name);
    File::create(&image)
        .and_then(|file| file.set_len(tool.length))
        .and_then(|()| fs::create_dir(&inner))
        .map_err(|error| describe("cannot lay out its folder", error))?;
    let output = Command::new("sh")
        .args(["-euc", tool.command])
        .env("PATH", path())
        .env("image", &image)
        .env("folder", &inner)
        .output()
        .map_err(|error| describe("cannot start sh", error))?;
    if !output.status.success() {
        return Err(format!("{}: {output:?}", tool.name));
    }
    lengthen(&image, tool.length)
        .map_err(|error| describe("cannot lengthen what it wrote", error))?;
    Ok(image)
}

/// A scan's view of a file.
pub(crate) fn view(image: &Path) -> Result<View, String> {
    let mut file = File::open(image).map_err(|error| error.to_string())?;
    let length = file
        .seek(SeekFrom::End(0))
        .map_err(|error| error.to_string())?;
    let extent = Extent::new(length, SectorSize::B512).map_err(|error| error.to_string())?;
    View::read(extent, |offset, buffer| {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer).map(|()| buffer.len())
    })
    .map_err(|error| error.to_string())
}

fn lengthen(image: &Path, least: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(image)?;
    let length = file.metadata()?.len();
    file.set_len(length.max(least).next_multiple_of(1 << 20))
}

fn path() -> String {
    format!(
        "{}:{ADMIN_FOLDERS}",
        std::env::var("PATH").unwrap_or_default()
    )
}
