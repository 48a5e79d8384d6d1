use std::process::ExitCode;

use wincsi_proxy::flags::Config;

/// Serves until the process is asked to end, or under the service control manager until that does.
pub(crate) fn run(config: Config) -> ExitCode {
    if !config.windows_service {
        return crate::serve_in_console(&config);
    }
    let outcome = os_windows::run_as_service(move |service| {
        crate::serve_until(&config, || service.running(), || service.wait_for_stop())
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("service: {error}");
        ExitCode::FAILURE
    })
}
