//! Inside a package modules import only from lower rows of the table in its `lib.rs`, folders of some modules only from lower rows of the
//! table in their `mod.rs`, and some libraries have one home. Between packages the compiler sees to it.

use std::collections::BTreeMap;

use super::code::tokens;
use super::{files_below, in_repository};

/// Libraries that only these modules may use.
const HOMES: [(&str, &[&str]); 10] = [
    ("cudarc", &["cuda"]),
    ("dicom_ul", &["pacs"]),
    ("egui", &["ui"]),
    ("egui_plot", &["ui"]),
    ("eframe", &["ui"]),
    ("mpi", &["mpi"]),
    ("realfft", &["fft"]),
    ("rfd", &["ui"]),
    ("rustfft", &["fft"]),
    ("wgpu", &["render", "ui", "webgpu"]),
];

/// Packages with a table of their modules in their `lib.rs`.
const PACKAGES: [&str; 5] = ["base", "formats", "engine", "app", "papers"];

/// Modules with a table of their own parts in their `mod.rs`, and the folders that they are in.
const WITH_ROWS: [(&str, &str); 4] = [("src", "cli"), ("src/formats", "io"), ("src/engine", "plan"), ("src/app", "ui")];

/// Row of each module, from the lines `row N: a b c` of the table.
fn rows(lib: &str) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for line in lib.lines() {
        let line = line.trim_start_matches("//!").trim().strip_prefix("row ");
        let Some((number, modules)) = line.and_then(|line| line.split_once(':')) else { continue };
        let number = number.parse().unwrap_or_else(|_| panic!("'{number}' is not the number of a row"));
        for module in modules.split_whitespace() {
            assert_eq!(rows.insert(module.to_owned(), number), None, "{module} stands twice in the table");
        }
    }
    rows
}

/// What the code names of the crate's root (`root` is `crate`) or of a module of it (`crate::module`): by a path from the
/// root, or by enough `super::` for a file that lies `depth` modules below it.
fn reached(root: &[&str], tokens: &[String], depth: usize) -> Vec<String> {
    let root: Vec<&str> = root.iter().flat_map(|name| [*name, "::"]).collect();
    let mut reached = Vec::new();
    for start in 0..tokens.len() {
        if start > 0 && tokens[start - 1] == "::" {
            continue;
        }
        let is_super = |pair: &&[String]| pair[0] == "super" && pair[1] == "::";
        let num_supers = tokens[start..].chunks_exact(2).take_while(is_super).count();
        if num_supers > 0 && num_supers >= depth {
            reached.extend(first_names(&tokens[start + 2 * num_supers..]));
        } else if tokens[start..].len() >= root.len() && tokens[start..].iter().zip(&root).all(|(token, name)| token == name) {
            reached.extend(first_names(&tokens[start + root.len()..]));
        }
    }
    reached
}

/// The name that a path goes on with, or all of them if a group `{a::…, b, …}` follows.
fn first_names(tokens: &[String]) -> Vec<String> {
    if tokens.first().is_none_or(|token| token != "{") {
        return tokens.first().cloned().into_iter().collect();
    }
    let (mut names, mut depth, mut starts) = (Vec::new(), 0, false);
    for token in tokens {
        match token.as_str() {
            "{" => (depth, starts) = (depth + 1, depth == 0),
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => starts = true,
            name if starts => {
                names.push(name.to_owned());
                starts = false;
            }
            _ => {}
        }
    }
    names
}

/// Libraries with a home that the code uses: as the start of a path, or imported whole.
fn libraries_used(tokens: &[String]) -> Vec<&'static str> {
    let used = |library: &&'static str| {
        (0..tokens.len()).any(|i| {
            let (before, after) = (i.checked_sub(1).map(|i| tokens[i].as_str()), tokens.get(i + 1).map(String::as_str));
            tokens[i] == *library && (before == Some("use") || (after == Some("::") && before != Some("::")))
        })
    };
    HOMES.iter().map(|(library, _)| *library).filter(used).collect()
}

/// What a file of `module`, `depth` modules below the root, does that the table forbids.
fn violations(module: &str, depth: usize, source: &str, rows: &BTreeMap<String, usize>) -> Vec<String> {
    let tokens = tokens(source);
    let Some(own_row) = rows.get(module) else { return vec![format!("{module} has no row in the table of lib.rs")] };
    let mut found: Vec<String> = Vec::new();
    for name in reached(&["crate"], &tokens, depth) {
        match rows.get(&name) {
            Some(row) if name != module && row >= own_row => {
                found.push(format!("{module} (row {own_row}) uses {name} (row {row})"));
            }
            _ => {}
        }
    }
    for library in libraries_used(&tokens) {
        let homes = HOMES.iter().find(|(name, _)| *name == library).map_or(&[][..], |(_, homes)| homes);
        if !homes.contains(&module) {
            found.push(format!("{module} uses {library}, which only {} may", homes.join(" and ")));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What a file of a `part` of a module, `depth` modules below that module, does that the module's own table forbids.
fn violations_within(module: &str, part: &str, depth: usize, source: &str, rows: &BTreeMap<String, usize>) -> Vec<String> {
    let tokens = tokens(source);
    let Some(own_row) = rows.get(part) else { return vec![format!("{part} has no row in the table of {module}/mod.rs")] };
    let mut found: Vec<String> = Vec::new();
    for name in reached(&["crate", module], &tokens, depth) {
        match rows.get(&name) {
            Some(row) if name != part && row >= own_row => {
                found.push(format!("{module}::{part} (row {own_row}) uses {module}::{name} (row {row})"));
            }
            _ => {}
        }
    }
    // What a part names of the others it names by their paths: the module as a whole stands above all of them.
    let by_path = tokens.windows(5).filter(|path| path[..4] == ["crate", "::", module, "::"] && rows.contains_key(&path[4]));
    let visibilities = tokens.windows(5).filter(|path| path[..4] == ["in", "crate", "::", module] && path[4] == ")");
    let in_all = reached(&["crate"], &tokens, usize::MAX).into_iter().filter(|name| name == module);
    if in_all.count() > by_path.count() + visibilities.count() {
        found.push(format!("{module}::{part} uses {module} as a whole, or in a group"));
    }
    found.sort();
    found.dedup();
    found
}

fn table(path: &str) -> BTreeMap<String, usize> {
    rows(&std::fs::read_to_string(in_repository(path)).unwrap())
}

/// The files below a folder with their paths in it; those of `lib.rs` and `main.rs` are none.
fn files_in(folder: &str) -> Vec<(Vec<String>, String)> {
    let folder = in_repository(folder);
    let named = files_below(&folder, "rs").into_iter().map(|path| {
        let parts = path.strip_prefix(&folder).unwrap().iter().map(|part| part.to_str().unwrap().to_owned()).collect::<Vec<_>>();
        (parts, std::fs::read_to_string(&path).unwrap())
    });
    named.filter(|(parts, _)| parts.len() > 1 || !["lib.rs", "main.rs"].contains(&parts[0].as_str())).collect()
}

/// How many modules below the root of its package a file is.
fn depth(parts: &[String]) -> usize {
    parts.len() - usize::from(parts.last().is_some_and(|name| name == "mod.rs"))
}

#[test]
fn every_module_imports_only_from_lower_rows() {
    let mut found = Vec::new();
    for package in PACKAGES {
        let rows = table(&format!("src/{package}/lib.rs"));
        let files = files_in(&format!("src/{package}"));
        assert!(files.len() > 5, "only {} files of {package}", files.len());
        for (parts, source) in files {
            let here = violations(parts[0].trim_end_matches(".rs"), depth(&parts), &source, &rows);
            found.extend(here.into_iter().map(|violation| format!("{package}/{}: {violation}", parts.join("/"))));
        }
    }
    for (folder, module) in WITH_ROWS {
        let rows = table(&format!("{folder}/{module}/mod.rs"));
        let files = files_in(&format!("{folder}/{module}"));
        assert!(files.len() > 10, "only {} files of {module}", files.len());
        for (parts, source) in files.into_iter().filter(|(parts, _)| parts[0] != "mod.rs") {
            let here = violations_within(module, parts[0].trim_end_matches(".rs"), depth(&parts), &source, &rows);
            found.extend(here.into_iter().map(|violation| format!("{module}/{}: {violation}", parts.join("/"))));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_page_on_the_architecture_has_the_same_rows_and_names_files_that_exist() {
    let page = std::fs::read_to_string(in_repository("ARCHITECTURE.md")).unwrap();
    let tables = PACKAGES.iter().flat_map(|package| table(&format!("src/{package}/lib.rs")));
    assert_eq!(rows(&page), tables.collect());
    let code = page.split('`').skip(1).step_by(2);
    let folders = ["src/", "tests/", "kernels/", "shaders/", "assets/"];
    let paths: Vec<&str> =
        code.filter(|path| folders.iter().any(|folder| path.starts_with(folder)) && !path.contains('*')).collect();
    assert!(paths.len() > 30, "only {} paths were found", paths.len());
    for path in paths {
        assert!(in_repository(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
}

mod the_checker {
    use super::*;

    const TABLE: &str = "//! Words.\n//! row 1: geometry task\n//! row 2: scanner\n//! row 3: cuda render\n//! row 4: ui\n";

    fn check(module: &str, depth: usize, source: &str) -> Vec<String> {
        violations(module, depth, source, &rows(TABLE))
    }

    #[test]
    fn lets_lower_rows_pass() {
        let source = "use std::sync::Arc; use crate::geometry::{self, Grid}; use crate::{task, scanner::Plane}; use super::Line;";
        assert_eq!(check("ui", 2, source), Vec::<String>::new());
        assert_eq!(check("scanner", 2, "use super::cuda::X; use crate::scanner::Plane;"), Vec::<String>::new());
        assert_eq!(check("cuda", 1, "let c = cudarc::driver::CudaContext::new(0);"), Vec::<String>::new());
        assert_eq!(check("render", 1, "use wgpu::Device;"), Vec::<String>::new());
    }

    #[test]
    fn finds_higher_rows_and_neighbours() {
        assert_eq!(check("geometry", 1, "use crate::scanner::Plane;"), ["geometry (row 1) uses scanner (row 2)"]);
        assert_eq!(check("geometry", 1, "use crate::task::Task;"), ["geometry (row 1) uses task (row 1)"]);
        assert_eq!(check("geometry", 2, "fn f() { super::super::ui::show() }"), ["geometry (row 1) uses ui (row 4)"]);
        assert_eq!(check("geometry", 1, "use super::ui;"), ["geometry (row 1) uses ui (row 4)"]);
        assert_eq!(check("task", 1, "pub(in crate::ui) fn f() {}"), ["task (row 1) uses ui (row 4)"]);
        let group = "use crate::{geometry::{Grid, ui}, task::Task, render::{Texture, Line}, ui};";
        assert_eq!(check("scanner", 1, group), ["scanner (row 2) uses render (row 3)", "scanner (row 2) uses ui (row 4)"]);
    }

    #[test]
    fn finds_libraries_away_from_home() {
        assert_eq!(check("render", 1, "let v = egui::vec2(0.0, 1.0);"), ["render uses egui, which only ui may"]);
        assert_eq!(check("ui", 1, "use cudarc;"), ["ui uses cudarc, which only cuda may"]);
        assert_eq!(check("scanner", 1, "use wgpu::*;"), ["scanner uses wgpu, which only render and ui and webgpu may"]);
    }

    #[test]
    fn refuses_modules_without_a_row() {
        assert_eq!(check("stray", 1, ""), ["stray has no row in the table of lib.rs"]);
    }

    const PARTS: &str = "//! row 1: widgets\n//! row 2: study rois\n//! row 3: workspace\n";

    fn check_part(part: &str, depth: usize, source: &str) -> Vec<String> {
        violations_within("ui", part, depth, source, &rows(PARTS))
    }

    #[test]
    fn lets_lower_parts_of_a_module_pass() {
        let source =
            "use super::view::View; use crate::ui::widgets::{self, theme}; use crate::data::Study; use crate::session::x;";
        assert_eq!(check_part("study", 2, source), Vec::<String>::new());
        assert_eq!(check_part("study", 1, "use super::widgets::theme; use super::*;"), Vec::<String>::new());
        let source = "use super::super::rois::Rois; use crate::{data::Study, scanner}; use crate::ui::study::Loading;";
        assert_eq!(check_part("workspace", 2, source), Vec::<String>::new());
    }

    #[test]
    fn finds_higher_parts_and_neighbours() {
        let above = ["ui::study (row 2) uses ui::workspace (row 3)"];
        assert_eq!(check_part("study", 2, "use crate::ui::workspace::App;"), above);
        assert_eq!(check_part("study", 2, "fn f() { super::super::workspace::f() }"), above);
        assert_eq!(check_part("study", 1, "use super::workspace::App;"), above);
        let group = "use crate::ui::{widgets::theme, rois::{Roi, workspace}};";
        assert_eq!(check_part("study", 2, group)[0], "ui::study (row 2) uses ui::rois (row 2)");
        assert_eq!(check_part("stray", 1, ""), ["stray has no row in the table of ui/mod.rs"]);
    }

    #[test]
    fn finds_a_part_that_uses_its_whole_module() {
        let whole = ["ui::study uses ui as a whole, or in a group"];
        for source in ["use crate::ui;", "use crate::ui::App;", "use crate::{data, ui::workspace::App};", "use crate::ui::*;"] {
            assert_eq!(check_part("study", 2, source), whole, "{source}");
        }
    }

    #[test]
    fn reads_no_comments_and_no_strings() {
        let source = r###"
            // crate::ui
            /* crate::ui /* nested */ egui::x */
            const A: &str = "crate::ui \" crate::ui";
            const B: &str = r#"crate::ui " crate::ui"#;
            const C: [char; 3] = ['"', '\'', '\u{22}'];
            fn f<'a>(x: &'a str) -> &'a str { x }
        "###;
        assert_eq!(check("geometry", 1, source), Vec::<String>::new());
        let after = format!("{source}\nuse crate::ui;");
        assert_eq!(check("geometry", 1, &after), ["geometry (row 1) uses ui (row 4)"]);
    }
}

/// Formats whose properties are columns of the table of formats: code asks for a property.
const UNNAMED: [&str; 3] = ["DicomSeries", "NiftiImage", "YrtList"];

#[test]
fn code_asks_for_the_properties_of_a_format_and_not_for_its_name() {
    let table = in_repository("src/formats/io/formats.rs");
    let files: Vec<_> = files_below(&in_repository("src"), "rs").into_iter().filter(|path| *path != table).collect();
    let names = |path: &std::path::PathBuf| {
        let tokens = tokens(&std::fs::read_to_string(path).unwrap());
        UNNAMED.into_iter().find(|name| tokens.iter().any(|token| token == name))
    };
    let named: Vec<_> = files.iter().filter_map(|path| Some((path, names(path)?))).collect();
    assert!(named.is_empty(), "{named:?}");
    assert!(UNNAMED.iter().all(|name| std::fs::read_to_string(&table).unwrap().contains(name)));
}
