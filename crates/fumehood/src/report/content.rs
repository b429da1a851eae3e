//! Bytes in an answer.

use base64::Engine as _;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// Bytes whose form in JSON is two fields: `text` if they are text, else `base64`; the other one is null.
///
/// Text is UTF-8 without a NUL, which is a character to Unicode and to nobody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(Vec<u8>);

impl Content {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes as they are.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, if they are text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok().filter(|text| !text.contains('\0'))
    }

    /// The bytes in base64, if they are no text.
    pub fn base64(&self) -> Option<String> {
        let encode = || base64::engine::general_purpose::STANDARD.encode(&self.0);
        self.text().is_none().then(encode)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Content", 2)?;
        fields.serialize_field("text", &self.text())?;
        fields.serialize_field("base64", &self.base64())?;
        fields.end()
    }
}
