//! The compiled kernels belong to their sources, and run.

use sha2::{Digest, Sha256};

use super::{files_below, in_repository};

/// The source's name and hash that a PTX file says it was compiled from.
fn recorded_source(ptx: &str) -> Option<(&str, &str)> {
    ptx.lines().next()?.strip_prefix("// source: ")?.split_once(", sha256 ")
}

/// The hash of a source followed by the files that it includes.
fn hash(source: &str) -> String {
    let mut digest = Sha256::new_with_prefix(source);
    for included in source.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')) {
        digest.update(std::fs::read(in_repository("kernels").join(included)).unwrap());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_kernel_is_compiled_from_its_present_source() {
    let sources = files_below(&in_repository("kernels"), "cu");
    let compiled = files_below(&in_repository("kernels/ptx"), "ptx");
    let stems = |paths: &[std::path::PathBuf]| paths.iter().map(|p| p.file_stem().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(!sources.is_empty());
    assert_eq!(stems(&sources), stems(&compiled), "each kernels/NAME.cu has one kernels/ptx/NAME.ptx");
    for (source, compiled) in sources.iter().zip(&compiled) {
        let ptx = std::fs::read_to_string(compiled).unwrap();
        let (name, recorded) = recorded_source(&ptx).expect("the first line names the source");
        assert_eq!(Some(name), source.file_name().unwrap().to_str());
        let present = hash(&std::fs::read_to_string(source).unwrap());
        assert_eq!(recorded, present, "{name} has changed since it was compiled: run kernels/build.py");
    }
}

#[test]
fn the_hash_is_sha256() {
    assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
