//! STUB
#![allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedTools {
    Absent,
    Declared(Vec<String>),
}
#[derive(Clone, Debug)]
pub struct Parsed {
    pub entries: Vec<String>,
    pub commas: bool,
}
#[derive(Clone, Copy, Debug)]
pub struct Malformed;
pub fn parse_text(t: &str) -> Result<Parsed, Malformed> {
    Ok(Parsed {
        entries: t.split([' ', ',']).filter(|s| !s.is_empty()).map(Into::into).collect(),
        commas: t.contains(','),
    })
}
pub fn parse_items(t: &[&str]) -> Result<Parsed, Malformed> {
    Ok(Parsed { entries: t.iter().map(|s| (*s).into()).collect(), commas: false })
}
