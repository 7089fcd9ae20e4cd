//! Files of the program's own forms as earlier versions wrote them (`tests/data/VERSION`) are read.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use tomoscope::data::{BasisKind, SweepKind};
use tomoscope::io::calibration::read_file;
use tomoscope::io::saved_matrix::read_matrix;
use tomoscope::io::saved_pairs::read_pairs;
use tomoscope::io::saved_tubes::read_tubes;
use tomoscope::io::{calibration_beside, read_sweep, session_text};

use super::folder;

const VERSIONS: [&str; 1] = ["0.1.0"];

/// The files of a version, unpacked.
fn files_of(version: &str) -> tempfile::TempDir {
    let (from, folder) = (tomoscope_support::in_repository("tests/data").join(version), folder());
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let is_packed = path.extension().is_some_and(|ending| ending == "gz");
        let name = if is_packed { path.file_stem() } else { path.file_name() };
        let mut to = File::create(folder.path().join(name.unwrap())).unwrap();
        let mut file = File::open(&path).unwrap();
        if is_packed { io::copy(&mut GzDecoder::new(file), &mut to) } else { io::copy(&mut file, &mut to) }.unwrap();
    }
    folder
}

/// Tests what every version wrote.
fn of_each_version(test: impl Fn(&dyn Fn(&str) -> PathBuf)) {
    for version in VERSIONS {
        let folder = files_of(version);
        test(&|name| folder.path().join(name));
    }
}

#[test]
fn sweeps() {
    of_each_version(|at| {
        let study = read_sweep(&at("ball.sweep"), None).unwrap();
        let sweep = &study.measured;
        assert_eq!((study.title.as_str(), sweep.num_complete(), sweep.num_points), ("Ball", 6, 16));
        assert!(matches!(sweep.kind, SweepKind::Pulse) && sweep.space.is_slice());
        assert_eq!((sweep.step_mm, sweep.centre), (2.5, 8.0));
        let largest = sweep.projections.iter().flat_map(|projection| projection.values.iter().copied()).fold(0.0, f32::max);
        assert!((15.0..40.0).contains(&largest), "{largest}");
    });
}

/// A calibration that names no scan is that of the scan of its name.
#[test]
fn calibrations() {
    of_each_version(|at| {
        let scan = at("scan.hs");
        assert_eq!(read_file(&at("scan.calibration.toml")).unwrap(), 52_300.25);
        assert_eq!(calibration_beside(&scan).unwrap(), Some(52_300.25));
    });
}

#[test]
fn counts_of_pairs() {
    of_each_version(|at| {
        let pairs = read_pairs(&at("rods.pairs")).unwrap();
        assert_eq!((pairs.ring.name.as_str(), pairs.counts.len(), pairs.total()), ("madpet2-reduced", 41_328, 50.0));
        assert_eq!((pairs.counts[4563], pairs.counts[7142]), (1.0, 1.0));
    });
}

#[test]
fn matrices() {
    of_each_version(|at| {
        let matrix = read_matrix(&at("cubes.matrix")).unwrap();
        assert_eq!((matrix.scanner.as_str(), matrix.num_basic, matrix.elements.len()), ("madpet2-reduced", 4032, 295));
        assert_eq!((matrix.basis.kind, matrix.basis.spacing_mm), (BasisKind::Cubic, 1.5));
        assert_eq!(matrix.made.unwrap().num_histories, 100);
    });
}

#[test]
fn tubes() {
    of_each_version(|at| {
        let tubes = read_tubes(&at("some.tubes")).unwrap();
        assert_eq!((tubes.scanner.as_str(), tubes.sampling.num, tubes.coefficients.len()), ("a scanner", [5, 3, 3], 270));
        assert!((tubes.coefficients[269] - 269.0 / 7.0).abs() < 1e-5);
        assert_eq!(tubes.made.unwrap().seed, 6);
    });
}

#[test]
fn texts_of_sessions() {
    of_each_version(|at| {
        let session: serde_json::Value = session_text::read(&at("work.session")).unwrap();
        assert_eq!(session["study"]["source"]["built-in"], "Small cylinder, small ring");
        assert_eq!(session["roi"].as_array().unwrap().len(), 2);
    });
}
