//! `tomoscope reconstruct --algorithm tv`: least squares of EPRI acquisitions with total variation.

use std::path::Path;

use tomoscope::data::Volume;
use tomoscope::io::{read_volume, write_volume};

use super::data::data_file;
use super::scans::leave_unmeasured;
use super::{done, failed, refused, tomoscope};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn a_disc_becomes_flat_and_the_run_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |line: &str| done(at, &words(line));
    run("simulate disc --epri 2d:40 --points 64 --noise-fraction 0.01 --truth truth.nii -o disc.sweep");
    let printed = run("reconstruct disc.sweep --algorithm tv --lambda 0.1 --iterations 3000 -o tv.nii --device cpu");
    assert!(printed.contains("converged after iteration"), "{printed}");
    run("reconstruct disc.sweep -o fbp.nii --device cpu");
    let image = |name: &str| read_volume(&at.join(name)).unwrap().0;
    let (tv, fbp, truth) = (image("tv.nii"), image("fbp.nii"), image("truth.nii"));
    let error = |image: &Volume| {
        let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
        image.as_slice().iter().zip(truth.as_slice()).map(square).sum::<f64>().sqrt()
    };
    let [nx, ny, _] = tv.grid.size;
    let middle = tv.values[[0, ny / 2, nx / 2]];
    println!("middle {middle}, error {:.3}, of filtered backprojection {:.3}", error(&tv), error(&fbp));
    // (Most of the error of both is that of pixels at the edge.) Inside there is hardly any noise.
    assert!((middle - 1.0).abs() < 0.01 && error(&tv) < 1.15 * error(&fbp), "{middle}, {} {}", error(&tv), error(&fbp));
    let inner = |image: &Volume| {
        let part = image.values.slice(ndarray::s![0, ny / 2 - 8..ny / 2 + 8, nx / 2 - 8..nx / 2 + 8]).mapv(f64::from);
        part.std(0.0)
    };
    assert!(inner(&tv) < 0.25 * inner(&fbp), "{} {}", inner(&tv), inner(&fbp));
    assert!(printed.contains("40 projections of 64 samples") && printed.contains("strength λ 0.1"), "{printed}");
    assert!(!printed.contains("FBP"), "{printed}");
    let about = run("info tv.nii.json");
    assert!(about.contains("strength λ 0.1") && !about.contains("spectral samples 0"), "{about}");

    // Too strong is flat; only positive values; only the mask.
    let line = "reconstruct disc.sweep --algorithm tv --lambda 0.1 --iterations 20 --device cpu";
    run(&format!("{line} -o free.nii"));
    run(&format!("{line} --positivity -o positive.nii"));
    let least = |name: &str| image(name).as_slice().iter().copied().fold(f32::INFINITY, f32::min);
    assert!(least("free.nii") < 0.0 && least("positive.nii") >= 0.0, "{} {}", least("free.nii"), least("positive.nii"));
    let mut mask = truth.clone();
    write_volume(&at.join("mask.nii"), &mask).unwrap();
    run(&format!("{line} --mask mask.nii -o masked.nii"));
    let outside = |(value, inside): (&f32, &f32)| *inside == 0.0 && *value != 0.0;
    assert!(!image("masked.nii").as_slice().iter().zip(mask.as_slice()).any(outside));
    mask.as_mut_slice().fill(0.0);
    write_volume(&at.join("empty.nii"), &mask).unwrap();
    let said = failed(at, "reconstruction", &words(&format!("{line} --mask empty.nii -o no.nii")));
    assert!(said.contains("the mask has no value above 0"), "{said}");
    assert!(!at.join("no.nii").exists());
}

#[test]
fn what_goes_with_other_algorithms_only_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate disc --epri 2d:20 --points 32 -o disc.sweep"));
    for (line, part) in [
        ("--algorithm fbp --iterations 3", "--iterations"),
        ("--mask disc.sweep", "--mask"),
        ("--algorithm tv --lambda 0", "lambda"),
        ("--algorithm tv --filter hamming", "--filter"),
        ("--algorithm fbp --lambda 3", "goes with --algorithm tv"),
        ("--algorithm tv --lambda-spectral 2", "goes with --spectral-samples"),
        ("--algorithm tv --radicals tam", "NAME=FILE"),
        ("--algorithm tv --radicals a=x.npy,a=y.npy", "named twice"),
        ("--algorithm tv --radicals a=x.npy,b=y.npy --reference z.npy", "--reference"),
        ("--algorithm osem", "tv"),
    ] {
        let said = refused(at, 2, &words(&format!("reconstruct disc.sweep -o no.nii {line}")));
        assert!(said.contains(part), "{line}: {said}");
    }
}

#[test]
fn two_radicals_have_an_image_each() {
    let Some(projections) = data_file("epri-tv/tam-and-tempo-tubes-2d-20210609-proj.npy") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = |end: &str| projections.to_str().unwrap().replace("-proj.npy", end);
    let sources = format!("tam={},tempo={}", file("-htam.npy"), file("-htempo.npy"));
    let line = format!(
        "reconstruct {} --algorithm tv --radicals {sources} --lambda 5 --iterations 200 --image 100,100 --voxel-mm 0.3,0.3 -o out.nii --device cpu",
        projections.display()
    );
    // Without a reference spectrum, the spectra of the radicals are named.
    let plain = format!("reconstruct {} -o no.nii --device cpu", projections.display());
    let said = failed(at, "reconstruction", &words(&plain));
    assert!(said.contains(&format!("--algorithm tv --radicals {sources}")), "{said}");
    let output = tomoscope(at, &words(&line));
    let [printed, noted] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success() && !noted.contains("reference spectrum"), "{noted}");
    assert!(printed.contains("out_tam.nii") && printed.contains("out_tempo.nii"), "{printed}");
    assert!(!at.join("out.nii").exists());
    let sum = |name: &str| read_volume(&at.join(name)).unwrap().0.as_slice().iter().map(|v| f64::from(*v)).sum::<f64>();
    let record = std::fs::read_to_string(at.join("out_tempo.nii.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["radical"], serde_json::json!({ "name": "tempo", "separated": ["tam", "tempo"] }));
    // Totals of PyEPRI's images, which are per cm².
    let [tam, tempo] = [sum("out_tam.nii") / 3.97135, sum("out_tempo.nii") / 23.8086];
    // (After 200 of the 1889 iterations to the end.)
    assert!((tam - 1.0).abs() < 0.15 && (tempo - 1.0).abs() < 0.15, "{tam} {tempo}");
}

/// Copies the two acquisitions at other powers, with the spectra of both radicals.
fn copy_powers(folder: &Path) {
    let data = tomoscope_support::in_repository("tests/data/epri-powers");
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
}

/// Options of both acquisitions.
const POWERS: &str = "reconstruct powers-1-proj.npy --algorithm tv --radicals tam=powers-1-htam.npy,tempo=powers-1-htempo.npy \
                      --experiment powers-2-proj.npy,tempo=powers-2-htempo.npy,tam=powers-2-htam.npy --lambda 0.005 \
                      --iterations 2000 --image 24,24 --voxel-mm 0.5,0.5 --device cpu";

#[test]
fn two_experiments_give_the_images_of_pyepri() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    copy_powers(at);
    let printed = done(at, &words(&format!("{POWERS} -o out.nii")));
    assert!(printed.contains("15 projections of 64 samples, powers-2-proj.npy"), "{printed}");
    for name in ["tam", "tempo"] {
        let image = read_volume(&at.join(format!("out_{name}.nii"))).unwrap().0;
        // (PyEPRI's image is per cm².)
        let bytes = std::fs::read(at.join(format!("powers-tv-{name}.npy"))).unwrap();
        let expected = bytes[128..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]) / 100.0);
        let squares = image.as_slice().iter().zip(expected).map(|(a, b)| [(a - b).powi(2), b.powi(2)].map(f64::from));
        let [difference, norm] = squares.fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        // (PyEPRI's steps ended before.)
        assert!((difference / norm).sqrt() < 0.01, "{name}: {:e}", (difference / norm).sqrt());
        let record = std::fs::read_to_string(at.join(format!("out_{name}.nii.json"))).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["data"]["file"], "powers-1-proj.npy");
        assert_eq!(record["data"]["experiments"], serde_json::json!([{ "file": "powers-2-proj.npy", "projections": 15 }]));
    }
    assert!(done(at, &words("info out_tempo.nii.json")).contains("2 experiments, radical tempo"));
}

#[test]
fn one_radical_of_two_experiments_is_made_again_where_one_of_them_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    copy_powers(at);
    for number in [1, 2] {
        std::fs::copy(at.join(format!("powers-{number}-htam.npy")), at.join(format!("powers-{number}-h.npy"))).unwrap();
    }
    let line = "reconstruct powers-1-proj.npy --algorithm tv --experiment powers-2-proj.npy --iterations 10 --image 24,24 --device cpu \
                --anonymise --skip-done -o out.nii";
    let made = |line: &str| !done(at, &words(line)).contains("up to date, skipped");
    assert!(made(line) && !made(line));
    assert!(made(&line.replace(" --experiment powers-2-proj.npy", "")), "an image of one acquisition is another one");
    assert!(made(line) && !made(line));
    std::fs::copy(at.join("powers-2-htempo.npy"), at.join("powers-2-h.npy")).unwrap();
    assert!(made(line));
    let record = std::fs::read_to_string(at.join("out.nii.json")).unwrap();
    assert!(record.contains("experiments") && !record.contains("powers"), "{record}");
}

#[test]
fn experiments_that_do_not_go_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    copy_powers(at);
    done(at, &words("simulate ball --epri 20 --points 32 -o ball.sweep"));
    done(at, &words("simulate disc --epri 2d:20 --points 32 -o disc.sweep"));
    let second = "powers-2-proj.npy,tempo=powers-2-htempo.npy,tam=powers-2-htam.npy";
    for (from, to, part) in [
        ("--algorithm tv", "--algorithm fbp", "--algorithm tv"),
        (",tam=powers-2-htam.npy", "", "expected one spectrum each of tam, tempo, found tempo"),
        (",tam=powers-2-htam.npy", ",tom=powers-2-htam.npy", "expected one spectrum each of tam, tempo, found tempo, tom"),
        (second, "powers-2-proj.npy", "the spectra of tam, tempo in it are missing"),
        ("--radicals tam=powers-1-htam.npy,tempo=powers-1-htempo.npy ", "", "need --radicals"),
        ("--experiment powers-2-proj.npy", "--experiment powers-1-proj.npy", "named twice"),
        ("--lambda", "--follow --lambda", "--follow"),
    ] {
        assert!(POWERS.contains(from), "{from}");
        let said = refused(at, 2, &words(&format!("{} -o no.nii", POWERS.replace(from, to))));
        assert!(said.contains(part), "{to}: {said}");
    }
    for (line, code, part) in [
        ("reconstruct disc.sweep --experiment ball.sweep", "reconstruction", "ball.sweep: it is 3D"),
        ("reconstruct disc.sweep --experiment powers-2-proj.npy", "reconstruction", "continuous-wave spectra"),
        ("reconstruct powers-1-proj.npy --spectral-samples 8 --experiment powers-2-proj.npy", "reconstruction", "--experiment"),
    ] {
        let said = failed(at, code, &words(&format!("{line} --algorithm tv --device cpu -o no.nii")));
        assert!(said.contains(part), "{line}: {said}");
    }
    assert!(!at.join("no.nii").exists());
}

/// Images that do not suit the acquisition, and radicals of one spectrum: refused, or with a warning.
#[test]
fn images_and_radicals_that_give_wrong_values_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |line: &str| done(at, &words(line));
    let warned = |line: &str| {
        let output = tomoscope(at, &words(line));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    run("simulate ball --epri 66 --points 16 -o ball.sweep");
    // One slice of a volume does not explain the projections of the rest.
    let flat = failed(at, "setup.image", &words("reconstruct ball.sweep --algorithm tv --image 8,8,1 -o no.nii --device cpu"));
    assert!(flat.contains("several voxels along z, found 1"), "{flat}");
    run("reconstruct ball.sweep --image 8,8,1 -o slice.nii --device cpu");
    run("simulate disc --epri 2d:20 --points 32 -o disc.sweep");
    run("reconstruct disc.sweep --image 8,8 -o mask.nii --device cpu");
    let line = "reconstruct disc.sweep --algorithm tv --iterations 2 --mask mask.nii --image 9,9 -o no.nii --device cpu";
    assert!(failed(at, "setup.image", &words(line)).contains("--mask: the image has 8 × 8 × 1"));
    assert!(!at.join("no.nii").exists());
    // Voxels beyond the samples.
    for (voxel, is_beyond) in [("2.5,2.5", false), ("3,3", true)] {
        let said = warned(&format!("reconstruct disc.sweep --image 16,16 --voxel-mm {voxel} -o wide.nii --device cpu"));
        assert_eq!(said.contains("voxels outside lack a part of the projections"), is_beyond, "{voxel}: {said}");
    }
    // Projections that are missing at the end.
    leave_unmeasured(&at.join("disc.sweep"), 20, 15);
    let line = "reconstruct disc.sweep --algorithm tv --iterations 2 --image 8,8 -o part.nii --device cpu";
    let part = tomoscope(at, &words(line));
    let said = String::from_utf8_lossy(&part.stderr);
    assert!(part.status.code() == Some(3) && said.contains("the image holds 15 of 20 projections"), "{said}");
    let Some(projections) = data_file("epri-tv/tam-and-tempo-tubes-2d-20210609-proj.npy") else { return };
    let file = |end: &str| projections.to_str().unwrap().replace("-proj.npy", end);
    for (other, are_equal) in [("-htempo.npy", false), ("-htam.npy", true)] {
        let sources = format!("tam={},other={}", file("-htam.npy"), file(other));
        let image = "--image 10,10 --voxel-mm 3,3 -o out.nii --device cpu";
        let said =
            warned(&format!("reconstruct {} --algorithm tv --radicals {sources} --iterations 1 {image}", projections.display()));
        assert_eq!(said.contains("the spectra of tam and other are equal to 100.00 %"), are_equal, "{said}");
    }
}
