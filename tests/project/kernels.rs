//! The compiled kernels and their launches belong to the sources.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{files_below, in_repository};

/// The source's name and hash that a generated file says it was made from.
fn recorded_source(text: &str) -> Option<(&str, &str)> {
    text.lines().next()?.strip_prefix("// source: ")?.split_once(", sha256 ")
}

/// The hash of a source followed by the files that it includes, each followed by those that it includes.
fn hash(source: &str) -> String {
    let mut digest = Sha256::new();
    add(&mut digest, source);
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add(digest: &mut Sha256, source: &str) {
    digest.update(source);
    for included in source.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')) {
        add(digest, &source_of(included));
    }
}

/// The text of the kernel source with this name, in any folder.
fn source_of(name: &str) -> String {
    let extension = name.rsplit('.').next().unwrap();
    let files = files_below(&in_repository("kernels"), extension);
    let mut found = files.iter().filter(|path| path.file_name().unwrap() == name);
    let text = read(found.next().unwrap_or_else(|| panic!("{name} is missing")));
    assert!(found.next().is_none(), "two files have the name {name}");
    text
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Whether the source that a head of a generated file names has not changed since.
fn assert_is_present(head: &str) {
    let (name, recorded) = recorded_source(head).expect("the line names the source");
    assert_eq!(recorded, hash(&source_of(name)), "{name} has changed since it was compiled: run kernels/build.py");
}

#[test]
fn every_kernel_is_compiled_from_its_present_source() {
    let mut sources = files_below(&in_repository("kernels"), "cu");
    sources.sort_by_key(|path| path.file_name().unwrap().to_owned());
    let compiled = files_below(&in_repository("kernels/ptx"), "ptx");
    let stems = |paths: &[std::path::PathBuf]| paths.iter().map(|p| p.file_stem().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(!sources.is_empty());
    assert_eq!(stems(&sources), stems(&compiled), "each NAME.cu has one kernels/ptx/NAME.ptx");
    for (source, compiled) in sources.iter().zip(&compiled) {
        assert_eq!(recorded_source(&read(compiled)).map(|(name, _)| name), source.file_name().unwrap().to_str());
        assert_is_present(&read(compiled));
    }
}

#[test]
fn every_launch_is_generated_from_its_present_source() {
    let launches = read(&in_repository("kernels/ptx/launches.rs"));
    let heads: Vec<_> = launches.lines().filter(|line| recorded_source(line).is_some()).collect();
    assert!(heads.len() > 20 && heads.len() == launches.matches("\npub mod ").count(), "{heads:?}");
    heads.into_iter().for_each(assert_is_present);
    for path in files_below(&in_repository("src"), "rs") {
        let is_theirs = path == in_repository("src/engine/cuda/launches/mod.rs");
        let text = read(&path);
        assert!(is_theirs || !text.contains("launch_builder") && !text.contains("kernels/ptx"), "{}", path.display());
    }
}

/// Where code may be unsafe: the two symbols of the C library, files that choose code for the instructions of the
/// CPU, and the calls of the driver and of NCCL.
const UNSAFE: [&str; 12] = [
    "src/base/hypot.rs",
    "src/engine/algebra/simd.rs",
    "src/engine/operator/axial_runs/mod.rs",
    "src/engine/operator/event_path.rs",
    "src/engine/operator/planes/multi_stage.rs",
    "src/engine/operator/planes/tile.rs",
    "src/engine/operator/stored_matrix/mod.rs",
    "src/engine/operator/tubes/mod.rs",
    "src/engine/recon/em_kernels.rs",
    "src/engine/recon/penalty/host.rs",
    "src/engine/cuda",
    "src/engine/webgpu/device/opened.rs",
];

#[test]
fn unsafe_code_is_where_it_is_allowed() {
    for path in files_below(&in_repository("src"), "rs") {
        let is_allowed = UNSAFE.iter().any(|allowed| path.starts_with(in_repository(allowed)));
        assert!(is_allowed || !read(&path).contains("allow(unsafe_code)"), "{}", path.display());
    }
}

/// Files and folders of the repository that a text names: words that begin with one of its folders.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c)));
    let is_path =
        |word: &&str| ["src/", "kernels/", "shaders/", "assets/", "docs/", "tests/"].iter().any(|at| word.starts_with(at));
    words.filter(is_path).map(|word| word.trim_end_matches(['.', '-']))
}

/// Requires that the files exist that some lines of a file name, and returns their number.
fn check_named<'a>(path: &Path, lines: impl Iterator<Item = &'a str>) -> usize {
    let named: Vec<&str> =
        lines.flat_map(named_files).filter(|named| !["VERSION", "NAME"].iter().any(|part| named.contains(part))).collect();
    named.iter().for_each(|named| assert!(in_repository(named).exists(), "{}: {named} does not exist", path.display()));
    named.len()
}

#[test]
fn files_that_comments_name_exist() {
    let sources = [("src", "rs"), ("tests", "rs"), ("kernels", "cu"), ("kernels", "cuh"), ("shaders", "wgsl")];
    let files = sources.into_iter().flat_map(|(folder, extension)| files_below(&in_repository(folder), extension));
    let comments = |path: PathBuf| {
        let text = read(&path);
        check_named(&path, text.lines().filter_map(|line| line.split_once("//")).map(|(_, comment)| comment))
    };
    let num_named: usize = files.map(comments).sum();
    assert!(num_named > 100, "{num_named}");
}

#[test]
fn files_that_pages_name_exist() {
    let root = ["README.md", "CONTRIBUTING.md"].map(in_repository);
    let pages = files_below(&in_repository("docs"), "md").into_iter().chain(root);
    let num_named: usize = pages.map(|path| check_named(&path, read(&path).lines())).sum();
    assert!(num_named > 50, "{num_named}");
}

#[test]
fn the_hash_is_sha256() {
    assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
