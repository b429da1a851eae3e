//! JSON that is exact for programs and harmless in a terminal.

use std::io::{self, Write};

use fumehood_core::shown::is_hidden;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

/// The value as indented JSON with a line feed at the end.
///
/// Control, bidirectional and invisible characters are written as `\u` escapes: the same text for a JSON reader, and
/// nothing that a terminal would act on.
pub(super) fn to_vec(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    let formatter = Visible { pretty: PrettyFormatter::new() };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Visible {
    pretty: PrettyFormatter<'static>,
}

macro_rules! as_pretty {
    ($( $method:ident ( $($argument:ident: $kind:ty),* ) )*) => {
        $(
            fn $method<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
                self.pretty.$method(writer $(, $argument)*)
            }
        )*
    };
}

impl Formatter for Visible {
    as_pretty! {
        begin_array()
        end_array()
        begin_array_value(first: bool)
        end_array_value()
        begin_object()
        end_object()
        begin_object_key(first: bool)
        begin_object_value()
        end_object_value()
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_hidden(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_come_back() {
        let text = "a\u{1b}[2J\u{202e}b\u{e0041}é\n\"\\";
        let bytes = to_vec(&serde_json::json!({ "k\u{200b}": text })).unwrap();
        let written = String::from_utf8(bytes).unwrap();
        assert!(written.chars().all(|c| c == '\n' || !is_hidden(c)), "{written:?}");
        let back: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(back["k\u{200b}"], text);
    }
}
