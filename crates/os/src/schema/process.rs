//! `Win32_Process`: the processes that run.

use super::cim::CimType::{String, Uint32};
use super::model::{Class, Namespace, Property, Source};

const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-process");

rows! { PROPERTIES: Property {
    /// Null of a process whose memory the caller may not read.
    COMMAND_LINE = Property::new("CommandLine", String, PAGE);
    /// [`PROCESS_ID`] as text.
    HANDLE = Property::new("Handle", String, PAGE).key();
    /// The program's file name, without its folder.
    NAME = Property::new("Name", String, PAGE);
    PROCESS_ID = Property::new("ProcessId", Uint32, PAGE);
}}

pub static CLASS: Class = Class {
    name: "Win32_Process",
    namespace: Namespace::CimV2,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
