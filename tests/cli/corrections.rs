//! Corrections beside a scan are used, and the ways to do without them or with others.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tomoscope::io::{read_projections, read_volume, write_projections};

use super::{done, failed, refused, tomoscope};

/// Settings that make an image quickly.
const SETTINGS: &str = "--iterations 2 --subsets 4 --image 21,21,7 --voxel-mm 7,7,6 --device cpu";

fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

/// An image's bytes.
fn reconstructed(folder: &Path, arguments: &str) -> Vec<u8> {
    run(folder, &format!("reconstruct {arguments} {SETTINGS} -o image.npy"));
    fs::read(folder.join("image.npy")).unwrap()
}

/// A folder with a scan, its corrections, and the same scan under another name, alone.
fn folder_with_scans() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --attenuation --background 0.3 -o scan.hs");
    let header = fs::read_to_string(at.join("scan.hs")).unwrap();
    fs::write(at.join("alone.hs"), header).unwrap();
    folder
}

#[test]
fn corrections_beside_a_scan_are_used_and_named() {
    let folder = folder_with_scans();
    let at = folder.path();
    let with = reconstructed(at, "alone.hs --multiplicative scan_mult.hs --additive scan_add.hs");
    let without = reconstructed(at, "alone.hs");
    assert!(with != without);
    let output = tomoscope(at, &format!("reconstruct scan.hs {SETTINGS} -o image.npy").split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("scan.hs: corrections of the same folder used, scan_mult.hs and scan_add.hs").count(), 1, "{said}");
    assert!(fs::read(at.join("image.npy")).unwrap() == with);
    let record: Value = serde_json::from_slice(&fs::read(at.join("image.npy.json")).unwrap()).unwrap();
    let corrections = json!({"multiplicative": "scan_mult.hs", "additive": "scan_add.hs", "additive_inside": false});
    assert_eq!(record["corrections"], corrections);
    assert!(reconstructed(at, "scan.hs --no-corrections") == without);
}

#[test]
fn a_named_correction_replaces_the_one_beside_the_scan() {
    let folder = folder_with_scans();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --seed 2 --background 0.5 -o other.hs");
    let other = "--additive other_add.hs --corrections-of-another-scan";
    let expected = reconstructed(at, &format!("alone.hs --multiplicative scan_mult.hs {other}"));
    assert!(reconstructed(at, &format!("scan.hs {other}")) == expected);
    let expected = reconstructed(at, &format!("alone.hs {other}"));
    assert!(reconstructed(at, &format!("scan.hs --no-corrections {other}")) == expected);
}

#[test]
fn a_correction_that_does_not_fit_or_cannot_be_read_is_an_error() {
    let folder = folder_with_scans();
    let at = folder.path();
    let image = format!("reconstruct scan.hs {SETTINGS} -o no.npy");
    let image: Vec<&str> = image.split(' ').collect();
    run(at, "simulate cylinder --scanner prt-1 --counts 1e5 -o foreign.hs");
    fs::rename(at.join("scan_add.hs"), at.join("kept.hs")).unwrap();
    for content in [fs::read(at.join("foreign.hs")).unwrap(), b"nonsense".to_vec()] {
        fs::write(at.join("scan_add.hs"), content).unwrap();
        assert!(failed(at, "study", &image).contains("scan_add.hs"));
    }
    assert!(!at.join("no.npy").exists());
    reconstructed(at, "scan.hs --no-corrections");
    reconstructed(at, "scan.hs --additive kept.hs");
    // What is done is done with the corrections that there are.
    fs::remove_file(at.join("scan_add.hs")).unwrap();
    let again = format!("reconstruct scan.hs {SETTINGS} -o done.npy --skip-done");
    run(at, &again);
    assert!(run(at, &again).contains("up to date, skipped"));
    fs::rename(at.join("kept.hs"), at.join("scan_add.hs")).unwrap();
    assert!(!run(at, &again).contains("up to date, skipped"));
    // Each of them in the place of the other; the scan itself as its background.
    for (files, expected) in [
        ("--multiplicative scan_add.hs", "it contains randoms, which is a background"),
        ("--additive scan_mult.hs", "it contains attenuation, which is a factor"),
    ] {
        let exchanged = format!("reconstruct scan.hs {files} {SETTINGS} -o no.npy");
        let said = refused(at, 1, &exchanged.split(' ').collect::<Vec<_>>());
        assert!(said.contains(expected), "{said}");
    }
    let itself = format!("reconstruct alone.hs --additive alone.hs {SETTINGS} -o no.npy");
    let said = tomoscope(at, &itself.split(' ').collect::<Vec<_>>());
    assert!(String::from_utf8_lossy(&said.stderr).contains("equal to the scan itself"), "{said:?}");
}

#[test]
fn correction_factors_are_taken_as_the_inverse_of_factors() {
    let folder = folder_with_scans();
    let at = folder.path();
    let (mut factors, _) = read_projections(&at.join("scan_mult.hs")).unwrap();
    assert_eq!(factors.invert(), 0);
    write_projections(&at.join("acf.hs"), &factors).unwrap();
    let image = |arguments: &str| {
        reconstructed(at, arguments);
        read_volume(&at.join("image.npy")).unwrap().0
    };
    let expected = image("alone.hs --multiplicative scan_mult.hs");
    let found = image("alone.hs --multiplicative acf.hs --multiplicative-inverse");
    let largest = expected.range().1;
    let is_near = |(found, expected): (&f32, &f32)| (found - expected).abs() <= 1e-5 * largest;
    assert!(found.as_slice().iter().zip(expected.as_slice()).all(is_near));
    let record: Value = serde_json::from_slice(&fs::read(at.join("image.npy.json")).unwrap()).unwrap();
    assert_eq!(record["corrections"]["multiplicative_inverse"], true);
    // The same file as factors.
    let output = tomoscope(
        at,
        &format!("reconstruct alone.hs --multiplicative acf.hs {SETTINGS} -o image.npy").split(' ').collect::<Vec<_>>(),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--multiplicative-inverse takes those"), "{said}");
    let text = refused(at, 2, &["reconstruct", "alone.hs", "--multiplicative-inverse", "-o", "x.npy"]);
    assert!(text.contains("--multiplicative"), "{text}");
}
