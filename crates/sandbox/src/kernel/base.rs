//! What every child may open where nothing is mounted for it.

use std::rc::Rc;

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::child::Rule;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::profile::Grant;
use crate::wire::Step;

/// The system's programs and libraries, and what they do not start without.
pub(super) fn base(rights: Rights) -> Result<Vec<Rc<Rule>>, Errno> {
    let places = [
        ("/usr", rights.read()),
        ("/bin", rights.read()),
        ("/sbin", rights.read()),
        ("/lib", rights.read()),
        ("/lib64", rights.read()),
        ("/lib32", rights.read()),
        ("/etc/alternatives", rights.read()),
        ("/etc/ld.so.cache", rights.read_file()),
        ("/etc/localtime", rights.read_file()),
        // Node ends at once if it may not open this one.
        ("/etc/ssl/openssl.cnf", rights.read_file()),
        ("/dev/null", rights.write_file()),
        ("/dev/zero", rights.read_file()),
        ("/dev/full", rights.read_file()),
        ("/dev/random", rights.read_file()),
        ("/dev/urandom", rights.read_file()),
    ];
    let mut rules = Vec::new();
    for (path, allowed) in places {
        match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => {
                let is_directory = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_dir();
                let allowed = if is_directory { allowed } else { allowed & rights.of_a_file() };
                rules.push(Rc::new(Rule { file, allowed }));
            }
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(rules)
}

/// The child of a root host is another user, and what it was granted may be readable by root alone.
pub(super) fn can_read(grant: &Grant) -> Result<(), Failure> {
    let readable = rustix::fs::accessat(CWD, &grant.target, Access::READ_OK, AtFlags::EACCESS);
    readable.map_err(|errno| (Step::IdMap, errno))
}
