//! docs/guide.md: its files are this package's, and its commands run in order.
//!
//! This package is built and tested on Linux and under Wine anyway. A reader's project would be compiled again, with
//! all of wincsi, for each.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proxy::flags::{self, Invocation};
use proxy::serve::{self, RunningServer};
use tempfile::TempDir;

const PAGE: &str = include_str!("../../../../docs/guide.md");
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
const PROJECT: &str = "first-driver";

/// The page's blocks, each with its label: `rust src/lib.rs`, or `console`.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    let blocks = PAGE.split("\n```").skip(1).step_by(2);
    blocks.map(|block| block.split_once('\n').unwrap())
}

/// The commands of a block, each with its output, if the page has it.
fn steps(block: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let steps = block.strip_prefix("$ ").unwrap().split("\n$ ");
    steps.map(|step| step.split_once('\n').unwrap_or((step, "")))
}

/// The page's files by name. Blocks of Rust have a blank line between them.
fn files() -> BTreeMap<&'static str, String> {
    let mut files = BTreeMap::<_, String>::new();
    for (label, block) in blocks() {
        match label.split_once(' ') {
            Some(("console", _)) | None => {}
            Some((language, file)) => {
                let text = files.entry(file).or_default();
                if language == "rust" && !text.is_empty() {
                    *text += "\n";
                }
                *text += &format!("{block}\n");
            }
        }
    }
    files
}

/// The reader's folder: outside the checkout, or cargo would take its project for a part of the workspace.
struct Reader {
    home: TempDir,
    /// Ended with the reader.
    servers: Vec<RunningServer>,
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let checkout = Path::new(PACKAGE).join("../..");
        std::os::unix::fs::symlink(checkout, home.path().join("wincsi")).unwrap();
        let servers = Vec::new();
        Self { home, servers }
    }

    fn project(&self) -> PathBuf {
        self.home.path().join(PROJECT)
    }

    fn take(&mut self, label: &str, command: &str, output: &str) {
        match (label, command.split_once(" -- ")) {
            ("console", Some(("cargo run --quiet", arguments))) => {
                let program = env!("CARGO_BIN_EXE_first-driver");
                let printed = self.shell(&self.project(), &format!("{program} {arguments}"));
                assert_eq!(printed.trim_end(), output, "{command}");
            }
            // The page's tests are this program's.
            ("console", _) if command == "cargo test" => {}
            ("console", _) if command.starts_with("cargo new ") => {
                self.shell(self.home.path(), command);
                self.write_files(&self.project());
                self.resolve();
            }
            ("console server", _) => self.serve(command),
            ("console wine", _) => self.test_under_wine(command),
            _ => panic!("what does {command:?} of {label:?} do?"),
        }
    }

    /// With wincsi's own versions of what it depends on.
    fn write_files(&self, project: &Path) {
        for (file, text) in files() {
            let file = project.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let lock = Path::new(PACKAGE).join("../../Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).unwrap();
    }

    /// The page's manifest needs what this package's does: the checkout's wincsi, with these features.
    fn resolve(&self) {
        let tree = "cargo tree --edges normal,dev --depth 1 --prefix none --format '{p} {f}'";
        let tree = self.shell(&self.project(), tree);
        let mut needed: Vec<_> = tree.lines().skip(1).map(str::trim).collect();
        needed.sort_unstable();
        let [tempfile, wincsi] = needed[..] else {
            panic!("{tree}");
        };
        assert!(tempfile.starts_with("tempfile v3."), "{tree}");
        let (version, features) = wincsi.split_once(" (").unwrap();
        assert!(version.starts_with("wincsi v"), "{tree}");
        assert!(
            features.ends_with("/wincsi/crates/wincsi) pipes,simulated"),
            "{tree}"
        );
        let ours = r#"wincsi = { workspace = true, features = ["pipes", "simulated"] }"#;
        assert!(include_str!("../../Cargo.toml").contains(ours));
    }

    /// Obeys the command line of csi-proxy in this process.
    fn serve(&mut self, command: &str) {
        let arguments = command.strip_prefix("csi-proxy ").unwrap();
        let arguments = arguments.split(' ').map(str::to_owned);
        let Ok(Invocation::Serve(mut config)) = flags::parse(arguments) else {
            panic!("{command}");
        };
        let project = self.project();
        config.listen = project.join(&config.listen);
        config.simulate = config.simulate.map(|node| project.join(node));
        self.servers.push(serve::start(&config).unwrap());
    }

    /// A new library with the page's configuration takes the same way to Wine as the page's project.
    fn test_under_wine(&self, command: &str) {
        self.shell(self.home.path(), "cargo new --quiet --lib other");
        let other = self.home.path().join("other");
        let configuration = other.join(".cargo");
        fs::rename(self.project().join(".cargo"), configuration).unwrap();
        let printed = self.shell(&other, command);
        assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
    }

    fn shell(&self, folder: &Path, command: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder);
        // The checkout's: it has the runner for Wine already.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
        shell.env("CARGO_TARGET_DIR", target);
        shell.env("CARGO_NET_OFFLINE", "true");
        let ran = shell.output().unwrap();
        let [printed, complained] =
            [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(ran.status.success(), "{command}: {printed}{complained}");
        printed
    }
}

#[test]
fn the_files_of_the_guide_are_this_packages() {
    let files = files();
    let sources = files.iter().filter(|(file, _)| file.ends_with(".rs"));
    let mut compared = Vec::new();
    for (file, page) in sources {
        let ours = fs::read_to_string(Path::new(PACKAGE).join(file)).unwrap();
        let differing = page
            .lines()
            .zip(ours.lines())
            .find(|(page, ours)| page != ours);
        assert!(*page == ours, "{file} differs: {differing:?}");
        compared.push(*file);
    }
    assert_eq!(compared, ["src/lib.rs", "src/main.rs", "tests/stage.rs"]);
}

#[test]
fn each_command_of_the_guide_does_what_the_page_says() {
    let mut reader = Reader::new();
    let mut ran = Vec::new();
    for (label, block) in blocks().filter(|(label, _)| label.starts_with("console")) {
        for (command, output) in steps(block) {
            reader.take(label, command, output);
        }
        ran.push(label);
    }
    let [plain, server, wine] = ["console", "console server", "console wine"];
    assert_eq!(ran, [plain, plain, plain, server, plain, wine]);
}

/// A misspelt name must not act on the machine itself.
#[test]
fn a_node_of_an_unknown_name_is_refused() {
    for name in ["simulate:node", "Native", "native:node", "pipes:node", ""] {
        let mut driver = Command::new(env!("CARGO_BIN_EXE_first-driver"));
        let ran = driver
            .args([name, "unstage", "disk", r"C:\staging"])
            .output();
        let ran = ran.unwrap();
        let complained = String::from_utf8(ran.stderr).unwrap();
        let choices = "simulated:FOLDER, sockets:FOLDER, pipes or native";
        assert!(
            !ran.status.success() && complained.contains(choices),
            "{name}: {complained}"
        );
    }
}
