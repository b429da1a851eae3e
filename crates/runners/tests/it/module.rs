//! Tier 1: the wrapper around code of the host's own process.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::code::{Code, Coded as _};
use fumehood_core::tool::{Effect, Failure, Origin, Tier, ToolDefinition};
use fumehood_core::{Json, RawCall, ToolName, ToolSpec};
use fumehood_gate::{Cancel, Completed, Gate, GateError, Offer};
use fumehood_runners::module::{
    ANSWER_BYTES_CEILING, ANSWER_BYTES_DEFAULT, CALLS_MAX, Context, HostTool, Module, ToolFailed,
};

use crate::ports::gate;

const SECRET: &str = "swordfish";
const LONG: Duration = Duration::from_mins(5);

fn spec(timeout: Duration, retries: u32) -> ToolSpec {
    let input = br#"{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}"#;
    ToolSpec::new(ToolDefinition {
        name: "work",
        description: "Works.",
        input: &Json::parse(input, 1 << 16).unwrap(),
        effect: Effect::ReadOnly,
        retries,
        timeout,
        tier: Tier::Module,
        origin: Origin::Host,
        approval: None,
    })
    .unwrap()
}

fn offering(module: Module, timeout: Duration, retries: u32) -> Gate {
    let (gate, _) = gate();
    gate.offer(vec![Offer::new(spec(timeout, retries), module).unwrap()]).unwrap();
    gate
}

fn with(tool: impl HostTool + 'static) -> Gate {
    offering(Module::new(tool), LONG, 0)
}

fn call(gate: &Gate, cancel: &Cancel) -> Result<Completed, GateError> {
    let arguments = format!(r#"{{"text":"{SECRET}"}}"#).into_bytes();
    gate.call(&RawCall { tool: "work".to_owned(), arguments }, cancel)
}

fn live(gate: &Gate) -> usize {
    gate.live(&ToolName::parse("work").unwrap()).unwrap()
}

/// Until it is so. What never comes is ended by whoever runs the tests.
fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_millis(1));
    }
}

// EXE-06, EXE-18, XSF-42: a live tool gets its arguments and its context, and what it answers comes back.
#[test]
fn a_tool_answers() {
    let seen = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&seen);
    let gate = with(move |context: &Context, arguments: &Json| {
        let is_over = context.is_over() || context.is_cancelled();
        *sink.lock()? = Some((context.run(), context.call(), context.attempt(), is_over));
        Ok(arguments.to_bytes())
    });
    let completed = call(&gate, &Cancel::new()).unwrap();
    assert_eq!(completed.output.0, format!(r#"{{"text":"{SECRET}"}}"#).into_bytes());
    assert_eq!(seen.lock().unwrap().take(), Some((gate.run(), completed.call, 1, false)));
    assert_eq!(live(&gate), 0);
}

// EXE-15, EXE-17: an error is a failure, and nothing of it is carried on.
#[test]
fn an_error_is_a_failure() {
    let gate = with(|_: &Context, _: &Json| {
        Err(std::io::Error::other(SECRET))?;
        Ok(Vec::new())
    });
    let error = call(&gate, &Cancel::new()).unwrap_err();
    assert_eq!((error.code(), error.failure), (Code::ToolFailed, Failure::Execution));
    assert!(!format!("{error:?} {error}").contains(SECRET));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new(SECRET));
    }
}

// EXE-15, EXE-16: so is a panic, whatever it carries; and the tool can be called again.
#[test]
fn a_panic_is_a_failure() {
    let payloads: [fn() -> Box<dyn std::any::Any + Send>; 3] =
        [|| Box::new(SECRET), || Box::new(17_u8), || Box::new(Bomb)];
    for payload in payloads {
        let gate = with(move |context: &Context, _: &Json| {
            if context.attempt() == 1 {
                std::panic::resume_unwind(payload());
            }
            Ok(Vec::new())
        });
        for _ in 0..3 {
            let error = call(&gate, &Cancel::new()).unwrap_err();
            assert_eq!(error.code(), Code::ToolFailed);
            assert!(!format!("{error:?} {error}").contains(SECRET));
        }
        assert_eq!(live(&gate), 0);
    }
}

// XSF-27, XSF-40: and it is tried again where the host says so.
#[test]
fn a_failure_is_tried_again() {
    let tool = |context: &Context, _: &Json| match context.attempt() {
        1 => Err(ToolFailed),
        2 => std::panic::resume_unwind(Box::new(SECRET)),
        attempt => Ok(attempt.to_string().into_bytes()),
    };
    assert_eq!(
        call(&offering(Module::new(tool), LONG, 1), &Cancel::new()).unwrap_err().code(),
        Code::ToolFailed
    );
    assert_eq!(call(&offering(Module::new(tool), LONG, 2), &Cancel::new()).unwrap().output.0, b"3");
}

// EXE-19, RES-02: an answer has a limit, and above it is none.
#[test]
fn an_answer_has_a_limit() {
    let tool = |bytes: usize| move |_: &Context, _: &Json| Ok(vec![b'x'; bytes]);
    for (bytes, fits) in [(0, true), (5, true), (6, false)] {
        let module = Module::with_answer_bytes_max(tool(bytes), 5).unwrap();
        let result = call(&offering(module, LONG, 0), &Cancel::new());
        assert_eq!(result.map_err(|error| error.code()).err(), (!fits).then_some(Code::ToolBadResponse));
    }
    let by_default = |bytes| call(&with(tool(bytes)), &Cancel::new()).is_ok();
    assert!(by_default(ANSWER_BYTES_DEFAULT) && !by_default(ANSWER_BYTES_DEFAULT + 1));
    for (bytes, is_taken) in
        [(0, false), (1, true), (ANSWER_BYTES_CEILING, true), (ANSWER_BYTES_CEILING + 1, false)]
    {
        assert_eq!(Module::with_answer_bytes_max(tool(0), bytes).is_ok(), is_taken, "{bytes}");
    }
}

// EXE-26, X-23, XSF-43, XSF-44: a tool that does not end comes back to the caller as one that may still be running; it is
// busy until it does, and its answer then goes nowhere.
#[test]
fn a_tool_that_hangs_is_left_and_counted() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let tool = move |_: &Context, _: &Json| {
        let _ = held.lock()?.recv();
        Ok(SECRET.into())
    };
    let gate = offering(Module::new(tool), Duration::from_millis(50), 0);
    let start = Instant::now();
    let error = call(&gate, &Cancel::new()).unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!((error.code(), error.failure), (Code::ToolTimeout, Failure::Timeout));
    assert!(error.to_string().contains("may still be running"));
    assert_eq!(live(&gate), 1);
    drop(release);
    until(|| live(&gate) == 0);
    // And it can be called again, however slow the machine is.
    until(|| call(&gate, &Cancel::new()).is_ok());
}

// XSF-20, XSF-43, EXE-65: a caller who gives up is another matter than a time that is over, and a tool that looks ends.
#[test]
fn a_caller_may_give_up() {
    let started = Arc::new(Barrier::new(2));
    let there = Arc::clone(&started);
    let gate = with(move |context: &Context, _: &Json| {
        there.wait();
        until(|| context.is_over());
        assert!(context.is_cancelled());
        Ok(Vec::new())
    });
    let cancel = Cancel::new();
    let result = thread::scope(|scope| {
        let caller = scope.spawn(|| call(&gate, &cancel));
        started.wait();
        cancel.cancel();
        caller.join().unwrap()
    });
    // Whoever looks may be done before anybody stops waiting.
    assert!(result.is_ok() || result.is_err_and(|error| error.code() == Code::Cancelled));
    until(|| live(&gate) == 0);
}

// The same for a tool that does not look.
#[test]
fn a_call_that_was_given_up_may_still_be_running() {
    let (started, (release, held)) = (Arc::new(Barrier::new(2)), channel::<()>());
    let (there, held) = (Arc::clone(&started), Mutex::new(held));
    let gate = with(move |_: &Context, _: &Json| {
        there.wait();
        let _ = held.lock()?.recv();
        Ok(Vec::new())
    });
    let cancel = Cancel::new();
    let error = thread::scope(|scope| {
        let caller = scope.spawn(|| call(&gate, &cancel));
        started.wait();
        cancel.cancel();
        caller.join().unwrap().unwrap_err()
    });
    assert_eq!((error.code(), error.failure), (Code::Cancelled, Failure::Cancelled));
    assert!(error.to_string().contains("may still be running"));
    assert_eq!(gate.withdraw(&ToolName::parse("work").unwrap()), Some(1));
    drop(release);
}

// XSF-43: a tool that looks learns that its time is over.
#[test]
fn a_tool_that_looks_ends() {
    let gate = offering(
        Module::new(|context: &Context, _: &Json| {
            until(|| context.is_over());
            assert!(!context.is_cancelled() && Instant::now() >= context.deadline());
            Err(ToolFailed)
        }),
        Duration::from_millis(20),
        0,
    );
    let error = call(&gate, &Cancel::new()).unwrap_err();
    assert!(matches!(error.code(), Code::ToolTimeout | Code::ToolFailed));
    until(|| live(&gate) == 0);
}

// Calls that hang do not pile up without end: above the limit no more are begun, and below it they are.
#[test]
fn calls_that_hang_are_limited() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let tool = move |_: &Context, _: &Json| {
        let _ = held.lock()?.recv();
        Ok(Vec::new())
    };
    let gate = offering(Module::new(tool), Duration::from_millis(1), 0);
    for _ in 0..CALLS_MAX {
        assert_eq!(call(&gate, &Cancel::new()).unwrap_err().code(), Code::ToolTimeout);
    }
    let error = call(&gate, &Cancel::new()).unwrap_err();
    assert_eq!((error.code(), error.failure), (Code::ToolBusy, Failure::Host));
    assert_eq!(live(&gate), CALLS_MAX);
    drop(release);
    until(|| live(&gate) == 0);
    // A thread is gone a moment after its call is over.
    until(|| call(&gate, &Cancel::new()).is_ok());
}

// Threads are used again: so many calls, one after another, and one thread.
#[test]
fn a_thread_is_used_again() {
    let threads = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&threads);
    let gate = with(move |_: &Context, _: &Json| {
        seen.lock()?.insert(format!("{:?}", thread::current().id()));
        Ok(Vec::new())
    });
    for _ in 0..100 {
        let _ = call(&gate, &Cancel::new()).unwrap();
    }
    assert_eq!(threads.lock().unwrap().len(), 1);
    // Callers at once do not wait for each other.
    let both = Arc::new(Barrier::new(2));
    let gate = with(move |_: &Context, _: &Json| {
        both.wait();
        Ok(Vec::new())
    });
    thread::scope(|scope| {
        let callers = [(); 2].map(|()| scope.spawn(|| call(&gate, &Cancel::new()).is_ok()));
        assert!(callers.into_iter().all(|caller| caller.join().unwrap()));
    });
}
