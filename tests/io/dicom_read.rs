//! DICOM series of other programs: written by pydicom, compressed by dcmtk, GDCM and libjxl, against what SimpleITK reads of them
//! (`tests/data/dicom/make.py`); uptake values of vendors' series; series that are not read, and files that are broken.

use std::path::{Path, PathBuf};

use dicom_core::value::DataSetSequence;
use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, InMemDicomObject, Tag, open_file};
use rand_philox::Philox;
use tomoscope::coded::Coded as _;
use tomoscope::data::{ImageChoice, ImageSeries, Modality, Unit, Volume};
use tomoscope::data::{SuvDefinition, suv_factor};
use tomoscope::io::dicom::{find_series, read_middle_slice};
use tomoscope::io::{DicomProblem, read_images, read_volume};
use tomoscope::random::stream;

use super::data::data_file;
use super::{assert_problem, folder};

/// A series of the test data.
pub(super) fn series_path(name: &str) -> PathBuf {
    tomoscope_support::in_repository("tests/data/dicom").join(name)
}

pub(super) fn read(path: &Path) -> ImageSeries {
    read_images(path, ImageChoice::Only).unwrap_or_else(|error| panic!("{error}")).0
}

fn image(name: &str) -> Volume {
    read_volume(&series_path(name)).unwrap_or_else(|error| panic!("{error}")).0
}

fn problem(path: &Path) -> DicomProblem {
    match read_images(path, ImageChoice::Only) {
        Err(error) => error.problem().cloned().unwrap_or_else(|| panic!("{error}")),
        Ok(_) => panic!("{} was read", path.display()),
    }
}

#[test]
fn voxels_are_where_simpleitk_has_them() {
    let text = std::fs::read_to_string(series_path("simpleitk.json")).unwrap();
    let expected: std::collections::BTreeMap<String, Vec<[f64; 4]>> = serde_json::from_str(&text).unwrap();
    assert_eq!(expected.len(), 6);
    for (name, voxels) in expected {
        let series = read(&series_path(&name));
        let volume = &series.images[0].volume;
        assert_eq!(series.placement.is_some(), name == "oblique", "{name}");
        for [x, y, z, value] in voxels {
            // The axes of the image, from those of the world, which has DICOM's z reversed.
            let world = [x, y, -z];
            let own = series.placement.map_or(world, |placement| {
                let offset: [f64; 3] = std::array::from_fn(|a| world[a] - placement.middle_mm[a]);
                std::array::from_fn(|a| {
                    placement.middle_mm[a] + (0..3).map(|b| placement.rotation[b][a] * offset[b]).sum::<f64>()
                })
            });
            let index = volume.grid.voxel_from_mm(own);
            let nearest = index.map(f64::round);
            let deviation = (0..3).map(|a| ((index[a] - nearest[a]) * volume.grid.voxel_mm[a]).abs()).fold(0.0, f64::max);
            assert!(deviation < 1e-4, "{name}: {deviation} mm at {world:?}");
            let [i, j, k] = nearest.map(|index| index as usize);
            let found = f64::from(volume.values[[k, j, i]]);
            assert!((found - value).abs() <= 1e-6 * value.abs(), "{name}: {found} is not {value} at {world:?}");
        }
    }
}

#[test]
fn compressed_series_are_their_source() {
    let pairs = [
        ("lossless-sv1", "pet"),
        ("lossless", "ct"),
        ("rle", "pet"),
        ("rle-gdcm", "signed"),
        ("jpeg-gdcm", "coronal"),
        ("deflated", "pet"),
        ("big-endian", "ct"),
        ("implicit", "pet"),
    ];
    for (compressed, source) in pairs {
        assert_eq!(image(compressed), image(source), "{compressed}");
    }
    let [undefined, oblique] = ["undefined-lengths", "oblique"].map(|name| read(&series_path(name)));
    assert_eq!((&undefined.images[0].volume, undefined.placement), (&oblique.images[0].volume, oblique.placement));
    // Without its position, an oblique image would be at another place.
    let refused = read_volume(&series_path("oblique")).unwrap_err();
    assert_problem(&refused, "Oblique");
    let jpeg_ls = problem(&series_path("jpeg-ls"));
    assert!(matches!(&jpeg_ls, DicomProblem::TransferSyntax { remedy, .. } if remedy.contains("dcmdjpls")), "{jpeg_ls}");
    for (compressed, source, is_built) in
        [("jpeg-2000", "large", cfg!(feature = "jpeg2000")), ("jpeg-xl", "pet", cfg!(feature = "jpegxl"))]
    {
        if is_built {
            assert_eq!(image(compressed), image(source), "{compressed}");
        } else {
            assert!(matches!(problem(&series_path(compressed)), DicomProblem::TransferSyntax { .. }), "{compressed}");
        }
    }
}

#[test]
fn a_multi_frame_object_is_the_series_that_it_was_made_of() {
    let (enhanced, single) = (read(&series_path("enhanced")), read(&series_path("pet")));
    assert_eq!(enhanced.images[0].volume, single.images[0].volume);
    assert_eq!(enhanced.pet, single.pet);
    let factor = suv_factor(&single.pet.unwrap(), SuvDefinition::BodyWeight).unwrap();
    let expected = 70e3 / (370e6 * (-3600.0 / 6586.2f64).exp2());
    assert!((factor / expected - 1.0).abs() < 1e-12, "{factor} is not {expected}");
}

#[test]
fn values_have_their_units() {
    assert_eq!([image("pet").unit, image("ct").unit, image("sagittal").unit], [Unit::BqPerMl, Unit::Hounsfield, Unit::Unknown]);
    let names = read(&series_path("ct"));
    assert_eq!((names.modality, names.names.patient_name.as_str()), (Modality::Ct, "Test^Phantom"));
}

#[test]
fn planes_at_one_position_are_images_over_time() {
    let path = series_path("dynamic");
    let (series, _) = read_images(&path, ImageChoice::All).unwrap();
    let times: Vec<[f64; 2]> = series.images.iter().map(|image| [image.start_secs, image.duration_secs]).collect();
    assert_eq!(times, [[0.0, 60.0], [60.0, 60.0], [120.0, 60.0]]);
    for (number, image) in (1..).zip(&series.images) {
        let (one, _) = read_images(&path, ImageChoice::Number(number)).unwrap();
        assert_eq!((one.num_images, &one.images[0].volume), (3, &image.volume));
    }
    assert_eq!(problem(&path), DicomProblem::SeveralImages(3));
    let error = read_images(&path, ImageChoice::Number(4)).unwrap_err();
    assert_problem(&error, "NoSuchImage(4, 3)");
}

#[test]
fn a_file_stands_for_its_series_and_a_folder_for_its_only_one() {
    let folder = folder();
    for name in ["pet", "ct"] {
        for entry in std::fs::read_dir(series_path(name)).unwrap() {
            let path = entry.unwrap().path();
            let target = folder.path().join(name).join("deeper");
            std::fs::create_dir_all(&target).unwrap();
            std::fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
        }
    }
    std::fs::write(folder.path().join("README"), "no image").unwrap();
    let found = find_series(folder.path()).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|series| series.num_files == 3), "{}", found[0].line());
    let several = problem(folder.path());
    assert_eq!(several, DicomProblem::SeveralSeries(find_series(folder.path()).unwrap()));
    assert!(several.to_string().lines().count() == 3 && several.to_string().contains(": CT, "), "{several}");
    // Thumbnails are middle slices.
    for series in &found {
        let slice = read_middle_slice(series).unwrap();
        let volume = read(&series.file).images[0].volume.clone();
        let [nx, ny, nz] = volume.grid.size;
        assert_eq!((slice.size, slice.values.as_slice()), ([nx, ny], &volume.as_slice()[nz / 2 * nx * ny..][..nx * ny]));
    }
    assert_eq!(*read(&found[0].file).images[0].volume, read_volume(&found[0].file).unwrap().0);
    assert_eq!(read_volume(&folder.path().join("ct")).unwrap().0, image("ct"));
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(problem(&folder.path().join("empty")), DicomProblem::EmptyFolder);
    // A copy of a slice is not a second image.
    let slice = folder.path().join("ct/deeper/IM0001");
    std::fs::copy(&slice, folder.path().join("ct/copy")).unwrap();
    let (volume, notices) = read_volume(&folder.path().join("ct")).unwrap();
    assert_eq!(volume, image("ct"));
    assert!(notices.iter().any(|notice| notice.text.contains("copies")), "{notices:?}");
}

/// A copy of a series with changed files: each by its position from the first slice to the last.
pub(super) fn changed(name: &str, change: impl Fn(usize, &mut DefaultDicomObject)) -> tempfile::TempDir {
    let copy = folder();
    let mut slices: Vec<DefaultDicomObject> =
        std::fs::read_dir(series_path(name)).unwrap().map(|entry| open_file(entry.unwrap().path()).unwrap()).collect();
    let z = |slice: &DefaultDicomObject| slice.element(tags::IMAGE_POSITION_PATIENT).unwrap().to_multi_float64().unwrap()[2];
    slices.sort_by(|a, b| z(a).total_cmp(&z(b)));
    for (index, mut slice) in slices.into_iter().enumerate() {
        change(index, &mut slice);
        slice.write_to_file(copy.path().join(index.to_string())).unwrap();
    }
    copy
}

pub(super) fn put(slice: &mut DefaultDicomObject, tag: Tag, text: &str) {
    slice.put(DataElement::new(tag, VR::DS, PrimitiveValue::from(text)));
}

#[test]
fn ct_has_its_tube_voltage() {
    assert_eq!(read(&series_path("ct")).kvp, None);
    let with = |modality: &str, kvp: &str| changed(modality, |_, slice| put(slice, tags::KVP, kvp));
    assert_eq!(read(with("ct", "120 ").path()).kvp, Some(120.0));
    assert_eq!(read(with("ct", "0").path()).kvp, None);
    assert_eq!(read(with("pet", "120").path()).kvp, None);
    let invalid = problem(with("ct", "high").path());
    assert!(matches!(&invalid, DicomProblem::Value { attribute, .. } if attribute == "KVP (0018,0060)"), "{invalid}");
}

#[test]
fn series_that_form_no_stack_are_refused_by_name() {
    let gap = changed("pet", |index, slice| {
        if index == 2 {
            put(slice, tags::IMAGE_POSITION_PATIENT, "-20\\-31\\-40.19");
        }
    });
    let DicomProblem::Gap { .. } = problem(gap.path()) else { panic!("no gap") };
    let twice = changed("pet", |index, slice| {
        if index == 2 {
            put(slice, tags::IMAGE_POSITION_PATIENT, "-20\\-31\\-46.73");
        }
    });
    assert!(matches!(problem(twice.path()), DicomProblem::Duplicates { .. }));
    let tilted = changed("pet", |index, slice| {
        put(slice, tags::IMAGE_POSITION_PATIENT, &format!("-20\\{}\\{}", index as isize - 31, -50.0 + 3.27 * index as f64));
    });
    assert_eq!(problem(tilted.path()), DicomProblem::Sheared(1.0));
    let scout = changed("pet", |index, slice| {
        if index == 1 {
            put(slice, tags::IMAGE_ORIENTATION_PATIENT, "1\\0\\0\\0\\0\\-1");
        }
    });
    assert_eq!(problem(scout.path()), DicomProblem::Mixed("ImageOrientationPatient (0020,0037)".into()));
    let zoomed = changed("pet", |index, slice| {
        if index == 1 {
            put(slice, tags::PIXEL_SPACING, "2.5\\2.9");
        }
    });
    assert_eq!(problem(zoomed.path()), DicomProblem::Mixed("PixelSpacing (0028,0030)".into()));
}

#[test]
fn missing_and_invalid_attributes_are_named() {
    for (tag, name) in [
        (tags::IMAGE_POSITION_PATIENT, "ImagePositionPatient"),
        (tags::IMAGE_ORIENTATION_PATIENT, "ImageOrientationPatient"),
        (tags::PIXEL_SPACING, "PixelSpacing"),
        (tags::RESCALE_SLOPE, "RescaleSlope"),
        (tags::ROWS, "Rows"),
        (tags::MODALITY, "Modality"),
        (tags::PIXEL_REPRESENTATION, "PixelRepresentation"),
    ] {
        let without = changed("pet", |_, slice| _ = slice.remove_element(tag));
        let found = problem(&without.path().join("0"));
        assert!(matches!(problem(without.path()), DicomProblem::RefusedFolder(_)));
        assert!(matches!(&found, DicomProblem::Missing(missing) if missing.starts_with(name)), "{found}");
    }
    for (tag, text, expected) in [
        (tags::PIXEL_SPACING, "2.5", "Value"),
        (tags::PIXEL_SPACING, "0\\3", "Value"),
        (tags::IMAGE_ORIENTATION_PATIENT, "1\\0\\0\\1\\0\\0", "Orientation"),
        (tags::RESCALE_SLOPE, "0", "Value"),
        (tags::ROWS, "7", "PixelBytes"),
        (tags::PHOTOMETRIC_INTERPRETATION, "RGB", "Colours"),
        (tags::BITS_ALLOCATED, "12", "Value"),
        (tags::NUMBER_OF_FRAMES, "1000000", "PixelBytes"),
    ] {
        let other = changed("pet", |_, slice| put(slice, tag, text));
        let found = problem(&other.path().join("0"));
        assert!(format!("{found:?}").starts_with(expected), "{found:?}");
        assert_eq!(found.code() == "io.invalid-value", expected == "Value", "{found:?}");
    }
    // A slice that is not read is not left out.
    let broken = changed("pet", |index, slice| {
        if index == 1 {
            slice.remove_element(tags::IMAGE_POSITION_PATIENT);
        }
    });
    assert!(matches!(problem(broken.path()), DicomProblem::Missing(_)));
}

/// A series with the attributes of a case of `suv/cases.json`, as two slices.
pub(super) fn vendor_series(case: &serde_json::Value, folder: &Path) {
    for (index, which) in ["first_instance", "last_instance"].into_iter().enumerate() {
        let mut slice = open_file(series_path("pet").join("IM0001")).unwrap();
        let mut tracer = InMemDicomObject::new_empty();
        for tag in [tags::PATIENT_SIZE, tags::PATIENT_WEIGHT, tags::PATIENT_SEX, tags::SERIES_DATE, tags::SERIES_TIME] {
            slice.remove_element(tag);
        }
        for (key, value) in case[which].as_object().unwrap() {
            let text = |value: &serde_json::Value| match value {
                serde_json::Value::Array(all) => all.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join("\\"),
                serde_json::Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let mut put = |tag: Tag, value: &serde_json::Value| {
                let of_tracer = tag.group() == 0x0018 && tag != tags::ACTUAL_FRAME_DURATION;
                let element = DataElement::new(tag, VR::LO, PrimitiveValue::from(text(value)));
                _ = if of_tracer { tracer.put(element) } else { slice.put(element) };
            };
            if key == "PhilipsPETPrivateGroup" {
                for (name, tag) in
                    [("SUVScaleFactor", Tag(0x7053, 0x1000)), ("ActivityConcentrationScaleFactor", Tag(0x7053, 0x1009))]
                {
                    value.get(name).into_iter().for_each(|value| put(tag, value));
                }
                continue;
            }
            put(
                dicom_core::dictionary::DataDictionary::parse_tag(&dicom_dictionary_std::StandardDataDictionary, key).unwrap(),
                value,
            );
        }
        slice.put(DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, DataSetSequence::from(vec![tracer])));
        slice.put(DataElement::new(tags::SOP_INSTANCE_UID, VR::UI, PrimitiveValue::from(format!("2.25.{index}"))));
        put(&mut slice, tags::IMAGE_POSITION_PATIENT, &format!("-20\\-31\\{}", 3.27 * index as f64));
        slice.write_to_file(folder.join(index.to_string())).unwrap();
    }
}

#[test]
fn vendors_series_have_the_published_uptake_values() {
    let Some(path) = data_file("suv/cases.json") else { return };
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = cases.as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let folder = folder();
        vendor_series(case, folder.path());
        let factor = suv_factor(read(folder.path()).pet.as_ref().unwrap(), SuvDefinition::BodyWeight).unwrap();
        let expected = case["suvbw_factor"].as_f64().unwrap();
        assert!((factor / expected - 1.0).abs() < 1e-9, "{}: {factor} is not {expected}", case["case"]);
    }
}

/// Returns a file with some bytes changed, inserted or cut off.
pub(super) fn mutated(good: &[u8], random: &mut Philox) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.next_u32() % 5 {
        let at = 128 + random.next_u32() as usize % (bytes.len() - 128);
        match random.next_u32() % 6 {
            0 => bytes.truncate(at.max(140)),
            1 => _ = bytes.splice(at..at, [0xff; 4]),
            2 => bytes[at] = 0xff,
            3 => bytes[at] = bytes[at].wrapping_add(1),
            _ => bytes[at] = random.next_u32() as u8,
        }
    }
    bytes
}

/// Changed, shortened and lengthened files are refused or read, and take neither time nor memory beyond their size. The variable
/// `TOMOSCOPE_MUTATIONS` sets the number of files.
#[test]
fn broken_files_end_in_a_sentence() {
    let num: usize = std::env::var("TOMOSCOPE_MUTATIONS").ok().map_or(10_000, |num| num.parse().unwrap());
    let names = [
        "pet",
        "enhanced",
        "lossless-sv1",
        "lossless",
        "rle",
        "deflated",
        "big-endian",
        "implicit",
        "undefined-lengths",
        "jpeg-xl",
    ];
    let good: Vec<Vec<u8>> = names
        .iter()
        .map(|name| std::fs::read(std::fs::read_dir(series_path(name)).unwrap().next().unwrap().unwrap().path()).unwrap())
        .collect();
    let folder = folder();
    let path = folder.path().join("file");
    let mut random = stream(35, 0);
    let mut num_read = 0;
    for case in 0..num {
        let bytes = mutated(&good[case % good.len()], &mut random);
        std::fs::write(&path, &bytes).unwrap();
        match read_images(&path, ImageChoice::All) {
            Ok((series, _)) => {
                num_read += 1;
                let num_voxels: usize = series.images.iter().map(|image| image.volume.grid.num_voxels()).sum();
                assert!(num_voxels <= 4096 * bytes.len(), "case {case}: {num_voxels} voxels of {} bytes", bytes.len());
            }
            Err(error) => assert!(error.to_string().len() < 1000, "case {case}: {error}"),
        }
    }
    assert!(num_read > num / 100 && num_read < num, "{num_read} of {num} were read");
}
