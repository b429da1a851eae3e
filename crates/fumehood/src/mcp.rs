//! The Model Context Protocol: one agent's run, on standard input and output.

mod answer;
mod approval;
mod arguments;
mod artifact;
mod calls;
mod fence;
mod incoming;
mod open;
mod progress;
mod question;
mod reading;
mod running;
mod server;
mod stdio;
mod tools;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fumehood_core::Code;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::fault::Fault;
use crate::host::{Host, Session, SessionOptions};
use server::Server;

/// Serves one agent until its client goes away or somebody asks this process to end. Standard output is the protocol's alone.
///
/// When the client goes, whatever still runs for it is killed and whatever it asked for is given up before this comes back.
///
/// # Errors
/// Those of [`Host::open_session`]; `E_OUTPUT_FAILED` where the client does not speak the protocol, or standard streams do not work.
pub fn serve(host: &Host, options: SessionOptions) -> Result<(), Fault> {
    let session = Arc::new(host.open_session(options)?);
    // Where nobody can come to the desk, what a client cannot ask about stays unanswered; all else is as ever.
    let _reachable = host.serve_desk(session.desk()).map_err(|fault| note(&fault)).ok();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS_MAX)
        .build()
        .map_err(|error| broken(&error))?;
    let served = runtime.block_on(attend(session));
    // A read of standard input cannot be taken back; nobody waits for it.
    runtime.shutdown_background();
    served
}

async fn attend(session: Arc<Session>) -> Result<(), Fault> {
    let asked_to_end = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&asked_to_end)).map_err(|error| broken(&error))?;
    }
    let server = Server::new(Arc::clone(&session))?;
    let calls = Arc::clone(server.calls());
    let gone = Arc::clone(&calls);
    let transport = stdio::transport(move || gone.give_up());
    let running = tokio::select! {
        running = server.serve(transport) => running,
        () = is_set(&asked_to_end) => return Ok(()),
    };
    let running = match running {
        Ok(running) => running.waiting(),
        // A client that went before it said anything is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(broken(&error)),
    };
    tokio::pin!(running);
    let is_over = tokio::select! {
        _ = &mut running => true,
        () = calls.gone() => false,
        () = is_set(&asked_to_end) => false,
    };
    calls.give_up();
    session.end();
    calls.settled(SETTLE).await;
    // What is still to be said goes to a client that has only stopped talking.
    if !is_over && !asked_to_end.load(Ordering::Relaxed) {
        let _ = tokio::time::timeout(LAST_WORDS, running).await;
    }
    Ok(())
}

async fn is_set(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK_UP).await;
    }
}

/// For whoever looks after the process: standard output is the protocol's.
fn note(fault: &Fault) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(std::io::stderr(), "fumehood: {}", fumehood_core::Shown::inline(&fault.to_string()));
}

fn broken(error: &dyn std::fmt::Display) -> Fault {
    let error = error.to_string();
    let message = format!("the client cannot be served: {}", fumehood_core::Shown::inline(&error));
    Fault::new(Code::OutputFailed, message, "`serve` is started by an agent, not by hand")
}

/// More than calls are taken at once.
const THREADS_MAX: usize = 64;
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long it waits at the end until nothing runs. What a kill does not end in this time is on record as left.
const SETTLE: Duration = Duration::from_secs(20);
const LAST_WORDS: Duration = Duration::from_secs(2);
