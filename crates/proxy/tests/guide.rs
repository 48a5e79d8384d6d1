//! docs/guide.md, followed as a reader would: its project is made of its blocks, and its commands run in order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
// The commands are for a shell of Linux; one of them runs the project's tests under Wine.
#![cfg(not(windows))]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use tempfile::TempDir;

const PAGE: &str = include_str!("../../../docs/guide.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PROJECT: &str = "first-driver";

/// A block of the page: `rust src/lib.rs`, or `console`.
struct Block {
    label: &'static str,
    lines: Vec<&'static str>,
}

/// A command, and its output if the page has it.
struct Step {
    command: &'static str,
    output: Vec<&'static str>,
}

/// The reader's folder: outside the checkout, or cargo would take its project for a part of the workspace.
struct Reader {
    home: TempDir,
    /// The workspace's: it has most of the project's dependencies already.
    target: PathBuf,
    /// Ended with the reader.
    servers: Vec<Child>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(ROOT, home.path().join("wincsi")).unwrap();
        Self {
            home,
            target: Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."),
            servers: Vec::new(),
        }
    }

    /// Writes the files of the page once cargo has made the project, with wincsi's own versions.
    fn write(&self, blocks: &[Block]) {
        let mut files = BTreeMap::<_, String>::new();
        for block in blocks {
            if let Some((_, file)) = block.label.split_once(' ').filter(|_| !block.is_console()) {
                let text = files.entry(file).or_default();
                *text += &format!("{}\n", block.lines.join("\n"));
            }
        }
        let project = self.home.path().join(PROJECT);
        for (file, text) in files {
            let file = project.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let lock = Path::new(ROOT).join("Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).unwrap();
    }

    fn shell(&self, command: &str) -> Command {
        let project = self.home.path().join(PROJECT);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(if project.exists() {
                &project
            } else {
                self.home.path()
            })
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("PATH", path_with_csi_proxy());
        shell
    }

    fn run(&self, step: &Step) {
        let ran = self.shell(step.command).output().unwrap();
        let (printed, complained) = (text(&ran.stdout), text(&ran.stderr));
        assert!(
            ran.status.success(),
            "{}: {printed}{complained}",
            step.command
        );
        if !step.output.is_empty() {
            let printed: Vec<_> = printed.lines().collect();
            assert_eq!(printed, step.output, "{}", step.command);
        }
        if step.command.contains(" test") {
            let tests = PAGE.matches("#[test]").count();
            let passed = format!("test result: ok. {tests} passed");
            assert!(printed.contains(&passed), "{printed}{complained}");
        }
    }

    /// Starts a server command, and waits until it serves.
    fn serve(&mut self, step: &Step) {
        let mut shell = self.shell(&format!("exec {}", step.command));
        let mut server = shell.stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(server.stderr.take().unwrap());
        self.servers.push(server);
        let mut lines = log.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("serving ")), "it ended");
    }
}

impl Block {
    fn is_console(&self) -> bool {
        self.label.starts_with("console")
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::<Step>::new();
        for line in &self.lines {
            match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step {
                    command,
                    output: Vec::new(),
                }),
                None => steps.last_mut().unwrap().output.push(line),
            }
        }
        steps
    }
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::<Block>::new();
    let mut is_inside = false;
    for line in PAGE.lines() {
        match (line.strip_prefix("```"), is_inside) {
            (Some(label), false) => {
                let lines = Vec::new();
                blocks.push(Block { label, lines });
                is_inside = true;
            }
            (Some(_), true) => is_inside = false,
            (None, true) => blocks.last_mut().unwrap().lines.push(line),
            (None, false) => {}
        }
    }
    blocks
}

/// With the program of this package, as after an installation.
fn path_with_csi_proxy() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_csi-proxy"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_owned).into_iter();
    env::join_paths(folders.chain(env::split_paths(&path))).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_command_of_the_guide_does_what_the_page_says() {
    let blocks = blocks();
    let mut reader = Reader::new();
    let consoles = blocks.iter().filter(|block| block.is_console());
    for (number, block) in consoles.enumerate() {
        for step in block.steps() {
            match block.label {
                "console server" => reader.serve(&step),
                _ => reader.run(&step),
            }
        }
        if number == 0 {
            reader.write(&blocks);
        }
    }
}

#[test]
fn the_guide_has_the_table_of_features() {
    assert!(PAGE.contains(&node::api::feature_table()));
}
