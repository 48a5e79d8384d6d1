//! Cargo's runner for Windows programs: `cargo test --target x86_64-pc-windows-gnu` for a developer.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::Prefix;
use crate::host::Host;
use crate::{env, process};

const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Run a Windows program under Wine; cargo's runner for the Windows target
#[derive(Args)]
pub(crate) struct WineRunner {
    exe: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl WineRunner {
    pub(crate) fn run(self) -> Result<ExitCode> {
        env::provide(Host::WINE_NEEDS)?;
        let prefix = Prefix::create()?;
        let mut command = prefix.command(&self.exe);
        command.args(&self.arguments);
        let done = process::follow(&mut command, LIMIT)?;
        let code = done.status.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}
