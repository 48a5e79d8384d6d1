//! Writes the page of executed operations to the named file, for `cargo xtask docs`; without a file, prints the full
//! report.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    match env::args_os().nth(1) {
        Some(path) => fs::write(path, wincsi_fidelity::page()),
        None => {
            print!("{}", wincsi_fidelity::full_report());
            Ok(())
        }
    }
}
