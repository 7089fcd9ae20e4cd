//! One frame of list-mode data, selected by `--frame` and by `--frames`: the same image, error bars, record and DICOM attributes.

use std::path::Path;

use dicom_dictionary_std::tags;
use dicom_object::open_file;
use serde_json::Value;
use tomoscope::io::read_volume;

use super::data::data_file;
use super::{done, refused};

const SETTINGS: &str = "--iterations 1 --subsets 2 --image 31,31,15 --fov-radius-mm 60";
const FACTS: &str = "--half-life 122 --dose-mbq 3 --injected -2min --weight-kg 0.3 --scan-start 2026-03-01T12:00:00";

fn words(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().collect()
}

/// Folder with simulated lists of 100 s in two formats.
fn folder_with_lists() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for list in ["p.petsird", "c.Cdh"] {
        let simulate =
            "simulate cylinder --scanner small --list-mode --counts 2e4 --attenuation --background 0.1 --duration-secs 100";
        done(folder.path(), &words(&format!("{simulate} --seed 3 -o {list}")));
    }
    folder
}

fn record(at: &Path, image: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(at.join(format!("{image}.json"))).unwrap()).unwrap()
}

fn values(at: &Path, image: &str) -> Vec<f32> {
    read_volume(&at.join(image)).unwrap().0.as_slice().to_vec()
}

/// Runs a reconstruction of a frame both ways; the images are a.ENDING and b_f001.ENDING.
fn both(at: &Path, reconstruct: &str, frame: &str, ending: &str) {
    done(at, &words(&format!("{reconstruct} --frame {frame} -o a.{ending}")));
    done(at, &words(&format!("{reconstruct} --frames {frame} -o b.{ending}")));
}

#[test]
fn a_frame_has_one_calibration_one_decay_and_one_duration_by_both_options() {
    let folder = folder_with_lists();
    let at = folder.path();
    for list in ["p.petsird --attenuation p_mu.nii.gz", "c.Cdh --attenuation c_mu.nii.gz"] {
        for (frame, secs) in [("0-50", 50.0), ("90-100", 10.0), ("90-110", 10.0)] {
            let reconstruct = format!("reconstruct {list} {SETTINGS}");
            both(at, &reconstruct, frame, "npy");
            let counts = values(at, "a.npy");
            assert_eq!(counts, values(at, "b_f001.npy"), "{list} {frame}");
            let suv = format!("{reconstruct} --calibration 1000 {FACTS} --suv suvbw");
            both(at, &suv, frame, "npy");
            let found = values(at, "a.npy");
            assert_eq!(found, values(at, "b_f001.npy"), "{list} {frame}");
            // Share of the scan, mean decay in the frame from the start of the scan, decay since the injection.
            let rate = std::f64::consts::LN_2 / 122.0;
            let [start, end] = [100.0 * f64::from(u8::from(secs < 50.0)) * 0.9, if secs < 50.0 { 100.0 } else { 50.0 }];
            let mean = ((-rate * start).exp() - (-rate * end).exp()) / (rate * (end - start));
            let expected = 1000.0 * 100.0 / secs / mean * 300.0 / (3e6 * (-rate * 120.0).exp());
            let sums = [&found, &counts].map(|values| values.iter().map(|value| f64::from(*value)).sum::<f64>());
            assert!((sums[0] / sums[1] / expected - 1.0).abs() < 2e-3, "{list} {frame}: {} is not {expected}", sums[0] / sums[1]);
            let [one, of_frames] = ["a.npy", "b_f001.npy"].map(|image| record(at, image));
            for key in ["/data/frame", "/pet", "/image", "/algorithm", "/corrections"] {
                assert_eq!(one.pointer(key), of_frames.pointer(key), "{list} {frame}: {key}");
            }
            assert!(one.pointer("/data/frame/start_secs").is_some() && one.pointer("/pet/scan").is_some(), "{one}");
        }
    }
}

#[test]
fn a_frame_has_the_same_dicom_attributes_by_both_options() {
    let folder = folder_with_lists();
    let at = folder.path();
    for list in ["p.petsird --attenuation p_mu.nii.gz", "c.Cdh --attenuation c_mu.nii.gz"] {
        both(at, &format!("reconstruct {list} {SETTINGS} --calibration 1000 {FACTS}"), "90-100", "dcm");
        let attributes = |series: &str| {
            let slice = open_file(at.join(series).join("slice_008.dcm")).unwrap();
            [
                tags::ACQUISITION_TIME,
                tags::ACQUISITION_DATE,
                tags::ACTUAL_FRAME_DURATION,
                tags::FRAME_REFERENCE_TIME,
                tags::DECAY_FACTOR,
                tags::RESCALE_SLOPE,
                tags::SERIES_TIME,
                tags::CORRECTED_IMAGE,
            ]
            .map(|tag| slice.element(tag).unwrap().to_str().unwrap().trim().to_owned())
        };
        let found = attributes("a.dcm");
        assert_eq!(found, attributes("b_f001.dcm"), "{list}");
        assert_eq!([&found[0], &found[2]], ["120130", "10000"], "{list}");
    }
}

#[test]
fn a_frame_has_the_same_error_bars_by_both_options() {
    let folder = folder_with_lists();
    let at = folder.path();
    for list in ["p.petsird", "c.Cdh"] {
        let bars = format!("reconstruct {list} {SETTINGS} --replicates 6");
        // The duration of the whole scan does not count for a frame.
        for time in ["", "--as-if-secs 25", "--as-if-secs 25 --duration-secs 100"] {
            both(at, &format!("{bars} {time}"), "0-50", "npy");
            assert_eq!(values(at, "a_sd.npy"), values(at, "b_f001_sd.npy"), "{list} {time}");
            let replicates = record(at, "a.npy").pointer("/algorithm/replicates").cloned();
            assert_eq!(replicates, record(at, "b_f001.npy").pointer("/algorithm/replicates").cloned(), "{list} {time}");
            if !time.is_empty() {
                assert_eq!(replicates.unwrap()["scan_secs"], 50.0, "{list} {time}");
            }
        }
        for option in ["--frame", "--frames"] {
            let text = refused(at, 1, &words(&format!("{bars} --as-if-secs 80 {option} 0-50 -o c.npy")));
            assert!(text.contains("80") && text.contains("50"), "{text}");
        }
    }
}

/// A list of YRT-PET, in which every event has its own time.
#[test]
fn a_frame_of_yrt_pet_is_the_same_by_both_options() {
    let (Some(list), Some(crystals)) = (data_file("listmode/ring_yrt.lmDat"), data_file("listmode/TEST_RING_8x96.lut")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (list, crystals) = (list.display(), crystals.display());
    let reconstruct = format!(
        "reconstruct {list} --crystals {crystals} --yrt-tof-ps 400.2769,400.2769 --iterations 1 --subsets 1 --image 31,31,15"
    );
    let info = format!("info {list} --crystals {crystals} --yrt-tof-ps 400.2769,400.2769 --json");
    let info: Value = serde_json::from_str(&done(at, &words(&info))).unwrap();
    let secs = info["list"]["duration_secs"].as_f64().or_else(|| info["duration_secs"].as_f64()).unwrap_or(10.0);
    let frame = format!("0-{}", (secs / 2.0).floor().max(1.0));
    both(at, &format!("{reconstruct} --calibration 1000"), &frame, "npy");
    assert_eq!(values(at, "a.npy"), values(at, "b_f001.npy"));
    assert_eq!(record(at, "a.npy").pointer("/data/frame"), record(at, "b_f001.npy").pointer("/data/frame"));
}

#[test]
fn sinograms_of_a_list_keep_its_times_and_facts() {
    let folder = folder_with_lists();
    let at = folder.path();
    for list in ["p.petsird", "c.Cdh"] {
        done(at, &words(&format!("histogram {list} --frames 0-50,90-100 -o h.hs")));
        done(at, &words(&format!("histogram {list} -o whole.hs")));
        let info = |file: &str| serde_json::from_str::<Value>(&done(at, &["info", file, "--json"])).unwrap();
        let facts = |file: &str| {
            let info = info(file);
            let facts = info.pointer("/scan/facts").or(info.pointer("/facts")).cloned().unwrap_or_else(|| panic!("{info}"));
            ["start_secs", "duration_secs", "share_of_scan"].map(|key| facts[key].as_f64())
        };
        assert_eq!(facts("h_f001.hs"), [None, Some(50.0), Some(0.5)], "{list}");
        assert_eq!(facts("h_f002.hs"), [Some(90.0), Some(10.0), Some(0.1)], "{list}");
        assert_eq!(facts("whole.hs"), [None, Some(100.0), None], "{list}");
    }
    // Uptake values of a sinogram of a frame are those of the list: the frame begins 90 s after the scan.
    let factor = |scan: &str, attenuation: &str| {
        let reconstruct = format!("reconstruct {scan} {attenuation} {SETTINGS}");
        done(at, &words(&format!("{reconstruct} -o counts.npy")));
        done(at, &words(&format!("{reconstruct} --calibration 1000 {FACTS} --suv suvbw -o suv.npy")));
        let sums = ["suv.npy", "counts.npy"].map(|image| values(at, image).iter().map(|value| f64::from(*value)).sum::<f64>());
        sums[0] / sums[1]
    };
    let rate = std::f64::consts::LN_2 / 122.0;
    let mean = ((-rate * 90.0f64).exp() - (-rate * 100.0f64).exp()) / (rate * 10.0);
    let expected = 1000.0 * 10.0 / mean * 300.0 / (3e6 * (-rate * 120.0f64).exp());
    done(at, &words("histogram p.petsird --frames 90-100 -o h.hs"));
    let found = factor("h_f001.hs", "--attenuation p_mu.nii.gz");
    assert!((found / expected - 1.0).abs() < 2e-3, "{found} is not {expected}");
}
