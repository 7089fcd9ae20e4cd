//! `tomoscope concentration`: concentrations and spins by a known sample.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tomoscope::data::Unit;
use tomoscope::io::read_volume;

use super::data::data_file;
use super::{done, refused};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Regions well inside three balls, one about all of the second, and one outside the image.
const REGIONS: &str = r#"version = 2
[[roi]]
name = "sample"
shape = "sphere"
centre_mm = [-4.0, -3.0, -2.0]
radius_mm = 4.2
[[roi]]
name = "second"
shape = "sphere"
centre_mm = [6.5, 2.0, -4.0]
radius_mm = 2.8
[[roi]]
name = "third"
shape = "sphere"
centre_mm = [-2.0, 7.0, 3.0]
radius_mm = 2.1
[[roi]]
name = "whole second"
shape = "sphere"
centre_mm = [6.5, 2.0, -4.0]
radius_mm = 5.4
[[roi]]
name = "nowhere"
shape = "sphere"
centre_mm = [500.0, 0.0, 0.0]
radius_mm = 1.0
"#;

fn figures(at: &Path, line: &str) -> Value {
    serde_json::from_str(&done(at, &words(line))).unwrap()
}

/// Balls of density 1, 1.5 and 2, radius 6, 4 and 3 mm; the first has 2 mM.
#[test]
fn concentrations_and_spins_of_simulated_balls_are_right_to_two_percent() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("r.toml"), REGIONS).unwrap();
    done(at, &words("simulate balls --epri 208 --points 96 --noise-fraction 0.01 -o balls.sweep"));
    done(at, &words("reconstruct balls.sweep -o balls.nii --device cpu"));
    let found = figures(at, "concentration balls.nii --rois r.toml --sample sample --millimolar 2 -o mm.nii --json");
    let of = |found: &Value, name: &str, what: &str| {
        let regions = found["regions"].as_array().unwrap();
        regions.iter().find(|region| region["region"] == name).unwrap()[what].as_f64()
    };
    for (name, what, expected) in [
        ("sample", "mean_mm", 2.0),
        ("second", "mean_mm", 3.0),
        ("third", "mean_mm", 4.0),
        ("whole second", "amount_nmol", 804.25),
        ("whole second", "spins", 804.25 * 6.022_140_76e14),
    ] {
        let value = of(&found, name, what).unwrap();
        println!("{name}, {what}: {value:.4e}, expected {expected:.4e}");
        assert!((value / expected - 1.0).abs() < 0.02, "{name}: {value}, expected {expected}");
    }
    assert_eq!(of(&found, "nowhere", "mean_mm"), None);
    // The image has the mean of the table, and its unit.
    let image = read_volume(&at.join("mm.nii")).unwrap().0;
    assert_eq!(image.unit, Unit::Millimolar);
    let middle = f64::from(image.at_mm([-4.0, -3.0, -2.0]).unwrap());
    assert!((middle - 2.0).abs() < 0.5, "{middle}");
    // By the amount of the same sample.
    let amount = of(&found, "sample", "amount_nmol").unwrap();
    let line = format!("concentration balls.nii --rois r.toml --sample sample --nanomoles {amount} --json");
    let by_amount = figures(at, &line)["mm_per_unit"].as_f64().unwrap();
    assert!((by_amount / found["mm_per_unit"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    let table = done(at, &words("concentration balls.nii --rois r.toml --sample sample --millimolar 2"));
    assert!(table.contains("not corrected: sensitivity of the resonator") && table.contains("nmol"), "{table}");
    // Another substance in the object than in the sample: in the ratio of the double integrals.
    if let [Some(tam), Some(tempo)] =
        ["htam", "htempo"].map(|name| data_file(&format!("epri-tv/tam-and-tempo-tubes-2d-20210609-{name}.npy")))
    {
        let with = |own: &Path, sample: &Path| {
            let spectra = format!("--spectrum {} --sample-spectrum {}", own.display(), sample.display());
            let line = format!(
                "concentration balls.nii --rois r.toml --sample sample --millimolar 2 --sample-image balls.nii {spectra} --json"
            );
            figures(at, &line)["mm_per_unit"].as_f64().unwrap()
        };
        let alone = found["mm_per_unit"].as_f64().unwrap();
        let ratio = with(&tempo, &tam) / alone;
        println!("double integral of TEMPO's spectrum over that of TAM's: {ratio:.4}");
        assert!((with(&tam, &tam) / alone - 1.0).abs() < 1e-12 && (with(&tam, &tempo) * ratio / alone - 1.0).abs() < 1e-12);
        assert!(ratio > 0.0 && (ratio - 1.0).abs() > 0.01, "{ratio}");
    }
    // An image that is one of concentrations already, and names that are no region.
    for (line, part) in [
        ("mm.nii --rois r.toml --sample sample --millimolar 2", "is an image in mmol/L"),
        ("balls.nii --rois r.toml --sample first --millimolar 2", "0 regions of r.toml have the name 'first'"),
        ("balls.nii --rois r.toml --sample sample", "--millimolar"),
        ("balls.nii --rois r.toml --sample sample --millimolar 0", "above 0"),
        ("balls.nii --rois r.toml --sample sample --millimolar 1 --spectrum a.DSC", "--sample-spectrum"),
    ] {
        let said = refused(at, 2, &words(&format!("concentration {line}")));
        assert!(said.contains(part), "{line}: {said}");
    }
}

/// Writes a spectrum as a NumPy file.
fn write_spectrum(at: &Path, name: &str, values: &[f64]) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(at.join(name), bytes).unwrap();
}

/// Lines of half widths of 0.5 and 1 G in a sweep of 60 G, whose double integrals are equal: with noise the ratio is within two standard errors,
/// or refused.
#[test]
fn the_ratio_of_noisy_spectra_has_its_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("r.toml"), REGIONS).unwrap();
    done(at, &words("simulate balls --epri 60 --points 48 -o balls.sweep"));
    done(at, &words("reconstruct balls.sweep -o balls.nii --device cpu"));
    let fields: Vec<f64> = (0..512).map(|k| 3400.0 + 60.0 / 512.0 * f64::from(k)).collect();
    let spectrum = |half_width: f64, noise: f64, seed: u64| {
        // Sums of twelve uniform numbers, of a linear congruential generator.
        let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed + 1);
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let line: Vec<f64> =
            fields.iter().map(|field| tomoscope::data::lorentzian_derivative(field - 3430.0, 2.0 * half_width)).collect();
        let largest = line.iter().copied().fold(0.0, f64::max);
        let mut draw = || noise * largest * normal();
        line.iter().map(|value| value + draw()).collect::<Vec<f64>>()
    };
    for name in ["own", "sample"] {
        write_spectrum(at, &format!("{name}-B.npy"), &fields);
    }
    let line = "concentration balls.nii --rois r.toml --sample sample --millimolar 2 --sample-image balls.nii --spectrum own-h.npy \
                --sample-spectrum sample-h.npy --json";
    let (mut num_far, mut num_refused) = (0, 0);
    for (noise, num) in [(0.0, 1), (0.01, 12), (0.05, 12)] {
        for seed in 0..num {
            write_spectrum(at, "own-h.npy", &spectrum(0.5, noise, 2 * seed));
            write_spectrum(at, "sample-h.npy", &spectrum(1.0, noise, 2 * seed + 1));
            let output = super::tomoscope(at, &words(line));
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(noise > 0.01 && text.contains("expected at most 20 %"), "{noise}: {text}");
                num_refused += 1;
                continue;
            }
            let found: Value = serde_json::from_slice(&output.stdout).unwrap();
            let [ratio, error] = ["ratio", "relative_standard_error"].map(|key| found["spectra"][key].as_f64().unwrap());
            println!("noise {noise}: {ratio:.4} ± {:.4}", ratio * error);
            assert!(error <= 0.2 && (noise > 0.0 || ((ratio - 1.0).abs() < 0.005 && error < 0.01)), "{noise}: {ratio} {error}");
            num_far += usize::from((ratio - 1.0).abs() > 2.0 * ratio * error);
        }
    }
    println!("{num_far} beyond two standard errors, {num_refused} refused");
    assert!(num_far <= 1, "{num_far}");
    write_spectrum(at, "own-h.npy", &spectrum(0.5, 0.2, 77));
    let said = refused(at, 1, &words(&line.replace(" --json", "")));
    assert!(said.contains("double integral"), "{said}");
    // The table has it, too.
    write_spectrum(at, "own-h.npy", &spectrum(0.5, 0.01, 5));
    write_spectrum(at, "sample-h.npy", &spectrum(1.0, 0.01, 6));
    let table = done(at, &words(&line.replace(" --json", "")));
    assert!(table.contains("ratio of the double integrals") && table.contains("in the tails beyond"), "{table}");
}
