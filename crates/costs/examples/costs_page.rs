//! Prints what each call costs, or writes the tables of costs into the page that is named, for `cargo xtask docs`.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    let Some(path) = env::args_os().nth(1) else {
        print!("{}", wincsi_costs::calls());
        return Ok(());
    };
    let page = fs::read_to_string(&path)?.replace("\r\n", "\n");
    let page = wincsi_costs::with_tables(&page);
    fs::write(
        path,
        page.ok_or_else(|| io::Error::other("the page has no marks"))?,
    )
}
