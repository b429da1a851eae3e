//! What a call gives back: one JSON value, as a value and as its text; and faults in words that a model may see.

use fumehood_core::{Class, Code};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Map, Value, json};

use crate::fault::Fault;

/// Bytes of what somebody else wrote that are in one answer. The rest is read by its handle.
pub(super) const TEXT_BYTES_MAX: usize = 32 << 10;

/// The answer of a call.
pub(super) struct Reply {
    value: Map<String, Value>,
    links: Vec<Resource>,
    is_error: bool,
}

impl Reply {
    pub(super) fn new(value: Value) -> Self {
        let value = if let Value::Object(fields) = value { fields } else { Map::new() };
        Self { value, links: Vec::new(), is_error: false }
    }

    /// With what went wrong, beside what there is.
    pub(super) fn failed(mut self, fault: &Fault) -> Self {
        let Value::Object(said) = said(fault) else { return self };
        self.value.extend(said);
        self.is_error = true;
        self
    }

    /// With a link to what did not fit.
    pub(super) fn link(mut self, link: Resource) -> Self {
        self.links.push(link);
        self
    }

    pub(super) fn result(self) -> CallToolResult {
        let value = Value::Object(self.value);
        // The text is the value's, byte for byte what a client would make of it.
        let text = ContentBlock::text(value.to_string());
        let content = std::iter::once(text).chain(self.links.into_iter().map(ContentBlock::resource_link));
        let content = content.collect();
        let mut result =
            if self.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = Some(value);
        result
    }
}

/// A fault as an answer.
pub(super) fn refused(fault: &Fault) -> CallToolResult {
    Reply::new(json!({})).failed(fault).result()
}

/// The artifact that holds all of a text.
pub(super) fn artifact_link(id: &str, name: &str, bytes: u64) -> Resource {
    Resource::new(format!("{ARTIFACT_URI}{id}"), name).with_size(bytes)
}

/// What an artifact's URI begins with.
pub(super) const ARTIFACT_URI: &str = "fumehood://artifact/";

/// What of a fault a model is told: never a command that would change what the person allows.
fn said(fault: &Fault) -> Value {
    let message = match (is_for_people(&fault.message), fault.class) {
        // The problem is named in words of whoever wrote the schema or the answer, which are in the fence.
        _ if fault.code == Code::ToolBadResponse => "what it answered is not what the skill declares",
        (false, _) => fault.message.as_str(),
        (true, _) if fault.code == Code::ArgumentInvalid => "args is not of the kind that this script takes",
        (true, Class::Denied) => "the settings of the person do not allow it",
        (true, _) => "it is not possible as things are on the machine where fumehood runs",
    };
    json!({
        "code": fault.code.as_str(),
        "class": fault.class.as_str(),
        "message": message,
        "advice": advice(fault),
        "id": fault.id,
    })
}

/// Words for people name commands, options, settings and files of theirs.
fn is_for_people(words: &str) -> bool {
    words.contains(['`', '[']) || words.contains("--") || words.contains(".toml")
}

fn advice(fault: &Fault) -> &str {
    let own = fault.advice.as_str();
    let [is_message_for_people, is_for_people] = [fault.message.as_str(), own].map(is_for_people);
    match (fault.code, fault.class) {
        (Code::SkillNotFound, _) if is_for_people => "list_skills names the skills there are",
        (Code::FileNotFound, _) if is_for_people => "load_skill lists the files of the skill",
        (Code::ArgumentInvalid, _) if is_message_for_people => {
            "for a declared script args is an object with its parameters by name, for any other a list of texts; load_skill says which it is"
        }
        (Code::ScriptDenied | Code::ConsentDenied | Code::ToolDenied, _) => {
            "a person said no, which stands for five minutes, or a rule of theirs did; do not make the same call again unless they ask for it"
        }
        (Code::ExecutionUnavailable, _) => {
            "load_skill shows the checked tool of a skill that has one; scripts run with run_skill_script"
        }
        (Code::NotLoadable, _) => "tell the person: whoever wrote the skill has to mend it",
        (Code::ArtifactPattern, _) => "mend the pattern, or look for it as a text, with fixed",
        (Code::IdInvalid, _) => "ids of results are in the answers of calls, under artifact",
        _ if !is_for_people => own,
        (Code::SchemaMismatch | Code::ArgumentInvalid, _) => "load_skill says what the script takes",
        (_, Class::Invalid | Class::Missing) => "check the arguments; load_skill says what the skill has",
        (_, Class::Denied) => "nothing ran; only the person who runs fumehood can change what is allowed",
        (_, Class::Conflict) => "something changed; load the skill again, then decide",
        (_, Class::TooLarge) => "ask for less",
        (_, Class::Guest) => "what it wrote says why",
        (_, Class::Timeout) => "give it less to do, or more time",
        (_, Class::Cancelled) => "nothing of it is left",
        _ => "tell the person; it may need something on the machine where fumehood runs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_value() {
        let reply = Reply::new(json!({"a": 1})).failed(&Fault::new(Code::FileNotFound, "m", "a"));
        let result = reply.result();
        let text = &result.content[0].as_text().unwrap().text;
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result.structured_content.unwrap());
        assert_eq!(result.is_error, Some(true));
    }

    #[test]
    fn no_model_is_told_a_command() {
        let advice_for_people = [
            "accept the new one with `fumehood interpreters repin`",
            "give it more time with --timeout",
            "[execute] in fumehood.toml says so",
        ];
        for code in Code::ALL {
            for advice in advice_for_people {
                let said = said(&Fault::new(*code, "see `fumehood approve`", advice)).to_string();
                assert!(!said.contains("approve") && !said.contains("repin"), "{said}");
                assert!(!said.contains('`') && !said.contains("--") && !said.contains(".toml"), "{said}");
            }
        }
    }
}
