//! Images of raw data in Bq/mL and as uptake values, corrected for decay to the start of the scan.

use std::path::Path;
use std::process::Command;

use dicom_dictionary_std::tags;
use dicom_object::open_file;
use serde_json::{Value, json};
use tomoscope::data::{ImageChoice, Unit};
use tomoscope::data::{SuvDefinition, suv_factor};
use tomoscope::io::{read_images, read_volume};

use super::{done, refused};

const RUN: &str = "reconstruct scan.hs --image 31,29,9 --subsets 4 --iterations 1";
const FACTS: &str = "--calibration 250.5 --dose-mbq 370 --injected -60min --weight-kg 70 --half-life F-18 --duration-secs 900";

fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split_whitespace().collect::<Vec<_>>())
}

fn refusal(folder: &Path, code: i32, arguments: &str) -> String {
    refused(folder, code, &arguments.split_whitespace().collect::<Vec<_>>())
}

/// Decay correction of a frame of 900 s, and uptake value by body weight of 1 Bq/mL 3600 s after the injection of 370 MBq of F-18.
const DECAY: f64 = 1.048_106_57;
const SUV: f64 = 1.381_683_41 / 5000.0;

#[test]
fn a_sinogram_becomes_uptake_values() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate nema-iq-2001 --scanner small --counts 1e6 --attenuation -o scan.hs");
    run(at, &format!("{RUN} -o plain.nii.gz"));
    let (plain, _) = read_volume(&at.join("plain.nii.gz")).unwrap();
    let facts = format!("{FACTS} --multiplicative-includes attenuation,normalisation --scan-start 2026-03-01T12:00:00");
    run(at, &format!("{RUN} {facts} --suv suvbw -o suv.nii.gz"));
    run(at, &format!("{RUN} {facts} --suv suvbw -o suv.dcm"));
    run(at, &format!("{RUN} {facts} -o bq.dcm"));
    let (suv, _) = read_volume(&at.join("suv.nii.gz")).unwrap();
    assert_eq!(suv.unit, Unit::SuvBodyWeight);
    for (&found, &counts) in suv.as_slice().iter().zip(plain.as_slice()) {
        let expected = f64::from(counts) * 250.5 * DECAY * SUV;
        assert!((f64::from(found) - expected).abs() <= 1e-6 * expected, "{found} is not {expected}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("suv.nii.gz.json")).unwrap()).unwrap();
    let pet = &record["pet"]["scan"];
    assert_eq!((&pet["corrections"], &pet["dose_bq"]["value"]), (&json!(["ATTN", "NORM", "DECY"]), &json!(370e6)));
    assert_eq!(record["image"]["unit"], "SUVbw");
    // The series in Bq/mL has the facts for the same uptake values.
    for (name, unit, factor) in [("bq.dcm", Unit::BqPerMl, SUV), ("suv.dcm", Unit::SuvBodyWeight, 1.0)] {
        let (series, _) = read_images(&at.join(name), ImageChoice::Only).unwrap();
        assert_eq!(series.unit(), unit);
        let found = suv_factor(series.pet.as_ref().unwrap(), SuvDefinition::BodyWeight).unwrap();
        assert!((found / factor - 1.0).abs() < 1e-8, "{found} is not {factor}");
        let volume = &series.images[0].volume;
        let size = 31 * 29;
        for (found, expected) in volume.as_slice().chunks_exact(size).zip(suv.as_slice().chunks_exact(size)) {
            let step = f64::from(expected.iter().fold(0f32, |max, value| max.max(*value))) / 32767.0;
            let is_same =
                |(found, expected): (&f32, &f32)| (factor * f64::from(*found) - f64::from(*expected)).abs() <= 0.51 * step;
            assert!(found.iter().zip(expected).all(is_same), "{name}");
        }
        let slice = open_file(at.join(name).join("slice_001.dcm")).unwrap();
        let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned();
        let number = |tag| text(tag).parse::<f64>().unwrap();
        assert_eq!([text(tags::DECAY_CORRECTION), text(tags::CORRECTED_IMAGE)], ["START", "ATTN\\NORM\\DECY"]);
        assert!((number(tags::DECAY_FACTOR) - DECAY).abs() < 1e-8);
        assert!((number(tags::FRAME_REFERENCE_TIME) - 446_448.336).abs() < 1e-3);
        assert_eq!([text(tags::SERIES_DATE), text(tags::SERIES_TIME)], ["20260301", "120000"]);
        assert_eq!([text(tags::ACQUISITION_TIME), text(tags::ACTUAL_FRAME_DURATION)], ["120000", "900000"]);
        for entry in std::fs::read_dir(at.join(name)).unwrap() {
            let Ok(output) = Command::new("dciodvfy").arg(entry.unwrap().path()).output() else {
                println!("skipped: no dciodvfy");
                return;
            };
            let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            assert!(!said.contains("Error"), "{said}");
        }
    }
    // As a converted series, and by lean mass.
    run(at, "convert bq.dcm again.nii.gz --suv suvbw");
    let (again, _) = read_volume(&at.join("again.nii.gz")).unwrap();
    assert!((again.sum() / suv.sum() - 1.0).abs() < 1e-4);
    run(at, &format!("{RUN} {facts} --suv sul --height-cm 175 --sex male -o sul.nii.gz"));
    let (lean, _) = read_volume(&at.join("sul.nii.gz")).unwrap();
    // Body mass index 22.857142857: 9270 / (6680 + 216 · 22.857142857) of the weight.
    assert!((lean.sum() / suv.sum() / (9270.0 / 11_617.142_857) - 1.0).abs() < 1e-6);
}

#[test]
fn what_uptake_values_need_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate nema-iq-2001 --scanner small --counts 1e5 --attenuation -o scan.hs");
    let with = |options: &str| format!("{RUN} -o a.nii.gz --calibration 250.5 {options}");
    let attenuated = "--multiplicative-includes attenuation";
    let cases = [
        ("--half-life F-18 --duration-secs 900", 2, "--multiplicative-includes attenuation"),
        ("--half-life F-18 --duration-secs 900 --no-corrections --multiplicative-includes attenuation", 2, "no factors"),
        ("--dose-mbq 370 --duration-secs 900 --multiplicative-includes attenuation", 2, "--half-life"),
        ("--dose-mbq 370 --half-life 6586.2 --multiplicative-includes attenuation", 2, "--duration-secs"),
        ("--half-life 109.77 --duration-secs 900 --multiplicative-includes attenuation", 2, "109.77 minutes of F-18"),
    ];
    for (options, code, text) in cases {
        let said = refusal(at, code, &with(options));
        assert!(said.contains(text), "{options}: {said}");
    }
    let facts = format!("--suv suvbw --half-life F-18 --duration-secs 900 {attenuated}");
    for (options, code, text) in [
        ("", 1, "--dose-mbq"),
        ("--dose-mbq 370 --weight-kg 70", 1, "injection"),
        ("--dose-mbq 370 --injected 2026-03-01T11:00:00", 2, "--scan-start"),
        ("--dose-mbq 370 --injected -60min", 1, "weight"),
        ("--dose-mbq 370 --injected yesterday --weight-kg 70", 2, "ISO 8601"),
        ("--dose-mbq 370e6 --injected -60min --weight-kg 70", 1, "in Bq in place of MBq"),
        ("--dose-mbq 370 --injected -60min --weight-kg 0.07", 1, "MBq/kg"),
        ("--dose-mbq 370 --injected -24h --weight-kg 70", 1, "half-lives"),
        ("--dose-mbq 370 --injected 2026-03-01T11:00:00Z --scan-start 2026-03-01T12:00:00 --weight-kg 70", 2, "offset from UTC"),
        (
            "--dose-mbq 370 --injected 2026-03-01T13:00:00 --scan-start 2026-03-01T12:00:00 --weight-kg 70",
            1,
            "after the end of the scan",
        ),
    ] {
        let said = refusal(at, code, &with(&format!("{facts} {options}")));
        assert!(said.contains(text), "{options}: {said}");
    }
    assert!(refusal(at, 2, &format!("{RUN} -o a.nii.gz --dose-mbq 370")).contains("--calibration"));
    assert!(!at.join("a.nii.gz").exists());
    // A dynamic scan: injected ten seconds after its start.
    let dynamic = "--injected 2026-03-01T12:00:10 --scan-start 2026-03-01T12:00:00 --dose-mbq 370 --weight-kg 70";
    run(at, &with(&format!("{facts} {dynamic}")));
    // Another time zone: 12:00 +01:00 is an hour after 10:00 UTC.
    let times = "--injected 2026-03-01T10:00:00Z --scan-start 2026-03-01T12:00:00+01:00 --dose-mbq 370 --weight-kg 70";
    run(at, &with(&format!("{facts} {times}")));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("a.nii.gz.json")).unwrap()).unwrap();
    assert_eq!(record["pet"]["scan"]["injection"]["value"], "2026-03-01T11:00:00");
}

/// The factor of a frame is 1 over its mean decay, and the calibration of the scan is divided by the frame's share of its time.
#[test]
fn each_frame_has_its_decay_factor() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --list-mode --counts 2e4 --attenuation -o events.petsird");
    let frames = "reconstruct events.petsird --iterations 1 --subsets 1 --image 31,31,15 --frames 0-10,10-60";
    run(at, &format!("{frames} --attenuation events_mu.nii.gz -o plain.npy"));
    let facts = "--calibration 250.5 --half-life C-11 --dose-mbq 370 --injected -20min --weight-kg 70";
    run(at, &format!("{frames} --attenuation events_mu.nii.gz {facts} --scan-start 2026-03-01T23:59:55 -o a.dcm"));
    let rate = std::f64::consts::LN_2 / (60.0 * 20.364);
    for (number, [start, end], day, time) in [(1, [0.0, 10.0], "20260301", "235955"), (2, [10.0, 60.0], "20260302", "000005")] {
        // The mean of exp(−λ t) from start to end.
        let mean = ((-rate * start).exp() - (-rate * end).exp()) / (rate * (end - start));
        let (series, _) = read_images(&at.join(format!("a_f00{number}.dcm")), ImageChoice::Only).unwrap();
        let (plain, _) = read_volume(&at.join(format!("plain_f00{number}.npy"))).unwrap();
        let ratio = series.images[0].volume.sum() / plain.sum();
        assert!((ratio / (250.5 * 60.0 / (end - start) / mean) - 1.0).abs() < 1e-4, "{ratio}");
        let expected = 70e3 / (370e6 * (-rate * 1200.0).exp());
        let factor = suv_factor(series.pet.as_ref().unwrap(), SuvDefinition::BodyWeight).unwrap();
        assert!((factor / expected - 1.0).abs() < 1e-7, "{factor} is not {expected}");
        let slice = open_file(at.join(format!("a_f00{number}.dcm/slice_001.dcm"))).unwrap();
        let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned();
        assert!((text(tags::DECAY_FACTOR).parse::<f64>().unwrap() * mean - 1.0).abs() < 1e-7);
        // PETSIRD's efficiencies are a normalisation; no randoms were measured.
        assert_eq!(text(tags::CORRECTED_IMAGE), "ATTN\\NORM\\DECY");
        assert_eq!([text(tags::ACQUISITION_DATE), text(tags::ACQUISITION_TIME)], [day, time]);
        assert_eq!([text(tags::SERIES_DATE), text(tags::SERIES_TIME)], ["20260301", "235955"]);
    }
}

/// Start, injection, tracer and patient of a list written by the package petsird.
#[test]
fn facts_of_the_lists_header_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let list = tomoscope_support::in_repository("tests/data/petsird/exam.petsird");
    std::fs::copy(list, at.join("exam.petsird")).unwrap();
    let info: Value = serde_json::from_str(&run(at, "info exam.petsird --json")).unwrap();
    let expected = json!({
        "start": "2026-03-01T12:00:00.5", "injection": "2026-03-01T11:00:00", "dose_bq": 370e6, "tracer": "Fluorodeoxyglucose F^18^",
        "weight_kg": 62.5, "height_m": f64::from(1.65f32), "sex": "Female",
    });
    assert_eq!(info["exam"], expected);
    let reconstruct = "reconstruct exam.petsird --iterations 1 --subsets 1 --calibration 2";
    let said = refusal(at, 2, &format!("{reconstruct} --suv suvbw -o a.dcm"));
    assert!(said.contains("--attenuation"), "{said}");
    // (Few events: the image may explain less than half of them.)
    let arguments = format!("{reconstruct} --suv suvbsa --multiplicative-includes attenuation -o a.dcm");
    let output = super::tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("a.dcm.json")).unwrap()).unwrap();
    // Du Bois: 0.007184 · 62.5^0.425 · 165^0.725 m², 3600.5 s after the injection, a frame of 60 s.
    let surface_cm2 = 1e4 * 0.007184 * 62.5f64.powf(0.425) * (100.0 * f64::from(1.65f32)).powf(0.725);
    let (rate, secs) = (std::f64::consts::LN_2 / 6586.2, 60.0);
    let decay = rate * secs / (1.0 - (-rate * secs).exp());
    assert!((record["pet"]["decay_factors"][0].as_f64().unwrap() / decay - 1.0).abs() < 1e-9);
    assert_eq!(
        (&record["image"]["unit"], &record["pet"]["scan"]["dose_bq"]["source"]),
        (&json!("SUVbsa"), &json!("list-mode file"))
    );
    let (series, _) = read_images(&at.join("a.dcm"), ImageChoice::Only).unwrap();
    run(at, "convert a.dcm again.nii");
    assert_eq!(series.unit(), Unit::SuvBodySurface);
    let slice = open_file(at.join("a.dcm/slice_001.dcm")).unwrap();
    let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned();
    assert_eq!([text(tags::UNITS), text(tags::PATIENT_SEX), text(tags::SERIES_TIME)], ["CM2ML", "F", "120000.500000"]);
    // The same image in Bq/mL.
    let arguments = format!("{reconstruct} --half-life F-18 --multiplicative-includes attenuation -o bq.npy");
    super::tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
    let (activity, _) = read_volume(&at.join("bq.npy")).unwrap();
    let factor = surface_cm2 / (370e6 * (-rate * 3600.5).exp());
    assert!((series.images[0].volume.sum() / activity.sum() / factor - 1.0).abs() < 1e-4);
}

/// Start, duration and radionuclide of a sinogram's header, in STIR's keys, and their precedence.
#[test]
fn facts_of_the_sinograms_header_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate nema-iq-2001 --scanner small --counts 1e6 --attenuation -o scan.hs");
    run(at, &format!("{RUN} -o plain.nii.gz"));
    let (plain, _) = read_volume(&at.join("plain.nii.gz")).unwrap();
    let header = std::fs::read_to_string(at.join("scan.hs")).unwrap();
    let with_keys = |keys: &str| {
        let end = "!END OF INTERFILE :=";
        assert!(header.contains(end));
        std::fs::write(at.join("scan.hs"), header.replace(end, &format!("{keys}\n{end}"))).unwrap();
    };
    let keys = "study date := 2026:03:01\nstudy time := 12:00:00\nimage duration (sec)[1] := 900\n\
                image relative start time (sec)[1] := 100\nradionuclide name[1] := ^18^Fluorine\n\
                radionuclide halflife (sec)[1] := 6586.2";
    with_keys(keys);
    let info: Value = serde_json::from_str(&run(at, "info scan.hs --json")).unwrap();
    assert_eq!(info["facts"]["exam"]["start"], "2026-03-01T12:00:00");
    assert!(run(at, "info scan.hs").contains("F-18, half-life 6586.2 s"));
    let facts = "--calibration 250.5 --dose-mbq 370 --injected 2026-03-01T11:00:00 --weight-kg 70 \
                 --multiplicative-includes attenuation,normalisation --suv suvbw";
    let record = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(at.join(format!("{name}.json"))).unwrap()).unwrap()
    };
    // The mean over 100 … 1000 s after the start, and the activity left 3600 s after the injection.
    let rate = std::f64::consts::LN_2 / 6586.2;
    let decay = |[start, end]: [f64; 2]| rate * (end - start) / ((-rate * start).exp() - (-rate * end).exp());
    let suv = 70e3 / (370e6 * (-rate * 3600.0).exp());
    let factor = |name: &str| read_volume(&at.join(name)).unwrap().0.sum() / plain.sum();
    run(at, &format!("{RUN} {facts} -o suv.nii.gz"));
    let expected = 250.5 * decay([100.0, 1000.0]) * suv;
    assert!((factor("suv.nii.gz") / expected - 1.0).abs() < 1e-6, "{} is not {expected}", factor("suv.nii.gz"));
    let scan = &record("suv.nii.gz")["pet"]["scan"];
    let of_header = json!("sinogram header");
    assert_eq!((&scan["scan_start"]["source"], &scan["half_life_secs"]["source"]), (&of_header, &of_header));
    assert_eq!((&scan["dose_bq"]["source"], &scan["nuclide"]), (&json!("command line"), &json!("F-18")));
    run(at, &format!("{RUN} {facts} -o suv.dcm"));
    let slice = open_file(at.join("suv.dcm/slice_001.dcm")).unwrap();
    let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned();
    assert_eq!([text(tags::SERIES_TIME), text(tags::ACQUISITION_TIME)], ["120000", "120140"]);
    assert_eq!(text(tags::ACTUAL_FRAME_DURATION), "900000");
    // Options have precedence, each for its own fact.
    run(at, &format!("{RUN} {facts} --duration-secs 300 --scan-start 2026-03-01T12:30:00 -o options.nii.gz"));
    let expected = 250.5 * decay([100.0, 400.0]) * 70e3 / (370e6 * (-rate * 5400.0).exp());
    assert!((factor("options.nii.gz") / expected - 1.0).abs() < 1e-6);
    let scan = &record("options.nii.gz")["pet"]["scan"];
    assert_eq!((&scan["scan_start"]["source"], &scan["half_life_secs"]["source"]), (&json!("command line"), &of_header));
    // An option does not contradict the header.
    let other = refusal(at, 2, &format!("{RUN} {facts} --half-life 110 -o none.nii.gz"));
    assert!(other.contains("the sinogram header has 6586.2 s of F-18"), "{other}");
    // Invalid and contradictory keys are named, and the fact is missing.
    for (from, to, named, option) in [
        ("(sec)[1] := 900", "(sec)[1] := soon", "'image duration (sec) [1]' is 'soon'", "--duration-secs"),
        ("halflife (sec)[1] := 6586.2", "halflife (sec)[1] := 1221.8", "is not that of the radionuclide F-18", "--half-life"),
        ("study time := 12:00:00", "study time := noon", "'study time' is 'noon'", "--scan-start"),
    ] {
        assert!(keys.contains(from));
        with_keys(&keys.replace(from, to));
        let output = super::tomoscope(at, &format!("{RUN} {facts} -o none.nii.gz").split_whitespace().collect::<Vec<_>>());
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!output.status.success() && said.contains(named) && said.contains(option), "{to}: {said}");
    }
    assert!(!at.join("none.nii.gz").exists());
}

/// Options that differ from the header count, with a warning for each of them.
#[test]
fn options_that_contradict_the_header_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::copy(tomoscope_support::in_repository("tests/data/petsird/exam.petsird"), at.join("exam.petsird")).unwrap();
    let reconstruct =
        "reconstruct exam.petsird --iterations 1 --subsets 1 --calibration 2 --multiplicative-includes attenuation -o a.nii";
    let warnings = |options: &str| {
        let arguments = format!("{reconstruct} {options}");
        let output = super::tomoscope(at, &arguments.split_whitespace().collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!([Some(0), Some(3)].contains(&output.status.code()), "{said}");
        said.lines().filter(|line| line.contains("the option counts")).map(str::to_owned).collect::<Vec<_>>()
    };
    let said = warnings("--suv suvbsa --weight-kg 70 --dose-mbq 185 --height-cm 165");
    assert!(said.len() == 2 && said[0].contains("--dose-mbq is 185 MBq") && said[1].contains("--weight-kg is 70 kg"), "{said:?}");
    assert!(said[1].contains("has 62.5 kg"), "{said:?}");
    assert_eq!(warnings("--suv suvbsa --weight-kg 62.5 --dose-mbq 370"), [""; 0]);
    let said = warnings("--suv suvbsa --sex male --injected -30min");
    assert!(said.len() == 2 && said[0].contains("--sex is male") && said[1].contains("--injected is "), "{said:?}");
    // A frame outside the scan, which has a share of 0 in its calibration.
    run(at, "simulate cylinder --scanner small --list-mode --counts 2e4 --attenuation --duration-secs 60 -o events.petsird");
    let frame =
        "reconstruct events.petsird --attenuation events_mu.nii.gz --image 31,31,15 --iterations 1 --calibration 2 -o b.nii";
    let said = refusal(at, 2, &format!("{frame} --frame 100-110"));
    assert!(said.contains("100–110 s") || said.contains("outside the scan"), "{said}");
}

/// The duration and the middle of the frame of an image that is no PET series: a NIfTI image with the times of BIDS.
#[test]
fn a_frame_of_any_image_keeps_its_time_in_dicom() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e4 --truth one.nii -o scan.hs");
    std::fs::remove_file(at.join("one.nii.json")).unwrap();
    // Two images over time: dim[0] = 4, dim[4] = 2.
    let one = std::fs::read(at.join("one.nii")).unwrap();
    let (mut header, values) = (one[..352].to_vec(), &one[352..]);
    header[40..42].copy_from_slice(&4i16.to_le_bytes());
    header[48..50].copy_from_slice(&2i16.to_le_bytes());
    // Without a step of time, pixdim[4].
    header[92..96].copy_from_slice(&0f32.to_le_bytes());
    std::fs::write(at.join("two.nii"), [&header, values, values].concat()).unwrap();
    std::fs::write(at.join("two.json"), r#"{"FrameTimesStart": [0, 60], "FrameDuration": [60, 90.5]}"#).unwrap();
    assert!(run(at, "info two.nii").contains("2, the first from 0 to 60 s"));
    run(at, "convert two.nii frame.dcm --frame 2");
    let slice = open_file(std::fs::read_dir(at.join("frame.dcm")).unwrap().next().unwrap().unwrap().path()).unwrap();
    let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned();
    assert_eq!(text(tags::ACTUAL_FRAME_DURATION), "90500");
    assert_eq!(text(tags::FRAME_REFERENCE_TIME).parse::<f64>().unwrap(), 105_250.0);
    std::fs::remove_file(at.join("two.json")).unwrap();
    assert!(run(at, "info two.nii").contains("2, times unknown"));
}
