//! ROI files and measured numbers.

use std::fs;

use proptest::prelude::*;
use tomoscope::data::{ContourThreshold, Isocontour, IsocontourRecipe, Roi, RoiPlane, RoiRole, RoiShape, Voxels};
use tomoscope::geometry::Grid;
use tomoscope::io::measurements::{Measurement, MeasurementWriter, read_measurements};
use tomoscope::io::rois::{read_rois, write_rois};

use super::{assert_brief, assert_says, folder};

fn roi(name: &str, shape: RoiShape, role: RoiRole, activity_ratio: Option<f64>) -> Roi {
    Roi { role, activity_ratio, ..Roi::new(name, shape, [1.5, -2.0, 1.0 / 3.0]) }
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
    let expected = Roi::new("liver", shape, [1.0, 2.0, 3.5]);
    assert_eq!(read_rois(&path).unwrap(), [expected]);
    let cases: [(&str, &str, &[&str]); 21] = [
        ("version = 1", "version = 3", &["version 3", "version 1 and 2"]),
        ("version = 1", "version = 0", &["version 0"]),
        ("version = 1", "", &["missing field `version`"]),
        ("radius_mm = 10", "radius_mm = -10", &["ROI 1 ('liver')", "radius_mm"]),
        ("radius_mm = 10", "radius_mm = nan", &["radius_mm"]),
        ("radius_mm = 10", "size_mm = [1, 2]", &["radius_mm"]),
        ("\"circle\"", "\"rectangle\"", &["size_mm"]),
        ("\"circle\"", "\"heart\"", &["'heart'", "circle, ellipse, rectangle, polygon"]),
        ("radius_mm = 10", "radius_mm = 10\npoints_mm = [[1, 2]]", &["'circle' has no 'points_mm'"]),
        ("radius_mm = 10", "radius_mm = 10\nthickness_mm = 0", &["'thickness_mm'", "leave it out"]),
        ("radius_mm = 10", "radius_mm = 10\nangle_deg = 5", &["'circle' has no 'angle_deg'"]),
        ("\"circle\"", "\"polygon\"", &["points_mm", "three corners"]),
        ("\"circle\"", "\"box\"", &["'box'", "size_mm", "three positive lengths"]),
        ("\"circle\"", "\"ellipse\"", &["'ellipse'", "size_mm", "two positive lengths"]),
        ("\"circle\"", "\"isocontour\"", &["isocontour", "a table"]),
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
        assert_brief(&error, "io.roi-file rois.toml");
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

/// Any region that a file can hold.
fn any_roi() -> impl Strategy<Value = Roi> {
    let plane = || prop::sample::select(vec![RoiPlane::Transaxial, RoiPlane::Coronal, RoiPlane::Sagittal]);
    let length = || 1e-3..1e3f64;
    let two = || prop::array::uniform2(length());
    let three = || prop::array::uniform3(length());
    let points = prop::collection::vec(prop::array::uniform2(-1e3..1e3f64), 3..40);
    let inside = || prop::collection::vec(any::<bool>(), 4 * 3 * 5);
    let voxels =
        |is_inside, voxel_mm| Voxels::new(Grid::new([4, 3, 5], voxel_mm, [-1.0, 2.0 / 3.0, 0.25]).unwrap(), is_inside).unwrap();
    let contour = (inside(), three(), prop::option::of(-9.0..9.0f64), 0.1..100.0f64);
    let shape = prop_oneof![
        (length(), plane()).prop_map(|(radius_mm, plane)| RoiShape::Circle { radius_mm, plane }),
        length().prop_map(|radius_mm| RoiShape::Sphere { radius_mm }),
        (two(), plane()).prop_map(|(size_mm, plane)| RoiShape::Rectangle { size_mm, plane }),
        (two(), plane()).prop_map(|(size_mm, plane)| RoiShape::Ellipse { size_mm, plane }),
        (three(), plane()).prop_map(|(size_mm, plane)| RoiShape::Ellipsoid { size_mm, plane }),
        (three(), plane()).prop_map(|(size_mm, plane)| RoiShape::Box { size_mm, plane }),
        (points, plane()).prop_map(|(points, plane)| RoiShape::Polygon { points_mm: points.into(), plane }),
        (inside(), three()).prop_map(move |(is_inside, voxel_mm)| RoiShape::Voxels(voxels(is_inside, voxel_mm).into())),
        (contour, any::<bool>()).prop_map(move |((is_inside, voxel_mm, background, percent), is_fixed)| {
            let of_maximum = ContourThreshold::OfMaximum { percent, background };
            let threshold = if is_fixed { ContourThreshold::Value(percent) } else { of_maximum };
            let recipe = IsocontourRecipe { threshold, seed_radius_mm: 7.0 };
            RoiShape::Isocontour(
                Isocontour { recipe, threshold: threshold.value(11.0), voxels: voxels(is_inside, voxel_mm) }.into(),
            )
        }),
    ];
    let role = prop::sample::select(vec![RoiRole::None, RoiRole::Background, RoiRole::Hot, RoiRole::Cold]);
    let ratio = prop::option::of(1.5..100.0f64);
    let place = (prop::array::uniform3(-1e3..1e3f64), -360.0..360.0f64, prop::option::of(length()));
    let looks = ("\\PC*", role, ratio, prop::option::of(any::<[u8; 3]>()));
    (shape, place, looks).prop_map(|(shape, (centre_mm, angle_deg, thickness_mm), (name, role, activity_ratio, colour))| Roi {
        angle_deg: if shape.can_turn() { angle_deg } else { 0.0 },
        thickness_mm: thickness_mm.filter(|_| shape.is_flat()),
        role,
        activity_ratio,
        colour,
        ..Roi::new(name, shape, centre_mm)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_region_reads_back_the_same_from_both_forms(rois in prop::collection::vec(any_roi(), 0..4)) {
        let folder = folder();
        for name in ["rois.toml", "rois.json", "rois.JSON"] {
            let path = folder.path().join(name);
            write_rois(&path, &rois).unwrap();
            prop_assert_eq!(&read_rois(&path).unwrap(), &rois);
        }
    }
}

#[test]
fn a_file_by_hand_with_every_new_field() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let text = "version = 2\n[[roi]]\nname = \"liver\"\nshape = \"ellipse\"\ncentre_mm = [1, 2, 3]\nsize_mm = [90, 60]\nangle_deg = 30\nthickness_mm = 20\n[[roi]]\nname = \"leg\"\nshape = \"polygon\"\nplane = \"coronal\"\ncentre_mm = [0, 0, 0]\npoints_mm = [[-10, 0], [10, 0], [0, 15.5]]\n";
    fs::write(&path, text).unwrap();
    let liver = RoiShape::Ellipse { size_mm: [90.0, 60.0], plane: RoiPlane::Transaxial };
    let leg = RoiShape::Polygon { points_mm: [[-10.0, 0.0], [10.0, 0.0], [0.0, 15.5]].into(), plane: RoiPlane::Coronal };
    let liver = Roi { angle_deg: 30.0, thickness_mm: Some(20.0), ..Roi::new("liver", liver, [1.0, 2.0, 3.0]) };
    assert_eq!(read_rois(&path).unwrap(), [liver, Roi::new("leg", leg, [0.0; 3])]);
}

#[test]
fn json_that_is_not_understood_says_where() {
    let folder = folder();
    let path = folder.path().join("rois.json");
    let text = r#"{"version": 2, "roi": [{"name": "a", "shape": "sphere", "centre_mm": [0, 0, 0], "radius_mm": 5}]}"#;
    fs::write(&path, text).unwrap();
    assert_eq!(read_rois(&path).unwrap(), [Roi::new("a", RoiShape::Sphere { radius_mm: 5.0 }, [0.0; 3])]);
    let cases: [(&str, &str, &[&str]); 5] = [
        ("\"version\": 2", "\"version\": 7", &["version 7", "version 1 and 2"]),
        ("5}", "-5}", &["ROI 1 ('a')", "radius_mm"]),
        ("radius_mm", "radius", &["unknown field `radius`", "line 1"]),
        ("5}]}", "5}]", &["line 1"]),
        ("{\"version\": 2, ", "{", &["missing field `version`"]),
    ];
    for (from, to, parts) in cases {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = read_rois(&path).unwrap_err();
        assert_says(&error, parts);
        assert_brief(&error, "io.roi-file rois.json");
    }
}

#[test]
fn an_isocontour_whose_voxels_cannot_be_is_refused() {
    let folder = folder();
    let path = folder.path().join("rois.toml");
    let text = "version = 2\n[[roi]]\nname = \"a\"\nshape = \"isocontour\"\ncentre_mm = [0, 0, 0]\n[roi.isocontour]\npercent = 50\nseed_radius_mm = 5\nthreshold = 1.5\nsize = [2, 2, 2]\nvoxel_mm = [1, 1, 1]\nfirst_mm = [0, 0, 0]\nruns = [[0, 3], [5, 1]]\n";
    fs::write(&path, text).unwrap();
    let read = read_rois(&path).unwrap();
    let RoiShape::Isocontour(contour) = &read[0].shape else { panic!("{read:?}") };
    assert_eq!(contour.voxels.is_inside(), [true, true, true, false, false, true, false, false]);
    let cases: [(&str, &str, &[&str]); 9] = [
        ("percent = 50", "", &["'percent'", "or 'value'"]),
        ("percent = 50", "percent = 50\nvalue = 2.5", &["or 'value'"]),
        ("percent = 50", "background = 1\nvalue = 2.5", &["or 'value'"]),
        ("[5, 1]", "[5, 9]", &["run [5, 9]", "8 voxels"]),
        ("[5, 1]", "[9223372036854775807, 9223372036854775807]", &["run", "8 voxels"]),
        ("[2, 2, 2]", "[2000, 2000, 2000]", &["2000"]),
        ("[2, 2, 2]", "[1024, 1024, 1024]", &["at most"]),
        ("[1, 1, 1]", "[1, 0, 1]", &["voxel size"]),
        ("percent = 50", "percent = nan", &["'percent'"]),
    ];
    for (from, to, parts) in cases {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert_says(&read_rois(&path).unwrap_err(), parts);
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
    assert_brief(&read_measurements(&fresh).unwrap_err(), "io.csv fresh.csv");
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
        assert_brief(&write_rois(&path, &[roi]).unwrap_err(), "io.roi-file rois.toml");
        assert!(!path.exists());
    }
    write_rois(&path, &[good]).unwrap();
    // A text takes a hundred times its size once it is parsed.
    fs::write(&path, format!("version = 1\n# {}", "x".repeat(3 << 20))).unwrap();
    assert_brief(&read_rois(&path).unwrap_err(), "io.text-too-long rois.toml 2097152");
}

#[cfg(unix)]
#[test]
fn tables_that_are_no_regular_files_are_refused_at_once() {
    let folder = folder();
    let path = folder.path().join("zero.csv");
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_brief(&read_measurements(&path).unwrap_err(), "io.not-a-file zero.csv");
}
