//! A paper's tables on the small scanner: all of them are there, atomic additions do not add noise, and what is in the
//! folder is not measured again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use super::{done, refused, tomoscope};

const QUICK: [&str; 6] = ["reproduce", "belzunce-2012", "--quick", "--device", "cpu", "-o"];

fn with<'a>(folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    QUICK.into_iter().chain([folder]).chain(more.iter().copied()).collect()
}

fn report(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("belzunce-2012.json")).unwrap()).unwrap()
}

/// Our numbers of a table by row and column.
fn numbers(report: &Value, table: &str) -> BTreeMap<(String, String), f64> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let of_table = report["values"].as_array().unwrap().iter().filter(|value| value["table"] == table);
    of_table.filter_map(|value| Some(((text(value, "row"), text(value, "column")), value["here"].as_f64()?))).collect()
}

/// When each measurement was made.
fn times_of(folder: &Path) -> BTreeMap<String, SystemTime> {
    let entries = fs::read_dir(folder.join("results")).unwrap().map(Result::unwrap);
    entries.map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().modified().unwrap())).collect()
}

#[test]
fn all_tables_are_made_and_nothing_is_measured_twice() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("all");
    let text = done(temporary.path(), &with("all", &[]));
    let report = report(&folder);
    for title in ["Table 1.", "Table 2.", "Table 3.", "Table 4.", "Table 5.", "Table 6.", "Table 7.", "Figure 6.", "Figure 9."] {
        assert!(text.contains(title), "{title} is missing in\n{text}");
    }
    assert_eq!(report["complete"], true);
    // Rows: implementations with a time, times images, stages or spheres.
    let rows = [
        ("2", 8 * 3),
        ("3", 7 * 3),
        ("4", 8 * 4),
        ("5", 8 * 3),
        ("6", 8 * 6),
        ("7", 7 * 2),
        ("figure 6", 8 * 4),
        ("total", 8 * 3),
    ];
    for (table, expected) in rows {
        let found = numbers(&report, table);
        assert_eq!(found.len(), expected, "table {table}: {found:#?}");
        assert!(found.values().all(|value| value.is_finite()), "table {table}: {found:#?}");
    }
    let noise = numbers(&report, "5");
    for projector in ["per LOR", "axial runs"] {
        for scan in ["cylinder", "IQ, no noise", "IQ, Poisson noise"] {
            let of = |how: &str| noise[&(format!("CPU, {projector}, {how}"), scan.to_owned())];
            assert!((of("atomic") / of("deterministic") - 1.0).abs() < 0.01, "{projector}, {scan}: {noise:#?}");
        }
    }
    let cylinder = noise[&("CPU, axial runs, deterministic".to_owned(), "cylinder".to_owned())];
    assert!((cylinder / 4.9 - 1.0).abs() < 0.02, "the cylinder's counts were not tuned: {cylinder} %");
    for figure in ["figure-7-cylinder", "figure-8-iq", "figure-8-iq-noisy", "figure-10-brain"] {
        let picture = image::open(folder.join(format!("figures/{figure}.png"))).unwrap().into_luma8();
        assert!(picture.pixels().any(|p| p.0[0] > 100) && picture.pixels().any(|p| p.0[0] == 0), "{figure} shows nothing");
    }
    assert!(folder.join("tables.txt").is_file() && folder.join("values.csv").is_file());

    // Again with one measurement missing: only that one is made.
    let before = times_of(&folder);
    let removed = "iq.64-inner.cpu-axial-runs-atomic.json";
    fs::remove_file(folder.join("results").join(removed)).unwrap();
    done(temporary.path(), &with("all", &["--roi-fraction", "1", "--nsr", "averaged"]));
    let after = times_of(&folder);
    let made: Vec<&String> = after.iter().filter(|(name, time)| before[*name] != **time).map(|(name, _)| name).collect();
    assert_eq!((made, after.len()), (vec![&removed.to_owned()], before.len()));
    // Another reading gives other numbers from the same images.
    assert_ne!(numbers(&self::report(&folder), "6"), numbers(&report, "6"));
    // The folder belongs to the quick plan.
    let text = refused(temporary.path(), 1, &["reproduce", "belzunce-2012", "--device", "cpu", "-o", "all"]);
    assert!(text.contains("other settings"), "{text}");
}

#[test]
fn a_run_without_time_says_what_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let output = tomoscope(temporary.path(), &with("part", &["--stage", "limits,iq", "--budget-secs", "0"]));
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the same command again"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("measurements of all stages are not made yet"), "{text}");
    assert_eq!(report(&temporary.path().join("part"))["complete"], false);
    refused(temporary.path(), 2, &["reproduce", "belzunce-2012", "--stage", "everything"]);
    refused(temporary.path(), 2, &["reproduce", "belzunce-2012", "--roi-fraction", "2"]);
}
