//! DICOM segmentations as regions: those of highdicom against the voxels, volumes and means of highdicom, SimpleITK and numpy
//! (`tests/data/dicom/make_segmentations.py`), our own, those that are refused, and files that are broken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, InMemDicomObject, open_file};
use serde::Deserialize;
use tomoscope::coded::Coded as _;
use tomoscope::data::{ImageChoice, ImageSeries, ImageSpace, Notice, Roi, RoiShape, Severity};
use tomoscope::geometry::Grid;
use tomoscope::io::dicom::{Segment, read_segmentation, source_series, write_segmentation};
use tomoscope::io::rois::{read_rois, write_rois};
use tomoscope::io::{DicomProblem, IoError, read_images, read_regions};
use tomoscope::random::stream;

use super::dicom_read::{mutated, read, series_path};
use super::{assert_problem, folder};

#[derive(Deserialize)]
struct Expected {
    files: BTreeMap<String, ExpectedFile>,
    colours: BTreeMap<String, Option<[u8; 3]>>,
}

#[derive(Deserialize)]
struct ExpectedFile {
    series: String,
    segments: Vec<ExpectedSegment>,
}

#[derive(Deserialize)]
struct ExpectedSegment {
    label: String,
    /// Middles of the voxels, LPS, mm.
    #[serde(default)]
    voxels: Vec<[f64; 3]>,
    #[serde(default)]
    num_touched: usize,
    volume_ml: f64,
    mean: Option<f64>,
}

fn expected() -> Expected {
    serde_json::from_str(&std::fs::read_to_string(series_path("segmentations.json")).unwrap()).unwrap()
}

fn segmentation(name: &str) -> PathBuf {
    series_path("segmentations").join(name)
}

fn space(image: &ImageSeries) -> ImageSpace<'_> {
    ImageSpace { grid: image.grid().unwrap(), placement: image.placement.as_ref(), names: Some(&image.names) }
}

fn regions(path: &Path, image: &ImageSeries) -> (Vec<Roi>, Vec<Notice>) {
    read_regions(path, Some(&space(image))).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(path: &Path, image: &ImageSeries) -> DicomProblem {
    match read_regions(path, Some(&space(image))) {
        Err(error) => error.problem().cloned().unwrap_or_else(|| panic!("{error}")),
        other => panic!("{other:?}"),
    }
}

/// Returns the index of the voxel with its middle at a point (LPS).
fn index(image: &ImageSeries, [x, y, z]: [f64; 3]) -> u32 {
    let point = image.placement.map_or([x, y, -z], |placement| placement.own_mm([x, y, -z]));
    let grid = image.grid().unwrap();
    let at = grid.voxel_from_mm(point);
    assert!(at.iter().all(|at| (at - at.round()).abs() < 1e-3), "{at:?}");
    let [i, j, k] = at.map(|at| at.round() as usize);
    ((k * grid.size[1] + j) * grid.size[0] + i) as u32
}

/// Compares regions with the voxels, volumes and means of other programs.
fn assert_regions(name: &str, (regions, image): (&[Roi], &ImageSeries), expected: &[&ExpectedSegment]) {
    let volume = &image.images[0].volume;
    assert_eq!(regions.len(), expected.len(), "{name}");
    for (region, expected) in regions.iter().zip(expected) {
        let mask = region.mask(&volume.grid);
        let of_other: BTreeSet<u32> = expected.voxels.iter().map(|&position| index(image, position)).collect();
        let found: BTreeSet<u32> = mask.voxels.iter().map(|(index, _)| *index).collect();
        assert_eq!(found, of_other, "{name}: {}", region.name);
        assert!(mask.voxels.iter().all(|(_, part)| *part == 1.0), "{name}: {}", region.name);
        let sums = mask.sums(volume.as_slice());
        let volume_ml = sums.weight * volume.grid.voxel_ml();
        assert!((volume_ml / expected.volume_ml - 1.0).abs() < 1e-9, "{name}: {volume_ml} mL");
        let (mean, of_other) = (sums.sum / sums.weight, expected.mean.unwrap());
        assert!((mean - of_other).abs() <= 1e-9 * of_other.abs(), "{name}: {mean} is not {of_other}");
    }
}

#[test]
fn regions_have_the_voxels_that_highdicom_and_simpleitk_find() {
    let Expected { files, colours } = expected();
    let mut num = 0;
    for (name, file) in files.iter().filter(|(name, _)| !matches!(name.as_str(), "finer.dcm" | "oblique.dcm on pet")) {
        let image = read(&series_path(&file.series));
        let (found, notices) = regions(&segmentation(name), &image);
        assert_regions(name, (&found, &image), &file.segments.iter().collect::<Vec<_>>());
        let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
        let has = |part: &str| texts.iter().any(|text| text.contains(part));
        assert!(!has("turned") && !has("other voxels") && !has("outside") && !has("reference"), "{name}: {texts:?}");
        assert_eq!(has("fractional"), name.starts_with("fractional"), "{texts:?}");
        if file.segments.len() == 3 {
            let names: Vec<&str> = found.iter().map(|roi| roi.name.as_str()).collect();
            assert!(names == ["left", "lesion", "lesion (2)"] && has("'lesion (2)'"), "{names:?} {texts:?}");
        }
        let labels = file.segments.iter().map(|segment| &segment.label);
        assert!(found.iter().zip(labels).all(|(roi, label)| roi.name.starts_with(label.as_str())));
        for (roi, colour) in found.iter().zip(colours.values()) {
            let pairs = || roi.colour.into_iter().flatten().zip(colour.iter().flatten());
            assert!(roi.colour.is_some() == colour.is_some() && pairs().all(|(a, b)| a.abs_diff(*b) <= 1), "{:?}", roi.colour);
        }
        num += 1;
    }
    assert_eq!(num, 8);
}

#[test]
fn a_segment_on_smaller_voxels_has_its_own_volume() {
    let file = &expected().files["finer.dcm"];
    let image = read(&series_path(&file.series));
    let (found, notices) = regions(&segmentation("finer.dcm"), &image);
    assert!(notices.iter().any(|notice| notice.text.contains("other voxels")), "{notices:?}");
    let (mask, expected) = (found[0].mask(image.grid().unwrap()), &file.segments[0]);
    let sums = mask.sums(image.images[0].volume.as_slice());
    let volume_ml = sums.weight * image.grid().unwrap().voxel_ml();
    assert_eq!((found.len(), mask.voxels.len()), (1, expected.num_touched));
    assert!((volume_ml / expected.volume_ml - 1.0).abs() < 1e-9, "{volume_ml} is not {}", expected.volume_ml);
    let (mean, of_other) = (sums.sum / sums.weight, expected.mean.unwrap());
    assert!((mean / of_other - 1.0).abs() < 1e-9, "{mean} is not {of_other}");
}

#[test]
fn of_a_turned_segment_voxels_with_their_centre_inside_belong_to_a_region() {
    let file = &expected().files["oblique.dcm on pet"];
    let image = read(&series_path(&file.series));
    let (found, notices) = regions(&segmentation("oblique.dcm"), &image);
    let turned = notices.iter().find(|notice| notice.text.contains("turned by")).unwrap();
    assert_eq!(turned.severity, Severity::Warning);
    let with_voxels: Vec<&ExpectedSegment> = file.segments.iter().filter(|segment| !segment.voxels.is_empty()).collect();
    assert!(with_voxels.len() >= 2);
    assert_regions("oblique.dcm on pet", (&found, &image), &with_voxels);
}

#[test]
fn figures_are_those_of_the_file() {
    for name in ["axial.dcm", "oblique.dcm", "fractional-rle.dcm", "labelmap.dcm"] {
        let (figures, notices) = read_segmentation(&segmentation(name)).unwrap().figures().unwrap();
        let expected = &expected().files[name];
        assert!(notices.is_empty() && figures.len() == expected.segments.len(), "{notices:?}");
        for (figures, expected) in figures.iter().zip(&expected.segments) {
            assert_eq!((&figures.head.label, figures.num_voxels), (&expected.label, expected.voxels.len()), "{name}");
            assert!((figures.volume_ml / expected.volume_ml - 1.0).abs() < 1e-9, "{name}");
        }
    }
}

#[test]
fn a_written_segmentation_reads_back_with_the_same_voxels_and_volume() {
    let folder = folder();
    let path = folder.path().join("a.seg.dcm");
    for name in ["pet", "oblique", "coronal", "sagittal", "enhanced"] {
        let image = read_images(&series_path(name), ImageChoice::Number(1)).unwrap().0;
        let (grid, volume) = (image.grid().unwrap(), &image.images[0].volume);
        let voxels = |keep: fn(u32) -> bool| (0..grid.num_voxels() as u32).filter(|index| keep(*index)).collect();
        let segment = |label: &str, keep| Segment { label: label.into(), is_manual: true, voxels: voxels(keep) };
        let segments = [segment("a", |index| index * index % 7 == 2), segment("b", |index| index > 40 && index % 3 == 0)];
        let source = source_series(&series_path(name), 1).unwrap();
        write_segmentation(&path, (grid, image.placement.as_ref()), &segments, Some(&source)).unwrap();
        let (found, notices) = regions(&path, &image);
        assert!(notices.is_empty(), "{name}: {notices:?}");
        // Also from a ROI file.
        let toml = folder.path().join("rois.toml");
        write_rois(&toml, &found).unwrap();
        assert_eq!(read_rois(&toml).unwrap(), found);
        for (region, segment) in found.iter().zip(&segments) {
            assert!(matches!(region.shape, RoiShape::Voxels(_)) && region.name == segment.label);
            let mask: Vec<(u32, f32)> = segment.voxels.iter().map(|index| (*index, 1.0)).collect();
            assert_eq!(*region.mask(grid).voxels, mask, "{name}");
        }
        for (region, segment) in found.iter().zip(&segments) {
            let volume_ml = region.mask(grid).sums(volume.as_slice()).weight * grid.voxel_ml();
            assert!((volume_ml / (segment.voxels.len() as f64 * grid.voxel_ml()) - 1.0).abs() < 1e-12, "{name}: {volume_ml}");
        }
    }
}

/// Writes a segmentation after a change.
fn changed(name: &str, path: &Path, change: impl Fn(&mut DefaultDicomObject)) {
    let mut object = open_file(segmentation(name)).unwrap();
    change(&mut object);
    object.write_to_file(path).unwrap();
}

/// Changes the first item of a sequence of the shared groups.
fn change_shared(object: &mut InMemDicomObject, sequence: dicom_object::Tag, change: impl Fn(&mut InMemDicomObject)) {
    object.update_value(tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE, |value| {
        let shared = &mut value.items_mut().unwrap()[0];
        shared.update_value(sequence, |value| change(&mut value.items_mut().unwrap()[0]));
    });
}

#[test]
fn another_patient_frame_of_reference_or_slice_distance_is_reported() {
    let folder = folder();
    let path = folder.path().join("a.dcm");
    let image = read(&series_path("pet"));
    let text = |tag, vr, text: &str| DataElement::new(tag, vr, PrimitiveValue::from(text));
    changed("axial.dcm", &path, |object| {
        object.put(text(tags::FRAME_OF_REFERENCE_UID, VR::UI, "2.25.98"));
        object.put(text(tags::PATIENT_ID, VR::LO, "T2"));
        change_shared(object, tags::PIXEL_MEASURES_SEQUENCE, |measures| {
            assert!(measures.remove_element(tags::SPACING_BETWEEN_SLICES));
        });
    });
    let (found, notices) = regions(&path, &image);
    for part in ["another patient", "another frame of reference", "no SpacingBetweenSlices"] {
        let is_warning = |notice: &Notice| notice.severity == Severity::Warning && notice.text.contains(part);
        assert!(notices.iter().any(is_warning), "{part}: {notices:?}");
    }
    assert_eq!(found, regions(&segmentation("axial.dcm"), &image).0);
    // An image of another format has no frame of reference.
    let unnamed = ImageSpace { names: None, ..space(&image) };
    let (found, notices) = read_regions(&path, Some(&unnamed)).unwrap();
    assert!(found.len() == 3 && notices.iter().any(|notice| notice.text.contains("could not be compared")), "{notices:?}");
    // Three slices lower, one slice is left in the image.
    let grid = image.grid().unwrap();
    let moved = Grid { origin_mm: [grid.origin_mm[0], grid.origin_mm[1], grid.origin_mm[2] + 2.0 * 3.27], ..grid.clone() };
    let (found, notices) = read_regions(&segmentation("axial.dcm"), Some(&ImageSpace { grid: &moved, ..space(&image) })).unwrap();
    let outside = notices.iter().find(|notice| notice.text.contains("outside the image")).unwrap();
    assert!(found.len() == 3 && outside.text.contains(" of ") && found[2].mask(&moved).voxels.is_empty(), "{outside:?}");
}

#[test]
fn other_objects_and_kinds_are_refused_by_name() {
    let folder = folder();
    let path = folder.path().join("a.dcm");
    let image = read(&series_path("pet"));
    // A segmentation is no image, an image no segmentation.
    let error = read_images(&segmentation("axial.dcm"), ImageChoice::Only).unwrap_err();
    assert_problem(&error, "Segmentation");
    assert_eq!(error.code(), "io.unsupported.dicom");
    assert_problem(&read_regions(&segmentation("axial.dcm"), None).unwrap_err(), "Segmentation");
    let slice = std::fs::read_dir(series_path("pet")).unwrap().next().unwrap().unwrap().path();
    assert!(matches!(problem(&slice, &image), DicomProblem::NoSegmentation(class) if class.contains("Positron")));
    assert!(matches!(read_regions(&series_path("pet"), Some(&space(&image))), Err(IoError::NotAFile(_))));
    let text = |tag, text: &str| DataElement::new(tag, VR::CS, PrimitiveValue::from(text));
    let number = |tag, number: u16| DataElement::new(tag, VR::US, PrimitiveValue::from(number));
    changed("axial.dcm", &path, |object| _ = object.put(text(tags::SEGMENTATION_TYPE, "OTHER")));
    let other = problem(&path, &image);
    assert!(matches!(&other, DicomProblem::Value { found, .. } if found == "OTHER"), "{other}");
    changed("axial.dcm", &path, |object| _ = object.put(number(tags::ROWS, 7)));
    assert!(matches!(problem(&path, &image), DicomProblem::PixelBytes(_)));
    changed("axial.dcm", &path, |object| _ = object.put(number(tags::BITS_ALLOCATED, 8)));
    assert!(matches!(problem(&path, &image), DicomProblem::Value { found, .. } if found == "8"));
    changed("axial.dcm", &path, |object| {
        change_shared(object, tags::PIXEL_MEASURES_SEQUENCE, |measures| {
            measures.put(DataElement::new(tags::SPACING_BETWEEN_SLICES, VR::DS, PrimitiveValue::from("2.0")));
        });
    });
    assert!(matches!(problem(&path, &image), DicomProblem::FrameGap { pitch_mm: 2.0, .. }));
    changed("axial.dcm", &path, |object| {
        let bytes = object.element(tags::PIXEL_DATA).unwrap().to_bytes().unwrap().len();
        object.put(DataElement::new(tags::PIXEL_DATA, VR::OB, PrimitiveValue::U8(vec![0; bytes].into())));
    });
    assert_eq!(problem(&path, &image), DicomProblem::EmptySegmentation);
    changed("axial.dcm", &path, |object| {
        object.update_value(tags::SEGMENT_SEQUENCE, |value| _ = value.items_mut().unwrap().pop());
    });
    assert!(matches!(problem(&path, &image), DicomProblem::Value { found, .. } if found == "3"));
}

#[test]
fn broken_segmentations_end_in_a_sentence() {
    let num: usize = std::env::var("TOMOSCOPE_MUTATIONS").ok().map_or(10_000, |num| num.parse().unwrap());
    let names = ["axial.dcm", "oblique.dcm", "deflated.dcm", "finer.dcm", "fractional.dcm", "fractional-rle.dcm", "labelmap.dcm"];
    let good: Vec<Vec<u8>> = names.iter().map(|name| std::fs::read(segmentation(name)).unwrap()).collect();
    let folder = folder();
    let path = folder.path().join("file.seg.dcm");
    let image = read(&series_path("pet"));
    let mut random = stream(36, 0);
    let mut num_read = 0;
    for case in 0..num {
        std::fs::write(&path, mutated(&good[case % good.len()], &mut random)).unwrap();
        let read = read_regions(&path, Some(&space(&image)));
        match read {
            Ok((regions, _)) => {
                num_read += 1;
                assert!(regions.iter().all(|roi| roi.mask(image.grid().unwrap()).voxels.len() <= 90), "case {case}");
            }
            Err(error) => assert!(error.to_string().len() < 1000, "case {case}: {error}"),
        }
    }
    assert!(num_read > num / 100 && num_read < num, "{num_read} of {num} were read");
}
