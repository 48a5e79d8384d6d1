use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use os::Hresult;

use crate::wmi::Line;
use crate::{ErrorInfo, Trouble, workers};

/// How a call ended.
pub(crate) type Done<T> = Result<T, ComFailure>;

/// A failed call, and its error object for the thread.
#[derive(Debug, Clone)]
pub(crate) struct ComFailure {
    pub(crate) code: Hresult,
    pub(crate) error_info: ErrorInfo,
}

impl From<Hresult> for ComFailure {
    fn from(code: Hresult) -> Self {
        let error_info = ErrorInfo::Nothing;
        Self { code, error_info }
    }
}

/// A call on a thread of its own, as in the provider's process: it runs to its end even without its
/// caller.
pub(crate) struct ProviderCall<T> {
    line: Arc<Line>,
    state: Mutex<State<T>>,
}

struct State<T> {
    answer: mpsc::Receiver<Done<T>>,
    ended: Option<Done<T>>,
    late: u32,
    /// The code of the connection's death after the call.
    cut: Option<Hresult>,
}

impl<T: Clone + Send + 'static> ProviderCall<T> {
    /// Begins it, unless the connection is dead, or dies of this trouble.
    pub(crate) fn begin(
        line: &Arc<Line>,
        trouble: Option<Trouble>,
        act: impl FnOnce() -> Done<T> + Send + 'static,
    ) -> Done<Self> {
        if let Some(Trouble::Unsent(code)) = trouble {
            line.die(code);
        }
        if let Some(code) = line.dead() {
            return Err(code.into());
        }
        let (answer, ended) = match trouble.clone() {
            Some(Trouble::Fails(code, error_info)) => {
                let (_, nothing) = mpsc::channel();
                (nothing, Some(Err(ComFailure { code, error_info })))
            }
            _ => (workers::run(act), None),
        };
        let mut state = State {
            answer,
            ended,
            late: 0,
            cut: None,
        };
        match trouble {
            Some(Trouble::Cut(code)) => state.cut = Some(code),
            Some(Trouble::Late(turns)) => state.late = turns,
            Some(Trouble::Fails(..) | Trouble::Unsent(_)) | None => {}
        }
        Ok(Self {
            line: Arc::clone(line),
            state: Mutex::new(state),
        })
    }

    /// How it ended, if it does within so many milliseconds; with a negative number, when it does.
    pub(crate) fn wait(&self, milliseconds: i32) -> Option<Done<T>> {
        if let Some(code) = self.line.dead() {
            return Some(Err(code.into()));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended.is_none() {
            state.ended = Some(state.receive(milliseconds)?);
        }
        state.ended.clone()
    }

    /// The code of the connection's death, after this call's end.
    pub(crate) fn cut(&self) -> Option<Hresult> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cut.inspect(|code| self.line.die(*code))
    }
}

impl<T> State<T> {
    fn receive(&mut self, milliseconds: i32) -> Option<Done<T>> {
        if self.late > 0 {
            self.late -= 1;
            return None;
        }
        let Ok(milliseconds) = u64::try_from(milliseconds) else {
            return Some(self.answer.recv().unwrap_or_else(|_| Err(panicked())));
        };
        match self
            .answer
            .recv_timeout(Duration::from_millis(milliseconds))
        {
            Ok(done) => Some(done),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(panicked())),
        }
    }
}

fn panicked() -> ComFailure {
    ComFailure {
        code: Hresult::WBEM_E_PROVIDER_FAILURE,
        error_info: ErrorInfo::Description("the provider's thread panicked".to_owned()),
    }
}
