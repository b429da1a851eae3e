//! The requests of a client that have no answer yet: none shares its id with another one, and there are not too many.

use std::collections::{HashSet, VecDeque};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};

/// Requests without an answer. Calls that wait for a person and subscriptions are some of them, and far fewer.
const REQUESTS_MAX: usize = 256;
/// Bytes of an id that is a text: it goes back with every answer.
const ID_BYTES_MAX: usize = 256;

/// Ids of requests that were taken back. What they were about may still be ending.
const TAKEN_BACK_MAX: usize = 256;

/// The ids that are in use.
#[derive(Default)]
pub(super) struct Open {
    unanswered: HashSet<RequestId>,
    /// The last of them.
    taken_back: VecDeque<RequestId>,
}

impl Open {
    /// Looks at what came in. What is given back goes to the client, and the message to nobody: under an id that is in use,
    /// neither of two calls could be taken back, and the answer of one would be that of the other.
    pub(super) fn refusal(
        &mut self,
        message: &RxJsonRpcMessage<RoleServer>,
    ) -> Option<TxJsonRpcMessage<RoleServer>> {
        match message {
            JsonRpcMessage::Request(request) => self.begin(&request.id),
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = cancelled.params.request_id.as_ref()
                    && let Some(id) = self.unanswered.take(id)
                {
                    self.take_back(id);
                }
                None
            }
            _ => None,
        }
    }

    /// Looks at what goes out.
    pub(super) fn sent(&mut self, message: &TxJsonRpcMessage<RoleServer>) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.unanswered.remove(id);
        }
    }

    /// It has no answer any more. Used again at once, its id would be given the answer of what is still ending.
    fn take_back(&mut self, id: RequestId) {
        if self.taken_back.len() >= TAKEN_BACK_MAX {
            self.taken_back.pop_front();
        }
        self.taken_back.push_back(id);
    }

    fn begin(&mut self, id: &RequestId) -> Option<TxJsonRpcMessage<RoleServer>> {
        let refused = |why: &'static str, id: Option<&RequestId>| {
            Some(JsonRpcMessage::error(ErrorData::invalid_request(why, None), id.cloned()))
        };
        // With the id, it would be taken for the answer to the other request.
        if self.unanswered.contains(id) || self.taken_back.contains(id) {
            return refused("the id is that of another request", None);
        }
        if matches!(id, RequestId::String(text) if text.len() > ID_BYTES_MAX) {
            return refused("the id is longer than 256 bytes", None);
        }
        if self.unanswered.len() >= REQUESTS_MAX {
            return refused("too many requests have no answer yet", Some(id));
        }
        self.unanswered.insert(id.clone());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn came(open: &mut Open, message: serde_json::Value) -> Result<(), serde_json::Value> {
        let message = serde_json::from_value(message).unwrap();
        open.refusal(&message).map_or(Ok(()), |refused| Err(serde_json::to_value(refused).unwrap()))
    }

    fn ping(id: impl Into<serde_json::Value>) -> serde_json::Value {
        json!({"jsonrpc": "2.0", "id": id.into(), "method": "ping"})
    }

    fn answered(open: &mut Open, id: i64) {
        open.sent(&JsonRpcMessage::error(ErrorData::invalid_request("m", None), Some(RequestId::Number(id))));
    }

    #[test]
    fn an_id_is_used_once_at_a_time() {
        let mut open = Open::default();
        came(&mut open, ping(1)).unwrap();
        came(&mut open, ping("1")).unwrap();
        let refused = came(&mut open, ping(1)).unwrap_err();
        assert!(refused["id"].is_null() && refused["error"].is_object(), "{refused}");
        answered(&mut open, 1);
        came(&mut open, ping(1)).unwrap();
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        came(&mut open, cancelled).unwrap();
        assert!(came(&mut open, ping(1)).unwrap_err()["id"].is_null());
        came(&mut open, ping(2)).unwrap();
    }

    #[test]
    fn there_are_not_too_many_and_their_ids_are_short() {
        let mut open = Open::default();
        came(&mut open, ping("x".repeat(ID_BYTES_MAX))).unwrap();
        assert!(came(&mut open, ping("x".repeat(ID_BYTES_MAX + 1))).unwrap_err()["id"].is_null());
        for id in 1..REQUESTS_MAX {
            came(&mut open, ping(id)).unwrap();
        }
        assert_eq!(came(&mut open, ping(1000)).unwrap_err()["id"], 1000);
        answered(&mut open, 1);
        came(&mut open, ping(1000)).unwrap();
    }
}
