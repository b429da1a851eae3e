//! The protocol's requests, in all revisions, one function for each.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use fumehood_core::{Code, ProposalId};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::{Semaphore, mpsc, watch};

use super::answer::{ARTIFACT_URI, Reply, refused};
use super::approval::{self, Forms, Seal, Subject, Way};
use super::arguments::Arguments;
use super::calls::Calls;
use super::progress::{Steps, WAITING};
use super::running::{Ran, Work};
use super::tools::{self, Available};
use super::{artifact, reading};
use crate::fault::Fault;
use crate::host::{ByteRange, Cancel, Refusal, Session};
use crate::report::SurveyReport;

/// One client's server.
pub(super) struct Server {
    session: Arc<Session>,
    calls: Arc<Calls>,
    seal: Seal,
    forms: Forms,
    listeners: Semaphore,
    listings: Semaphore,
    offered: Mutex<Offered>,
    /// Counts how often what is on offer became other than it was.
    changed: watch::Sender<u64>,
}

/// What the client was told last.
#[derive(Default)]
struct Offered {
    available: Option<Available>,
    has_artifacts: bool,
    /// A client that is told without asking.
    told: Option<Peer<RoleServer>>,
}

/// The revisions that are spoken, oldest first.
static VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("fumehood", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Whatever came with it does not wait.
        drop((request, context));
        // It waits for its turn: refused while others work, a client would take it that there is nothing to run. A list that
        // cannot be read has nothing in it to run; why, says the first call.
        let session = Arc::clone(&self.session);
        let turn = self.listings.acquire().await;
        let survey = tokio::task::spawn_blocking(move || session.survey()).await;
        drop(turn);
        let survey = survey.ok().and_then(Result::ok).unwrap_or_else(SurveyReport::empty);
        let available = self.available(&survey);
        self.offered().available = Some(available);
        let tools = tools::all(available, &survey);
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        if !tools::is_known(&name) {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        }
        let arguments = match Arguments::of(request.arguments.clone()) {
            Ok(arguments) => arguments,
            Err(fault) => return Ok(refused(&fault).into()),
        };
        let work = match name.as_str() {
            "run_skill_script" => Work::of_script(arguments),
            "call_skill_tool" => Work::of_tool(arguments),
            _ => {
                let reply = self.answer(name, arguments, &context).await;
                return Ok(reply.map_or_else(|fault| refused(&fault), Reply::result).into());
            }
        };
        match work {
            Ok(work) => Ok(self.run(&request, work, &context).await),
            Err(fault) => Ok(refused(&fault).into()),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Results are reached by the links to them, and files of skills by tools.
        Ok(ListResourcesResult::default().with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || {
            let data = serde_json::json!({"uri": request.uri});
            ErrorData::invalid_params("there is no such resource", Some(data))
        };
        let id = request.uri.strip_prefix(ARTIFACT_URI).ok_or_else(unknown)?.to_owned();
        let all = ByteRange { offset: 0, length: None };
        let slice = self.read(move |session| session.artifact_slice(&id, all)).await;
        let slice = slice.map_err(|_| unknown())?;
        let result = ReadResourceResult::new(vec![artifact::contents(&slice, &request.uri)]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ok(_place) = self.listeners.try_acquire() else {
            return Err(ErrorData::invalid_request("there are too many subscriptions already", None));
        };
        let mut changed = self.changed.subscribe();
        changed.mark_unchanged();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.calls.gone() => return Ok(()),
                more = changed.changed() => {
                    if more.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.offered().told = Some(context.peer);
    }
}

impl Server {
    pub(super) fn new(session: Arc<Session>) -> Result<Self, Fault> {
        let (calls, seal) = (Calls::new(), Seal::new()?);
        let (changed, _) = watch::channel(0);
        // Some clients ask once what there is, and never again.
        let offered = Offered { has_artifacts: session.has_artifacts(), ..Offered::default() };
        Ok(Self {
            session,
            calls,
            seal,
            forms: Forms::default(),
            listeners: Semaphore::new(LISTENERS_MAX),
            listings: Semaphore::new(LISTINGS_MAX),
            offered: Mutex::new(offered),
            changed,
        })
    }

    pub(super) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Calls of tools that run nothing.
    async fn answer(
        &self,
        tool: String,
        arguments: Arguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Fault> {
        match tool.as_str() {
            "list_skills" => {
                let survey = self.read(Session::survey).await?;
                self.compare(self.available(&survey)).await;
                reading::list(&survey, arguments)
            }
            "load_skill" => self.read(move |session| reading::load(session, arguments)).await,
            "read_skill_resource" => self.read(move |session| reading::read(session, arguments)).await,
            _ => {
                let cancel = Cancel::new();
                let looked_at = cancel.clone();
                let read = self.work(cancel.clone(), move |session| {
                    artifact::read(session, &tool, arguments, &looked_at)
                });
                Self::until_cancelled(read, &cancel, context).await?
            }
        }
    }

    /// Runs something, on a person's word or under a scope of theirs.
    async fn run(
        &self,
        request: &CallToolRequestParams,
        work: Work,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let subject = Subject::of(&request.name, request.arguments.as_ref(), &self.session);
        let steps = Steps::of(context, &self.calls);
        if let Some(state) = &request.request_state {
            let answer = approval::answered(request.input_responses.as_ref());
            let skill = work.skill().to_owned();
            let revision = self.read(move |session| Ok(session.revision(&skill))).await;
            let decided = revision.and_then(|revision| {
                let id = self.seal.open(state, &subject, &revision.unwrap_or_default())?;
                self.session.answer_elicited(id, answer)
            });
            // An answer that does not count is no question either: nothing is asked in its place.
            if let Err(fault) = decided {
                return approval::not_answered(&fault).into();
            }
        }
        let (fault, id) = match self.once(&work, &steps, context).await {
            Ok(ran) => return self.done(ran).await.into(),
            Err(Refusal { fault, pending: None }) => return refused(&fault).into(),
            Err(Refusal { fault, pending: Some(id) }) => (fault, id),
        };
        steps.tell(context, WAITING).await;
        let question = self.session.desk().question(id);
        let way = if self.session.takes_elicitation() { Way::of(context) } else { Way::Elsewhere };
        // The same call made at once is asked about once; the other one finds the answer later.
        let form = if way == Way::WhileOpen { self.forms.open(id) } else { None };
        match (way, approval::message(question.as_ref()), &question) {
            (Way::CallsAgain, Some(message), Some(question)) => {
                self.seal.ask(question, message, &subject).into()
            }
            (Way::WhileOpen, Some(message), Some(_)) if form.is_some() => {
                self.ask_and_run(id, message, &work, &steps, context).await.into()
            }
            _ => approval::parked(&fault, id, question.as_ref()).into(),
        }
    }

    /// Asks while the call is open, then makes it as if it had been made again.
    async fn ask_and_run(
        &self,
        id: ProposalId,
        message: String,
        work: &Work,
        steps: &Steps,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let asking = approval::ask_while_open(&self.session, id, message, context);
        if let Some(answer) = steps.keep_telling(context, asking).await
            && let Err(fault) = self.session.answer_elicited(id, answer)
            && fault.code != Code::ConsentDecided
        {
            return approval::not_answered(&fault);
        }
        match self.once(work, steps, context).await {
            Ok(ran) => self.done(ran).await,
            Err(refusal) => approval::ended(&refusal, &self.session),
        }
    }

    /// Makes the call once. Comes back when nothing of it is left.
    async fn once(
        &self,
        work: &Work,
        steps: &Steps,
        context: &RequestContext<RoleServer>,
    ) -> Result<Ran, Refusal> {
        let (cancel, work) = (Cancel::new(), work.clone());
        let (say, mut heard) = mpsc::unbounded_channel();
        let given_up = cancel.clone();
        let ran = self.work(cancel.clone(), move |session| {
            // Nobody hears it any more if the call was given up.
            work.run(session, &given_up, move |step| _ = say.send(step))
        });
        let ran = Self::until_cancelled(ran, &cancel, context);
        tokio::pin!(ran);
        loop {
            tokio::select! {
                biased;
                Some(step) = heard.recv() => steps.tell(context, step.into()).await,
                ended = &mut ran => return ended.unwrap_or_else(|fault| Err(fault.into())),
            }
        }
    }

    async fn done(&self, ran: Ran) -> CallToolResult {
        if ran.has_artifact {
            let mut available = {
                let mut offered = self.offered();
                offered.has_artifacts = true;
                offered.available.unwrap_or_default()
            };
            available.artifacts = true;
            self.compare(available).await;
        }
        ran.reply.result()
    }

    async fn read<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Session) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        self.work(Cancel::new(), act).await?
    }

    /// Works in a thread of its own, if there are not too many at work.
    async fn work<T: Send + 'static>(
        &self,
        cancel: Cancel,
        act: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let under_way = self.calls.begin(cancel)?;
        let session = Arc::clone(&self.session);
        let worked = tokio::task::spawn_blocking(move || {
            let done = act(&session);
            drop(under_way);
            done
        });
        worked.await.map_err(|_| {
            let message = "fumehood met a state it does not expect";
            Fault::new(Code::Internal, message, "this is a bug; tell the person")
        })
    }

    /// Passes on that the client gave the call up, and then waits all the same: it is over when nothing of it is left.
    async fn until_cancelled<T>(
        work: impl Future<Output = T>,
        cancel: &Cancel,
        context: &RequestContext<RoleServer>,
    ) -> T {
        tokio::pin!(work);
        tokio::select! {
            // What was given up before it began does not begin.
            biased;
            () = context.ct.cancelled() => cancel.cancel(),
            done = &mut work => return done,
        }
        work.await
    }

    fn available(&self, survey: &SurveyReport) -> Available {
        Available::of(survey, self.offered().has_artifacts)
    }

    /// Tells the client if what is on offer is not what it was told.
    async fn compare(&self, available: Available) {
        let told = {
            let mut offered = self.offered();
            let is_same = offered.available.is_none_or(|before| before == available);
            offered.available = offered.available.map(|_| available);
            if is_same {
                return;
            }
            offered.told.clone()
        };
        self.changed.send_modify(|count| *count += 1);
        if let Some(peer) = told {
            let _ = self.calls.unless_gone(peer.notify_tool_list_changed()).await;
        }
    }

    fn offered(&self) -> std::sync::MutexGuard<'_, Offered> {
        // Each step leaves it whole.
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Subscriptions of one client at once. It needs one.
const LISTENERS_MAX: usize = 16;
/// Lists of tools that are made at once; more wait.
const LISTINGS_MAX: usize = 2;
