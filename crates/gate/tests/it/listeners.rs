//! Listeners hear everything in order, and none of them can harm a call.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fumehood_core::Event;
use fumehood_core::tool::Approval;
use fumehood_gate::Listeners;

use crate::world::{Ears, Tool, World, brief};

// XSF-19, XSF-36: events in order, for each listener.
#[test]
fn each_listener_hears_all_in_order() {
    let world = World::new(&Tool::new(Approval::Policy));
    for _ in 0..100 {
        let _ = world.call().unwrap();
        assert_eq!(
            world.told(),
            ["approval.required", "approval.granted", "tool.called 1", "tool.completed 1"]
        );
    }
}

// A listener that panics misses what it panicked on and hears the rest; the one beside it hears everything.
#[test]
fn a_listener_that_panics_harms_nobody() {
    let (heard, mut listeners) = (Arc::new(Mutex::new(Vec::new())), Listeners::new());
    assert!(listeners.add(|event: &Event| {
        if event.kind().name() == "tool.called" {
            std::panic::resume_unwind(Box::new("no"));
        }
    }));
    let sink = Arc::clone(&heard);
    assert!(listeners.add(move |event: &Event| {
        sink.lock().unwrap().push(brief(event));
        std::panic::resume_unwind(Box::new("no"));
    }));
    let ears = Ears { listeners: Arc::new(listeners), ..Ears::new() };
    let world = World::heard_by(&Tool::new(Approval::Auto), &ears);
    let _ = world.call().unwrap();
    let _ = world.call().unwrap();
    assert!(ears.listeners.settle(Duration::from_mins(1)));
    let expected = ["tool.called 1", "tool.completed 1", "tool.called 1", "tool.completed 1"];
    assert_eq!(*heard.lock().unwrap(), expected);
}

// A listener that hangs: calls go on, the one beside it hears everything, and what it misses is counted.
#[test]
fn a_listener_that_hangs_harms_nobody() {
    let (release, held) = channel::<()>();
    let mut listeners = Listeners::new();
    assert!(listeners.add(move |_: &Event| {
        let _ = held.recv();
    }));
    let heard = Arc::new(Mutex::new(0));
    let sink = Arc::clone(&heard);
    assert!(listeners.add(move |_: &Event| *sink.lock().unwrap() += 1));
    let ears = Ears { listeners: Arc::new(listeners), ..Ears::new() };
    let world = World::heard_by(&Tool::new(Approval::Auto), &ears);
    let mut said = 0;
    while ears.listeners.missed() < 10 {
        let _ = world.call().unwrap();
        said += 2;
        // The one that works keeps up.
        while *heard.lock().unwrap() < said {
            std::thread::yield_now();
        }
    }
    // One is being heard, 1,024 wait, and whatever was too much is counted.
    let missed = ears.listeners.missed();
    assert!((1_024..=1_025).contains(&(said - missed)), "{said} {missed}");
    assert!(!ears.listeners.settle(Duration::ZERO));
    drop(release);
    assert!(ears.listeners.settle(Duration::from_mins(1)));
    assert_eq!(*heard.lock().unwrap(), said);
}
