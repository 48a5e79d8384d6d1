//! Invariant 1: unsafe code lives in one place and gives its reasons.

use super::{Finding, Lint, Rule, Source};

pub(super) const LINTS: [&Lint; 3] = [&CODE, &SYSTEM, &REASON];

const CODE: Lint = Lint {
    name: "unsafe and windows_sys stand in os-windows, its test kit, conformance's real and transport's pipe shim alone",
    rule: Rule::Lines {
        of: |source| {
            source.is_rust() && !ALLOWED.iter().any(|place| source.path.starts_with(place))
        },
        breaks: |line| has_keyword(line.code()),
    },
};

const SYSTEM: Lint = Lint {
    name: "windows-sys and windows are dependencies of os-windows, its test kit, conformance and transport alone",
    rule: Rule::Lines {
        of: |source| source.path.ends_with("/Cargo.toml") && !may_depend(source),
        breaks: |line| {
            let name = line.text.split(['.', ' ', '=']).next();
            name.is_some_and(|name| SYSTEM_CRATES.contains(&name))
        },
    },
};

const REASON: Lint = Lint {
    name: "a module that may be unsafe says why, in a // UNSAFETY: sentence above its attribute",
    rule: Rule::Files(|sources| {
        let rust = sources.iter().filter(|source| source.is_rust());
        rust.flat_map(without_reason).collect()
    }),
};

const ALLOWED: [&str; 4] = [
    "crates/conformance/src/real/",
    "crates/os-windows/",
    "crates/os-windows-testkit/",
    "crates/transport/src/sys/windows/",
];

/// The system's calls and types, none of them safe. `windows-service` is not among them: it wraps them.
const SYSTEM_CRATES: [&str; 3] = ["windows", "windows-core", "windows-sys"];

/// Manifests that may name the system's crates: those of allowed places.
fn may_depend(manifest: &Source) -> bool {
    let folder = manifest.path.trim_end_matches("Cargo.toml");
    ALLOWED.iter().any(|place| place.starts_with(folder))
}

/// `unsafe` in code: before a block, a function, an impl or a foreign block; and the system's calls, useless without
/// it.
fn has_keyword(code: &str) -> bool {
    let follows = [" {", " fn ", " impl", " extern", " trait", "("];
    let mut keywords = follows.iter().map(|follow| format!("{}{follow}", "unsafe"));
    code.contains(concat!("windows", "_sys::")) || keywords.any(|word| code.contains(&word))
}

fn without_reason(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let attribute = concat!("expect", "(unsafe_code)]");
    let bare = (0..lines.len())
        .filter(|at| lines[*at].trim_start().starts_with('#') && lines[*at].contains(attribute))
        .filter(|at| !has_reason(&lines[..*at]));
    bare.map(|at| Finding::new(source, at + 1, lines[at].trim()))
        .collect()
}

fn has_reason(above: &[&str]) -> bool {
    let lines = above.iter().rev();
    let mut comment = lines.take_while(|line| line.trim_start().starts_with("//"));
    comment.any(|line| line.contains("// UNSAFETY: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn the_keyword_is_told_from_the_word() {
        let block = format!("{} {{ x() }}\n", "unsafe");
        assert_eq!(findings(&CODE, "crates/node/src/a.rs", &block), [1]);
        assert_eq!(findings(&CODE, "crates/os-windows/src/a.rs", &block), CLEAN);
        let words = "// unsafe { }\nlet unsafe_x = 1;\n";
        assert_eq!(findings(&CODE, "crates/node/src/a.rs", words), CLEAN);
    }

    #[test]
    fn of_transport_the_pipe_shim_alone_may_call_the_system() {
        let block = format!("{} {{ x() }}\n", "unsafe");
        let import = format!("use {}_sys::core::w;\n", "windows");
        for text in [block, import] {
            let found = |path| findings(&CODE, path, &text);
            assert_eq!(found("crates/transport/src/sys/windows/pipe.rs"), CLEAN);
            assert_eq!(found("crates/transport/src/sys/unix/stream.rs"), [1]);
            assert_eq!(found("crates/transport/tests/it.rs"), [1]);
        }
    }

    #[test]
    fn the_systems_crates_are_dependencies_of_four() {
        let manifest = "[dependencies]\nwindows-service.workspace = true\nwindows-sys = { workspace = true, features = [\n]}\nwindows.workspace = true\n";
        let found = |path| findings(&SYSTEM, path, manifest);
        assert_eq!(found("crates/proxy/Cargo.toml"), [3, 5]);
        assert_eq!(found("crates/transport/fuzz/Cargo.toml"), [3, 5]);
        assert_eq!(found("crates/conformance/Cargo.toml"), CLEAN);
        assert_eq!(found("crates/os-windows/Cargo.toml"), CLEAN);
        assert_eq!(found("crates/os-windows-testkit/Cargo.toml"), CLEAN);
        assert_eq!(found("crates/transport/Cargo.toml"), CLEAN);
        // The workspace's own names the versions.
        assert_eq!(found("Cargo.toml"), CLEAN);
    }

    #[test]
    fn the_reason_stands_right_above() {
        let attribute = format!("#![{}(unsafe_code)]\n", "expect");
        let good = format!("// UNSAFETY: calls Win32,\n// which is C.\n{attribute}");
        assert_eq!(findings(&REASON, "a.rs", &good), CLEAN);
        assert_eq!(findings(&REASON, "a.rs", &attribute), [1]);
        let far = format!("// UNSAFETY: far\n\n{attribute}");
        assert_eq!(findings(&REASON, "a.rs", &far), [3]);
    }
}
