//! `tomoscope simulate`.

use std::path::Path;
use std::process::Output;

use tomoscope::data::RoiRole;
use tomoscope::io::{read_projections, read_volume, rois};

use super::{done, failed};

/// Runs the program with arguments between blanks.
fn tomoscope(folder: &Path, arguments: &str) -> Output {
    super::tomoscope(folder, &arguments.split_whitespace().collect::<Vec<_>>())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn writes_data_corrections_truth_and_regions() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "simulate nema-iq-2001 --scanner small --counts 2e5 --seed 3 --attenuation --background 0.2 \
                     -o scan.hs --truth truth.nii.gz --image 40,42,15 --voxel-mm 3,3,2.5 --rois rois.toml";
    let output = tomoscope(directory.path(), arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("scaled to"), "{}", stderr(&output));
    let read = |name: &str| read_projections(&directory.path().join(name)).unwrap().0;
    let (scan, factors, additive) = (read("scan.hs"), read("scan_mult.hs"), read("scan_add.hs"));
    let expected = 2e5 / 0.8;
    assert!((scan.total() - expected).abs() < 5.0 * f64::sqrt(expected), "{}", scan.total());
    assert!((additive.total() / (expected - 2e5) - 1.0).abs() < 1e-4, "{}", additive.total());
    assert!(factors.counts.iter().all(|factor| (0.0..=1.0).contains(factor)));
    assert!(factors.counts.iter().any(|&factor| factor < 0.8));
    let truth = read_volume(&directory.path().join("truth.nii.gz")).unwrap().0;
    assert_eq!(truth.grid.size, [40, 42, 15]);
    let rois = rois::read_rois(&directory.path().join("rois.toml")).unwrap();
    assert_eq!(rois.iter().filter(|roi| roi.role == RoiRole::Hot).count(), 4);
    assert_eq!(rois.iter().filter(|roi| roi.role == RoiRole::Cold).count(), 2);
    assert_eq!(rois.iter().filter(|roi| roi.role == RoiRole::Background).count(), 12);
    // The hot spheres of the truth are four times as hot as its background, whatever the scale.
    let mean = |index: usize| {
        let sums = rois[index].mask(&truth.grid).sums(truth.as_slice());
        sums.sum / sums.weight
    };
    let background = rois.iter().position(|roi| roi.role == RoiRole::Background).unwrap();
    let largest_hot = rois.iter().rposition(|roi| roi.role == RoiRole::Hot).unwrap();
    assert!((mean(largest_hot) / mean(background) / 4.0 - 1.0).abs() < 0.25);
}

#[test]
fn writes_no_corrections_that_it_did_not_make() {
    let directory = tempfile::tempdir().unwrap();
    let output = tomoscope(directory.path(), "simulate cylinder --scanner small --counts 1e5 --noise none -o scan.hs");
    assert!(output.status.success(), "{}", stderr(&output));
    let mut names: Vec<String> =
        directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["scan.hs", "scan.s"]);
}

#[test]
fn answers_wrong_arguments_with_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, code, words) in [
        ("simulate banana --scanner small -o scan.hs", 2, "nema-iq-2018"),
        ("simulate cylinder --scanner banana -o scan.hs", 2, "discovery-ste"),
        ("simulate cylinder --scanner small -o scan.txt", 2, ".hs"),
        ("simulate cylinder --scanner small -o scan.hs --noise pink", 2, "poisson"),
        ("simulate cylinder --scanner small -o scan.hs --truth truth.png", 2, ".nii"),
        ("simulate cylinder --scanner small -o scan.hs --counts 0", 2, "above 0"),
        ("simulate cylinder --scanner small -o scan.hs --counts nan", 2, "above 0"),
        ("simulate cylinder --scanner small -o scan.hs --counts 1e30", 2, "at most 1e15"),
        ("simulate cylinder --scanner small -o scan.hs --counts -5", 2, "above 0"),
        ("simulate cylinder --scanner small -o scan.hs --seed -1", 2, "at least 0"),
        ("simulate cylinder --scanner vrpet --model montecarlo -o scan.hs --tof-ps 300", 2, "--model analytic"),
        ("simulate cylinder --scanner small -o scan.hs --duration-secs 5", 2, "--list-mode"),
        ("simulate cylinder --scanner small -o scan.hs --image 3,3,3", 2, "--truth"),
        ("simulate cylinder --scanner small --list-mode -o a.petsird --noise none", 2, "--list-mode"),
        ("simulate rods --scanner madpet2-reduced --list-mode -o a.petsird", 2, "--list-mode is for scanners"),
        ("simulate cylinder --scanner small -o scan.hs --background 1", 2, "from 0 to below 1"),
        ("simulate cylinder --scanner small -o scan.hs --truth t.nii --image 0,3,3", 2, "at least 1"),
        ("simulate cylinder --scanner small -o missing/scan.hs", 1, "missing"),
    ] {
        let output = tomoscope(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments}: {}", stderr(&output));
    }
    assert_eq!(directory.path().read_dir().unwrap().count(), 0, "something was written all the same");
}

#[test]
fn a_list_of_a_phantom_that_attenuates_comes_with_its_map_which_its_reconstruction_takes() {
    let folder = tempfile::tempdir().unwrap();
    let list = ["simulate", "cylinder", "--scanner", "small", "--list-mode", "--counts", "3e4", "-o", "list.petsird"];
    let printed = done(folder.path(), &[&list[..], &["--attenuation"]].concat());
    assert!(printed.contains("list_mu.nii.gz") && folder.path().join("list_mu.nii.gz").exists(), "{printed}");
    let image = ["reconstruct", "list.petsird", "--iterations", "1", "--image", "21,21,7", "--voxel-mm", "5,5,5", "-o", "a.nii"];
    let without = done(folder.path(), &image);
    let again = [&image[..9], &["b.nii", "--attenuation", "list_mu.nii.gz"]].concat();
    done(folder.path(), &again);
    let values = |name: &str| read_volume(&folder.path().join(name)).unwrap().0;
    assert!(values("b.nii").sum() > 1.2 * values("a.nii").sum(), "{without}");
    let record = std::fs::read_to_string(folder.path().join("b.nii.json")).unwrap();
    assert!(record.contains("\"attenuation\": \"list_mu.nii.gz\""), "{record}");
    // A map must be one; it goes with sinograms, too.
    let said = failed(folder.path(), "io.unsupported.attenuation", &[&again[..10], &["--attenuation", "a.nii"]].concat());
    assert!(said.contains("its values are in counts/mm"), "{said}");
    done(folder.path(), &["simulate", "cylinder", "--scanner", "small", "--counts", "1e4", "-o", "scan.hs"]);
    let sinogram = ["reconstruct", "scan.hs", "-o", "c.nii", "--iterations", "1"];
    done(folder.path(), &sinogram);
    let without = values("c.nii").sum();
    done(folder.path(), &[&sinogram[..3], &["d.nii"], &sinogram[4..], &["--attenuation", "list_mu.nii.gz"]].concat());
    assert!(values("d.nii").sum() > 1.2 * without, "{without}");
}
