//! The one table of codes: every error and every diagnostic that fumehood can show. (long: a table is read as one)
//!
//! A released code is never renamed or reused. The first letter of a diagnostic says its severity: `E_`
//! error, `W_` warning, `N_` note. `docs/errors.md` is printed from this table and a test keeps it so.

use core::fmt;

use serde::ser::{Serialize, Serializer};

/// Who must act, in the words of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The caller, or the author of the skill, must change what was given (400).
    Invalid,
    /// Somebody with authority said no (403).
    Denied,
    /// What was asked for is not there (404).
    Missing,
    /// What was asked for changed, or stands for more than one thing (409).
    Conflict,
    /// A limit was passed (413).
    TooLarge,
    /// The caller gave up (499).
    Cancelled,
    /// fumehood is wrong (500).
    Internal,
    /// What ran failed or answered wrongly: a script, a tool (502).
    Guest,
    /// The operating system or a file of ours could not be used (503).
    Unavailable,
    /// What ran did not end in time (504).
    Timeout,
}

impl Class {
    /// The HTTP status that says the same.
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Denied => 403,
            Self::Missing => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::Cancelled => 499,
            Self::Internal => 500,
            Self::Guest => 502,
            Self::Unavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// The process exit code of the command line.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Guest | Self::Timeout => 1,
            Self::Invalid | Self::Missing | Self::Conflict | Self::TooLarge => 2,
            Self::Denied => 3,
            Self::Unavailable => 4,
            Self::Internal => 70,
            Self::Cancelled => 130,
        }
    }

    /// The name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
            Self::Guest => "guest",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
        }
    }
}

/// How much a diagnostic matters to whoever loads the skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing, nothing to fix.
    Note,
    /// Loadable, but other hosts may refuse it or read it differently.
    Warning,
    /// Something was refused.
    Error,
}

impl Severity {
    /// The name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Anything that carries a code from the table.
pub trait Coded {
    /// The code. Its text is stable.
    fn code(&self) -> Code;
}

macro_rules! codes {
    ($( $variant:ident $text:literal $class:ident $retry:literal $sentence:literal )*) => {
        /// A stable code. `Display` prints its text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $( #[doc = $sentence] $variant, )* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[ $( Code::$variant, )* ];

            /// The stable text.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }

            /// Who must act.
            pub fn class(self) -> Class {
                match self { $( Self::$variant => Class::$class, )* }
            }

            /// Whether the same call may succeed later with nothing changed by the caller.
            pub fn retryable(self) -> bool {
                match self { $( Self::$variant => $retry, )* }
            }

            /// What the code means, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $( Self::$variant => $sentence, )* }
            }
        }
    };
}

impl Code {
    /// The severity that the first letter of the text stands for.
    pub fn severity(self) -> Severity {
        match self.as_str().as_bytes().first() {
            Some(b'N') => Severity::Note,
            Some(b'W') => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

codes! {
    // Calls.
    Usage "E_USAGE" Invalid false "The command line could not be understood."
    Internal "E_INTERNAL" Internal false "fumehood met a state it does not expect; this is a bug."
    ConfigInvalid "E_CONFIG_INVALID" Invalid false "fumehood.toml could not be read as written."
    ConfigChanged "E_CONFIG_CHANGED" Conflict false "fumehood.toml is not what it was when the change to it was shown, so it was not changed."
    ConfigUneditable "E_CONFIG_UNEDITABLE" Invalid false "fumehood.toml cannot be changed without touching something else in it."
    HomeRefused "E_HOME_REFUSED" Denied false "The state or config folder is unknown, or not private to the caller."
    StateUnavailable "E_STATE_UNAVAILABLE" Unavailable true "A state file could not be read or written."
    TrustFull "E_TRUST_FULL" TooLarge false "256 projects are trusted already."
    TerminalRequired "E_TERMINAL_REQUIRED" Denied false "A decision that grants something needs a person at a controlling terminal."
    ApproveFlagOff "E_APPROVE_FLAG_OFF" Denied false "A revision can be approved on the command line only where fumehood.toml allows it."
    ApproveMismatch "E_APPROVE_MISMATCH" Conflict false "The revision that was approved on the command line is not the skill's."
    PassphraseRequired "E_PASSPHRASE_REQUIRED" Denied false "fumehood.toml requires a passphrase for this, at a controlling terminal, and none was given."
    PassphraseWrong "E_PASSPHRASE_WRONG" Denied false "The passphrase is not the one that fumehood.toml requires; this is a no."
    PassphraseWait "E_PASSPHRASE_WAIT" Denied true "Passphrases were wrong too often; none is looked at before the time that is said."
    PassphraseInvalid "E_PASSPHRASE_INVALID" Invalid false "A new passphrase is too short or too long, or was not typed the same twice."
    DraftNotFound "E_DRAFT_NOT_FOUND" Missing false "Nobody drafted an overlay for the skill, or nothing of it could be drafted."
    DraftStale "E_DRAFT_STALE" Conflict false "The draft was made from another revision of the skill."
    NotConfirmed "E_NOT_CONFIRMED" Denied false "The person did not say yes."
    Cancelled "E_CANCELLED" Cancelled true "Whoever called it stopped it before it was done."
    OutputFailed "E_OUTPUT_FAILED" Unavailable true "The answer could not be written to standard output."

    // Tools and calls.
    IdInvalid "E_ID_INVALID" Invalid false "The text is no id of the kind that is asked for."
    ToolInvalid "E_TOOL_INVALID" Invalid false "A tool's definition breaks a rule, so the tool is not offered."
    ToolCollision "E_SKILL_TOOL_COLLISION" Conflict false "A tool of this name is there already, or the name is kept for readers of artifacts."
    ToolUnknown "E_TOOL_UNKNOWN" Missing false "No tool of this name can be called here."
    ArgumentInvalid "E_ARGUMENT_INVALID" Invalid false "An argument does not fit its parameter."
    ToolDenied "E_TOOL_DENIED" Denied false "A person or a policy said no to the call, or nobody was there to say yes."
    ToolGateUnavailable "E_TOOL_GATE_UNAVAILABLE" Unavailable true "Whether the call may run could not be decided, so it did not run; this is no refusal."
    ToolSandboxRequired "E_TOOL_SANDBOX_REQUIRED" Unavailable false "The tool needs a sandbox and there is none, so it did not run."
    ToolTimeout "E_TOOL_TIMEOUT" Timeout false "The tool did not end in time; one in the host's own process may still be running."
    ToolBusy "E_TOOL_BUSY" Unavailable true "So many earlier calls of the tool have not come to an end that no more are begun."
    ToolFailed "E_SKILL_TOOL_FAILED" Guest false "The tool failed while it ran."
    ToolBadResponse "E_SKILL_TOOL_BAD_RESPONSE" Guest false "The tool answered in a shape that is none of the known ones, or not the one that its skill declares."

    // Scripts of skills.
    ScriptDenied "E_SKILL_SCRIPT_DENIED" Denied false "A person or a policy said no to the script, or nobody was there to say yes."
    ScriptGateUnavailable "E_SKILL_SCRIPT_GATE_UNAVAILABLE" Unavailable true "Whether the script may run could not be decided, so it did not run; this is no refusal."
    ScriptPolicyWidened "E_SKILL_SCRIPT_POLICY_WIDENED" Denied false "The script would get more than the deployer's envelope allows."
    ScriptTimeout "E_SKILL_SCRIPT_TIMEOUT" Timeout false "The script did not end in time and was killed."
    ScriptOutputLimit "E_SKILL_SCRIPT_OUTPUT_LIMIT" Guest false "The script wrote more than it may and was killed."
    ScriptFailed "E_SKILL_SCRIPT_FAILED" Guest false "The script ended with another exit code than zero, or by a signal."
    WorkspaceFailed "E_SKILL_WORKSPACE_FAILED" Unavailable true "The files for a run could not be laid out, collected or removed."
    WorkspaceRefused "E_WORKSPACE_REFUSED" Denied false "A run wrote something that is never put among the person's files, so none of it was."
    WorkspaceConflict "E_WORKSPACE_CONFLICT" Conflict false "A file or folder was changed by somebody else while a run wrote its own version of it."
    WorkspaceTooLarge "E_WORKSPACE_TOO_LARGE" TooLarge false "A workspace has more entries, or a run wrote more, than is looked through."
    ProcessesLeft "E_PROCESSES_LEFT" Internal false "It could not be shown that no process of a run is left."

    // Files and folders that a call is granted.
    FolderNotFound "E_FOLDER_NOT_FOUND" Missing false "A folder that a call names is not there, or is no folder."
    NotAFile "E_NOT_A_FILE" Invalid false "A folder stands where a file is meant."
    PlaceOutside "E_PLACE_OUTSIDE" Denied false "A path leads out of the workspace, beyond which nothing is granted."
    PlaceForbidden "E_PLACE_FORBIDDEN" Denied false "A file or folder lies where no script is ever given anything."
    TargetProtected "E_TARGET_PROTECTED" Denied false "A file is never replaced or made: for a leading dot in its path, an execute bit, another hard link, or since it cannot be written."
    FileExists "E_FILE_EXISTS" Conflict false "A file that was to be made is there already; it is never replaced."
    OutputNameClash "E_OUTPUT_NAME_CLASH" Conflict false "Two files of one call would have one name in the output folder."
    FileChanged "E_FILE_CHANGED" Conflict true "A file or folder is not what it was when it was looked at."

    // Interpreters.
    InterpreterUnknown "E_INTERPRETER_UNKNOWN" Missing false "There is no interpreter by that key: nobody configured one, or nothing is at its path."
    InterpreterRefused "E_INTERPRETER_REFUSED" Denied false "What is at an interpreter's path could have been put there or changed by others, or is no program."
    InterpreterChanged "E_INTERPRETER_CHANGED" Conflict false "An interpreter is another file, or has other bytes, than when it was pinned; `fumehood interpreters repin` takes the new one."

    // Requests for approval.
    ConsentFull "E_CONSENT_FULL" TooLarge false "64 requests for approval were made in this run, and no more are taken."
    ConsentUnknown "E_CONSENT_UNKNOWN" Missing false "This run has no such request for approval."
    ConsentPending "E_CONSENT_PENDING" Denied true "Nobody has answered the request for approval yet."
    ConsentDecided "E_CONSENT_DECIDED" Conflict false "The request for approval has its answer already; a second one counts for nothing."
    ConsentDenied "E_CONSENT_DENIED" Denied false "The request for approval was denied."
    ConsentExpired "E_CONSENT_EXPIRED" Denied false "The request for approval is older than five minutes; a new one is needed."
    ConsentStale "E_CONSENT_STALE" Conflict false "What would run is not what was shown, or a newer request took the place of this one."
    ConsentConsumed "E_CONSENT_CONSUMED" Conflict false "The approval was used already; it is good for one call."
    ControlInvalid "E_CONTROL_INVALID" Invalid false "What came over the control socket is not what this version of fumehood says there."
    ControlSilent "E_CONTROL_SILENT" Unavailable true "A process that holds requests for approval does not answer at its control socket."
    RunEnded "E_RUN_ENDED" Cancelled false "The run has ended, and its requests for approval with it."

    // The policy and trust scopes.
    PolicyInvalid "E_POLICY_INVALID" Denied false "policy.toml cannot be read as written, so nothing runs until it is mended."
    PolicyBlocked "E_POLICY_BLOCKED" Denied false "The mode of policy.toml is blocked, so nothing runs."
    PolicyWorkflow "E_POLICY_WORKFLOW" Denied false "The mode of policy.toml is workflow, which needs a verified plan, and there are none yet."
    PolicyDenied "E_POLICY_DENIED" Denied false "A rule of policy.toml denies the call."
    PolicyUnreachable "W_POLICY_UNREACHABLE" Invalid false "A rule never decides, since an earlier one matches all that it matches."
    PolicyAnyRevision "W_POLICY_ANY_REVISION" Invalid false "A rule allows whatever a skill turns into, since it names no exact revision."
    PolicyNeverWaives "W_POLICY_NEVER_WAIVES" Invalid false "A rule allows scripts, for which only a trust scope waives the question."
    PolicyUnknownSource "W_POLICY_UNKNOWN_SOURCE" Invalid false "A rule names a source that is not configured."
    PolicyPathAsText "W_POLICY_PATH_AS_TEXT" Invalid false "A rule compares the beginning of a path as text, which no path matches."
    PolicyWideSurface "W_POLICY_WIDE_SURFACE" Invalid false "A surface behind which no person need be may trust a revision."
    PolicyChanged "E_POLICY_CHANGED" Conflict false "policy.toml is not what it was when the change to it was shown, so it was not changed."
    PolicyUneditable "E_POLICY_UNEDITABLE" Invalid false "policy.toml is a link, or cannot be changed without touching something else in it."
    PolicyWritable "E_POLICY_WRITABLE" Denied false "policy.toml lies where a script may write, so nothing is written there."
    EditorFailed "E_EDITOR_FAILED" Unavailable false "The editor could not be started, or ended with a failure."
    TrustScopeInvalid "E_TRUST_SCOPE_INVALID" Invalid false "A trust scope breaks a rule or is there already, so it is not saved."
    TrustScopesFull "E_TRUST_SCOPES_FULL" TooLarge false "There are 64 trust scopes already."
    TrustScopesForeign "E_TRUST_SCOPES_FOREIGN" Unavailable false "The file at the place of the trust scopes is not fumehood's, or another version's."
    TrustScopesDamaged "E_TRUST_SCOPES_DAMAGED" Unavailable false "The trust scopes cannot be read; move the file aside to keep it, and none is trusted until it is saved anew."

    // The record.

    // The sandbox.
    SandboxUnavailable "E_SANDBOX_UNAVAILABLE" Unavailable false "This machine cannot confine a program, so nothing would run on it; the remedy is said beside."
    SandboxBroken "E_SANDBOX_BROKEN" Internal false "An attack that the sandbox promises to hold off was not held off, or could not be shown to work without it."

    // Finding skills.
    SkillNotFound "E_SKILL_NOT_FOUND" Missing false "No skill of that name or path is known."
    SkillAmbiguous "E_SKILL_AMBIGUOUS" Conflict false "The name stands for more than one skill."
    NoSkillsFound "E_NO_SKILLS_FOUND" Missing false "The searched folders hold no SKILL.md."
    SourceMissing "E_SOURCE_MISSING" Missing false "A folder to search does not exist or is no folder."
    SourceUnreadable "E_SOURCE_UNREADABLE" Unavailable true "The operating system refused to open or list a folder."
    ProjectInert "E_PROJECT_INERT" Denied false "The skill belongs to a project that nobody trusted yet."
    ProjectInertNote "N_PROJECT_INERT" Denied false "A project's skills are counted but not shown until the project is trusted."
    Shadowed "N_SHADOWED" Conflict false "Another skill of the same name comes first; this one is reached by its qualified name."
    WalkDepth "W_WALK_DEPTH" TooLarge false "Folders below the depth limit were not searched."
    WalkDirectories "W_WALK_DIRECTORIES" TooLarge false "A limit of folders or names was reached; the rest was not searched."
    WalkSkills "W_WALK_SKILLS" TooLarge false "The limit of skills in one source was reached; the rest was not searched."
    WalkUnreadable "W_WALK_UNREADABLE" Unavailable true "A folder could not be opened and was not searched."
    WalkLink "N_WALK_LINK" Invalid false "A linked folder that is no skill itself was not searched."
    WalkPruned "N_WALK_PRUNED" Invalid false "Folders of version control, dependencies or virtual environments were not entered."

    // Files of a skill.
    PathRejected "E_SKILL_SOURCE_PATH_REJECTED" Invalid false "A path is not a portable relative path inside the skill."
    PathCollision "E_PATH_COLLISION" Conflict false "Two paths of one bundle are the same file on some systems."
    FileNotFound "E_FILE_NOT_FOUND" Missing false "There is no such file."
    FileUnreadable "E_FILE_UNREADABLE" Unavailable true "The operating system refused to read a file."
    FileTooLarge "E_FILE_TOO_LARGE" TooLarge false "A file is larger than the limit for what was asked."
    RangeInvalid "E_RANGE_INVALID" Invalid false "The byte range lies outside the file or is turned round."
    LinkEscapes "E_LINK_ESCAPES" Denied false "A link leads out of the skill, in a circle or to nothing; it was not followed."
    LinkRefused "E_LINK_REFUSED" Denied false "A declared file is a link, and declared files must be plain files."
    LinkFollowed "N_LINK_FOLLOWED" Invalid false "A link inside the skill counts as the bytes of its target."
    SpecialFile "E_SPECIAL_FILE" Denied false "A FIFO, device or socket is never opened."
    HardLinked "N_HARD_LINKED" Invalid false "A file has other names on this disk, so it can change without its folder changing."
    SkillTooLarge "W_SKILL_TOO_LARGE" TooLarge false "The skill is above 512 files or 16 MiB: listed and shown, but without a revision it cannot run."
    FilesNotListed "W_FILES_NOT_LISTED" TooLarge false "The skill has more entries or deeper folders than are listed."
    NoRevision "E_NO_REVISION" Invalid false "The skill can have no revision: it is too large, or an entry of it was refused."
    SnapshotChanged "E_SNAPSHOT_CHANGED" Conflict true "The skill changed while it was read."
    GitSkipped "N_GIT_SKIPPED" Invalid false "The skill folder is a git repository; its .git is neither listed nor part of the revision."
    NestedSkill "N_NESTED_SKILL" Invalid false "A SKILL.md below another skill counts as a supporting file."

    // SKILL.md as a file.
    SkillMdMissing "E_SKILL_MD_MISSING" Missing false "The folder holds no SKILL.md."
    SkillMdName "W_SKILL_MD_NAME" Invalid false "The file is not spelled SKILL.md; other hosts will not see it."
    SkillMdAmbiguous "E_SKILL_MD_AMBIGUOUS" Conflict false "Two spellings of SKILL.md stand side by side."
    SkillMdTooLarge "E_SKILL_MD_TOO_LARGE" TooLarge false "SKILL.md is larger than 1 MiB."
    SkillMdEncoding "E_SKILL_MD_ENCODING" Invalid false "SKILL.md is not valid UTF-8."
    SkillMdNul "E_SKILL_MD_NUL" Invalid false "SKILL.md holds a NUL byte."
    SkillMdLinkText "E_SKILL_MD_LINK_TEXT" Invalid false "SKILL.md holds only a path: a link that was checked out as text."
    Bom "N_BOM" Invalid false "SKILL.md starts with a byte order mark."
    Crlf "N_CRLF" Invalid false "SKILL.md has CRLF line ends."
    FenceSpaces "N_FENCE_SPACES" Invalid false "A frontmatter fence has trailing spaces."
    LeadingBlank "N_LEADING_BLANK" Invalid false "Blank lines stand before the frontmatter."

    // Frontmatter.
    FrontmatterMissing "E_FRONTMATTER_MISSING" Invalid false "SKILL.md does not start with a frontmatter block."
    FrontmatterUnclosed "E_FRONTMATTER_UNCLOSED" Invalid false "The frontmatter has no closing line of three dashes."
    FrontmatterTooLarge "E_FRONTMATTER_TOO_LARGE" TooLarge false "The frontmatter is larger than 64 KiB, or too deep, or has too many nodes."
    FrontmatterInvalid "E_FRONTMATTER_INVALID" Invalid false "The frontmatter is no valid YAML mapping and could not be rescued."
    FrontmatterDuplicate "E_FRONTMATTER_DUPLICATE_KEY" Invalid false "The frontmatter has one key twice, and readers differ on which one counts."
    FrontmatterQuoted "W_FRONTMATTER_QUOTED" Invalid false "The frontmatter is broken YAML; it was read by quoting single lines."
    FrontmatterRescued "W_FRONTMATTER_RESCUED" Invalid false "The frontmatter is broken YAML; only its name and description were read."
    NameMissing "W_NAME_MISSING" Invalid false "The frontmatter has no name; the folder's name is used."
    NameTrimmed "N_NAME_TRIMMED" Invalid false "The name has spaces around it."
    NameCharacters "W_NAME_CHARACTERS" Invalid false "The name has characters outside a-z, 0-9 and single inner hyphens."
    NameTooLong "W_NAME_TOO_LONG" TooLarge false "The name is longer than 64 characters."
    NameDirectory "W_NAME_DIRECTORY" Invalid false "The name differs from the folder's name."
    NameUnusable "E_NAME_UNUSABLE" Invalid false "Neither the name nor the folder's name has a letter or digit."
    NameInvalid "E_NAME_INVALID" Invalid false "A name does not follow its rule."
    ScalarAsText "N_SCALAR_AS_TEXT" Invalid false "A number or boolean stands where text is meant; it was read as written."
    DescriptionMissing "E_DESCRIPTION_MISSING" Invalid false "The description is missing or blank."
    DescriptionTooLong "W_DESCRIPTION_TOO_LONG" TooLarge false "The description is longer than 1024 characters; catalogues show its beginning."
    CompatibilityLength "W_COMPATIBILITY_LENGTH" Invalid false "The compatibility text is empty or longer than 500 characters."
    FieldType "W_FIELD_TYPE" Invalid false "A standard field has a type that the standard does not give it."
    MetadataValue "W_METADATA_VALUE" Invalid false "A metadata value is a list or map where the standard has text; it was kept."
    FieldUnknown "N_FIELD_UNKNOWN" Invalid false "A field outside the standard was kept and has no effect."
    HostField "N_HOST_FIELD_NOT_ENFORCED" Invalid false "A field that another host acts on was kept; fumehood does not enforce it."
    HostFeature "N_HOST_FEATURE" Invalid false "The body uses another host's features; the text is kept and nothing is expanded or run."
    HiddenText "W_HIDDEN_TEXT" Invalid false "SKILL.md holds characters that a reader cannot see or that turn text round; a model reads them."
    AllowedToolsForm "N_ALLOWED_TOOLS_FORM" Invalid false "allowed-tools is a list or has commas where the standard has one space-separated string."
    AllowedToolsMalformed "W_ALLOWED_TOOLS_MALFORMED" Invalid false "allowed-tools could not be read; it counts as an empty list."
    BodyTools "N_BODY_TOOLS" Invalid false "The body names tools of its host; fumehood offers none of them, and a host that does must be there."
    HostTools "N_HOST_TOOLS" Invalid false "The skill names tools of its host in allowed-tools; a request, never a grant."

    // Manifests and execution.
    ExecutionManifest "E_EXECUTION_MANIFEST" Invalid false "execution.json was refused; the skill stays readable and nothing of it can run by it."
    FumehoodManifest "E_FUMEHOOD_MANIFEST" Invalid false "fumehood.json was refused; the skill stays readable and nothing of it can run by it."
    ManifestField "E_MANIFEST_FIELD" Invalid false "A manifest field is unknown, missing or out of range."
    DeclaredFile "E_DECLARED_FILE" Missing false "A declared file is missing, no plain file, or too large."
    ToolNameLong "W_TOOL_NAME_LONG" TooLarge false "A tool name is longer than 48 characters; some clients add a prefix and cut at 64."
    ToolNameTooLong "E_TOOL_NAME_TOO_LONG" TooLarge false "The tool name would be longer than 64 characters; names are never shortened."
    ToolDuplicate "E_SKILL_TOOL_DUPLICATE" Conflict false "One skill declares two tools of one name."
    NotLoadable "E_SKILL_NOT_LOADABLE" Invalid false "What was asked for needs a loadable skill."
    NotConformant "E_SKILL_NOT_CONFORMANT" Invalid false "What was asked for needs a conformant skill."
    ExecutionUnavailable "E_EXECUTION_UNAVAILABLE" Unavailable false "The skill carries no execution.json, so it has no checked tool; scripts run with `fumehood run`."
    ExecuteDisabled "E_EXECUTE_DISABLED" Denied false "fumehood.toml takes the capability to run checked tools away."
    SafeMode "E_SAFE_MODE" Denied false "The safety mode of fumehood.toml is safe, in which nothing of a skill runs."

    // Results and the journal.
    ArtifactNotFound "E_ARTIFACT_NOT_FOUND" Missing false "There is no artifact of that id, or it is another agent's."
    ArtifactStoreFull "E_ARTIFACT_STORE_FULL" TooLarge false "The artifacts take all the room they may, or the disk is full; `fumehood artifact prune` makes room."
    ArtifactRange "E_ARTIFACT_RANGE" Invalid false "A line, an offset or a bound is none that a reader takes."
    ArtifactPattern "E_ARTIFACT_PATTERN" Invalid false "The pattern is no regular expression, is too large, or spans lines."
    ArtifactDamaged "E_ARTIFACT_DAMAGED" Unavailable false "An artifact on the disk is not what was put there."
    NothingApproved "E_NOTHING_APPROVED" Missing false "No revision of the skill is on record as approved."
    ReceiptNotFound "E_RECEIPT_NOT_FOUND" Missing false "No receipt of that id is on record."
    JournalDamaged "E_JOURNAL_DAMAGED" Unavailable false "The journal cannot be read; move it aside to keep it, and a new one is begun."
    JournalForeign "E_JOURNAL_FOREIGN" Unavailable false "The file at the journal's place is not fumehood's, or another version's."
    JournalBroken "E_JOURNAL_BROKEN" Conflict false "The journal's chain does not hold: a row was changed, removed, inserted or moved."
    JournalRow "E_JOURNAL_ROW" TooLarge false "A row for the journal is no JSON, or larger than 4 MiB."

    // JSON.
    JsonTooLarge "E_JSON_TOO_LARGE" TooLarge false "The JSON text is larger than its limit."
    JsonEncoding "E_JSON_ENCODING" Invalid false "The JSON text is not valid UTF-8."
    JsonSyntax "E_JSON_SYNTAX" Invalid false "The text is not one JSON value."
    JsonTrailing "E_JSON_TRAILING" Invalid false "Something follows the one JSON value."
    JsonDepth "E_JSON_DEPTH" TooLarge false "The JSON value is nested deeper than 32 levels."
    JsonNodes "E_JSON_NODES" TooLarge false "The JSON value has more than 4096 nodes."
    JsonDuplicateKey "E_JSON_DUPLICATE_KEY" Invalid false "A JSON object has one key twice."
    JsonSurrogate "E_JSON_SURROGATE" Invalid false "A JSON string holds half of a surrogate pair."
    JsonNumber "E_JSON_NUMBER" Invalid false "A JSON number is too large for a double."

    // Schemas.
    SchemaKeyword "E_SCHEMA_KEYWORD" Invalid false "The schema uses a keyword outside the strict subset."
    SchemaInvalid "E_SCHEMA_INVALID" Invalid false "A schema keyword is missing or has a value it cannot have."
    SchemaMismatch "E_SCHEMA_MISMATCH" Invalid false "The value does not match its schema."
}

/// The table as the Markdown page `docs/errors.md`.
pub fn errors_page() -> String {
    use fmt::Write as _;
    let mut page = String::from(
        "# Codes\n\n\
         Printed from the table in `crates/core/src/code.rs` (`UPDATE=1 cargo test -p fumehood-core errors_page_is_current` rewrites it).\n\
         A released code is never renamed or reused. `E_` is an error, `W_` a warning, `N_` a note. The class says who\n\
         must act, with the HTTP status that says the same. \"exit\" is the exit code when an error ends a command; findings\n\
         about a skill, warnings and notes never do.\n\n\
         | code | class | exit | retry | meaning |\n|---|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let _ = writeln!(
            page,
            "| `{code}` | {} {} | {} | {} | {} |",
            code.class().as_str(),
            code.class().status(),
            if code.severity() == Severity::Error {
                code.class().exit_code().to_string()
            } else {
                "–".to_owned()
            },
            if code.retryable() { "yes" } else { "no" },
            code.sentence()
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unique_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code} twice");
            assert!(
                ["E_", "W_", "N_"].iter().any(|p| code.as_str().starts_with(p)),
                "{code} says no severity"
            );
            assert!(code.sentence().ends_with('.'), "{code}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares with the page on disk")]
    fn errors_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, errors_page()).expect("docs/errors.md can be written");
        }
        let on_disk = std::fs::read_to_string(path).expect("docs/errors.md exists");
        assert_eq!(on_disk, errors_page(), "run UPDATE=1 cargo test -p fumehood-core");
    }
}
