//! ROI files and measured numbers.

use std::fs;

use tomoscope::data::{Roi, RoiPlane, RoiRole, RoiShape};
use tomoscope::io::measurements::{Measurement, MeasurementWriter, read_measurements};
use tomoscope::io::rois::{read_rois, write_rois};

use super::{assert_says, folder};

fn roi(name: &str, shape: RoiShape, role: RoiRole, activity_ratio: Option<f64>) -> Roi {
    Roi { name: name.into(), shape, centre_mm: [1.5, -2.0, 1.0 / 3.0], role, activity_ratio, colour: None }
}

#[test]
fn rois_read_back_the_same() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let rois = [
        roi("sphere \"22\" mm", RoiShape::Sphere { radius_mm: 11.0 }, RoiRole::Hot, Some(4.0)),
        roi("a", RoiShape::Circle { radius_mm: 0.1, plane: RoiPlane::Coronal }, RoiRole::None, None),
        roi("", RoiShape::Rectangle { size_mm: [3.0, 4.5], plane: RoiPlane::Sagittal }, RoiRole::Background, None),
        roi("ß", RoiShape::Circle { radius_mm: 7.0, plane: RoiPlane::Transaxial }, RoiRole::Cold, None),
    ];
    write_rois(&path, &rois).unwrap();
    assert_eq!(read_rois(&path).unwrap(), rois);
    write_rois(&path, &[]).unwrap();
    assert_eq!(read_rois(&path).unwrap(), []);
}

#[test]
fn a_roi_file_written_by_hand() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let text = "version = 1\n[[roi]]\nname = \"liver\"\nshape = \"circle\"\ncentre_mm = [1, 2, 3.5]\nradius_mm = 10\n";
    fs::write(&path, text).unwrap();
    let shape = RoiShape::Circle { radius_mm: 10.0, plane: RoiPlane::Transaxial };
    let expected =
        Roi { name: "liver".into(), shape, centre_mm: [1.0, 2.0, 3.5], role: RoiRole::None, activity_ratio: None, colour: None };
    assert_eq!(read_rois(&path).unwrap(), [expected]);
    let cases: [(&str, &str, &[&str]); 14] = [
        ("version = 1", "version = 2", &["version 2", "version 1"]),
        ("version = 1", "", &["missing field `version`"]),
        ("radius_mm = 10", "radius_mm = -10", &["ROI 1 ('liver')", "radius_mm"]),
        ("radius_mm = 10", "radius_mm = nan", &["radius_mm"]),
        ("radius_mm = 10", "size_mm = [1, 2]", &["radius_mm"]),
        ("\"circle\"", "\"rectangle\"", &["size_mm"]),
        ("\"circle\"", "\"heart\"", &["'heart'", "circle, sphere or rectangle"]),
        ("radius_mm = 10", "points_mm = [[1, 2, 3]]", &["points_mm", "not understood yet"]),
        ("radius_mm = 10", "radius = 10", &["radius", "line"]),
        (
            "radius_mm = 10",
            "radius_mm = 10\nrole = \"hot\"\nactivity_ratio = 0",
            &["ROI 1 ('liver')", "'activity_ratio'", "positive"],
        ),
        ("radius_mm = 10", "radius_mm = 10\nactivity_ratio = -4", &["'activity_ratio'", "found -4"]),
        ("radius_mm = 10", "radius_mm = 10\nactivity_ratio = 1.0", &["'activity_ratio'", "no contrast to recover"]),
        ("[1, 2, 3.5]", "[1, 2]", &["line 5"]),
        ("shape", "shape =", &["line 4"]),
    ];
    for (from, to, parts) in cases {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = read_rois(&path).unwrap_err();
        assert_says(&error, parts);
        assert_says(&error, &["rois.toml"]);
    }
}

#[test]
fn a_roi_file_keeps_colours() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let plain = roi("plain", RoiShape::Sphere { radius_mm: 11.0 }, RoiRole::None, None);
    let rois = [Roi { colour: Some([0xd6, 0x08, 0xff]), ..plain.clone() }, plain];
    write_rois(&path, &rois).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("colour = \"#d608ff\"").count(), 1);
    assert_eq!(text.matches("colour").count(), 1, "a ROI without a colour has none in the file");
    assert_eq!(read_rois(&path).unwrap(), rois);
    fs::write(&path, text.replace("#d608ff", "#D608FF")).unwrap();
    assert_eq!(read_rois(&path).unwrap(), rois);
    for wrong in ["d608ff", "#d608f", "#d608fg", "#+608ff", "red", "#d608ffff", "#ß08f"] {
        fs::write(&path, text.replace("#d608ff", wrong)).unwrap();
        assert_says(&read_rois(&path).unwrap_err(), &["ROI 1 ('plain')", "'colour'", "#d6581e"]);
    }
}

fn row(iteration: usize, roi: &str, value: f64) -> Measurement {
    let (roi, quantity, unit) = (roi.to_owned(), "mean".to_owned(), "counts/mm".to_owned());
    Measurement { run: 1, iteration, subset: 0, roi, quantity, value, unit }
}

#[test]
fn measured_numbers_are_in_the_file_as_soon_as_they_are_written() {
    let folder = folder();
    let path = folder.path().join("numbers.csv");
    let mut writer = MeasurementWriter::create(&path).unwrap();
    writer.write(&[row(1, "hot, \"10 mm\"", 0.1)]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "run,iteration,subset,roi,quantity,value,unit\n1,1,0,\"hot, \"\"10 mm\"\"\",mean,0.1,counts/mm\n");
    drop(writer);
    MeasurementWriter::append(&path).unwrap().write(&[row(2, "", f64::NAN), row(3, "b", -1e-300)]).unwrap();
    let rows = read_measurements(&path).unwrap();
    assert_eq!((rows.len(), rows[0].roi.as_str(), &rows[2]), (3, "hot, \"10 mm\"", &row(3, "b", -1e-300)));
    assert!(rows[1].value.is_nan());
    let fresh = folder.path().join("fresh.csv");
    MeasurementWriter::append(&fresh).unwrap().write(&[row(1, "c", 2.0)]).unwrap();
    assert_eq!(read_measurements(&fresh).unwrap(), [row(1, "c", 2.0)]);
    fs::write(&fresh, "run,iteration\n1,x\n").unwrap();
    assert_says(&read_measurements(&fresh).unwrap_err(), &["fresh.csv"]);
}

#[test]
fn names_that_a_spreadsheet_would_compute_are_written_as_text_and_read_back() {
    let folder = folder();
    let path = folder.path().join("numbers.csv");
    let names = ["=1+1", "+a", "-b", "@c", "\td", "\re", "'=f", "''-g", "'h", "i=j", "liver", ""];
    let rows: Vec<Measurement> = names.iter().map(|name| row(1, name, -2.0)).collect();
    MeasurementWriter::create(&path).unwrap().write(&rows).unwrap();
    assert_eq!(read_measurements(&path).unwrap(), rows);
    let mut reader = csv::Reader::from_path(&path).unwrap();
    let cells: Vec<String> = reader.records().map(|record| record.unwrap()[3].to_owned()).collect();
    assert!(cells.iter().all(|cell| !cell.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{cells:?}");
    assert_eq!([&cells[0], &cells[6], &cells[8], &cells[10]], ["'=1+1", "''=f", "'h", "liver"]);
}

#[test]
fn regions_that_could_not_be_read_back_are_not_written() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let good = roi("a", RoiShape::Sphere { radius_mm: 1.0 }, RoiRole::None, None);
    let bad = [
        Roi { centre_mm: [f64::NAN, 0.0, 0.0], ..good.clone() },
        Roi { shape: RoiShape::Sphere { radius_mm: 0.0 }, ..good.clone() },
        Roi { name: "x".repeat(3 << 20), ..good.clone() },
    ];
    for roi in bad {
        assert_says(&write_rois(&path, &[roi]).unwrap_err(), &["rois.toml", "could not be read back"]);
        assert!(!path.exists());
    }
    write_rois(&path, &[good]).unwrap();
    // A text takes a hundred times its size once it is parsed.
    fs::write(&path, format!("version = 1\n# {}", "x".repeat(3 << 20))).unwrap();
    assert_says(&read_rois(&path).unwrap_err(), &["rois.toml", "more than the 2097152"]);
}

#[cfg(unix)]
#[test]
fn tables_that_are_no_regular_files_are_refused_at_once() {
    let folder = folder();
    let path = folder.path().join("zero.csv");
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_says(&read_measurements(&path).unwrap_err(), &["zero.csv", "not a regular file"]);
}
