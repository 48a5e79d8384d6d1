//! Programs by name.

use std::env;
use std::path::{Path, PathBuf};

/// Debian's folders of programs that an ordinary user's PATH may lack.
const MORE: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/lib/wine"];

/// Finds a program on PATH and in Debian's folders beside it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = MORE.iter().map(PathBuf::from);
    env::split_paths(&path)
        .chain(more)
        .map(|dir| dir.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_a_stranger_is_not() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program-at-all"), None);
    }
}
