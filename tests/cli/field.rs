//! The field of the reference spectrum against the projections: warnings, and `--field-shift`.

use std::f64::consts::PI;
use std::path::Path;

use tomoscope::data::{GradientAxis, Projection, ReferenceSpectrum, Study, Sweep, SweepKind, SweepMetadata, SweepSpace};
use tomoscope::io::{read_volume, write_sweep};

use super::{done, refused, tomoscope};

const NUM_POINTS: usize = 256;
const STEP_MT: f64 = 0.02;

/// First derivative of a Lorentzian line of 0.1 mT, half width at half maximum.
fn line(field_mt: f64) -> f64 {
    -0.2 * field_mt / (field_mt * field_mt + 0.01).powi(2)
}

/// Three points, whose lines are `shift_mt` from those of the reference, under 0.2 mT/mm.
fn put(path: &Path, shift_mt: f64) {
    let middle = (NUM_POINTS / 2) as f64;
    let projection = |index: usize| {
        let (sin, cos) = (PI * (index as f64 + 0.5) / 60.0).sin_cos();
        let value = |i: usize| {
            let at = |(x, y, amount): &(f64, f64, f64)| {
                amount * line((i as f64 - middle) * STEP_MT - 0.2 * (cos * x + sin * y) - shift_mt)
            };
            // Noise of about 0.3 % of the largest sample.
            let noise = 2.0 * (f64::from((index * NUM_POINTS + i) as u32).sin() * 43758.5453).fract();
            ([(3.0, 2.0, 3.0), (-2.0, 1.0, 2.0), (1.0, -4.0, 2.0)].iter().map(at).sum::<f64>() + noise) as f32
        };
        Projection { direction: [cos, sin, 0.0], weight: PI / 60.0, values: (0..NUM_POINTS).map(value).collect() }
    };
    let values = (0..NUM_POINTS).map(|i| line((i as f64 - middle) * STEP_MT) as f32).collect();
    let reference = Some(ReferenceSpectrum { values, step_mt: STEP_MT });
    let sweep = Sweep {
        kind: SweepKind::ContinuousWave { step_mt: STEP_MT, gradient_mt_per_mm: 0.2, reference },
        space: SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]),
        num_points: NUM_POINTS,
        step_mm: STEP_MT / 0.2,
        centre: middle,
        projections: (0..60).map(projection).collect(),
        num_expected: Some(60),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    };
    write_sweep(path, &Study::new("points", sweep)).unwrap();
}

#[test]
fn a_shift_is_warned_of_and_taken_off() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(&at.join("clean.sweep"), 0.0);
    put(&at.join("shifted.sweep"), 0.06);
    let run = |arguments: &str| {
        let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {text}");
        text
    };
    let warning = "from the line of the reference spectrum";
    assert!(!run("info clean.sweep").contains(warning));
    let about = run("info shifted.sweep");
    assert!(about.contains("projections are 0.0") && about.contains(warning) && about.contains("--field-shift auto"), "{about}");
    let grid = "--image 48,48 --voxel-mm 0.3,0.3 --device cpu";
    for algorithm in ["--algorithm fbp --cutoff 0.15", "--algorithm tv --iterations 200"] {
        let image = |name: &str, more: &str| {
            let text =
                run(&format!("reconstruct {name}.sweep -o {name}.nii {grid} {algorithm} {more}").trim_end().replace("  ", " "));
            (read_volume(&at.join(format!("{name}.nii"))).unwrap().0.values, text)
        };
        let (truth, text) = image("clean", "");
        assert!(!text.contains(warning), "{text}");
        let error = |values: &ndarray::Array3<f32>| {
            let square = |values: &dyn Fn(usize) -> f64| (0..truth.len()).map(|i| values(i).powi(2)).sum::<f64>();
            let [truth, values] = [truth.as_slice().unwrap(), values.as_slice().unwrap()];
            (square(&|i| f64::from(values[i] - truth[i])) / square(&|i| f64::from(truth[i]))).sqrt()
        };
        let (shifted, text) = image("shifted", "");
        assert!(text.contains(warning), "{text}");
        assert!(error(&shifted) > 0.2, "{algorithm}: {}", error(&shifted));
        // (Points between voxels converge slowly, from another start image each.)
        let max = if algorithm.contains("fbp") { 0.03 } else { 0.2 * error(&shifted) };
        for choice in ["auto", "0.06"] {
            let (moved, text) = image("shifted", &format!("--field-shift {choice}"));
            assert!(text.contains("The reference spectrum is moved by 0.06") && !text.contains(warning), "{text}");
            assert!(error(&moved) < max, "{algorithm}, {choice}: {}", error(&moved));
            let record = std::fs::read_to_string(at.join("shifted.nii.json")).unwrap();
            let record: serde_json::Value = serde_json::from_str(&record).unwrap();
            let shift = record["data"]["field_shift"]["shift_mt"].as_f64().unwrap();
            assert!((shift - 0.06).abs() < 0.002, "{record}");
            assert_eq!(record["data"]["field_shift"]["standard_error_mt"].is_number(), choice == "auto");
        }
    }
}

#[test]
fn a_shift_that_does_not_go_with_the_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(&at.join("a.sweep"), 0.0);
    done(at, &["simulate", "disc", "--epri", "2d:20", "-o", "pulse.sweep"]);
    for (arguments, part) in [
        ("a.sweep --field-shift east", "'east' is not a shift"),
        ("a.sweep --field-shift nan", "'nan' is not a shift"),
        ("a.sweep --follow --field-shift auto", "auto needs the finished acquisition"),
        ("pulse.sweep --field-shift 0.1", "pulses have no reference spectrum"),
    ] {
        let arguments = format!("reconstruct {arguments} -o no.nii");
        let text = refused(at, 2, &arguments.split(' ').collect::<Vec<_>>());
        assert!(text.contains(part), "{arguments}: {text}");
    }
    assert!(!at.join("no.nii").exists());
}
