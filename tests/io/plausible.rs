//! EPRI data that read without an error and give a wrong image: each has a warning, and sound data have none.

use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use tomoscope::io::{read_sweep, write_sweep};

use super::data::data_file;
use super::sweep_forms::{self, npy};
use super::{assert_brief, folder, warns_of};

/// Derivative of a Gaussian line with this σ, in its unit.
fn line(x: f64, sigma: f64) -> f64 {
    -x / sigma * (-0.5 * (x / sigma).powi(2)).exp()
}

/// Writes spectra of a disc-like object under ten gradients of 10 G/cm in a plane. Fields in G, `half_width` about `middle`; lines have a σ of
/// 1 G, the object one of 2 mm.
fn put(folder: &Path, middle: f64, half_width: f64, offset: f64, dtype: &str) -> PathBuf {
    let angles: Vec<f64> = (0..10).map(|k| PI * f64::from(k) / 10.0).collect();
    let gradients = angles.iter().flat_map(|angle| [10.0 * angle.cos(), 10.0 * angle.sin()]);
    npy(folder, "a-fgrad.npy", "<f8", false, "(10, 2)", gradients);
    let field = |k: u32| half_width * (f64::from(k) / 32.0 - 1.0);
    npy(folder, "a-B.npy", dtype, false, "(64,)", (0..64).map(|k| middle + field(k)));
    npy(folder, "a-h.npy", "<f4", false, "(64,)", (0..64).map(|k| line(field(k), 1.0)));
    // (Convolved with the object: σ² = 1 G² + (10 G/cm · 2 mm)².)
    let samples = (0..10).flat_map(|_| (0..64).map(|k| offset + line(field(k), 5f64.sqrt())));
    npy(folder, "a-proj.npy", "<f4", false, "(10, 64)", samples)
}

#[test]
fn a_sweep_too_narrow_for_the_gradient_is_reported() {
    let folder = folder();
    for (half_width, offset, is_reported) in [(12.0, 0.0, false), (12.0, 3.0, false), (4.0, 0.0, true), (2.0, 0.0, true)] {
        let study = read_sweep(&put(folder.path(), 3400.0, half_width, offset, "<f8"), None).unwrap();
        let text = "10 of 10 projections have more than 10 % of the largest signal at an end: the field sweep is too narrow";
        assert_eq!(warns_of(&study.notices, text), is_reported, "{half_width} {offset}: {:?}", study.notices);
    }
    // Noise of 20 % is no signal.
    let mut noisy = sweep_forms::ball();
    for (k, projection) in noisy.measured.projections.iter_mut().enumerate() {
        let noise = |i: usize| (((k * 37 + i) as f64 * 12.9898).sin() * 43758.5453).fract() as f32;
        let largest = projection.values.iter().copied().fold(0.0, f32::max);
        projection.values = projection.values.iter().enumerate().map(|(i, value)| value + 0.35 * largest * noise(i)).collect();
    }
    let path = folder.path().join("noisy.sweep");
    write_sweep(&path, &noisy).unwrap();
    let notices = read_sweep(&path, None).unwrap().notices;
    assert!(!warns_of(&notices, "at an end"), "{notices:?}");
    // Pulses of an object of 12 mm in projections of 16 mm and of 8 mm.
    for (num_points, is_reported) in [(16, false), (8, true)] {
        let folder = super::folder();
        let half = f64::from(num_points / 2);
        let ball = |t: f64| (36.0 - t * t).max(0.0);
        let samples = (0..3).flat_map(|_| (0..num_points).map(|k| ball(f64::from(k) + 0.5 - half)));
        let path = npy(folder.path(), "a-proj.npy", "<f8", false, &format!("(3, {num_points})"), samples);
        npy(folder.path(), "a-dir.npy", "<f8", false, "(3, 3)", [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let positions = (0..num_points).map(|k| f64::from(k) + 0.5 - half);
        npy(folder.path(), "a-t.npy", "<f8", false, &format!("({num_points},)"), positions);
        let notices = read_sweep(&path, None).unwrap().notices;
        assert_eq!(warns_of(&notices, "the object reaches beyond the samples"), is_reported, "{notices:?}");
    }
}

#[test]
fn a_doubtful_reference_spectrum_is_reported() {
    let folder = folder();
    let path = put(folder.path(), 3400.0, 12.0, 0.0, "<f8");
    let field = |k: u32| 12.0 * (f64::from(k) / 32.0 - 1.0);
    let put_reference = |offset: f64, first: f64| {
        let samples = (0..64).map(|k| offset + line(field(k), 1.0));
        npy(folder.path(), "b-B.npy", "<f8", false, "(64,)", (0..64).map(|k| first + field(k)));
        npy(folder.path(), "b-h.npy", "<f8", false, "(64,)", samples)
    };
    let missing = read_sweep(&path, Some(&folder.path().join("none-h.npy"))).unwrap_err();
    assert_brief(&missing, "io.not-found none-h.npy");
    let has_sum = |notices: &[_]| warns_of(notices, "expected 0 of a first derivative");
    for (offset, middle, [is_sum, is_elsewhere]) in [
        (0.0, 3400.0, [false, false]),
        (0.0, 3400.1, [false, false]),
        (0.05, 3400.0, [true, false]),
        (0.0, 3402.0, [false, true]),
    ] {
        let reference = put_reference(offset, middle);
        let notices = read_sweep(&path, Some(&reference)).unwrap().notices;
        assert_eq!(has_sum(&notices), is_sum, "{notices:?}");
        // 2 G under 10 G/cm.
        let text = "is at 340.2000 mT, that of the projections at 340.0000 mT";
        let is_reported = warns_of(&notices, text) && warns_of(&notices, "blurred by 2.00 mm");
        assert_eq!(is_reported, is_elsewhere, "{notices:?}");
    }
}

/// Gradients in mT/m and fields in T have projections of metres or micrometres; a quarter of a turn leaves a gap.
#[test]
fn other_units_and_gaps_are_reported() {
    let folder = folder();
    let notices = |path: &Path| read_sweep(path, None).unwrap().notices;
    let path = put(folder.path(), 3400.0, 12.0, 0.0, "<f8");
    let sound = notices(&path);
    assert!(!warns_of(&sound, "check the units") && !warns_of(&sound, "leave a gap"), "{sound:?}");
    // 24 G over 0.05 G/cm are 4800 mm.
    npy(
        folder.path(),
        "a-fgrad.npy",
        "<f8",
        false,
        "(10, 2)",
        (0..10).flat_map(|k| {
            let angle = PI * f64::from(k) / 10.0;
            [0.05 * angle.cos(), 0.05 * angle.sin()]
        }),
    );
    assert!(warns_of(&notices(&path), "4800.000 mm long, expected 0.5 to 250 mm: check the units of the gradients"));
    // Ten angles in a quarter of a turn; a few of the half circle; one twice, in both senses.
    for (degrees, expected) in [
        ((0..10).map(|k| 9.0 * f64::from(k)).collect::<Vec<_>>(), Some("a gap of 99°: 10 of 10 are distinct")),
        ((0..10).map(|k| 60.0 * f64::from(k)).collect(), Some("a gap of 60°: 3 of 10 are distinct")),
        ((0..10).map(|k| 18.0 * f64::from(k) + 180.0 * f64::from(k % 2)).collect(), None),
    ] {
        let gradients = degrees.iter().flat_map(|angle: &f64| [10.0 * angle.to_radians().cos(), 10.0 * angle.to_radians().sin()]);
        npy(folder.path(), "a-fgrad.npy", "<f8", false, "(10, 2)", gradients);
        // (Weights only have to be proportional to their parts.)
        npy(folder.path(), "a-weights.npy", "<f4", false, "(10,)", [1.0; 10]);
        let found = notices(&path);
        assert_eq!(warns_of(&found, "leave a gap"), expected.is_some(), "{found:?}");
        assert!(expected.is_none_or(|text| warns_of(&found, text)), "{found:?}");
    }
}

/// Single precision has steps of 0.0002 G at 3400 G.
#[test]
fn a_narrow_sweep_of_a_high_field_is_even_in_single_precision() {
    let folder = folder();
    for dtype in ["<f4", "<f8"] {
        let study = read_sweep(&put(folder.path(), 3400.0, 0.064, 0.0, dtype), None).unwrap();
        assert!((study.measured.step_mm / 0.002 - 1.0).abs() < 3e-3, "{dtype}: {}", study.measured.step_mm);
    }
}

#[test]
fn real_acquisitions_are_not_doubted() {
    let names = [
        "epri/fusillo-20091002-proj.DSC",
        "epri2d/phalanx-20220203-proj.DSC",
        "epri-tv/bacteria-inkjet-20100709-proj.npy",
        "epri-tv/tam-and-tempo-tubes-2d-20210609-proj.npy",
    ];
    for path in names.iter().filter_map(|name| data_file(name)) {
        let notices = read_sweep(&path, None).unwrap().notices;
        for doubt in ["zeros only", "at an end", "expected 0", "The middle of", "of all directions"] {
            assert!(!warns_of(&notices, doubt), "{}: {notices:?}", path.display());
        }
    }
}
