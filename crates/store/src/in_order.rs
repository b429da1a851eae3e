//! Work on many items by all processors, with the answers in the items' order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs `find`, which hands over items one by one, has `look` done to each, and gives the answers to `take` in the order of the
/// items, on the caller's own thread. Returns what `find` does.
///
/// The first few are looked at where they are found, so that a handful costs no thread. From then on one thread for each further
/// processor, at most three, looks as well. Where these fall behind, the finder looks itself: no more than eight items wait at
/// any time. A panic of any of the three functions is the caller's.
pub fn in_order<I: Send, O: Send, R>(
    look: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(O),
    find: impl FnOnce(&mut dyn FnMut(I)) -> R,
) -> R {
    let line = Line { queue: Mutex::new(Queue::default()), changed: Condvar::new() };
    let found = thread::scope(|scope| {
        // Threads that wait would hold up a panic for ever.
        let _end = End(&line);
        let mut count = 0;
        let found = find(&mut |item| {
            count += 1;
            if count <= ALONE_MAX {
                return take(look(item));
            }
            if count == ALONE_MAX + 1 {
                for _ in 0..further_processors() {
                    // A system that gives no thread leaves more to those there are.
                    let _ = thread::Builder::new().spawn_scoped(scope, || line.work(&look));
                }
            }
            line.add(item, &look);
            line.take(&mut take);
        });
        while let Some((position, item)) = line.first() {
            line.answer(position, look(item));
            line.take(&mut take);
        }
        found
    });
    line.take(&mut take);
    found
}

/// What waits between the finder and those who look.
struct Line<I, O> {
    queue: Mutex<Queue<I, O>>,
    /// There is another item, or there will be none.
    changed: Condvar,
}

struct Queue<I, O> {
    items: VecDeque<(usize, I)>,
    answers: BTreeMap<usize, O>,
    added: usize,
    taken: usize,
    /// Threads that wait for an item.
    waiting: usize,
    ended: bool,
}

impl<I, O> Line<I, O> {
    /// No panic can happen under the lock and leave a queue half changed.
    fn lock(&self) -> MutexGuard<'_, Queue<I, O>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item to those that wait; looks at it at once if they are too many.
    fn add(&self, item: I, look: &impl Fn(I) -> O) {
        let mut queue = self.lock();
        let position = queue.added;
        queue.added += 1;
        if queue.items.len() < WAITING_MAX {
            queue.items.push_back((position, item));
            // To wake nobody costs as much as to wake somebody.
            let is_waited_for = queue.waiting > 0;
            drop(queue);
            if is_waited_for {
                self.changed.notify_one();
            }
        } else {
            drop(queue);
            self.answer(position, look(item));
        }
    }

    fn first(&self) -> Option<(usize, I)> {
        self.lock().items.pop_front()
    }

    fn answer(&self, position: usize, answer: O) {
        self.lock().answers.insert(position, answer);
    }

    /// Hands over the answers that have none missing before them.
    fn take(&self, take: &mut impl FnMut(O)) {
        loop {
            let mut queue = self.lock();
            let next = queue.taken;
            let Some(answer) = queue.answers.remove(&next) else { return };
            queue.taken += 1;
            drop(queue);
            take(answer);
        }
    }

    /// Looks at items until there will be no more.
    fn work(&self, look: &impl Fn(I) -> O) {
        loop {
            let mut queue = self.lock();
            while queue.items.is_empty() && !queue.ended {
                queue.waiting += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.waiting -= 1;
            }
            let Some((position, item)) = queue.items.pop_front() else { return };
            drop(queue);
            self.answer(position, look(item));
        }
    }
}

/// Tells those who wait for items that there will be no more.
struct End<'l, I, O>(&'l Line<I, O>);

impl<I, O> Drop for End<'_, I, O> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.ended = true;
        if queue.waiting > 0 {
            self.0.changed.notify_all();
        }
    }
}

// Derived, it would ask the same of items and answers.
impl<I, O> Default for Queue<I, O> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            answers: BTreeMap::new(),
            added: 0,
            taken: 0,
            waiting: 0,
            ended: false,
        }
    }
}

fn further_processors() -> usize {
    thread::available_parallelism().map_or(0, |count| count.get() - 1).min(THREADS_MAX)
}

/// Items that are looked at before threads are worth their start.
const ALONE_MAX: usize = 16;
/// Items that wait. Each may hold a handle, of which a process can have few.
const WAITING_MAX: usize = 8;
/// Threads beside the finder's, each of which may hold handles too.
const THREADS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items_whoever_gave_them() {
        for count in [0, 1, ALONE_MAX, ALONE_MAX + 1, ALONE_MAX + WAITING_MAX + 1, 5000] {
            let mut answers = Vec::new();
            let uneven =
                |item: usize| (0..item % 7 * 500).fold(item, |sum, i| std::hint::black_box(sum + i) - i);
            let said = in_order(
                uneven,
                |answer| answers.push(answer),
                |found| {
                    (0..count).for_each(found);
                    "done"
                },
            );
            assert_eq!((said, answers), ("done", (0..count).collect()));
        }
    }

    #[test]
    fn a_few_are_looked_at_where_they_are_found() {
        let own = thread::current().id();
        let look = |_| assert_eq!(thread::current().id(), own);
        let mut seen = 0;
        in_order(look, |()| seen += 1, |found| (0..ALONE_MAX).for_each(found));
        assert_eq!(seen, ALONE_MAX);
    }

    #[test]
    fn others_look_while_the_finder_finds() {
        if further_processors() == 0 {
            println!("skipped: one processor");
            return;
        }
        // The finder goes on only once somebody else has looked at the item before.
        let meeting = Barrier::new(2);
        let mut seen = 0;
        in_order(
            |item| {
                if item == ALONE_MAX {
                    _ = meeting.wait();
                }
            },
            |()| seen += 1,
            |found| {
                (0..=ALONE_MAX).for_each(&mut *found);
                meeting.wait();
            },
        );
        assert_eq!(seen, ALONE_MAX + 1);
    }

    struct Held<'h>(&'h AtomicUsize);

    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn no_more_wait_than_a_few() {
        let [held, most] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        in_order(
            |item: Held<'_>| {
                most.fetch_max(held.load(Ordering::Relaxed), Ordering::Relaxed);
                (0..20_000).for_each(|i| _ = std::hint::black_box(i));
                drop(item);
            },
            |()| {},
            |found| {
                for _ in 0..2000 {
                    held.fetch_add(1, Ordering::Relaxed);
                    found(Held(&held));
                }
            },
        );
        let most = most.into_inner();
        assert!(most <= WAITING_MAX + THREADS_MAX + 1 && most > 0, "{most}");
        assert_eq!(held.into_inner(), 0);
    }

    #[test]
    fn a_panic_reaches_the_caller_from_wherever_it_is() {
        let run = |at: &'static str| {
            std::panic::catch_unwind(move || {
                in_order(
                    |item| assert!(at != "look" || item != 100),
                    |()| assert_ne!(at, "take"),
                    |found| {
                        (0..200).for_each(found);
                        assert_ne!(at, "find");
                    },
                );
            })
        };
        assert!(run("nowhere").is_ok());
        for at in ["look", "take", "find"] {
            assert!(run(at).is_err(), "{at}");
        }
    }
}
