//! `tomoscope simulate --oxygen` and `tomoscope oximetry`: from sweeps at several delays to maps of oxygen.

use std::path::Path;

use serde_json::Value;
use tomoscope::io::{read_sweep, write_sweep};

use super::{done, refused, tomoscope};

const DELAYS: &str = "0.4,0.8,1.5,2.6,4.5,8,14,30";

/// True oxygen pressures of the vials, torr.
const TRUTH: [f64; 6] = [0.0, 5.0, 10.0, 20.0, 40.0, 60.0];

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Names of the images.
fn images() -> String {
    (1..=8).map(|number| format!("a_f00{number}.nii")).collect::<Vec<_>>().join(" ")
}

#[test]
fn simulated_vials_have_their_oxygen_in_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = "simulate vials --epri 2d:60 --points 64 --oxygen --snr 50 --truth truth.nii --rois rois.toml -o a.sweep";
    let printed = done(at, &words(line));
    assert!(printed.contains("Six equal vials, R1 at 0.4 µs") && printed.contains("a_f008.sweep"), "{printed}");
    assert!(printed.contains(&format!("--delays-us {DELAYS} --calibration ox071-pbs")) && printed.contains("torr"), "{printed}");
    // The study for the window names the acquisitions; other commands refuse it.
    let study = done(at, &words("info a.oximetry.toml"));
    assert!(study.contains("study of pulse oximetry") && study.contains("0.4 µs: ") && study.contains("a_f008.sweep"), "{study}");
    assert!(refused(at, 1, &words("reconstruct a.oximetry.toml -o b.nii")).contains("a.oximetry.toml is a file of another kind"));
    let sweeps = images().replace(".nii", ".sweep");
    done(at, &words(&format!("reconstruct {sweeps} --device cpu -o {{}}.nii")));
    let line = format!("oximetry {} --delays-us {DELAYS} --calibration ox071-pbs --rois rois.toml -o map.nii", images());
    let text = done(at, &words(&line));
    for part in ["OX071 in PBS: pO2 = 109.664 torr·µs × (R1 − 0.1810/µs)", "HF10 (%)", "voxels fitted", "masked: below the mask"]
    {
        assert!(text.contains(part), "'{part}' is missing in:\n{text}");
    }
    let json: Value = serde_json::from_str(&done(at, &words(&format!("{line} --json")))).unwrap();
    let regions = json["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 7);
    for (region, truth) in regions[1..].iter().zip(TRUTH) {
        assert!(region["region"].as_str().unwrap().ends_with(&format!(", {truth} torr")), "{region}");
        let found = &region["po2"];
        let median = found["median_torr"].as_f64().unwrap();
        assert!((median - truth).abs() < 1.0, "{truth}: {region}");
        if truth != 10.0 {
            let expected = f64::from(u8::from(truth < 10.0));
            assert!((found["hypoxic_fraction"].as_f64().unwrap() - expected).abs() < 0.05, "{region}");
        }
    }
    assert_eq!(regions[0]["po2"]["num_voxels"], json["voxels"]["fitted"]);
    let total: u64 = json["voxels"].as_object().unwrap().values().map(|num| num.as_u64().unwrap()).sum();
    assert_eq!(total, 64 * 64);
    for (file, unit) in [("map_r1.nii", "1/µs"), ("map_pO2.nii", "torr"), ("map_pO2_sd.nii", "torr"), ("truth.nii", "torr")] {
        let about = done(at, &["info", file]);
        assert!(about.contains(unit) && about.contains("64 × 64 × 1 of 0.6250"), "{file}: {about}");
    }
    // The acquisitions themselves have the same images, and noise that is drawn again.
    let sweeps = format!("oximetry {sweeps} --delays-us {DELAYS} --calibration ox071-pbs --rois rois.toml -o again.nii");
    let again: Value = serde_json::from_str(&done(at, &words(&format!("{sweeps} --repeats 5 --json")))).unwrap();
    for (region, found) in regions.iter().zip(again["regions"].as_array().unwrap()) {
        assert_eq!(region["po2"], found["po2"]);
        let deviations = &found["standard_deviations"];
        assert!(region["standard_deviations"].is_null() && deviations["draws"] == 5, "{found}");
        let median = deviations["median_torr"].as_f64().unwrap();
        assert!((0.01..3.0).contains(&median), "{found}");
    }
    // The study has their times and the calibration.
    let of_study: Value =
        serde_json::from_str(&done(at, &words("oximetry a.oximetry.toml --rois rois.toml --json -o study.nii"))).unwrap();
    assert_eq!((&of_study["misfits"], &of_study["calibration"]), (&again["misfits"], &again["calibration"]));
    assert_eq!(of_study["regions"][0]["po2"], again["regions"][0]["po2"]);
    let text = refused(at, 2, &words("oximetry a.oximetry.toml --calibration ox071-pbs -o study.nii"));
    assert!(text.contains("omit it"), "{text}");
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("again_pO2.nii.json")).unwrap()).unwrap();
    assert_eq!((&record["algorithm"]["name"], &record["oximetry"]["images"][0]), (&"fbp".into(), &"a_f001.sweep".into()));
    let table = done(at, &words(&format!("{sweeps} --repeats 3")));
    assert!(table.contains(" ± ") && table.contains("standard deviation between draws of the noise"), "{table}");
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("map_pO2.nii.json")).unwrap()).unwrap();
    let oximetry = &record["oximetry"];
    assert_eq!((&record["made"], &oximetry["images"][7]), (&"oximetry".into(), &"a_f008.nii".into()));
    assert_eq!(oximetry["calibration"]["slope_torr_us"], 109.664);
    assert!(oximetry["calibration"]["source"].as_str().unwrap().contains("npj Imaging"));
    // The same bits twice.
    let first = std::fs::read(at.join("map_pO2.nii")).unwrap();
    done(at, &words(&line));
    assert!(std::fs::read(at.join("map_pO2.nii")).unwrap()[348..] == first[348..]);
}

/// Acquisitions with the algorithm of the user: the maps are those of images that `reconstruct` makes with it.
#[test]
fn acquisitions_have_the_algorithm_of_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(
        at,
        &words("simulate vials --epri 2d:24 --points 32 --oxygen --delays-us 0.5,2,8,30 --snr 50 --rois rois.toml -o a.sweep"),
    );
    let tv = "--algorithm tv --lambda 0.1 --iterations 30 --tolerance 0.01";
    let sweeps = "a_f001.sweep a_f002.sweep a_f003.sweep a_f004.sweep";
    done(at, &words(&format!("reconstruct {sweeps} {tv} --device cpu -o {{}}.nii")));
    let fit = "--delays-us 0.5,2,8,30 --calibration ox071-pbs --rois rois.toml";
    done(at, &words(&format!("oximetry {} {fit} -o images.nii", sweeps.replace(".sweep", ".nii"))));
    let output = tomoscope(at, &words(&format!("oximetry {sweeps} {fit} {tv} -o sweeps.nii")));
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("add --repeats"));
    assert!(std::fs::read(at.join("images_pO2.nii")).unwrap()[348..] == std::fs::read(at.join("sweeps_pO2.nii")).unwrap()[348..]);
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("sweeps_pO2.nii.json")).unwrap()).unwrap();
    assert_eq!((&record["algorithm"]["name"], &record["algorithm"]["lambda"]), (&"tv".into(), &0.1.into()));
    assert_eq!((&record["algorithm"]["tolerance"], &record["algorithm"]["positivity"]), (&0.01.into(), &"no".into()));
    let iterations: Vec<u64> = serde_json::from_value(record["oximetry"]["iterations"].clone()).unwrap();
    assert!(iterations.len() == 4 && iterations.iter().all(|num| (2..=30).contains(num)), "{iterations:?}");
    done(at, &words(&format!("oximetry {sweeps} {fit} --filter hamming --cutoff 0.5 -o hamming.nii")));
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("hamming_pO2.nii.json")).unwrap()).unwrap();
    assert_eq!((&record["algorithm"]["name"], &record["algorithm"]["filter"]), (&"fbp".into(), &"hamming".into()));
    assert!(record["oximetry"]["iterations"].is_null());
    // The standard deviation of each voxel from draws of the noise, the same twice.
    let line = format!("oximetry {sweeps} {fit} {tv} --repeats 3 -o drawn.nii");
    let table = done(at, &words(&line));
    assert!(table.contains("standard deviation between draws of the noise"), "{table}");
    let values = |name: &str| std::fs::read(at.join(name)).unwrap()[348..].to_vec();
    assert!(values("drawn_pO2.nii") == values("sweeps_pO2.nii") && values("drawn_pO2_sd.nii") != values("sweeps_pO2_sd.nii"));
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("drawn_pO2_sd.nii.json")).unwrap()).unwrap();
    assert_eq!(record["oximetry"]["draws"], 3);
    let first = values("drawn_pO2_sd.nii");
    done(at, &words(&line));
    assert!(values("drawn_pO2_sd.nii") == first);
    for (options, text) in [
        ("--algorithm tv --positivity", "negative values"),
        ("--algorithm tv --filter hamming", "goes with --algorithm fbp or fbp-multistage"),
        ("--lambda 1", "goes with --algorithm tv"),
        ("--iterations 5", "--algorithm tv only"),
        ("--algorithm osem", "reconstructed by fbp, fbp-multistage or tv"),
    ] {
        let said = refused(at, 2, &words(&format!("oximetry {sweeps} {fit} {options} -o no.nii")));
        assert!(said.contains(text), "{options}: {said}");
    }
}

/// An echo decay with a calibration of the user, and one without a degree of freedom.
#[test]
fn echo_times_and_own_calibrations_give_maps() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mine =
        "version = 1\nname = 'mine'\ntitle = 'Mine'\nsource = 'this test'\n[r2]\nslope_torr_us = 100\nintercept_per_us = 0.2\n";
    std::fs::write(at.join("mine.toml"), mine).unwrap();
    let line = "simulate vials --epri 2d:60 --points 48 --oxygen --calibration mine.toml --echo-times-us 0.5,2,5 --rois rois.toml -o a.sweep";
    let printed = done(at, &words(line));
    assert!(printed.contains("R2 at 0.5 µs") && !at.join("a_f004.sweep").exists(), "{printed}");
    done(at, &words("reconstruct a_f001.sweep a_f002.sweep a_f003.sweep --device cpu -o {}.nii"));
    let line = "oximetry a_f001.nii a_f002.nii a_f003.nii --echo-times-us 0.5,2,5 --calibration mine.toml --rois rois.toml --json -o b.npy";
    let json: Value = serde_json::from_str(&done(at, &words(line))).unwrap();
    for (region, truth) in json["regions"].as_array().unwrap()[1..].iter().zip(TRUTH) {
        assert!((region["po2"]["median_torr"].as_f64().unwrap() - truth).abs() < 1.0, "{truth}: {region}");
    }
    assert!(at.join("b_r2.npy").exists() && at.join("b_pO2_sd.npy").exists());
    let line = "oximetry a_f001.nii a_f002.nii --echo-times-us 0.5,2 --calibration mine.toml -o c.nii";
    let output = tomoscope(at, &words(line));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("the standard deviation is not written"), "{err}");
    assert!(at.join("c_pO2.nii").exists() && !at.join("c_pO2_sd.nii").exists());
    // A signal that grows with the echo time has no rate anywhere.
    let line = "oximetry a_f003.nii a_f002.nii a_f001.nii --echo-times-us 0.5,2,5 --calibration mine.toml -o d.nii";
    let output = tomoscope(at, &words(line));
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(
        output.status.code() == Some(3) && err.contains("no voxel has a rate") && out.contains("0 voxels fitted"),
        "{out}{err}"
    );
}

#[test]
fn images_and_times_that_give_no_map_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate vials --epri 2d:4 --points 16 --truth a.nii -o a.sweep"));
    for copy in ["b.nii", "c.nii"] {
        std::fs::copy(at.join("a.nii"), at.join(copy)).unwrap();
    }
    done(at, &words("simulate vials --epri 2d:4 --points 16 --truth d.nii --image 8,8 -o a.sweep"));
    std::fs::write(at.join("bad.toml"), "version = 1\nname = 'a'\ntitle = 'a'\nsource = 'a'\n").unwrap();
    let pbs = "--calibration ox071-pbs -o out.nii";
    for (arguments, code, name, words_of) in [
        (format!("a.nii b.nii c.nii {pbs}"), 2, "arguments", "--delays-us"),
        (format!("a.nii b.nii c.nii --delays-us 1,2,1 {pbs}"), 1, "oximetry", "two times are 1 µs"),
        (format!("a.nii b.nii --delays-us 1,2,3 {pbs}"), 1, "oximetry", "2 images for 3 times"),
        (format!("a.nii b.nii --delays-us 1,2 {pbs}"), 1, "oximetry", "with 3 parameters"),
        (format!("a.nii b.nii d.nii --delays-us 1,2,3 {pbs}"), 1, "command.input", "8 × 8"),
        (format!("a.nii b.nii c.nii --delays-us 1,2,-3 {pbs}"), 2, "arguments", "at least 0"),
        (format!("a.nii b.nii c.nii --delays-us 1,2,3 --mask-fraction 1 {pbs}"), 2, "arguments", "below 1"),
        ("a.nii b.nii c.nii --delays-us 1,2,3 --calibration ox063 -o out.nii".into(), 2, "arguments", "ox071-dmem"),
        ("a.nii b.nii c.nii --delays-us 1,2,3 --calibration eprit-llw -o out.nii".into(), 2, "arguments", "use --echo-times-us"),
        (format!("a.nii b.nii c.nii --delays-us 1,2,3 --repeats 5 {pbs}"), 2, "arguments", "EPRI acquisitions"),
        (
            format!("a.nii b.nii c.nii --delays-us 1,2,3 --algorithm tv {pbs}"),
            2,
            "arguments",
            "--algorithm is for EPRI acquisitions",
        ),
        (format!("a.nii b.nii c.nii --delays-us 1,2,3 --lambda 1 {pbs}"), 2, "arguments", "--lambda is for EPRI acquisitions"),
        (format!("a.nii b.nii c.nii --delays-us 1,2,3 --seed 5 {pbs}"), 2, "arguments", "--repeats"),
        (format!("a.nii b.nii a.sweep --delays-us 1,2,3 {pbs}"), 2, "arguments", "of one kind"),
        (format!("a.nii b.nii --echo-times-us 1,2 {pbs}"), 2, "arguments", "use --delays-us"),
        (
            "a.nii b.nii c.nii --delays-us 1,2,3 --calibration bad.toml -o out.nii".into(),
            1,
            "io.unsupported.tomoscope",
            "[linewidth]",
        ),
        ("a.nii b.nii c.nii --delays-us 1,2,3 --calibration no.toml -o out.nii".into(), 1, "io.not-found", "no.toml"),
        (format!("a.nii b.nii e.nii --delays-us 1,2,3 {pbs}"), 1, "io.not-found", "e.nii"),
        ("a.nii b.nii c.nii --delays-us 1,2,3 --calibration ox071-pbs -o out.dcm".into(), 1, "io.unsupported.dicom", "oxygen"),
    ] {
        let line = format!("oximetry {arguments}");
        let said = refused(at, code, &words(&line));
        assert!(said.contains(words_of), "{line}: {said}");
        let output = tomoscope(at, &words(&format!("{line} --json")));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["error"]["code"], name, "{line}");
    }
    for (arguments, words_of) in [
        ("--oxygen -o b.sweep --noise-fraction 0.1", "--noise-fraction"),
        ("--delays-us 1,2,3 -o b.sweep", "--oxygen"),
        ("--oxygen --echo-times-us 1,2,3 -o b.sweep", "use --delays-us"),
        ("--oxygen --inversion 0.3 -o b.sweep", "0.5 to 1"),
        ("--oxygen --calibration unknown -o b.sweep", "no calibration"),
    ] {
        let said = refused(at, 2, &words(&format!("simulate vials --epri 2d:4 {arguments}")));
        assert!(said.contains(words_of), "{arguments}: {said}");
    }
    assert!(!at.join("out_r1.nii").exists() && !at.join("b_f001.sweep").exists());
}

/// Times in another unit or order, an acquisition that was not measured, and regions that the image contains in part.
#[test]
fn implausible_maps_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(
        at,
        &words("simulate vials --epri 2d:24 --points 32 --oxygen --delays-us 0.5,2,8,30 --snr 50 --rois rois.toml -o a.sweep"),
    );
    let sweeps = "a_f001.sweep a_f002.sweep a_f003.sweep a_f004.sweep";
    done(at, &words(&format!("reconstruct {sweeps} --device cpu -o {{}}.nii")));
    let images = sweeps.replace(".sweep", ".nii");
    let said = |images: &str, times: &str, more: &str| {
        let line = format!("oximetry {images} --delays-us {times} --calibration ox071-pbs {more} -o map.nii");
        String::from_utf8_lossy(&tomoscope(at, &words(&line)).stderr).into_owned()
    };
    let unit = "torr, expected -10 to 760 torr";
    for (times, text, other) in [
        ("0.5,2,8,30", "", unit),
        ("5e-7,2e-6,8e-6,30e-6", unit, "most voxels"),
        ("500,2000,8000,30000", unit, "most voxels"),
        ("30,8,2,0.5", "most voxels above the mask have no rate", "nothing"),
    ] {
        let said = said(&images, times, "");
        assert!(said.contains(text) && !said.contains(other), "{times}: {said}");
    }
    // The first vial moves to the edge of the image.
    let regions = std::fs::read_to_string(at.join("rois.toml")).unwrap();
    assert!(!said(&images, "0.5,2,8,30", "--rois rois.toml").contains("partly outside"));
    std::fs::write(at.join("edge.toml"), regions.replacen("centre_mm = [10.0, 0.0, 0.0]", "centre_mm = [18.75, 0.0, 0.0]", 1))
        .unwrap();
    let edge = said(&images, "0.5,2,8,30", "--rois edge.toml");
    // (The face of the last voxel is at 19.375 mm: 64 % of the circle of 2.8 mm.)
    assert!(edge.contains("partly outside the image: 'part 1, 0 torr' (64 % inside)"), "{edge}");
    let mut zero = tomoscope::io::read_volume(&at.join("a_f002.nii")).unwrap().0;
    zero.as_mut_slice().fill(0.0);
    tomoscope::io::write_volume(&at.join("a_f002.nii"), &zero).unwrap();
    assert!(said(&images, "0.5,2,8,30", "").contains("image 2 is zero in all voxels"));
}

/// Ordinary errors of a series.
#[test]
fn series_that_do_not_follow_the_model_are_reported_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate vials --epri 2d:60 --points 64 --oxygen --snr 100 -o a.sweep"));
    let sweeps = |order: [usize; 8]| order.map(|k| format!("a_f00{k}.sweep")).join(" ");
    let fit = |inputs: &str| format!("oximetry {inputs} --delays-us {DELAYS} --calibration ox071-pbs -o map.nii");
    let said = |inputs: &str| String::from_utf8_lossy(&tomoscope(at, &words(&fit(inputs))).stderr).into_owned();
    let clean = said(&sweeps([1, 2, 3, 4, 5, 6, 7, 8]));
    assert!(!clean.contains("do not follow the model"), "{clean}");
    let exchanged = said(&sweeps([2, 1, 3, 4, 5, 6, 7, 8]));
    assert!(exchanged.contains("do not follow the model") && exchanged.contains("at 0.4 µs"), "{exchanged}");
    let text = refused(at, 1, &words(&fit(&sweeps([1, 2, 3, 4, 5, 5, 7, 8]))));
    assert!(text.contains("a_f005.sweep") && text.contains("acquisition 5 of the series"), "{text}");
    // A study that names it is refused by `info`, too, and one of a file that is missing.
    let study = std::fs::read_to_string(at.join("a.oximetry.toml")).unwrap();
    for (file, expected) in [("a_f005.sweep", "acquisition 5 of the series"), ("a_f009.sweep", "a_f009.sweep")] {
        std::fs::write(at.join("b.oximetry.toml"), study.replace("a_f006.sweep", file)).unwrap();
        let text = refused(at, 1, &words("info b.oximetry.toml"));
        assert!(text.contains(expected), "{text}");
    }
    done(at, &words("simulate ball --epri 60 --points 64 -o ball.sweep"));
    let text = refused(at, 1, &words(&fit(&sweeps([1, 2, 3, 4, 5, 6, 7, 8]).replace("a_f008", "ball"))));
    assert!(text.contains("ball.sweep") && text.contains("a volume"), "{text}");
    // Images of magnitude.
    let images = (1..=8).map(|k| {
        done(at, &words(&format!("reconstruct a_f00{k}.sweep --device cpu -o m{k}.nii")));
        let (mut image, _) = tomoscope::io::read_volume(&at.join(format!("m{k}.nii"))).unwrap();
        image.as_mut_slice().iter_mut().for_each(|value| *value = value.abs());
        tomoscope::io::write_volume(&at.join(format!("m{k}.nii")), &image).unwrap();
        format!("m{k}.nii")
    });
    let magnitude = said(&images.collect::<Vec<_>>().join(" "));
    assert!(magnitude.contains("do not follow the model") && magnitude.contains("set --magnitude"), "{magnitude}");
    assert!(!exchanged.contains("--magnitude"), "{exchanged}");
}

/// Changes the samples of acquisitions: `change` has the number of the acquisition, from 1, and a sample.
fn change_samples(at: &Path, from: &str, to: &str, change: impl Fn(i32, f32) -> f32) {
    for number in 1..=8 {
        let mut study = read_sweep(&at.join(format!("{from}_f00{number}.sweep")), None).unwrap();
        for projection in &mut study.measured.projections {
            projection.values = projection.values.iter().map(|value| change(number, *value)).collect();
        }
        write_sweep(&at.join(format!("{to}_f00{number}.sweep")), &study).unwrap();
    }
}

/// Names of eight files.
fn eight(stem: &str, ending: &str) -> String {
    (1..=8).map(|number| format!("{stem}_f00{number}.{ending}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_gain_that_falls_is_reported_and_clean_series_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |inputs: &str, rest: &str| {
        let line = format!("oximetry {inputs} --delays-us {DELAYS} --calibration ox071-pbs {rest} -o map.nii");
        let output = tomoscope(at, &words(&line));
        (output.status.code(), [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()))
    };
    for phantom in ["vials", "tumour"] {
        for snr in [20, 200] {
            done(at, &words(&format!("simulate {phantom} --epri 2d:60 --points 64 --oxygen --snr {snr} -o a.sweep")));
            let (code, [out, err]) = run(&eight("a", "sweep"), "");
            assert!(code == Some(0) && !err.contains("warning"), "{phantom} {snr}: {err}");
            assert!(out.contains("reduced χ²") && out.contains("noise of the last acquisition"), "{out}");
            let (_, [out, _]) = run(&eight("a", "sweep"), "--json");
            let json: Value = serde_json::from_str(&out).unwrap();
            let median = json["chi_square"]["median"].as_f64().unwrap();
            println!("{phantom}, SNR {snr}: {}, {}", json["chi_square"], json["noise_trend"]);
            assert!((0.8..1.4).contains(&median), "{phantom} {snr}: {}", json["chi_square"]);
            assert_eq!(json["explained"].as_array().unwrap().len(), 8);
            change_samples(at, "a", "b", |number, value| 0.95f32.powi(number - 1) * value);
            let (_, [_, err]) = run(&eight("b", "sweep"), "");
            assert!(err.contains("the noise of acquisition 8 is 0.") && err.contains("another gain"), "{phantom} {snr}: {err}");
        }
    }
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("map_pO2.nii.json")).unwrap()).unwrap();
    let oximetry = &record["oximetry"];
    assert!(oximetry["chi_square"]["median"].is_number() && oximetry["noise_trend"]["last_over_first"].is_number(), "{oximetry}");
    assert!(oximetry["explained"][7]["explained"].as_f64().unwrap() > 0.9, "{oximetry}");
}

/// Acquisitions, and images, without their signs: with `--magnitude` the maps are those with the signs.
#[test]
fn magnitudes_have_the_oxygen_of_signed_images() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate vials --epri 2d:60 --points 64 --oxygen --snr 100 --rois rois.toml -o a.sweep"));
    change_samples(at, "a", "p", |_, value| value.abs());
    for stem in ["a", "p"] {
        done(at, &words(&format!("reconstruct {} --device cpu -o {{}}.nii", eight(stem, "sweep"))));
    }
    for number in 1..=8 {
        let (mut image, _) = tomoscope::io::read_volume(&at.join(format!("a_f00{number}.nii"))).unwrap();
        image.as_mut_slice().iter_mut().for_each(|value| *value = value.abs());
        tomoscope::io::write_volume(&at.join(format!("m_f00{number}.nii")), &image).unwrap();
    }
    let map = |inputs: &str, rest: &str, out: &str| {
        let line = format!("oximetry {inputs} --delays-us {DELAYS} --calibration ox071-pbs {rest} -o {out}.nii");
        let output = tomoscope(at, &words(&line));
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        (tomoscope::io::read_volume(&at.join(format!("{out}_pO2.nii"))).unwrap().0, err)
    };
    let (signed, _) = map(&eight("a", "nii"), "", "signed");
    // (Samples about 0 are sums of both signs, so that projections lose more.)
    for (inputs, name, part) in [(eight("m", "nii"), "images", 0.95), (eight("p", "sweep"), "projections", 0.75)] {
        let (_, err) = map(&inputs, "", "wrong");
        assert!(err.contains("do not follow the model") && err.contains("set --magnitude"), "{name}: {err}");
        let (found, err) = map(&inputs, "--magnitude", name);
        assert!(!err.contains("do not follow the model"), "{name}: {err}");
        let pairs = signed.as_slice().iter().zip(found.as_slice()).filter(|(signed, _)| signed.is_finite());
        let differences: Vec<f32> = pairs.map(|(signed, found)| (signed - found).abs()).collect();
        let num_near = differences.iter().filter(|difference| **difference < 1.0).count();
        println!("{name}: {num_near} of {} within 1 torr", differences.len());
        assert!(num_near as f64 > part * differences.len() as f64, "{name}: {num_near} of {}", differences.len());
        let record: Value = serde_json::from_slice(&std::fs::read(at.join(format!("{name}_pO2.nii.json"))).unwrap()).unwrap();
        assert_eq!(record["oximetry"]["is_magnitude"], true);
    }
    let said = refused(
        at,
        2,
        &words("oximetry a_f001.nii a_f002.nii --echo-times-us 1,2 --magnitude --calibration eprit-llw -o no.nii"),
    );
    assert!(said.contains("--magnitude"), "{said}");
}

#[test]
fn maps_without_a_check_or_convergence_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate vials --epri 2d:24 --points 32 --oxygen --delays-us 0.5,4,30 --snr 50 -o a.sweep"));
    let line = "oximetry a.oximetry.toml -o map.nii";
    let output = tomoscope(at, &words(line));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("3 times for 3 unknowns"), "{err}");
    // At the default limit the command ends with exit code 3; a limit of the user is a note.
    let output = tomoscope(at, &words(&format!("{line} --algorithm tv --lambda 0.01 --tolerance 1e-9")));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && err.contains("warning: a_f002.sweep (4 µs): not converged after 1000"), "{err}");
    let output = tomoscope(at, &words(&format!("{line} --algorithm tv --lambda 0.01 --tolerance 1e-9 --iterations 30")));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("note: a_f002.sweep (4 µs): not converged after 30"), "{err}");
    let record: Value = serde_json::from_slice(&std::fs::read(at.join("map_pO2.nii.json")).unwrap()).unwrap();
    assert!(record["oximetry"]["chi_square"].is_null(), "{record}");
    // A λ that flattens the images.
    let output = tomoscope(at, &words(&format!("{line} --algorithm tv --lambda 1e6 --iterations 30")));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("warning: a_f003.sweep (30 µs): the image explains"), "{err}");
}
