//! `tomoscope nema`: the figures on standard output, as JSON, as measured numbers, and in the report that other software reads.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tomoscope::data::{Origin, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::rois::read_rois;
use tomoscope::io::write_volume;
use tomoscope::phantom;
use tomoscope::plan::{DataRecord, DeviceRecord, ImageKind, ImageRecord, Provenance, Start};
use tomoscope::recon::gaussian_filter;
use tomoscope::task::Task;

use super::{done, failed, refused, tomoscope};

/// The body phantom of 2001, a little blurred, on voxels of 3 mm, with its record.
fn write_image(path: &Path) {
    let phantom = phantom::by_name("nema-iq-2001", &tomoscope::scanner::find("discovery-ste").unwrap().geometry).unwrap();
    let grid = Grid::centred([110, 88, 45], [3.0; 3]).unwrap();
    let truth: Volume = phantom.truth(&grid, 0.5, &Task::new()).unwrap();
    let image = gaussian_filter(&truth, 6.0);
    let data = DataRecord::new("a phantom by name", &Origin::default());
    let device = DeviceRecord { name: "a device".into(), threads: 1 };
    let record = ImageRecord::new(&image.grid, image.unit);
    let made = Provenance {
        post_filter_fwhm_mm: Some(6.0),
        ..Provenance::new(ImageKind::TrueImage, data, record, device, Start::now().times())
    };
    assert_eq!(made.beside([path]).write_image(path, &image).unwrap(), None);
}

#[test]
fn contrasts_of_several_images_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("iq.nii.gz"));
    let truth = tomoscope::io::read_volume(&at.join("iq.nii.gz")).unwrap().0;
    write_volume(&at.join("wide.nii.gz"), &gaussian_filter(&truth, 8.0)).unwrap();
    let text = done(at, &["nema", "iq.nii.gz", "--ratio", "4", "--compare", "wide.nii.gz", "--compare", "iq.nii.gz"]);
    let (_, table) = text.split_once("Contrast of the spheres, %").unwrap();
    assert!(
        table.lines().any(|line| line.split_whitespace().eq("sphere diameter, mm iq.nii.gz wide.nii.gz iq.nii.gz".split(' '))),
        "{text}"
    );
    let rows: Vec<Vec<f64>> = table
        .lines()
        .filter(|line| line.trim_start().starts_with("hot") || line.trim_start().starts_with("cold"))
        .map(|line| line.split_whitespace().skip(1).map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 6, "{table}");
    // The wider image recovers less of every sphere, the small ones most of all.
    assert!(rows.iter().all(|row| row[1] == row[3] && row[2] < row[1]), "{rows:?}");
    assert!(rows[0][1] - rows[0][2] > 5.0, "{rows:?}");
    assert!(refused(at, 2, &["nema", "iq.nii.gz", "--compare", "wide.nii.gz", "--json"]).contains("--compare"));
}

#[test]
fn an_image_is_measured_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("iq.nii.gz"));
    let text = done(at, &["nema", "iq.nii.gz", "--ratio", "4", "--report", "iq.pdf", "--csv", "iq.csv", "--rois", "iq.toml"]);
    let figures: Value = serde_json::from_str(&done(at, &["nema", "iq.nii.gz", "--ratio", "4", "--json"])).unwrap();
    assert_eq!(figures["provenance"]["data"]["title"], "a phantom by name");
    // The ratio of the phantom is 4.
    for (ratio, is_reported) in [("2", true), ("3.5", false), ("4", false), ("10", true)] {
        let output = tomoscope(at, &["nema", "iq.nii.gz", "--ratio", ratio]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.contains("is that the ratio of this scan?"), is_reported, "{ratio}: {said}");
    }
    let spheres = figures["nema_nu_2"]["spheres"].as_array().unwrap();
    assert_eq!(spheres.len(), 6);
    let percent = |value: &Value| format!("{:.1}", 100.0 * value.as_f64().unwrap());
    let rows = read_measurements(&at.join("iq.csv")).unwrap();
    for sphere in spheres {
        let (diameter, is_hot) = (sphere["diameter_mm"].as_f64().unwrap(), sphere["is_hot"].as_bool().unwrap());
        assert_eq!(is_hot, diameter < 25.0);
        let contrast = sphere["contrast"].as_f64().unwrap();
        // Hot at 10 mm, where blur takes most, and nearly whole at 37 mm.
        assert!(contrast > 0.2 && contrast < 1.0, "{diameter} mm: {contrast}");
        let line = text.lines().find(|line| line.split_whitespace().nth(1) == Some(&diameter.to_string())).unwrap();
        assert!(line.contains(&percent(&sphere["contrast"])) && line.contains(&percent(&sphere["variability"])), "{line}");
        let name = format!("{} sphere {diameter} mm", if is_hot { "hot" } else { "cold" });
        let row = rows.iter().find(|row| row.roi == name && row.quantity == "contrast_recovery").unwrap();
        assert_eq!(row.value, contrast);
    }
    let lung = figures["nema_nu_2"]["mean_lung_residual"].as_f64().unwrap();
    assert!((0.0..0.05).contains(&lung), "{lung}");
    assert_eq!(read_rois(&at.join("iq.toml")).unwrap().len(), 6 + 60 + 1);
    check_pdf(&at.join("iq.pdf"), spheres, &percent);
}

/// The report's text as another program finds it; where that is not installed only the document's frame is looked at.
fn check_pdf(pdf: &Path, spheres: &[Value], percent: &dyn Fn(&Value) -> String) {
    let bytes = std::fs::read(pdf).unwrap();
    assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 5_000, "{} bytes", bytes.len());
    let Ok(found) = Command::new("pdftotext").args(["-layout", &pdf.to_string_lossy(), "-"]).output() else {
        println!("skipped: no pdftotext");
        return;
    };
    let text = String::from_utf8(found.stdout).unwrap();
    for sphere in spheres {
        for key in ["contrast", "variability", "voxel_noise"] {
            assert!(text.contains(&percent(&sphere[key])), "{key} {} is not in\n{text}", percent(&sphere[key]));
        }
    }
    for words in [
        "NEMA NU 2 image quality",
        "iq.nii.gz",
        "Lung residual",
        "hot sphere",
        "page 2 of 2",
        "a phantom by name",
        "post-filter 6 mm",
    ] {
        assert!(text.contains(words), "'{words}' is not in\n{text}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_volume(&at.join("flat.nii"), &Volume::filled(Grid::centred([40; 3], [4.0; 3]).unwrap(), 1.0)).unwrap();
    assert!(failed(at, "nema", &["nema", "flat.nii", "--report", "a.pdf"]).contains("not that of the NEMA body phantom"));
    assert!(!at.join("a.pdf").exists());
    assert!(refused(at, 2, &["nema", "flat.nii", "--report", "a.txt"]).contains("must end in .pdf"));
    assert!(refused(at, 2, &["nema", "flat.nii", "--ratio", "1"]).contains("leaves no contrast"));
    assert!(refused(at, 2, &["nema", "flat.nii", "--order", "10,10,13,17,22,28"]).contains("each once"));
    failed(at, "io.not-found", &["nema", "none.nii"]);
}

#[test]
fn the_small_animal_phantom_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let phantom = phantom::by_name("nema-nu4", &tomoscope::scanner::find("discovery-ste").unwrap().geometry).unwrap();
    let truth = phantom.truth(&Grid::centred([80, 80, 110], [0.5; 3]).unwrap(), 2.0, &Task::new()).unwrap();
    write_volume(&at.join("mouse.nii"), &gaussian_filter(&truth, 1.5)).unwrap();
    let text = done(at, &["nema", "mouse.nii", "--small-animal", "--csv", "mouse.csv"]);
    let figures: Value = serde_json::from_str(&done(at, &["nema", "mouse.nii", "--small-animal", "--json"])).unwrap();
    let figures = &figures["nema_nu_4"];
    assert!((figures["uniform_mean"].as_f64().unwrap() - 2.0).abs() < 0.01);
    let rods = figures["rods"].as_array().unwrap();
    let rows = read_measurements(&at.join("mouse.csv")).unwrap();
    for (rod, diameter) in rods.iter().zip(1..) {
        let ratio = rod["ratio"].as_f64().unwrap();
        assert!(text.contains(&format!("{ratio:.3}")), "{ratio} is not in\n{text}");
        let row = rows.iter().find(|row| row.roi == format!("rod {diameter} mm") && row.quantity == "recovery").unwrap();
        assert_eq!(row.value, ratio);
    }
    assert_eq!(rows.iter().filter(|row| row.quantity == "spill_over" && row.value < 0.01).count(), 2);
    done(at, &["nema", "mouse.nii", "--small-animal", "--report", "mouse.pdf", "--rois", "mouse.toml"]);
    assert!(std::fs::read(at.join("mouse.pdf")).unwrap().starts_with(b"%PDF-"));
    assert_eq!(read_rois(&at.join("mouse.toml")).unwrap().len(), 8);
    assert!(refused(at, 2, &["nema", "mouse.nii", "--small-animal", "--ratio", "4"]).contains("cannot be used with"));
    assert!(failed(at, "nema", &["nema", "mouse.nii"]).contains("not that of the NEMA body phantom"));
}

#[test]
fn figures_of_voxels_without_a_number_are_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_image(&at.join("iq.nii"));
    done(at, &["nema", "iq.nii", "--ratio", "4", "--rois", "iq.toml"]);
    let mut image = tomoscope::io::read_volume(&at.join("iq.nii")).unwrap().0;
    let background = read_rois(&at.join("iq.toml")).unwrap().into_iter().find(|roi| roi.name.contains("background")).unwrap();
    let mask = background.mask(&image.grid);
    image.as_mut_slice()[mask.voxels[0].0 as usize] = f32::NAN;
    write_volume(&at.join("nan.nii"), &image).unwrap();
    let said = refused(at, 3, &["nema", "nan.nii", "--ratio", "4"]);
    assert!(said.contains("not finite, as the image has voxels without a number"), "{said}");
    // Outside of all regions it changes no figure.
    let mut image = tomoscope::io::read_volume(&at.join("iq.nii")).unwrap().0;
    image.as_mut_slice()[0] = f32::NAN;
    write_volume(&at.join("corner.nii"), &image).unwrap();
    done(at, &["nema", "corner.nii", "--ratio", "4"]);
}
