use program::metrics::{Exposition, Kind};

use crate::volumes::{Figures, Reason};

pub(super) fn render(figures: &Figures, page: &mut Exposition) {
    page.gauge(
        "wincsi_controller_clones_running",
        "Clones, snapshots and restores that are being made.",
        figures.running(),
    );
    page.counter(
        "wincsi_controller_clone_bytes_total",
        "Bytes that they wrote.",
        figures.bytes(),
    );
    let name = "wincsi_controller_clone_failures_total";
    let help = "Those that ended before they were whole, by reasons.";
    page.family(name, help, Kind::Counter);
    for (reason, text) in Reason::ALL {
        page.sample(name, &[("reason", text)], figures.failed(reason));
    }
    page.counter(
        "wincsi_controller_snapshot_files_changed_total",
        "Files that changed while snapshots copied them.",
        figures.changed(),
    );
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn each_reason_has_a_row_of_the_page() {
        let page = include_str!("../../../../docs/clones.md");
        let (_, rest) = page.split_once("## Metrics").unwrap_or_default();
        let (table, _) = rest.split_once("\n## ").unwrap_or_default();
        let rows = table.lines().filter_map(|line| line.strip_prefix("- `"));
        let rows: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(rows, Reason::ALL.map(|(_, text)| text));
    }
}
