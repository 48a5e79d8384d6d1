//! The macros of the table.

/// Declares constants and a list of all of them: a row cannot be named without being listed.
macro_rules! rows {
    ($list:ident: $row:ty { $( $(#[$doc:meta])* $name:ident = $value:expr; )* }) => {
        $( $(#[$doc])* pub const $name: $row = $value; )*
        pub const $list: &[$row] = &[ $($name),* ];
    };
}

/// A file of the PowerShell modules that ship with Windows, in a public copy of them.
macro_rules! module_file {
    ($path:literal) => {
        $crate::schema::model::Source::Module(concat!(
            "https://github.com/visualblind/Scripts-collection/blob/",
            "c722e41ee7d4c65614e31ddca28d1cd14fa8d877/wintel/powershell/Modules/",
            $path
        ))
    };
}
