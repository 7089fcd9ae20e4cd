//! Facts of a PET scan in written DICOM series: other programs' series written again have the same uptake values, positions, decay
//! factors and corrections.

use std::path::{Path, PathBuf};
use std::process::Command;

use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, Tag, open_file};
use tomoscope::coded::Coded as _;
use tomoscope::data::{ImageChoice, ImageSeries, Notice, PetImage, Unit, ValueScale, Volume, mean_decay};
use tomoscope::data::{SuvDefinition, suv_factor};
use tomoscope::io::dicom::{SeriesContext, write_series};
use tomoscope::io::{ImageDescription, read_images, read_volume};

use super::data::data_file;
use super::dicom_read::{changed, put, read, series_path, vendor_series};
use super::folder;

/// Writes the first image of a series, in another unit if a scale is given.
fn write_again(series: &ImageSeries, scale: Option<ValueScale>, path: &Path) -> Result<(), tomoscope::io::IoError> {
    let volume = &series.images[0].volume;
    let converted = scale.map(|scale| volume.converted(scale));
    let description = ImageDescription { pet: series.pet_image(0, series.pet.as_ref()), ..ImageDescription::default() };
    let context = SeriesContext::of_series(&series.names, series.placement);
    write_series(path, converted.as_ref().unwrap_or(volume), &description, &context)
}

fn slices(series: &Path) -> Vec<(PathBuf, DefaultDicomObject)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(series).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), open_file(path).unwrap())).collect()
}

fn text(slice: &DefaultDicomObject, tag: Tag) -> String {
    slice.element(tag).unwrap_or_else(|error| panic!("{error}")).to_str().unwrap().trim().to_owned()
}

fn number(slice: &DefaultDicomObject, tag: Tag) -> f64 {
    text(slice, tag).parse().unwrap()
}

/// Runs `dciodvfy` on each slice.
fn assert_valid(series: &Path) {
    for (path, _) in slices(series) {
        let Ok(output) = Command::new("dciodvfy").arg(&path).output() else {
            println!("skipped: no dciodvfy");
            return;
        };
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(said.contains("PETImage") && !said.contains("Error"), "{}: {said}", path.display());
    }
}

fn assert_same_values(found: &Volume, expected: &Volume) {
    assert!(found.grid.same_as(&expected.grid), "{} is not {}", found.grid.text(), expected.grid.text());
    let size = found.grid.size[0] * found.grid.size[1];
    for (found, expected) in found.as_slice().chunks_exact(size).zip(expected.as_slice().chunks_exact(size)) {
        let step = expected.iter().fold(0f32, |max, value| max.max(value.abs())) / 32767.0;
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 0.51 * step));
    }
}

#[test]
fn vendors_series_keep_their_uptake_values() {
    let Some(path) = data_file("suv/cases.json") else { return };
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in cases.as_array().unwrap() {
        let folder = folder();
        let source = folder.path().join("source");
        std::fs::create_dir(&source).unwrap();
        vendor_series(case, &source);
        for entry in std::fs::read_dir(&source).unwrap() {
            let path = entry.unwrap().path();
            let mut slice = open_file(&path).unwrap();
            put(&mut slice, tags::DECAY_FACTOR, "1.0123");
            slice.write_to_file(&path).unwrap();
        }
        let series = read(&source);
        let factor = |series: &ImageSeries| suv_factor(series.pet.as_ref().unwrap(), SuvDefinition::BodyWeight).unwrap();
        let expected = factor(&series);
        if series.unit() == Unit::BqPerMl {
            let again = folder.path().join("bq.dcm");
            write_again(&series, None, &again).unwrap();
            assert_valid(&again);
            let found = read(&again);
            assert!((factor(&found) / expected - 1.0).abs() < 1e-8, "{}", case["case"]);
            assert_same_values(&found.images[0].volume, &series.images[0].volume);
        }
        let scale = ValueScale { unit: Unit::SuvBodyWeight, factor: expected };
        let again = folder.path().join("suv.dcm");
        write_again(&series, Some(scale), &again).unwrap();
        assert_valid(&again);
        let found = read(&again);
        assert_eq!((found.unit(), factor(&found)), (Unit::SuvBodyWeight, 1.0), "{}", case["case"]);
        assert_same_values(&found.images[0].volume, &series.images[0].volume.converted(scale));
    }
}

#[test]
fn facts_and_corrections_are_carried() {
    let source = changed("pet", |_, slice| put(slice, tags::DECAY_FACTOR, "1.003162"));
    let folder = folder();
    let again = folder.path().join("a.dcm");
    let series = read(source.path());
    write_again(&series, None, &again).unwrap();
    assert_valid(&again);
    let (_, slice) = &slices(&again)[0];
    let texts = [
        (tags::PATIENT_NAME, "Test^Phantom"),
        (tags::PATIENT_ID, "T1"),
        (tags::PATIENT_SEX, "M"),
        (tags::PATIENT_WEIGHT, "70"),
        (tags::PATIENT_SIZE, "1.75"),
        (tags::STUDY_INSTANCE_UID, "2.25.1"),
        (tags::FRAME_OF_REFERENCE_UID, "2.25.99"),
        (tags::STUDY_DATE, "20260301"),
        (tags::SERIES_DATE, "20260301"),
        (tags::SERIES_TIME, "120000"),
        (tags::ACQUISITION_TIME, "120001"),
        (tags::ACTUAL_FRAME_DURATION, "60000"),
        (tags::UNITS, "BQML"),
        (tags::DECAY_CORRECTION, "START"),
        (tags::CORRECTED_IMAGE, "DECY\\ATTN"),
        (tags::DECAY_FACTOR, "1.003162"),
    ];
    for (tag, expected) in texts {
        assert_eq!(text(slice, tag), expected, "{tag}");
    }
    // The moment at which the activity is 1/factor of that at the start.
    let reference_ms = number(slice, tags::FRAME_REFERENCE_TIME);
    assert!(((-reference_ms / 6586.2e3).exp2() * 1.003162 - 1.0).abs() < 1e-8, "{reference_ms}");
    let tracer = &slice.element(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE).unwrap().items().unwrap()[0];
    let of_tracer = |tag: Tag| tracer.element(tag).unwrap().to_str().unwrap().trim().to_owned();
    assert_eq!(of_tracer(tags::RADIONUCLIDE_TOTAL_DOSE), "370000000");
    assert_eq!(of_tracer(tags::RADIONUCLIDE_HALF_LIFE), "6586.2");
    assert_eq!(of_tracer(tags::RADIOPHARMACEUTICAL_START_DATE_TIME), "20260301110000");
    assert_eq!(of_tracer(tags::RADIOPHARMACEUTICAL), "FDG");
    let found = read(&again);
    let (found, expected) = (found.pet.unwrap(), series.pet.unwrap());
    assert_eq!((found.corrections, found.decay_reference), (expected.corrections, expected.decay_reference));
    assert_eq!(found.scan_start.unwrap().value, expected.scan_start.unwrap().value);
    assert_eq!(found.injection.unwrap().value, expected.injection.unwrap().value);
}

#[test]
fn each_slice_keeps_its_decay_factor() {
    let factors = ["1.01", "1.02", "1.04"];
    let source = changed("pet", |index, slice| put(slice, tags::DECAY_FACTOR, factors[index]));
    let folder = folder();
    let again = folder.path().join("a.dcm");
    write_again(&read(source.path()), None, &again).unwrap();
    for (_, slice) in slices(&again) {
        // In DICOM's z, as `changed` sorts them.
        let z: Vec<f64> = slice.element(tags::IMAGE_POSITION_PATIENT).unwrap().to_multi_float64().unwrap();
        let index = ((z[2] + 50.0) / 3.27).round() as usize;
        assert_eq!(text(&slice, tags::DECAY_FACTOR), factors[index]);
    }
    assert_eq!(read(&again).images[0].decay_factors, [1.04, 1.02, 1.01]);
}

/// Frames of 60 s from 1 s and, of the last slice, from 7201 s after the start of the scan: exp(λt) · λd / (1 − exp(−λd)).
#[test]
fn a_missing_decay_factor_is_computed() {
    let (series, notices) = read_images(&series_path("pet"), ImageChoice::Only).unwrap();
    // λ = ln 2 / 6586.2 s: exp(0.000105242) · 0.006314541 / (1 − exp(−0.006314541)).
    let expected = 1.003_266_17;
    assert!((series.images[0].decay_factors[0] - expected).abs() < 1e-8, "{:?}", series.images[0].decay_factors);
    assert_eq!(series.images[0].decay_factors.len(), 1);
    let is_said = |notices: &[Notice]| {
        notices.iter().any(|notice| notice.text.contains("DecayFactor (0054,1321) is missing; it is computed"))
    };
    assert!(is_said(&notices), "{notices:?}");
    let folder = folder();
    let again = folder.path().join("a.dcm");
    write_again(&series, None, &again).unwrap();
    assert_valid(&again);
    let (_, slice) = &slices(&again)[0];
    assert!((number(slice, tags::DECAY_FACTOR) - expected).abs() < 1e-8);
    assert!((number(slice, tags::FRAME_REFERENCE_TIME) - 1e3 * 6586.2 * expected.log2()).abs() < 0.1);
    // Beds with their own times.
    let source = changed("pet", |index, slice| {
        if index == 2 {
            put(slice, tags::ACQUISITION_TIME, "140001");
            let reference_ms = number(slice, tags::FRAME_REFERENCE_TIME) + 7.2e6;
            put(slice, tags::FRAME_REFERENCE_TIME, &reference_ms.to_string());
        }
    });
    let rate = std::f64::consts::LN_2 / 6586.2;
    let within = 60.0 * rate / (1.0 - (-60.0 * rate).exp());
    let found = read(source.path()).images[0].decay_factors.clone();
    for (found, start) in found.iter().zip([7201.0, 1.0, 1.0]) {
        assert!((found / ((rate * start).exp() * within) - 1.0).abs() < 1e-12, "{found}");
    }
    assert_eq!(found.len(), 3);
    // Given factors stay, and one that only a part of the slices has is not completed.
    let given = changed("pet", |_, slice| put(slice, tags::DECAY_FACTOR, "1.5"));
    let (series, notices) = read_images(given.path(), ImageChoice::Only).unwrap();
    assert!(series.images[0].decay_factors == [1.5] && !is_said(&notices));
    let partly = changed("pet", |index, slice| _ = (index == 0).then(|| put(slice, tags::DECAY_FACTOR, "1.5")));
    assert!(read(partly.path()).images[0].decay_factors.is_empty());
}

#[test]
fn a_decay_correction_without_its_factor_or_start_is_not_written() {
    let folder = folder();
    for (tag, missing) in [
        (Some(tags::ACTUAL_FRAME_DURATION), "missing for it: duration of the frame"),
        (Some(tags::ACQUISITION_TIME), "missing for it: start of the frame"),
        (Some(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE), "missing for it: half-life"),
        (None, "the factor of the correction to the injection"),
    ] {
        let source = changed("pet", |_, slice| match tag {
            Some(tag) => _ = slice.remove_element(tag),
            None => put(slice, tags::DECAY_CORRECTION, "ADMIN"),
        });
        let error = write_again(&read(source.path()), None, &folder.path().join("a.dcm")).unwrap_err();
        assert_eq!(error.code(), "io.unsupported.dicom");
        assert!(error.to_string().contains(missing), "{error}");
    }
    let series = read(&series_path("pet"));
    let mut known = series.pet_image(0, series.pet.as_ref()).unwrap();
    known.decay_factors = vec![1.01];
    known.scan.scan_start = None;
    let description = ImageDescription { pet: Some(known), ..ImageDescription::default() };
    let volume = &series.images[0].volume;
    let error = write_series(&folder.path().join("a.dcm"), volume, &description, &SeriesContext::default()).unwrap_err();
    assert_eq!(error.code(), "io.unsupported.dicom");
    let uptake = volume.converted(ValueScale { unit: Unit::SuvBodyWeight, factor: 1.0 });
    let error = write_series(&folder.path().join("a.dcm"), &uptake, &ImageDescription::default(), &SeriesContext::default());
    assert_eq!(error.unwrap_err().code(), "io.unsupported.dicom");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_oblique_series_keeps_its_place() {
    let source = changed("oblique", |_, slice| put(slice, tags::DECAY_FACTOR, "1.01"));
    let folder = folder();
    let again = folder.path().join("a.dcm");
    let series = read(source.path());
    write_again(&series, None, &again).unwrap();
    assert_valid(&again);
    let found = read(&again);
    let [found_at, expected_at] = [found.placement.unwrap(), series.placement.unwrap()];
    let (found, expected) = (&found.images[0].volume, &series.images[0].volume);
    let [nx, ny, nz] = expected.grid.size;
    assert_eq!(found.grid.size, expected.grid.size);
    for voxel in [[0, 0, 0], [nx - 1, 0, 0], [0, ny - 1, nz - 1]] {
        let at = voxel.map(|index| index as f64);
        let world = expected_at.world_mm(expected.grid.mm_from_voxel(at));
        let own = found.grid.voxel_from_mm(found_at.own_mm(world));
        assert!((0..3).all(|a| (own[a] - at[a]).abs() < 1e-4), "{own:?} is not {at:?}");
        let [i, j, k] = voxel;
        let (found, expected) = (found.values[[k, j, i]], expected.values[[k, j, i]]);
        assert!((found - expected).abs() <= 1e-3 * expected.abs(), "{found} is not {expected}");
    }
}

/// Frames of a dynamic series: the factor of the correction to the start is 1 over the mean decay of the frame.
#[test]
fn frames_without_decay_correction_have_none() {
    let path = series_path("dynamic");
    let (series, _) = read_images(&path, ImageChoice::Number(2)).unwrap();
    let mut pet: PetImage = series.pet_image(0, series.pet.as_ref()).unwrap();
    assert_eq!((pet.start_secs, pet.duration_secs), (Some(61.0), Some(60.0)));
    pet.scan.decay_reference = tomoscope::data::DecayReference::None;
    pet.scan.corrections.retain(|code| code != "DECY");
    let folder = folder();
    let again = folder.path().join("a.dcm");
    let description = ImageDescription { pet: Some(pet), ..ImageDescription::default() };
    write_series(&again, &series.images[0].volume, &description, &SeriesContext::default()).unwrap();
    assert_valid(&again);
    let (_, slice) = &slices(&again)[0];
    assert_eq!([text(slice, tags::DECAY_CORRECTION), text(slice, tags::CORRECTED_IMAGE)], ["NONE", "ATTN"]);
    assert!(slice.element_opt(tags::DECAY_FACTOR).unwrap().is_none());
    let expected_ms = 1e3 * (61.0 - 6586.2 * mean_decay(6586.2, [0.0, 60.0]).log2());
    assert!((number(slice, tags::FRAME_REFERENCE_TIME) - expected_ms).abs() < 1e-4);
}

/// Smallest value, median and largest value of the voxels of a mask.
fn quantiles(volume: &Volume, mask: &Volume) -> [f64; 3] {
    let voxels = volume.as_slice().iter().zip(mask.as_slice()).filter(|(_, mask)| **mask > 0.0);
    let mut values: Vec<f32> = voxels.map(|(value, _)| *value).collect();
    values.sort_by(f32::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]].map(f64::from)
}

#[test]
fn reference_series_have_their_uptake_values_or_are_refused() {
    let Some(packed) = data_file("suv/ibsi/series.tar.xz") else { return };
    let folder = folder();
    let unpacked = Command::new("python3").args(["-m", "tarfile", "-e"]).args([packed.as_path(), folder.path()]).output();
    if !unpacked.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 does not unpack {}", packed.display());
        return;
    }
    let mut num_right = 0;
    let mut refused = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().and_then(|name| name.strip_prefix("DRO_")) else { continue };
        if !path.is_dir() {
            continue;
        }
        let series = read(&path.join("PT"));
        let factor = match suv_factor(series.pet.as_ref().unwrap(), SuvDefinition::BodyWeight) {
            Ok(factor) => factor,
            Err(problem) => {
                refused.push(format!("{name}: {problem}"));
                continue;
            }
        };
        // Two series store uptake values with three and with two digits.
        let step = match name {
            "2_1" => 0.001 * factor,
            "2_3" => 0.01 * factor,
            _ => 0.0,
        };
        let (mask, _) = read_volume(&path.join("mask/DRO_mask.nii.gz")).unwrap();
        let found = quantiles(&series.images[0].volume, &mask).map(|value| factor * value);
        for (found, expected) in found.into_iter().zip([0.2, 1.0, 4.0]) {
            assert!((found - expected).abs() <= 0.002 * expected + step, "{name}: {found} is not {expected}");
        }
        num_right += 1;
    }
    refused.sort();
    assert_eq!((num_right, refused.len()), (15, 2), "{refused:?}");
    assert!(refused[0].starts_with("3_0") && refused[0].contains("in MBq by mistake?"), "{refused:?}");
    assert!(refused[1].starts_with("3_4") && refused[1].contains("not corrected for decay"), "{refused:?}");
}

/// Returns the warnings and the other notices of a series.
fn notices(series: &Path) -> Vec<String> {
    read_images(series, ImageChoice::Only).unwrap().1.into_iter().map(|notice| notice.text).collect()
}

#[test]
fn missing_and_damaged_slices_of_a_series_are_named() {
    let source = series_path("pet");
    let num_slices = std::fs::read_dir(&source).unwrap().count();
    let numbered = changed("pet", |_, slice| put(slice, tags::NUMBER_OF_SLICES, &num_slices.to_string()));
    assert!(!notices(numbered.path()).iter().any(|text| text.contains("NumberOfSlices")));
    std::fs::remove_file(numbered.path().join((num_slices - 1).to_string())).unwrap();
    let found = notices(numbered.path());
    assert!(found.iter().any(|text| text.contains("NumberOfSlices (0054,0081)") && text.contains("are missing")), "{found:?}");
    let few = changed("pet", |_, slice| put(slice, tags::NUMBER_OF_SLICES, "1"));
    assert!(notices(few.path()).iter().any(|text| text.contains("where NumberOfSlices (0054,0081) is 1")));
    // A slice of zeros, as a damaged disk has it.
    let zeros = changed("pet", |_, _| ());
    let last = zeros.path().join((num_slices - 1).to_string());
    std::fs::write(&last, vec![0; std::fs::metadata(&last).unwrap().len() as usize]).unwrap();
    std::fs::write(zeros.path().join("notes.txt"), "text").unwrap();
    let found = notices(zeros.path());
    assert!(found.iter().any(|text| text.contains("1 file not read") && text.contains(last.to_str().unwrap())), "{found:?}");
    // A copy that broke off.
    let cut = changed("pet", |_, _| ());
    let last = cut.path().join((num_slices - 1).to_string());
    let bytes = std::fs::read(&last).unwrap();
    std::fs::write(&last, &bytes[..bytes.len() * 3 / 4]).unwrap();
    let error = read_images(cut.path(), ImageChoice::Only).unwrap_err().to_string();
    assert!(error.contains(last.to_str().unwrap()), "{error}");
}

#[test]
fn slices_of_several_meanings_are_refused() {
    for (tag, text) in [
        (tags::UNITS, "GML"),
        (tags::PATIENT_WEIGHT, "71"),
        (tags::DECAY_CORRECTION, "ADMIN"),
        (tags::SERIES_TIME, "010203"),
        (tags::CORRECTED_IMAGE, "DECY"),
        (tags::PATIENT_ID, "another"),
        (tags::PATIENT_SIZE, "1.5"),
        (tags::PATIENT_SEX, "O"),
        (tags::STUDY_INSTANCE_UID, "2.25.7"),
    ] {
        let mixed = changed("pet", |index, slice| {
            if index == 1 {
                put(slice, tag, text);
            }
        });
        let error = read_images(mixed.path(), ImageChoice::Only).unwrap_err().to_string();
        assert!(error.contains(&format!("({:04x},{:04x})", tag.group(), tag.element())), "{error}");
    }
}

#[test]
fn padding_is_no_activity() {
    let plain = changed("pet", |_, slice| put(slice, tags::RESCALE_SLOPE, "0.5"));
    let plain = read(plain.path());
    let values = plain.images[0].volume.as_slice();
    let value = values.iter().copied().find(|value| *value != 0.0).unwrap();
    let padded = changed("pet", |_, slice| {
        put(slice, tags::RESCALE_SLOPE, "0.5");
        put(slice, tags::PIXEL_PADDING_VALUE, &(2.0 * value).to_string());
    });
    let (series, found_notices) = read_images(padded.path(), ImageChoice::Only).unwrap();
    let expected = values.iter().map(|before| if *before == value { 0.0 } else { *before });
    assert!(series.images[0].volume.as_slice().iter().copied().eq(expected));
    // A range of padding.
    let highest = values.iter().copied().fold(0.0, f32::max);
    let all = changed("pet", |_, slice| {
        put(slice, tags::RESCALE_SLOPE, "0.5");
        put(slice, tags::PIXEL_PADDING_VALUE, &(2.0 * highest).to_string());
        put(slice, tags::PIXEL_PADDING_RANGE_LIMIT, "1");
    });
    assert!(read(all.path()).images[0].volume.as_slice().iter().all(|value| *value <= 0.0));
    let num = values.iter().filter(|before| **before == value).count();
    let text = format!("{num} voxel");
    assert!(
        found_notices.iter().any(|notice| notice.text.contains("PixelPaddingValue") && notice.text.contains(&text)),
        "{found_notices:?}"
    );
}

#[test]
fn files_without_preamble_are_read_and_counted() {
    let source = read(&series_path("pet"));
    // The data set begins behind the meta information, whose length is its first element's.
    let bare = changed("pet", |_, _| ());
    for entry in std::fs::read_dir(bare.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let of_group = u32::from_le_bytes(bytes[140..144].try_into().unwrap()) as usize;
        // The first has its meta information.
        let begin = if path.ends_with("0") { 132 } else { 144 + of_group };
        std::fs::write(&path, &bytes[begin..]).unwrap();
    }
    let (series, found) = read_images(bare.path(), ImageChoice::Only).unwrap();
    assert_same_values(&series.images[0].volume, &source.images[0].volume);
    assert!(found.iter().any(|notice| notice.text.contains("without preamble ('DICM' at byte 128)")), "{found:?}");
    assert!(!notices(&series_path("pet")).iter().any(|text| text.contains("preamble")));
}

#[test]
fn an_uptake_value_that_no_tissue_has_is_reported() {
    let warns = |slope: &str| {
        let series = changed("pet", |_, slice| put(slice, tags::RESCALE_SLOPE, slope));
        notices(series.path()).iter().any(|text| text.contains("largest uptake value"))
    };
    assert!(!warns("0.5") && warns("1e7"));
}
