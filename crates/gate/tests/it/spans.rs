//! Whoever subscribes to spans sees the ids that events and records have, and nothing that a caller wrote.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use fumehood_core::tool::Approval;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::world::{SECRET, TOOL, Tool, World};

/// Writes down every span and event.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Line<'l>(&'l mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = format!("span {}", span.metadata().name());
        span.record(&mut Line(&mut line));
        self.0.lock().unwrap().push(line);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = "event".to_owned();
        event.record(&mut Line(&mut line));
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

// XSF-19, XSF-47, XSF-58
#[test]
fn a_span_carries_the_ids_of_its_call() {
    let notes = Notes::default();
    let world = World::new(&Tool::new(Approval::Policy));
    let completed = tracing::subscriber::with_default(notes.clone(), || world.call().unwrap());
    let lines = notes.0.lock().unwrap();
    let span = format!("span call run={} call={} tool=\"{TOOL}\"", world.gate.run(), completed.call);
    assert_eq!(lines[0], span);
    let events: Vec<_> = lines.iter().filter(|line| line.starts_with("event")).collect();
    let names = ["approval.required", "approval.granted", "tool.called", "tool.completed"];
    assert_eq!(events.len(), names.len(), "{lines:?}");
    assert!(events.iter().zip(names).all(|(event, name)| event.contains(name)), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains(SECRET)));
}
