//! The program's imports from the system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use object::read::pe::{ImageOptionalHeader as _, Import, PeFile64};
use object::{LittleEndian as LE, pe};

/// The libraries that may be loaded with the program, each part of every Windows since Server 2019. Other files in its
/// folder are never read.
///
/// user32.dll and gdi32.dll are left out for a reason of their own: with these a program counts as one with windows,
/// and its console handler gets no shutdown event (says the documentation of SetConsoleCtrlHandler). COM's libraries
/// load them all the same; `os_windows`'s module `console` describes the result.
const LIBRARIES: &[&str] = &[
    "advapi32.dll",
    "bcryptprimitives.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "ole32.dll",
    "oleaut32.dll",
    "setupapi.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// Imports of unused code in the crate `windows`: without link-time optimisation it is linked all the same.
const OF_UNUSED_CODE: &[&str] = &["combase.dll", "propsys.dll", "rpcrt4.dll"];

/// Libraries of compilers, by the beginnings of the names: a clean server and the base images of containers have none.
const OF_COMPILERS: &[&str] = &[
    "concrt",
    "libgcc",
    "libstdc++",
    "libwinpthread",
    "msvcp",
    "vcruntime",
];

/// The C library that Microsoft's compiler links to, part of every Windows since Server 2016. With
/// `.cargo/config.toml`, the exe of that toolchain contains its own; other toolchains link to others.
const C_LIBRARY: &[&str] = &["api-ms-win-crt-", "ucrtbase"];

/// Forwarders to the system's own libraries, by the beginning of their names.
const API_SETS: &str = "api-ms-win-";

/// Functions that start a process, by the beginnings of their names.
const STARTERS: &[&str] = &[
    "CreateProcess",
    "ShellExecute",
    "WinExec",
    "LoadModule",
    "NtCreateProcess",
    "NtCreateUserProcess",
    "RtlCreateUserProcess",
    "ZwCreate",
    "_exec",
    "_spawn",
    "_wexec",
    "_wspawn",
    "_popen",
    "_wpopen",
    "system",
    "_wsystem",
];

/// Starters of the standard library: without stripping, `std::process::Command` is linked with the rest of it. Our own
/// code does not use it, as `cargo xtask tidy` checks.
const OF_STD: &[&str] = &["CreateProcessW"];

#[test]
fn only_the_systems_libraries_are_loaded() {
    let imports = imports();
    let foreign: Vec<_> = imports.keys().filter(|name| !is_expected(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    // Show that imports are read at all.
    assert!(imports["kernel32.dll"].contains("CreateFileW"));
    assert!(imports["advapi32.dll"].contains("StartServiceCtrlDispatcherW"));
    assert!(imports["ole32.dll"].contains("CoInitializeEx"));
}

/// Libraries loaded later, by name, are searched for in System32.
/// Guards: P10
#[test]
fn libraries_are_looked_for_where_the_program_says() {
    assert!(imports()["kernel32.dll"].contains("SetDefaultDllDirectories"));
}

/// So are those above: the flag is `LOAD_LIBRARY_SEARCH_SYSTEM32`, where
/// <https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-image_load_config_directory64> has `DependentLoadFlags`.
/// Guards: P10
#[cfg(target_env = "msvc")]
#[test]
fn what_the_program_imports_is_looked_for_in_system32_only() {
    const DEPENDENT_LOAD_FLAGS: usize = 0x4E;
    let bytes = program();
    let file = PeFile64::parse(&*bytes).expect("a program of 64 bits");
    let directory = file.data_directory(pe::IMAGE_DIRECTORY_ENTRY_LOAD_CONFIG);
    let sections = file.section_table();
    let config = directory.expect("there is one").data(&*bytes, &sections);
    let config = config.expect("it reads");
    let flags = &config[DEPENDENT_LOAD_FLAGS..DEPENDENT_LOAD_FLAGS + 2];
    assert_eq!(flags, 0x800_u16.to_le_bytes());
}

#[test]
fn nothing_of_a_compilers_is_loaded() {
    let of_compilers = OF_COMPILERS.iter();
    let is_microsofts = cfg!(target_env = "msvc");
    let foreign = of_compilers.chain(C_LIBRARY.iter().filter(|_| is_microsofts));
    let foreign: Vec<_> = foreign.collect();
    for library in imports().keys() {
        let is_foreign = foreign.iter().any(|name| library.starts_with(**name));
        assert!(!is_foreign, "{library}");
    }
}

fn is_expected(library: &str) -> bool {
    let unused = cfg!(debug_assertions) && OF_UNUSED_CODE.contains(&library);
    unused || LIBRARIES.contains(&library) || library.starts_with(API_SETS)
}

/// Guards: P13
#[test]
fn the_exe_imports_no_process_starter_except_those_of_std() {
    for (library, functions) in imports() {
        for function in functions {
            let starts = STARTERS.iter().any(|starter| function.starts_with(starter));
            assert!(
                !starts || OF_STD.contains(&function.as_str()),
                "{library}: {function}"
            );
        }
    }
}

#[test]
fn addresses_are_random_and_data_is_not_run() {
    let bytes = program();
    let file = PeFile64::parse(&*bytes).expect("a program of 64 bits");
    let header = &file.nt_headers().optional_header;
    let flags = header.dll_characteristics();
    for (flag, name) in [
        (pe::IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE, "DYNAMIC_BASE"),
        (
            pe::IMAGE_DLLCHARACTERISTICS_HIGH_ENTROPY_VA,
            "HIGH_ENTROPY_VA",
        ),
        (pe::IMAGE_DLLCHARACTERISTICS_NX_COMPAT, "NX_COMPAT"),
    ] {
        assert!(flags.contains(flag), "{name} in {flags:?}");
    }
    // Without relocations a base cannot be moved, despite the flags.
    let relocations = file.data_directory(pe::IMAGE_DIRECTORY_ENTRY_BASERELOC);
    assert!(relocations.is_some_and(|table| table.size.get(LE) > 0));
}

fn program() -> Vec<u8> {
    fs::read(env!("CARGO_BIN_EXE_csi-proxy")).expect("the program can be read")
}

/// The libraries, in lower case, with the functions imported from each.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let bytes = program();
    let file = PeFile64::parse(&*bytes).expect("a program of 64 bits");
    let table = file.import_table().expect("it reads").expect("it is there");
    let mut imports = BTreeMap::new();
    let mut libraries = table.descriptors().expect("it reads");
    while let Some(library) = libraries.next().expect("it reads") {
        let name = table.name(library.name.get(LE)).expect("a name");
        let thunks = table.thunks(library.original_first_thunk.get(LE));
        let mut thunks = thunks.expect("its functions");
        // A library may be listed several times.
        let library = String::from_utf8_lossy(name).to_lowercase();
        let functions: &mut BTreeSet<String> = imports.entry(library).or_default();
        while let Some(thunk) = thunks.next::<pe::ImageNtHeaders64>().expect("it reads") {
            functions.insert(
                match table
                    .import::<pe::ImageNtHeaders64>(thunk)
                    .expect("a function")
                {
                    Import::Name(_, name) => String::from_utf8_lossy(name).into_owned(),
                    Import::Ordinal(number) => format!("#{number}"),
                },
            );
        }
    }
    imports
}
