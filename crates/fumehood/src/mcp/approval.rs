//! The ways to the person: nobody has to be asked; the client asks and calls again; the client asks while the call is open; or the
//! request lies on the desk until somebody answers at this machine.
//!
//! Behind all of them is one record, the gate's ledger: a request is made once, answered once, spent once. What a client brings
//! back is sealed here, bound to the call, and still only names the request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fumehood_core::consent::State;
use fumehood_core::{Code, Frame, ProposalId, Sha256};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, ProtocolVersion, RequestStateCodec, SealOptions,
    ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::answer::{Reply, refused};
use super::question;
use crate::fault::Fault;
use crate::host::{Refusal, Session};
use crate::report::{Answer, Question};

/// The requests that a client is asked about while calls are open. Calls that are the same are asked about in one form.
#[derive(Default)]
pub(super) struct Forms(Mutex<BTreeSet<ProposalId>>);

/// The client shows the form of one request until this is dropped.
pub(super) struct Form<'f> {
    forms: &'f Forms,
    id: ProposalId,
}

impl Forms {
    /// `None` if there is a form about it already.
    pub(super) fn open(&self, id: ProposalId) -> Option<Form<'_>> {
        let is_new = self.lock().insert(id);
        // Not made in vain: dropped, it would end the other one.
        is_new.then(|| Form { forms: self, id })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ProposalId>> {
        // Each step leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Form<'_> {
    fn drop(&mut self) {
        self.forms.lock().remove(&self.id);
    }
}

/// How a person can be reached through a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It gets a question, and makes the call again with the answer.
    CallsAgain,
    /// It answers while the call is open.
    WhileOpen,
    /// Not at all.
    Elsewhere,
}

impl Way {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let asks = context.client_capabilities().as_ref().is_some_and(shows_forms);
        let is_stateless =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        match (asks, is_stateless) {
            (false, _) => Self::Elsewhere,
            (true, true) => Self::CallsAgain,
            (true, false) => Self::WhileOpen,
        }
    }
}

fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    // One that says no more than that it asks, shows forms.
    capabilities.elicitation.as_ref().is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// What seals the questions of this process.
pub(super) struct Seal(RequestStateCodec);

/// What a call is: bound into whatever a client brings back.
pub(super) struct Subject {
    tool: String,
    arguments: Vec<u8>,
    agent: String,
}

impl Subject {
    pub(super) fn of(tool: &str, arguments: Option<&rmcp::model::JsonObject>, session: &Session) -> Self {
        let arguments: Option<BTreeMap<_, _>> = arguments.map(|object| object.iter().collect());
        let arguments = serde_json::to_vec(&arguments).unwrap_or_default();
        Self { tool: tool.to_owned(), arguments, agent: session.agent().as_str().to_owned() }
    }

    fn digest(&self, revision: &str) -> Sha256 {
        let mut frame = Frame::new("mcp-request-state", 1);
        frame.part(self.tool.as_bytes());
        frame.part(&self.arguments);
        frame.part(self.agent.as_bytes());
        frame.part(revision.as_bytes());
        frame.sha256()
    }
}

impl Seal {
    /// A key that nobody else has, and that ends with this process.
    pub(super) fn new() -> Result<Self, Fault> {
        let mut key = vec![0; 32];
        let outage = |message: String| Fault::new(Code::StateUnavailable, message, "try again");
        getrandom::fill(&mut key).map_err(|error| outage(format!("there is no randomness: {error}")))?;
        let codec = RequestStateCodec::try_new(key).map_err(|error| outage(error.to_string()))?;
        Ok(Self(codec))
    }

    /// The question for a client that calls again.
    pub(super) fn ask(&self, question: &Question, message: String, subject: &Subject) -> InputRequiredResult {
        let digest = subject.digest(&question.skill.revision).to_string();
        let options = SealOptions::new().associated_data(digest.as_bytes()).ttl(STATE_MAX);
        let state = self.0.seal_with(question.id.as_bytes(), &options);
        let request = InputRequest::Elicitation(ElicitRequest::new(form(message)));
        InputRequiredResult::new(Some([(KEY.to_owned(), request)].into()), Some(state))
    }

    /// The request that a client brings an answer to, if it is about this call as it would run now.
    pub(super) fn open(&self, state: &str, subject: &Subject, revision: &str) -> Result<ProposalId, Fault> {
        let other = || {
            let message = "what was brought back is no question about this call as it is now";
            Fault::new(Code::ConsentStale, message, "make the call again without it")
        };
        let digest = subject.digest(revision).to_string();
        let opened = self.0.open_with(state, digest.as_bytes()).map_err(|_| other())?;
        let text = std::str::from_utf8(&opened).map_err(|_| other())?;
        ProposalId::parse(text).map_err(|_| other())
    }
}

/// What a client says that the person said. Only what is plainly a yes is one.
pub(super) fn answered(responses: Option<&InputResponses>) -> Answer {
    responses.and_then(|responses| responses.get(KEY)).map_or(Answer::No, answer)
}

fn answer(response: &Value) -> Answer {
    let is_yes = response["action"] == "accept" && response["content"][FIELD] == ONCE;
    if is_yes { Answer::Once } else { Answer::No }
}

/// Asks while the call is open. Comes back when there is an answer, from here or from anywhere else; who gives the call up, closes
/// the form or lets the time pass has said no.
pub(super) async fn ask_while_open(
    session: &Session,
    id: ProposalId,
    message: String,
    context: &RequestContext<RoleServer>,
) -> Option<Answer> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(message)));
    let asked = context.peer.send_request(request);
    let decided_elsewhere = async {
        while session.desk().state(id) == Some(State::Pending) {
            tokio::time::sleep(LOOK_UP).await;
        }
    };
    tokio::select! {
        // Who gave the call up first and then said yes has given it up.
        biased;
        () = context.ct.cancelled() => Some(Answer::No),
        () = decided_elsewhere => None,
        response = asked => Some(match response {
            Ok(ClientResult::ElicitResult(result)) => {
                serde_json::to_value(result).map_or(Answer::No, |result| answer(&result))
            }
            _ => Answer::No,
        }),
    }
}

/// A call that was made after it was asked about, and did not run. What the person saw may not be what would run now, or they were too
/// late: then there is a new request, which lies on the desk.
pub(super) fn ended(refusal: &Refusal, session: &Session) -> CallToolResult {
    let Refusal { fault, pending } = refusal;
    pending.map_or_else(|| refused(fault), |id| parked(fault, id, session.desk().question(id).as_ref()))
}

/// The request lies on the desk.
pub(super) fn parked(fault: &Fault, id: ProposalId, question: Option<&Question>) -> CallToolResult {
    let expires = question.map(|question| question.expires_unix_ms);
    let advice = "tell the person that they have to approve this on the machine where fumehood runs, and name the request; make exactly the same call again afterwards";
    let fault = Fault {
        message: "a person has to approve this call first".to_owned(),
        advice: advice.to_owned(),
        ..fault.clone()
    };
    let mut value = json!({"status": "approval_required", "approval_id": id.to_string()});
    // Of two calls at once, the second may find the request before it lies on the desk.
    if let Some(expires) = expires {
        value["expires_unix_ms"] = expires.into();
    }
    Reply::new(value).failed(&fault).result()
}

/// The message, if the question can be asked in a form.
pub(super) fn message(question: Option<&Question>) -> Option<String> {
    question.and_then(question::message)
}

pub(super) fn not_answered(fault: &Fault) -> CallToolResult {
    refused(fault)
}

fn form(message: String) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema() }
}

/// One choice, whose default is no.
fn schema() -> ElicitationSchema {
    let choice = json!({
        "type": "string", "title": "Decision", "enum": [DENY, ONCE], "enumNames": ["Do not run it", "Run it once"], "default": DENY,
    });
    let schema = json!({"type": "object", "properties": {FIELD: choice}, "required": [FIELD]});
    let fields = schema.as_object().cloned().unwrap_or_default();
    ElicitationSchema::from_json_schema(fields).unwrap_or_else(|_| ElicitationSchema::new(BTreeMap::new()))
}

const KEY: &str = "approve";
const FIELD: &str = "choice";
const ONCE: &str = "once";
const DENY: &str = "deny";
/// As long as a request lives.
const STATE_MAX: Duration = fumehood_core::consent::CONSENT_WINDOW;
const LOOK_UP: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plainly_a_yes_is_one() {
        let yes = json!({"action": "accept", "content": {"choice": "once"}});
        assert_eq!(answer(&yes), Answer::Once);
        for no in [
            json!({"action": "accept", "content": {"choice": "deny"}}),
            json!({"action": "accept", "content": {"choice": "always"}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"choice": "once"}}),
            json!({"action": "cancel", "content": {"choice": "once"}}),
            json!({"content": {"choice": "once"}}),
            json!("once"),
            Value::Null,
        ] {
            assert_eq!(answer(&no), Answer::No, "{no}");
        }
        assert_eq!(answered(None), Answer::No);
        assert_eq!(answered(Some(&[("other".to_owned(), yes)].into())), Answer::No);
    }

    #[test]
    fn the_default_of_the_form_is_no() {
        let schema = serde_json::to_value(schema()).unwrap();
        assert_eq!(schema["properties"]["choice"]["default"], "deny");
        assert_eq!(schema["properties"]["choice"]["enum"], json!(["deny", "once"]));
    }

    #[test]
    fn a_state_opens_for_its_own_call_only() {
        let seal = Seal::new().unwrap();
        let subject = |tool: &str, arguments: &str, agent: &str| Subject {
            tool: tool.to_owned(),
            arguments: arguments.as_bytes().to_vec(),
            agent: agent.to_owned(),
        };
        let own = subject("run", "{}", "mcp");
        let id = ProposalId::from_random([7; 16]);
        let digest = own.digest("r1").to_string();
        let options = SealOptions::new().associated_data(digest.as_bytes()).ttl(STATE_MAX);
        let state = seal.0.seal_with(id.to_string().as_bytes(), &options);
        assert_eq!(seal.open(&state, &own, "r1").unwrap(), id);
        for (subject, revision) in [
            (subject("call", "{}", "mcp"), "r1"),
            (subject("run", "{\"a\":1}", "mcp"), "r1"),
            (subject("run", "{}", "other"), "r1"),
            (own, "r2"),
        ] {
            assert_eq!(seal.open(&state, &subject, revision).unwrap_err().code, Code::ConsentStale);
        }
        // Another process has another key.
        assert!(Seal::new().unwrap().open(&state, &subject("run", "{}", "mcp"), "r1").is_err());
    }
}
