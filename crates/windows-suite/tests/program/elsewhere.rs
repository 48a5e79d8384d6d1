/// What the program says of Linux.
pub(crate) const WHY_NOT: &str = "this is no Windows";
