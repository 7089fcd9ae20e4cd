//! Papers' tables on small images: all of them are there beside the published numbers, atomic additions do not add noise,
//! every way to backproject gives the same image, and what is in the folder is not measured again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;
use tomoscope::io::{read_volume, saved_matrix};

use super::{done, refused, tomoscope};

const BELZUNCE: &str = "belzunce-2012";
const QIAO: &str = "qiao-2015";
const CABELLO: &str = "cabello-2012";

/// A quick run of a paper.
fn quick<'a>(paper: &'a str, folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["reproduce", paper, "--quick", "--device", "cpu", "-o", folder].into_iter().chain(more.iter().copied()).collect()
}

fn report(folder: &Path, paper: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("{paper}.json"))).unwrap()).unwrap()
}

/// The numbers of a table by row and column, `here` or of the `paper`.
fn numbers_of(whose: &str, report: &Value, table: &str) -> BTreeMap<(String, String), f64> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let of_table = report["values"].as_array().unwrap().iter().filter(|value| value["table"] == table);
    of_table.filter_map(|value| Some(((text(value, "row"), text(value, "column")), value[whose].as_f64()?))).collect()
}

/// Our numbers of a table.
fn numbers(report: &Value, table: &str) -> BTreeMap<(String, String), f64> {
    numbers_of("here", report, table)
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
    let text = done(temporary.path(), &quick(BELZUNCE, "all", &[]));
    let report = report(&folder, BELZUNCE);
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
    // What the paper has for other sizes does not stand beside these.
    let values = report["values"].as_array().unwrap();
    assert!(!values.is_empty() && values.iter().all(|value| value["paper"].is_null()), "{values:#?}");
    let noise = numbers(&report, "5");
    for projector in ["per-lor", "axial-runs"] {
        for scan in ["cylinder", "IQ, no noise", "IQ, Poisson noise"] {
            let of = |how: &str| noise[&(format!("CPU, {projector}, {how}"), scan.to_owned())];
            assert!((of("atomic") / of("deterministic") - 1.0).abs() < 0.01, "{projector}, {scan}: {noise:#?}");
        }
    }
    let cylinder = noise[&("CPU, axial-runs, deterministic".to_owned(), "cylinder".to_owned())];
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
    done(temporary.path(), &quick(BELZUNCE, "all", &["--roi-fraction", "1", "--nsr", "averaged"]));
    let after = times_of(&folder);
    let made: Vec<&String> = after.iter().filter(|(name, time)| before[*name] != **time).map(|(name, _)| name).collect();
    assert_eq!((made, after.len()), (vec![&removed.to_owned()], before.len()));
    // Another reading gives other numbers from the same images.
    assert_ne!(numbers(&self::report(&folder, BELZUNCE), "6"), numbers(&report, "6"));
    // The folder belongs to the quick plan.
    let text = refused(temporary.path(), 1, &["reproduce", "belzunce-2012", "--device", "cpu", "-o", "all"]);
    assert!(text.contains("other settings"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_refused_before_anything_is_measured() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("all");
    done(temporary.path(), &quick(BELZUNCE, "all", &["--stage", "limits", "--budget-secs", "0"]));
    // Where not even root can make a file.
    fs::remove_dir_all(folder.join("images")).unwrap();
    std::os::unix::fs::symlink("/proc", folder.join("images")).unwrap();
    let text = refused(temporary.path(), 1, &quick(BELZUNCE, "all", &[]));
    assert!(text.contains("all/images: not written to"), "{text}");
    assert_eq!(fs::read_dir(folder.join("results")).unwrap().count(), 0);
}

#[test]
fn a_run_without_time_says_what_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let output = tomoscope(temporary.path(), &quick(BELZUNCE, "part", &["--stage", "limits,iq", "--budget-secs", "0"]));
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the same command again"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("measurements have not been made yet"), "{text}");
    assert_eq!(report(&temporary.path().join("part"), BELZUNCE)["complete"], false);
    refused(temporary.path(), 2, &["reproduce", "belzunce-2012", "--stage", "everything"]);
    refused(temporary.path(), 2, &["reproduce", "belzunce-2012", "--roi-fraction", "2"]);
}

#[test]
fn backprojections_of_epri_are_compared_as_in_their_paper() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("all");
    let text = done(temporary.path(), &quick(QIAO, "all", &[]));
    let report = report(&folder, QIAO);
    let titles = ["Table 1. Time", "Table 1. Acc", "Table 2.", "Section 4.4.", "Figure 2.", "Figures 4 and 5.", "NO CUDA DEVICE"];
    assert!(titles.iter().all(|title| text.contains(title)), "{text}");
    assert_eq!(report["complete"], true);
    let at = |row: &str, column: &str| (row.to_owned(), column.to_owned());
    let (published, measured) = (numbers_of("paper", &report, "1"), numbers(&report, "1"));
    let expected = [
        ("64³", "GS, transfer", 0.049),
        ("128³", "GS", 0.4),
        ("200³", "CM", 8.05),
        ("64³", "CS", 13.0),
        ("100³", "GS vs. CM", 2.55),
        ("average", "GS vs. CM, computing", 59.3),
        ("average", "GS vs. CM", 3.4),
        ("average", "GS vs. CS, computing", 3523.0),
        ("average", "GS vs. CS", 208.4),
    ];
    for (row, column, number) in expected {
        assert_eq!(published[&at(row, column)], number, "{row}, {column}");
    }
    assert!(text.contains("average") && text.contains("208.4") && text.contains("3523.0"), "{text}");
    // Five sizes of five times, and six rows of four factors. Here two sizes of two programs: there is no GPU.
    assert_eq!((published.len(), measured.len()), (49, 4), "{measured:#?}");
    assert!(measured.values().all(|secs| *secs > 0.0 && secs.is_finite()), "{measured:#?}");
    assert_eq!((numbers(&report, "ours").len(), numbers(&report, "ours over CS").len()), (4, 4));
    assert_eq!(numbers_of("paper", &report, "4.4")[&at("200³", "threads")], 2000.0);

    // The images, in percent: one stage in single precision is the plain loop; two are as good but for the resampling.
    let image = numbers(&report, "figures 4 and 5");
    let [plain, two, one] =
        ["1 thread, plain", "1 thread, multi-stage", "all threads, single-stage"].map(|p| format!("CPU, {p}"));
    assert_eq!(image[&at(&plain, "from CS")], 0.0);
    assert!(image[&at(&one, "from CS")] < 1e-3 && image[&at(&two, "two stages alone")] < 1.0, "{image:#?}");
    let resampled = image[&at(&two, "from CS")];
    assert!(resampled > image[&at(&two, "two stages alone")] && resampled < 20.0, "{image:#?}");
    assert!([&plain, &one, &two].iter().all(|program| image[&at(program, "from the bottle")] < 40.0), "{image:#?}");

    for figure in 1..=3 {
        let plot = fs::read_to_string(folder.join(format!("figures/figure-{figure}.svg"))).unwrap();
        assert!(plot.contains("published") && plot.contains("here") && plot.contains("<polyline"), "{plot}");
    }
    for figure in [4, 5] {
        let picture = image::open(folder.join(format!("figures/figure-{figure}.png"))).unwrap().into_luma8();
        let [darkest, brightest] = [picture.pixels().min_by_key(|p| p.0), picture.pixels().max_by_key(|p| p.0)];
        assert!(brightest.unwrap().0[0] - darkest.unwrap().0[0] > 100, "figure {figure} shows nothing");
    }
    assert!(folder.join("tables.txt").is_file() && folder.join("values.csv").is_file());

    // Again with one measurement missing: only that one is made.
    let before = times_of(&folder);
    let removed = "times.64.cpu-single-stage.json";
    fs::remove_file(folder.join("results").join(removed)).unwrap();
    done(temporary.path(), &quick(QIAO, "all", &[]));
    let after = times_of(&folder);
    let made: Vec<&String> = after.iter().filter(|(name, time)| before[*name] != **time).map(|(name, _)| name).collect();
    assert_eq!((made, after.len()), (vec![&removed.to_owned()], before.len()));
    let text = refused(temporary.path(), 1, &["reproduce", QIAO, "--device", "cpu", "-o", "all"]);
    assert!(text.contains("other settings"), "{text}");
    let part = tomoscope(temporary.path(), &quick(QIAO, "part", &["--stage", "times", "--budget-secs", "0"]));
    assert!(String::from_utf8_lossy(&part.stdout).contains("measurements have not been made yet"));
}

#[test]
fn tables_of_tubes_are_made_and_nothing_is_measured_twice() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("tubes");
    for (paper, title) in [("herraiz-2011", "Table 1."), ("herraiz-2010", "settings unknown")] {
        let name = format!("{}-{paper}", folder.display());
        let text = done(temporary.path(), &quick(paper, &name, &["--stage", "times,rods,scanner,edge-rings"]));
        assert!(text.contains(title), "{title} is missing in\n{text}");
        let report = report(Path::new(&name), paper);
        assert_eq!(report["complete"], true);
        let times = numbers(&report, "times");
        assert!(times.iter().all(|(_, value)| *value > 0.0), "{times:#?}");
        assert!(times.contains_key(&("CPU, 1 thread".into(), "time".into())), "{times:#?}");
        // What the papers have for whole scans does not stand beside a few views.
        assert!(report["values"].as_array().unwrap().iter().all(|value| value["paper"].is_null()));
        let scanner = numbers(&report, "scanner");
        let sensitivity = scanner[&("sensitivity at the centre".into(), "here and in the paper".into())];
        assert!((0.1..10.0).contains(&sensitivity), "{scanner:#?}");
        let edge_rings = numbers(&report, "edge rings");
        assert_eq!(edge_rings.keys().filter(|(_, column)| column == "sum").count(), 4, "{edge_rings:#?}");
        assert!(edge_rings.iter().all(|((_, column), value)| !column.contains("error") || *value > 0.0), "{edge_rings:#?}");
        for table in ["rods, tubes", "rods, lines"] {
            let found = numbers(&report, table);
            assert_eq!(found.len(), 6 * 2, "{table}: {found:#?}");
            assert!(found.values().all(|value| value.is_finite()), "{table}: {found:#?}");
        }
        for table in ["line sources, tubes", "line sources, lines"] {
            let found = numbers(&report, table);
            let noise = found[&("iteration 1".into(), "noise".into())];
            assert!(noise > 0.0 && noise.is_finite(), "{table}: {found:#?}");
        }
        // The farthest point lies outside the field of view of 2010.
        let points = |projector: &str| Path::new(&name).join(format!("results/points.{projector}.json")).is_file();
        assert_eq!([points("tubes"), points("lines")], [paper == "herraiz-2011"; 2]);
        let before = times_of(Path::new(&name));
        done(temporary.path(), &quick(paper, &name, &[]));
        assert_eq!(times_of(Path::new(&name)), before);
    }
}

#[test]
fn a_stored_matrix_of_blobs_is_compared_as_in_its_paper() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("all");
    let text = done(temporary.path(), &quick(CABELLO, "all", &[]));
    let report = report(&folder, CABELLO);
    let titles = ["Section 2.", "Table 1.", "Figures 4 and 5.", "Figure 10.", "Section 4.3.", "NO CUDA DEVICE"];
    assert!(titles.iter().all(|title| text.contains(title)), "{text}");
    assert_eq!(report["complete"], true);
    // What the paper has for the whole ring does not stand beside these.
    assert!(report["values"].as_array().unwrap().iter().all(|value| value["paper"].is_null()));
    let at = |row: &str, column: &str| (row.to_owned(), column.to_owned());

    let (matrix, times) = (numbers(&report, "matrix"), numbers(&report, "1"));
    let stored = saved_matrix::read_matrix(&folder.join("matrix.matrix")).unwrap();
    assert_eq!(matrix[&at("elements above 0", "blobs")], stored.elements.len() as f64);
    assert_eq!(times[&at("CPU, 1 thread, plain", "improvement")], 1.0);
    // How much faster depends on what else the machine does meanwhile.
    let faster = times[&at("CPU, 1 thread, fast", "improvement")];
    assert!(faster > 0.0 && faster.is_finite(), "{times:#?}");

    // Least activity has most noise in proportion, and what has no race is the reference itself.
    let (rods, reference) = (numbers(&report, "rods"), "CPU, deterministic");
    let [hot, warm, cold] = ["CV hot", "CV warm", "CV cold"].map(|column| rods[&at(reference, column)]);
    assert!(0.0 < hot && 0.0 < warm && cold > hot.max(warm) && rods[&at(reference, "CNR")] > 1.0, "{rods:#?}");
    let differences = numbers(&report, "differences");
    for way in ["reload", "atomic", "random-central-atomic", "non-atomic"] {
        let row = format!("CPU, {way}");
        let of = |column: &str| differences[&at(&row, column)];
        let has_race = !["reload", "atomic"].contains(&way);
        assert_eq!(rods.contains_key(&at(&row, "lost by the race")), has_race, "{rods:#?}");
        let [cc, cv] = [of("CC at 20"), of("CV warm")];
        assert!(cc > if has_race { 90.0 } else { 99.999 } && cc <= 100.0 + 1e-9, "{way}: {differences:#?}");
        assert!(has_race || cv.abs() < 0.1, "{way}: {differences:#?}");
        assert_eq!(differences.contains_key(&at(&row, "CC at 30")), way == "random-central-atomic");
    }
    let image = read_volume(&folder.join("images/rods.cpu-deterministic.hv")).unwrap().0;
    let [nx, ny, nz] = image.grid.size;
    let value = |x_mm: f64| {
        let [i, j, k] = image.grid.voxel_from_mm([x_mm, 0.0, 0.25]).map(|at| at.round() as usize);
        assert!(i < nx && j < ny && k < nz);
        let around = (0..25).map(|n| f64::from(image.values[[k, j + n / 5 - 2, i + n % 5 - 2]]));
        around.sum::<f64>() / 25.0
    };
    assert!(value(15.0) > 3.0 * value(-15.0), "{} {}", value(15.0), value(-15.0));
    let curves = fs::read_to_string(folder.join("curves.csv")).unwrap();
    for quantity in [
        "rods,\"CPU, deterministic\",20,cv_hot,",
        "rods,\"CPU, deterministic\",30,cnr,",
        "ellipsoid,\"CPU, random-central-atomic\",20,correlation,",
    ] {
        assert!(curves.contains(quantity), "{quantity} is missing in\n{curves}");
    }
    assert!(fs::read_to_string(folder.join("profiles.csv")).unwrap().lines().count() > 142);

    // Five beds of 20 mm that overlap by 3 mm; the bladder in the last one is the brightest.
    let mouse = read_volume(&folder.join("images/mouse.hv")).unwrap().0;
    assert_eq!(mouse.grid.extent_mm(2), [-44.0, 44.0]);
    let slices: Vec<f32> = mouse.values.outer_iter().map(|slice| slice.sum()).collect();
    assert!(slices.len() == 88 && slices[4..80].iter().all(|sum| *sum > 0.0), "{slices:?}");
    let bed_counts = (1..=5).map(|bed| numbers(&report, "beds")[&at(&format!("bed {bed}"), "counts")]);
    assert!(bed_counts.clone().all(|counts| counts > 500.0), "{:?}", bed_counts.collect::<Vec<_>>());

    for figure in ["figure-3", "figure-3-axial", "figure-7", "figure-7-axial", "figure-10"] {
        let picture = image::open(folder.join(format!("figures/{figure}.png"))).unwrap().into_luma8();
        assert!(picture.pixels().any(|p| p.0[0] > 200) && picture.pixels().any(|p| p.0[0] == 0), "{figure} shows nothing");
    }
    // The phantom, the cubes and the blobs.
    let picture = image::open(folder.join("figures/figure-10.png")).unwrap();
    assert_eq!((picture.width(), picture.height()), (3 * 71 + 8, 88));
    let cubes = read_volume(&folder.join("images/mouse-cubic.hv")).unwrap().0;
    assert!((cubes.sum() / mouse.sum() - 1.0).abs() < 0.1, "{} {}", cubes.sum(), mouse.sum());
    assert!(text.contains("CPU, deterministic, cubes"), "{text}");
    for figure in ["3e", "4a", "4b-hot", "4b-cold", "5a", "5b", "6", "8", "9a", "9b"] {
        let plot = fs::read_to_string(folder.join(format!("figures/figure-{figure}.svg"))).unwrap();
        assert!(plot.contains("<polyline") && plot.contains("CPU, random-central-atomic"), "{figure}: {plot}");
    }

    // Again with one measurement missing: only that one is made, from the scan and the matrix of the folder.
    let before = times_of(&folder);
    let removed = "bed-2.cpu-deterministic.json";
    fs::remove_file(folder.join("results").join(removed)).unwrap();
    let made_before = fs::metadata(folder.join("matrix.matrix.u32")).unwrap().modified().unwrap();
    done(temporary.path(), &quick(CABELLO, "all", &["--stage", "mouse"]));
    let after = times_of(&folder);
    let made: Vec<&String> = after.iter().filter(|(name, time)| before[*name] != **time).map(|(name, _)| name).collect();
    assert_eq!((made, after.len()), (vec![&removed.to_owned()], before.len()));
    assert_eq!(fs::metadata(folder.join("matrix.matrix.u32")).unwrap().modified().unwrap(), made_before);
    // A matrix of something else is refused.
    let header = fs::read_to_string(folder.join("matrix.matrix")).unwrap();
    fs::write(folder.join("matrix.matrix"), header.replace("kind = \"blobs\"", "kind = \"polar\"")).unwrap();
    fs::remove_file(folder.join("results").join(removed)).unwrap();
    let said = refused(temporary.path(), 1, &quick(CABELLO, "all", &["--stage", "mouse"]));
    assert!(said.contains("matrix of another ring or of other functions"), "{said}");
}
