use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use program::log::Limit;
use program::metrics::Calls;
use prost::Message;
use transport::{Call, Code, Service, Status};
use wire::csi::v1::node::NodePublishVolume;
use wire::{Group, Method, Rpc};

use super::ForVolume;
use crate::admission::Admission;
use crate::code::is_final;

/// Answers a call, and writes what the log has of it.
type Answer = Box<dyn Fn(&Call, &mut String) -> Result<Vec<u8>, Status> + Send + Sync>;

/// Answers RPCs by their paths. Each call is counted and logged with its outcome.
#[derive(Default)]
pub struct Router {
    handlers: BTreeMap<&'static str, Handler>,
    calls: Arc<Calls>,
    admission: Arc<Admission>,
    /// Refused publishes, by the hashes of their texts: guesses at a password do not fill the log.
    refusals: Limit<u64>,
    hasher: RandomState,
}

struct Handler {
    group: &'static Group,
    method: &'static Method,
    answer: Answer,
}

impl Router {
    /// A router without handlers, which counts calls here, and has those that work on volumes admitted there.
    #[must_use]
    pub fn new(calls: &Arc<Calls>, admission: &Arc<Admission>) -> Self {
        Self {
            handlers: BTreeMap::new(),
            calls: Arc::clone(calls),
            admission: Arc::clone(admission),
            refusals: Limit::default(),
            hasher: RandomState::new(),
        }
    }

    pub fn on<R: Rpc>(
        &mut self,
        answer: impl Fn(R::Request) -> Result<R::Response, Status> + Send + Sync + 'static,
    ) {
        self.insert::<R>(move |request, _, _| answer(request));
    }

    /// An RPC that works on a volume, which a drain lets no more begin; the answer is told how long its client waits.
    pub fn on_volume<R: Rpc<Request: ForVolume>>(
        &mut self,
        answer: impl Fn(R::Request, Duration) -> Result<R::Response, Status> + Send + Sync + 'static,
    ) {
        let admission = Arc::clone(&self.admission);
        self.insert::<R>(move |request, left, about| {
            *about = request.about();
            let Some(_admitted) = admission.admit(R::METHOD.name) else {
                let text = "the driver is being drained before its end: the next one answers";
                return Err(Status::new(Code::Unavailable, text));
            };
            answer(request, left)
        });
    }

    fn insert<R: Rpc>(
        &mut self,
        answer: impl Fn(R::Request, Duration, &mut String) -> Result<R::Response, Status>
        + Send
        + Sync
        + 'static,
    ) {
        let answer = move |call: &Call, about: &mut String| {
            let request = R::Request::decode(call.message.as_ref())
                .map_err(|error| Status::new(Code::Internal, error.to_string()))?;
            let left = call.deadline.saturating_duration_since(Instant::now());
            answer(request, left, about).map(|response| response.encode_to_vec())
        };
        let handler = Handler {
            group: R::GROUP,
            method: R::METHOD,
            answer: Box::new(answer),
        };
        self.handlers.insert(R::PATH, handler);
    }
}

impl Service for Router {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let Some(handler) = self.handlers.get(call.method.as_str()) else {
            return Err(Status::unimplemented(&call.method));
        };
        let series = self.calls.series(handler.group, handler.method);
        series.began();
        let began = Instant::now();
        let mut about = String::new();
        let outcome = (handler.answer)(call, &mut about);
        let took = began.elapsed();
        series.ended(code(&outcome), took);
        let method = handler.method.name;
        match &outcome {
            Ok(_) => tracing::debug!("{method}: OK in {took:?}{about}"),
            Err(Status { code, message, .. }) => {
                let is_refusal = method == NodePublishVolume::METHOD.name && is_final(*code);
                let line = format!("{method}: {code} in {took:?}{about}: {message}");
                let pass = || self.refusals.pass(self.hasher.hash_one(message));
                match is_refusal.then(pass).unwrap_or(Some(0)) {
                    Some(0) => tracing::error!("{line}"),
                    Some(more) => tracing::error!("{line} ({more} like it are in the log at -v=5)"),
                    None => tracing::trace!("{line}"),
                }
            }
        }
        outcome
    }
}

fn code(outcome: &Result<Vec<u8>, Status>) -> Code {
    match outcome {
        Ok(_) => Code::Ok,
        Err(status) => status.code,
    }
}

#[cfg(test)]
mod tests {
    use transport::Call;
    use wire::csi::v1::identity::Probe;
    use wire::csi::v1::node::{NodeGetInfo, NodeStageVolume};
    use wire::csi::v1::{NodeGetInfoResponse, NodeStageVolumeResponse, ProbeResponse};

    use super::*;

    fn code_of<R: Rpc>(router: &Router) -> Code {
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = Call::in_process(R::PATH, Vec::new().into(), deadline).unwrap();
        code(&router.call(&call))
    }

    #[test]
    fn a_drained_driver_works_on_no_volume_and_stays_registered() {
        let admission = Arc::<Admission>::default();
        let mut router = Router::new(&Arc::default(), &admission);
        router.on_volume::<NodeStageVolume>(|_, _| Ok(NodeStageVolumeResponse {}));
        router.on::<NodeGetInfo>(|_| Ok(NodeGetInfoResponse::default()));
        router.on::<Probe>(|_| Ok(ProbeResponse::default()));
        assert_eq!(code_of::<NodeStageVolume>(&router), Code::Ok);
        assert_eq!(admission.drain(Duration::ZERO), []);
        assert_eq!(code_of::<NodeStageVolume>(&router), Code::Unavailable);
        assert_eq!(code_of::<NodeGetInfo>(&router), Code::Ok);
        assert_eq!(code_of::<Probe>(&router), Code::Ok);
    }
}
