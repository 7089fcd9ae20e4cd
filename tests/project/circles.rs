//! Files do not import each other in circles: a reader can begin with any file and go down.

use std::collections::{BTreeMap, BTreeSet};

use super::code::tokens;
use super::{files_below, in_repository};

/// Packages, and modules of others, whose files import each other in no circle.
const WITHOUT_CIRCLES: [(&str, &str); 16] = [
    ("src", "cli"),
    ("src/base", ""),
    ("src/formats", ""),
    ("src/engine", "algebra"),
    ("src/engine", "cuda"),
    ("src/engine", "measure"),
    ("src/engine", "montecarlo"),
    ("src/engine", "mpi"),
    ("src/engine", "operator"),
    ("src/engine", "phantom"),
    ("src/engine", "plan"),
    ("src/engine", "recon"),
    ("src/engine", "webgpu"),
    ("src/report", ""),
    ("src/app", ""),
    ("src/papers", ""),
];

type Path = Vec<String>;

/// The paths that stand in some code, from the root of the crate; `file` is the module of the file.
fn paths(file: &[String], tokens: &[String]) -> Vec<Path> {
    let mut found = Vec::new();
    for start in 0..tokens.len() {
        let is_start = start == 0 || tokens[start - 1] != "::";
        let mut base: Path = match tokens[start].as_str() {
            "crate" if is_start => Vec::new(),
            "self" | "super" if is_start && tokens.get(start + 1).is_some_and(|next| next == "::") => file.to_vec(),
            _ => continue,
        };
        let mut at = start;
        while tokens.get(at).is_some_and(|token| ["crate", "self", "super"].contains(&token.as_str())) {
            if tokens[at] == "super" {
                base.pop();
            }
            at += 1;
            if tokens.get(at).is_none_or(|token| token != "::") {
                break;
            }
            at += 1;
        }
        expand(&base, &tokens[at..], &mut found);
    }
    found
}

/// Follows a path, and every branch of a group; returns how many tokens it has.
fn expand(base: &[String], tokens: &[String], found: &mut Vec<Path>) -> usize {
    match tokens.first().map(String::as_str) {
        Some("{") => {
            let mut at = 1;
            while tokens.get(at).is_some_and(|token| token != "}") {
                at += if tokens[at] == "," { 1 } else { expand(base, &tokens[at..], found).max(1) };
            }
            at + 1
        }
        Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            let path = [base, &[name.to_owned()]].concat();
            if tokens.get(1).is_some_and(|token| token == "::") {
                return 2 + expand(&path, &tokens[2..], found);
            }
            found.push(path);
            1
        }
        _ => {
            found.push(base.to_vec());
            0
        }
    }
}

/// The file that a path leads into: the longest beginning of it that is one.
fn file_of(path: &[String], files: &BTreeMap<Path, Vec<String>>) -> Option<Path> {
    (1..=path.len()).rev().map(|len| path[..len].to_vec()).find(|beginning| files.contains_key(beginning))
}

/// A circle of files, if there is one.
fn circle(files: &BTreeMap<Path, Vec<String>>) -> Option<Vec<Path>> {
    let edges: BTreeMap<&Path, BTreeSet<Path>> = files
        .iter()
        .map(|(file, tokens)| {
            let paths = paths(file, tokens);
            let reached = paths.iter().filter_map(|path| file_of(path, files)).filter(|other| other != file);
            (file, reached.collect())
        })
        .collect();
    // Files that import no other of those that are left are in no circle.
    let mut left: BTreeSet<&Path> = files.keys().collect();
    loop {
        let ends: Vec<&Path> =
            left.iter().copied().filter(|file| !edges[file].iter().any(|other| left.contains(other))).collect();
        if ends.is_empty() {
            break;
        }
        left.retain(|file| !ends.contains(file));
    }
    let mut at = *left.first()?;
    let mut way: Vec<Path> = Vec::new();
    while !way.contains(at) {
        way.push(at.clone());
        at = *left.iter().find(|other| edges[at].contains(**other))?;
    }
    way.push(at.clone());
    Some(way)
}

/// The files of a module, or of a whole package, with their code, by their paths from its root.
fn files_of(root: &str, module: &str) -> BTreeMap<Path, Vec<String>> {
    let src = in_repository(root);
    let files = files_below(&src.join(module), "rs").into_iter().map(|file| {
        let path = file.strip_prefix(&src).unwrap().with_extension("");
        let path: Path = path
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .filter(|part| !["mod", "lib"].contains(&part.as_str()))
            .collect();
        // Unit tests may look anywhere.
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        (path, tokens(code))
    });
    files.collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for (root, module) in WITHOUT_CIRCLES {
        let files = files_of(root, module);
        assert!(files.len() > 1, "{root}/{module} has {} files", files.len());
        if let Some(circle) = circle(&files) {
            let names: Vec<String> = circle.iter().map(|path| path.join("::")).collect();
            panic!("{}", names.join(" → "));
        }
    }
}

#[test]
fn a_circle_is_found() {
    let files = |sources: &[(&str, &str)]| -> BTreeMap<Path, Vec<String>> {
        sources.iter().map(|(path, code)| (path.split("::").map(str::to_owned).collect(), tokens(code))).collect()
    };
    let down = [("a::b", "use super::c::{C, D}; use crate::a::d;"), ("a::c", "use crate::a::{d::{self, D}, e};"), ("a::d", "")];
    assert_eq!(circle(&files(&down)), None);
    let back = [("a::b", "use super::c::C;"), ("a::c", "fn f() { crate::a::b::f() }"), ("a::d", "use super::{b, c};")];
    let found = circle(&files(&back)).unwrap();
    assert_eq!(found.iter().map(|path| path.join("::")).collect::<Vec<_>>(), ["a::b", "a::c", "a::b"]);
}
