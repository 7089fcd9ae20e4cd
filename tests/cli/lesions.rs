//! `tomoscope lesions`: numbers of lesions, their change since a baseline, and the files.

use std::path::Path;

use serde_json::Value;
use tomoscope::data::{Roi, RoiRole, RoiShape, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::rois::write_rois;
use tomoscope::io::write_volume;

use super::{done, refused, tomoscope};

/// Balls of radius 12 mm and 8 mm, and a liver, by their centres along x.
const BALLS: [(&str, f64, f64); 3] = [("large", -40.0, 12.0), ("small", 0.0, 8.0), ("liver", 40.0, 20.0)];

fn ball(name: &str, x_mm: f64, radius_mm: f64) -> Roi {
    Roi::new(name, RoiShape::Sphere { radius_mm }, [x_mm, 0.0, 0.0])
}

/// Writes an image with a value in each ball, in SUL, and 0.5 around them.
fn write_image(path: &Path, values: [f32; 3], unit: Unit) {
    let mut volume = Volume::filled(Grid::centred([70, 30, 30], [2.0; 3]).unwrap(), 0.5);
    volume.unit = unit;
    for ((name, x_mm, radius_mm), value) in BALLS.into_iter().zip(values) {
        for &(index, part) in ball(name, x_mm, radius_mm).mask(&volume.grid).voxels.iter() {
            volume.as_mut_slice()[index as usize] += part * (value - 0.5);
        }
    }
    write_volume(path, &volume).unwrap();
}

/// Writes regions that are larger than the balls, and one that is no lesion.
fn write_regions(path: &Path) {
    let mut rois: Vec<Roi> = BALLS.map(|(name, x_mm, radius_mm)| ball(name, x_mm, 1.4 * radius_mm)).into();
    rois.push(Roi { role: RoiRole::Background, ..ball("background", 20.0, 5.0) });
    write_rois(path, &rois).unwrap();
}

fn volume_ml(radius_mm: f64) -> f64 {
    4.0 / 3.0 * std::f64::consts::PI * (0.1 * radius_mm).powi(3)
}

#[test]
fn lesions_are_measured_and_compared_with_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("first.nii"), [10.0, 8.0, 2.0], Unit::SuvLeanJanmahasatian);
    write_image(&at.join("later.nii"), [5.0, 1.5, 2.5], Unit::SuvLeanJanmahasatian);
    write_regions(&at.join("rois.toml"));
    let json = |arguments: &[&str]| -> Value {
        let fixed = ["lesions", "first.nii", "--rois", "rois.toml", "--json"];
        serde_json::from_str(&done(at, &[&fixed, arguments].concat())).unwrap()
    };
    let found = json(&["--threshold", "50%"]);
    let lesions = found["lesions"].as_array().unwrap();
    assert_eq!(lesions.iter().map(|lesion| lesion["name"].as_str().unwrap()).collect::<Vec<_>>(), ["large", "small"]);
    let number = |lesion: &Value, name: &str| lesion["figures"][name].as_f64().unwrap();
    for (lesion, (radius_mm, value)) in lesions.iter().zip([(12.0, 10.0), (8.0, 8.0)]) {
        assert!((number(lesion, "max") - value).abs() < 1e-5 && number(lesion, "threshold") > 0.49 * value);
        assert!((lesion["figures"]["peak"]["mean"].as_f64().unwrap() / value - 1.0).abs() < 0.01, "{lesion}");
        assert!((number(lesion, "volume_ml") / volume_ml(radius_mm) - 1.0).abs() < 0.06, "{lesion}");
    }
    let sum: f64 = lesions.iter().map(|lesion| number(lesion, "volume_ml")).sum();
    assert!((found["total"]["volume_ml"].as_f64().unwrap() - sum).abs() < 1e-9);
    // 1.5 × 2 + 2 SD: the SD of a sphere of 3 cm within the liver is nothing.
    let found = json(&["--threshold", "percist"]);
    assert!((found["percist_threshold"].as_f64().unwrap() - 3.0).abs() < 1e-5, "{found}");
    // The change since the baseline.
    let files = ["--csv", "out.csv", "--report", "out.pdf", "--seg", "out.seg.dcm"];
    let compared = ["lesions", "later.nii", "--rois", "rois.toml", "--threshold", "percist", "--baseline", "first.nii"];
    let text = done(at, &[&compared[..], &files].concat());
    assert!(text.contains("total of 2 lesions") && text.contains("livers are not comparable"), "{text}");
    assert!(text.contains("No voxel reaches the threshold, max and peak are those of the region: 'small'"), "{text}");
    let rows = read_measurements(&at.join("out.csv")).unwrap();
    let value =
        |roi: &str, quantity: &str| rows.iter().find(|row| row.roi == roi && row.quantity == quantity).map(|row| row.value);
    assert!((value("large", "peak_change").unwrap() + 0.5).abs() < 0.01);
    assert_eq!((value("small", "volume"), value("small", "volume_change")), (Some(0.0), Some(-1.0)));
    assert!(value("small", "mean").is_none() && value("", "total_glycolysis").is_some());
    assert!(at.join("out.csv.json").exists() && std::fs::read(at.join("out.pdf")).unwrap().starts_with(b"%PDF"));
    // Without names of files.
    let anonymous = done(at, &[&compared[..], &["--anonymise", "--csv", "anonymous.csv"]].concat());
    let record = std::fs::read_to_string(at.join("anonymous.csv.json")).unwrap();
    assert!([anonymous, record].iter().all(|text| !text.contains("later.nii") && !text.contains("first.nii")));
    let seg = std::fs::read(at.join("out.seg.dcm")).unwrap();
    assert_eq!(&seg[128..132], b"DICM");
}

#[test]
fn a_second_image_is_measured_at_its_own_position() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("pet.nii"), [10.0, 8.0, 2.0], Unit::SuvBodyWeight);
    write_regions(&at.join("rois.toml"));
    // A finer grid that covers the large ball, and half of the small one; values rise with x.
    let grid = Grid::new([120, 60, 60], [0.5, 1.0, 1.0], [-60.0, -30.0, -30.0]).unwrap();
    let mut ct = Volume::filled(grid.clone(), 0.0);
    ct.unit = Unit::Hounsfield;
    ct.values.indexed_iter_mut().for_each(|((_, _, x), value)| *value = (grid.origin_mm[0] + 0.5 * x as f64) as f32);
    write_volume(&at.join("ct.nii"), &ct).unwrap();
    let arguments = ["lesions", "pet.nii", "--rois", "rois.toml", "--threshold", "50%", "--ct", "ct.nii", "--json"];
    let found: Value = serde_json::from_str(&done(at, &arguments)).unwrap();
    let second = |index: usize| found["lesions"][index]["figures"]["second"].clone();
    assert!((second(0)["mean"].as_f64().unwrap() + 40.0).abs() < 0.1 && second(0)["part"] == 1.0, "{found}");
    let part = second(1)["part"].as_f64().unwrap();
    assert!((part - 0.5).abs() < 0.1, "{part}");
    assert!(found["remarks"].to_string().contains("Part of the lesion in the image: 'small'"), "{}", found["remarks"]);
}

/// Numbers of highdicom and SimpleITK (`tests/data/dicom/make_segmentations.py`).
#[test]
fn each_segment_of_a_dicom_segmentation_is_a_lesion() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = |name: &str| tomoscope_support::in_repository("tests/data/dicom").join(name).display().to_string();
    let text = std::fs::read_to_string(data("segmentations.json")).unwrap();
    let files = serde_json::from_str::<Value>(&text).unwrap()["files"].clone();
    let close = |found: &Value, expected: &Value| (found.as_f64().unwrap() / expected.as_f64().unwrap() - 1.0).abs() < 1e-9;
    for name in ["axial", "coronal", "oblique"] {
        let (image, path) =
            (files[format!("{name}.dcm")]["series"].as_str().unwrap(), data(&format!("segmentations/{name}.dcm")));
        let expected = files[format!("{name}.dcm")]["segments"].as_array().unwrap();
        let found: Value = serde_json::from_str(&done(at, &["lesions", &data(image), "--rois", &path, "--json"])).unwrap();
        let lesions = found["lesions"].as_array().unwrap();
        let names: Vec<&str> = lesions.iter().map(|lesion| lesion["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["left", "lesion", "lesion (2)"]);
        let info: Value = serde_json::from_str(&done(at, &["info", &path, "--json"])).unwrap();
        for ((lesion, expected), segment) in lesions.iter().zip(expected).zip(info["segments"].as_array().unwrap()) {
            let num_voxels = expected["voxels"].as_array().unwrap().len();
            let figures = &lesion["figures"];
            assert_eq!((&figures["num_voxels"], &segment["num_voxels"]), (&num_voxels.into(), &num_voxels.into()));
            assert!(close(&figures["mean"], &expected["mean"]) && close(&figures["volume_ml"], &expected["volume_ml"]), "{name}");
            assert!(close(&segment["volume_ml"], &expected["volume_ml"]) && segment["label"] == expected["label"], "{name}");
        }
        // The written voxels are those that were read.
        done(at, &["lesions", &data(image), "--rois", &path, "--seg", "again.seg.dcm"]);
        let again: Value =
            serde_json::from_str(&done(at, &["lesions", &data(image), "--rois", "again.seg.dcm", "--json"])).unwrap();
        assert_eq!((&again["lesions"], &again["total"]), (&found["lesions"], &found["total"]), "{name}");
        let table = done(at, &["measure", &data(image), "--rois", &path]);
        assert!(table.contains("lesion (2)"), "{table}");
        assert!(done(at, &["info", &path]).contains("3: 'lesion', 1 voxel,"));
    }
    let text = refused(at, 1, &["measure", &data("segmentations/axial.dcm"), "--rois", "none.toml"]);
    assert!(text.contains("it is a segmentation"), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("bw.nii"), [10.0, 8.0, 2.0], Unit::SuvBodyWeight);
    write_image(&at.join("sul.nii"), [10.0, 8.0, 2.0], Unit::SuvLeanJames);
    write_regions(&at.join("rois.toml"));
    let failure = |arguments: &[&str]| -> [String; 2] {
        let output = tomoscope(at, &[&["lesions", "--rois", "rois.toml", "--json"], arguments].concat());
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let error: Value = serde_json::from_slice(&output.stdout).unwrap();
        ["code", "message"].map(|key| error["error"][key].as_str().unwrap().to_owned())
    };
    let [percist, liver] =
        [&["bw.nii"][..], &["sul.nii", "--liver", "Leber"]].map(|more| failure(&[more, &["--threshold", "percist"]].concat()));
    assert!(percist[0] == "lesions" && percist[1].contains("the values are in SUVbw"), "{percist:?}");
    assert!(liver[0] == "lesions" && liver[1].contains("no region has the name 'Leber'"), "{liver:?}");
    assert_eq!(failure(&["bw.nii", "--baseline", "sul.nii"])[0], "arguments");
    assert_eq!(failure(&["bw.nii", "--threshold", "200%"])[0], "arguments");
    assert_eq!(failure(&["bw.nii", "--seg", "out.dcm"])[0], "arguments");
    write_rois(&at.join("none.toml"), &[ball("Liver", 0.0, 5.0)]).unwrap();
    let text = refused(at, 1, &["lesions", "bw.nii", "--rois", "none.toml"]);
    assert!(text.contains("no region is a lesion"), "{text}");
}
