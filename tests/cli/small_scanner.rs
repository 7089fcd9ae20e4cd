//! From a simulated scan of the small scanner to files, through every option.

use std::path::Path;

use tomoscope::data::Volume;
use tomoscope::io::measurements::{Measurement, read_measurements};
use tomoscope::io::{read_projections, read_volume, write_projections};
use tomoscope::recon::gaussian_filter;

use super::{done, refused};

/// A folder with a noise-free scan of a uniform cylinder, its truth and its regions.
fn folder_with_scan(more: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let simulate = [
        "simulate",
        "cylinder",
        "--scanner",
        "small",
        "--counts",
        "1e6",
        "--noise",
        "none",
        "--truth",
        "truth.hv",
        "-o",
        "scan.hs",
    ];
    let arguments: Vec<&str> = simulate.iter().chain(more).copied().collect();
    done(folder.path(), &arguments);
    let rois = r#"
        version = 1
        [[roi]]
        name = "middle"
        shape = "sphere"
        centre_mm = [0.0, 0.0, 0.0]
        radius_mm = 10.0
        role = "background"
    "#;
    std::fs::write(folder.path().join("rois.toml"), rois).unwrap();
    folder
}

fn image(folder: &Path, name: &str) -> Volume {
    read_volume(&folder.join(name)).unwrap().0
}

/// Mean over voxels within `radius_mm` of the middle.
fn mean_inside(volume: &Volume, radius_mm: f64) -> f64 {
    let [nx, ny, _] = volume.grid.size;
    let (mut sum, mut count) = (0.0, 0.0);
    for (index, value) in volume.as_slice().iter().enumerate() {
        let voxel = [index % nx, index / nx % ny, index / (nx * ny)].map(|i| i as f64);
        let distance = volume.grid.mm_from_voxel(voxel).iter().map(|c| c * c).sum::<f64>().sqrt();
        if distance <= radius_mm {
            sum += f64::from(*value);
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn a_simulated_scan_is_reconstructed() {
    let folder = folder_with_scan(&[]);
    let folder = folder.path();
    let text = done(folder, &["reconstruct", "scan.hs", "-o", "out.hv", "--rois", "rois.toml", "--csv", "table.csv"]);
    for words in [
        "device        CPU",
        "projector     axial-runs",
        "accumulation  deterministic",
        "12 subsets, 5 iterations (48 views, at least 4 per subset)",
        "forward",
        "out.hv",
    ] {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
    let (out, truth) = (image(folder, "out.hv"), image(folder, "truth.hv"));
    let ratio = mean_inside(&out, 10.0) / mean_inside(&truth, 10.0);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    // The table: the last row of means is the image's.
    let rows = read_measurements(&folder.join("table.csv")).unwrap();
    let of = |quantity: &str| -> Vec<&Measurement> { rows.iter().filter(|row| row.quantity == quantity).collect() };
    for quantity in ["mean", "sd", "min", "max", "num_voxels", "volume", "nsr", "log_likelihood_of_subset"] {
        assert_eq!(of(quantity).len(), 60, "{quantity}");
    }
    let first = (rows[0].iteration, rows[0].subset, rows[0].quantity.as_str(), rows[0].value, rows[0].unit.as_str());
    assert_eq!(first, (0, 0, "post_filter_fwhm", 0.0, "mm"));
    let last = of("mean")[59];
    assert_eq!((last.run, last.iteration, last.subset, last.roi.as_str(), last.unit.as_str()), (1, 5, 0, "middle", "counts/mm"));
    assert!((last.value / mean_inside(&out, 10.0) - 1.0).abs() < 0.02, "{}", last.value);
    let (terms, sums) = (of("log_likelihood_of_subset"), of("log_likelihood"));
    assert_eq!((terms[0].iteration, terms[0].subset), (0, 0), "the first term is the start image's");
    // One likelihood for each iteration, which is the sum of its terms.
    assert_eq!(sums.iter().map(|row| (row.iteration, row.subset)).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]);
    for sum in sums {
        let of_iteration = terms.iter().filter(|term| term.iteration == sum.iteration).map(|term| term.value);
        assert_eq!(of_iteration.sum::<f64>(), sum.value);
    }
    // So has the residual; of a scan without noise little is left of it.
    let residuals = of("residual");
    assert_eq!(
        residuals.iter().map(|row| (row.iteration, row.subset)).collect::<Vec<_>>(),
        [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]
    );
    assert!(
        residuals.iter().all(|row| row.value < 0.02) && residuals[1..].iter().all(|row| row.value < residuals[0].value),
        "{residuals:?}"
    );
}

#[test]
fn options_reach_the_run() {
    let folder = folder_with_scan(&[]);
    let folder = folder.path();
    let run = |output: &str, more: &[&str]| {
        let head = ["reconstruct", "scan.hs", "-o", output, "--algorithm", "mlem", "--projector", "per-lor"];
        let arguments: Vec<&str> = head.iter().chain(more).copied().collect();
        done(folder, &arguments)
    };
    let text = run("a.nii.gz", &["--iterations", "3", "--threads", "1", "--rays", "1,2", "--save-every", "2"]);
    assert!(text.contains("CPU, 1 thread") && text.contains("per-lor") && text.contains("MLEM, 3 iterations"), "{text}");
    let a = image(folder, "a.nii.gz");
    // Stopping on the way to save changes nothing, nor does going on from the image that was saved.
    assert!(folder.join("a_it002.nii.gz").exists() && !folder.join("a_it001.nii.gz").exists());
    run("b.hv", &["--iterations", "1", "--threads", "2", "--rays", "1,2", "--init", "a_it002.nii.gz"]);
    assert_eq!(image(folder, "b.hv").as_slice(), a.as_slice());
    // Grids.
    run("c.hv", &["--iterations", "1", "--image", "21,23,9"]);
    let c = image(folder, "c.hv");
    assert_eq!((c.grid.size, c.grid.voxel_mm), ([21, 23, 9], [3.0, 3.0, 2.5]));
    run("d.hv", &["--iterations", "1", "--voxel-mm", "6,6,5"]);
    assert_eq!(image(folder, "d.hv").grid.size, [24, 24, 8]);
    run("e.hv", &["--iterations", "1", "--like", "c.hv", "--fov-radius-mm", "33"]);
    let e = image(folder, "e.hv");
    assert!(e.grid.same_as(&c.grid));
    assert!(e.as_slice()[0] == 0.0 && e.as_slice().iter().filter(|v| **v > 0.0).count() < 9 * 400);
    // The filter is the one of the library.
    run("f.hv", &["--iterations", "1", "--image", "21,23,9", "--post-filter-mm", "7.5"]);
    let expected = gaussian_filter(&c, 7.5);
    let f = image(folder, "f.hv");
    assert!(f.as_slice().iter().zip(expected.as_slice()).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs()));
}

#[test]
fn corrections_are_used() {
    let folder = folder_with_scan(&["--attenuation", "--background", "0.3"]);
    let folder = folder.path();
    let truth = mean_inside(&image(folder, "truth.hv"), 10.0);
    let ratio = |more: &[&str]| {
        let arguments: Vec<&str> = ["reconstruct", "scan.hs", "-o", "out.hv"].iter().chain(more).copied().collect();
        done(folder, &arguments);
        mean_inside(&image(folder, "out.hv"), 10.0) / truth
    };
    let corrected = ratio(&["--multiplicative", "scan_mult.hs", "--additive", "scan_add.hs"]);
    assert!((corrected - 1.0).abs() < 0.06, "{corrected}");
    let without = ratio(&["--no-corrections"]);
    assert!((without - 1.0).abs() > 0.2, "{without}");
    // a/m, added inside the factors, is the same as a.
    let (add, _) = read_projections(&folder.join("scan_add.hs")).unwrap();
    let (mult, _) = read_projections(&folder.join("scan_mult.hs")).unwrap();
    let mut inside = add.clone();
    let values = std::sync::Arc::make_mut(&mut inside.counts).iter_mut();
    values.zip(mult.counts.iter()).for_each(|(a, m)| *a /= m);
    write_projections(&folder.join("inside.hs"), &inside).unwrap();
    let again = ratio(&["--multiplicative", "scan_mult.hs", "--additive", "inside.hs", "--additive-inside"]);
    assert!((again / corrected - 1.0).abs() < 1e-4, "{again} {corrected}");
}

#[test]
fn project_and_backproject_are_adjoint() {
    let folder = folder_with_scan(&[]);
    let folder = folder.path();
    let common = ["--rays", "1,2", "--threads", "2"];
    let with_common = |arguments: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().chain(&common).copied().collect();
        done(folder, &arguments)
    };
    with_common(&["project", "truth.hv", "--like", "scan.hs", "-o", "ax.hs"]);
    with_common(&["backproject", "scan.hs", "--like", "truth.hv", "-o", "aty.hv"]);
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let (ax, _) = read_projections(&folder.join("ax.hs")).unwrap();
    let (y, _) = read_projections(&folder.join("scan.hs")).unwrap();
    let (left, right) =
        (dot(&ax.counts, &y.counts), dot(image(folder, "truth.hv").as_slice(), image(folder, "aty.hv").as_slice()));
    assert!(left > 0.0 && (left / right - 1.0).abs() < 1e-5, "{left} {right}");
    // The projection of the truth explains the exact simulated scan.
    let total = ax.total() / y.total();
    assert!((total - 1.0).abs() < 0.02, "{total}");
}

#[test]
fn a_run_without_atomics_tells_what_its_race_lost() {
    let folder = folder_with_scan(&[]);
    let folder = folder.path();
    let run = |more: &[&str]| {
        let head = ["reconstruct", "scan.hs", "-o", "out.hv", "--iterations", "2", "--subsets", "4", "--csv", "table.csv"];
        let arguments: Vec<&str> = head.iter().chain(more).copied().collect();
        (done(folder, &arguments), read_measurements(&folder.join("table.csv")).unwrap())
    };
    for more in [&["--threads", "1"][..], &["--threads", "2", "--racy-sensitivity"]] {
        let arguments: Vec<&str> = ["--accumulation", "non-atomic"].iter().chain(more).copied().collect();
        let (text, rows) = run(&arguments);
        for words in ["race: 8 steps added without atomics", "not for diagnosis", "  lost  ", "  lost of ones", "  image level"] {
            assert!(text.contains(words), "'{words}' is not in: {text}");
        }
        assert!(text.contains("  race  "), "the time for measuring it: {text}");
        // Where threads hardly ever meet hardly anything is lost; one thread loses nothing but rounding.
        let most = if more.contains(&"1") { 1e-5 } else { 0.2 };
        for (quantity, race_free) in [("lost", 0.0), ("lost_of_ones", 0.0), ("level", 1.0)] {
            let of: Vec<&Measurement> = rows.iter().filter(|row| row.quantity == quantity).collect();
            assert_eq!((of.len(), of[7].iteration, of[7].subset, of[7].roi.as_str()), (8, 2, 0, ""));
            assert!(of.iter().all(|row| (row.value - race_free).abs() <= most), "{quantity}: {of:?}");
        }
    }
    let (text, rows) = run(&["--accumulation", "atomic"]);
    assert!(!text.contains("race") && !rows.iter().any(|row| row.quantity == "lost"), "{text}");
}

#[test]
fn the_time_line_has_the_iterates() {
    let folder = folder_with_scan(&[]);
    done(
        folder.path(),
        &["reconstruct", "scan.hs", "-o", "out.hv", "--iterations", "2", "--subsets", "2", "--trace", "trace.jsonl"],
    );
    let text = std::fs::read_to_string(folder.path().join("trace.jsonl")).unwrap();
    let count = |what: &str| text.lines().filter(|line| line.contains(&format!("\"{what}\""))).count();
    assert_eq!(
        [count("process_start"), count("study_ready"), count("iterate_measured"), count("run_ended")],
        [1, 1, 4, 1],
        "{text}"
    );
}

#[test]
fn every_iterate_is_compared_with_a_reference_image() {
    let folder = folder_with_scan(&[]);
    let folder = folder.path();
    let mlem = ["reconstruct", "scan.hs", "--algorithm", "mlem", "--device", "cpu"];
    let run = |more: &[&str]| done(folder, &mlem.iter().chain(more).copied().collect::<Vec<_>>());
    run(&["-o", "plain.hv", "--iterations", "4", "--save-every", "2"]);
    let text = run(&[
        "-o",
        "out.hv",
        "--iterations",
        "4",
        "--reference-image",
        "plain_it002.hv",
        "--csv",
        "table.csv",
        "--save-every",
        "3",
    ]);
    let rows = read_measurements(&folder.join("table.csv")).unwrap();
    let found: Vec<(usize, usize, f64)> =
        rows.iter().filter(|row| row.quantity == "correlation").map(|row| (row.iteration, row.subset, row.value)).collect();
    assert_eq!(found.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(), [(1, 0), (2, 0), (3, 0), (4, 0)]);
    // The second is the image itself; the others are like it the less the farther they are.
    assert!(
        (found[1].2 - 1.0).abs() < 1e-9 && found[0].2 < found[1].2 && found[3].2 < found[2].2 && found[2].2 < 1.0,
        "{found:?}"
    );
    assert!(
        text.contains(&format!("out.hv: the image after iteration 4, correlation with plain_it002.hv: {:.6}", found[3].2)),
        "{text}"
    );
    assert!(
        text.contains(&format!("out_it003.hv: the image after iteration 3, correlation with plain_it002.hv: {:.6}", found[2].2))
    );
    assert!(!folder.join("out_it001.hv").exists() && !folder.join("out_it002.hv").exists());
    // Holding after each iteration changes nothing.
    assert_eq!(image(folder, "out.hv").values, image(folder, "plain.hv").values);
    let other = ["-o", "other.hv", "--image", "20,20,6", "--reference-image", "plain.hv"];
    let arguments: Vec<&str> = mlem.iter().chain(&other).copied().collect();
    let text = refused(folder, 1, &arguments);
    assert!(["plain.hv", "only images on the same grid", "--like"].iter().all(|words| text.contains(words)), "{text}");
}
