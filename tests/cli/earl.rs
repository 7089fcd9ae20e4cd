//! `tomoscope earl`: iterations and post-filters whose images comply with a standard.

use std::path::Path;

use serde_json::Value;

use super::nema_scan::{write_scan, write_scan_of};
use super::{done, failed, refused, tomoscope};

/// A standard of the peak that every image misses.
const HIGH: &str = "version = 1\nname = 'high'\ntitle = 'High peaks'\nsource = 'this test'\ndiameters_mm = [10, 13, 17, 22, 28, 37]\n\
                    [peak]\nmin = [3, 3, 3, 3, 3, 3]\nmax = [4, 4, 4, 4, 4, 4]\n";

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn every_iteration_is_measured_after_every_filter_and_the_best_setting_recommended() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_scan(&at.join("scan.hs"));
    std::fs::write(at.join("high.toml"), HIGH).unwrap();
    let run = "--subsets 10 --iterations 3 --device cpu";
    let line = format!("earl scan.hs --ratio 4 {run} --filters-mm 9,0,6 -o all.csv -o all.json");
    let text = done(at, &words(&line));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(at.join("all.json")).unwrap()).unwrap();
    let earl = &all["standards"][0];
    let settings = earl["settings"].as_array().unwrap();
    // Every iteration, not only the last ones.
    let numbers: Vec<(u64, f64)> =
        settings.iter().map(|s| (s["iteration"].as_u64().unwrap(), s["post_filter_mm"].as_f64().unwrap())).collect();
    let expected: Vec<(u64, f64)> = (1..=3).flat_map(|iteration| [0.0, 6.0, 9.0].map(|mm| (iteration, mm))).collect();
    assert_eq!(numbers, expected);
    // The recommended setting complies, and no other that does has smaller distances.
    let complying: Vec<&Value> = settings.iter().filter(|s| s["complies"] == true).collect();
    let rms = |s: &Value| s["rms_deviation"].as_f64().unwrap();
    let best = complying.iter().min_by(|a, b| rms(a).total_cmp(&rms(b))).expect("a setting complies");
    let recommended = &earl["recommended"];
    assert_eq!((&recommended["iteration"], &recommended["post_filter_mm"]), (&best["iteration"], &best["post_filter_mm"]));
    assert!(complying.len() < settings.len() && complying.iter().all(|s| s["num_outside"] == 0 && s["fails"].is_null()));
    let failing = settings.iter().find(|s| s["complies"] == false).unwrap();
    assert!(failing["fails"].as_str().unwrap().contains(" mm is ") && failing["largest_deviation"].as_f64().unwrap() > 1.0);
    let sentence = earl["sentence"].as_str().unwrap();
    assert!(text.trim_end().ends_with(sentence), "{text}");
    let of = format!("EARL 18F-1: {} of 9 settings comply. Recommended: iteration {} with", complying.len(), best["iteration"]);
    assert!(sentence.starts_with(&of), "{sentence}");
    // The CSV has the same numbers.
    let mut table = csv::Reader::from_path(at.join("all.csv")).unwrap();
    let titles = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 9);
    let cell = |row: &csv::StringRecord, title: &str| row[titles.iter().position(|name| name == title).unwrap()].to_owned();
    for (row, setting) in rows.iter().zip(settings) {
        assert_eq!(cell(row, "complies"), setting["complies"].to_string());
        let max = setting["spheres"][2]["max"].as_f64().unwrap();
        assert!(cell(row, "max_17_mm").parse::<f64>().unwrap() == max && cell(row, "peak_17_mm").is_empty());
    }
    // An image of a setting, written by `reconstruct` and measured by `nema`, has its coefficients: the phantom is found again in
    // the filtered image.
    let setting = settings.iter().find(|s| s["iteration"] == 3 && s["post_filter_mm"] == 9.0).unwrap();
    done(at, &words(&format!("reconstruct scan.hs {run} --post-filter-mm 9 -o image.nii")));
    let found = done(at, &words("nema image.nii --ratio 4 --standard earl-18f-1 --json"));
    let found: Value = serde_json::from_str(&found).unwrap();
    let judged = &found["nema_nu_2"]["recovery"][0];
    assert_eq!(judged["complies"], setting["complies"]);
    for sphere in 0..6 {
        for quantity in ["mean_a50", "max"] {
            let [of_nema, of_earl] = [&judged["recovery"], setting].map(|of| of["spheres"][sphere][quantity].as_f64().unwrap());
            assert!((of_nema / of_earl - 1.0).abs() < 5e-3, "{sphere} {quantity}: {of_nema} {of_earl}");
        }
    }
    let text = done(at, &words("nema image.nii --ratio 4 --standard high.toml --report iq.pdf"));
    assert!(text.contains("does not comply with High peaks: peak of 10 mm is ") && text.contains(", allowed 3.00–"), "{text}");
    assert!(std::fs::read(at.join("iq.pdf")).unwrap().starts_with(b"%PDF-"));
}

#[test]
fn without_a_setting_that_complies_the_nearest_is_named_and_the_command_fails() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_scan(&at.join("scan.hs"));
    std::fs::write(at.join("high.toml"), HIGH).unwrap();
    let line = "earl scan.hs --ratio 4 --standard high.toml --subsets 10 --iterations 1 --filters-mm 8 -o all.csv --device cpu";
    let output = tomoscope(at, &words(line));
    let [text, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(text.contains("High peaks: none of 1 setting complies. Nearest: iteration 1 with a post-filter of 8 mm ("), "{text}");
    assert!(errors.contains("no setting complies with High peaks; try other iterations (--iterations)"), "{errors}");
    assert!(std::fs::read_to_string(at.join("all.csv")).unwrap().lines().nth(1).unwrap().starts_with("high,,1,8,false,6,"));
}

#[test]
fn every_strength_of_the_penalty_has_its_run_and_one_setting_of_all_is_recommended() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_scan(&at.join("scan.hs"));
    let run = "--algorithm svrg --kappa none --subsets 10 --filters-mm 0,9 --device cpu";
    let text = done(at, &words(&format!("earl scan.hs --ratio 4 {run} --iterations 2 --beta 1,0,1 -o all.csv -o all.json")));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(at.join("all.json")).unwrap()).unwrap();
    let earl = &all["standards"][0];
    let settings = earl["settings"].as_array().unwrap();
    let numbers: Vec<(f64, u64, f64)> = settings
        .iter()
        .map(|s| (s["beta"].as_f64().unwrap(), s["iteration"].as_u64().unwrap(), s["post_filter_mm"].as_f64().unwrap()))
        .collect();
    let of_strength = |beta: f64| [(beta, 1, 0.0), (beta, 1, 9.0), (beta, 2, 0.0), (beta, 2, 9.0)];
    assert_eq!(numbers, [of_strength(1.0), of_strength(0.0)].concat());
    // The penalty smooths: less of the maximum of the smallest sphere.
    let max = |setting: &Value| setting["spheres"][0]["max"].as_f64().unwrap();
    assert!(max(&settings[2]) < 0.95 * max(&settings[6]), "{} {}", max(&settings[2]), max(&settings[6]));
    let complying = settings.iter().filter(|s| s["complies"] == true);
    let best = complying.min_by(|a, b| a["rms_deviation"].as_f64().unwrap().total_cmp(&b["rms_deviation"].as_f64().unwrap()));
    let (best, recommended) = (best.expect("a setting complies"), &earl["recommended"]);
    for key in ["beta", "iteration", "post_filter_mm"] {
        assert_eq!(recommended[key], best[key]);
    }
    assert!(
        earl["sentence"].as_str().unwrap().contains(&format!("Recommended: β {}, iteration {}", best["beta"], best["iteration"]))
    );
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for [beta, iteration] in [["1", "1"], ["1", "2"], ["0", "1"], ["0", "2"]] {
        assert!(rows.iter().any(|row| row.starts_with(&[beta, iteration])), "{text}");
    }
    // A run of its own has the same numbers.
    tomoscope(at, &words(&format!("earl scan.hs --ratio 4 {run} --iterations 1 --beta 0 -o alone.csv")));
    let [all, alone] = ["all.csv", "alone.csv"].map(|name| std::fs::read_to_string(at.join(name)).unwrap());
    assert_eq!(all.lines().skip(5).take(2).collect::<Vec<_>>(), alone.lines().skip(1).collect::<Vec<_>>());
    // Only a penalised algorithm has strengths, and `reconstruct` has one.
    assert!(
        refused(at, 2, &words("earl scan.hs --ratio 4 --beta 0.1,0.2")).contains("--beta goes with --algorithm svrg or bsrem")
    );
    assert!(refused(at, 2, &words("earl scan.hs --ratio 4 --algorithm svrg --beta 0.1,strong")).contains("or auto"));
    refused(at, 2, &words("reconstruct scan.hs -o image.nii --algorithm svrg --beta 0.1,0.2"));
}

#[test]
fn cold_spheres_and_options_without_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_scan_of("nema-iq-2001", 300.0, 3.2, (24, 6.0), &at.join("cold.hs"));
    // After the first iteration, not after the last.
    let output = tomoscope(at, &words("earl cold.hs --ratio 4 --subsets 10 --iterations 30 --filters-mm 0 --device cpu"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("six hot spheres; 2 of them are colder than the background, the largest with 37 mm"), "{errors}");
    assert!(errors.contains("iteration 1 of 30") && !errors.contains("iteration 2 of 30"), "{errors}");

    assert!(refused(at, 2, &words("earl cold.hs")).contains("--ratio"));
    assert!(refused(at, 2, &words("earl cold.hs --ratio 1")).contains("expected a number above 1"));
    assert!(refused(at, 2, &words("earl cold.hs --ratio 4 -o all.txt")).contains("must end in .csv or .json"));
    assert!(refused(at, 2, &words("earl cold.hs --ratio 4 --save-every 2")).contains("--save-every has no effect on earl"));
    assert!(refused(at, 2, &words("earl cold.hs --ratio 4 --filters-mm 1,-2")).contains("expected a number of at least 0"));
    let unknown = refused(at, 2, &words("earl cold.hs --ratio 4 --standard earl-18f-2"));
    assert!(unknown.contains("'earl-18f-2' is no standard; use earl-18f-1 or a file (.toml)"), "{unknown}");
    std::fs::write(at.join("short.toml"), HIGH.replace("max = [4, ", "max = [")).unwrap();
    let said = failed(at, "io.unsupported.tomoscope", &words("nema none.nii --ratio 4 --standard short.toml"));
    assert!(said.contains("'max' has 5 numbers"), "{said}");
    assert_short(at);
}

/// The message of a broken standard names file, section, expected and found.
fn assert_short(at: &Path) {
    let text = refused(at, 1, &words("earl cold.hs --ratio 4 --standard short.toml"));
    assert!(text.contains("short.toml") && text.contains("[peak]: 'max' has 5 numbers; expected 6"), "{text}");
}
