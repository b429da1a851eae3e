//! Skills as tests write them: a good one, with what the test is about changed.

use std::fs;
use std::path::{Path, PathBuf};

/// A skill's folder that is not written yet.
#[derive(Clone, Debug)]
pub struct Skill {
    folder: String,
    frontmatter: String,
    body: String,
    raw: Option<(String, Vec<u8>)>,
    files: Vec<(String, Vec<u8>)>,
}

/// A conformant skill in a folder of its name, with the description "Does a thing.".
pub fn skill(name: &str) -> Skill {
    Skill {
        folder: name.to_owned(),
        frontmatter: format!("name: {name}\ndescription: Does a thing.\n"),
        body: "# Body\n".to_owned(),
        raw: None,
        files: Vec::new(),
    }
}

impl Skill {
    /// Another folder than the one that the name asks for.
    #[must_use]
    pub fn in_folder(mut self, folder: &str) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Another description, put behind `description: ` as it is.
    #[must_use]
    pub fn description(mut self, yaml: &str) -> Self {
        self.frontmatter = self.frontmatter.replace("Does a thing.", yaml);
        self
    }

    /// More lines of frontmatter.
    #[must_use]
    pub fn field(mut self, lines: &str) -> Self {
        self.frontmatter.push_str(lines);
        self.frontmatter.push('\n');
        self
    }

    /// Other lines of frontmatter, instead of all there are.
    #[must_use]
    pub fn frontmatter(mut self, lines: &str) -> Self {
        self.frontmatter = format!("{lines}\n");
        self
    }

    /// Another body.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// SKILL.md, byte for byte.
    #[must_use]
    pub fn skill_md(self, bytes: impl AsRef<[u8]>) -> Self {
        self.skill_md_called("SKILL.md", bytes)
    }

    /// SKILL.md under another name, byte for byte.
    #[must_use]
    pub fn skill_md_called(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.raw = Some((name.to_owned(), bytes.as_ref().to_vec()));
        self
    }

    /// One more file.
    #[must_use]
    pub fn file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.files.push((path.to_owned(), bytes.as_ref().to_vec()));
        self
    }

    /// What SKILL.md will hold.
    pub fn text(&self) -> String {
        format!("---\n{}---\n{}", self.frontmatter, self.body)
    }

    /// Writes the folder below `parent` and gives its path.
    pub fn write_below(&self, parent: &Path) -> PathBuf {
        let folder = parent.join(&self.folder);
        let (name, bytes) =
            self.raw.clone().unwrap_or_else(|| ("SKILL.md".to_owned(), self.text().into_bytes()));
        write(&folder.join(name), &bytes);
        for (path, bytes) in &self.files {
            write(&folder.join(path), bytes);
        }
        folder
    }
}

/// Writes a file and makes the folders above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
    }
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
