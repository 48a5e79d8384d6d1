use std::process::ExitCode;

use wincsi_proxy::flags::Config;

/// Serves until the process is asked to end. There is no service control manager here.
pub(crate) fn run(config: Config) -> ExitCode {
    if config.windows_service {
        eprintln!("-windows-service needs Windows");
        return ExitCode::FAILURE;
    }
    crate::serve_in_console(&config)
}
