use std::os::unix::fs::PermissionsExt as _;

use fumehood_core::{Coded as _, SkillName};
use fumehood_testkit::Scratch;
use proptest::prelude::*;

use super::*;
use crate::settings::{DraftError, Drafts, OverlayParts, OverlayScript};

const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

struct Place(Scratch);

impl Place {
    /// A home whose `fumehood.toml` has this text.
    fn with(text: &str) -> Self {
        let scratch = Scratch::new();
        scratch.file("config/fumehood.toml", text);
        scratch.mode("config/fumehood.toml", 0o600);
        scratch.mode("config", 0o700);
        Self(scratch)
    }

    fn home(&self) -> Home {
        Home { config: self.0.at("config"), state: self.0.at("state") }
    }

    fn put(&self, overlay: &Overlay) -> Result<bool, EditError> {
        let shown = Settings::read(&self.home(), &Surroundings::default()).unwrap();
        let shown = shown.overlay(overlay.source(), overlay.skill()).cloned();
        self.put_over(overlay, shown.as_ref())
    }

    fn put_over(&self, overlay: &Overlay, shown: Option<&Overlay>) -> Result<bool, EditError> {
        Settings::put_overlay(&self.home(), &Surroundings::default(), overlay, shown)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.0.at("config/fumehood.toml")).unwrap()
    }
}

fn overlay(skill: &str, scripts: &[&str]) -> Overlay {
    let script = |name: &&str| {
        let json = format!(
            r#"[{{"name":"{name}","path":"{name}.py","description":"\"\"\" [[overlay]] \n'''","interpreter":"python3",
                 "params":[{{"name":"file","type":"path","access":"read","flag":"--file"}}]}}]"#
        );
        let json = fumehood_core::Json::parse(json.as_bytes(), json.len()).unwrap();
        let script = fumehood_core::manifest::ScriptClaim::read_list(&json).unwrap().remove(0);
        OverlayScript { script, tool_name: None }
    };
    let parts = OverlayParts {
        source: "team".to_owned(),
        skill: SkillName::parse(skill).unwrap(),
        revision: HEX.to_owned(),
        fail_on_nonzero_exit: None,
        scripts: scripts.iter().map(script).collect(),
    };
    Overlay::new(parts).unwrap()
}

fn piece(overlay: &Overlay) -> String {
    overlays_to_toml(std::slice::from_ref(overlay)).unwrap()
}

const BEFORE: &str =
    "# mine\r\n\n[[sources]] # a\nname = 'team'\npath = \"/srv\"\n\n[environment]\nLANG = \"C\"  # last";

#[test]
fn a_new_overlay_goes_to_the_end_and_the_rest_is_as_it_was() {
    let place = Place::with(BEFORE);
    let one = overlay("one", &["a", "b"]);
    assert_eq!(place.put(&one), Ok(true));
    assert_eq!(place.text(), format!("{BEFORE}\n\n{}", piece(&one)));
    let mode = std::fs::metadata(place.0.at("config/fumehood.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Again changes nothing, not even the file.
    assert_eq!(place.put(&one), Ok(false));
}

#[test]
fn the_file_and_its_folder_are_made() {
    let scratch = Scratch::new();
    let home = Home { config: scratch.at("a/config"), state: scratch.at("state") };
    let one = overlay("one", &["a"]);
    assert_eq!(Settings::put_overlay(&home, &Surroundings::default(), &one, None), Ok(true));
    assert_eq!(Settings::read(&home, &Surroundings::default()).unwrap().overlays, [one]);
}

#[test]
fn an_overlay_is_replaced_in_its_place_with_every_comment_around_it() {
    let (one, two, three) = (overlay("one", &["a"]), overlay("two", &["a", "b"]), overlay("three", &[]));
    let text = |middle: &str| {
        format!("# top\n{}# before two\n{middle}# after two\n\n{}# end", piece(&one), piece(&three))
    };
    let place = Place::with(&text(&piece(&two)));
    let newer = overlay("two", &["c"]);
    assert_eq!(place.put(&newer), Ok(true));
    assert_eq!(place.text(), text(&piece(&newer)));
}

#[test]
fn parts_of_other_tables_between_those_of_an_overlay_stay() {
    let one = overlay("one", &["a"]);
    let whole = piece(&one);
    let (head, tail) = whole.split_at(whole.find("[[overlay.scripts]]").unwrap());
    let place = Place::with(&format!(
        "{}\n\n# env\n[environment]\nLANG = \"C\" # c\n# then\n{tail}",
        head.trim_end()
    ));
    let newer = overlay("one", &["b"]);
    assert_eq!(place.put(&newer), Ok(true));
    assert_eq!(place.text(), format!("{}\n# env\n[environment]\nLANG = \"C\" # c\n# then\n", piece(&newer)));
}

#[test]
fn what_cannot_be_changed_by_itself_is_left_alone() {
    let element = |skill: &str| format!("{{ source = \"team\", skill = \"{skill}\", revision = \"{HEX}\" }}");
    let inline = format!("overlay = [{}, {}]\n", element("one"), element("two"));
    let place = Place::with(&inline);
    for skill in ["one", "two", "three"] {
        let refused = place.put(&overlay(skill, &["a"])).unwrap_err();
        assert_eq!(
            (refused.code().as_str(), place.text()),
            ("E_CONFIG_UNEDITABLE", inline.clone()),
            "{skill}"
        );
    }
    // Larger than may be read.
    let text = "#".repeat(usize::try_from(FILE.bytes_max).unwrap() - 100);
    let place = Place::with(&text);
    assert!(matches!(place.put(&overlay("one", &["a"])), Err(EditError::Uneditable(_))));
    assert_eq!(place.text(), text);
    // A link is the business of whoever keeps the file behind it.
    let place = Place::with("");
    std::fs::rename(place.0.at("config/fumehood.toml"), place.0.at("real.toml")).unwrap();
    std::os::unix::fs::symlink(place.0.at("real.toml"), place.0.at("config/fumehood.toml")).unwrap();
    assert!(matches!(place.put(&overlay("one", &["a"])), Err(EditError::Uneditable("is a link"))));
    assert_eq!(place.text(), "");
}

#[test]
fn an_overlay_that_is_not_the_one_shown_is_kept() {
    let (old, newer) = (overlay("one", &["a"]), overlay("one", &["b"]));
    let place = Place::with(&piece(&old));
    for shown in [None, Some(&overlay("one", &["c"]))] {
        assert_eq!(place.put_over(&newer, shown), Err(EditError::Changed));
    }
    assert_eq!(place.text(), piece(&old));
    assert_eq!(place.put_over(&newer, Some(&old)), Ok(true));
    // What cannot be read any more is nothing to write into.
    let place = Place::with("what = 1\n");
    assert_eq!(place.put_over(&newer, None), Err(EditError::Changed));
}

#[test]
fn a_folder_that_others_can_write_in_is_refused() {
    let place = Place::with("");
    place.0.mode("config", 0o777);
    assert_eq!(place.put_over(&overlay("one", &[]), None).unwrap_err().code().as_str(), "E_HOME_REFUSED");
    // Others may look.
    place.0.mode("config", 0o755);
    assert_eq!(place.put(&overlay("one", &[])), Ok(true));
}

#[test]
fn several_at_once_lose_nothing() {
    let place = Place::with(BEFORE);
    let overlays: Vec<_> = (0..16).map(|n| overlay(&format!("skill-{n}"), &["a"])).collect();
    std::thread::scope(|scope| {
        for one in &overlays {
            scope.spawn(|| assert_eq!(place.put_over(one, None), Ok(true)));
        }
    });
    let settings = Settings::read(&place.home(), &Surroundings::default()).unwrap();
    assert_eq!(settings.overlays.len(), overlays.len());
    assert!(overlays.iter().all(|one| settings.overlays.contains(one)) && place.text().starts_with(BEFORE));
}

#[test]
fn a_draft_is_kept_apart_for_each_source_and_skill_and_never_loaded() {
    let place = Place::with("");
    let drafts = Drafts::of(&place.home());
    let (one, two) = (overlay("one", &["a"]), overlay("two", &["a"]));
    assert_eq!(drafts.read("team", one.skill()), Ok(None));
    let path = drafts.save(&one).unwrap();
    drafts.save(&two).unwrap();
    assert_eq!(drafts.read("team", one.skill()), Ok(Some(one.clone())));
    assert_eq!(drafts.read("other", one.skill()), Ok(None));
    let newer = overlay("one", &["b"]);
    drafts.save(&newer).unwrap();
    assert_eq!(drafts.read("team", one.skill()), Ok(Some(newer)));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Settings::read(&place.home(), &Surroundings::default()).unwrap().overlays.is_empty());
    // One that says that it is for another skill is not believed, nor is one that others could have written.
    std::fs::write(&path, piece(&two)).unwrap();
    assert!(matches!(drafts.read("team", one.skill()), Err(DraftError::Unusable(_))));
    std::fs::write(&path, piece(&one)).unwrap();
    assert_eq!(drafts.read("team", one.skill()), Ok(Some(one.clone())));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(drafts.read("team", one.skill()), Err(DraftError::Unusable(_))));
}

proptest! {
    // Whatever stands around an overlay, in whatever order, is there afterwards byte for byte.
    #[test]
    fn everything_around_an_overlay_stays(
        gaps in prop::collection::vec("(# [ -~é]{0,20}\r?\n|\n|  # \\[\\[overlay\\]\\]\n){0,3}", 6),
        order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
        newer in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d"]), 0..1),
    ) {
        let (one, two) = (overlay("one", &["a", "b"]), overlay("two", &["a"]));
        let newer = overlay("one", &[&["x"], newer.as_slice()].concat());
        let text = |overlay: &Overlay| {
            let tables = [
                piece(overlay),
                piece(&two),
                "[environment] # here\nLANG = 'C' # [[overlay]]\n".to_owned(),
                "[[sources]]\nname = \"team\"\npath = \"\"\"/srv\"\"\"\n".to_owned(),
            ];
            let pieces = order.iter().zip(&gaps).map(|(at, gap)| format!("{gap}{}", tables[*at]));
            pieces.collect::<String>() + &gaps[4]
        };
        let place = Place::with(&text(&one));
        prop_assert_eq!(place.put(&newer), Ok(true));
        prop_assert_eq!(place.text(), text(&newer));
    }
}

// The hash is put in and taken out beside everything else, only over the one that the person knows.
#[test]
fn a_passphrase_is_put_in_and_taken_out() {
    use crate::passphrase::PassphraseHash;
    let hash = |end: char| {
        let hash = format!("{}{end}", "A".repeat(42));
        PassphraseHash::parse(&format!("$argon2id$v=19$m=7168,t=5,p=1$BwcHBwcHBwcHBwcHBwcHBw${hash}"))
            .unwrap()
    };
    let (one, two) = (hash('A'), hash('E'));
    let before = "# mine\n[scripts]\nfail_on_nonzero_exit = false\n";
    let place = Place::with(before);
    let put = |new: Option<&PassphraseHash>, known: Option<&PassphraseHash>| {
        Settings::put_passphrase(&place.home(), &Surroundings::default(), new, known)
    };
    let now = || Settings::read(&place.home(), &Surroundings::default()).unwrap().passphrase;
    assert_eq!(put(None, None), Ok(false));
    assert_eq!(put(Some(&one), None), Ok(true));
    assert_eq!(now(), Some(one.clone()));
    for known in [None, Some(&two)] {
        assert_eq!(put(Some(&two), known), Err(EditError::Changed));
        assert_eq!(put(None, known), Err(EditError::Changed));
    }
    assert_eq!(put(Some(&two), Some(&one)), Ok(true));
    assert_eq!(now(), Some(two.clone()));
    let mode = std::fs::metadata(place.0.at("config/fumehood.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert_eq!(put(None, Some(&two)), Ok(true));
    assert_eq!(place.text(), before);
}
