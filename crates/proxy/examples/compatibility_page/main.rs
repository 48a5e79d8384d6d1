//! Writes the page of compatibility to the named file, for `cargo xtask docs`.

mod drivers;
mod page;

use std::{env, fs, io};

fn main() -> io::Result<()> {
    let path = env::args_os()
        .nth(1)
        .ok_or_else(|| io::Error::other("name the file to write"))?;
    let page = page::page().map_err(io::Error::other)?;
    fs::write(path, page)
}
