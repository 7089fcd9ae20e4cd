//! Lesions as a DICOM segmentation, read back with another library than our own code and, where it is there, judged by `dciodvfy`.
//! `tests/data/dicom/check_segmentation.py` checks such a file with highdicom and SimpleITK.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, InMemDicomObject, Tag, open_file};
use tomoscope::data::{ImageChoice, ImageSeries};
use tomoscope::geometry::Grid;
use tomoscope::io::dicom;
use tomoscope::io::dicom::{Segment, read_images, source_series, write_segmentation};

use super::{assert_problem, folder};

fn series(name: &str) -> PathBuf {
    tomoscope_support::in_repository("tests/data/dicom").join(name)
}

/// Two segments that share voxels, and an empty one, in no order.
fn segments(grid: &Grid) -> Vec<Segment> {
    let voxels = |keep: fn(u32) -> bool| (0..grid.num_voxels() as u32).rev().filter(|index| keep(*index)).collect();
    let segment = |label: &str, is_manual, keep| Segment { label: label.into(), is_manual, voxels: voxels(keep) };
    vec![
        segment("left\\lung", true, |index| index * index % 7 == 2),
        segment("nothing", false, |_| false),
        // Not in the first 40 voxels: its first slices have no frame.
        segment("Läsion 2", false, |index| index > 40 && index % 3 == 0),
    ]
}

fn items(object: &InMemDicomObject, tag: Tag) -> &[InMemDicomObject] {
    object.element(tag).unwrap().items().unwrap()
}

fn numbers<const N: usize>(object: &InMemDicomObject, tag: Tag) -> [f64; N] {
    object.element(tag).unwrap().to_multi_float64().unwrap().try_into().unwrap()
}

fn text(object: &InMemDicomObject, tag: Tag) -> String {
    object.element(tag).unwrap().to_str().unwrap().trim().to_owned()
}

/// Returns the voxels of each segment, by the positions of its pixels in the patient.
fn voxels(object: &DefaultDicomObject, image: &ImageSeries) -> BTreeMap<u32, BTreeSet<u32>> {
    let grid = image.grid().unwrap();
    let whole = |tag| numbers::<1>(object, tag)[0] as usize;
    let (rows, columns) = (whole(tags::ROWS), whole(tags::COLUMNS));
    let bytes = object.element(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
    let shared = &items(object, tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE)[0];
    let [row_mm, column_mm] = numbers(&items(shared, tags::PIXEL_MEASURES_SEQUENCE)[0], tags::PIXEL_SPACING);
    let way: [f64; 6] = numbers(&items(shared, tags::PLANE_ORIENTATION_SEQUENCE)[0], tags::IMAGE_ORIENTATION_PATIENT);
    let mut found: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (frame, groups) in items(object, tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE).iter().enumerate() {
        let segment = &items(groups, tags::SEGMENT_IDENTIFICATION_SEQUENCE)[0];
        let [segment] = numbers(segment, tags::REFERENCED_SEGMENT_NUMBER);
        let position: [f64; 3] = numbers(&items(groups, tags::PLANE_POSITION_SEQUENCE)[0], tags::IMAGE_POSITION_PATIENT);
        for pixel in 0..rows * columns {
            let bit = frame * rows * columns + pixel;
            if bytes[bit / 8] >> (bit % 8) & 1 == 0 {
                continue;
            }
            let (down, right) = ((pixel / columns) as f64 * row_mm, (pixel % columns) as f64 * column_mm);
            let [x, y, z]: [f64; 3] = std::array::from_fn(|a| position[a] + right * way[a] + down * way[3 + a]);
            let point = image.placement.map_or([x, y, -z], |placement| placement.own_mm([x, y, -z]));
            let at = grid.voxel_from_mm(point);
            assert!(at.iter().all(|at| (at - at.round()).abs() < 1e-3), "{at:?} is no middle of a voxel");
            let [i, j, k] = at.map(|at| at.round() as usize);
            found.entry(segment as u32).or_default().insert(((k * grid.size[1] + j) * grid.size[0] + i) as u32);
        }
    }
    found
}

#[test]
fn segments_have_their_voxels_at_their_positions() {
    let folder = folder();
    let path = folder.path().join("a.seg.dcm");
    for name in ["pet", "oblique", "coronal", "sagittal", "enhanced", "dynamic"] {
        let (image, _) = read_images(&series(name), ImageChoice::Number(1)).unwrap();
        let (grid, segments) = (image.grid().unwrap(), segments(image.grid().unwrap()));
        let source = source_series(&series(name), 1).unwrap();
        let notices = write_segmentation(&path, (grid, image.placement.as_ref()), &segments, Some(&source)).unwrap();
        assert!(notices.len() == 1 && notices[0].text.contains("'nothing'"), "{notices:?}");
        let object = open_file(&path).unwrap();
        let found = voxels(&object, &image);
        let expected = [&segments[0], &segments[2]].map(|segment| segment.voxels.iter().copied().collect::<BTreeSet<u32>>());
        assert_eq!((found.len(), &found[&1], &found[&2]), (2, &expected[0], &expected[1]), "{name}");
        let labels: Vec<String> =
            items(&object, tags::SEGMENT_SEQUENCE).iter().map(|segment| text(segment, tags::SEGMENT_LABEL)).collect();
        assert_eq!(labels, ["left lung", "Läsion 2"]);
    }
}

#[test]
fn a_frame_refers_to_the_slice_in_its_plane() {
    let folder = folder();
    let path = folder.path().join("a.seg.dcm");
    for (name, number, has_slices) in [("pet", 1, true), ("oblique", 1, true), ("dynamic", 2, true), ("coronal", 1, false)] {
        let (image, _) = read_images(&series(name), ImageChoice::Number(number)).unwrap();
        let source = source_series(&series(name), number).unwrap();
        let grid = image.grid().unwrap();
        write_segmentation(&path, (grid, image.placement.as_ref()), &segments(grid), Some(&source)).unwrap();
        let object = open_file(&path).unwrap();
        let files = std::fs::read_dir(series(name)).unwrap().map(|entry| open_file(entry.unwrap().path()).unwrap());
        let slices: BTreeMap<String, DefaultDicomObject> =
            files.map(|slice| (text(&slice, tags::SOP_INSTANCE_UID), slice)).collect();
        let first = slices.values().next().unwrap();
        for tag in [tags::STUDY_INSTANCE_UID, tags::FRAME_OF_REFERENCE_UID, tags::PATIENT_NAME, tags::PATIENT_ID] {
            assert_eq!(text(&object, tag), text(first, tag));
        }
        let of_series = &items(&object, tags::REFERENCED_SERIES_SEQUENCE)[0];
        assert_eq!(text(of_series, tags::SERIES_INSTANCE_UID), text(first, tags::SERIES_INSTANCE_UID));
        assert_eq!(items(of_series, tags::REFERENCED_INSTANCE_SEQUENCE).len(), 3);
        let shared = &items(&object, tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE)[0];
        let way: [f64; 6] = numbers(&items(shared, tags::PLANE_ORIENTATION_SEQUENCE)[0], tags::IMAGE_ORIENTATION_PATIENT);
        let normal: [f64; 3] = std::array::from_fn(|k| {
            let [i, j] = [(k + 1) % 3, (k + 2) % 3];
            way[i] * way[3 + j] - way[j] * way[3 + i]
        });
        for groups in items(&object, tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE) {
            let derivation = &items(groups, tags::DERIVATION_IMAGE_SEQUENCE)[0];
            let images = items(derivation, tags::SOURCE_IMAGE_SEQUENCE);
            assert_eq!(images.len(), if has_slices { 1 } else { 3 }, "{name}");
            if !has_slices {
                continue;
            }
            let uid = text(&images[0], tags::REFERENCED_SOP_INSTANCE_UID);
            let position: [f64; 3] = numbers(&items(groups, tags::PLANE_POSITION_SEQUENCE)[0], tags::IMAGE_POSITION_PATIENT);
            let of_slice: [f64; 3] = numbers(&slices[&uid], tags::IMAGE_POSITION_PATIENT);
            let distance_mm: f64 = (0..3).map(|a| normal[a] * (of_slice[a] - position[a])).sum();
            assert!(distance_mm.abs() < 1e-3, "{name}: {distance_mm}");
            if name == "dynamic" {
                assert_eq!(text(&slices[&uid], tags::ACQUISITION_TIME), "120101");
            }
        }
    }
}

#[test]
fn an_image_of_another_format_has_its_own_study() {
    let folder = folder();
    let grid = Grid::new([7, 5, 3], [2.0, 3.0, 4.0], [-6.0, 1.0, 9.0]).unwrap();
    let path = folder.path().join("a.seg.dcm");
    write_segmentation(&path, (&grid, None), &segments(&grid), None).unwrap();
    let object = open_file(&path).unwrap();
    assert!(object.get(tags::REFERENCED_SERIES_SEQUENCE).is_none());
    assert_eq!(
        (text(&object, tags::PATIENT_NAME), text(&object, tags::STUDY_INSTANCE_UID).starts_with("2.25.")),
        (String::new(), true)
    );
    let nothing = write_segmentation(&path, (&grid, None), &segments(&grid)[1..2], None);
    assert_problem(&nothing.unwrap_err(), "NoLesion");
    // The reader of images names the kind of the object.
    let error = dicom::read_images(&path, ImageChoice::Only).unwrap_err();
    assert_problem(&error, "Segmentation");
}

#[test]
fn the_checker_of_the_standard_finds_no_error() {
    let folder = folder();
    for (name, with_source) in [("pet", true), ("oblique", true), ("coronal", true), ("enhanced", true), ("pet", false)] {
        let (image, _) = read_images(&series(name), ImageChoice::Number(1)).unwrap();
        let source = with_source.then(|| source_series(&series(name), 1).unwrap());
        let path = folder.path().join(format!("{name}.seg.dcm"));
        let grid = image.grid().unwrap();
        write_segmentation(&path, (grid, image.placement.as_ref()), &segments(grid), source.as_ref()).unwrap();
        let Ok(output) = Command::new("dciodvfy").arg(&path).output() else {
            println!("skipped: no dciodvfy");
            return;
        };
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(said.contains("Segmentation"), "it was not taken for a segmentation: {said}");
        assert!(!said.contains("Error"), "{name}: {said}");
    }
}
