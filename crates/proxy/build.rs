//! How the program is linked.

use std::env;

/// `LOAD_LIBRARY_SEARCH_SYSTEM32` for the exe's imported libraries: the loader searches System32 and not the exe's
/// folder, from Windows 10 1607 and Server 2016 on
/// (<https://learn.microsoft.com/cpp/build/reference/dependentloadflag>). It is here and not in `.cargo/config.toml`,
/// so a build of the crate elsewhere has it too. The linker of the gnu toolchain has no such option.
const SYSTEM32_ONLY: &str = "/DEPENDENTLOADFLAG:0x800";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|toolchain| toolchain == "msvc") {
        println!("cargo::rustc-link-arg-bins={SYSTEM32_ONLY}");
    }
}
