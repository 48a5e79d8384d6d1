//! Writes the page of flags to the file that is named, for `cargo xtask docs`.

use std::{env, fs, io};

use wincsi_controller::flags;

fn main() -> io::Result<()> {
    let path = env::args_os()
        .nth(1)
        .ok_or_else(|| io::Error::other("name the file to write"))?;
    fs::write(path, flags::page())
}
