//! The words of a Python file, as far as calls with literal arguments need them.

/// One word. Comments and line ends are left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'s> {
    /// A name or a keyword.
    Name(&'s str),
    /// A number.
    Number(&'s str),
    /// A text; `None` if it is computed.
    Text(Option<String>),
    /// Anything else, one character.
    Mark(char),
}

/// A value in a call, as far as it is literal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A text.
    Text(String),
    /// A name, with what is before its dots: `True`, `int`, `pathlib.Path`.
    Name(String),
    /// A whole number.
    Number(i64),
    /// Texts in brackets.
    Texts(Vec<String>),
    /// Something computed.
    Computed,
}

/// A call with its arguments: those in order, and those by name.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
}

/// Reads word by word; each byte is looked at once or twice.
pub(super) struct Tokens<'s> {
    rest: &'s str,
}

impl<'s> Tokens<'s> {
    pub(super) fn of(source: &'s str) -> Self {
        Self { rest: source }
    }

    /// The arguments of a call whose opening bracket was just read. `None` if it does not end, or is out of all proportion.
    pub(super) fn call(&mut self) -> Option<Call> {
        let mut call = Call::default();
        let mut words: Vec<Token<'s>> = Vec::new();
        let mut depth = 0_usize;
        for _ in 0..CALL_TOKENS_MAX {
            let token = self.next()?;
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') if depth > 0 => depth -= 1,
                Token::Mark(')' | ']' | '}') => {
                    call.take(&words);
                    return Some(call);
                }
                Token::Mark(',') if depth == 0 => {
                    call.take(&words);
                    words.clear();
                    continue;
                }
                _ => {}
            }
            words.push(token);
        }
        None
    }

    /// A text whose prefix was read already.
    fn text(&mut self, prefix: &str) -> Token<'s> {
        let quote = self.rest.chars().next().unwrap_or('"');
        let triple = [quote; 3].iter().collect::<String>();
        let (opening, closing) =
            if self.rest.starts_with(&triple) { (3, triple) } else { (1, quote.to_string()) };
        self.rest = &self.rest[opening..];
        let is = |letter: char| prefix.chars().any(|c| c.eq_ignore_ascii_case(&letter));
        let (is_raw, is_computed) = (is('r'), is('f') || is('b') || is('t'));
        let mut text = String::new();
        loop {
            if self.rest.starts_with(&closing) {
                self.rest = &self.rest[closing.len()..];
                break;
            }
            let mut chars = self.rest.chars();
            let Some(c) = chars.next() else { break };
            // A text on one line ends with it, closed or not.
            if c == '\n' && closing.len() == 1 {
                break;
            }
            if c == '\\' {
                let next = chars.next();
                match next {
                    Some('\n') if !is_raw => {}
                    Some('n') if !is_raw => text.push('\n'),
                    Some('t') if !is_raw => text.push('\t'),
                    Some(c @ ('\\' | '\'' | '"')) if !is_raw => text.push(c),
                    other => {
                        text.push('\\');
                        text.extend(other);
                    }
                }
            } else {
                text.push(c);
            }
            self.rest = chars.as_str();
        }
        Token::Text((!is_computed).then_some(text))
    }

    /// Takes what is from the start to a byte.
    fn split(&mut self, at: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(at);
        self.rest = rest;
        taken
    }
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']);
            if !self.rest.starts_with('#') {
                break;
            }
            self.split(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
        let c = self.rest.chars().next()?;
        if c == '"' || c == '\'' {
            return Some(self.text(""));
        }
        let inner = |c: char| !(c.is_alphanumeric() || c == '_');
        if c.is_alphanumeric() || c == '_' {
            let word = self.split(self.rest.find(inner).unwrap_or(self.rest.len()));
            let is_prefix = word.len() <= 2 && self.rest.starts_with(['"', '\'']);
            return Some(match c.is_ascii_digit() {
                true => Token::Number(word),
                false if is_prefix => self.text(word),
                false => Token::Name(word),
            });
        }
        self.split(c.len_utf8());
        Some(Token::Mark(c))
    }
}

impl Call {
    /// An argument by its name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.named.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A text by its name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn take(&mut self, words: &[Token<'_>]) {
        match words {
            [] => {}
            [Token::Name(name), Token::Mark('='), value @ ..] if value.first() != Some(&Token::Mark('=')) => {
                self.named.push(((*name).to_owned(), Value::of(value)));
            }
            // What is unpacked could be anything.
            [Token::Mark('*'), Token::Mark('*'), ..] => self.named.push(("**".to_owned(), Value::Computed)),
            value => self.positional.push(Value::of(value)),
        }
    }
}

impl Value {
    fn of(words: &[Token<'_>]) -> Self {
        match words {
            [Token::Number(digits)] => digits.parse().map_or(Self::Computed, Self::Number),
            [Token::Mark('('), inner @ .., Token::Mark(')')]
            | [Token::Mark('['), inner @ .., Token::Mark(']')]
                if inner.contains(&Token::Mark(',')) || words.first() == Some(&Token::Mark('[')) =>
            {
                // Nothing stands behind a last comma.
                let items = inner.split(|word| *word == Token::Mark(',')).filter(|item| !item.is_empty());
                items.map(joined).collect::<Option<_>>().map_or(Self::Computed, Self::Texts)
            }
            [Token::Mark('('), inner @ .., Token::Mark(')')] if joined(inner).is_some() => Self::of(inner),
            words => joined(words).map(Self::Text).or_else(|| dotted(words)).unwrap_or(Self::Computed),
        }
    }
}

/// Texts side by side are one.
fn joined(words: &[Token<'_>]) -> Option<String> {
    let mut whole = String::new();
    for word in words {
        match word {
            Token::Text(Some(text)) => whole.push_str(text),
            _ => return None,
        }
    }
    (!words.is_empty()).then_some(whole)
}

/// A name with dots.
fn dotted(words: &[Token<'_>]) -> Option<Value> {
    let mut whole = String::new();
    for (index, word) in words.iter().enumerate() {
        match word {
            Token::Name(name) if index % 2 == 0 => whole.push_str(name),
            Token::Mark('.') if index % 2 == 1 => whole.push('.'),
            _ => return None,
        }
    }
    (words.len() % 2 == 1).then_some(Value::Name(whole))
}

/// A call of more words is no declaration of an argument.
const CALL_TOKENS_MAX: usize = 4096;
