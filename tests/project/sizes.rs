//! Files and folders are of a size that a reader can take in.

use std::collections::BTreeMap;
use std::fs;

use super::{files_below, in_repository};

const MAX_LINES: usize = 600;
const MAX_FILES: usize = 20;

#[test]
fn files_are_short_and_folders_are_small() {
    let extensions = ["rs", "cu", "cuh", "py"];
    let all = ["src", "kernels"].iter().flat_map(|root| extensions.iter().flat_map(|e| files_below(&in_repository(root), e)));
    let mut folders = BTreeMap::<_, usize>::new();
    for file in all {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines", file.display());
        *folders.entry(file.parent().unwrap().to_owned()).or_default() += 1;
    }
    let large: Vec<_> = folders.iter().filter(|(_, num)| **num > MAX_FILES).collect();
    assert!(folders.len() > 20 && large.is_empty(), "{large:?}");
}
