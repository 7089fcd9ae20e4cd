//! Rules that stop a reconstruction: at the first iteration that meets them, as the table of a run without rules tells.

use std::path::Path;

use serde_json::{Value, json};
use tomoscope::io::measurements::read_measurements;

use super::{done, refused};

const ITERATIONS: usize = 12;

/// Runs the program with a line of arguments.
fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

/// A folder with a noisy scan of a cylinder, its regions, and the numbers of a run that nothing stops.
fn folder_with_numbers() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 2e5 -o scan.hs");
    let roi = |name: &str, role: &str, x: f64| {
        format!(
            "[[roi]]\nname = \"{name}\"\nshape = \"sphere\"\ncentre_mm = [{x:.1}, 0.0, 0.0]\nradius_mm = 8.0\nrole = \"{role}\"\n"
        )
    };
    let rois = [roi("around", "background", 0.0), roi("beside: left", "cold", -15.0), roi("plain", "none", 10.0)];
    std::fs::write(at.join("rois.toml"), format!("version = 1\n{}", rois.concat())).unwrap();
    run(at, &format!("reconstruct scan.hs -o whole.nii --subsets 4 --iterations {ITERATIONS} --rois rois.toml --csv whole.csv"));
    folder
}

/// The values of a quantity after each full iteration, of the likelihood before it.
fn values(folder: &Path, quantity: &str, roi: &str) -> Vec<f64> {
    let rows = read_measurements(&folder.join("whole.csv")).unwrap();
    let of = rows.into_iter().filter(|row| row.quantity == quantity && row.roi == roi && row.subset == 0);
    of.map(|row| row.value).collect()
}

/// Runs with a rule and expects that it stops after so many iterations.
fn stops_after(folder: &Path, rule: &[&str], iteration: usize, why: &str) {
    let numbers = ITERATIONS.to_string();
    let head = ["reconstruct", "scan.hs", "-o", "stopped.nii", "--subsets", "4", "--iterations", numbers.as_str()];
    let arguments: Vec<&str> = head.iter().chain(rule).copied().collect();
    let said = done(folder, &arguments);
    let told = format!("stopped after iteration {iteration}: {why}");
    assert!(said.contains(&told) && !said.contains("by hand"), "{told}: {said}");
    let text = std::fs::read_to_string(folder.join("stopped.nii.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert!(record["stopped_by"].as_str().unwrap().starts_with(&told), "{record}");
    assert_eq!((&record["progress"]["iteration"], &record["progress"]["complete"]), (&json!(iteration), &json!(false)));
}

#[test]
fn each_rule_stops_at_the_first_iteration_that_meets_it() {
    let folder = folder_with_numbers();
    let at = folder.path();
    let (noise, likelihoods) = (values(at, "nsr", "around"), values(at, "log_likelihood", ""));
    assert!(noise.len() == ITERATIONS && likelihoods.len() == ITERATIONS, "{noise:?} {likelihoods:?}");
    // With Poisson noise the data lie about as far from what is expected as they must.
    let residuals = values(at, "residual", "");
    assert!(residuals.iter().all(|residual| (0.9..1.1).contains(residual)), "{residuals:?}");
    // A limit between the noise of two iterations; noise grows.
    let limit = 50.0 * (noise[4] + noise[5]);
    let first = noise.iter().position(|nsr| 100.0 * nsr > limit).unwrap() + 1;
    stops_after(at, &["--rois", "rois.toml", "--stop-noise", &limit.to_string()], first, "the background's NSR of");
    // What the last iteration added to what all did.
    let gain = |k: usize| 100.0 * (likelihoods[k] - likelihoods[k - 1]) / (likelihoods[k] - likelihoods[0]);
    let limit = 0.5 * (gain(5) + gain(6));
    let first = (2..ITERATIONS).find(|k| gain(*k) <= limit).unwrap() + 1;
    let save = ["--stop-plateau", &limit.to_string(), "--save-every", "1"];
    stops_after(at, &save, first, "the last iteration added");
    let (last, next) = (format!("stopped_it{first:03}.nii"), format!("stopped_it{:03}.nii", first + 1));
    assert!(at.join(last).exists() && !at.join(next).exists(), "the image that met the rule is saved too, and none after it");
    // The spread of the recovery over two iterations; the name of the region has a colon.
    let recovery = values(at, "contrast_recovery", "beside: left");
    let spread = |k: usize| {
        let of = &recovery[k - 2..=k];
        100.0 * (of.iter().fold(f64::MIN, |a, b| a.max(*b)) - of.iter().fold(f64::MAX, |a, b| a.min(*b)))
    };
    let limit = 0.5 * (spread(5) + spread(6));
    let first = (2..ITERATIONS).find(|k| spread(*k) <= limit).unwrap() + 1;
    let rule = format!("beside: left:{limit}:2");
    stops_after(at, &["--rois", "rois.toml", "--stop-recovery", &rule], first, "the recovery of beside: left changed by");
}

#[test]
fn what_no_rule_can_look_at_is_refused() {
    let folder = folder_with_numbers();
    let at = folder.path();
    let says = |code: i32, rule: &[&str], words: &str| {
        let arguments: Vec<&str> = ["reconstruct", "scan.hs", "-o", "no.nii"].iter().chain(rule).copied().collect();
        let said = refused(at, code, &arguments);
        assert!(said.contains(words) && !at.join("no.nii").exists(), "{rule:?}: {said}");
    };
    let rois = ["--rois", "rois.toml"];
    says(
        1,
        &[&rois[..], &["--stop-recovery", "hot:1:3"]].concat(),
        "no region 'hot' among those of --rois: around, beside: left, plain",
    );
    says(1, &[&rois[..], &["--stop-recovery", "plain:1:3"]].concat(), "its role is neither hot nor cold");
    says(2, &[&rois[..], &["--stop-recovery", "plain:1"]].concat(), "expected ROI:PERCENT:K");
    says(2, &[&rois[..], &["--stop-recovery", "plain:1:0"]].concat(), "'0' is not a number of iterations");
    says(2, &["--stop-plateau", "-1"], "'-1'");
    says(2, &["--stop-noise", "5"], "--rois");
    says(2, &rois, "--csv");
    let alone = std::fs::read_to_string(at.join("rois.toml")).unwrap().replace("background", "none");
    std::fs::write(at.join("alone.toml"), alone).unwrap();
    says(1, &["--rois", "alone.toml", "--stop-noise", "5"], "needs a region of the role background");
    run(at, "simulate ball --epri 66 --points 32 -o ball.sweep");
    let said = refused(at, 2, &["reconstruct", "ball.sweep", "-o", "no.nii", "--stop-plateau", "1"]);
    assert!(said.contains("--stop-plateau is for projection data"), "{said}");
}
