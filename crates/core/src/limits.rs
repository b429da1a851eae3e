//! Limits of what is read from outside, in one place.
//!
//! Each is a ceiling: a value at the limit is taken, one above it is refused, nothing is cut to fit.

/// Bytes of SKILL.md.
pub const SKILL_MD_BYTES_MAX: usize = 1 << 20;
/// Bytes between the frontmatter fences.
pub const FRONTMATTER_BYTES_MAX: usize = 64 << 10;
/// Nested collections in frontmatter.
pub const YAML_DEPTH_MAX: usize = 16;
/// Scalars and collections in frontmatter, keys included.
pub const YAML_NODES_MAX: usize = 4096;

/// Nested values in JSON; a bare scalar is one level (CHK-056).
pub const JSON_DEPTH_MAX: usize = 32;
/// Values in a JSON text, the outermost included; keys do not count (CHK-056).
pub const JSON_NODES_MAX: usize = 4096;
/// Issues that one validation reports (CHK-119).
pub const SCHEMA_ISSUES_MAX: usize = 20;

/// Bytes of a call's arguments, as they arrive and as they are hashed and sent (CHK-104).
pub const INVOCATION_BYTES_MAX: usize = 64 << 10;

/// Bytes of `execution.json` and of `fumehood.json` (CHK-055, CHK-103).
pub const MANIFEST_BYTES_MAX: usize = 64 << 10;
/// Files that `execution.json` may list (CHK-103).
pub const BUNDLE_FILES_MAX: usize = 64;
/// Bytes of one listed file (CHK-103).
pub const BUNDLE_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of manifest, instructions, listed files, their names and framing together (CHK-103, CHK-149).
pub const BUNDLE_BYTES_MAX: u64 = 4 << 20;

/// Files of a skill that gets a revision (the limit of Skills over MCP).
pub const SKILL_FILES_MAX: usize = 512;
/// Bytes of a skill that gets a revision (the limit of Skills over MCP).
pub const SKILL_BYTES_MAX: u64 = 16 << 20;
/// Files of a skill that are listed at all.
pub const LISTED_FILES_MAX: usize = 8192;
/// Folders of one skill that are listed.
pub const LISTED_DIRECTORIES_MAX: usize = 2000;
/// Folder levels inside a skill that are listed.
pub const LISTED_DEPTH_MAX: usize = 16;
/// Names in a skill that are looked at: files, folders, links, and what is refused.
pub const LISTED_ENTRIES_MAX: usize = 16_384;
/// Links in a skill that are followed; to resolve one can cost tens of thousands of steps.
pub const LISTED_LINKS_MAX: usize = 256;
/// Findings of one code about the files of a skill that are kept; the rest is counted.
pub const LISTED_FINDINGS_MAX: usize = 200;

/// Folder levels below a root that are searched for skills.
pub const WALK_DEPTH_MAX: usize = 6;
/// Folders of one root that are searched without being a skill; linked, unreadable and refused ones count.
pub const WALK_DIRECTORIES_MAX: usize = 2000;
/// Skills taken from one root.
pub const WALK_SKILLS_MAX: usize = 65_536;

/// Bytes of an interpreter that is identified by its digest; the largest in use are a quarter of this.
pub const INTERPRETER_BYTES_MAX: u64 = 512 << 20;
