//! Telling a client how far a call is, if it asked for that.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;

use super::calls::Calls;
use crate::host::RunStep;

/// How far a call is, in the words that a person reads.
#[derive(Clone, Copy)]
pub(super) struct Stage(f64, &'static str);

pub(super) const WAITING: Stage = Stage(1.0, "waiting for approval");
const STAGES: f64 = 4.0;

impl From<RunStep> for Stage {
    fn from(step: RunStep) -> Self {
        match step {
            RunStep::Staging => Self(2.0, "staging"),
            RunStep::Started => Self(3.0, "running"),
            RunStep::Ended => Self(4.0, "cleaning up"),
        }
    }
}

/// Whoever wants to know how far a call is.
pub(super) struct Steps {
    token: Option<ProgressToken>,
    calls: Arc<Calls>,
}

impl Steps {
    pub(super) fn of(context: &RequestContext<RoleServer>, calls: &Arc<Calls>) -> Self {
        Self { token: context.meta.get_progress_token(), calls: Arc::clone(calls) }
    }

    pub(super) async fn tell(&self, context: &RequestContext<RoleServer>, Stage(progress, message): Stage) {
        let Some(token) = &self.token else { return };
        let told =
            ProgressNotificationParam::new(token.clone(), progress).with_total(STAGES).with_message(message);
        let _ = self.calls.unless_gone(context.peer.notify_progress(told)).await;
    }

    /// Says again and again that somebody is waited for, so that no client takes a person who reads for a server that hangs.
    pub(super) async fn keep_telling<T>(
        &self,
        context: &RequestContext<RoleServer>,
        wait: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(wait);
        let mut progress = WAITING.0;
        loop {
            tokio::select! {
                done = &mut wait => return done,
                () = tokio::time::sleep(AGAIN) => {
                    progress += 0.001;
                    self.tell(context, Stage(progress, WAITING.1)).await;
                }
            }
        }
    }
}

const AGAIN: Duration = Duration::from_secs(10);
