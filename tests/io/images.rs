//! Interfile images.

use std::fs;
use std::path::{Path, PathBuf};

use strum::VariantArray as _;
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_volume, write_volume};

use super::{NUMBERS, assert_brief, assert_problem, bytes_of, folder, number_lines, warns_of};

const SIZE: [usize; 3] = [4, 3, 2];

fn header(number: &str, big_endian: bool, offsets: &str) -> String {
    format!(
        "!INTERFILE :=\nname of data file := image.v\n{}!PET data type := Image\nnumber of dimensions := 3\n\
         matrix axis label [1] := x\n!matrix size [1] := 4\nscaling factor (mm/pixel) [1] := 2.5\n\
         matrix axis label [2] := y\n!matrix size [2] := 3\nscaling factor (mm/pixel) [2] := 3\n\
         matrix axis label [3] := z\n!matrix size [3] := 2\nscaling factor (mm/pixel) [3] := 4\n{offsets}\
         patient orientation := head_in\npatient rotation := supine\n!END OF INTERFILE :=\n",
        number_lines(number, big_endian)
    )
}

fn put(folder: &Path, header: &str, data: &[u8]) -> PathBuf {
    fs::write(folder.join("image.v"), data).unwrap();
    let path = folder.join("image.hv");
    fs::write(&path, header).unwrap();
    path
}

fn numbers() -> impl Iterator<Item = f64> {
    (0..24).map(f64::from)
}

#[test]
fn every_number_type_and_byte_order_reads_the_same() {
    for number in NUMBERS {
        for big_endian in [false, true] {
            let folder = folder();
            let path = put(folder.path(), &header(number, big_endian, ""), &bytes_of(numbers(), number, big_endian));
            let (volume, notices) = read_volume(&path).unwrap();
            assert!(notices.is_empty(), "{notices:?}");
            assert_eq!((volume.grid.size, volume.unit), (SIZE, Unit::Unknown));
            assert!(volume.as_slice().iter().zip(numbers()).all(|(&a, b)| f64::from(a) == b));
            // x is fastest: (x, y, z) = (1, 2, 1) is the 1 + 4 (2 + 3·1) th.
            assert_eq!(volume.values[[1, 2, 1]], 21.0);
        }
    }
}

#[test]
fn the_grid_follows_the_offsets_or_has_its_axis_in_voxel_floor_half() {
    let folder = folder();
    let data = bytes_of(numbers(), "float 4", false);
    let (volume, _) = read_volume(&put(folder.path(), &header("float 4", false, ""), &data)).unwrap();
    assert_eq!(volume.grid, Grid::new(SIZE, [2.5, 3.0, 4.0], [-5.0, -3.0, -2.0]).unwrap());
    let offsets = "first pixel offset (mm) [1] := -3.75\nfirst pixel offset (mm) [3] := 10\n";
    let (volume, _) = read_volume(&put(folder.path(), &header("float 4", false, offsets), &data)).unwrap();
    assert_eq!(volume.grid.origin_mm, [-3.75, -3.0, 8.0]);
}

#[test]
fn other_programs_spell_and_scale_in_their_ways() {
    let folder = folder();
    let data = bytes_of(numbers(), "signed integer 2", false);
    let stir = header("signed integer 2", false, "");
    let read = |text: &str| read_volume(&put(folder.path(), text, &data));
    let plain = read(&stir).unwrap().0;
    // Siemens, a key without its signs, a mark of Windows, line ends of old systems.
    let siemens =
        stir.replace("scaling factor (mm/pixel)", "scale factor (mm/pixel)").replace("imagedata byte", "image data byte");
    let without_signs = stir.replace("(mm/pixel)", "mmpixel");
    for text in [&siemens, &without_signs, &format!("\u{feff}{stir}"), &stir.replace('\n', "\r"), &stir.replace('\n', "\r\n")] {
        let (volume, notices) = read(text).unwrap();
        assert!(volume == plain && notices.is_empty(), "{notices:?}");
    }
    for name in ["image.v.hdr", "image.hdr", "image.h33"] {
        let path = folder.path().join(name);
        fs::write(&path, &stir).unwrap();
        assert_eq!(read_volume(&path).unwrap().0, plain, "{name}");
    }
    assert!(write_volume(&folder.path().join("new.hdr"), &plain).is_err(), "it is another program's ending");
    // Slope and intercept of CASToR and XMedCon.
    for (keys, slope, intercept) in [
        ("data rescale slope := 2\ndata rescale offset := 5\n", 2.0, 5.0),
        ("rescale slope := 0.5\nrescale intercept := -1\n", 0.5, -1.0),
        ("image scaling factor := 3\ndata rescale slope := 3\n", 3.0, 0.0),
        ("data starting block := 0\n", 1.0, 0.0),
    ] {
        let volume = read(&header("signed integer 2", false, keys)).unwrap().0;
        let expected = |value: &f32| slope * value + intercept;
        assert!(volume.as_slice().iter().zip(plain.as_slice()).all(|(found, value)| *found == expected(value)), "{keys}");
    }
    let error = read(&header("signed integer 2", false, "scale factor (mm/pixel) [3] := 6\n")).unwrap_err().to_string();
    assert!(error.contains("scale factor (mm/pixel) [3]") && error.contains('4'), "{error}");
    // Data behind a block of 2048 bytes.
    let behind = [&vec![0; 2048], &data[..]].concat();
    let text = header("signed integer 2", false, "data starting block := 1\n");
    assert_eq!(read_volume(&put(folder.path(), &text, &behind)).unwrap().0, plain);
}

#[test]
fn written_images_read_back_the_same() {
    let folder = folder();
    let grids = [
        Grid::centred([5, 3, 7], [2.734, 2.734, 3.27]).unwrap(),
        Grid::centred([6, 4, 2], [700.0 / 329.0, 1.7, 3.27]).unwrap(),
        Grid::new([3, 4, 5], [1.0, 2.0, 3.0], [-17.3, 0.123456789, 4.0e3]).unwrap(),
    ];
    for grid in grids {
        let values: Vec<f32> = (0..grid.num_voxels()).map(|i| (i as f32).sqrt() - 1.5).collect();
        let volume = Volume::from_vec(grid, values, Unit::CountsPerMm).unwrap();
        let path = folder.path().join("image.hv");
        write_volume(&path, &volume).unwrap();
        let (again, notices) = read_volume(&path).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!((volume.as_slice(), volume.unit), (again.as_slice(), again.unit));
        assert_eq!((volume.grid.size, volume.grid.voxel_mm), (again.grid.size, again.grid.voxel_mm));
        for axis in 0..3 {
            assert!((volume.grid.origin_mm[axis] - again.grid.origin_mm[axis]).abs() < 1e-9);
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "temporary files are left");
}

#[test]
fn what_is_not_an_image_is_refused() {
    let folder = folder();
    let data = bytes_of(numbers(), "float 4", false);
    let plain = header("float 4", false, "");
    let cases: [(&str, &str, &str); 16] = [
        ("dimensions := 3", "dimensions := 4", "io.unsupported.interfile image.hv ProjectionData"),
        ("[1] := x", "[1] := z", "io.invalid-value image.hv matrix axis label [1]=z"),
        ("size [2] := 3", "size [2] := {3,3}", "io.invalid-value image.hv matrix size [2]={3,3}"),
        ("size [2] := 3", "size [2] := 30", "io.truncated image.v 96/960"),
        ("[1] := 2.5", "[1] := 0", "io.grid image.hv Voxel"),
        ("size [1] := 4\nscaling", "scaling", "io.missing-key image.hv matrix size [1]"),
        ("scaling factor (mm/pixel) [2] := 3\n", "", "io.missing-key image.hv scaling factor (mm/pixel) [2]"),
        ("imagedata byte order := LITTLEENDIAN\n", "", "io.missing-key image.hv imagedata byte order"),
        ("patient rot", "number of energy windows := 2\npatient rot", "io.unsupported.interfile image.hv SeveralParts"),
        ("patient rot", "number of time slots := 2\npatient rot", "io.unsupported.interfile image.hv SeveralParts"),
        (
            "patient rot",
            "data rescale slope := 2\nrescale slope := 3\npatient rot",
            "io.unsupported.interfile image.hv DifferentFactors",
        ),
        (
            "patient rot",
            "quantification units [1] := 0.5\nimage scaling factor := 2\npatient rot",
            "io.unsupported.interfile image.hv DifferentFactors",
        ),
        ("patient rot", "rescale slope := 0\npatient rot", "io.invalid-value image.hv image scaling factor=0"),
        ("patient rot", "rescale slope := 0,5\npatient rot", "io.invalid-value image.hv rescale slope=0,5"),
        (
            "patient rot",
            "image data byte order := BIGENDIAN\npatient rot",
            "io.invalid-value image.hv image data byte order=bigendian",
        ),
        ("patient rot", "slice orientation := Coronal\npatient rot", "io.unsupported.interfile image.hv SliceOrientation"),
    ];
    for (from, to, expected) in cases {
        let text =
            if from.starts_with("size [1]") { plain.replace("!matrix size [1] := 4\n", "") } else { plain.replace(from, to) };
        assert_ne!(text, plain, "{from}");
        assert_brief(&read_volume(&put(folder.path(), &text, &data)).unwrap_err(), expected);
    }
    let text = plain.replace("scaling factor (mm/pixel) [1]", "scaling factor (mm/pixels) [1]");
    assert_ne!(text, plain);
    let error = read_volume(&put(folder.path(), &text, &data)).unwrap_err().to_string();
    assert!(error.contains("correct the line 'scaling factor (mm/pixels) [1] := 2.5'"), "{error}");
    let text = plain.replace("patient rotation", "patient rotations");
    let (_, notices) = read_volume(&put(folder.path(), &text, &data)).unwrap();
    let misspelt = "1 key is not understood: 'patient rotations' (did you mean 'patient rotation'?)";
    assert!(warns_of(&notices, misspelt), "{notices:?}");
    for (lines, warning) in [
        ("rescale slope := 2\nrescale slope := 3", "the lines 'rescale slope := 2' and 'rescale slope := 3' contradict"),
        ("calibration factor := 1.7", "not multiplied by its 'calibration factor', 1.7"),
        ("total number of images := 7", "'total number of images' is 7, but 2 slices are read"),
    ] {
        let text = plain.replace("patient rot", &format!("{lines}\npatient rot"));
        let (_, notices) = read_volume(&put(folder.path(), &text, &data)).unwrap();
        assert!(notices.len() == 1 && warns_of(&notices, warning), "{lines}: {notices:?}");
    }
    let error = read_volume(&folder.path().join("image.png")).unwrap_err();
    assert_brief(&error, "io.unknown-ending image.png");
}

#[test]
fn names_that_a_header_could_not_tell_are_not_written() {
    let folder = folder();
    let volume = Volume::filled(Grid::centred([1, 1, 1], [1.0; 3]).unwrap(), 1.0);
    for name in [" image.hv", "\u{a0}image.hv", "im\nage.hv", "im\u{1b}age.hv"] {
        assert_problem(&write_volume(&folder.path().join(name), &volume).unwrap_err(), "HeaderName");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    for name in ["im age .hv", "ïmage.hv", "im := age.hv"] {
        let path = folder.path().join(name);
        write_volume(&path, &volume).unwrap();
        assert_eq!(read_volume(&path).unwrap().0.as_slice(), [1.0], "{name}");
    }
}

#[test]
fn every_unit_is_read_back() {
    let folder = folder();
    for name in ["a.hv", "a.nii"] {
        let path = folder.path().join(name);
        for &unit in Unit::VARIANTS {
            let grid = Grid::centred([3, 2, 1], [1.0; 3]).unwrap();
            write_volume(&path, &Volume { unit, ..Volume::filled(grid, 1.0) }).unwrap();
            assert_eq!(read_volume(&path).unwrap().0.unit, unit, "{name}");
        }
    }
}
