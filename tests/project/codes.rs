//! The codes of errors are those that the documentation lists.

use std::collections::BTreeSet;
use std::fs;

use strum::VariantNames as _;
use tomoscope::io::IoError;

use super::{files_below, in_repository};

/// Longest page of codes, lines.
const MAX_LINES: usize = 80;

/// Everything between backticks in the first column of the document's tables, but file endings.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(in_repository("docs/error-codes.md")).unwrap();
    assert!(text.lines().count() <= MAX_LINES, "{}", text.lines().count());
    let cells = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(ToOwned::to_owned).collect()
}

/// Returns the texts that begin after each place of a mark and end before a quotation mark.
fn texts_after<'a>(source: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    source.split(mark).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0))
}

/// Returns the codes of the calls of `coded!` in a source text.
fn coded(source: &str) -> BTreeSet<String> {
    let calls = source.split("coded!(").skip(1).filter_map(|rest| Some(rest.split_once(");")?.0));
    // The names of the variants that have a code are between it and the next one.
    calls.flat_map(|call| call.split('"').skip(1).step_by(2)).map(ToOwned::to_owned).collect()
}

/// Returns the source without its tests and its documentation.
fn program(source: &str) -> String {
    let before_tests = source.split("\nmod tests {").next().unwrap_or_default();
    before_tests.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_code_is_documented_and_nothing_else() {
    let mut codes: BTreeSet<String> = IoError::VARIANTS.iter().map(|&name| name.to_owned()).collect();
    // These have the code of the error that they hold.
    for name in ["io.counts", "io.unsupported"] {
        assert!(codes.remove(name), "{name}");
    }
    codes.insert("io.not-found".to_owned());
    for path in files_below(&in_repository("src"), "rs") {
        let source = program(&fs::read_to_string(&path).unwrap());
        codes.extend(coded(&source));
        codes.extend(["Problem::new(\"", "PassedOn::new(\""].iter().flat_map(|mark| texts_after(&source, mark)).map(Into::into));
        // Enums with a code for each variant: those of files are above, those of commands next to their enum.
        let prefixes = texts_after(&source, "prefix = \"").filter_map(|prefix| prefix.strip_suffix('.'));
        codes.extend(prefixes.filter(|prefix| !["io", "command"].contains(prefix)).map(|prefix| format!("{prefix}.…")));
    }
    assert!(codes.len() > 80, "{codes:?}");
    let documented: BTreeSet<String> = documented().into_iter().filter(|code| !code.starts_with("command.")).collect();
    let not_documented: Vec<_> = codes.difference(&documented).collect();
    let without_error: Vec<_> = documented.difference(&codes).collect();
    assert!(not_documented.is_empty() && without_error.is_empty(), "missing: {not_documented:?}, too many: {without_error:?}");
}

#[test]
fn codes_are_found_in_calls_of_several_lines() {
    let source = "coded!(A = \"a\");\ncoded!(\n    B = \"b\",\n    \"b.c\": C D\n);\ncoded!(E; F, G);\ncoded!(H = \"h\"; I);";
    assert_eq!(coded(source), ["a", "b", "b.c", "h"].map(String::from).into());
}
