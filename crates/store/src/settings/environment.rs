//! The environment that scripts get: fixed names and values, all of it the deployer's.

use std::collections::BTreeMap;

use fumehood_core::Shown;

/// The whole environment of a script; nothing of fumehood's own environment is added (EXE-50).
///
/// `PATH=/usr/bin:/bin HOME=/tmp TMPDIR=/tmp LANG=C.UTF-8`, where the deployer says nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// These variables over the defaults.
    ///
    /// Limits: 64 variables, names of 1 to 128 bytes of `A-Za-z0-9_` that begin with no digit, values of at most 4,096 bytes
    /// without NUL. Names by which a loader, a shell or an interpreter is told to run something else are refused.
    pub(super) fn over_defaults(variables: BTreeMap<String, String>) -> Result<Self, String> {
        if variables.len() > VARIABLES_MAX {
            return Err(format!("environment has more than {VARIABLES_MAX} variables"));
        }
        let mut environment = Self::default();
        for (name, value) in variables {
            check(&name, &value)?;
            environment.0.insert(name, value);
        }
        Ok(environment)
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self(DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }
}

fn check(name: &str, value: &str) -> Result<(), String> {
    let shown = Shown::inline(name).at_most(NAME_BYTES_MAX);
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.bytes().all(inner) || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "environment: the name \"{shown}\" must be 1 to {NAME_BYTES_MAX} characters of A-Z, a-z, 0-9 and _, and begin with no digit"
        ));
    }
    let refused = REFUSED.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *pattern,
    });
    if let Some((_, reason)) = refused {
        return Err(format!("environment.{shown} is refused: {reason}"));
    }
    if value.contains('\0') || value.len() > VALUE_BYTES_MAX {
        return Err(format!("environment.{shown} must have at most {VALUE_BYTES_MAX} bytes and no NUL"));
    }
    Ok(())
}

const DEFAULTS: [(&str, &str); 4] =
    [("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("TMPDIR", "/tmp")];

const LOADER: &str = "it makes the loader bring code into every program";
const SHELL: &str = "it makes a shell run something before the script";
const PYTHON: &str = "it makes Python import something before or in place of what the script does";
const NODE: &str = "it makes Node.js load something before or in place of what the script does";
const OTHERS: &str = "it makes an interpreter load something before the script";

/// Names, and beginnings of names, that would change which code runs: approved was the script alone.
const REFUSED: [(&str, &str); 22] = [
    ("LD_*", LOADER),
    ("GLIBC_TUNABLES", LOADER),
    ("GCONV_PATH", LOADER),
    ("BASH_ENV", SHELL),
    ("ENV", SHELL),
    ("SHELLOPTS", SHELL),
    ("BASHOPTS", SHELL),
    ("PS4", SHELL),
    ("PROMPT_COMMAND", SHELL),
    ("IFS", SHELL),
    ("PYTHONSTARTUP", PYTHON),
    ("PYTHONPATH", PYTHON),
    ("PYTHONHOME", PYTHON),
    ("PYTHONINSPECT", PYTHON),
    ("PYTHONBREAKPOINT", PYTHON),
    ("PYTHONUSERBASE", PYTHON),
    ("NODE_OPTIONS", NODE),
    ("NODE_PATH", NODE),
    ("PERL5*", OTHERS),
    ("PERLLIB", OTHERS),
    ("RUBYOPT", OTHERS),
    ("RUBYLIB", OTHERS),
];
const VARIABLES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 128;
const VALUE_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Result<Environment, String> {
        Environment::over_defaults(BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    // EXE-50, X-16
    #[test]
    fn the_default_is_four_variables() {
        let expected = [("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("TMPDIR", "/tmp")];
        assert!(Environment::default().iter().eq(expected));
        assert_eq!(Environment::over_defaults(BTreeMap::new()), Ok(Environment::default()));
    }

    #[test]
    fn variables_are_added_and_defaults_replaced() {
        for name in ["PATH", "HOME", "TMPDIR", "LANG", "_", "a9", "TZ", "PYTHONUTF8", "NODE_ENV", "PS1", "LD"]
        {
            let environment = of(name, "x y\n").unwrap();
            assert!(environment.iter().any(|variable| variable == (name, "x y\n")), "{name}");
            assert!(environment.iter().len() >= 4);
        }
    }

    #[test]
    fn what_changes_which_code_runs_is_refused_by_name() {
        for (name, reason) in [
            ("LD_PRELOAD", LOADER),
            ("LD_LIBRARY_PATH", LOADER),
            ("LD_", LOADER),
            ("BASH_ENV", SHELL),
            ("ENV", SHELL),
            ("PYTHONSTARTUP", PYTHON),
            ("PYTHONPATH", PYTHON),
            ("NODE_OPTIONS", NODE),
            ("PERL5OPT", OTHERS),
        ] {
            let error = of(name, "").unwrap_err();
            assert_eq!(error, format!("environment.{name} is refused: {reason}"));
        }
    }

    #[test]
    fn limits_hold_on_both_sides() {
        assert!(of(&"A".repeat(NAME_BYTES_MAX), "").is_ok());
        for name in ["", "9A", "A-B", "A=B", "A B", "\u{e9}", "A\u{1b}[2J", &"A".repeat(NAME_BYTES_MAX + 1)] {
            let error = of(name, "").unwrap_err();
            assert!(error.contains("must be 1 to 128") && !error.contains('\u{1b}'), "{error}");
        }
        assert!(of("A", &"v".repeat(VALUE_BYTES_MAX)).is_ok());
        for value in ["a\0b", &"v".repeat(VALUE_BYTES_MAX + 1)] {
            assert!(of("A", value).unwrap_err().contains("environment.A must have at most 4096 bytes"));
        }
        let many = |n| (0..n).map(|i| (format!("V{i}"), String::new())).collect();
        assert_eq!(Environment::over_defaults(many(VARIABLES_MAX)).unwrap().iter().len(), 68);
        assert!(Environment::over_defaults(many(VARIABLES_MAX + 1)).unwrap_err().contains("more than 64"));
    }
}
