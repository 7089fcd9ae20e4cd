//! CT as attenuation: `tomoscope mu-map`, and `--ct` of `reconstruct`.

use std::path::Path;

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::open_file;
use serde_json::Value;
use tomoscope::data::{ImageChoice, Unit, Volume};
use tomoscope::io::{read_images, read_volume, write_volume};

use super::{done, failed, refused};

fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

fn record(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// Writes the CT of which an attenuation map is: water has 0 HU.
fn put_ct(folder: &Path, map: &str) {
    let (mut ct, _) = read_volume(&folder.join(map)).unwrap();
    ct.as_mut_slice().iter_mut().for_each(|value| *value = (*value / 0.096 - 1.0) * 1000.0);
    write_volume(&folder.join("ct.nii.gz"), &Volume { unit: Unit::Hounsfield, ..ct }).unwrap();
}

/// Mean of the voxels within 20 mm of the centre.
fn mean(volume: &Volume) -> f64 {
    let [nx, ny, _] = volume.grid.size;
    let (mut sum, mut num) = (0.0, 0);
    for (index, value) in volume.as_slice().iter().enumerate() {
        let [x, y, z] = volume.grid.mm_from_voxel([index % nx, index / nx % ny, index / nx / ny].map(|at| at as f64));
        if (x * x + y * y + z * z).sqrt() < 20.0 {
            (sum, num) = (sum + f64::from(*value), num + 1);
        }
    }
    sum / f64::from(num)
}

#[test]
fn ct_corrects_the_attenuation_as_the_map_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 3e5 --seed 3 --attenuation --list-mode -o events.petsird");
    put_ct(at, "events_mu.nii.gz");
    // The map of the CT.
    let text = refused(at, 1, &["mu-map", "ct.nii.gz", "-o", "mu.nii.gz"]);
    assert!(text.contains("KVP (0018,0060)") && text.contains("--kvp"), "{text}");
    run(at, "mu-map ct.nii.gz --kvp 120 --like events_mu.nii.gz -o mu.nii.gz");
    let [own, map] = ["mu.nii.gz", "events_mu.nii.gz"].map(|name| read_volume(&at.join(name)).unwrap().0);
    assert!(own.grid.same_as(&map.grid) && own.unit == Unit::PerCm);
    assert!((mean(&own) - 0.096).abs() < 1e-6 && (own.sum() / map.sum() - 1.0).abs() < 0.01, "{} {}", mean(&own), own.sum());
    let of_map = record(at, "mu.nii.gz.json");
    assert_eq!((&of_map["made"], &of_map["data"]["file"]), (&"attenuation-map".into(), &"ct.nii.gz".into()));
    assert_eq!(of_map["corrections"]["ct"], serde_json::json!({"kvp": 120.0, "fwhm_mm": 6.0, "shift_mm": [0.0, 0.0, 0.0]}));
    // Events.
    let usual = "--algorithm mlem --iterations 3 --subsets 1 --voxel-mm 6,6,6";
    run(at, &format!("reconstruct events.petsird --attenuation events_mu.nii.gz {usual} -o by_map.nii.gz"));
    run(at, &format!("reconstruct events.petsird --ct ct.nii.gz --kvp 120 --ct-fwhm-mm 4 {usual} -o by_ct.nii.gz"));
    run(at, &format!("reconstruct events.petsird {usual} -o without.nii.gz"));
    let [by_map, by_ct, without] =
        ["by_map.nii.gz", "by_ct.nii.gz", "without.nii.gz"].map(|name| mean(&read_volume(&at.join(name)).unwrap().0));
    println!("mean at the centre: {by_map} by the map, {by_ct} by CT, {without} without");
    assert!((by_ct / by_map - 1.0).abs() < 0.01 && by_map > 1.1 * without, "{by_map} {by_ct} {without}");
    let of_image = record(at, "by_ct.nii.gz.json");
    assert_eq!(of_image["corrections"]["attenuation"], "ct.nii.gz");
    assert_eq!((&of_image["corrections"]["ct"]["kvp"], &of_image["corrections"]["ct"]["fwhm_mm"]), (&120.0.into(), &4.0.into()));
    // CT beside the scanner.
    let arguments = format!("reconstruct events.petsird --ct ct.nii.gz --kvp 120 --ct-shift-mm 0,0,900 {usual} -o far.nii.gz");
    let text = refused(at, 1, &arguments.split(' ').collect::<Vec<_>>());
    assert!(text.contains("no part of the field of view") && text.contains("--ct-shift-mm"), "{text}");
    let arguments = format!("reconstruct events.petsird --ct ct.nii.gz --kvp 120 --attenuation ct.nii.gz {usual} -o far.nii.gz");
    refused(at, 2, &arguments.split(' ').collect::<Vec<_>>());
}

#[test]
fn ct_corrects_the_attenuation_of_sinograms() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 3e5 --seed 3 --attenuation --list-mode -o events.petsird");
    put_ct(at, "events_mu.nii.gz");
    run(at, "simulate cylinder --scanner small --counts 3e5 --seed 3 --attenuation -o scan.hs");
    let usual = "--iterations 1 --subsets 4 --image 31,31,9";
    run(at, &format!("reconstruct scan.hs {usual} -o by_factors.nii.gz"));
    run(at, &format!("reconstruct scan.hs --no-corrections --ct ct.nii.gz --kvp 120 --ct-fwhm-mm 4 {usual} -o by_ct.nii.gz"));
    let [by_factors, by_ct] = ["by_factors.nii.gz", "by_ct.nii.gz"].map(|name| mean(&read_volume(&at.join(name)).unwrap().0));
    assert!((by_ct / by_factors - 1.0).abs() < 0.01, "{by_factors} {by_ct}");
    // Factors of the folder that include the attenuation.
    let arguments = format!("reconstruct scan.hs --ct ct.nii.gz --kvp 120 {usual} -o twice.nii.gz");
    let text = failed(at, "study", &arguments.split(' ').collect::<Vec<_>>());
    assert!(text.contains("scan_mult.hs") && text.contains("ct.nii.gz"), "{text}");
    let corrections = &record(at, "by_ct.nii.gz.json")["corrections"];
    assert_eq!([&corrections["multiplicative"], &corrections["attenuation"]], [&Value::Null, &"ct.nii.gz".into()]);
}

/// The name of a file of a series, also without an ending, means all of its files, and no other file of the folder.
#[test]
fn an_image_is_up_to_date_as_long_as_the_whole_series_of_its_ct_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 -o scan.hs --truth truth.nii.gz");
    run(at, "convert truth.nii.gz series.dcm");
    std::fs::create_dir(at.join("ct")).unwrap();
    let put = |number: usize, series: &str| {
        let mut slice = open_file(at.join(format!("series.dcm/slice_{:03}.dcm", number))).unwrap();
        for (tag, vr, text) in [(tags::MODALITY, VR::CS, "CT"), (tags::SERIES_INSTANCE_UID, VR::UI, series)] {
            slice.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
        }
        slice
    };
    let num_slices = std::fs::read_dir(at.join("series.dcm")).unwrap().count();
    (1..=num_slices).for_each(|number| put(number, "2.25.7").write_to_file(at.join(format!("ct/IM{number}"))).unwrap());
    let arguments =
        "reconstruct scan.hs --ct ct/IM1 --kvp 120 --iterations 1 --subsets 4 --image 31,31,9 -o ct/image.nii.gz --skip-done";
    assert!(!run(at, arguments).contains("up to date"));
    assert!(run(at, arguments).contains("up to date, skipped"));
    put(1, "2.25.8").write_to_file(at.join("ct/other")).unwrap();
    assert!(run(at, arguments).contains("up to date, skipped"));
    // Another slope of one of the other slices.
    let mut last = put(num_slices, "2.25.7");
    last.put(DataElement::new(tags::RESCALE_INTERCEPT, VR::DS, PrimitiveValue::from("-500")));
    last.write_to_file(at.join(format!("ct/IM{num_slices}"))).unwrap();
    assert!(!run(at, arguments).contains("up to date"));
    assert!(run(at, arguments).contains("up to date, skipped"));
}

#[test]
fn a_converted_oblique_series_is_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let series = tomoscope_support::in_repository("tests/data/dicom/oblique");
    done(folder.path(), &["convert", series.to_str().unwrap(), "oblique.nii.gz"]);
    let read = |path: &Path| read_images(path, ImageChoice::Only).unwrap().0;
    let [before, after] = [series.as_path(), &folder.path().join("oblique.nii.gz")].map(read);
    let [old, new] = [&before, &after].map(|series| series.images[0].volume.clone());
    assert_eq!((new.grid.size, new.as_slice()), (old.grid.size, old.as_slice()));
    let [old_place, new_place] = [&before, &after].map(|series| series.placement.unwrap());
    for corner in 0..8 {
        let at = [0, 1, 2].map(|axis| f64::from(corner >> axis & 1) * (old.grid.size[axis] as f64 - 1.0));
        let [old, new] = [old_place.world_mm(old.grid.mm_from_voxel(at)), new_place.world_mm(new.grid.mm_from_voxel(at))];
        assert!(old.iter().zip(new).all(|(old, new)| (old - new).abs() < 1e-4), "{old:?} {new:?}");
    }
    let text = refused(folder.path(), 1, &["convert", series.to_str().unwrap(), "oblique.npy"]);
    assert!(text.contains("NIfTI (.nii.gz) or DICOM (.dcm)"), "{text}");
}

#[test]
fn a_series_without_its_tube_voltage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let series = tomoscope_support::in_repository("tests/data/dicom/ct");
    let series = series.to_str().unwrap();
    let text = refused(folder.path(), 1, &["mu-map", series, "-o", "mu.nii.gz"]);
    assert!(text.contains("KVP (0018,0060)"), "{text}");
    let text = refused(folder.path(), 1, &["mu-map", series, "--kvp", "200", "-o", "mu.nii.gz"]);
    assert!(text.contains("200 kV"), "{text}");
    done(folder.path(), &["mu-map", series, "--kvp", "135", "--fwhm-mm", "0", "-o", "mu.nii.gz"]);
    // Its largest value, 3064 HU, at 135 kV: between those at 130 and 140 kV.
    let (_, high) = read_volume(&folder.path().join("mu.nii.gz")).unwrap().0.range();
    let expected = (0.5 * (5.51e-5 + 5.64e-5) * 4064.0 + 0.5 * (4.24e-2 + 4.08e-2)) as f32;
    assert!((high / expected - 1.0).abs() < 1e-3, "{high} is not {expected}");
}
