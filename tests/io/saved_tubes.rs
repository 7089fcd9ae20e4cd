//! Tubes of response as files.

use std::fs;
use std::path::Path;

use tomoscope::data::{TubeSampling, TubeSet, TubesMade};
use tomoscope::io::IoError;
use tomoscope::io::saved_tubes::{data_file, read_tubes, write_tubes};

use super::{assert_brief, assert_problem, folder};

fn tubes() -> TubeSet {
    let sampling = TubeSampling { num: [5, 3, 3], spacing_mm: [0.74, 0.75, 0.76], num_radial: 2, num_ring_differences: 3 };
    let coefficients = (0..270).map(|k| k as f32 / 7.0).collect();
    let made = TubesMade {
        isotope: Some("F-18".into()),
        is_collinear: false,
        num_histories: 12_345,
        seed: 6,
        median_error_percent: 7.5,
        worst_tenth_error_percent: 20.0,
        outside_percent: 1.0,
        super_lors: None,
    };
    TubeSet { made: Some(made), ..TubeSet::new("a scanner", sampling, coefficients).unwrap() }
}

#[test]
fn tubes_are_read_as_they_were_written() {
    let folder = folder();
    let path = folder.path().join("some.tubes");
    let unknown = TubeSet { made: None, ..tubes() };
    for tubes in [tubes(), unknown] {
        write_tubes(&path, &tubes).unwrap();
        assert_eq!(read_tubes(&path).unwrap(), tubes);
    }
    assert_eq!(data_file(&path), folder.path().join("some.tubes.f32"));
}

/// The error of a header that `change` was made to.
fn refusal(path: &Path, change: impl Fn(String) -> String) -> IoError {
    let header = fs::read_to_string(path).unwrap();
    fs::write(path, change(header.clone())).unwrap();
    let error = read_tubes(path).unwrap_err();
    fs::write(path, header).unwrap();
    error
}

#[test]
fn what_are_no_tubes_is_refused() {
    let folder = folder();
    let path = folder.path().join("some.tubes");
    write_tubes(&path, &tubes()).unwrap();
    let cases = [
        ("version = 1", "version = 7", "io.unsupported.tomoscope some.tubes Version"),
        ("num_radial = 2", "num_radial = 3", "io.unsupported.tomoscope some.tubes DataSize"),
        ("num_radial = 2", "num_radial = 0", "io.unsupported.tomoscope some.tubes NumCoefficients"),
        ("num_radial = 2", "num_radial = 900000000000000", "io.unsupported.tomoscope some.tubes NumCoefficients"),
        ("num_samples = [5, 3, 3]", "num_samples = [10, 3, 3]", "io.unsupported.tomoscope some.tubes DataSize"),
        ("0.75", "-0.75", "io.unsupported.tomoscope some.tubes Tubes"),
        ("some.tubes.f32", "../some.tubes.f32", "io.unsupported.tomoscope some.tubes DataFolder"),
        ("some.tubes.f32", "other.f32", "io.not-found other.f32"),
        ("scanner =", "scaner =", "io.unsupported.tomoscope some.tubes Syntax"),
    ];
    for (from, to, expected) in cases {
        assert_brief(&refusal(&path, |header| header.replacen(from, to, 1)), expected);
    }
    // Coefficients that were changed or cut off.
    let mut bytes = fs::read(data_file(&path)).unwrap();
    bytes[8] ^= 1;
    fs::write(data_file(&path), &bytes).unwrap();
    assert_brief(&read_tubes(&path).unwrap_err(), "io.mismatched-pair some.tubes some.tubes.f32");
    bytes.truncate(100);
    fs::write(data_file(&path), &bytes).unwrap();
    assert_problem(&read_tubes(&path).unwrap_err(), "DataSize(…, Mismatch { found: 100, expected: 1080 })");
}
