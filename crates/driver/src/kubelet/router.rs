use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use program::metrics::Calls;
use prost::Message;
use transport::{Call, Code, Service, Status};
use wire::{Group, Method, Rpc};

type Answer = Box<dyn Fn(&Call) -> Result<Vec<u8>, Status> + Send + Sync>;

/// Answers RPCs by their paths. Each call is counted and logged with its outcome.
pub struct Router {
    handlers: BTreeMap<&'static str, Handler>,
    calls: Arc<Calls>,
}

struct Handler {
    group: &'static Group,
    method: &'static Method,
    answer: Answer,
}

impl Router {
    /// A router without handlers, which counts calls here.
    #[must_use]
    pub fn counting(calls: &Arc<Calls>) -> Self {
        Self {
            handlers: BTreeMap::new(),
            calls: Arc::clone(calls),
        }
    }

    /// Has an RPC answered by this.
    pub fn on<R: Rpc>(
        &mut self,
        answer: impl Fn(R::Request) -> Result<R::Response, Status> + Send + Sync + 'static,
    ) {
        let answer = move |call: &Call| {
            let request = R::Request::decode(call.message.as_ref())
                .map_err(|error| Status::new(Code::Internal, error.to_string()))?;
            answer(request).map(|response| response.encode_to_vec())
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
        let outcome = (handler.answer)(call);
        let took = began.elapsed();
        series.ended(code(&outcome), took);
        let method = handler.method.name;
        match &outcome {
            Ok(_) => tracing::debug!("{method}: OK in {took:?}"),
            Err(status) => tracing::error!("{method}: {status}"),
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
