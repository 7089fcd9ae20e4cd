//! NIfTI images.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tomoscope::data::{FieldAxis, ImageChoice, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::nifti::{FourthAxis, Spectra, read_images, read_spectra, write_series};
use tomoscope::io::{files_read, read_epri_volume, read_volume, write_volume};

use super::{assert_brief, assert_problem, bytes_of, folder, warns_of};

/// A header of 4 × 3 × 2 voxels, written by hand from nifti1.h's offsets.
#[derive(Clone, Copy)]
struct Header {
    dim: [i16; 8],
    datatype: i16,
    pixdim: [f32; 8],
    vox_offset: f32,
    slope: f32,
    intercept: f32,
    units: u8,
    qform: Option<[f32; 6]>,
    sform: Option<[[f32; 4]; 3]>,
    magic: &'static [u8; 4],
    big_endian: bool,
}

impl Header {
    fn plain() -> Self {
        Self {
            dim: [3, 4, 3, 2, 1, 1, 1, 1],
            datatype: 16,
            pixdim: [1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0],
            vox_offset: 352.0,
            slope: 0.0,
            intercept: 0.0,
            units: 2,
            qform: None,
            // Our orientation: first voxel at (−3, −3, −2) in our world.
            sform: Some([[-2.0, 0.0, 0.0, 3.0], [0.0, -3.0, 0.0, 3.0], [0.0, 0.0, -4.0, 2.0]]),
            magic: b"n+1\0",
            big_endian: false,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 352];
        let mut put = |at: usize, number: &[u8]| {
            let mut number = number.to_vec();
            if self.big_endian {
                number.reverse();
            }
            bytes[at..at + number.len()].copy_from_slice(&number);
        };
        put(0, &348i32.to_le_bytes());
        for (i, n) in self.dim.iter().enumerate() {
            put(40 + 2 * i, &n.to_le_bytes());
        }
        put(70, &self.datatype.to_le_bytes());
        for (i, d) in self.pixdim.iter().enumerate() {
            put(76 + 4 * i, &d.to_le_bytes());
        }
        put(108, &self.vox_offset.to_le_bytes());
        put(112, &self.slope.to_le_bytes());
        put(116, &self.intercept.to_le_bytes());
        put(123, &[self.units]);
        put(252, &i16::from(self.qform.is_some()).to_le_bytes());
        put(254, &i16::from(self.sform.is_some()).to_le_bytes());
        for (i, q) in self.qform.unwrap_or_default().iter().enumerate() {
            put(256 + 4 * i, &q.to_le_bytes());
        }
        for (i, s) in self.sform.unwrap_or_default().iter().flatten().enumerate() {
            put(280 + 4 * i, &s.to_le_bytes());
        }
        bytes[344..348].copy_from_slice(self.magic);
        bytes
    }

    /// The same header in version 2, by the offsets of nifti2.h.
    fn bytes_2(&self) -> Vec<u8> {
        let mut bytes = vec![0; 544];
        let mut put = |at: usize, number: &[u8]| {
            let mut number = number.to_vec();
            if self.big_endian {
                number.reverse();
            }
            bytes[at..at + number.len()].copy_from_slice(&number);
        };
        put(0, &540i32.to_le_bytes());
        put(12, &self.datatype.to_le_bytes());
        for (i, n) in self.dim.iter().enumerate() {
            put(16 + 8 * i, &i64::from(*n).to_le_bytes());
        }
        let mut floats = |at: usize, values: &[f32]| {
            for (i, value) in values.iter().enumerate() {
                put(at + 8 * i, &f64::from(*value).to_le_bytes());
            }
        };
        floats(104, &self.pixdim);
        floats(176, &[self.slope, self.intercept]);
        floats(352, &self.qform.unwrap_or_default());
        floats(400, self.sform.unwrap_or_default().as_flattened());
        put(168, &(self.vox_offset as i64).to_le_bytes());
        put(344, &i32::from(self.qform.is_some()).to_le_bytes());
        put(348, &i32::from(self.sform.is_some()).to_le_bytes());
        put(500, &i32::from(self.units).to_le_bytes());
        let magic: &[u8; 8] = if self.magic == b"ni1\0" { b"ni2\0\r\n\x1a\n" } else { b"n+2\0\r\n\x1a\n" };
        bytes[4..12].copy_from_slice(magic);
        bytes
    }

    /// The header and 0, 1, 2, … as its voxels.
    fn file(&self, number: &str) -> Vec<u8> {
        let mut bytes = self.bytes();
        bytes.resize(self.vox_offset as usize, 0);
        bytes.extend(bytes_of((0..24).map(f64::from), number, self.big_endian));
        bytes
    }
}

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("image.nii");
    fs::write(&path, bytes).unwrap();
    path
}

fn read(header: &Header) -> Volume {
    let folder = folder();
    read_volume(&put(folder.path(), &header.file("float 4"))).unwrap().0
}

#[test]
fn written_images_read_back_the_same() {
    let folder = folder();
    let grids = [
        Grid::centred([5, 3, 7], [2.734, 2.734, 3.27]).unwrap(),
        Grid::new([6, 1, 2], [2.0, 1.7, 3.27], [-17.3, 12.25, 400.0]).unwrap(),
        Grid::centred([1, 1, 4], [1.0, 2.0, 3.0]).unwrap(),
    ];
    for name in ["image.nii", "image.nii.gz", "image.of.a.scan.nii", "image.of.a.scan.nii.gz", "IMAGE.NII"] {
        for grid in &grids {
            let values: Vec<f32> = (0..grid.num_voxels()).map(|i| (i as f32).sqrt() - 1.5).collect();
            let volume = Volume::from_vec(grid.clone(), values, Unit::BqPerMl).unwrap();
            let path = folder.path().join(name);
            write_volume(&path, &volume).unwrap();
            let (again, notices) = read_volume(&path).unwrap();
            assert!(notices.is_empty(), "{notices:?}");
            assert_eq!((volume.as_slice(), volume.unit), (again.as_slice(), again.unit));
            assert_eq!(volume.grid.voxel_mm, again.grid.voxel_mm);
            assert!(volume.grid.same_as(&again.grid), "{:?} {:?}", volume.grid, again.grid);
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "temporary files are left");
}

#[test]
fn a_written_header_says_where_the_patient_is() {
    let folder = folder();
    let path = folder.path().join("image.nii");
    let grid = Grid::new([4, 3, 2], [2.0, 3.0, 4.0], [-3.0, -3.0, -2.0]).unwrap();
    let values = (0..24).map(|i| i as f32).collect();
    write_volume(&path, &Volume::from_vec(grid, values, Unit::Unknown).unwrap()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let sform: Vec<f32> = (0..12).map(|i| float(280 + 4 * i)).collect();
    assert_eq!(sform, [-2.0, 0.0, 0.0, 3.0, 0.0, -3.0, 0.0, 3.0, 0.0, 0.0, -4.0, 2.0]);
    let qform: Vec<f32> = (0..6).map(|i| float(256 + 4 * i)).collect();
    assert_eq!((qform, float(76)), (vec![0.0, 0.0, 1.0, 3.0, 3.0, 2.0], -1.0));
    // Voxels in the order x, y, z: (1, 2, 1) is the 1 + 4 (2 + 3·1) th.
    assert_eq!((float(352 + 4 * 21), bytes.len()), (21.0, 352 + 96));
}

#[test]
fn gradient_axes_are_the_world_of_an_epri_image() {
    let folder = folder();
    let path = folder.path().join("image.nii.gz");
    let plain = folder.path().join("image.nii");
    let grid = Grid::new([4, 3, 2], [2.0, 3.0, 4.0], [-4.0, -3.0, 0.0]).unwrap();
    let volume = Volume::from_vec(grid, (0..24).map(|i| i as f32).collect(), Unit::Arbitrary).unwrap();
    for path in [&path, &plain] {
        write_volume(path, &volume).unwrap();
        assert_eq!(read_volume(path).unwrap(), (volume.clone(), Vec::new()));
    }
    let bytes = fs::read(&plain).unwrap();
    let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let sform: Vec<f32> = (0..12).map(|i| float(280 + 4 * i)).collect();
    assert_eq!(sform, [2.0, 0.0, 0.0, -4.0, 0.0, 3.0, 0.0, -3.0, 0.0, 0.0, 4.0, 0.0]);
    let qform: Vec<f32> = (0..6).map(|i| float(256 + 4 * i)).collect();
    assert_eq!((qform, float(76)), (vec![0.0, 0.0, 0.0, -4.0, -3.0, 0.0], 1.0));
    assert_eq!(&bytes[328..344], b"tomoscope a.u.\0\0");
    // So do concentrations and maps of pulse oximetry.
    for unit in [Unit::Millimolar, Unit::Torr, Unit::PerMicrosecond, Unit::Millitesla] {
        let map = Volume { unit, ..volume.clone() };
        let path = folder.path().join("map.nii");
        write_volume(&path, &map).unwrap();
        assert_eq!(read_volume(&path).unwrap(), (map, Vec::new()));
        assert_eq!(fs::read(&path).unwrap()[280..328], bytes[280..328], "{unit:?}");
    }
    // By its quaternion alone, and without either, it lies the same way round.
    let mut other = bytes.clone();
    other[254..256].fill(0);
    fs::write(&plain, &other).unwrap();
    assert_eq!(read_volume(&plain).unwrap().0, volume);
    other[252..254].fill(0);
    fs::write(&plain, &other).unwrap();
    assert_eq!(read_volume(&plain).unwrap().0.as_slice(), volume.as_slice());
    // One that says a.u. alone has the patient's axes, as all images had before.
    let mut before = Header::plain().file("float 4");
    before[328..332].copy_from_slice(b"a.u.");
    fs::write(&plain, &before).unwrap();
    let (before, _) = read_volume(&plain).unwrap();
    assert_eq!((before.unit, before.grid.origin_mm), (Unit::Arbitrary, [-3.0, -3.0, -2.0]));
}

#[test]
fn the_quaternion_says_the_same_as_the_affine() {
    let by_affine = read(&Header::plain());
    assert_eq!(by_affine.grid, Grid::new([4, 3, 2], [2.0, 3.0, 4.0], [-3.0, -3.0, -2.0]).unwrap());
    assert_eq!(by_affine.values[[1, 2, 1]], 21.0);
    let mut header = Header::plain();
    header.sform = None;
    header.qform = Some([0.0, 0.0, 1.0, 3.0, 3.0, 2.0]);
    header.pixdim[0] = -1.0;
    assert_eq!(read(&header), by_affine);
}

#[test]
fn flipped_and_exchanged_axes_come_into_our_order() {
    let ours = read(&Header::plain());
    // x to the patient's right, y to anterior, z to superior ("RAS"): every axis reversed.
    let mut header = Header::plain();
    header.sform = Some([[2.0, 0.0, 0.0, -3.0], [0.0, 3.0, 0.0, -3.0], [0.0, 0.0, 4.0, -2.0]]);
    let ras = read(&header);
    assert_eq!(ras.grid, ours.grid);
    assert_eq!((ras.values[[0, 0, 0]], ras.values[[1, 2, 3]], ras.values[[1, 0, 3]]), (23.0, 0.0, 8.0));
    // First file axis runs to superior, second to the patient's left, third to posterior.
    header.sform = Some([[0.0, -3.0, 0.0, 3.0], [0.0, 0.0, -4.0, 2.0], [2.0, 0.0, 0.0, -3.0]]);
    let turned = read(&header);
    assert_eq!(turned.grid, Grid::new([3, 2, 4], [3.0, 4.0, 2.0], [-3.0, -2.0, -3.0]).unwrap());
    // Our (x, y, z) = (2, 1, 0) is file voxel (3 − 0, 2, 1).
    assert_eq!(turned.values[[0, 1, 2]], (3 + 4 * (2 + 3)) as f32);
}

#[test]
fn numbers_scale_units_and_byte_order_count() {
    let types =
        [("unsigned integer 1", 2), ("signed integer 2", 4), ("signed integer 4", 8), ("float 8", 64), ("signed integer 1", 256)];
    let more =
        [("unsigned integer 2", 512), ("unsigned integer 4", 768), ("signed integer 8", 1024), ("unsigned integer 8", 1280)];
    for (number, datatype) in types.into_iter().chain(more) {
        for big_endian in [false, true] {
            let folder = folder();
            let header =
                Header { datatype, big_endian, slope: 0.5, intercept: 10.0, units: 3, vox_offset: 400.0, ..Header::plain() };
            let (volume, _) = read_volume(&put(folder.path(), &header.file(number))).unwrap();
            assert_eq!(volume.values[[1, 2, 1]], 20.5, "{number}");
            assert!((volume.grid.voxel_mm[1] - 0.003).abs() < 1e-12);
        }
    }
}

#[test]
fn what_a_header_leaves_open_is_reported() {
    let folder = folder();
    let notices = |header: &Header| {
        let (series, notices) = read_images(&put(folder.path(), &header.file("float 4")), ImageChoice::All).unwrap();
        (series, notices.into_iter().map(|notice| notice.text).collect::<Vec<_>>().join("\n"))
    };
    // A slope that is not a number: unscaled, as nibabel does.
    let (series, text) = notices(&Header { slope: f32::NAN, ..Header::plain() });
    assert!(series.images[0].volume.values[[1, 2, 1]] == 21.0 && text.contains("scl_slope"), "{text}");
    // Two positions of one image; the same one twice is no warning.
    let sform = Some([[-2.0, 0.0, 0.0, 3.0], [0.0, -3.0, 0.0, 3.0], [0.0, 0.0, -4.0, 2.0]]);
    let turned_by_180 = [0.0, 0.0, 1.0, 3.0, 3.0, 2.0];
    let (_, text) = notices(&Header { sform, qform: Some(turned_by_180), ..Header::plain() });
    assert!(text.contains("place it differently, by up to 8.0 mm; the sform is used"), "{text}");
    let (_, text) = notices(&Header { sform, ..Header::plain() });
    assert!(!text.contains("qform"), "{text}");
    // Several images without times.
    let (series, text) =
        notices(&Header { dim: [4, 4, 3, 1, 2, 1, 1, 1], pixdim: [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 1.0, 1.0], ..Header::plain() });
    assert!(series.images.len() == 2 && text.contains("times of its images are unknown"), "{text}");
}

#[test]
fn an_oblique_image_has_a_position_in_the_world() {
    let folder = folder();
    // By 30° about z: the quaternion (cos 15°, 0, 0, sin 15°).
    let (sin, cos) = 30f64.to_radians().sin_cos();
    let qform = [0.0, 0.0, 15f32.to_radians().sin(), 5.0, -7.0, 11.0];
    let sform = [[2.0 * cos, -3.0 * sin, 0.0, 5.0], [2.0 * sin, 3.0 * cos, 0.0, -7.0], [0.0, 0.0, 4.0, 11.0]];
    let sform = sform.map(|row| row.map(|value| value as f32));
    for header in
        [Header { qform: Some(qform), sform: None, ..Header::plain() }, Header { sform: Some(sform), ..Header::plain() }]
    {
        let (series, notices) = read_images(&put(folder.path(), &header.file("float 4")), ImageChoice::Only).unwrap();
        assert!(notices.iter().any(|notice| notice.text.contains("oblique by 30.0°")), "{notices:?}");
        let (volume, placement) = (&series.images[0].volume, series.placement.unwrap());
        for index in 0..24 {
            let [i, j, k] = [index % 4, index / 4 % 3, index / 12].map(|at| at as f64);
            let patient = [2.0 * cos * i - 3.0 * sin * j + 5.0, 2.0 * sin * i + 3.0 * cos * j - 7.0, 4.0 * k + 11.0];
            let own = placement.own_mm(patient.map(|mm| -mm));
            let at = volume.grid.voxel_from_mm(own);
            assert!(at.iter().all(|at| (at - at.round()).abs() < 1e-5), "{at:?}");
            assert_eq!(volume.at_mm(own), Some(index as f32));
        }
    }
}

#[test]
fn version_2_and_pairs_are_read_as_one_file_of_version_1() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for big_endian in [false, true] {
        let header = Header {
            slope: 0.5,
            intercept: 3.0,
            qform: Some([0.0, 0.0, 1.0, 3.0, 3.0, 2.0]),
            pixdim: [-1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0],
            big_endian,
            ..Header::plain()
        };
        let expected = read(&header);
        assert_eq!(expected.as_slice()[2], 4.0);
        let voxels = &header.file("float 4")[352..];
        let version_2 = [&Header { vox_offset: 544.0, ..header }.bytes_2(), voxels].concat();
        fs::write(at("two.nii"), &version_2).unwrap();
        fs::write(at("two.nii.gz"), packed(&version_2)).unwrap();
        let of_pair = Header { magic: b"ni1\0", vox_offset: 0.0, ..header };
        fs::write(at("a.hdr"), &of_pair.bytes()[..348]).unwrap();
        fs::write(at("a.img"), voxels).unwrap();
        // Behind 16 other bytes, compressed, in capital letters.
        fs::write(at("B.HDR"), Header { vox_offset: 16.0, ..of_pair }.bytes_2()).unwrap();
        fs::write(at("B.IMG.GZ"), packed(&[&[7; 16], voxels].concat())).unwrap();
        for name in ["two.nii", "two.nii.gz", "a.hdr", "a.img", "B.HDR", "B.IMG.GZ"] {
            let (volume, notices) = read_volume(&at(name)).unwrap();
            assert!(volume == expected && notices.is_empty(), "{name}: {notices:?}");
        }
        assert_eq!(files_read(&at("a.hdr")), [at("a.hdr"), at("a.img")]);
    }
    fs::write(at("a.img"), [0; 90]).unwrap();
    assert_brief(&read_volume(&at("a.hdr")).unwrap_err(), "io.truncated a.img 90/96");
    fs::remove_file(at("a.img")).unwrap();
    assert_brief(&read_volume(&at("a.hdr")).unwrap_err(), "io.not-found a.img");
    let mut analyze = Header { magic: b"\0\0\0\0", ..Header::plain() }.bytes();
    analyze.truncate(348);
    fs::write(at("a.hdr"), analyze).unwrap();
    assert_brief(&read_volume(&at("a.hdr")).unwrap_err(), "io.unsupported.nifti a.hdr Analyze");
    let error = write_volume(&at("a.hdr"), &read(&Header::plain())).unwrap_err();
    assert_brief(&error, "io.unsupported.nifti a.hdr WrittenPair");
    // Sides and offsets that version 1 does not hold.
    for (offset, value) in [(24, 40_000), (168, (1 << 24) + 1), (24, -3)] {
        let mut bytes = Header { vox_offset: 544.0, ..Header::plain() }.bytes_2();
        bytes[offset..offset + 8].copy_from_slice(&i64::to_le_bytes(value));
        fs::write(at("two.nii"), bytes).unwrap();
        assert!(read_volume(&at("two.nii")).is_err(), "{value}");
    }
}

/// What ITK's programs leave of the header of an EPRI image, and what a program leaves that keeps voxels and affine alone.
#[test]
fn an_epri_image_keeps_its_axes_in_other_programs() {
    let folder = folder();
    let path = folder.path().join("a.nii");
    for (size, origin) in [([4, 3, 2], [-3.0, 1.0, 7.0]), ([5, 5, 1], [-4.0, -4.0, 0.0])] {
        let grid = Grid::new(size, [2.0, 3.0, 4.0], origin).unwrap();
        let values = (0..grid.num_voxels()).map(|i| i as f32).collect();
        let volume = Volume::from_vec(grid, values, Unit::Arbitrary).unwrap();
        let is_same = |(found, _): (Volume, Vec<_>)| found.grid.same_as(&volume.grid) && found.as_slice() == volume.as_slice();
        write_volume(&path, &volume).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[328..344].fill(0);
        fs::write(&path, &bytes).unwrap();
        assert!(is_same(read_volume(&path).unwrap()) && is_same(read_epri_volume(&path).unwrap()));
        bytes[148..228].fill(0);
        fs::write(&path, &bytes).unwrap();
        assert!(!is_same(read_volume(&path).unwrap()), "an image of a patient");
        let read = read_epri_volume(&path).unwrap();
        assert!(read.1.iter().any(|notice| notice.text.contains("on the axes of the gradients")), "{:?}", read.1);
        assert!(is_same(read));
        // Other formats have no world.
        let other = folder.path().join("a.hv");
        write_volume(&other, &volume).unwrap();
        assert!(is_same(read_epri_volume(&other).unwrap()));
    }
}

#[test]
fn times_and_unit_are_those_of_the_file_beside_the_image() {
    let folder = folder();
    let path = folder.path().join("a.nii.gz");
    let sidecar = folder.path().join("a.json");
    let image = Volume { unit: Unit::Unknown, ..Volume::filled(Grid::centred([4, 3, 2], [2.0; 3]).unwrap(), 2.0) };
    let write = |step| write_series(&path, &[image.clone(), image.clone()], FourthAxis::Time([0.0, step]), "").unwrap();
    let read = |text: &str| {
        fs::write(&sidecar, text).unwrap();
        let (series, notices) = read_images(&path, ImageChoice::All).unwrap();
        let times: Vec<_> = series.images.iter().map(|image| [image.start_secs, image.duration_secs]).collect();
        (times.concat(), series.images[0].volume.unit, notices)
    };
    write(0.0);
    let good = r#"{"Units": "Bq/mL", "FrameTimesStart": [10, 70], "FrameDuration": [60, 90.5], "Manufacturer": "x"}"#;
    let (times, unit, notices) = read(good);
    assert_eq!((times, unit, notices.len()), (vec![10.0, 60.0, 70.0, 90.5], Unit::BqPerMl, 0), "{notices:?}");
    for text in [
        r#"{"FrameTimesStart": [0], "FrameDuration": [60]}"#,
        r#"{"FrameTimesStart": "x"}"#,
        "{",
        r#"{"FrameTimesStart": [0, 1]}"#,
    ] {
        let (times, _, notices) = read(text);
        assert!(times == [0.0; 4] && warns_of(&notices, "a.json") && warns_of(&notices, "unknown"), "{text}: {notices:?}");
    }
    // Other files of this name.
    for text in ["[1, 2]", r#"{"regions": []}"#] {
        assert!(!warns_of(&read(text).2, "a.json"), "{text}");
    }
    for text in [
        r#"{"FrameTimesStart": [0, 30], "FrameDuration": [60, 60]}"#,
        r#"{"FrameTimesStart": [60, 0], "FrameDuration": [60, 60]}"#,
    ] {
        let (times, _, notices) = read(text);
        assert!(times == [0.0; 4] && warns_of(&notices, "overlap or go back"), "{text}: {notices:?}");
    }
    assert!(warns_of(&read(r#"{"Units": "kBq/mL"}"#).2, "'kBq/mL' is not known"));
    write(60.0);
    let (times, _, notices) = read(good);
    assert!(times == [10.0, 60.0, 70.0, 90.5] && warns_of(&notices, "not the step of 60 s"), "{notices:?}");
}

#[test]
fn what_is_not_read_is_refused() {
    let folder = folder();
    let plain = Header::plain;
    let oblique = Some([[-2.0, 0.02, 0.0, 3.0], [0.0, -3.0, 0.0, 3.0], [0.0, 0.0, -4.0, 2.0]]);
    let twice = Some([[-2.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 3.0], [0.0, -3.0, -4.0, 2.0]]);
    let cases: [(Header, &str); 10] = [
        (Header { dim: [4, 4, 3, 2, 5, 1, 1, 1], ..plain() }, "io.unsupported.nifti image.nii SeveralImages"),
        (Header { dim: [3, 4, -3, 2, 1, 1, 1, 1], ..plain() }, "io.unsupported.nifti image.nii Side"),
        (Header { dim: [3, 4, 0, 2, 1, 1, 1, 1], ..plain() }, "io.unsupported.nifti image.nii ImageSize"),
        (Header { dim: [3, 4, 30, 2, 1, 1, 1, 1], ..plain() }, "io.truncated image.nii 448/1312"),
        (Header { datatype: 128, ..plain() }, "io.unsupported.nifti image.nii DataType"),
        (Header { magic: b"ni1\0", ..plain() }, "io.unsupported.nifti image.nii Pair"),
        (Header { magic: b"nope", ..plain() }, "io.unsupported.nifti image.nii NotNifti"),
        (Header { sform: oblique, ..plain() }, "io.unsupported.image image.nii Oblique"),
        (Header { sform: twice, ..plain() }, "io.unsupported.image image.nii Oblique"),
        (Header { slope: f32::INFINITY, ..plain() }, "io.unsupported.nifti image.nii Scale"),
    ];
    for (header, expected) in cases {
        let error = read_volume(&put(folder.path(), &header.file("float 4"))).unwrap_err();
        assert_brief(&error, expected);
    }
    for vox_offset in [0.0, f32::NAN, f32::INFINITY, -1.0, 1e20] {
        let mut bytes = plain().file("float 4");
        bytes[108..112].copy_from_slice(&vox_offset.to_le_bytes());
        assert_brief(&read_volume(&put(folder.path(), &bytes)).unwrap_err(), "io.unsupported.nifti image.nii DataStart");
    }
    // One volume along the fourth axis is a plain image.
    let header = Header { dim: [4, 4, 3, 2, 1, 1, 1, 1], ..plain() };
    assert!(read_volume(&put(folder.path(), &header.file("float 4"))).is_ok());
}

#[test]
fn a_compressed_file_that_ends_early_is_an_error() {
    let folder = folder();
    let path = folder.path().join("image.nii.gz");
    let volume = Volume::filled(Grid::centred([20, 20, 20], [1.0; 3]).unwrap(), 2.0);
    write_volume(&path, &volume).unwrap();
    let bytes = fs::read(&path).unwrap();
    for keep in [0, 1, 9, 100, bytes.len() - 9] {
        fs::write(&path, &bytes[..keep]).unwrap();
        assert_brief(&read_volume(&path).unwrap_err(), "io.read image.nii.gz");
    }
    fs::write(&path, b"this was never compressed").unwrap();
    assert_brief(&read_volume(&path).unwrap_err(), "io.read image.nii.gz");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The good file of the corpus and some bytes after its voxels.
fn longer() -> Vec<u8> {
    [include_bytes!("corpus/good.nii").as_slice(), &[7; 1000]].concat()
}

#[test]
fn a_compressed_file_is_read_to_its_end_and_its_checksum_is_looked_at() {
    let folder = folder();
    let path = folder.path().join("image.nii.gz");
    let mut bytes = packed(&longer());
    fs::write(&path, &bytes).unwrap();
    let (whole, notices) = read_volume(&path).unwrap();
    assert!(warns_of(&notices, "1000 more bytes"), "{notices:?}");
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_brief(&read_volume(&path).unwrap_err(), "io.read image.nii.gz");
    // Several gzip members are one file; what follows them and is no member is told.
    let good = include_bytes!("corpus/good.nii");
    let mut members = good.chunks(100).map(packed).collect::<Vec<_>>().concat();
    fs::write(&path, &members).unwrap();
    let (volume, notices) = read_volume(&path).unwrap();
    assert_eq!((&volume, notices.len()), (&whole, 0), "{notices:?}");
    members.extend([0; 512]);
    fs::write(&path, &members).unwrap();
    let (volume, notices) = read_volume(&path).unwrap();
    assert_eq!(volume, whole);
    assert!(warns_of(&notices, "no gzip"), "{notices:?}");
}

#[test]
fn a_few_bytes_that_unpack_to_very_many_are_not_unpacked() {
    let folder = folder();
    let path = folder.path().join("image.nii.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(include_bytes!("corpus/good.nii")).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(1 << 27), &mut encoder).unwrap();
    fs::write(&path, encoder.finish().unwrap()).unwrap();
    let (_, notices) = read_volume(&path).unwrap();
    assert!(warns_of(&notices, "far more bytes"), "{notices:?}");
}

#[test]
fn a_file_that_is_too_long_is_told() {
    let folder = folder();
    let path = folder.path().join("image.nii");
    fs::write(&path, longer()).unwrap();
    let (_, notices) = read_volume(&path).unwrap();
    assert!(warns_of(&notices, "image.nii") && warns_of(&notices, "1000 more bytes"), "{notices:?}");
}

#[test]
fn spectra_have_the_axis_of_the_field() {
    let folder = folder();
    let path = folder.path().join("a.nii.gz");
    // Off the middle, so that turned axes show.
    let grid = Grid::new([3, 2, 1], [2.0; 3], [1.0, -7.0, 0.0]).unwrap();
    let image =
        |k: usize| Volume::from_vec(grid.clone(), (0..6).map(|i| (10 * k + i) as f32).collect(), Unit::Arbitrary).unwrap();
    let (images, axis) = ([image(1), image(2)], FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 2 });
    write_series(&path, &images, FourthAxis::Field(axis), "").unwrap();
    let (Spectra { samples, axis: found }, notices) = read_spectra(&path).unwrap();
    assert!(found == axis && notices.is_empty(), "{found:?} {notices:?}");
    assert!(samples.iter().zip(&images).all(|(a, b)| **a == *b));
    write_series(&path, &images, FourthAxis::Time([0.0, 1.0]), "").unwrap();
    assert_problem(&read_spectra(&path).unwrap_err(), "NoFieldAxis");
}

#[test]
fn the_images_of_a_series_are_read_one_by_one() {
    let folder = folder();
    let grid = Grid::centred([4, 3, 2], [2.0, 3.0, 4.0]).unwrap();
    let image =
        |k: usize| Volume::from_vec(grid.clone(), (0..24).map(|i| (100 * k + i) as f32).collect(), Unit::CountsPerMm).unwrap();
    for name in ["a.nii", "a.nii.gz"] {
        let path = folder.path().join(name);
        write_series(&path, &[image(1), image(2), image(3)], FourthAxis::Time([5.0, 2.5]), "").unwrap();
        let (all, _) = read_images(&path, ImageChoice::All).unwrap();
        assert_eq!((all.images.len(), all.num_images), (3, 3));
        for k in 1..=3 {
            let (one, notices) = read_images(&path, ImageChoice::Number(k)).unwrap();
            assert!(*one.images[0].volume == image(k) && notices.is_empty(), "{name}, {k}: {notices:?}");
            assert_eq!(all.images[k - 1].volume, one.images[0].volume);
            let times = [one.images[0].start_secs, one.images[0].duration_secs];
            assert_eq!((times, one.num_images), ([2.5 + 2.5 * k as f64, 2.5], 3));
        }
        assert_problem(&read_volume(&path).unwrap_err(), "SeveralImages(3)");
        for k in [0, 4] {
            let error = read_images(&path, ImageChoice::Number(k)).unwrap_err();
            assert_problem(&error, &format!("NoSuchImage({k}, 3)"));
        }
        // Cut short in its last image.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        read_images(&path, ImageChoice::Number(1)).unwrap_err();
    }
    let single = folder.path().join("b.nii");
    write_volume(&single, &image(1)).unwrap();
    let (one, _) = read_images(&single, ImageChoice::Number(1)).unwrap();
    assert_eq!((one.num_images, &*one.images[0].volume), (1, &image(1)));
}

#[test]
fn what_is_no_nifti_1_is_told_without_the_programs_inside() {
    let folder = folder();
    let nifti_2 = [&540i32.to_le_bytes()[..], b"n+2\0\r\n\x1a\n", &[0; 528]].concat();
    let empty_gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty.nii", b"", "Short"),
        ("empty.nii.gz", &empty_gzip, "Short"),
        ("two.nii", &nifti_2, "ImageSize"),
        ("cut.nii", &nifti_2[..400], "Short"),
        ("zeros.nii", &[0; 400], "NotNifti"),
    ];
    for (name, bytes, problem) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let error = read_volume(&path).unwrap_err();
        assert_brief(&error, &format!("io.unsupported.nifti {name} {problem}"));
        assert!(!error.to_string().contains("Kind("), "{error}");
    }
}
