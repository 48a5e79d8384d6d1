//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// Cases and experiments on this machine, which has to be Windows Server and may be changed.
#[derive(Debug, Parser)]
#[command(
    name = "wincsi-conformance",
    help_template = "{about}\n\n{usage-heading} {usage}\n\n{all-args}",
    after_help = "They run one after the other."
)]
// The flattened one has this struct's name, which would be the name of both groups.
#[group(id = "suite")]
pub struct Arguments {
    #[command(flatten)]
    pub tests: libtest_mimic::Arguments,
    /// Agree that disks are attached, users, shares and services made, and all of it removed again.
    #[arg(long = "i-may-change-this-machine")]
    pub may_change: bool,
    /// Print what our code assumes of Windows, by the experiments' numbers, and run nothing.
    #[arg(long, conflicts_with = "list")]
    pub experiments: bool,
    /// Remove what a former run left over, and run nothing.
    #[arg(long, conflicts_with = "list")]
    pub clean_up: bool,
    /// Leave files, users, share and services for looking at; the next run removes them.
    #[arg(long, conflicts_with = "clean_up")]
    pub keep: bool,
    /// The suite's own folder, on a volume with 10 GiB to spare.
    #[arg(long, default_value = r"C:\wincsi-suite")]
    pub folder: PathBuf,
    /// Append what the experiments saw to `windows.txt` in this folder.
    #[arg(long)]
    pub record: Option<PathBuf>,
    /// What the machine is, for the record: "Azure D4ds_v5", say.
    #[arg(long, default_value = "")]
    pub machine: String,
    /// Do nothing but make and remove directories below this folder, by 64 threads, and count the codes, and run
    /// the cases about files there: where a HostProcess container has a folder of the node bound into it.
    #[arg(long, conflicts_with_all = ["filter", "list", "clean_up", "keep"])]
    pub calls_by_handle: Option<PathBuf>,
    /// The address of an iSCSI portal on port 3260 whose target asks for nothing.
    #[arg(long, requires = "iscsi_target")]
    pub iscsi_portal: Option<String>,
    /// The qualified name of that target, to which nothing else is connected.
    #[arg(long, requires = "iscsi_portal")]
    pub iscsi_target: Option<String>,
    /// Seconds that one case may take; one that takes longer ends the run.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
    /// How the service control manager starts the suite's own services.
    #[arg(long, hide = true)]
    pub as_service: bool,
}

impl Arguments {
    /// How long one case may take.
    #[must_use]
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::Arguments;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["suite"], arguments].concat())
    }

    #[test]
    fn nothing_given_is_no_leave_to_change_anything() {
        let arguments = parse(&[]).expect("no argument is required");
        assert!(!arguments.may_change && !arguments.clean_up && !arguments.as_service);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let target = "--iscsi-target=iqn.2026-01.com.example:data";
        assert!(parse(&["--iscsi-portal=10.0.0.9"]).is_err() && parse(&[target]).is_err());
        assert!(parse(&["--iscsi-portal=10.0.0.9", target]).is_ok());
        assert!(parse(&["--clean-up", "--keep"]).is_err());
        assert!(parse(&["--clean-up", "--list"]).is_err());
        assert!(parse(&["--experiments", "--list"]).is_err());
        assert!(parse(&["--calls-by-handle", "folder", "--list"]).is_err());
        assert!(parse(&["--calls-by-handle", "folder", "smb::"]).is_err());
        assert!(parse(&["--limit", "0"]).is_err());
    }
}
