//! What made an image is written beside it, and printed where it is asked for; and how much is said.

use std::path::Path;

use serde_json::{Value, json};

use super::{done, tomoscope};

/// Runs the program with a line of arguments.
fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

fn record(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// A folder with a scan of a cylinder, its corrections and its true image, a region, and a sweep.
fn folder_with_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --attenuation --background 0.3 --truth truth.nii -o scan.hs");
    run(at, "simulate ball --epri 66 --points 32 -o ball.sweep");
    let rois = "version = 1\n[[roi]]\nname = \"a\"\nshape = \"sphere\"\ncentre_mm = [0, 0, 0]\nradius_mm = 10\n";
    std::fs::write(at.join("rois.toml"), rois).unwrap();
    folder
}

#[test]
fn a_reconstruction_tells_what_made_it() {
    let folder = folder_with_data();
    let at = folder.path();
    let begin = jiff::Timestamp::now();
    run(
        at,
        "reconstruct scan.hs --multiplicative scan_mult.hs --additive scan_add.hs --iterations 3 --subsets 4 --subset-order sequential --threads 2 --rays 1,2 --projector per-lor --image 21,23,9 --voxel-mm 7,6,5 --fov-radius-mm 60 --post-filter-mm 4.5 --save-every 2 --rois rois.toml --csv numbers.csv -o image.nii.gz",
    );
    let of = record(at, "image.nii.gz.json");
    assert_eq!((&of["program"], &of["program_version"]), (&json!("tomoscope"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!((&of["provenance_version"], &of["made"]), (&json!(1), &json!("reconstruction")));
    assert_eq!(of["files"], json!(["image.nii.gz", "numbers.csv"]));
    assert_eq!(of["data"], json!({"title": "scan", "file": "scan.hs"}));
    let corrections = json!({"multiplicative": "scan_mult.hs", "additive": "scan_add.hs", "additive_inside": false});
    assert_eq!(of["corrections"], corrections);
    let algorithm =
        json!({"name": "osem", "subsets": 4, "subset_order": "sequential", "start_image": "uniform", "racy_sensitivity": false});
    let mut found = of["algorithm"].clone();
    let rule = found.as_object_mut().unwrap().remove("subset_rule").unwrap();
    let explained =
        ["explained", "explained_net"].map(|key| found.as_object_mut().unwrap().remove(key).unwrap().as_f64().unwrap());
    assert!(explained.iter().all(|part| (0.9..1.1).contains(part)), "{explained:?}");
    assert_eq!(found, algorithm);
    let is_net = rule["net_counts"].as_f64().is_some_and(|net| (0.95e5..1.05e5).contains(&net));
    assert!(is_net && rule["views"] == json!(48), "{rule}");
    assert_eq!(of["progress"], json!({"iteration": 3, "iterations_asked": 3, "subiteration": 12, "complete": true}));
    let projector = json!({"name": "per-lor", "rays_per_bin": [1, 2], "fov_radius_mm": 60.0, "accumulation": "deterministic"});
    assert_eq!(of["projector"], projector);
    assert_eq!(of["post_filter_fwhm_mm"], json!(4.5));
    let image = json!({"size": [21, 23, 9], "voxel_mm": [7.0, 6.0, 5.0], "origin_mm": [-70.0, -66.0, -20.0], "unit": "counts/mm", "not_finite": 0});
    assert_eq!(of["image"], image);
    assert_eq!(of["device"]["threads"], json!(2));
    assert!(of["device"]["name"].as_str().unwrap().starts_with("CPU, 2 threads"));
    let started: jiff::Timestamp = of["times"]["started"].as_str().unwrap().parse().unwrap();
    assert!(started.as_second() >= begin.as_second() && started <= jiff::Timestamp::now());
    let elapsed = of["times"]["elapsed_secs"].as_f64().unwrap();
    assert!(elapsed > 0.0);
    // The same beside the table; the image on the way was not all that was asked for.
    assert_eq!(record(at, "numbers.csv.json"), of);
    let on_the_way = record(at, "image_it002.nii.gz.json");
    assert_eq!(on_the_way["progress"], json!({"iteration": 2, "iterations_asked": 3, "subiteration": 8, "complete": false}));
    assert_eq!(on_the_way["files"], json!(["image_it002.nii.gz"]));
    assert!(on_the_way["times"]["elapsed_secs"].as_f64().unwrap() < elapsed);
    // NIfTI's description (nifti1.h: 80 bytes at byte 148) tells the same in short.
    run(at, "reconstruct scan.hs --iterations 1 --algorithm mlem --init image.nii.gz --threads 1 -o short.nii");
    let bytes = std::fs::read(at.join("short.nii")).unwrap();
    let text = String::from_utf8_lossy(&bytes[148..228]).trim_end_matches('\0').to_owned();
    assert!(text.starts_with(&format!("MLEM; iteration 1; tomoscope {}; CPU, 1 thread", env!("CARGO_PKG_VERSION"))), "{text}");
    assert_eq!(record(at, "short.nii.json")["algorithm"]["start_image"], json!("image.nii.gz"));
}

#[test]
fn few_counts_have_fewer_subsets_and_more_iterations() {
    let folder = folder_with_data();
    let at = folder.path();
    // About 143 000 prompts, of which 43 000 are background.
    let said = run(at, "reconstruct scan.hs --no-corrections --image 21,21,15 --voxel-mm 7,7,2.5 -o all.nii");
    assert!(said.contains("OSEM with 2 subsets, 28 iterations (14") && said.contains("net counts, at least"), "{said}");
    let rule = &record(at, "all.nii.json")["algorithm"]["subset_rule"];
    assert_eq!((&rule["default_subsets"], &rule["default_iterations"]), (&json!(2), &json!(28)));
    assert!(rule["reason"].as_str().unwrap().ends_with("per subset"), "{rule}");
    // Iterations follow from the subsets that are asked for; what the data do not support is noted.
    let output = tomoscope(
        at,
        &"reconstruct scan.hs --no-corrections --image 21,21,15 --voxel-mm 7,7,2.5 --subsets 8 -o eight.nii"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    let [said, notes] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && said.contains("OSEM with 8 subsets, 7 iterations"), "{said}");
    assert!(notes.contains("8 subsets are more than these data support (14") && notes.contains("use at most 2"), "{notes}");
    let said = run(at, "reconstruct scan.hs --image 21,21,15 --voxel-mm 7,7,2.5 --algorithm mlem -o mlem.nii");
    assert!(said.contains("MLEM, 56 iterations"), "{said}");
    let said = run(at, "reconstruct scan.hs --voxel-mm 1.5,1.5,2.5 --iterations 1 -o fine.nii");
    assert!(said.contains("rays per LOR  2 × 2"), "{said}");
    assert_eq!(record(at, "fine.nii.json")["projector"]["rays_per_bin"], json!([2, 2]));
}

#[test]
fn sweeps_backprojections_and_true_images_tell_it_too() {
    let folder = folder_with_data();
    let at = folder.path();
    run(at, "reconstruct ball.sweep --filter hamming --cutoff 0.5 --interpolation cubic --order spaced --image 16,16,16 -o a.hv");
    let of = record(at, "a.hv.json");
    assert_eq!((&of["data"]["space"], &of["data"]["file"]), (&json!("3D"), &json!("ball.sweep")));
    assert_eq!((&of["data"]["file"], of.get("corrections"), of.get("projector")), (&json!("ball.sweep"), None, None));
    let algorithm = of["algorithm"].as_object().unwrap();
    for (key, value) in
        [("name", "fbp"), ("filter", "hamming"), ("interpolation", "cubic"), ("order", "spaced"), ("kernel", "fast")]
    {
        assert_eq!(algorithm[key], json!(value), "{key}");
    }
    assert_eq!(algorithm["cutoff"], json!(0.5));
    let progress = json!({"projections": 66, "projections_expected": 66, "complete": true});
    assert_eq!((&of["progress"], &of["image"]["unit"]), (&progress, &json!("a.u.")));
    run(at, "reconstruct ball.sweep --algorithm fbp-multistage --image 16,16,16 -o b.hv");
    let of = record(at, "b.hv.json");
    assert_eq!((&of["algorithm"]["name"], &of["progress"]["projections"]), (&json!("fbp-multistage"), &json!(66)));
    run(at, "simulate disc --epri 2d:30 -o disc.sweep");
    run(at, "reconstruct disc.sweep --image 16,16 -o disc.nii");
    assert_eq!(record(at, "disc.nii.json")["data"]["space"], json!("2D, axes x and y"));
    run(at, "backproject scan.hs --multiplicative scan_mult.hs --accumulation atomic --like truth.nii -o back.hv");
    let of = record(at, "back.hv.json");
    assert_eq!((&of["made"], &of["projector"]["accumulation"]), (&json!("backprojection"), &json!("atomic")));
    assert_eq!((&of["corrections"]["multiplicative"], &of["corrections"]["additive"]), (&json!("scan_mult.hs"), &Value::Null));
    let of = record(at, "truth.nii.json");
    assert_eq!((&of["made"], &of["data"]["file"]), (&json!("true-image"), &json!("scan.hs")));
}

#[test]
fn a_file_that_is_not_a_record_stays_and_the_image_is_written() {
    let folder = folder_with_data();
    let at = folder.path();
    std::fs::write(at.join("image.hv.json"), "{\"mine\": 1}").unwrap();
    let output = tomoscope(at, &"reconstruct scan.hs --iterations 1 -o image.hv".split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: image.hv.json exists and is not a provenance record") && said.contains("rename"), "{said}");
    assert!(at.join("image.v").exists());
    assert_eq!(std::fs::read_to_string(at.join("image.hv.json")).unwrap(), "{\"mine\": 1}");
}

#[test]
fn json_is_the_only_output_and_quiet_says_nothing() {
    let folder = folder_with_data();
    let at = folder.path();
    for input in ["scan.hs --iterations 1", "ball.sweep --image 8,8,8"] {
        let printed = run(at, &format!("reconstruct {input} -o image.hv --json"));
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), record(at, "image.hv.json"));
    }
    for arguments in [
        "reconstruct scan.hs --iterations 2 --save-every 1 -o image.hv",
        "reconstruct ball.sweep --image 8,8,8 -o image.hv",
        "project truth.nii --like scan.hs -o again.hs",
        "backproject scan.hs --like truth.nii -o image.hv",
        "simulate cylinder --scanner small -o new.hs",
        "simulate ball --epri 66 -o new.sweep",
    ] {
        let output = tomoscope(at, &format!("{arguments} --quiet").split(' ').collect::<Vec<_>>());
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let outcome = (output.status.code(), said(&output.stdout), said(&output.stderr));
        assert_eq!(outcome, (Some(0), String::new(), String::new()), "{arguments}");
    }
    // What is asked for is no note.
    let rows = run(at, "bench epri --size 8 --projections 9 --row-secs 0.01 --threads 1 --device cpu --quiet");
    assert!(rows.lines().count() >= 3 && rows.starts_with("device"), "{rows}");
    std::fs::write(at.join("rois2.toml"), std::fs::read(at.join("rois.toml")).unwrap()).unwrap();
    let table = run(at, "measure truth.nii --rois rois2.toml --quiet");
    assert!(table.contains("median"), "{table}");
    // Both together: the record alone. Warnings and errors are told all the same.
    let both = "reconstruct scan.hs --iterations 1 -o image.hv --json --quiet --accumulation non-atomic";
    let output = tomoscope(at, &both.split(' ').collect::<Vec<_>>());
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("warning: non-atomic") && said.lines().count() == 1, "{said}");
    let output = tomoscope(at, &["reconstruct", "nothing.hs", "-o", "image.hv", "--quiet", "--json"]);
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &error["error"]["code"]), (Some(1), &json!("io.not-found")));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing.hs"));
}

#[test]
fn shells_and_manual_readers_get_what_they_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(at, &format!("completions {shell}"));
        assert!(text.contains("reconstruct") && text.contains("post-filter-mm"), "{shell}");
        std::fs::write(at.join(shell), text).unwrap();
    }
    match std::process::Command::new("bash").arg("-n").arg(at.join("bash")).status() {
        Ok(status) => assert!(status.success(), "bash does not understand its completions"),
        Err(_) => println!("skipped: no bash"),
    }
    let page = run(at, "man");
    let has_heading = |page: &str, name: &str| page.lines().any(|line| line == format!(".SH {name}"));
    assert!(page.contains(".TH tomoscope 1") && has_heading(&page, "NAME") && has_heading(&page, "SUBCOMMANDS"), "{page}");
    run(at, "man -o pages/man1");
    let page = std::fs::read_to_string(at.join("pages/man1/tomoscope-reconstruct.1")).unwrap();
    assert!(page.contains("tomoscope\\-reconstruct") && has_heading(&page, "OPTIONS") && page.contains("post\\-filter\\-mm"));
    assert!(at.join("pages/man1/tomoscope-bench-epri.1").exists() && at.join("pages/man1/tomoscope.1").exists());
}
