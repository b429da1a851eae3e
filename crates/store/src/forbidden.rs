//! Places that no script is ever given.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::home::Home;
use crate::{policy, settings};

/// The places that are never granted, as the host knows them. Paths are compared by component, and also by which folders they
/// lead to: where a folder is mounted in two places, both are meant.
///
/// `/` and [`RESERVED`] are always among them, and so are the state and the config folder.
#[derive(Clone, Debug)]
pub struct Forbidden {
    /// Absolute, each behind all links and, where that differs, as it was given.
    places: Vec<(ForbiddenKind, PathBuf)>,
    /// The same by identity, and what holds them.
    known: Vec<(ForbiddenKind, Known)>,
}

/// Why a place is never granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ForbiddenKind {
    /// `/`.
    Root,
    /// The home folder itself; what is in it may be granted.
    Home,
    /// A place that the sandbox makes for itself: one of [`RESERVED`].
    Reserved,
    /// The state folder.
    State,
    /// The config folder.
    Config,
    /// A folder that skills are read from.
    Source,
    /// What an interpreter and its libraries are in.
    Interpreter,
    /// The program fumehood itself.
    Program,
}

/// Places that the sandbox makes for itself. What lies below `/tmp` may be granted all the same, `/tmp` may not.
pub const RESERVED: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc", "/dev", "/proc", TEMPORARY, "/sys"];
const TEMPORARY: &str = "/tmp";

impl Forbidden {
    /// The state and the config folder, the files of settings and policy behind their links, and what is always forbidden.
    pub fn of(home: &Home) -> Self {
        Self { places: Vec::new(), known: Vec::new() }
            .with(ForbiddenKind::State, &home.state)
            .with(ForbiddenKind::Config, &home.config)
            // Who keeps settings under version control has a link here to a file in some project.
            .with(ForbiddenKind::Config, &home.config.join(settings::FILE_NAME))
            .with(ForbiddenKind::Config, &home.config.join(policy::FILE_NAME))
    }

    /// One more place. It need not exist yet; links that lead to it are followed now.
    #[must_use]
    pub fn with(mut self, kind: ForbiddenKind, path: &Path) -> Self {
        let given = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let resolved = resolved(&given);
        self.known.push((kind, Known::of(&resolved)));
        if resolved != given {
            self.places.push((kind, given));
        }
        self.places.push((kind, resolved));
        self
    }

    /// Why a folder is no workspace: it is, contains or lies inside one of the places. The home folder may contain it.
    pub(crate) fn against_workspace(&self, folder: &Path) -> Option<ForbiddenKind> {
        let reserved = |place: &&str| {
            let place = Path::new(place);
            place.starts_with(folder) || (folder.starts_with(place) && place != Path::new(TEMPORARY))
        };
        let listed = self.places.iter().find(|(kind, place)| {
            place.starts_with(folder) || (*kind != ForbiddenKind::Home && folder.starts_with(place))
        });
        let mounted = || {
            let (folder, chain) = (identity(folder), Chain::of(folder));
            let mut known = self.known.iter();
            known.find(|(kind, place)| {
                place.is_held_by(folder) || (*kind != ForbiddenKind::Home && chain.leads_through(place))
            })
        };
        match () {
            () if folder.parent().is_none() => Some(ForbiddenKind::Root),
            () if RESERVED.iter().any(reserved) => Some(ForbiddenKind::Reserved),
            () => listed.map(|(kind, _)| *kind).or_else(|| mounted().map(|(kind, _)| *kind)),
        }
    }

    /// Why a file is never read for a script. What programs are made of is no secret.
    pub(crate) fn against_reading(&self, file: &Path) -> Option<ForbiddenKind> {
        self.against_file(file, |kind| matches!(kind, ForbiddenKind::State | ForbiddenKind::Config))
    }

    /// Why a file is never replaced or made for a script.
    pub(crate) fn against_writing(&self, file: &Path) -> Option<ForbiddenKind> {
        let any = self.against_file(file, |kind| kind != ForbiddenKind::Home);
        // A file made where a folder of ours is yet to be would be in its way.
        any.or_else(|| self.places.iter().find(|(_, place)| place.starts_with(file)).map(|(kind, _)| *kind))
    }

    fn against_file(&self, file: &Path, counts: impl Fn(ForbiddenKind) -> bool) -> Option<ForbiddenKind> {
        let is_reserved = |place: &&str| *place != TEMPORARY && file.starts_with(place);
        if RESERVED.iter().any(is_reserved) {
            return Some(ForbiddenKind::Reserved);
        }
        let is_in = |(kind, place): &&(ForbiddenKind, PathBuf)| counts(*kind) && file.starts_with(place);
        let listed = self.places.iter().find(is_in).map(|(kind, _)| *kind);
        listed.or_else(|| {
            let chain = Chain::of(file);
            let mounted = self.known.iter().find(|(kind, place)| counts(*kind) && chain.leads_through(place));
            mounted.map(|(kind, _)| *kind)
        })
    }
}

/// Which file or folder something is, whatever it is called: device and number.
type Identity = (u64, u64);

/// A place by identity.
#[derive(Clone, Debug)]
struct Known {
    /// What is there, if anything is.
    own: Option<Identity>,
    /// The folder that it is in, and its name there: for what is not there yet, or is replaced meanwhile.
    seat: Option<(Identity, OsString)>,
    /// The folders above, as far as they are there.
    above: Vec<Identity>,
}

impl Known {
    fn of(place: &Path) -> Self {
        let seat = place.parent().and_then(identity).zip(place.file_name().map(OsStr::to_os_string));
        let above = place.ancestors().skip(1).filter_map(identity).collect();
        Self { own: identity(place), seat, above }
    }

    /// Whether a folder is the place, or holds it.
    fn is_held_by(&self, folder: Option<Identity>) -> bool {
        folder.is_some_and(|folder| self.own == Some(folder) || self.above.contains(&folder))
    }
}

/// A path and the folders above it.
struct Chain<'p>(Vec<Link<'p>>);

struct Link<'p> {
    own: Option<Identity>,
    seat: Option<(Identity, &'p OsStr)>,
}

impl<'p> Chain<'p> {
    fn of(path: &'p Path) -> Self {
        let seat = |path: &'p Path| path.parent().and_then(identity).zip(path.file_name());
        Self(path.ancestors().map(|path| Link { own: identity(path), seat: seat(path) }).collect())
    }

    /// Whether one of them is the place.
    fn leads_through(&self, place: &Known) -> bool {
        self.0.iter().any(|link| {
            let is_seat = |(folder, name)| {
                place.seat.as_ref().is_some_and(|(of, called)| *of == folder && called == name)
            };
            (link.own.is_some() && link.own == place.own) || link.seat.is_some_and(is_seat)
        })
    }
}

fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

impl ForbiddenKind {
    /// What the place is, to stand after "this".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Root => "is the root of all files",
            Self::Home => "is or holds the home folder",
            Self::Reserved => "is or holds or lies in a place of the sandbox's own",
            Self::State => "is or holds or lies in fumehood's state folder",
            Self::Config => "is or holds or lies in fumehood's config folder",
            Self::Source => "is or holds or lies in a folder that skills are read from",
            Self::Interpreter => "is or holds or lies in an interpreter's folder",
            Self::Program => "is or holds fumehood itself",
        }
    }
}

/// The path behind all links, as far as there is anything. A link to what is not there yet counts: it leads to whatever
/// somebody makes there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match step(&path) {
            Ok(end) => return end,
            Err(further) => path = further,
        }
    }
    path
}

/// The path behind all links, or the path behind the first one that leads to nothing.
fn step(path: &Path) -> Result<PathBuf, PathBuf> {
    for there in path.ancestors() {
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        let with_rest = |place: PathBuf| if rest.as_os_str().is_empty() { place } else { place.join(rest) };
        if let Ok(real) = std::fs::canonicalize(there) {
            return Ok(with_rest(real));
        }
        if let (Ok(target), Some(folder)) = (std::fs::read_link(there), there.parent()) {
            return Err(with_rest(folder.join(target)));
        }
    }
    Ok(path.to_path_buf())
}

/// As many as the system follows.
const LINKS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use ForbiddenKind::{Config, Home as HomeFolder, Interpreter, Program, Reserved, Root, Source, State};
    use fumehood_testkit::Scratch;

    fn forbidden() -> Forbidden {
        let home =
            Home { state: "/home/u/.local/share/fumehood".into(), config: "/home/u/.config/fumehood".into() };
        Forbidden::of(&home)
            .with(HomeFolder, Path::new("/home/u"))
            .with(Source, Path::new("/home/u/skills"))
            .with(Interpreter, Path::new("/opt/python"))
            .with(Program, Path::new("/opt/bin/fumehood"))
    }

    #[test]
    fn a_workspace_touches_none_of_the_places() {
        let cases = [
            ("/", Some(Root)),
            ("/home/u", Some(State)),
            ("/home", Some(State)),
            ("/tmp", Some(Reserved)),
            ("/tmp/work", None),
            ("/etc", Some(Reserved)),
            ("/usr/share/doc", Some(Reserved)),
            ("/proc/1", Some(Reserved)),
            ("/dev/shm", Some(Reserved)),
            ("/home/u/.local", Some(State)),
            ("/home/u/.local/share/fumehood", Some(State)),
            ("/home/u/.local/share/fumehood/staging", Some(State)),
            ("/home/u/.local/share/fumehood2", None),
            ("/home/u/.config", Some(Config)),
            ("/home/u/skills/a", Some(Source)),
            ("/home/u/skillset", None),
            ("/opt", Some(Interpreter)),
            ("/opt/python/lib", Some(Interpreter)),
            ("/opt/bin", Some(Program)),
            ("/home/u/project", None),
            ("/srv", None),
        ];
        for (path, kind) in cases {
            assert_eq!(forbidden().against_workspace(Path::new(path)), kind, "{path}");
        }
        let elsewhere = Forbidden::of(&Home { state: "/s".into(), config: "/s".into() });
        let elsewhere = elsewhere.with(HomeFolder, Path::new("/home/u"));
        assert_eq!(elsewhere.against_workspace(Path::new("/home/u")), Some(HomeFolder));
        assert_eq!(elsewhere.against_workspace(Path::new("/home")), Some(HomeFolder));
        assert_eq!(elsewhere.against_workspace(Path::new("/home/u/a")), None);
    }

    #[test]
    fn a_file_is_kept_out_of_the_places() {
        let cases = [
            ("/home/u/a", None, None),
            ("/home/u/.config/fumehood/policy.toml", Some(Config), Some(Config)),
            ("/home/u/.local/share/fumehood/journal", Some(State), Some(State)),
            ("/home/u/.config/fumehood", Some(Config), Some(Config)),
            ("/home/u/.config", None, Some(Config)),
            ("/home/u/skills/a/SKILL.md", None, Some(Source)),
            ("/opt/python/lib/a.py", None, Some(Interpreter)),
            ("/opt/bin/fumehood", None, Some(Program)),
            ("/opt/bin/other", None, None),
            ("/proc/self/mem", Some(Reserved), Some(Reserved)),
            ("/etc/hosts", Some(Reserved), Some(Reserved)),
            ("/tmp/a", None, None),
        ];
        for (path, reading, writing) in cases {
            let path = Path::new(path);
            let both = (forbidden().against_reading(path), forbidden().against_writing(path));
            assert_eq!(both, (reading, writing), "{path:?}");
        }
    }

    #[test]
    fn a_place_counts_behind_its_links_and_as_it_was_given() {
        let scratch = Scratch::new();
        scratch.folder("real");
        let link = scratch.link("given/state", scratch.at("real"));
        let home = Home { state: link.join("not/yet"), config: scratch.at("config") };
        let forbidden = Forbidden::of(&home);
        for path in ["real", "real/not/yet/a", "given", "given/state/not"] {
            assert_eq!(forbidden.against_workspace(&scratch.at(path)), Some(State), "{path}");
        }
        assert_eq!(forbidden.against_workspace(&scratch.at("other")), None);
    }

    // EXE-51: a script that could write the settings behind a link would say what it may have.
    #[test]
    fn the_settings_behind_a_link_are_kept_out_of_every_grant() {
        let scratch = Scratch::new();
        for folder in ["config", "dotfiles", "other"] {
            scratch.folder(folder);
        }
        scratch.link("config/fumehood.toml", scratch.at("middle"));
        scratch.link("middle", "dotfiles/fumehood.toml");
        let home = Home { state: scratch.at("state"), config: scratch.at("config") };
        let file = scratch.at("dotfiles/fumehood.toml");
        // Whether or not there is such a file yet.
        for _ in 0..2 {
            let forbidden = Forbidden::of(&home);
            assert_eq!(forbidden.against_workspace(&scratch.at("dotfiles")), Some(Config));
            assert_eq!(forbidden.against_reading(&file), Some(Config));
            assert_eq!(forbidden.against_writing(&file), Some(Config));
            assert_eq!(forbidden.against_writing(&scratch.at("dotfiles/other.toml")), None);
            assert_eq!(forbidden.against_workspace(&scratch.at("other")), None);
            scratch.file("dotfiles/fumehood.toml", "");
        }
    }

    // EXE-51, CHK-044: a second name of a file of ours is that file.
    #[test]
    fn a_second_name_of_a_file_of_ours_is_kept_out() {
        let scratch = Scratch::new();
        let policy = scratch.file("config/policy.toml", "");
        scratch.folder("project");
        std::fs::hard_link(policy, scratch.at("project/mine.toml")).unwrap();
        scratch.file("project/other.toml", "");
        let forbidden = Forbidden::of(&Home { state: scratch.at("state"), config: scratch.at("config") });
        let both = |name: &str| {
            let file = scratch.at(name);
            (forbidden.against_reading(&file), forbidden.against_writing(&file))
        };
        assert_eq!(both("project/mine.toml"), (Some(Config), Some(Config)));
        assert_eq!(both("project/other.toml"), (None, None));
        assert_eq!(forbidden.against_workspace(&scratch.at("project")), None);
    }

    // EXE-51, CHK-044: one folder in two places, as where all homes are mounted from another disk.
    #[test]
    fn a_place_that_is_mounted_elsewhere_is_kept_out() {
        let scratch = Scratch::new();
        for folder in ["home/config", "again", "alone", "other/config", "project/config"] {
            scratch.folder(folder);
        }
        scratch.file("home/config/policy.toml", "");
        let script = "mount --bind \"$1/home\" \"$1/again\" && mount --bind \"$1/home/config\" \"$1/alone\" && \
                      exec \"$0\" --exact forbidden::tests::finds_what_is_mounted --nocapture";
        let own: &[&str] = if fumehood_testkit::is_root() {
            &["--mount"]
        } else {
            &["--user", "--map-root-user", "--mount"]
        };
        let mut command = std::process::Command::new("unshare");
        command
            .args(own)
            .args(["sh", "-c", script])
            .arg(std::env::current_exe().unwrap())
            .arg(scratch.at(""));
        let output = command.env(FOLDER, scratch.at("")).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    /// The other half of the one above, which alone gives it something to do.
    #[test]
    fn finds_what_is_mounted() {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        let at = |below: &str| Path::new(&folder).join(below);
        let forbidden = Forbidden::of(&Home { state: at("home/state"), config: at("home/config") });
        for (path, kind) in [
            ("again", Some(State)),
            ("again/config", Some(Config)),
            ("again/state", Some(State)),
            ("alone", Some(Config)),
            ("other", None),
            ("project", None),
        ] {
            assert_eq!(forbidden.against_workspace(&at(path)), kind, "{path}");
        }
        for (path, kind) in [
            ("again/config/policy.toml", Some(Config)),
            ("alone/policy.toml", Some(Config)),
            ("alone/new.toml", Some(Config)),
            // Not there yet.
            ("again/state/trust.sqlite", Some(State)),
            ("again/file", None),
            ("other/config/policy.toml", None),
        ] {
            let both = (forbidden.against_reading(&at(path)), forbidden.against_writing(&at(path)));
            assert_eq!(both, (kind, kind), "{path}");
        }
    }

    const FOLDER: &str = "FUMEHOOD_STORE_TEST_FORBIDDEN";
}
