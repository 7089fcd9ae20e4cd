//! `tomoscope convert`, `measure` and `compare`: images and numbers that go to other programs and come from them.

use std::path::Path;

use dicom_dictionary_std::tags;
use dicom_object::open_file;
use serde_json::{Value, json};
use tomoscope::data::{Unit, ValueScale, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::measurements::{Measurement, read_measurements};
use tomoscope::io::rois::read_rois;
use tomoscope::io::{read_volume, write_volume};

use super::{done, failed, refused};

fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

fn refusal(folder: &Path, code: i32, arguments: &str) -> String {
    refused(folder, code, &arguments.split(' ').collect::<Vec<_>>())
}

fn record(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// A folder with a scan, its regions, and what was reconstructed of it, also after two of three iterations.
fn folder_with_image() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "simulate nema-iq-2001 --scanner small --counts 1e6 --rois rois.toml -o scan.hs");
    run(
        folder.path(),
        "reconstruct scan.hs --image 31,29,9 --subsets 4 --iterations 3 --save-every 2 --rois rois.toml --csv curves.csv -o image.nii.gz",
    );
    folder
}

/// An image that another program wrote: without a record, and without a unit.
fn put_foreign(folder: &Path, name: &str) -> Volume {
    let grid = Grid::centred([4, 3, 2], [2.0, 2.5, 3.0]).unwrap();
    let volume = Volume::from_vec(grid, (0..24).map(|i| i as f32).collect(), Unit::Unknown).unwrap();
    write_volume(&folder.join(name), &volume).unwrap();
    volume
}

#[test]
fn an_image_goes_through_every_format_with_its_record() {
    let folder = folder_with_image();
    let at = folder.path();
    let (original, _) = read_volume(&at.join("image.nii.gz")).unwrap();
    let before = record(at, "image.nii.gz.json");
    let mut from = "image.nii.gz";
    for to in ["a.npy", "b.hv", "c.nii", "d.npy"] {
        run(at, &format!("convert {from} {to}"));
        let (volume, notices) = read_volume(&at.join(to)).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!((volume.as_slice(), volume.unit), (original.as_slice(), original.unit), "{to}");
        assert!(volume.grid.same_as(&original.grid), "{to}");
        let of = record(at, &format!("{to}.json"));
        assert_eq!(of["files"], json!([to]));
        for key in ["made", "data", "algorithm", "progress", "projector", "image", "device", "times"] {
            assert_eq!(of[key], before[key], "{to}: {key}");
        }
        from = to;
    }
    // Beside the image itself each file has its own.
    run(at, "convert image.nii.gz image.npy");
    assert_eq!(record(at, "image.npy.json")["files"], json!(["image.npy"]));
    assert_eq!(record(at, "image.nii.gz.json"), before);
}

#[test]
fn a_dicom_series_has_the_image_calibrated_where_that_is_asked_for() {
    let folder = folder_with_image();
    let at = folder.path();
    let (original, _) = read_volume(&at.join("image.nii.gz")).unwrap();
    run(at, "convert image.nii.gz plain.dcm");
    run(at, "convert image.nii.gz a.dcm --calibration 250.5 --patient-name Doe^Jane --patient-id 42 --study-uid 1.2.3");
    run(at, "reconstruct scan.hs --image 31,29,9 --subsets 4 --iterations 3 --save-every 2 --calibration 250.5 -o b.dcm");
    assert!(at.join("b_it002.dcm/slice_009.dcm").exists());
    for (series, factor, units) in [("plain.dcm", 1.0, "CNTS"), ("a.dcm", 250.5, "BQML"), ("b.dcm", 250.5, "BQML")] {
        for (k, expected) in original.values.outer_iter().enumerate() {
            let slice = open_file(at.join(series).join(format!("slice_{:03}.dcm", k + 1))).unwrap();
            assert_eq!(slice.element(tags::UNITS).unwrap().to_str().unwrap(), units);
            let step = slice.element(tags::RESCALE_SLOPE).unwrap().to_float64().unwrap();
            let bytes = slice.element(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
            for (pair, &value) in bytes.chunks_exact(2).zip(expected) {
                let found = step * f64::from(i16::from_le_bytes([pair[0], pair[1]]));
                assert!((found - factor * f64::from(value)).abs() <= 0.501 * step, "{series}: {found} is not {value}");
            }
        }
    }
    let slice = open_file(at.join("a.dcm/slice_001.dcm")).unwrap();
    let text = |tag| slice.element(tag).unwrap().to_str().unwrap().into_owned();
    assert_eq!([text(tags::PATIENT_NAME), text(tags::PATIENT_ID), text(tags::STUDY_INSTANCE_UID)], ["Doe^Jane", "42", "1.2.3"]);
    assert!(text(tags::IMAGE_COMMENTS).contains("OSEM 4 subsets; iteration 3"), "{}", text(tags::IMAGE_COMMENTS));
    assert!(slice.element_opt(tags::CONVOLUTION_KERNEL).unwrap().is_none());
    for name in ["a.dcm.json", "b.dcm.json"] {
        let of = record(at, name);
        assert_eq!((&of["calibration_bq_per_ml"], &of["image"]["unit"]), (&json!(250.5), &json!("Bq/mL")), "{name}");
    }
    // The same factor in other formats.
    run(at, "convert image.nii.gz c.nii --calibration 250.5");
    let (calibrated, _) = read_volume(&at.join("c.nii")).unwrap();
    assert_eq!(calibrated, original.converted(ValueScale::calibrated(250.5)));
    assert!(refusal(at, 2, "convert c.nii d.nii --calibration 2").contains("values of c.nii are in Bq/mL"));
    run(at, "convert image.nii.gz image.hv --calibration 2");
    let units = ["image.nii.gz.json", "image.hv.json"].map(|name| record(at, name)["image"]["unit"].clone());
    assert_eq!(units, [json!("counts/mm"), json!("Bq/mL")]);
    assert!(refusal(at, 2, "convert image.nii.gz e.nii --patient-id 42").contains("--patient-id is for DICOM series"));
    assert!(refusal(at, 2, "convert image.nii.gz e.dcm --study-uid 1.02").contains("no DICOM UID"));
    assert!(refusal(at, 2, "convert image.nii.gz e.dcm --calibration 0").contains("expected a number above 0"));
    assert!(!at.join("e.dcm").exists());
}

#[test]
fn what_a_file_does_not_say_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let foreign = put_foreign(at, "foreign.nii");
    assert!(refusal(at, 1, "convert foreign.nii a.dcm").contains("--unit"));
    assert!(refusal(at, 2, "convert foreign.nii a.nii --calibration 3").contains("set --unit"));
    assert!(refusal(at, 2, "convert foreign.nii a.nii --unit a.u.").contains("counts/mm or Bq/mL"));
    run(at, "convert foreign.nii a.dcm --unit Bq/mL");
    run(at, "convert foreign.nii b.hv --unit counts/mm --calibration 3");
    let (volume, _) = read_volume(&at.join("b.hv")).unwrap();
    assert_eq!((volume.unit, volume.as_slice()[5]), (Unit::BqPerMl, 15.0));
    let of = record(at, "b.hv.json");
    assert_eq!((&of["made"], &of["data"]["file"]), (&json!("elsewhere"), &json!("foreign.nii")));
    assert!(refusal(at, 2, "convert b.hv c.hv --unit counts/mm").contains("its unit, Bq/mL; omit --unit"));
    // An array without a record.
    write_volume(&at.join("bare.npy"), &foreign).unwrap();
    assert!(refusal(at, 1, "convert bare.npy c.nii").contains("--voxel-mm X,Y,Z"));
    run(at, "convert bare.npy c.nii --voxel-mm 2,2.5,3");
    assert_eq!(read_volume(&at.join("c.nii")).unwrap().0, foreign);
    assert!(refusal(at, 2, "convert c.nii d.nii --voxel-mm 2,2.5,3").contains("--voxel-mm is for NumPy arrays"));
    run(at, "convert c.nii e.npy");
    assert!(refusal(at, 2, "convert e.npy d.nii --voxel-mm 1,1,1").contains("e.npy.json"));
    assert!(!at.join("d.nii").exists());
}

#[test]
fn outputs_are_looked_at_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put_foreign(at, "foreign.nii");
    run(at, "simulate ball --epri 66 --points 32 --truth truth.nii -o ball.sweep");
    run(at, "simulate cylinder --scanner small --counts 1e4 -o scan.hs");
    assert!(refusal(at, 1, "convert truth.nii a.dcm").contains("free radicals"));
    assert!(failed(at, "io.unsupported.dicom", &["reconstruct", "ball.sweep", "-o", "a.dcm"]).contains("free radicals"));
    assert!(refusal(at, 1, "simulate ball --epri 66 --truth a.dcm -o b.sweep").contains("free radicals"));
    assert!(
        refusal(at, 2, "reconstruct ball.sweep --calibration 2 -o a.nii").contains("--calibration is for images in counts/mm")
    );
    assert!(refusal(at, 1, "backproject scan.hs --like foreign.nii -o a.dcm").contains("lengths in mm"));
    assert!(refusal(at, 1, "convert foreign.nii foreign.nii").contains("which this command reads"));
    assert!(refusal(at, 2, "convert foreign.nii a-proj.npy").contains("must end in"));
    assert!(refusal(at, 1, "convert scan.hs a.nii").contains("unsupported format for an image"));
    std::fs::write(at.join("a.npy.json"), "{}").unwrap();
    assert!(refusal(at, 1, "convert foreign.nii a.npy").contains("a.npy.json, which is another file"));
    std::fs::create_dir(at.join("a.dcm")).unwrap();
    std::fs::write(at.join("a.dcm/mine.txt"), "mine").unwrap();
    assert!(refusal(at, 1, "reconstruct scan.hs -o a.dcm").contains("the folder holds mine.txt"));
    assert!(failed(at, "io.unsupported.dicom", &["info", "a.dcm"]).contains("the folder contains no DICOM image"));
    assert!(!at.join("a.npy").exists() && !at.join("a.nii").exists() && !at.join("b.sweep").exists());
}

#[test]
fn voxels_that_are_no_numbers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut volume = put_foreign(at, "foreign.nii");
    volume.as_mut_slice()[7] = f32::NAN;
    write_volume(&at.join("holes.nii"), &volume).unwrap();
    let said = refusal(at, 3, "convert holes.nii a.dcm --unit Bq/mL");
    assert!(said.contains("1 of 24 voxels do not hold a finite number; in a DICOM series they are 0"), "{said}");
    assert!(at.join("a.dcm/slice_002.dcm").exists());
}

#[test]
fn regions_measured_on_an_image_have_the_rows_of_its_run() {
    let folder = folder_with_image();
    let at = folder.path();
    let curves = read_measurements(&at.join("curves.csv")).unwrap();
    for (image, iteration) in [("image.nii.gz", 3), ("image_it002.nii.gz", 2)] {
        run(at, &format!("measure {image} --rois rois.toml --csv measured.csv"));
        let measured = read_measurements(&at.join("measured.csv")).unwrap();
        let is_of_image = |row: &&Measurement| !row.roi.is_empty() && (row.iteration, row.subset) == (iteration, 0);
        let expected: Vec<&Measurement> = curves.iter().filter(is_of_image).collect();
        assert!(expected.len() > 50, "{}", expected.len());
        assert_eq!(measured[0], curves[0]);
        assert_eq!(measured[1..=expected.len()].iter().collect::<Vec<_>>(), expected, "{image}");
        // After them the medians: no more than half of a region lies below, nor above.
        let (volume, rois) = (read_volume(&at.join(image)).unwrap().0, read_rois(&at.join("rois.toml")).unwrap());
        let medians = &measured[expected.len() + 1..];
        assert_eq!(medians.len(), rois.len());
        for (row, roi) in medians.iter().zip(&rois) {
            let mask = roi.mask(&volume.grid);
            let part = |counts: &dyn Fn(f64) -> bool| -> f64 {
                let voxels = mask.voxels.iter().filter(|(at, _)| counts(f64::from(volume.as_slice()[*at as usize])));
                voxels.map(|(_, weight)| f64::from(*weight)).sum()
            };
            let half = 0.5 * part(&|_| true) + 1e-9;
            assert_eq!((row.quantity.as_str(), row.roi.as_str(), row.iteration), ("median", roi.name.as_str(), iteration));
            assert!(part(&|value| value < row.value) <= half && part(&|value| value > row.value) <= half, "{row:?}");
        }
        assert_eq!(record(at, "measured.csv.json")["progress"]["iteration"], json!(iteration));
    }
    // On the screen the same, shorter.
    let table = run(at, "measure image.nii.gz --rois rois.toml");
    let mean = curves.iter().find(|row| row.iteration == 3 && row.subset == 0 && row.quantity == "mean").unwrap();
    let line = table.lines().find(|line| line.trim_start().starts_with(&mean.roi)).unwrap();
    assert!(line.contains(&format!("{:.3}", mean.value)[..5]), "{}: {line}", mean.value);
    assert!(table.contains("counts/mm") && table.contains("SD / mean") && table.contains("median"), "{table}");
    let far = "version = 1\n[[roi]]\nname = \"far\"\nshape = \"sphere\"\ncentre_mm = [9e3, 0, 0]\nradius_mm = 10\n";
    std::fs::write(at.join("far.toml"), far).unwrap();
    let output = super::tomoscope(at, &["measure", "image.nii.gz", "--rois", "far.toml"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("outside the image, so that there is nothing to measure: 'far'"));
    assert!(refusal(at, 1, "measure image.nii.gz --rois rois.toml --csv rois.toml").contains("which this command reads"));
}

#[test]
fn two_images_are_compared_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut volume = put_foreign(at, "b.nii");
    // 5 more in voxel (3, 1, 1), which holds 19.
    volume.values[[1, 1, 3]] += 5.0;
    write_volume(&at.join("a.hv"), &volume).unwrap();
    let of: Value = serde_json::from_str(&run(at, "compare a.hv b.nii --json")).unwrap();
    // Σ i² of 0 … 23 is 4324.
    let norm = of["relative_difference"].as_f64().unwrap();
    assert!((norm - 5.0 / 4324f64.sqrt()).abs() < 1e-12, "{norm}");
    let largest = json!({"difference": 5.0, "voxel": [3, 1, 1], "position_mm": [3.0, 0.0, 1.5], "values": [24.0, 19.0]});
    assert_eq!(of["largest"], largest);
    // Deviations of b from its mean 11.5 have Σ d² = 1150 and at that voxel 7.5; a's mean is 5/24 more.
    let (products, of_b) = (1150.0 + 5.0 * 7.5, 1150f64);
    let of_a = 1150.0 + 2.0 * 5.0 * 7.5 + 25.0 - 25.0 / 24.0;
    let correlation = of["correlation"].as_f64().unwrap();
    assert!((correlation - products / (of_a * of_b).sqrt()).abs() < 1e-12, "{correlation}");
    let text = run(at, "compare a.hv b.nii");
    assert!(text.contains("voxel (3, 1, 1) counted from 0, at (3.00, 0.00, 1.50) mm") && text.contains("7.603738e-2"), "{text}");
    let of: Value = serde_json::from_str(&run(at, "compare b.nii b.nii --json")).unwrap();
    assert_eq!([&of["relative_difference"], &of["largest"]], [&json!(0.0), &Value::Null]);
    // Another grid, and nothing that could be divided by.
    let grid = Grid::new([4, 3, 2], [2.0, 2.5, 3.0], [0.0; 3]).unwrap();
    write_volume(&at.join("moved.hv"), &Volume { grid, ..volume.clone() }).unwrap();
    let said = failed(at, "command.input", &["compare", "a.hv", "moved.hv"]);
    assert!(said.contains("the first at (0.000"), "{said}");
    write_volume(&at.join("zeros.hv"), &Volume { unit: Unit::Unknown, ..Volume::filled(volume.grid.clone(), 0.0) }).unwrap();
    let of: Value = serde_json::from_str(&run(at, "compare a.hv zeros.hv --json")).unwrap();
    assert_eq!(
        (&of["relative_difference"], &of["correlation"], &of["largest"]["difference"]),
        (&Value::Null, &Value::Null, &json!(24.0))
    );
}

#[test]
fn a_filtered_image_says_so_in_dicom_and_nifti() {
    let folder = folder_with_image();
    let at = folder.path();
    for name in ["f.dcm", "f.nii"] {
        run(at, &format!("reconstruct scan.hs --image 31,29,9 --subsets 4 --iterations 3 --post-filter-mm 6 -o {name}"));
    }
    let slice = open_file(at.join("f.dcm/slice_001.dcm")).unwrap();
    let text = |tag| slice.element(tag).unwrap().to_str().unwrap().trim_end().to_owned();
    assert_eq!(text(tags::CONVOLUTION_KERNEL), "Gauss 6.0 mm");
    assert_eq!(text(tags::RECONSTRUCTION_METHOD), "OSEM 4 subsets, iteration 3");
    let said = "post-filter 6.0 mm; OSEM 4 subsets; iteration 3; tomoscope";
    let series = text(tags::SERIES_DESCRIPTION);
    assert!(series.starts_with(said) && series.chars().count() <= 64, "{series}");
    // Cut between words, which all stand in the comment too.
    let comments = text(tags::IMAGE_COMMENTS);
    let rest = comments.strip_prefix(&series).unwrap();
    assert!(rest.is_empty() || rest.starts_with([';', ',', ' ']), "{series} of {comments}");
    let bytes = std::fs::read(at.join("f.nii")).unwrap();
    let descrip = String::from_utf8_lossy(&bytes[148..228]).trim_end_matches('\0').to_owned();
    assert!(descrip.starts_with(said) && comments.starts_with(&descrip), "{descrip} of {comments}");
    // Converted, it still says so.
    run(at, "convert f.nii g.dcm");
    let slice = open_file(at.join("g.dcm/slice_001.dcm")).unwrap();
    assert_eq!(slice.element(tags::CONVOLUTION_KERNEL).unwrap().to_str().unwrap().trim_end(), "Gauss 6.0 mm");
}
