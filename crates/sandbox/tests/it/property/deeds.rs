//! What comes of each thing that a child tries: the model of the kernel, as far as a profile decides.

use std::collections::BTreeMap;

use super::model::{At, EXECUTE, Mistake, Model, Node, READ, Refused, WRITE, What};
use super::plan::parent;
use super::world::PROGRAM;

type Answer = Result<String, Refused>;
type Done = Result<(), Refused>;

impl Model {
    /// The line that the child will write.
    pub(super) fn answer(&mut self, words: &[String]) -> String {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let nothing = |()| String::new();
        let answer = match words.as_slice() {
            ["read", path] => self.read(path),
            ["list", path] => self.list(path),
            ["look", path] => self.look(path),
            ["write", path, text] => self.write(path, Some(text)).map(nothing),
            ["cut", path] => self.write(path, None).map(nothing),
            ["create", path, text] => {
                self.make(path, What::File(text.as_bytes().to_vec()), 0o644).map(nothing)
            }
            ["folder", path] => self.make(path, What::Folder(BTreeMap::new()), 0o755).map(nothing),
            ["fifo", path] => self.make(path, What::Fifo, 0o644).map(nothing),
            ["link", "", _] => Err("missing"),
            ["link", target, path] => self.make(path, What::Link((*target).to_owned()), 0o777).map(nothing),
            ["name", old, new] => self.name(old, new).map(nothing),
            ["move", old, new] => self.rename(old, new).map(nothing),
            ["remove", path] => self.remove(path, false).map(nothing),
            ["remove-folder", path] => self.remove(path, true).map(nothing),
            ["mode", path, mode] => self.change_mode(path, mode).map(nothing),
            ["run", path] => self.run(path).map(nothing),
            ["connect", path] if self.mistake == Some(Mistake::SocketsConnect) && self.is_socket(path) => {
                Ok(String::new())
            }
            // No socket and no device is ever made; and pid 1 is there, and not the child's.
            ["connect" | "socket" | "device", _] | ["signal", "1"] => Err("denied"),
            ["signal", "itself" | "group" | "child"] => Ok(String::new()),
            ["signal", _] if self.mistake == Some(Mistake::HostHearsSignals) => Ok(String::new()),
            ["signal", _] => Err("no-process"),
            _ => Err("not understood"),
        };
        answer.map_or_else(|refused| format!("refused {refused}"), |seen| format!("ok{seen}"))
    }

    fn follow(&self, path: &str) -> Result<At, Refused> {
        self.walk(self.here, path, true, false)
    }

    fn is_socket(&self, path: &str) -> bool {
        self.follow(path).is_ok_and(|place| matches!(self.nodes[place.node].what, What::Socket))
    }

    fn needs(&self, place: At, wanted: u32) -> Done {
        if self.may(place, wanted) { Ok(()) } else { Err("denied") }
    }

    fn needs_writable(&self, place: At) -> Done {
        if self.mounts[place.mount].may_write { Ok(()) } else { Err("denied") }
    }

    fn read(&self, path: &str) -> Answer {
        let place = self.follow(path)?;
        self.needs(place, READ)?;
        match &self.nodes[place.node].what {
            What::Folder(_) => Err("folder"),
            What::File(content) => Ok(format!(" {}", content[..content.len().min(256)].escape_ascii())),
            What::Socket => Err("no-partner"),
            // Nobody writes into it.
            What::Fifo | What::Link(_) | What::Device { .. } => Ok(" ".to_owned()),
        }
    }

    fn list(&self, path: &str) -> Answer {
        let place = self.follow(path)?;
        let names = self.names(place)?;
        self.needs(place, READ)?;
        let names: Vec<&str> = names.keys().map(String::as_str).collect();
        Ok(format!(" {}", names.join(",")))
    }

    fn look(&self, path: &str) -> Answer {
        let node = &self.nodes[self.walk(self.here, path, false, false)?.node];
        let kind = match &node.what {
            What::Link(target) => return Ok(format!(" link {target}")),
            What::Folder(_) => "folder",
            What::File(_) => "file",
            What::Socket => "socket",
            What::Fifo => "fifo",
            What::Device { .. } => "device",
        };
        Ok(format!(" {kind} {:o} {}", node.mode, if node.is_callers { "own" } else { "strange" }))
    }

    /// Adds a text, or cuts off everything.
    fn write(&mut self, path: &str, text: Option<&str>) -> Done {
        let place = self.follow(path)?;
        match &self.nodes[place.node].what {
            What::Folder(_) => return Err("folder"),
            What::Device { is_writable } => return if *is_writable { Ok(()) } else { Err("denied") },
            _ => {}
        }
        self.needs(place, WRITE)?;
        self.needs_writable(place)?;
        let node = &mut self.nodes[place.node];
        match (&mut node.what, text) {
            (What::File(content), Some(text)) => content.extend_from_slice(text.as_bytes()),
            (What::File(content), None) => content.clear(),
            // Nobody reads from it.
            _ => return Err("no-partner"),
        }
        node.is_touched = true;
        Ok(())
    }

    /// The folder of a path's last name.
    fn last(&self, path: &str) -> Result<(At, String), Refused> {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let above = if path.contains('/') { self.follow(parent(path))? } else { self.here };
        self.names(above)?;
        self.needs(above, EXECUTE)?;
        Ok((above, name))
    }

    /// A place where nothing is yet and something can be.
    fn vacancy(&self, path: &str) -> Result<(At, String), Refused> {
        let (above, name) = self.last(path)?;
        if self.names(above)?.contains_key(&name) {
            return Err("exists");
        }
        if self.nodes[above.node].is_removed {
            return Err("missing");
        }
        self.needs_writable(above)?;
        Ok((above, name))
    }

    fn make(&mut self, path: &str, what: What, mode: u32) -> Done {
        let (above, name) = self.vacancy(path)?;
        self.needs(above, WRITE | EXECUTE)?;
        self.count(above)?;
        let node = self.add(what, mode, true);
        self.nodes[node].is_made = true;
        self.put(above.node, &name, node);
        Ok(())
    }

    /// Takes one of the files that there can be.
    fn count(&mut self, above: At) -> Done {
        if self.mounts[above.mount].is_temporary {
            self.temporary_left = self.temporary_left.checked_sub(1).ok_or("full")?;
        }
        Ok(())
    }

    fn name(&mut self, old: &str, new: &str) -> Done {
        let old = self.walk(self.here, old, false, false)?;
        let (above, name) = self.vacancy(new)?;
        if old.mount != above.mount {
            return Err("other-mount");
        }
        let Node { is_callers, what, .. } = &self.nodes[old.node];
        if !is_callers || matches!(what, What::Folder(_)) {
            return Err("denied");
        }
        self.needs(above, WRITE | EXECUTE)?;
        self.count(above)?;
        self.nodes[old.node].is_touched = true;
        self.put(above.node, &name, old.node);
        Ok(())
    }

    fn take(&mut self, above: At, name: &str) {
        if let What::Folder(names) = &mut self.nodes[above.node].what {
            names.remove(name);
        }
    }

    fn discard(&mut self, above: At, name: &str, node: usize) {
        self.take(above, name);
        self.nodes[node].is_removed = true;
        if self.mounts[above.mount].is_temporary {
            self.temporary_left += 1;
        }
    }

    fn remove(&mut self, path: &str, is_folder: bool) -> Done {
        let (above, name) = self.last(path)?;
        self.needs_writable(above)?;
        let node = *self.names(above)?.get(&name).ok_or("missing")?;
        self.needs_removable(above, node, is_folder)?;
        if self.is_covered(node) {
            return Err("busy");
        }
        if matches!(&self.nodes[node].what, What::Folder(names) if !names.is_empty()) {
            return Err("not-empty");
        }
        self.discard(above, &name, node);
        Ok(())
    }

    /// A stranger's file stays, whoever's the folder is.
    fn needs_removable(&self, above: At, node: usize, is_folder: bool) -> Done {
        let Node { is_callers, what, .. } = &self.nodes[node];
        if !is_callers {
            return Err("denied");
        }
        self.needs(above, WRITE | EXECUTE)?;
        match (what, is_folder) {
            (What::Folder(_), false) => Err("folder"),
            (What::Folder(_), true) | (_, false) => Ok(()),
            (_, true) => Err("no-folder"),
        }
    }

    fn rename(&mut self, old: &str, new: &str) -> Done {
        let (from, old) = self.last(old)?;
        let (to, new) = self.last(new)?;
        if from.mount != to.mount {
            return Err("other-mount");
        }
        self.needs_writable(from)?;
        let node = *self.names(from)?.get(&old).ok_or("missing")?;
        let replaced = self.names(to)?.get(&new).copied();
        if replaced.is_none() && self.nodes[to.node].is_removed {
            return Err("missing");
        }
        if self.is_above(node, to) {
            return Err("invalid");
        }
        if replaced.is_some_and(|replaced| self.is_above(replaced, from)) {
            return Err("not-empty");
        }
        if replaced == Some(node) {
            return Ok(());
        }
        let is_folder = matches!(self.nodes[node].what, What::Folder(_));
        self.needs_removable(from, node, is_folder)?;
        match replaced {
            Some(replaced) => self.needs_removable(to, replaced, is_folder)?,
            None => self.needs(to, WRITE | EXECUTE)?,
        }
        if self.is_covered(node) || replaced.is_some_and(|replaced| self.is_covered(replaced)) {
            return Err("busy");
        }
        if is_folder && from != to {
            self.needs(At { node, ..from }, WRITE)?;
        }
        // An overlay would have to copy all that is in the folder; programs move it file by file.
        if is_folder && self.mounts[from.mount].is_overlay && !self.nodes[node].is_made {
            return Err("other-mount");
        }
        if let Some(replaced) = replaced {
            if matches!(&self.nodes[replaced].what, What::Folder(names) if !names.is_empty()) {
                return Err("not-empty");
            }
            self.discard(to, &new, replaced);
        }
        self.take(from, &old);
        self.put(to.node, &new, node);
        self.nodes[node].is_touched = true;
        Ok(())
    }

    /// Whether a folder is another one, or holds it.
    fn is_above(&self, node: usize, mut below: At) -> bool {
        loop {
            if below.node == node {
                return true;
            }
            if below.node == self.mounts[below.mount].root {
                return false;
            }
            below.node = self.nodes[below.node].parent;
        }
    }

    fn change_mode(&mut self, path: &str, mode: &str) -> Done {
        let place = self.follow(path)?;
        self.needs_writable(place)?;
        let node = &mut self.nodes[place.node];
        if !node.is_callers {
            return Err("denied");
        }
        node.mode = u32::from_str_radix(mode, 8).map_err(|_| "invalid")?;
        node.is_touched = true;
        Ok(())
    }

    fn run(&self, path: &str) -> Done {
        let place = self.follow(path)?;
        let What::File(content) = &self.nodes[place.node].what else { return Err("denied") };
        if !self.mounts[place.mount].may_run {
            return Err("denied");
        }
        self.needs(place, EXECUTE)?;
        let is_program = content.starts_with(PROGRAM.as_bytes()) || content.starts_with(ELF);
        if is_program { Ok(()) } else { Err("no-program") }
    }
}

const ELF: &[u8] = b"\x7fELF";
