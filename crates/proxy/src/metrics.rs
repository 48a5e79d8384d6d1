//! The figures of one server of csi-proxy's.

use std::sync::{Arc, OnceLock};

use node::Node;
use os_meter::Meter;
use program::log;
use program::metrics::{self, CallSeries, Calls, Count, Exposition, Kind, OperationSeries};
use transport::Usage;

/// All figures of one server.
#[derive(Default)]
pub(crate) struct Metrics {
    calls: Calls,
    operations: Arc<OperationSeries>,
    /// The served node.
    pub(crate) node: OnceLock<Node>,
    /// Lost lines of the audit log.
    pub(crate) audit_lost: Count,
    /// Adopted changes of the policy.
    pub(crate) policies_adopted: Count,
    /// Refused changes of the policy.
    pub(crate) policies_refused: Count,
}

impl Metrics {
    /// The series of one RPC.
    pub(crate) fn call_series(
        &self,
        group: &'static wire::Group,
        method: &'static wire::Method,
    ) -> Arc<CallSeries> {
        self.calls.series(group, method)
    }

    /// The meter of the system's operations.
    pub(crate) fn meter(&self) -> Arc<dyn Meter> {
        Arc::clone(&self.operations) as Arc<dyn Meter>
    }

    /// All series as text.
    pub(crate) fn render(&self, node: NodeKind, usage: Option<Usage>) -> String {
        let mut page = Exposition::default();
        self.calls.render(&mut page);
        self.operations.render(&mut page);
        self.render_counts(&mut page);
        if let Some(node) = self.node.get() {
            render_renewals(&mut page, node);
        }
        if let Some(usage) = usage {
            metrics::render_usage(&mut page, usage);
        }
        render_build(&mut page, node);
        metrics::render_process(&mut page);
        page.into_text()
    }

    fn render_counts(&self, page: &mut Exposition) {
        page.counter(
            "wincsi_log_records_lost_total",
            "Records that their log file, or standard error, did not take.",
            log::lost(),
        );
        page.counter(
            "wincsi_audit_records_lost_total",
            "Calls that the audit log did not take.",
            self.audit_lost.value(),
        );
        let name = "wincsi_policy_reloads_total";
        page.family(name, "Changes of the policy file.", Kind::Counter);
        for (outcome, count) in [
            ("adopted", &self.policies_adopted),
            ("refused", &self.policies_refused),
        ] {
            page.sample(name, &[("outcome", outcome)], count.value());
        }
    }
}

/// The kind of the served node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Simulated,
    Windows,
}

impl NodeKind {
    /// As pages say it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Simulated => "SIMULATED",
            Self::Windows => "windows",
        }
    }
}

fn render_renewals(page: &mut Exposition, node: &Node) {
    let name = "wincsi_smb_renewals_failed_total";
    let help = "SMB mappings that were removed to be made anew, and could not be.";
    let count = node.operations().smb().failed_renewals();
    page.counter(name, help, count);
}

fn render_build(page: &mut Exposition, node: NodeKind) {
    let name = "wincsi_build_info";
    page.family(
        name,
        "The program and what it serves; always 1.",
        Kind::Gauge,
    );
    let labels = [
        ("node", node.name()),
        ("os", std::env::consts::OS),
        ("version", env!("CARGO_PKG_VERSION")),
    ];
    page.sample(name, &labels, 1);
}

#[cfg(test)]
mod tests {
    use os_meter::Ending;

    use super::{Metrics, NodeKind};

    #[test]
    fn series_appear_with_their_first_use() {
        let metrics = Metrics::default();
        let group = &wire::disk::v1::GROUP;
        let method = group.method("Rescan").expect("disk has it");
        let series = metrics.call_series(group, method);
        assert!(!metrics.render(NodeKind::Simulated, None).contains("Rescan"));
        series.began();
        let begun = metrics.render(NodeKind::Simulated, None);
        assert!(begun.contains("grpc_server_started_total{") && !begun.contains("sent_total{"));
        series.ended(
            transport::Code::Unknown,
            std::time::Duration::from_millis(20),
        );
        let text = metrics.render(NodeKind::Simulated, None);
        let labels = r#"grpc_method="Rescan",grpc_service="v1.Disk",grpc_type="unary""#;
        for line in [
            format!("grpc_server_started_total{{{labels}}} 1"),
            format!("grpc_server_msg_received_total{{{labels}}} 1"),
            format!("grpc_server_msg_sent_total{{{labels}}} 1"),
            format!("grpc_server_handled_total{{grpc_code=\"Unknown\",{labels}}} 1"),
            format!("grpc_server_handling_seconds_bucket{{{labels},le=\"0.01\"}} 0"),
            format!("grpc_server_handling_seconds_bucket{{{labels},le=\"0.1\"}} 1"),
            format!("grpc_server_handling_seconds_bucket{{{labels},le=\"+Inf\"}} 1"),
            format!("grpc_server_handling_seconds_count{{{labels}}} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains(r#"grpc_code="OK""#));
    }

    #[test]
    fn operations_of_the_system_are_told_by_facility_and_name() {
        let metrics = Metrics::default();
        let meter = metrics.meter();
        let operation = os_meter::MeteredOperation {
            facility: os::Facility::Storage,
            name: "query",
            subject: "MSFT_Disk",
            kind: os_meter::Kind::Query,
        };
        meter.began(&operation);
        meter.began(&operation);
        meter.ended(
            &operation,
            std::time::Duration::from_secs(2),
            Ending::Failed,
        );
        let text = metrics.render(NodeKind::Simulated, None);
        let labels = r#"{facility="storage",operation="query MSFT_Disk""#;
        for line in [
            format!("wincsi_os_operation_seconds_bucket{labels},le=\"1\"}} 0"),
            format!("wincsi_os_operation_seconds_bucket{labels},le=\"3\"}} 1"),
            format!("wincsi_os_operation_seconds_sum{labels}}} 2"),
            format!("wincsi_os_operation_failures_total{labels}}} 1"),
            format!("wincsi_os_operations_running{labels}}} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
