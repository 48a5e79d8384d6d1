//! Invariant 1: unsafe code lives in one place and gives its reasons.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "unsafe and windows_sys stand in os-windows, its test kit and transport's pipe shim alone",
    check: |sources| {
        sources
            .iter()
            .filter(|source| is_safe_place(source))
            .flat_map(check)
            .collect()
    },
};

pub(super) const SYSTEM: Lint = Lint {
    rule: "windows-sys and windows are dependencies of os-windows, its test kit and transport alone",
    check: |sources| {
        let manifests = sources
            .iter()
            .filter(|one| one.path.ends_with("/Cargo.toml"));
        manifests.flat_map(system_crates).collect()
    },
};

pub(super) const REASON: Lint = Lint {
    rule: "a module that may be unsafe says why, in a // UNSAFETY: sentence above its attribute",
    check: |sources| {
        sources
            .iter()
            .filter(|s| s.is_rust())
            .flat_map(without_reason)
            .collect()
    },
};

const ALLOWED: [&str; 3] = [
    "crates/os-windows/",
    "crates/os-windows-testkit/",
    "crates/transport/src/sys/windows/",
];

/// The system's calls and types, none of them safe. `windows-service` is not among them: it wraps them.
const SYSTEM_CRATES: [&str; 3] = ["windows", "windows-core", "windows-sys"];

fn system_crates(manifest: &Source) -> Vec<Finding> {
    if may_depend(manifest) {
        return Vec::new();
    }
    let named = manifest.lines().filter(|line| {
        let name = line.text.split(['.', ' ', '=']).next();
        name.is_some_and(|name| SYSTEM_CRATES.contains(&name))
    });
    named
        .map(|line| Finding::new(manifest, line.number, line.text))
        .collect()
}

/// Manifests that may name the system's crates: those of allowed places.
fn may_depend(manifest: &Source) -> bool {
    let folder = manifest.path.trim_end_matches("Cargo.toml");
    ALLOWED.iter().any(|place| place.starts_with(folder))
}

fn is_safe_place(source: &Source) -> bool {
    source.is_rust() && !ALLOWED.iter().any(|place| source.path.starts_with(place))
}

fn check(source: &Source) -> Vec<Finding> {
    let lines = source.lines().filter(|line| has_keyword(line.code()));
    lines
        .map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

/// `unsafe` in code: before a block, a function, an impl or a foreign block; and the system's calls, useless without
/// it.
fn has_keyword(code: &str) -> bool {
    if code.contains(&format!("{}_sys::", "windows")) {
        return true;
    }
    let follows = [" {", " fn ", " impl", " extern", " trait", "("];
    follows
        .iter()
        .any(|follow| code.contains(&format!("{}{follow}", "unsafe")))
}

fn without_reason(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let attribute = format!("{}(unsafe_code)]", "expect");
    let bare = (0..lines.len())
        .filter(|at| lines[*at].trim_start().starts_with('#') && lines[*at].contains(&attribute))
        .filter(|at| !has_reason(&lines[..*at]));
    bare.map(|at| Finding::new(source, at + 1, lines[at].trim()))
        .collect()
}

fn has_reason(above: &[&str]) -> bool {
    let comment = above
        .iter()
        .rev()
        .take_while(|line| line.trim_start().starts_with("//"));
    comment
        .into_iter()
        .any(|line| line.contains("// UNSAFETY: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn the_keyword_is_told_from_the_word() {
        let block = format!("{} {{ x() }}\n", "unsafe");
        assert_eq!(findings(&LINT, "crates/node/src/a.rs", &block), [1]);
        assert_eq!(findings(&LINT, "crates/os-windows/src/a.rs", &block), CLEAN);
        let words = "// unsafe { }\nlet unsafe_x = 1;\n";
        assert_eq!(findings(&LINT, "crates/node/src/a.rs", words), CLEAN);
    }

    #[test]
    fn of_transport_the_pipe_shim_alone_may_call_the_system() {
        let block = format!("{} {{ x() }}\n", "unsafe");
        let import = format!("use {}_sys::core::w;\n", "windows");
        for text in [block, import] {
            let found = |path| findings(&LINT, path, &text);
            assert_eq!(found("crates/transport/src/sys/windows/pipe.rs"), CLEAN);
            assert_eq!(found("crates/transport/src/sys/unix/stream.rs"), [1]);
            assert_eq!(found("crates/transport/src/pool/mod.rs"), [1]);
            assert_eq!(found("crates/transport/tests/it.rs"), [1]);
        }
    }

    #[test]
    fn the_systems_crates_are_dependencies_of_three() {
        let manifest = "[dependencies]\nwindows-service.workspace = true\nwindows-sys = { workspace = true, features = [\n]}\nwindows.workspace = true\n";
        let found = |path| findings(&SYSTEM, path, manifest);
        assert_eq!(found("crates/proxy/Cargo.toml"), [3, 5]);
        assert_eq!(found("crates/proxy/fuzz/Cargo.toml"), [3, 5]);
        assert_eq!(found("crates/transport/fuzz/Cargo.toml"), [3, 5]);
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
        assert_eq!(
            findings(&REASON, "a.rs", &format!("// UNSAFETY: far\n\n{attribute}")),
            [3]
        );
    }
}
