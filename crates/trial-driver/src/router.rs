//! Which handler answers which RPC.

use std::collections::BTreeMap;

use prost::Message;
use transport::{Call, Code, Service, Status};
use wire::Rpc;

type Handler = Box<dyn Fn(&Call) -> Result<Vec<u8>, Status> + Send + Sync>;

/// Handlers by the path of their RPC.
#[derive(Default)]
pub(crate) struct Router(BTreeMap<&'static str, Handler>);

impl Router {
    pub(crate) fn on<R: Rpc>(
        &mut self,
        handler: impl Fn(R::Request) -> Result<R::Response, Status> + Send + Sync + 'static,
    ) {
        let decode = |call: &Call| {
            R::Request::decode(call.message.as_ref())
                .map_err(|error| Status::new(Code::Internal, error.to_string()))
        };
        let handler = move |call: &Call| handler(decode(call)?).map(|it| it.encode_to_vec());
        self.0.insert(R::PATH, Box::new(handler));
    }
}

impl Service for Router {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let Some(handler) = self.0.get(call.method.as_str()) else {
            return Err(Status::unimplemented(&call.method));
        };
        let outcome = handler(call);
        match &outcome {
            Ok(_) => println!("{}: OK", call.method.method()),
            Err(status) => println!("{}: {status}", call.method.method()),
        }
        outcome
    }
}
