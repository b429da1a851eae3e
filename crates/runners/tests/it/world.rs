//! A person with files, a skill of one script, and a gate with the real things behind it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::call::{exact_schema, script_schema};
use fumehood_core::consent::{Decision, Surface};
use fumehood_core::envelope::{Envelope, EnvelopeParts};
use fumehood_core::manifest::{FumehoodManifest, InterpreterKey, ScriptClaim};
use fumehood_core::tool::{Effect, Failure, Origin, Tier, ToolDefinition};
use fumehood_core::{AgentLabel, Code, Json, Now, RawCall, RelPath, Sha256, SkillName, ToolSpec, WallTime};
use fumehood_gate::ports::{
    Answer, Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results, Ruling, Spool,
};
use fumehood_gate::{
    Approver, Cancel, Completed, Decider, Gate, GateError, Offer, Plan, Planner, Request, RunError,
};
use fumehood_runners::script::{
    Granted, Interpreters, PinnedInterpreter, Script, ScriptSkill, Source, Workshop, WorkspaceAccess,
};
use fumehood_sandbox::Sandbox;
use fumehood_store::{
    Artifacts, ChangeLimits, Flush, Folder as _, Forbidden, Home, MemoryFolder, Pins, Resolution, Settings,
    Snapshot, Staging, Transactions,
};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::manifest::{Manifest, manifest};

/// The folder of one test: `state`, `work` that the person has, and whatever the test makes. Not below `/tmp`, where
/// scripts have a folder of their own.
pub(crate) struct World {
    _folder: Option<TempDir>,
    root: PathBuf,
    pub(crate) home: Home,
    pub(crate) journal: Arc<fumehood_store::Journal>,
}

/// One script that is about to run, and what it is given.
#[derive(Clone)]
pub(crate) struct Job<'w> {
    pub(crate) world: &'w World,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) interpreter: &'static str,
    pub(crate) claim: Option<ScriptClaim>,
    pub(crate) arguments: Json,
    pub(crate) granted: Granted,
    pub(crate) envelope: EnvelopeParts,
    pub(crate) unlocked: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) overlay: Option<Sha256>,
    pub(crate) fail_on_nonzero_exit: bool,
    pub(crate) changes: ChangeLimits,
    pub(crate) cancel: Cancel,
    pub(crate) when_asked: Arc<dyn Fn() + Send + Sync>,
    /// What happens when the interpreter is looked at: when the call is planned (1), planned again after the yes (2), and
    /// right before the launch (3).
    pub(crate) on_look: Arc<dyn Fn(usize) + Send + Sync>,
    /// After this many looks, the interpreter's key stands for `bash`.
    pub(crate) swaps_interpreter_after: usize,
    /// What the interpreter reads of its own.
    pub(crate) interpreter_reads: Vec<PathBuf>,
    /// The skill, if it was captured elsewhere.
    pub(crate) snapshot: Option<Snapshot>,
}

/// What became of a call.
pub(crate) type Ended = Result<Completed, GateError>;

/// One for all tests of this process; it ends with it.
fn sandbox() -> Arc<Sandbox> {
    static SANDBOX: OnceLock<Arc<Sandbox>> = OnceLock::new();
    let start = || {
        let helper = env!("CARGO_BIN_EXE_fumehood-runners-helper");
        Arc::new(Sandbox::start_with(Path::new(helper)).expect("this machine has a sandbox"))
    };
    Arc::clone(SANDBOX.get_or_init(start))
}

impl World {
    pub(crate) fn new() -> Self {
        Self::in_folder("/var/tmp")
    }

    pub(crate) fn in_folder(place: &str) -> Self {
        let folder = tempfile::tempdir_in(place).unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        Self { _folder: Some(folder), ..Self::again(&root) }
    }

    /// The world that another process made.
    pub(crate) fn again(root: &Path) -> Self {
        let home = Home { config: root.join("config"), state: root.join("state") };
        home.make_state().unwrap();
        let journal = Arc::new(fumehood_store::Journal::open(&home).unwrap());
        Self { _folder: None, root: root.to_path_buf(), home, journal }
    }

    pub(crate) fn at(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    pub(crate) fn text(&self, below: impl AsRef<Path>) -> String {
        self.at(below).to_str().unwrap().to_owned()
    }

    /// Writes a file of the person's, 0644.
    pub(crate) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path
    }

    pub(crate) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.at(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
    }

    pub(crate) fn mode(&self, below: &str) -> u32 {
        fs::symlink_metadata(self.at(below)).unwrap().mode() & 0o7777
    }

    pub(crate) fn manifest(&self, below: &str) -> Manifest {
        manifest(&self.at(below))
    }

    /// A script for `sh` that nobody declared.
    pub(crate) fn shell(&self, script: &str) -> Job<'_> {
        Job {
            world: self,
            files: vec![
                ("SKILL.md", b"---\nname: attack\ndescription: Attacks.\n---\n".to_vec()),
                (SCRIPT, script.as_bytes().to_vec()),
            ],
            interpreter: "sh",
            claim: None,
            arguments: argv(&[]),
            granted: Granted::nothing(self.root.clone()),
            envelope: Envelope::of_a_person().parts().clone(),
            unlocked: Vec::new(),
            environment: Vec::new(),
            overlay: None,
            fail_on_nonzero_exit: true,
            changes: ChangeLimits::default(),
            cancel: Cancel::new(),
            when_asked: Arc::new(|| {}),
            on_look: Arc::new(|_| {}),
            swaps_interpreter_after: usize::MAX,
            interpreter_reads: Vec::new(),
            snapshot: None,
        }
        .variable("PATH", "/usr/bin:/bin")
    }

    pub(crate) fn python(&self, script: &str) -> Job<'_> {
        Job { interpreter: "python3", ..self.shell(script) }
    }

    /// Nothing of a run is left in the state folder, nothing of ours anywhere else, and the journal is whole.
    pub(crate) fn assert_clean(&self) {
        for (folder, expected) in [("state/staging", ["lock"].as_slice()), ("state/transactions/open", &[])] {
            let Ok(names) = fs::read_dir(self.at(folder)) else { continue };
            let mut names: Vec<_> =
                names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            assert_eq!(names, expected, "{folder}");
        }
        let ours = |path: &&Vec<u8>| path.windows(10).any(|part| part == b".fumehood-");
        assert_eq!(self.manifest("").keys().find(ours), None);
        assert_eq!(self.journal.verify(None).unwrap().broken, None);
    }
}

/// The arguments of a script that nobody declared.
pub(crate) fn argv(arguments: &[&str]) -> Json {
    let all = arguments.iter().map(|argument| Json::String((*argument).to_owned())).collect();
    Json::Object([("argv".to_owned(), Json::Array(all))].into_iter().collect())
}

impl Job<'_> {
    pub(crate) fn argv(self, arguments: &[&str]) -> Self {
        Self { arguments: argv(arguments), ..self }
    }

    /// Declares the script, with these parameters as JSON, and calls it with these arguments.
    pub(crate) fn declared(self, params: &str, arguments: &str) -> Self {
        let interpreter = self.interpreter;
        let manifest = format!(
            r#"{{"schemaVersion":1,"scripts":[{{"name":"go","path":"{SCRIPT}","description":"Goes.","interpreter":"{interpreter}","params":{params}}}]}}"#
        );
        let manifest = FumehoodManifest::parse(manifest.as_bytes()).unwrap();
        let arguments = Json::parse(arguments.as_bytes(), 1 << 16).unwrap();
        Self { claim: Some(manifest.scripts()[0].clone()), arguments, ..self }
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn workspace(mut self, below: &str, access: WorkspaceAccess) -> Self {
        self.granted.workspace = Some((self.world.at(below), access));
        self
    }

    pub(crate) fn changing(self, below: &str) -> Self {
        self.workspace(below, WorkspaceAccess::Change)
    }

    pub(crate) fn out(mut self, below: &str) -> Self {
        self.granted.out = Some(self.world.at(below));
        self
    }

    pub(crate) fn reading(mut self, path: &str) -> Self {
        self.granted.read.push(path.to_owned());
        self
    }

    pub(crate) fn writing(mut self, path: &str) -> Self {
        self.granted.write.push(path.to_owned());
        self
    }

    pub(crate) fn seconds(mut self, seconds: u64) -> Self {
        self.envelope.timeout_seconds_default = seconds;
        self
    }

    pub(crate) fn enveloped(mut self, change: impl FnOnce(&mut EnvelopeParts)) -> Self {
        change(&mut self.envelope);
        self
    }

    pub(crate) fn when_asked(self, act: impl Fn() + Send + Sync + 'static) -> Self {
        Self { when_asked: Arc::new(act), ..self }
    }

    fn snapshot(&self) -> Snapshot {
        if let Some(snapshot) = &self.snapshot {
            return snapshot.clone();
        }
        let files = self.files.iter().map(|(path, bytes)| (RelPath::parse(path).unwrap(), bytes.clone()));
        MemoryFolder::new("attack", files).capture().unwrap()
    }

    pub(crate) fn script(&self) -> Script {
        let key = InterpreterKey::parse(self.interpreter).unwrap();
        let source = match &self.claim {
            Some(claim) => Source::Declared(claim.clone()),
            None => Source::Undeclared { path: RelPath::parse(SCRIPT).unwrap(), interpreter: key },
        };
        let script = Script::new(self.workshop(), self.skill(), source, self.granted.clone());
        script.fail_on_nonzero_exit(self.fail_on_nonzero_exit)
    }

    pub(crate) fn skill(&self) -> ScriptSkill {
        let name = SkillName::parse("attack").unwrap();
        ScriptSkill::new("user".to_owned(), name, self.snapshot(), self.overlay)
    }

    pub(crate) fn workshop(&self) -> Arc<Workshop> {
        Arc::new(Workshop {
            sandbox: sandbox(),
            staging: Staging::open(&self.world.home).unwrap(),
            transactions: Transactions::open(&self.world.home).unwrap(),
            envelope: Envelope::new(self.envelope.clone()).unwrap(),
            environment: self.environment.clone(),
            interpreters: Box::new(Listed {
                pins: Pins::open(&self.world.home),
                looks: Mutex::new(0),
                on_look: Arc::clone(&self.on_look),
                swaps_after: self.swaps_interpreter_after,
                reads: self.interpreter_reads.clone(),
            }),
            forbidden: Forbidden::of(&self.world.home),
            unlocked: self.unlocked.clone(),
            changes: self.changes,
        })
    }

    fn spec(&self) -> ToolSpec {
        let timeout = Duration::from_secs(self.envelope.timeout_seconds_max);
        let input = match &self.claim {
            Some(claim) => script_schema(claim.params(), timeout),
            None => exact_schema(timeout),
        };
        let skill = SkillName::parse("attack").unwrap();
        ToolSpec::new(ToolDefinition {
            name: "run_attack_go",
            description: "Goes.",
            input: &input,
            effect: Effect::Other,
            retries: 0,
            timeout,
            tier: Tier::Script,
            origin: Origin::Skill { source: "user".to_owned(), skill },
            approval: None,
        })
        .unwrap()
    }

    /// What it would run as.
    pub(crate) fn plan(&self) -> Result<Plan, RunError> {
        let call = fumehood_core::Call::of_tool(&self.spec(), &self.arguments.to_bytes()).unwrap();
        self.script().plan(&call).map(|runner| runner.plan().clone())
    }

    /// Asks for it, with a person who says yes after they did what the test wants done.
    pub(crate) fn run(&self) -> Ended {
        self.run_by(self.script())
    }

    /// As [`Job::run`], its calls planned by something else.
    pub(crate) fn run_by(&self, planner: impl Planner + 'static) -> Ended {
        self.call(Offer::new(self.spec(), planner).unwrap(), self.arguments.to_bytes())
    }

    /// The same for another tool.
    pub(crate) fn call(&self, offer: Offer, arguments: Vec<u8>) -> Ended {
        let person = Arc::new(Yes { decider: OnceLock::new(), act: Arc::clone(&self.when_asked) });
        let agent = AgentLabel::parse("cli").unwrap();
        let world = self.world;
        let artifacts = Artifacts::open(&world.home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
        let builder = Gate::builder(
            agent,
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
            Arc::new(NoPolicy),
            Arc::new(Rows(Arc::clone(&world.journal))),
            Arc::new(Store(artifacts)),
        );
        let gate = builder.approver(Arc::clone(&person) as _).build().unwrap();
        person.decider.set(gate.decider()).map_err(|_| ()).unwrap();
        gate.offer(vec![offer]).unwrap();
        let raw = RawCall { tool: "run_attack_go".to_owned(), arguments };
        gate.call(&raw, &self.cancel)
    }
}

/// Standard output as text, of a run that went well.
pub(crate) fn output(ended: &Ended) -> String {
    match ended {
        Ok(completed) => String::from_utf8_lossy(&completed.output.0).into_owned(),
        Err(error) => panic!("{} {}: {}", error.code, error.message, errors(ended)),
    }
}

/// What was written to standard error, for whoever wonders.
pub(crate) fn errors(ended: &Ended) -> String {
    let bytes = match ended {
        Ok(completed) => completed.errors.0.clone(),
        Err(error) => error.ran.as_ref().map(|ran| ran.errors.0.clone()).unwrap_or_default(),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The code of a call that did not go well; it never ran.
pub(crate) fn refused(ended: &Ended) -> (Code, Failure) {
    let error = ended.as_ref().expect_err("it is refused");
    let exit = error.ran.as_ref().and_then(|ran| ran.exit);
    assert_eq!(exit, None, "it ran: {}", error.message);
    (error.code, error.failure)
}

/// The code of a run that did not go well.
pub(crate) fn failed(ended: &Ended) -> Code {
    let error = ended.as_ref().expect_err("it fails");
    assert!(error.ran.is_some(), "it never ran: {}", error.message);
    error.code
}

pub(crate) const SCRIPT: &str = "scripts/go";

/// Says yes.
struct Yes {
    decider: OnceLock<Decider>,
    act: Arc<dyn Fn() + Send + Sync>,
}

impl Approver for Yes {
    fn show(&self, request: &Request<'_>) -> Result<(), Outage> {
        (self.act)();
        let decided = self.decider.get().unwrap().decide(request.id, Decision::Approve(Surface::Terminal));
        decided.map_err(|error| Outage::new(Code::Internal, error.to_string()))
    }
}

/// The system's interpreters, pinned.
struct Listed {
    pins: Pins,
    looks: Mutex<usize>,
    on_look: Arc<dyn Fn(usize) + Send + Sync>,
    swaps_after: usize,
    reads: Vec<PathBuf>,
}

impl Interpreters for Listed {
    fn resolve(&self, key: &InterpreterKey) -> Result<PinnedInterpreter, RunError> {
        let mut looks = self.looks.lock().unwrap();
        *looks += 1;
        (self.on_look)(*looks);
        let other = InterpreterKey::parse("bash").unwrap();
        let key = if *looks > self.swaps_after { &other } else { key };
        let choice = Settings::default().interpreter(key).ok_or_else(|| {
            RunError::new(Failure::Policy, Code::InterpreterUnknown, "this host lists no such interpreter")
        })?;
        let pinned = match self.pins.resolve(&choice).unwrap() {
            Resolution::Same(pinned) => pinned,
            Resolution::First(found) => self.pins.pin(&found, None).unwrap(),
            Resolution::Changed(change) => panic!("{change}"),
        };
        Ok(PinnedInterpreter {
            program: pinned.candidate,
            flags: choice.arguments.clone(),
            read_paths: self.reads.clone(),
            identity: pinned.identity,
        })
    }
}

struct SystemClock;
struct SystemEntropy;
struct NoPolicy;
struct Rows(Arc<fumehood_store::Journal>);
struct Store(Artifacts);
struct Spooled(fumehood_store::Spool);

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let read = |clock| {
            let time = clock_gettime(clock);
            Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
        };
        Now { monotonic: read(ClockId::Monotonic), boot: read(ClockId::Boottime) }
    }

    fn wall(&self) -> WallTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        WallTime::from_unix_ms(u64::try_from(since.as_millis()).unwrap())
    }
}

impl Entropy for SystemEntropy {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        use std::io::Read as _;
        let mut bytes = [0; 16];
        fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
        Ok(bytes)
    }
}

impl PolicySource for NoPolicy {
    fn ruling(&self, _: &Facts<'_>) -> Result<Ruling, Outage> {
        Ok(Ruling { policy: Sha256::of(b"no policy"), answer: Answer::NoOpinion { why: String::new() } })
    }
}

impl Journal for Rows {
    fn append(&self, kind: &'static str, json: &[u8], when: Durable) -> Result<(), Outage> {
        let flush = match when {
            Durable::Now => Flush::Now,
            Durable::Soon => Flush::Soon,
        };
        let json = std::str::from_utf8(json).unwrap();
        self.0.append(kind, json, SystemTime::now(), flush).map(|_| ()).map_err(|error| outage(&error))
    }
}

impl Results for Store {
    fn begin(&self, agent: &AgentLabel, run: fumehood_core::RunId) -> Result<Box<dyn Spool>, Outage> {
        let spool = self.0.create(agent.as_str(), &run.to_string(), SystemTime::now());
        Ok(Box::new(Spooled(spool.map_err(|error| outage(&error))?)))
    }
}

impl Spool for Spooled {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        self.0.write(bytes).map_err(|error| outage(&error))
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        let info = self.0.finish().map_err(|error| outage(&error))?;
        Ok(Kept { id: info.id, bytes: info.bytes, lines: info.lines })
    }
}

fn outage(error: &(impl fumehood_core::Coded + std::fmt::Display)) -> Outage {
    Outage::new(error.code(), error.to_string())
}
