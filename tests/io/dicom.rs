//! Images as DICOM PET series, read back with another library than our own code and, where it is there, judged by `dciodvfy`
//! (David Clunie's checker, Debian's dicom3tools).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, Tag, open_file};
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::dicom::{Patient, write_series};
use tomoscope::io::write_volume;

use super::{assert_brief, assert_problem, folder};

/// An image that is like none of its mirror images, on a grid off the centre, with slices of very different size.
fn asymmetric() -> Volume {
    let grid = Grid::new([5, 4, 3], [2.734, 3.0, 3.27], [-6.2, -3.1, -11.25]).unwrap();
    let value = |i: usize| [1.0f32, -300.0, 2e-4][i / 20] * (1.0 + (i as f32 * 0.7).sin());
    let values = (0..grid.num_voxels()).map(value).collect();
    Volume::from_vec(grid, values, Unit::CountsPerMm).unwrap()
}

/// The slices of a series, in the order of their names.
fn slices(series: &Path) -> Vec<DefaultDicomObject> {
    files(series).iter().map(|path| open_file(path).unwrap()).collect()
}

fn files(series: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(series).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn text(slice: &DefaultDicomObject, tag: Tag) -> String {
    slice.element(tag).unwrap_or_else(|error| panic!("{error}")).to_str().unwrap().trim().to_owned()
}

fn numbers<const N: usize>(slice: &DefaultDicomObject, tag: Tag) -> [f64; N] {
    slice.element(tag).unwrap().to_multi_float64().unwrap().try_into().unwrap()
}

/// Values and their step.
fn values(slice: &DefaultDicomObject) -> (Vec<f64>, f64) {
    let [slope] = numbers(slice, tags::RESCALE_SLOPE);
    let bytes = slice.element(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
    let stored = bytes.chunks_exact(2).map(|pair| f64::from(i16::from_le_bytes([pair[0], pair[1]])));
    (stored.map(|stored| stored * slope).collect(), slope)
}

#[test]
fn every_voxel_has_its_value_at_its_place() {
    let folder = folder();
    let (series, nifti) = (folder.path().join("a.dcm"), folder.path().join("a.nii"));
    let volume = asymmetric();
    write_volume(&series, &volume).unwrap();
    write_volume(&nifti, &volume).unwrap();
    // The rows of NIfTI's affine (nifti1.h: 32-bit floats from byte 280 on), whose x and y are DICOM's reversed.
    let header = std::fs::read(&nifti).unwrap();
    let float = |at: usize| f64::from(f32::from_le_bytes(header[at..at + 4].try_into().unwrap()));
    let affine = |voxel: [usize; 3], row: usize| {
        (0..3).map(|axis| float(280 + 16 * row + 4 * axis) * voxel[axis] as f64).sum::<f64>() + float(280 + 16 * row + 12)
    };
    let [nx, ny, nz] = volume.grid.size;
    let slices = slices(&series);
    assert_eq!(slices.len(), nz);
    for (k, slice) in slices.iter().enumerate() {
        let count = |tag| slice.element(tag).unwrap().to_int::<usize>().unwrap();
        let counts = [tags::COLUMNS, tags::ROWS, tags::NUMBER_OF_SLICES, tags::IMAGE_INDEX, tags::INSTANCE_NUMBER].map(count);
        assert_eq!(counts, [nx, ny, nz, k + 1, k + 1]);
        let orientation: [f64; 6] = numbers(slice, tags::IMAGE_ORIENTATION_PATIENT);
        let position: [f64; 3] = numbers(slice, tags::IMAGE_POSITION_PATIENT);
        // The first is from row to row (PS3.3 10.7.1.1).
        let [row_mm, column_mm]: [f64; 2] = numbers(slice, tags::PIXEL_SPACING);
        assert_eq!(numbers(slice, tags::SLICE_THICKNESS), [volume.grid.voxel_mm[2]]);
        let (found, step) = values(slice);
        let expected = |j: usize, i: usize| f64::from(volume.values[[k, j, i]]);
        let largest = (0..nx * ny).map(|at| expected(at / nx, at % nx).abs()).fold(0.0, f64::max);
        assert!((step * 32767.0 / largest - 1.0).abs() < 1e-7, "{step}");
        for (j, i) in (0..ny).flat_map(|j| (0..nx).map(move |i| (j, i))) {
            assert!((found[j * nx + i] - expected(j, i)).abs() <= 0.5001 * step);
            // PS3.3 C.7.6.2.1.1, equation C.7.6.2.1-1.
            let place: [f64; 3] = std::array::from_fn(|a| {
                position[a] + orientation[a] * column_mm * i as f64 + orientation[3 + a] * row_mm * j as f64
            });
            let world = volume.grid.mm_from_voxel([i as f64, j as f64, k as f64]);
            for (dicom, ours) in place.iter().zip([world[0], world[1], -world[2]]) {
                assert!((dicom - ours).abs() < 1e-6, "{place:?} is not {world:?}");
            }
            for (a, sign) in [-1.0, -1.0, 1.0].into_iter().enumerate() {
                assert!((affine([i, j, k], a) - sign * place[a]).abs() < 1e-5, "{place:?}: NIfTI's axis {a}");
            }
        }
    }
}

/// A lesion at the patient's left, anterior and superior is there in DICOM's terms: +x left, +y posterior, +z superior.
#[test]
fn left_is_left_and_up_is_up() {
    let folder = folder();
    let series = folder.path().join("a.dcm");
    let grid = Grid::centred([8, 8, 6], [4.0; 3]).unwrap();
    let mut volume = Volume::filled(grid.clone(), 0.0);
    // Our world: +x left, +y posterior, +z inferior.
    let [i, j, k] = grid.voxel_from_mm([10.0, -6.0, -10.0]).map(|i| i.round() as usize);
    volume.values[[k, j, i]] = 1.0;
    write_volume(&series, &volume).unwrap();
    let hot: Vec<[f64; 3]> = slices(&series)
        .iter()
        .flat_map(|slice| {
            let [x, y, z] = numbers(slice, tags::IMAGE_POSITION_PATIENT);
            let is_hot =
                |(at, value): (usize, f64)| (value > 0.5).then_some([x + 4.0 * (at % 8) as f64, y + 4.0 * (at / 8) as f64, z]);
            values(slice).0.into_iter().enumerate().filter_map(is_hot).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(hot, [[10.0, -6.0, 10.0]]);
}

/// Attributes of type 1, which must have a value, by module (PS3.3 A.21.3).
const WITH_VALUE: [Tag; 37] = [
    tags::SOP_CLASS_UID,
    tags::SOP_INSTANCE_UID,
    tags::STUDY_INSTANCE_UID,
    tags::MODALITY,
    tags::SERIES_INSTANCE_UID,
    tags::SERIES_DATE,
    tags::SERIES_TIME,
    tags::UNITS,
    tags::COUNTS_SOURCE,
    tags::SERIES_TYPE,
    tags::NUMBER_OF_SLICES,
    tags::DECAY_CORRECTION,
    tags::COLLIMATOR_TYPE,
    tags::MANUFACTURER,
    tags::FRAME_OF_REFERENCE_UID,
    tags::PIXEL_SPACING,
    tags::IMAGE_ORIENTATION_PATIENT,
    tags::IMAGE_POSITION_PATIENT,
    tags::SAMPLES_PER_PIXEL,
    tags::PHOTOMETRIC_INTERPRETATION,
    tags::ROWS,
    tags::COLUMNS,
    tags::BITS_ALLOCATED,
    tags::BITS_STORED,
    tags::HIGH_BIT,
    tags::PIXEL_REPRESENTATION,
    tags::PIXEL_DATA,
    tags::IMAGE_TYPE,
    tags::RESCALE_INTERCEPT,
    tags::RESCALE_SLOPE,
    tags::FRAME_REFERENCE_TIME,
    tags::IMAGE_INDEX,
    tags::SPECIFIC_CHARACTER_SET,
    tags::INSTANCE_NUMBER,
    tags::SLICE_THICKNESS,
    tags::PATIENT_ORIENTATION_CODE_SEQUENCE,
    tags::PATIENT_GANTRY_RELATIONSHIP_CODE_SEQUENCE,
];

/// Attributes of type 2, which must be there and may be empty, as far as they are.
const EMPTY: [Tag; 16] = [
    tags::PATIENT_NAME,
    tags::PATIENT_ID,
    tags::PATIENT_BIRTH_DATE,
    tags::PATIENT_SEX,
    tags::STUDY_DATE,
    tags::STUDY_TIME,
    tags::REFERRING_PHYSICIAN_NAME,
    tags::STUDY_ID,
    tags::ACCESSION_NUMBER,
    tags::LATERALITY,
    tags::CORRECTED_IMAGE,
    tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE,
    tags::POSITION_REFERENCE_INDICATOR,
    tags::ACQUISITION_DATE,
    tags::ACQUISITION_TIME,
    tags::ACTUAL_FRAME_DURATION,
];

#[test]
fn what_the_standard_wants_is_there_and_what_nobody_knows_is_empty() {
    let folder = folder();
    let series = folder.path().join("a.dcm");
    write_volume(&series, &asymmetric()).unwrap();
    for slice in slices(&series) {
        for (tag, is_empty) in WITH_VALUE.map(|tag| (tag, false)).into_iter().chain(EMPTY.map(|tag| (tag, true))) {
            let element = slice.element(tag).unwrap_or_else(|error| panic!("{error}"));
            let found = element.items().map_or_else(|| element.to_bytes().unwrap().is_empty(), <[_]>::is_empty);
            assert_eq!(found, is_empty, "{tag}");
        }
        let known = [tags::UNITS, tags::DECAY_CORRECTION, tags::RESCALE_INTERCEPT, tags::MODALITY].map(|tag| text(&slice, tag));
        assert_eq!(known, ["CNTS", "NONE", "0", "PT"]);
        assert_eq!(text(&slice, tags::SOP_CLASS_UID), "1.2.840.10008.5.1.4.1.1.128");
        assert_eq!(slice.meta().transfer_syntax(), "1.2.840.10008.1.2.1");
        assert_eq!(slice.meta().media_storage_sop_instance_uid(), text(&slice, tags::SOP_INSTANCE_UID));
        // Absent where the orientation is told by codes (PS3.3 C.7.3.1).
        assert!(slice.element_opt(tags::PATIENT_POSITION).unwrap().is_none());
    }
}

#[test]
fn uids_are_valid_and_shared_as_they_should_be() {
    let folder = folder();
    let [first, second] = ["a.dcm", "b.dcm"].map(|name| folder.path().join(name));
    let study_uid = Some("1.2.840.113619.2.55".to_owned());
    let patient = Patient { name: "Müller^Änne".into(), id: "7 — 12".into(), study_uid };
    write_volume(&first, &asymmetric()).unwrap();
    let of_hospital = Volume { unit: Unit::BqPerMl, ..asymmetric() };
    write_series(&second, &of_hospital, &"OSEM 14 subsets\\a\nb µ".into(), &patient.into()).unwrap();
    let all: Vec<DefaultDicomObject> = [slices(&first), slices(&second)].concat();
    let distinct = |tag: Tag| {
        let uids: HashSet<String> = all.iter().map(|slice| text(slice, tag)).collect();
        for uid in &uids {
            assert_eq!(Patient::check_uid(uid), Ok(()), "{uid}");
        }
        uids.len()
    };
    let uids = [tags::SOP_INSTANCE_UID, tags::SERIES_INSTANCE_UID, tags::STUDY_INSTANCE_UID, tags::FRAME_OF_REFERENCE_UID];
    assert_eq!(uids.map(distinct), [6, 2, 2, 2]);
    let slice = &all[4];
    assert_eq!(text(slice, tags::STUDY_INSTANCE_UID), "1.2.840.113619.2.55");
    assert_eq!([tags::PATIENT_NAME, tags::PATIENT_ID].map(|tag| text(slice, tag)), ["Müller^Änne", "7 — 12"]);
    assert_eq!(text(slice, tags::UNITS), "BQML");
    assert_eq!([tags::SERIES_DESCRIPTION, tags::IMAGE_COMMENTS].map(|tag| text(slice, tag)), ["OSEM 14 subsets a b µ"; 2]);
    for uid in ["", "1", "1..2", "1.02", "1.2a", ".1.2", &format!("1.{}", "2".repeat(63))] {
        assert!(Patient::check_uid(uid).is_err(), "{uid}");
    }
    for name in ["a\\b", "a\nb", &"x".repeat(65)] {
        assert!(Patient::check_text(name).is_err(), "{name}");
    }
}

#[test]
fn a_series_takes_the_place_of_a_series_and_of_nothing_else() {
    let folder = folder();
    let series = folder.path().join("a.dcm");
    let volume = asymmetric();
    write_volume(&series, &volume).unwrap();
    let thinner = Volume::filled(Grid::centred([2, 2, 2], [1.0; 3]).unwrap(), 1.0);
    write_volume(&series, &thinner).unwrap();
    assert_eq!(files(&series), ["slice_001.dcm", "slice_002.dcm"].map(|name| series.join(name)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "unfinished folders are left");
    // Another's file among them, also one with a slice's name.
    for name in ["notes.txt", "slice_003.dcm"] {
        std::fs::write(series.join(name), "mine").unwrap();
        assert_problem(&write_volume(&series, &volume).unwrap_err(), &format!("OtherFile({name:?})"));
        assert_eq!(std::fs::read(series.join(name)).unwrap(), b"mine");
        assert_eq!(files(&series).len(), 3);
        std::fs::remove_file(series.join(name)).unwrap();
    }
    let file = folder.path().join("b.dcm");
    std::fs::write(&file, "mine").unwrap();
    assert_brief(&write_volume(&file, &volume).unwrap_err(), "io.unsupported.dicom b.dcm NotAFolder");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[test]
fn images_that_are_no_activity_are_refused() {
    let folder = folder();
    let series = folder.path().join("a.dcm");
    for (unit, problem) in [(Unit::Arbitrary, "Unit"), (Unit::Mm, "Unit"), (Unit::Unknown, "NoUnit")] {
        let volume = Volume { unit, ..asymmetric() };
        assert_brief(&write_volume(&series, &volume).unwrap_err(), &format!("io.unsupported.dicom a.dcm {problem}"));
    }
    let long = Volume::filled(Grid::centred([70_000, 1, 1], [1.0; 3]).unwrap(), 1.0);
    assert_problem(&write_volume(&series, &long).unwrap_err(), "LongSide(70000, …, 65535)");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_independent_checker_finds_no_error() {
    let folder = folder();
    let patient = Patient { name: "Doe^Jane".into(), id: "42".into(), study_uid: None };
    let zeros = Volume::filled(Grid::centred([3, 3, 1], [1.0 / 3.0; 3]).unwrap(), 0.0);
    let volumes = [asymmetric(), Volume { unit: Unit::BqPerMl, ..asymmetric() }, Volume { unit: Unit::DecaysPerMm3, ..zeros }];
    for (index, volume) in volumes.iter().enumerate() {
        let series = folder.path().join(format!("{index}.dcm"));
        write_series(&series, volume, &"tomoscope; OSEM 14 subsets; iteration 3".into(), &patient.clone().into()).unwrap();
        for file in files(&series) {
            let Ok(output) = Command::new("dciodvfy").arg(&file).output() else {
                println!("skipped: no dciodvfy");
                return;
            };
            let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            assert!(said.contains("PETImage"), "it was not taken for a PET image: {said}");
            assert!(!said.contains("Error"), "{}: {said}", file.display());
        }
    }
}
