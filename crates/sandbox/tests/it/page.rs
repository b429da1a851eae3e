//! Tables in the documentation that are written from lists in tests.

use std::path::Path;

/// Makes sure that the first table under this heading of a page is this one. `UPDATE=1` rewrites it.
pub(crate) fn has_table(page: &str, heading: &str, rows: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let document = std::fs::read_to_string(&path).expect("the document is there");
    let start = document.find(heading).expect("the document has the heading") + heading.len();
    let end = document[start..].find("\n## ").map_or(document.len(), |end| start + end + 1);
    let section = &document[start..end];
    let table = section.find("\n|").expect("the section has a table") + 1;
    let rest = section[table..].find("\n\n").map_or(section.len(), |end| table + end + 1);
    if &section[table..rest] != rows {
        assert!(
            std::env::var_os("UPDATE").is_some(),
            "docs/{page} is out of date: run this test with UPDATE=1"
        );
        std::fs::write(&path, [&document[..start + table], rows, &document[start + rest..]].concat())
            .expect("the document can be written");
    }
}
