//! The command line: exit codes, the one form of errors, and how far names and searches reach.

use std::os::unix::fs::chown;

use fumehood_testkit::{Answer, Call, World, skill};
use serde_json::{Value, json};

use crate::{checked, codes, finding, text, texts, verdicts, world, world_with};

/// A fault is one JSON object with five fields on standard error; the same as text has the code and an exit code.
fn assert_fault(call: &Call<'_>, arguments: &[&str], exit: i32, code: &str, class: &str) -> Value {
    let fault = call.fault(arguments, exit);
    let keys: Vec<_> = fault.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = ["code", "class", "message", "advice", "id"];
    expected.sort_unstable();
    assert_eq!(keys, expected, "{arguments:?}");
    assert_eq!((&fault["code"], &fault["class"]), (&code.into(), &class.into()), "{arguments:?}");
    assert!(text(&fault["message"]).len() > 5 && text(&fault["advice"]).len() > 5, "{fault}");
    let id = text(&fault["id"]).strip_prefix("f-").unwrap();
    assert!(id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()) && id != "0000000000000000", "{id}");
    let plain = call.run(arguments);
    assert_eq!((plain.code, plain.text().as_str()), (Some(exit), ""), "{arguments:?}");
    if code != "E_USAGE" {
        assert!(plain.errors().contains(&format!("[{code}]")), "{}", plain.errors());
    }
    fault
}

#[test]
fn exit_codes_say_who_must_act() {
    let world = world_with(&skill("good"));
    world.add("mixed", &skill("good"));
    world.add("mixed", &skill("bad").skill_md("no"));
    world.add("loadable", &skill("x").field("version: 1"));
    world.folder("empty");
    for (arguments, exit) in [
        (vec!["check", "skills"], 0),
        (vec!["check", "loadable"], 0),
        (vec!["check", "loadable", "--strict"], 2),
        (vec!["check", "mixed"], 2),
        (vec!["list", "mixed"], 0),
        (vec!["list", "empty"], 0),
        (vec!["show", "mixed/bad"], 0),
        (vec!["diff", "skills/good", "mixed/good"], 0),
        (vec!["diff", "skills/good", "mixed/bad"], 0),
        (vec!["--version"], 0),
        (vec!["help", "check"], 0),
        (vec!["check", "--help"], 0),
    ] {
        let answer = world.run(&arguments);
        assert_eq!((answer.code, answer.errors().as_str()), (Some(exit), ""), "{arguments:?}");
        assert!(!answer.text().is_empty(), "{arguments:?}");
    }
}

/// `>> ~/.codex/config.toml` has to leave a file that still reads.
#[test]
fn what_belongs_into_settings_can_be_redirected_into_them() {
    let world = world();
    for (client, pasted) in [("codex", "[mcp_servers.fumehood]\n"), ("claude-code", "claude mcp add ")] {
        let answer = world.run(["setup", client]);
        assert_eq!(answer.code, Some(0), "{}", answer.errors());
        assert!(answer.text().starts_with(pasted), "{}", answer.text());
        for words in ["Put this into", "Let Claude Code", "start the agent anew"] {
            assert!(!answer.text().contains(words), "{}", answer.text());
        }
        assert!(answer.errors().contains("Then start the agent anew"), "{}", answer.errors());
    }
}

#[test]
fn the_first_screen_has_groups_and_every_exit_code() {
    let world = world();
    let plain = world.run::<&str>([]);
    assert_eq!((plain.code, plain.text().as_str()), (Some(2), ""));
    for screen in [plain.errors(), world.run(["--help"]).text(), world.run(["help"]).text()] {
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let codes =
            "0 done, 1 what ran failed or timed out, 2 something to mend, 3 denied, 4 unavailable, 70 a bug";
        assert!(words.contains(codes), "{screen}");
        let groups =
            ["\nRead skills:\n  check ", "\nSee what runs left:\n  runs ", "\nSet up:\n  trust-project "];
        let places = groups.map(|group| screen.find(group).unwrap_or_else(|| panic!("{group}: {screen}")));
        assert!(places.is_sorted(), "{screen}");
    }
}

#[test]
fn errors_are_one_object_of_five_fields() {
    let world = world_with(&skill("good").file("a.md", "text"));
    world.add("skills", &skill("plain"));
    world.folder("empty");
    let many = (0..=512).fold(skill("many"), |skill, n| skill.file(&format!("f{n}"), ""));
    world.add("large", &many);
    world.link("skills/good/link", "/etc/hostname");
    let call = world.call();
    let faults: [(&[&str], i32, &str, &str); 18] = [
        (&["check", "empty"], 2, "E_NO_SKILLS_FOUND", "missing"),
        (&["check", "nowhere"], 2, "E_SKILL_NOT_FOUND", "missing"),
        (&["check", "skills/good/a.md"], 2, "E_SKILL_NOT_FOUND", "missing"),
        (&["check", "skills", "nowhere"], 2, "E_SKILL_NOT_FOUND", "missing"),
        (&["list", "nowhere"], 2, "E_SOURCE_MISSING", "missing"),
        (&["list", "skills/good/a.md"], 2, "E_SOURCE_MISSING", "missing"),
        (&["show", "nothing"], 2, "E_SKILL_NOT_FOUND", "missing"),
        (&["show", "./empty"], 2, "E_SKILL_MD_MISSING", "missing"),
        (&["show", "good", "--root", "nowhere"], 2, "E_SOURCE_MISSING", "missing"),
        (&["cat", "skills/good", "b.md"], 2, "E_FILE_NOT_FOUND", "missing"),
        (&["cat", "skills/good", "../good/a.md"], 2, "E_SKILL_SOURCE_PATH_REJECTED", "invalid"),
        (&["cat", "skills/good", "link"], 3, "E_LINK_ESCAPES", "denied"),
        (&["cat", "skills/good", "a.md", "--offset", "5"], 2, "E_RANGE_INVALID", "invalid"),
        (&["diff", "skills/plain", "nowhere/x"], 2, "E_SKILL_NOT_FOUND", "missing"),
        (&["diff", "large/many", "large/many"], 2, "E_NO_REVISION", "invalid"),
        (&["diff", "skills/plain", "skills/good"], 2, "E_NO_REVISION", "invalid"),
        (&["trust-project", "nowhere"], 2, "E_SOURCE_MISSING", "missing"),
        (&["trust-project", "project"], 3, "E_TERMINAL_REQUIRED", "denied"),
    ];
    for (arguments, exit, code, class) in faults {
        assert_fault(&call, arguments, exit, code, class);
    }
    let ids = [0; 2].map(|_| call.fault(["show", "nothing"], 2)["id"].clone());
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn usage_errors_have_that_form_too() {
    let world = world();
    let call = world.call();
    let mistakes: [(&[&str], &str); 8] = [
        (&["inspect"], "'inspect'"),
        (&["check"], "<PATH>"),
        (&["show", "a", "b"], "'b'"),
        (&["check", "x", "--colour"], "'--colour'"),
        (&["list", "--max-depth", "0"], "'0'"),
        (&["list", "--max-depth", "33"], "'33'"),
        (&["list", "--max-folders", "1000001"], "'1000001'"),
        (&["cat", "x", "y", "--offset", "-1"], "'-1'"),
    ];
    for (arguments, named) in mistakes {
        let fault = assert_fault(&call, arguments, 2, "E_USAGE", "invalid");
        assert!(text(&fault["message"]).contains(named), "{fault}");
    }
    // Wherever the format stands, and in both ways to write it.
    for arguments in
        [vec!["check", "--format=json"], vec!["check", "--format", "json"], vec!["--format=json"]]
    {
        let answer = world.run(&arguments);
        assert_eq!((answer.code, answer.text().as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(serde_json::from_slice::<Value>(&answer.stderr).unwrap()["code"], "E_USAGE");
    }
    let answer = world.run(["--format", "xml", "list"]);
    assert!(answer.code == Some(2) && answer.errors().contains("xml"), "{}", answer.errors());
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let world = world_with(&skill("x").file("big", vec![b'a'; 4 << 20]));
    for n in 0..400 {
        world.add("skills", &skill(&format!("s{n}")).description(&"d".repeat(1000)));
    }
    for arguments in
        ["list skills", "list skills --format json", "check skills", "cat skills/x big", "--help"]
    {
        let script = "\"$0\" \"$@\" | head -c 1 >/dev/null; echo \"${PIPESTATUS[0]}\"";
        let answer = world.call().run_behind("/bin/bash", ["-c", script], arguments.split(' '));
        assert_eq!((answer.text().as_str(), answer.errors().as_str()), ("0\n", ""), "{arguments}");
    }
    // A disk that is full is one.
    let script = "\"$0\" \"$@\" >/dev/full";
    for arguments in ["list skills", "cat skills/x big"] {
        let answer = world.call().run_behind("/bin/bash", ["-c", script], arguments.split(' '));
        assert_eq!(answer.code, Some(4));
        assert!(answer.errors().contains("[E_OUTPUT_FAILED]"), "{}", answer.errors());
    }
}

#[test]
fn strict_wants_conformance_and_a_complete_search() {
    let world = world_with(&skill("x"));
    assert_eq!(world.run(["check", "skills", "--strict"]).code, Some(0));
    world.folder("skills/y/2/3");
    assert_eq!(world.run(["check", "skills", "--strict"]).code, Some(0));
    for limit in ["--max-depth", "--max-folders"] {
        let check = ["check", "skills", limit, "2"];
        assert_eq!(world.run(check).code, Some(0), "{limit}");
        let answer = world.run(check.iter().chain(&["--strict"]));
        assert_eq!(answer.code, Some(2), "{limit}");
        assert!(answer.text().contains("[W_WALK_D"), "{}", answer.text());
    }
}

#[test]
fn the_text_of_a_check_is_made_for_editors() {
    let world = world_with(&skill("a").field("version: 1"));
    world.add("skills", &skill("b").frontmatter("name: b\nname: b"));
    world.add("skills", &skill("c").field("allowed-tools: Read"));
    let answer = world.run(["check", "skills"]);
    // A note is shown if it is why the skill is not conformant.
    let expected = "\
loadable   a  skills/a
    skills/a/SKILL.md:4:1: note: version: no field of the standard; kept [N_FIELD_UNKNOWN]
refused    b  skills/b
    skills/b/SKILL.md:3:1: error: this key stands here for the second time [E_FRONTMATTER_DUPLICATE_KEY]
conformant c  skills/c
3 skills: 2 loadable, 1 conformant, 1 refused; 1 note not shown (--notes shows them)
";
    assert_eq!(answer.text(), expected);
    let notes = world.run(["check", "skills", "--notes"]).text();
    assert!(
        notes.contains("skills/c/SKILL.md:4:16: note: asks its host for: Read [N_HOST_TOOLS]"),
        "{notes}"
    );
    let quiet = world.run(["check", "skills", "--quiet"]).text();
    assert!(
        !quiet.contains("skills/c") && quiet.contains("skills/a") && quiet.contains("skills/b"),
        "{quiet}"
    );
}

// GRT-06, X-01: what a broken block asks for is not believed, and not hidden either.
#[test]
fn a_rescued_request_for_tools_is_pointed_at() {
    let lines = "name: x\ndescription: Use when: asked\nallowed-tools: Bash(*) Write";
    let world = world_with(&skill("x").frontmatter(lines));
    let found = checked(&world, "skills");
    assert!(codes(&found).contains(&"W_ALLOWED_TOOLS_MALFORMED"), "{found}");
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(shown["claims"]["allowed_tools"], json!([]));
}

// A folder that may not be read is not blamed on a limit.
#[test]
fn a_folder_that_cannot_be_read_is_named() {
    if fumehood_testkit::is_root() {
        println!("not run: root reads every folder");
        return;
    }
    let world = world();
    let locked = world.folder("locked/inner");
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let fault = world.fault(["check", "locked"], 4);
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(fault["code"], "E_SOURCE_UNREADABLE");
    assert!(text(&fault["advice"]).contains("permissions"), "{fault}");
}

#[test]
fn nested_skills_are_found_when_asked_for() {
    let world = world_with(&skill("outer"));
    world.add("skills/outer/more/levels", &skill("inner"));
    let names = |arguments: &[&str]| -> Vec<String> {
        texts(&world.json(arguments)["skills"], "name").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(names(&["list", "skills"]), ["outer"]);
    assert_eq!(names(&["list", "skills", "--nested"]), ["inner", "outer"]);
    assert_eq!(names(&["check", "skills"]), ["outer"]);
    assert_eq!(names(&["check", "skills", "--nested"]), ["outer", "inner"]);
    assert_eq!(world.fault(["show", "inner", "--root", "skills"], 2)["code"], "E_SKILL_NOT_FOUND");
    assert_eq!(world.json(["show", "inner", "--root", "skills", "--nested"])["name"], "inner");
}

#[test]
fn a_slash_makes_a_path_and_nothing_else_does() {
    let world = world();
    world.add("project", &skill("x").description("In the current folder."));
    world.add("home/.agents/skills", &skill("x").description("From the index."));
    world.add("", &skill("y"));
    let call = world.call().within("project");
    let described = |name: &str| text(&call.json(["show", name])["description"]).to_owned();
    assert_eq!(described("x"), "From the index.");
    for path in ["./x", "x/", "x/SKILL.md", "../project/x", &world.text("project/x")] {
        assert_eq!(described(path), "In the current folder.", "{path}");
    }
    assert_eq!(call.json(["show", "../y"])["name"], "y");
    assert_eq!(call.fault(["show", "y"], 2)["code"], "E_SKILL_NOT_FOUND");
    assert_eq!(world.call().within("project/x").json(["show", "."])["description"], "In the current folder.");
    // What is no name of the index is not looked for on the disk either, not even with the file's own name.
    assert_eq!(world.call().within("project/x").fault(["show", "SKILL.md"], 2)["code"], "E_SKILL_NOT_FOUND");
}

#[test]
fn a_name_that_several_skills_declare_is_ambiguous() {
    let world = world();
    world.add("skills", &skill("\"!!\"").in_folder("a"));
    world.add("skills", &skill("\"!!\"").in_folder("b"));
    let fault =
        assert_fault(&world.call(), &["show", "!!", "--root", "skills"], 2, "E_SKILL_AMBIGUOUS", "conflict");
    assert!(text(&fault["message"]).contains("\"!!\""), "{fault}");
    assert_eq!(world.json(["show", "b", "--root", "skills"])["declared_name"], "!!");
}

#[test]
fn sources_come_in_their_order_and_name_who_is_shadowed() {
    let world = world();
    world.write(
        "home/.config/fumehood/fumehood.toml",
        format!("[[sources]]\nname = \"team\"\npath = \"{}\"\n", world.text("team")),
    );
    for below in ["home/.claude/skills", "home/.agents/skills", "team"] {
        world.add(below, &skill("x").description(below));
    }
    let list = world.json(["list"]);
    assert_eq!(texts(&list["skills"], "qualified_name"), ["team:x", "user-agents:x", "user-claude:x"]);
    assert_eq!(texts(&list["skills"], "description"), ["team", "home/.agents/skills", "home/.claude/skills"]);
    let shadowed: Vec<_> =
        list["skills"].as_array().unwrap().iter().map(|skill| &skill["shadowed_by"]).collect();
    let winner = json!(world.text("team/x"));
    assert_eq!(shadowed, [&Value::Null, &winner, &winner]);
    assert_eq!(world.json(["show", "x"])["source"], "team");
    let shown = world.json(["show", "user-claude:x"]);
    assert_eq!((&shown["description"], &shown["shadowed_by"]), (&"home/.claude/skills".into(), &winner));
}

// Settings.

/// `list` with this `fumehood.toml`.
fn with_settings(settings: impl AsRef<[u8]>) -> (World, Answer) {
    let world = world();
    world.add("home/.agents/skills", &skill("mine"));
    world.write("home/.config/fumehood/fumehood.toml", settings);
    let answer = world.run(["list", "--format", "json"]);
    (world, answer)
}

#[test]
fn settings_that_cannot_be_read_as_written_stop_everything() {
    let (_world, good) = with_settings("# nothing\n");
    assert_eq!(texts(&good.json()["skills"], "name"), ["mine"]);
    let source = |name: &str, path: &str| format!("[[sources]]\nname = \"{name}\"\npath = \"{path}\"\n");
    let many = |n: usize| (0..n).map(|n| source(&format!("s{n}"), "x")).collect::<String>();
    assert_eq!(with_settings(many(64)).1.code, Some(0));
    let padded = |n: usize| format!("#{}\n", "x".repeat(n - 2));
    assert_eq!(with_settings(padded(256 << 10)).1.code, Some(0));
    let bad: [(String, &str); 13] = [
        ("\n\nsources = \n".to_owned(), "line 3"),
        ("colour = true\n".to_owned(), "colour"),
        ("[[sources]]\nname = \"a\"\npath = \"b\"\ntrusted = true\n".to_owned(), "trusted"),
        ("[[sources]]\nname = \"a\"\n".to_owned(), "path"),
        (source("Team", "x"), "Team"),
        (source("", "x"), "1 to 32"),
        (source(&"a".repeat(33), "x"), "1 to 32"),
        (source("user-agents", "x"), "user-agents"),
        (source("a", ""), "empty path"),
        (source("a", "x") + &source("a", "y"), "two sources are called a"),
        (many(65), "more than 64"),
        (padded((256 << 10) + 1), "256 KiB"),
        ("sources = 1\nsources = 2\n".to_owned(), "line 2"),
    ];
    for (settings, named) in bad {
        let (world, answer) = with_settings(&settings);
        let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
        assert_eq!((answer.code, &fault["code"]), (Some(2), &"E_CONFIG_INVALID".into()), "{settings}");
        let message = text(&fault["message"]);
        assert!(message.contains(&world.text("home/.config/fumehood/fumehood.toml")), "{message}");
        assert!(message.contains(named), "{named} in {message}");
        assert!(!message.contains("mine") && answer.stdout.is_empty(), "{message}");
        // Names need the index, which needs the settings. A path that the person types does not.
        assert_eq!(world.fault(["show", "mine"], 2)["code"], "E_CONFIG_INVALID");
        assert_eq!(world.json(["show", "home/.agents/skills/mine"])["name"], "mine");
    }
    let (_world, not_text) = with_settings(b"# \xff\n");
    assert_eq!(not_text.code, Some(2));
}

#[test]
fn settings_that_others_can_write_are_not_believed() {
    let (world, good) = with_settings("");
    assert_eq!(good.code, Some(0));
    for mode in [0o620, 0o602, 0o666] {
        world.mode("home/.config/fumehood/fumehood.toml", mode);
        assert_eq!(world.fault(["list"], 3)["code"], "E_HOME_REFUSED", "{mode:o}");
    }
}

#[test]
fn a_tilde_stands_for_the_home_folder() {
    let (world, _) = with_settings("[[sources]]\nname = \"own\"\npath = \"~/skills\"\n");
    world.add("home/skills", &skill("x"));
    let list = world.json(["list"]);
    assert_eq!(list["sources"][0]["path"], world.text("home/skills"));
    assert_eq!(texts(&list["skills"], "qualified_name"), ["own:x", "user-agents:mine"]);
}

// FUMEHOOD_HOME.

#[test]
fn fumehood_home_must_be_private_and_outside_the_project() {
    let world = world();
    world.write(
        "private/fumehood.toml",
        format!("[[sources]]\nname = \"own\"\npath = \"{}\"\n", world.text("team")),
    );
    world.add("team", &skill("x"));
    world.mode("private", 0o700);
    let with = |value: &str| world.call().within("project").variable("FUMEHOOD_HOME", value);
    let good = world.text("private");
    assert_eq!(texts(&with(&good).json(["list"])["skills"], "name"), ["x"]);
    assert_eq!(texts(&with(&good).without_home().json(["list"])["skills"], "name"), ["x"]);
    // Empty is not set.
    assert_eq!(texts(&with("").json(["list"])["sources"], "kind"), ["user", "user", "project", "project"]);

    let refused = |value: &str, reason: &str| {
        let fault = assert_fault(&with(value), &["list"], 3, "E_HOME_REFUSED", "denied");
        assert!(text(&fault["message"]).contains(reason), "{reason} in {fault}");
    };
    refused("private", "is not an absolute path");
    refused(&world.text("nowhere"), "does not exist");
    refused(&world.text("team/x/SKILL.md"), "is not a folder");
    for mode in [0o750, 0o705, 0o701, 0o777] {
        world.mode("private", mode);
        refused(&good, "is open to others");
    }
    world.mode("private", 0o700);
    for below in ["project/state", "project/.git/state"] {
        world.folder(below);
        world.mode(below, 0o700);
        refused(&world.text(below), "lies inside the current project");
    }
    // A link into the project is where it leads.
    world.link("outside", "project/state");
    refused(&world.text("outside"), "lies inside the current project");
    refused(&somebody_elses_folder(&world), "belongs to somebody else");
    // A path that the person types needs no state and no settings.
    assert_eq!(with(&world.text("nowhere")).json(["show", "../team/x"])["name"], "x");
    assert_eq!(with(&world.text("nowhere")).run(["check", "../team"]).code, Some(0));
}

/// A folder of mode 0700 of another user where we can make one, else one of root's.
fn somebody_elses_folder(world: &World) -> String {
    let folder = world.folder("theirs");
    world.mode("theirs", 0o700);
    match chown(&folder, Some(65533), Some(65533)) {
        Ok(()) => world.text("theirs"),
        Err(_) => "/usr".to_owned(),
    }
}

#[test]
fn without_a_home_there_are_no_own_sources_and_no_settings() {
    let world = world_with(&skill("x"));
    world.add("project/.agents/skills", &skill("inert"));
    let call = world.call().within("project").without_home();
    let list = call.json(["list"]);
    assert_eq!(texts(&list["sources"], "kind"), ["project", "project"]);
    assert_eq!(list["skills"], json!([]));
    assert_eq!(texts(&call.json(["list", "../skills"])["skills"], "name"), ["x"]);
    let removed = call.fault(["trust-project", ".", "--remove"], 3);
    assert_eq!(removed["code"], "E_HOME_REFUSED");
}

// diff and cat.

#[test]
fn a_diff_names_files_and_lines() {
    let world = world();
    let before = skill("x")
        .body("one\ntwo\nthree\n")
        .file("gone.txt", "old")
        .file("same.txt", "same")
        .file("raw", b"\xff");
    let after = skill("x")
        .body("one\n2\u{200b}\nthree\n")
        .file("new.txt", "new")
        .file("same.txt", "same")
        .file("raw", b"\xfe");
    world.add("before", &before);
    world.add("after", &after);
    let diff = world.json(["diff", "before/x", "after/x"]);
    assert_eq!(diff["identical"], false);
    assert_eq!(
        (texts(&diff["added"], "path"), texts(&diff["removed"], "path")),
        (vec!["new.txt"], vec!["gone.txt"])
    );
    assert_eq!(texts(&diff["changed"], "path"), ["SKILL.md", "raw"]);
    let lines = &diff["changed"][0]["lines"];
    let of = |change: &str| -> Vec<&str> {
        lines
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line["change"] == change)
            .map(|line| text(&line["text"]))
            .collect()
    };
    assert_eq!((of("removed"), of("added")), (vec!["two"], vec!["2\u{200b}"]));
    assert_eq!(diff["changed"][1]["lines"], Value::Null);
    for (side, path) in [("before", "before/x"), ("after", "after/x")] {
        assert_eq!(diff[side]["revision"], world.json(["show", path])["revision"]);
    }
    let page = world.run(["diff", "before/x", "after/x"]).text();
    for part in [
        "added    new.txt  3 bytes",
        "removed  gone.txt  3 bytes",
        "- two",
        "+ 2\\u{200b}",
        "not shown by lines",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("same.txt"), "{page}");
    let same = world.run(["diff", "before/x", "before/x"]).text();
    assert!(same.contains("Identical: every path and every byte"), "{same}");
    assert_eq!(world.json(["diff", "before/x", "before/x"])["identical"], true);
}

#[test]
fn cat_gives_the_bytes_and_ranges_end_at_the_file() {
    let bytes: Vec<u8> = (0..=255).cycle().take(2_000_000).collect();
    let world = world_with(&skill("x").file("all", &bytes).file("empty", ""));
    let cat = |range: &[&str]| world.run(["cat", "skills/x", "all"].iter().chain(range));
    assert_eq!(cat(&[]).stdout, bytes);
    let taken: [(&[&str], std::ops::Range<usize>); 6] = [
        (&["--offset", "3", "--length", "5"], 3..8),
        (&["--offset", "1999999"], 1_999_999..2_000_000),
        (&["--offset", "1999990", "--length", "10"], 1_999_990..2_000_000),
        (&["--offset", "2000000"], 0..0),
        (&["--offset", "2000000", "--length", "0"], 0..0),
        (&["--length", "2000000"], 0..2_000_000),
    ];
    for (range, expected) in taken {
        assert_eq!(cat(range).stdout, bytes[expected], "{range:?}");
    }
    let refused: [&[&str]; 5] = [
        &["--offset", "2000001"],
        &["--offset", "1999990", "--length", "11"],
        &["--length", "2000001"],
        &["--offset", "2000001", "--length", "0"],
        &["--offset", "1", "--length", "18446744073709551615"],
    ];
    for range in refused {
        let answer = cat(range);
        assert_eq!((answer.code, answer.stdout.len()), (Some(2), 0), "{range:?}");
        assert!(answer.errors().contains("[E_RANGE_INVALID]"), "{}", answer.errors());
    }
    assert_eq!(world.run(["cat", "skills/x", "empty"]).code, Some(0));
    let json = world.json(["cat", "skills/x", "all", "--offset", "128", "--length", "3"]);
    assert_eq!((&json["text"], &json["base64"]), (&Value::Null, &"gIGC".into()));
    let json = world.json(["cat", "skills/x", "all", "--offset", "65", "--length", "3"]);
    assert_eq!((&json["text"], &json["base64"], &json["length"]), (&"ABC".into(), &Value::Null, &3.into()));
}

#[test]
fn an_answer_in_json_holds_at_most_sixteen_mebibytes() {
    let world =
        world_with(&skill("x").file("limit", vec![b'a'; 16 << 20]).file("over", vec![b'a'; (16 << 20) + 1]));
    assert_eq!(text(&world.json(["cat", "skills/x", "limit"])["text"]).len(), 16 << 20);
    let fault = world.fault(["cat", "skills/x", "over"], 2);
    assert_eq!((&fault["code"], &fault["class"]), (&"E_FILE_TOO_LARGE".into(), &"too_large".into()));
}

#[test]
fn a_skill_too_large_for_a_revision_is_shown_without_one() {
    let with = |files: usize| (0..files - 1).fold(skill("x"), |skill, n| skill.file(&format!("f{n}"), ""));
    let at_limit = world_with(&with(512)).json(["show", "skills/x"]);
    // Each world ends with its answer, so the second is another folder.
    assert!(at_limit["revision"].is_string());
    let over = world_with(&with(513)).json(["show", "skills/x"]);
    assert_eq!(
        (&over["revision"], verdicts(&over), codes(&over)),
        (&Value::Null, (true, true), vec!["W_SKILL_TOO_LARGE"])
    );
    assert_eq!(over["files"].as_array().unwrap().len(), 513);
    let big = |bytes: usize| skill("x").file("big", vec![0; bytes - skill("x").text().len()]);
    assert!(world_with(&big(16 << 20)).json(["show", "skills/x"])["revision"].is_string());
    let over = world_with(&big((16 << 20) + 1)).json(["show", "skills/x"]);
    finding(&over, "W_SKILL_TOO_LARGE");
    assert_eq!(over["revision"], Value::Null);
}

// CHK-077, CHK-083: format, resources and execution are told apart, and what is not supported is named where it is first looked at.
#[test]
fn what_is_supported_is_told_in_three_parts() {
    let parts = |skill: &fumehood_testkit::Skill| {
        let world = world_with(skill);
        let shown = world.json(["show", "skills/x"]);
        let reasons: Vec<_> =
            texts(&shown["execution"]["reasons"], "code").into_iter().map(str::to_owned).collect();
        let codes: Vec<_> = codes(&shown).into_iter().map(str::to_owned).collect();
        (shown["format"]["rescue"].clone(), shown["resources"]["files"].clone(), reasons, codes)
    };
    let unavailable = vec!["E_EXECUTION_UNAVAILABLE".to_owned()];
    assert_eq!(parts(&skill("x")), ("none".into(), 1.into(), unavailable.clone(), vec![]));
    // Each differs by itself.
    let rescued = parts(&skill("x").description("Use when: asked"));
    assert_eq!((&rescued.0, &rescued.1), (&"quoted".into(), &1.into()));
    assert_eq!(
        parts(&skill("x").file("references/a.md", "a")),
        ("none".into(), 2.into(), unavailable.clone(), vec![])
    );
    let refused = parts(&skill("x").file("execution.json", "{"));
    assert_eq!(
        (refused.0, refused.1, refused.2),
        ("none".into(), 2.into(), vec!["E_EXECUTION_MANIFEST".to_owned()])
    );
    let (.., reasons, found) =
        parts(&skill("x").field("context: fork").body("!`date`\n\nUse the Bash tool and mcp__a__b.\n"));
    assert_eq!(reasons, ["E_EXECUTION_UNAVAILABLE", "E_SKILL_NOT_CONFORMANT"]);
    assert_eq!(found, ["N_HOST_FIELD_NOT_ENFORCED", "N_HOST_FEATURE", "N_BODY_TOOLS"]);
}

// CHK-070: whoever lists skills opens no reference and no asset; whoever looks at one skill is shown their names; whoever asks for a
// file gets that one.
#[test]
fn references_and_assets_come_when_they_are_asked_for() {
    let world = world_with(&skill("x").file("references/a.md", "reference").file("assets/b.txt", "asset"));
    let opens = ["SKILL.md", "references/a.md", "assets/b.txt"]
        .map(|file| fumehood_testkit::Opens::of(&world.path(format!("skills/x/{file}"))));
    let counts = || opens.each_ref().map(|opens| opens.count() > 0);
    assert_eq!(world.run(["list", "skills"]).code, Some(0));
    assert_eq!(counts(), [true, false, false]);
    let page = world.run(["show", "skills/x"]).text();
    assert!(page.contains("references/a.md") && page.contains("assets/b.txt"), "{page}");
    for format in ["text", "json"] {
        let answer = world.run(["--format", format, "show", "skills/x"]).text();
        assert!(!answer.contains("asset\"") && !answer.contains("reference\""), "{answer}");
    }
    counts();
    assert_eq!(world.run(["cat", "skills/x", "references/a.md"]).text(), "reference");
    assert_eq!(counts(), [false, true, false]);
}

// CHK-068: there is no path for flat files, so none of them is ever taken for a skill, let alone for a conformant one; the twin in a
// folder is one.
#[test]
fn a_flat_file_is_no_skill() {
    let world = world_with(&skill("x"));
    world.write("skills/flat.md", skill("flat").text());
    world.write("skills/flat-too/flat.md", skill("flat-too").text());
    assert_eq!(texts(&world.json(["list", "skills"])["skills"], "name"), ["x"]);
    assert_eq!(texts(&world.json(["check", "skills"])["skills"], "name"), ["x"]);
    for flat in ["skills/flat.md", "skills/flat-too"] {
        assert_eq!(world.run(["show", flat]).code, Some(2), "{flat}");
    }
    world.write("skills/flat/SKILL.md", skill("flat").text());
    assert_eq!(texts(&world.json(["list", "skills"])["skills"], "name"), ["flat", "x"]);
}

// CHK-089, CHK-086: what the claim shows is what the manifest says.
#[test]
fn a_checked_tool_is_shown_with_its_claim() {
    let manifest = json!({
        "schemaVersion": 1, "entrypoint": "run.mjs", "files": ["run.mjs"],
        "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "object", "properties": {}},
    });
    let with = |files: &[(&str, String)]| {
        files.iter().fold(skill("x"), |skill, (path, text)| skill.file(path, text))
    };
    let good = world_with(&with(&[("execution.json", manifest.to_string()), ("run.mjs", String::new())]));
    let shown = good.json(["show", "skills/x"]);
    assert_eq!(shown["execution"]["execution_json"], "accepted");
    assert_eq!(shown["claims"]["execution"]["entrypoint"], "run.mjs");
    assert_eq!(shown["execution"]["scripts_available"], true);
    let page = good.run(["show", "skills/x"]).text();
    assert!(page.contains("checked tool run.mjs  (of execution.json, "), "{page}");
    // A manifest that is refused takes nothing from the instructions, and the folder still conforms.
    let bad = world_with(&with(&[("execution.json", "{".to_owned()), ("fumehood.json", "[]".to_owned())]));
    let shown = bad.json(["show", "skills/x"]);
    assert_eq!(verdicts(&shown), (true, true));
    assert_eq!(codes(&shown), ["E_EXECUTION_MANIFEST", "E_FUMEHOOD_MANIFEST"]);
    assert_eq!(
        (&shown["execution"]["execution_json"], &shown["execution"]["fumehood_json"]),
        (&"refused".into(), &"refused".into())
    );
    assert_eq!(bad.run(["check", "skills", "--strict"]).code, Some(0));
}

#[test]
fn a_claimed_name_never_takes_a_qualified_one() {
    let world = world();
    world.add("home/.claude/skills", &skill("zz").frontmatter("name: \"user-agents:pdf\"\ndescription: d"));
    assert_eq!(world.fault(["show", "user-agents:pdf"], 2)["code"], "E_SKILL_NOT_FOUND");
    world.add("home/.agents/skills", &skill("pdf"));
    assert_eq!(world.json(["show", "user-agents:pdf"])["source"], "user-agents");
}

/// Many skills are looked at by several threads; nobody can tell from the answer.
#[test]
fn many_skills_are_answered_each_once_and_in_the_order_of_their_paths() {
    let world = world();
    let names: Vec<_> = (0..300).map(|number| format!("skill-{number:03}")).collect();
    for (number, name) in names.iter().enumerate() {
        // Some take longer than others, and some are refused.
        let body = "long line of text\n".repeat(if number % 7 == 0 { 20_000 } else { 1 });
        let skill = skill(name).body(&body);
        world.add("many", &if number % 50 == 3 { skill.skill_md("no") } else { skill });
    }
    for command in [vec!["check", "many", "many/skill-007", "many"], vec!["list", "many", "many"]] {
        let answer = world.run(command.iter().copied().chain(["--format", "json"]));
        let report = answer.json();
        let skills = report["skills"].as_array().unwrap();
        let found: Vec<_> = skills.iter().map(|skill| text(&skill["name"]).to_owned()).collect();
        assert_eq!(found, names, "{command:?}");
        let refused = skills.iter().filter(|skill| skill["loadable"] == false).count();
        assert_eq!(refused, 6, "{command:?}");
    }
}
