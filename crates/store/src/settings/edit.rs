//! Changing one overlay or the passphrase in `fumehood.toml`, and nothing else in it.
//!
//! The file is the person's: comments, order and spelling stay as they are, byte for byte. A parser says where the tables of
//! what is changed begin and end; what comes out is read back before it is written, and must be the settings that were there with
//! this one thing changed.

mod error;
mod passphrase;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::overlay::{Overlay, overlays_to_toml};
use super::{FILE, Places, Settings, tables};
use crate::home::{Home, Surroundings};
use crate::own::OwnDir;

pub use error::EditError;

impl Settings {
    /// Puts an overlay into the file: at its end, or in place of the one for the same source and skill. Returns whether that
    /// changed anything.
    ///
    /// `shown` is the overlay that is there, as the person has seen it; if it is another by now, nothing is changed. The file
    /// is replaced as a whole, with mode 0600, and made if there is none. Commands at once take turns; an editor does not, and
    /// what it wrote between the reading here and the replacing would be lost.
    ///
    /// # Errors
    /// [`EditError`]; the file is then as it was.
    pub fn put_overlay(
        home: &Home,
        surroundings: &Surroundings,
        overlay: &Overlay,
        shown: Option<&Overlay>,
    ) -> Result<bool, EditError> {
        edit(home, surroundings, |text, before| {
            let position = before.overlays.iter().position(|old| is_for_same(old, overlay));
            let old = position.map(|at| &before.overlays[at]);
            if old == Some(overlay) {
                return Ok(None);
            }
            if old != shown {
                return Err(EditError::Changed);
            }
            let piece = overlays_to_toml(std::slice::from_ref(overlay));
            let piece = piece.map_err(|_| EditError::Uneditable("cannot hold a number of the overlay"))?;
            let mut wanted = before.clone();
            let after = if let Some(at) = position {
                wanted.overlays[at] = overlay.clone();
                replaced(text, at, &piece).ok_or(EditError::Uneditable(TANGLED))?
            } else {
                wanted.overlays.push(overlay.clone());
                appended(text, &piece)
            };
            Ok(Some(Edited { after, wanted, tangled: TANGLED }))
        })
    }
}

/// What is to become of the file, and what it must then say.
struct Edited {
    after: String,
    wanted: Settings,
    /// What the file is, if it says something else then.
    tangled: &'static str,
}

/// The one way to change the file: under the lock, to a text that was read back, whole. Returns whether anything changed.
fn edit(
    home: &Home,
    surroundings: &Surroundings,
    change: impl FnOnce(&str, &Settings) -> Result<Option<Edited>, EditError>,
) -> Result<bool, EditError> {
    home.make_state().map_err(EditError::Home)?;
    let state = OwnDir::open(&home.state).map_err(|_| EditError::Unusable("lies beside no state of ours"))?;
    let _lock = state.lock(LOCK).map_err(|_| EditError::Unusable("cannot be locked"))?;
    let path = home.config.join(FILE.name);
    // What replaces a link leaves the file behind it as it was, and that is the one that its owner looks after.
    if path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink()) {
        return Err(EditError::Uneditable("is a link"));
    }
    let text = FILE.read(home).map_err(|refused| EditError::Settings(refused.into()))?.unwrap_or_default();
    let places = Places { config: &home.config, home: surroundings.absolute_home() };
    let read = |text: &str| tables::read(text, places);
    let before = read(&text).map_err(|_| EditError::Changed)?;
    let Some(Edited { after, wanted, tangled }) = change(&text, &before)? else { return Ok(false) };
    if after.len() as u64 > FILE.bytes_max {
        return Err(EditError::Uneditable("would be larger than 256 KiB"));
    }
    if read(&after).as_ref() != Ok(&wanted) {
        return Err(EditError::Uneditable(tangled));
    }
    home.make_config().map_err(EditError::Home)?;
    let folder = OwnDir::open_visible(&home.config);
    let folder = folder.map_err(|_| EditError::Unusable("lies in a folder that is not the caller's"))?;
    let written = folder.replace_file(FILE.name, after.as_bytes());
    written.map_err(|_| EditError::Unusable("cannot be replaced"))?;
    Ok(true)
}

fn is_for_same(one: &Overlay, other: &Overlay) -> bool {
    one.source() == other.source() && one.skill() == other.skill()
}

/// The text with a piece behind it, set off by an empty line.
fn appended(text: &str, piece: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{piece}")
}

/// The text with a piece in place of the overlay at a position. What belongs to other tables and stands between parts of the
/// overlay stays where it is; a comment between two lines of the overlay goes with it.
fn replaced(text: &str, position: usize, piece: &str) -> Option<String> {
    let parsed = DeTable::parse(text).ok()?;
    let mut spans = Vec::new();
    for (key, value) in parsed.get_ref() {
        match value.get_ref() {
            DeValue::Array(overlays) if key.get_ref() == "overlay" => {
                for (at, overlay) in overlays.iter().enumerate() {
                    collect(&mut spans, overlay.span(), overlay, at == position);
                }
            }
            _ => collect(&mut spans, key.span(), value, false),
        }
    }
    spans.sort_by_key(|(span, _)| (span.start, span.end));
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut goes_on = false;
    for (span, is_ours) in spans {
        match runs.last_mut().filter(|_| goes_on) {
            Some(run) if is_ours => run.end = run.end.max(span.end),
            _ if is_ours => runs.push(span),
            _ => {}
        }
        goes_on = is_ours;
    }
    let mut after = String::with_capacity(text.len() + piece.len());
    let mut from = 0;
    for (index, run) in runs.iter().enumerate() {
        let start = text.get(..run.start)?.rfind('\n').map_or(0, |at| at + 1);
        let end = text.get(run.end..)?.find('\n').map_or(text.len(), |at| run.end + at + 1);
        after.push_str(text.get(from..start)?);
        if index == 0 {
            after.push_str(piece);
        }
        from = end;
    }
    after.push_str(text.get(from..)?);
    (!runs.is_empty()).then_some(after)
}

/// Where each table's header, key and value stands.
fn collect(
    spans: &mut Vec<(Range<usize>, bool)>,
    key: Range<usize>,
    value: &Spanned<DeValue<'_>>,
    is_ours: bool,
) {
    spans.extend([(key, is_ours), (value.span(), is_ours)]);
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                collect(spans, key.span(), value, is_ours);
            }
        }
        DeValue::Array(items) => {
            for item in items {
                collect(spans, item.span(), item, is_ours);
            }
        }
        _ => {}
    }
}

const LOCK: &str = "settings-lock";
const TANGLED: &str = "has its overlays in a form that cannot be changed by itself";

#[cfg(test)]
mod tests;
