//! Writes the page of what was executed where to the file that is named, for `cargo xtask docs`; without a file, prints
//! all that it sums up.

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
