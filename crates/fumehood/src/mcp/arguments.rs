//! The arguments of a call of one of our own tools: each is taken once, and what is left over is refused.

use fumehood_core::limits::INVOCATION_BYTES_MAX;
use fumehood_core::{Code, Json, Shown};
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::fault::Fault;

/// What a client sent.
pub(super) struct Arguments(JsonObject);

impl Arguments {
    /// At most 64 KiB as JSON.
    ///
    /// # Errors
    /// `E_JSON_TOO_LARGE`.
    pub(super) fn of(object: Option<JsonObject>) -> Result<Self, Fault> {
        let object = object.unwrap_or_default();
        let size = serde_json::to_vec(&object).map_or(usize::MAX, |bytes| bytes.len());
        if size > INVOCATION_BYTES_MAX {
            let message = format!("the arguments have {size} bytes, and {INVOCATION_BYTES_MAX} are taken");
            return Err(Fault::new(Code::JsonTooLarge, message, "send less, or name a file"));
        }
        Ok(Self(object))
    }

    /// A text under one of its names, of which one is given at most.
    pub(super) fn text(&mut self, names: &[&'static str]) -> Result<Option<String>, Fault> {
        match self.one(names)? {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, _)) => Err(wrong(name, "is a text")),
        }
    }

    /// A text that has to be there.
    pub(super) fn required(&mut self, names: &[&'static str]) -> Result<String, Fault> {
        let first = names.first().copied().unwrap_or_default();
        self.text(names)?.ok_or_else(|| wrong(first, "is missing"))
    }

    /// A whole number that is not negative.
    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<u64>, Fault> {
        match self.one(&[name])? {
            None => Ok(None),
            Some((_, value)) => {
                value.as_u64().map(Some).ok_or_else(|| wrong(name, "is a whole number from 0"))
            }
        }
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, Fault> {
        match self.one(&[name])? {
            None => Ok(false),
            Some((_, Value::Bool(flag))) => Ok(flag),
            Some(_) => Err(wrong(name, "is true or false")),
        }
    }

    /// Any value.
    pub(super) fn value(&mut self, names: &[&'static str]) -> Result<Option<Value>, Fault> {
        Ok(self.one(names)?.map(|(_, value)| value))
    }

    /// Nothing is left over.
    pub(super) fn end(self) -> Result<(), Fault> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let message = format!("the tool takes no argument called \"{}\"", Shown::inline(name));
                Err(Fault::new(Code::ArgumentInvalid, message, SEE))
            }
        }
    }

    fn one(&mut self, names: &[&'static str]) -> Result<Option<(&'static str, Value)>, Fault> {
        let mut found = None;
        for name in names {
            match self.0.remove(*name) {
                // A model that leaves something out often says null.
                None | Some(Value::Null) => {}
                Some(_) if found.is_some() => return Err(wrong(name, "is given under two names")),
                Some(value) => found = Some((*name, value)),
            }
        }
        Ok(found)
    }
}

/// A value as our own JSON reader takes it.
pub(super) fn json(value: &Value) -> Result<Json, Fault> {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Json::parse(&bytes, INVOCATION_BYTES_MAX).map_err(|error| Fault::of(&error, SEE))
}

pub(super) fn wrong(name: &str, rule: &str) -> Fault {
    Fault::new(Code::ArgumentInvalid, format!("the argument {name} {rule}"), SEE)
}

const SEE: &str = "the input schema of the tool says what it takes";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: &Value) -> Arguments {
        Arguments::of(value.as_object().cloned()).unwrap()
    }

    #[test]
    fn a_name_and_its_alias_are_one_argument() {
        let names = ["skill_name", "name"];
        for given in
            [json!({"skill_name": "a"}), json!({"name": "a"}), json!({"name": "a", "skill_name": null})]
        {
            assert_eq!(arguments(&given).required(&names).unwrap(), "a");
        }
        for given in [json!({}), json!({"name": "a", "skill_name": "a"}), json!({"name": 1})] {
            assert_eq!(arguments(&given).required(&names).unwrap_err().code, Code::ArgumentInvalid);
        }
    }

    #[test]
    fn what_is_left_over_is_refused() {
        assert!(arguments(&json!({})).end().is_ok());
        assert!(arguments(&json!({"a": 1})).end().is_err());
        let large = json!({"a": "x".repeat(INVOCATION_BYTES_MAX)});
        assert!(Arguments::of(large.as_object().cloned()).is_err());
    }
}
