//! Which lines of a text differ from those of another.
//!
//! Myers' greedy search for the shortest difference, in stretches: after [`STRETCH_EDITS_MAX`] edits the path that came
//! furthest is kept and the search begins anew where it ended. Small differences are shortest ones, large ones may be longer
//! than they need be, and none is ever wrong. Texts of `n` lines together cost at most about `n × STRETCH_EDITS_MAX` steps,
//! whoever wrote them; callers bound the bytes.

use std::collections::{BTreeMap, VecDeque};

/// Edits that are searched for the shortest way before what was found is kept.
pub const STRETCH_EDITS_MAX: usize = 128;

/// One line of a difference. A text has its line feed, unless it is the last one and has none; nothing else ends a line,
/// so a carriage return is part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// In both.
    Kept {
        /// Its number in the old text, from 1.
        old: usize,
        /// Its number in the new text, from 1.
        new: usize,
        /// The line.
        text: &'a str,
    },
    /// Only in the old text.
    Removed {
        /// Its number in the old text, from 1.
        line: usize,
        /// The line.
        text: &'a str,
    },
    /// Only in the new text.
    Added {
        /// Its number in the new text, from 1.
        line: usize,
        /// The line.
        text: &'a str,
    },
}

impl DiffLine<'_> {
    /// Whether the line is in both texts.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// All lines of both texts in order: the kept and removed ones make up `old`, the kept and added ones `new`. Among lines that
/// stand between two kept ones, those removed come first.
///
/// ```
/// use fumehood_core::line_diff::{DiffLine, line_diff};
/// let lines = line_diff("a\nb\n", "a\nc\n");
/// assert_eq!(lines[1], DiffLine::Removed { line: 2, text: "b\n" });
/// assert_eq!(lines[2], DiffLine::Added { line: 2, text: "c\n" });
/// ```
pub fn line_diff<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    // Lines are compared by number, so that long lines with a common start cost nothing.
    let mut numbers = BTreeMap::new();
    let mut number = |line: &&'a str| {
        let next = numbers.len();
        *numbers.entry(*line).or_insert(next)
    };
    let old_numbers: Vec<_> = old.iter().map(&mut number).collect();
    let new_numbers: Vec<_> = new.iter().map(&mut number).collect();

    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    let (mut x, mut y) = (0, 0);
    let mut added = Vec::new();
    for edit in edits(&old_numbers, &new_numbers) {
        match edit {
            Edit::Keep => {
                lines.append(&mut added);
                lines.push(DiffLine::Kept { old: x + 1, new: y + 1, text: old[x] });
            }
            Edit::Remove => lines.push(DiffLine::Removed { line: x + 1, text: old[x] }),
            Edit::Add => added.push(DiffLine::Added { line: y + 1, text: new[y] }),
        }
        x += usize::from(edit != Edit::Add);
        y += usize::from(edit != Edit::Remove);
    }
    lines.append(&mut added);
    lines
}

/// The lines that differ, and kept ones at most `context` lines before or after them. Where something was left out, the
/// numbers of the lines show it.
pub fn near_changes<'a>(lines: impl IntoIterator<Item = DiffLine<'a>>, context: usize) -> Vec<DiffLine<'a>> {
    let mut near = Vec::new();
    let mut before = VecDeque::with_capacity(context.min(64));
    let mut after = 0;
    for line in lines {
        if !line.is_kept() {
            near.extend(before.drain(..));
            near.push(line);
            after = context;
        } else if after > 0 {
            near.push(line);
            after -= 1;
        } else if context > 0 {
            if before.len() == context {
                before.pop_front();
            }
            before.push_back(line);
        }
    }
    near
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Keep,
    Remove,
    Add,
}

fn edits(old: &[usize], new: &[usize]) -> Vec<Edit> {
    let (mut x, mut y) = (0, 0);
    let mut edits = Vec::new();
    while x < old.len() || y < new.len() {
        let stretch = stretch(&old[x..], &new[y..]);
        x += stretch.iter().filter(|edit| **edit != Edit::Add).count();
        y += stretch.iter().filter(|edit| **edit != Edit::Remove).count();
        edits.extend(stretch);
    }
    edits
}

/// A way from the start to the end, or, if that takes too many edits, the one that comes furthest with as many as there may be.
///
/// Row `d` holds how far `d` edits come at best: entry `i` is the number of old lines behind the path on the diagonal where
/// `2 i - d` more old lines than new ones are, or nothing if no path ends on it.
fn stretch(old: &[usize], new: &[usize]) -> Vec<Edit> {
    let end = (old.len(), new.len());
    let mut rows: Vec<Vec<Option<usize>>> = Vec::new();
    for d in 0..=STRETCH_EDITS_MAX {
        let mut row = Vec::with_capacity(d + 1);
        for i in 0..=d {
            let entered = match rows.last() {
                None => Some(0),
                Some(previous) => enter(previous, i, end).map(|(x, _)| x),
            };
            let left = entered.map(|x| {
                let y = x + d - 2 * i;
                x + old[x..].iter().zip(&new[y..]).take_while(|(old, new)| old == new).count()
            });
            row.push(left);
            if left.is_some_and(|x| (x, x + d - 2 * i) == end) {
                return way(&rows, i, end, end);
            }
        }
        rows.push(row);
    }
    let d = rows.len() - 1;
    let ends = rows[d].iter().enumerate().filter_map(|(i, x)| x.map(|x| (i, (x, x + d - 2 * i))));
    let furthest = ends.max_by_key(|(_, (x, y))| x + y);
    rows.truncate(d);
    // Every row but that of the end has a path, for one that is not at the end can be made longer.
    furthest.map_or_else(Vec::new, |(i, reached)| way(&rows, i, reached, end))
}

/// How the path that comes furthest gets onto diagonal `i` of the next row: how many old lines are behind it then.
fn enter(previous: &[Option<usize>], i: usize, end: (usize, usize)) -> Option<(usize, Edit)> {
    let d = previous.len();
    let at = |i: usize| previous.get(i).copied().flatten();
    let removed = i.checked_sub(1).and_then(at).filter(|x| *x < end.0).map(|x| (x + 1, Edit::Remove));
    let added = at(i).filter(|x| x + d - 2 * i <= end.1).map(|x| (x, Edit::Add));
    match (removed, added) {
        (Some(removed), Some(added)) => Some(if removed.0 > added.0 { removed } else { added }),
        (one, other) => one.or(other),
    }
}

/// The edits to a point on diagonal `i` of the row after `rows`.
fn way(rows: &[Vec<Option<usize>>], mut i: usize, reached: (usize, usize), end: (usize, usize)) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut x = reached.0;
    for row in rows.iter().rev() {
        let Some((entered, edit)) = enter(row, i, end) else { break };
        edits.extend(std::iter::repeat_n(Edit::Keep, x - entered));
        edits.push(edit);
        x = entered - usize::from(edit == Edit::Remove);
        i -= usize::from(edit == Edit::Remove);
    }
    edits.extend(std::iter::repeat_n(Edit::Keep, x));
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sides(lines: &[DiffLine<'_>]) -> (String, String) {
        let (mut before, mut after) = (String::new(), String::new());
        for line in lines {
            match line {
                DiffLine::Kept { text, old, new } => {
                    assert_eq!(*old, before.matches('\n').count() + 1);
                    assert_eq!(*new, after.matches('\n').count() + 1);
                    before.push_str(text);
                    after.push_str(text);
                }
                DiffLine::Removed { text, line } => {
                    assert_eq!(*line, before.matches('\n').count() + 1);
                    before.push_str(text);
                }
                DiffLine::Added { text, line } => {
                    assert_eq!(*line, after.matches('\n').count() + 1);
                    after.push_str(text);
                }
            }
        }
        (before, after)
    }

    fn changes(lines: &[DiffLine<'_>]) -> usize {
        lines.iter().filter(|line| !line.is_kept()).count()
    }

    /// The length of the shortest difference, worked out the slow way.
    fn shortest(old: &str, new: &str) -> usize {
        let (old, new): (Vec<_>, Vec<_>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (x, a) in old.iter().enumerate() {
            for (y, b) in new.iter().enumerate() {
                let best = common[x][y + 1].max(common[x + 1][y]);
                common[x + 1][y + 1] = if a == b { common[x][y] + 1 } else { best };
            }
        }
        old.len() + new.len() - 2 * common[old.len()][new.len()]
    }

    proptest! {
        #[test]
        fn applying_it_gives_the_new_text_and_none_is_shorter(old in "[ab\r\n]{0,60}", new in "[ab\r\n]{0,60}") {
            let lines = line_diff(&old, &new);
            prop_assert_eq!(sides(&lines), (old.clone(), new.clone()));
            prop_assert_eq!(changes(&lines), shortest(&old, &new));
        }

        #[test]
        fn what_is_left_out_is_far_from_every_change(old in "[abc\n]{0,80}", new in "[abc\n]{0,80}", context in 0_usize..4) {
            let lines = line_diff(&old, &new);
            let near = near_changes(lines.iter().copied(), context);
            let kept = lines.iter().enumerate().filter(|(at, _)| {
                let around = at.saturating_sub(context)..(at + context + 1).min(lines.len());
                lines[around].iter().any(|line| !line.is_kept())
            });
            prop_assert_eq!(near, kept.map(|(_, line)| *line).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_difference_of_many_stretches_is_right_and_finds_what_is_kept() {
        let text = |line: &dyn Fn(usize) -> String| (0..2000).map(line).collect::<Vec<_>>().concat();
        let old = text(&|n| format!("{n}\n"));
        // Every third line is another, so that no stretch reaches the end.
        let new = text(&|n| if n % 3 == 0 { format!("new {n}\n") } else { format!("{n}\n") });
        let lines = line_diff(&old, &new);
        assert_eq!(sides(&lines), (old.clone(), new.clone()));
        let changes = changes(&lines);
        assert!((1334..1400).contains(&changes), "{changes}");
    }

    #[test]
    fn texts_with_nothing_in_common_are_removed_and_added() {
        let (old, new) = ("a\n".repeat(2000), "b\n".repeat(2000));
        let lines = line_diff(&old, &new);
        assert_eq!(sides(&lines), (old.clone(), new.clone()));
        assert_eq!(changes(&lines), 4000);
    }

    #[test]
    fn a_line_feed_at_the_end_is_a_difference_and_so_is_a_carriage_return() {
        let cases = [("a", "a\n", 2), ("a\r\n", "a\n", 2), ("", "", 0), ("", "a", 1), ("a\nb", "a\nb", 0)];
        for (old, new, expected) in cases {
            assert_eq!(changes(&line_diff(old, new)), expected, "{old:?} {new:?}");
        }
    }
}
