//! Error bars by replicates of the measured data: files, table, printed lines, refusals.

use std::path::Path;

use serde_json::Value;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::read_volume;

use super::{done, refused};

/// A folder with a noisy scan and one region.
fn folder_with_scan() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "simulate cylinder --scanner small --counts 1e5 --seed 3 -o scan.hs");
    let rois = "version = 1\n[[roi]]\nname = \"middle\"\nshape = \"sphere\"\ncentre_mm = [0.0, 0.0, 0.0]\nradius_mm = 8.0\nrole = \
                \"background\"\n";
    std::fs::write(folder.path().join("rois.toml"), rois).unwrap();
    folder
}

fn run(at: &Path, arguments: &str) -> String {
    done(at, &arguments.split(' ').collect::<Vec<_>>())
}

/// Value of a quantity of the region on the last image.
fn last(at: &Path, table: &str, quantity: &str) -> f64 {
    let rows = read_measurements(&at.join(table)).unwrap();
    rows.iter().rfind(|row| row.quantity == quantity && row.roi == "middle").unwrap().value
}

const OSEM: &str = "reconstruct scan.hs --subsets 4 --iterations 2 --rois rois.toml";

#[test]
fn standard_deviations_are_written_and_printed_beside_the_same_image() {
    let folder = folder_with_scan();
    let at = folder.path();
    run(at, &format!("{OSEM} -o plain.hv --csv plain.csv"));
    let text = run(at, &format!("{OSEM} -o out.hv --csv out.csv --replicates 8 --threads 2"));
    for words in ["out_sd.hv: its standard deviations", "mean ± SD of 8 replicates; each SD is known to ± 27 %", "replicates  "]
    {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
    let volume = |name: &str| read_volume(&at.join(name)).unwrap().0;
    assert_eq!(volume("plain.hv").as_slice(), volume("out.hv").as_slice());
    let (mean, sd) = (last(at, "out.csv", "mean"), last(at, "out.csv", "mean_sd"));
    assert!(mean == last(at, "plain.csv", "mean") && sd > 0.002 * mean && sd < 0.1 * mean, "{mean} ± {sd}");
    assert!(read_measurements(&at.join("plain.csv")).unwrap().iter().all(|row| row.quantity != "mean_sd"));
    // One value for each step.
    assert_eq!(read_measurements(&at.join("out.csv")).unwrap().iter().filter(|row| row.quantity == "mean_sd").count(), 8);
    let deviation = volume("out_sd.hv");
    assert!(deviation.as_slice().iter().all(|value| *value >= 0.0));
    // The voxels of a mean are noisier than the mean.
    let largest = deviation.as_slice().iter().copied().fold(0.0, f32::max);
    assert!(f64::from(largest) > 2.0 * sd, "{largest} {sd}");
    let record = |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(at.join(name)).unwrap()).unwrap() };
    assert_eq!(record("out_sd.hv.json")["made"], "deviation");
    assert_eq!(record("out.hv.json")["made"], "reconstruction");
    let expected = serde_json::json!({"num": 8, "seed": 1, "as_if_secs": null, "scan_secs": null});
    assert_eq!(record("out.hv.json")["algorithm"]["replicates"], expected);
    // The same for any number of threads, and others with another seed.
    run(at, &format!("{OSEM} -o one.hv --replicates 8 --threads 1"));
    assert_eq!(deviation.as_slice(), volume("one_sd.hv").as_slice());
    run(at, &format!("{OSEM} -o seed.hv --replicates 8 --replicate-seed 2"));
    assert_ne!(deviation.as_slice(), volume("seed_sd.hv").as_slice());
    // Those of filtered images are smaller.
    run(at, &format!("{OSEM} -o smooth.hv --replicates 8 --post-filter-mm 12"));
    let sum = |name: &str| volume(name).as_slice().iter().map(|value| f64::from(*value)).sum::<f64>();
    assert!(sum("smooth_sd.hv") < 0.7 * sum("out_sd.hv"));
}

#[test]
fn a_shorter_scan_has_larger_standard_deviations_at_the_same_level() {
    let folder = folder_with_scan();
    let at = folder.path();
    let refusal = refused(at, 1, &format!("{OSEM} -o out.hv --replicates 16 --as-if-secs 25").split(' ').collect::<Vec<_>>());
    assert!(refusal.contains("set the scan duration (--duration-secs)"), "{refusal}");
    run(at, &format!("{OSEM} -o whole.hv --csv whole.csv --replicates 16"));
    run(at, &format!("{OSEM} -o part.hv --csv part.csv --replicates 16 --as-if-secs 25 --duration-secs 100"));
    let of = |table: &str| [last(at, table, "mean"), last(at, table, "mean_sd")];
    let ([mean, sd], [part_mean, part_sd]) = (of("whole.csv"), of("part.csv"));
    // Each is known to 18 %.
    assert!((part_mean / mean - 1.0).abs() < 5.0 * part_sd / mean && part_mean != mean, "{mean} {part_mean}");
    assert!((part_sd / sd - 2.0).abs() < 0.9, "{sd} {part_sd}");
    let record = std::fs::read_to_string(at.join("part.hv.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        record["algorithm"]["replicates"],
        serde_json::json!({"num": 16, "seed": 1, "as_if_secs": 25.0, "scan_secs": 100.0})
    );
    let whole = format!("{OSEM} -o out.hv --replicates 16 --as-if-secs 200 --duration-secs 100");
    let refusal = refused(at, 1, &whole.split(' ').collect::<Vec<_>>());
    assert!(refusal.contains("at most the 100 s of the scan, found 200 s"), "{refusal}");
}

#[test]
fn lists_have_error_bars_too() {
    let folder = folder_with_scan();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 2e4 --list-mode --tof-ps 400 --duration-secs 60 -o list.petsird");
    let list = "reconstruct list.petsird --subsets 2 --iterations 2 --rois rois.toml --replicates 12";
    run(at, &format!("{list} -o out.nii --csv out.csv"));
    let (mean, sd) = (last(at, "out.csv", "mean"), last(at, "out.csv", "mean_sd"));
    assert!(sd > 0.005 * mean && sd < 0.3 * mean, "{mean} ± {sd}");
    // The duration is that of the list.
    run(at, &format!("{list} -o part.nii --csv part.csv --as-if-secs 15"));
    let (part_mean, part_sd) = (last(at, "part.csv", "mean"), last(at, "part.csv", "mean_sd"));
    assert!(
        (part_mean / mean - 1.0).abs() < 5.0 * part_sd / mean && part_sd > 1.1 * sd,
        "{part_mean} ± {part_sd}, {mean} ± {sd}"
    );
    assert!(at.join("part_sd.nii").is_file());
}

#[test]
fn penalised_runs_have_smaller_error_bars_beside_the_same_image() {
    let folder = folder_with_scan();
    let at = folder.path();
    let sd = |algorithm: &str, name: &str| {
        let scan = "reconstruct scan.hs --subsets 4 --iterations 4 --rois rois.toml --algorithm";
        run(at, &format!("{scan} {algorithm} -o plain.hv --csv plain.csv"));
        run(at, &format!("{scan} {algorithm} -o {name}.hv --csv {name}.csv --replicates 12"));
        let volume = |name: &str| read_volume(&at.join(name)).unwrap().0;
        assert_eq!(volume("plain.hv").as_slice(), volume(&format!("{name}.hv")).as_slice(), "{algorithm}");
        assert!(volume(&format!("{name}_sd.hv")).sum() > 0.0);
        last(at, &format!("{name}.csv"), "mean_sd") / last(at, &format!("{name}.csv"), "mean")
    };
    let osem = sd("osem", "osem");
    for algorithm in ["svrg --beta 5e-4", "bsrem --beta 5e-4"] {
        let found = sd(algorithm, "penalised");
        assert!(found > 1e-3 && found < osem, "{algorithm}: {found}, {osem}");
    }
}

#[test]
fn data_without_replicates_and_too_few_of_them_are_refused() {
    let folder = folder_with_scan();
    let refused = |code, arguments: &str| refused(folder.path(), code, &arguments.split(' ').collect::<Vec<_>>());
    run(folder.path(), "simulate ball --epri 66 -o ball.sweep");
    let text = refused(2, "reconstruct ball.sweep -o out.hv --replicates 5");
    assert!(text.contains("--replicates is for projection data, list-mode data and crystal-pair histograms"), "{text}");
    let text = refused(2, "reconstruct scan.hs -o out.hv --replicates 1");
    assert!(text.contains("expected a whole number from 2 to 1000 replicates"), "{text}");
}
