//! Cargo's runner for Windows programs.

use super::Prefix;
use crate::cargo;
use crate::env;
use crate::env::Need;
use crate::process;
use anyhow::Context;
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::time::Duration;

const PREFIX_VARIABLE: &str = "WINCSI_WINE_PREFIX";
const LIMIT_VARIABLE: &str = "WINCSI_WINE_LIMIT";

/// Run a Windows program under Wine; cargo's runner for the Windows target
#[derive(Args)]
pub(crate) struct WineRunner {
    exe: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl WineRunner {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match std::env::var_os(PREFIX_VARIABLE) {
            Some(dir) => self.run_in(&*Prefix::borrowed(dir.into())?),
            None => {
                env::provide(&[Need::Wine, Need::Mingw])?.require(&[Need::Wine, Need::Mingw])?;
                self.run_in(&Prefix::create()?)
            }
        }
    }

    fn run_in(&self, prefix: &Prefix) -> Result<ExitCode> {
        let mut command = prefix.command(&self.exe);
        command.args(&self.arguments);
        let done = process::follow(&mut command, limit()?)?;
        Ok(done
            .status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1)
            .into())
    }
}

/// Makes a cargo command run its Windows programs in `prefix`, each bounded by `limit`.
pub(crate) fn install(command: &mut Command, prefix: &Prefix, limit: Duration) -> Result<()> {
    let own = std::env::current_exe().context("find this program")?;
    let own = own.to_str().context("this program's path is not UTF-8")?;
    command
        .arg("--config")
        .arg(format!(
            "target.{}.runner=[{own:?}, \"wine-runner\"]",
            cargo::WINDOWS
        ))
        .env(PREFIX_VARIABLE, prefix.dir())
        .env(LIMIT_VARIABLE, limit.as_secs().to_string());
    Ok(())
}

fn limit() -> Result<Duration> {
    let text = std::env::var(LIMIT_VARIABLE).unwrap_or_else(|_| "600".to_owned());
    let seconds = text
        .parse()
        .with_context(|| format!("{LIMIT_VARIABLE}={text}"))?;
    Ok(Duration::from_secs(seconds))
}
