//! `tomoscope info` as text.

use std::path::Path;
use std::process::{Command, Output};

use super::data::data_file;

fn info(path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tomoscope")).arg("info").arg(path).output().unwrap()
}

#[test]
fn it_says_what_a_file_holds() {
    let corpus = tomoscope_support::in_repository("tests/io/corpus");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.bin"), [0; 560]).unwrap();
    let cases: [(&str, &[&str]); 5] = [
        (
            "good.hs",
            &["projection data", "3 × 4 mm = 12.00 mm", "105.00 mm", "5 of 5.00000 mm (arc-corrected)", "140", "default image"],
        ),
        ("good.nii.gz", &["NIfTI", "4 × 3 × 2 of 2.0000 × 2.0000 × 3.0000 mm", "total", "276", "0, 23"]),
        ("good.hv", &["Interfile", "-5.00…3.00, -3.00…3.00, -3.00…3.00 mm", "warning", "464 more than the 96"]),
        ("good.toml", &["regions of interest", "sphere", "'a', radius 1 mm", "cold"]),
        ("good.csv", &["measured numbers", "rows", "1"]),
    ];
    for (name, parts) in cases {
        let path = folder.path().join(name);
        std::fs::copy(corpus.join(name), &path).unwrap();
        let output = info(&path);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        for part in parts {
            assert!(text.contains(part), "'{part}' is missing in:\n{text}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_sentence_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("scan.s");
    std::fs::write(&data, "").unwrap();
    for (name, part) in [(Path::new("none.hs"), "none.hs: opening the file failed"), (data.as_path(), "name the header")] {
        let output = info(name);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("tomoscope: ") && text.contains(part), "{text}");
    }
}

#[test]
fn it_gives_the_counts_of_real_data() {
    let Some(path) = data_file("stir/utahgeom_synth600k.hs") else { return };
    let text = String::from_utf8(info(&path).stdout).unwrap();
    assert!(text.contains("600597\n") && text.contains("CTI PRT-1"), "{text}");
}
