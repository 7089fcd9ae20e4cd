//! Images as NumPy arrays, with the record of their grid beside them.

use std::path::Path;

use serde_json::json;
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::numpy_image::read_image_of_voxels;
use tomoscope::io::{FileKind, provenance, read_volume, write_volume};

use super::sweep_forms::npy;
use super::{assert_brief, assert_problem, folder, warns_of};

fn grid() -> Grid {
    Grid::new([4, 3, 2], [2.734, 3.0, 3.27], [-6.2, 0.123456789, -11.25]).unwrap()
}

fn record(names: &str, grid: &Grid) -> serde_json::Value {
    let image = json!({"size": grid.size, "voxel_mm": grid.voxel_mm, "origin_mm": grid.origin_mm, "unit": "counts/mm"});
    json!({"program": "tomoscope", "files": [names], "image": image})
}

/// The record that stands beside an image.
fn put_record(path: &Path, names: &str, grid: &Grid) {
    provenance::write(path, &record(names, grid)).unwrap();
}

#[test]
fn written_images_read_back_the_same_as_numpy_has_them() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    let values: Vec<f32> = (0..24).map(|i| (i as f32).sqrt() - 1.5).collect();
    let volume = Volume::from_vec(grid(), values.clone(), Unit::CountsPerMm).unwrap();
    write_volume(&path, &volume).unwrap();
    put_record(&path, "a.npy", &volume.grid);
    let (again, notices) = read_volume(&path).unwrap();
    assert!(notices.is_empty() && again == volume, "{notices:?}");
    // NumPy's format, version 1.0 (NEP 1): the header ends at a multiple of 64 bytes with the end of a line.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((&bytes[..8], &bytes[8..10]), (&b"\x93NUMPY\x01\x00"[..], &118u16.to_le_bytes()[..]));
    let header = std::str::from_utf8(&bytes[10..128]).unwrap();
    assert_eq!(header.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }");
    assert!(header.ends_with(" \n"));
    assert_eq!(bytes[128..], *values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
}

#[test]
fn either_order_of_indices_and_bytes_is_read() {
    let folder = folder();
    // The value at (x, y, z) is 100 z + 10 y + x; in Fortran's order z is fastest.
    let value = |z: usize, y: usize, x: usize| (100 * z + 10 * y + x) as f64;
    let c_order = (0..24).map(|i| value(i / 12, i / 4 % 3, i % 4));
    let fortran_order = (0..24).map(|i| value(i % 2, i / 2 % 3, i / 6));
    let paths = [
        npy(folder.path(), "a.npy", "<i2", false, "(2, 3, 4)", c_order),
        npy(folder.path(), "b.npy", ">f8", true, "(2, 3, 4)", fortran_order),
    ];
    for path in paths {
        let (volume, _) = read_image_of_voxels(&path, [1.0, 2.0, 3.0]).unwrap();
        assert_eq!((volume.grid, volume.unit), (Grid::centred([4, 3, 2], [1.0, 2.0, 3.0]).unwrap(), Unit::Unknown));
        for ((z, y, x), &found) in volume.values.indexed_iter() {
            assert_eq!(f64::from(found), value(z, y, x));
        }
    }
}

/// A record under the name that earlier versions gave it.
fn put_earlier_record(folder: &Path, names: &str, grid: &Grid) {
    std::fs::write(folder.join("a.json"), record(names, grid).to_string()).unwrap();
}

#[test]
fn an_array_never_gets_the_grid_of_another_image_of_its_name() {
    let folder = folder();
    let path = npy(folder.path(), "a.npy", "<f4", false, "(2, 3, 4)", (0..24).map(f64::from));
    let other = Grid::centred([4, 3, 2], [9.0; 3]).unwrap();
    // Not of an earlier version's record ...
    put_earlier_record(folder.path(), "a.nii.gz", &other);
    assert_problem(&read_volume(&path).unwrap_err(), r#"NoRecord(…a.npy.json"…a.npy")"#);
    // ... which counts where it names the array, until there is one of its own.
    put_earlier_record(folder.path(), "a.npy", &other);
    let (volume, notices) = read_volume(&path).unwrap();
    assert!(volume.grid == other && notices.is_empty(), "{notices:?}");
    put_record(&path, "a.npy", &grid());
    put_record(&folder.path().join("a.nii.gz"), "a.nii.gz", &other);
    assert_eq!(read_volume(&path).unwrap().0.grid, grid());
}

#[test]
fn an_array_is_an_image_only_with_its_grid() {
    let folder = folder();
    let path = npy(folder.path(), "a.npy", "<f4", false, "(2, 3, 4)", (0..24).map(f64::from));
    assert_problem(&read_volume(&path).unwrap_err(), r#"NoRecord(…a.npy.json"…a.npy")"#);
    put_record(&path, "b.npy", &grid());
    let (volume, notices) = read_volume(&path).unwrap();
    assert_eq!((volume.grid, volume.unit), (grid(), Unit::CountsPerMm));
    assert!(warns_of(&notices, "a.npy.json, which does not name it"), "{notices:?}");
    put_record(&path, "a.npy", &Grid::centred([4, 2, 3], [1.0; 3]).unwrap());
    assert_problem(
        &read_volume(&path).unwrap_err(),
        r#"OtherRecord(…a.npy.json", Mismatch { found: [4, 3, 2], expected: [4, 2, 3] })"#,
    );
    std::fs::write(folder.path().join("a.npy.json"), "{\"image\": 1}").unwrap();
    assert_brief(&read_volume(&path).unwrap_err(), "io.unsupported.numpy a.npy NoRecord");
    let flat = npy(folder.path(), "a.npy", "<f4", false, "(6, 4)", (0..24).map(f64::from));
    assert_problem(&read_image_of_voxels(&flat, [1.0; 3]).unwrap_err(), "Shape([6, 4], ");
    let short = npy(folder.path(), "a.npy", "<f4", false, "(2, 3, 4)", (0..23).map(f64::from));
    assert_brief(&read_image_of_voxels(&short, [1.0; 3]).unwrap_err(), "io.truncated a.npy 220/224");
}

#[test]
fn the_arrays_of_a_sweep_are_no_images() {
    let folder = folder();
    let kind = |name: &str| FileKind::of(&folder.path().join(name));
    let others = ["a-fgrad.npy", "a-B.npy", "a-h.npy", "a-dir.npy", "a-t.npy", "a-weights.npy"];
    // Without projections of that name they are images.
    assert!(others.iter().all(|name| kind(name) == Some(FileKind::NumpyImage)));
    std::fs::write(folder.path().join("a-proj.npy"), "").unwrap();
    assert!(others.iter().chain(&["a-proj.npy"]).all(|name| kind(name) == Some(FileKind::NumpySweep)));
    assert_eq!(kind("patient-B.npy"), Some(FileKind::NumpyImage));
    assert_eq!(FileKind::of(Path::new("a.NPY")), Some(FileKind::NumpyImage));
}
