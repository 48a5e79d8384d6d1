//! Around every call: the policy before it, the metrics and the audit log after it.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use program::metrics::CallSeries;
use program::rotate::Limits;
use time::OffsetDateTime;
use transport::{Call, Code, Status};

use crate::audit::{self, Audit, Record, Shape};
use crate::catalogue::{self, Effect, Operation};
use crate::flags::Config;
use crate::metrics::Metrics;
use crate::policy::{self, Policy, PolicyError, Verdict};

/// The policy, the metrics and the audit log of one server.
#[derive(Default)]
pub struct Middleware {
    metrics: Arc<Metrics>,
    policy: Option<Arc<Policy>>,
    audit: Option<Arc<Audit>>,
}

/// Why the middleware cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum MiddlewareError {
    /// The audit log cannot be opened.
    #[error("audit log {path}: {source}")]
    Audit {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The policy cannot be read.
    #[error("policy {path}: {source}")]
    Policy {
        path: PathBuf,
        /// What is wrong in the file.
        source: PolicyError,
    },
}

impl Middleware {
    /// Reads the policy and opens the audit log, where there are any.
    ///
    /// # Errors
    /// The policy cannot be read or is invalid; the audit log cannot be opened.
    pub fn open(config: &Config) -> Result<Self, MiddlewareError> {
        let metrics = Arc::new(Metrics::default());
        let policy = config.policy_file.as_ref().map(|path| {
            Policy::open(path, policy::INTERVAL, &metrics).map_err(|source| {
                MiddlewareError::Policy {
                    path: path.clone(),
                    source,
                }
            })
        });
        let limits = Limits::megabytes(config.log.max_megabytes, config.log.backups);
        let audit = config.audit_log.as_ref().map(|path| {
            Audit::open(path.clone(), limits, &metrics).map_err(|source| MiddlewareError::Audit {
                path: path.clone(),
                source,
            })
        });
        Ok(Self {
            policy: policy.transpose()?.map(Arc::new),
            audit: audit.transpose()?.map(Arc::new),
            metrics,
        })
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The middleware of one RPC's calls.
    pub(crate) fn over(
        &self,
        group: &'static wire::Group,
        method: &'static wire::Method,
    ) -> MethodMiddleware {
        let operation = catalogue::find(group.name, method.name);
        // An unclassified operation may change the node.
        let is_change = operation.is_none_or(|operation| operation.effect == Effect::Changes);
        let audit = self.audit.clone().filter(|_| is_change);
        MethodMiddleware {
            group,
            method,
            operation,
            series: self.metrics.call_series(group, method),
            policy: self.policy.clone(),
            audit,
            shape: Shape::of_request(group, method),
        }
    }
}

/// Policy, metrics and audit around one RPC.
pub(crate) struct MethodMiddleware {
    group: &'static wire::Group,
    method: &'static wire::Method,
    operation: Option<&'static Operation>,
    series: Arc<CallSeries>,
    policy: Option<Arc<Policy>>,
    audit: Option<Arc<Audit>>,
    shape: Shape,
}

type Answer = Result<Vec<u8>, Status>;

impl MethodMiddleware {
    /// Runs a call, if it may, and records how it ended; also after a panic; the panic goes on to its catcher.
    pub(crate) fn run(&self, call: &Call, handler: impl FnOnce() -> Answer) -> Answer {
        self.show(call);
        let (began, clock) = (OffsetDateTime::now_utc(), Instant::now());
        self.series.began();
        let attempt = || self.admit(call).and_then(|()| handler());
        let ended = panic::catch_unwind(AssertUnwindSafe(attempt));
        let took = clock.elapsed();
        let (code, text) = match &ended {
            Ok(Ok(_)) => (Code::Ok, ""),
            Ok(Err(status)) => (status.code, status.message.as_str()),
            Err(_) => (Code::Internal, "panic"),
        };
        self.series.ended(code, took);
        self.record(call, began, took, (code, text));
        ended.unwrap_or_else(|panic| panic::resume_unwind(panic))
    }

    fn admit(&self, call: &Call) -> Result<(), Status> {
        match self.verdict() {
            Verdict::Allow => Ok(()),
            Verdict::Deny => {
                let (operation, client) = (self.operation_name(), call.peer.pid);
                tracing::warn!(method = self.method.path, ?client, "refused by the policy");
                Err(Status::new(
                    Code::PermissionDenied,
                    format!("{operation} is not allowed by the policy of this node"),
                ))
            }
        }
    }

    /// Logs the fields that the audit log may write, at the detailed level. Otherwise nothing is read.
    fn show(&self, call: &Call) {
        tracing::trace!(
            method = self.method.path,
            client = ?call.peer.pid,
            fields = self.shape.show(&call.message),
            "request"
        );
    }

    fn verdict(&self) -> Verdict {
        let policy = self.policy.as_ref();
        policy.map_or(Verdict::Allow, |policy| policy.verdict(self.operation))
    }

    fn record(&self, call: &Call, began: OffsetDateTime, took: Duration, end: (Code, &str)) {
        let Some(audit) = &self.audit else {
            return;
        };
        audit.write(&Record {
            // First, as a remark that stayed would be the next call's.
            remark: audit::take_remark(),
            began,
            took,
            client: call.peer.pid,
            group: self.group,
            method: self.method.name,
            operation: self.operation_name(),
            object: self.shape.read(&call.message),
            outcome: end.0.name(),
            text: end.1,
        });
    }

    fn operation_name(&self) -> String {
        match self.operation {
            Some(operation) => operation.to_string(),
            None => format!("{}.{}", self.group.name, self.method.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use serde_json::Value;
    use transport::{
        Call, CallError, Channel, ChannelOptions, Code, Endpoint, Server, ServerOptions, Service,
        Status,
    };

    use super::{MethodMiddleware, Middleware};
    use crate::flags::Config;
    use crate::metrics::NodeKind;

    struct Panicking(MethodMiddleware);

    impl Service for Panicking {
        fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
            self.0.run(call, || panic!("on purpose"))
        }
    }

    /// Guards: P18
    #[test]
    fn a_call_that_panics_is_counted_and_recorded() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            audit_log: Some(folder.path().join("audit")),
            ..Config::default()
        };
        let middleware = Middleware::open(&config).expect("a file");
        let group = &wire::disk::v1::GROUP;
        let method = group.method("PartitionDisk").expect("disk has it");
        let service = Arc::new(Panicking(middleware.over(group, method))) as Arc<dyn Service>;
        let endpoint = Endpoint::local(folder.path(), "wincsi-test-middleware").expect("a name");
        let _server = Server::bind(vec![(endpoint.clone(), service)], ServerOptions::default())
            .expect("nobody else has it");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
        let soon = Instant::now() + Duration::from_secs(60);
        match channel.call(method.path, &[0x08, 3], soon) {
            Err(CallError::Status(status)) => assert_eq!(status.code, Code::Internal),
            other => panic!("{other:?}"),
        }
        let metrics = middleware.metrics().render(NodeKind::Simulated, None);
        assert!(metrics.contains(r#"{grpc_code="Internal","#), "{metrics}");
        let line = fs::read_to_string(folder.path().join("audit")).expect("the log");
        let line: Value = serde_json::from_str(&line).expect("one line");
        assert_eq!(line["outcome"], "Internal");
        assert_eq!(line["object"]["disk_number"], 3);
    }
}
