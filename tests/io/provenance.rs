//! Records of what made a file, and NIfTI's short description.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::dicom::SeriesContext;
use tomoscope::io::{provenance, read_volume, write_described_volume};

use super::{assert_brief, folder};

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_description_of_an_image_is_ascii_and_ends_inside_its_80_bytes() {
    let folder = folder();
    let grid = Grid::centred([2, 3, 4], [1.0, 2.0, 3.0]).unwrap();
    let volume = Volume::from_vec(grid, (0..24).map(|i| i as f32).collect(), Unit::CountsPerMm).unwrap();
    let long = format!("tomoscope {}", "é – × ".repeat(20));
    let as_written: String = long.chars().map(|c| if c.is_ascii() { c } else { '?' }).take(77).collect();
    for (description, expected) in [("OSEM, iteration 3", "OSEM, iteration 3"), ("", ""), (&long, &as_written)] {
        let path = folder.path().join("image.nii");
        write_described_volume(&path, &volume, &description.into(), &SeriesContext::default()).unwrap();
        // nifti1.h: char descrip[80] at byte 148, aux_file at 228.
        let bytes = fs::read(&path).unwrap();
        let (text, rest) = bytes[148..228].split_at(expected.len());
        assert_eq!(text, expected.as_bytes());
        assert!(!rest.is_empty() && rest.iter().all(|byte| *byte == 0) && bytes[228] == 0);
        assert_eq!(read_volume(&path).unwrap().0, volume);
    }
}

#[test]
fn a_record_is_never_written_over_what_is_not_one() {
    let folder = folder();
    let image = folder.path().join("image.nii.gz");
    let beside = folder.path().join("image.nii.gz.json");
    let foreign = ["", "{", "[1, 2]", "{\"program\": \"another\"}", "\"tomoscope\"", "run,iteration\n1,2\n"];
    for text in foreign {
        fs::write(&beside, text).unwrap();
        let error = provenance::write(&image, &json!({"program": "tomoscope", "files": ["image.nii.gz"]})).unwrap_err();
        assert_brief(&error, "io.not-ours image.nii.gz.json");
        assert_eq!(fs::read_to_string(&beside).unwrap(), text);
    }
    fs::remove_file(&beside).unwrap();
    fs::create_dir(&beside).unwrap();
    assert_brief(&provenance::check(&beside).unwrap_err(), "io.not-ours image.nii.gz.json");
    fs::remove_dir(&beside).unwrap();
    // A record of the program gives way to a newer one.
    for version in [1, 2] {
        let record = json!({"program": "tomoscope", "version": version, "files": ["image.nii.gz"]});
        assert_eq!(provenance::write(&image, &record).unwrap(), beside);
        assert_eq!(read(&beside), record);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else stays in the folder");
}

#[test]
fn every_file_has_its_own_record() {
    let folder = folder();
    let record = |file: &str, step: f64| json!({"program": "tomoscope", "files": [file], "step": step});
    for (file, step) in [("a.nii.gz", 1.0 / 3.0), ("a.npy", 2.0 / 3.0), ("a.csv", 1.0)] {
        provenance::write(&folder.path().join(file), &record(file, step)).unwrap();
    }
    for (file, step) in [("a.nii.gz", 1.0 / 3.0), ("a.npy", 2.0 / 3.0), ("a.csv", 1.0)] {
        let found = provenance::read(&folder.path().join(file)).unwrap();
        assert_eq!(found.record, record(file, step));
        assert!(found.names_the_file && found.path == folder.path().join(format!("{file}.json")));
    }
}

#[test]
fn a_record_under_its_earlier_name_is_read_where_it_names_the_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.json"), r#"{"program": "tomoscope", "files": ["a.nii.gz", "a.csv"], "step": 1}"#).unwrap();
    for file in ["a.nii.gz", "a.csv"] {
        let found = provenance::read(&at(file)).unwrap();
        assert_eq!((found.path, found.record["step"].as_i64()), (at("a.json"), Some(1)), "{file}");
    }
    assert!(provenance::read(&at("a.npy")).is_none());
    // A new one comes first, and the earlier one stays as it is.
    provenance::write(&at("a.nii.gz"), &json!({"program": "tomoscope", "files": ["a.nii.gz"], "step": 2})).unwrap();
    assert_eq!(provenance::read(&at("a.nii.gz")).unwrap().record["step"], json!(2));
    assert_eq!(read(&at("a.json"))["step"], json!(1));
}
