//! What every child sees besides its grants, and what the host's program is like.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::model::{Model, Mount, READ_ONLY, What};

/// Only what probes ask about is in the folders of the system.
pub(super) fn lay_out(model: &mut Model) {
    let folder = || What::Folder(BTreeMap::new());
    for (name, is_own) in [("usr", false), ("etc", true), ("dev", true), ("proc", false)] {
        let root = model.add(folder(), 0o755, is_own);
        model.place(&format!("/{name}"), Mount { root, ..READ_ONLY });
    }
    let temporary = model.add(folder(), 0o1777, true);
    model.place("/tmp", Mount { root: temporary, may_write: true, is_temporary: true, ..READ_ONLY });
    for name in ["bin", "sbin", "lib", "lib64", "lib32"] {
        let place = format!("/{name}");
        if let Ok(target) = fs::read_link(&place) {
            let link = model.add(What::Link(target.display().to_string()), 0o777, true);
            model.put(0, name, link);
        } else if Path::new(&place).exists() {
            let root = model.add(folder(), 0o755, false);
            model.place(&place, Mount { root, ..READ_ONLY });
        }
    }
    let mut file = |place: &str, what: What, mode| {
        let (above, name) = place.rsplit_once('/').expect("an absolute path");
        let above = model.walk(super::model::ROOT, above, true, true).expect("it is there");
        let is_own = !matches!(what, What::Device { .. });
        let node = model.add(what, mode, is_own);
        model.put(above.node, name, node);
    };
    file("/etc/passwd", What::File(PASSWD.into()), 0o644);
    file("/etc/hostname", What::File("sandbox\n".into()), 0o644);
    for name in ["null", "full", "zero", "random", "urandom"] {
        file(&format!("/dev/{name}"), What::Device { is_writable: name == "null" }, 0o666);
    }
    for (name, target) in LINKS {
        file(&format!("/dev/{name}"), What::Link((*target).to_owned()), 0o777);
    }
}

pub(super) fn start_of(helper: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    let file = fs::File::open(helper).expect("it opens");
    file.take(256).read_to_end(&mut start).expect("it is read");
    start
}

pub(super) fn mode_of(helper: &Path) -> u32 {
    fs::metadata(helper).expect("it is there").mode() & 0o7777
}

pub(super) fn is_ours(helper: &Path) -> bool {
    fs::metadata(helper).expect("it is there").uid() == rustix::process::geteuid().as_raw()
}

const PASSWD: &str =
    "sandbox:x:1000:1000::/tmp:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n";
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];
