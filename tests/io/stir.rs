//! Files that STIR 6 wrote.

use std::fs;
use std::path::Path;

use tomoscope::data::{Michelogram, Severity};
use tomoscope::io::{read_projections, read_volume, write_projections, write_volume};
use tomoscope::scanner::InPlane;

use super::data::data_file;

/// The float at an index of a raw little-endian file.
fn raw(path: &Path, index: usize) -> f32 {
    let bytes = fs::read(path).unwrap();
    f32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap())
}

fn bin(data: &Michelogram, ring_difference: i32, axial: usize, view: usize, tangential: usize) -> f32 {
    let g = &data.geometry;
    let segments = &g.segments;
    let segment = segments.iter().position(|s| s.min_ring_difference == ring_difference).unwrap();
    let before: usize = segments[..segment].iter().map(|s| s.num_axial_pos).sum();
    data.counts[(view * g.num_tangential + tangential) * g.num_planes() + before + axial]
}

/// Axial positions of segments −4 … 4.
const AXIALS: [usize; 9] = [12, 13, 14, 15, 16, 15, 14, 13, 12];

#[test]
fn a_file_of_sinograms_with_a_scanner_that_is_only_named() {
    let Some(path) = data_file("stir/utahgeom_synth600k.hs") else { return };
    let (data, notices) = read_projections(&path).unwrap();
    let g = data.geometry.as_ref();
    assert_eq!(data.total(), 600_597.0);
    assert_eq!((g.num_rings, g.num_views, g.num_tangential, g.num_planes()), (16, 96, 128, 124));
    assert_eq!((g.radius_mm(), g.in_plane), (380.0, InPlane::ArcCorrected { bin_mm: 3.1088 }));
    assert!(g.phi_rad(0).abs() < 1e-12, "the view offset cancels the shift of mashing");
    assert!(notices.iter().any(|n| n.severity == Severity::Info && n.text.contains("CTI PRT-1")), "{notices:?}");
    assert!(!notices.iter().any(|n| n.severity > Severity::Info), "{notices:?}");
    let mut unequal = 0;
    for (segment, axial, view, tangential) in [(0, 0, 0, 60), (4, 7, 41, 64), (4, 7, 41, 65), (7, 12, 95, 70), (8, 11, 95, 127)] {
        let before: usize = AXIALS[..segment].iter().sum();
        let index = ((before + axial) * 96 + view) * 128 + tangential;
        let expected = raw(&path.with_extension("s"), index);
        assert_eq!(bin(&data, segment as i32 - 4, axial, view, tangential), expected);
        unequal += usize::from(expected != 0.0);
    }
    assert!(unequal >= 2, "these bins would not tell a wrong order");
}

#[test]
fn a_file_of_viewgrams() {
    let Some(path) = data_file("stir/fwd_test5.hs") else { return };
    let (data, notices) = read_projections(&path).unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    for (segment, axial, view, tangential) in [(0, 3, 5, 60), (4, 7, 41, 64), (7, 11, 90, 70), (8, 11, 95, 80)] {
        let before: usize = AXIALS[..segment].iter().sum();
        let index = before * 96 * 128 + (view * AXIALS[segment] + axial) * 128 + tangential;
        let expected = raw(&path.with_extension("s"), index);
        assert_eq!(bin(&data, segment as i32 - 4, axial, view, tangential), expected);
        assert!(expected > 0.0);
    }
}

#[test]
fn data_that_is_not_arc_corrected() {
    let Some(path) = data_file("stir/ecat931/fwd931.hs") else { return };
    let (data, notices) = read_projections(&path).unwrap();
    let g = data.geometry.as_ref();
    assert_eq!((g.in_plane, g.num_views, g.num_tangential, g.num_planes()), (InPlane::Detectors, 64, 192, 64));
    assert_eq!((g.radius_mm(), g.ring_spacing_mm), (517.0, 13.5));
    assert!(!notices.iter().any(|n| n.severity > Severity::Info), "{notices:?}");
    let file = fs::read(path.with_extension("s")).unwrap();
    let sum: f64 = file.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).sum();
    assert!((data.total() - sum).abs() < 1e-9 * sum);
}

#[test]
fn images() {
    for (name, sum, max) in [("mlem_1", 1554.39, 0.0111441), ("mlem_5", 1535.05, 0.0319472), ("mlem_10", 1533.54, 0.166927)] {
        let Some(path) = data_file(&format!("stir/{name}.hv")) else { return };
        let (volume, notices) = read_volume(&path).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert!((volume.sum() / sum - 1.0).abs() < 3e-5, "{}", volume.sum());
        assert!((f64::from(volume.range().1) / max - 1.0).abs() < 1e-5);
        assert_eq!(volume.grid.size, [97, 97, 31]);
        let middle = volume.grid.mm_from_voxel([48.0, 48.0, 15.0]);
        assert!(middle.iter().all(|v| v.abs() < 1e-9), "STIR's six digits stand for the whole: {middle:?}");
    }
    let Some(path) = data_file("stir/ecat931/asym_even100.hv") else { return };
    let (volume, _) = read_volume(&path).unwrap();
    assert_eq!(volume.grid.mm_from_voxel([50.0, 50.0, 7.0]), [0.0; 3]);
    let Some(path) = data_file("stir/test_image_5.hv") else { return };
    let (volume, _) = read_volume(&path).unwrap();
    let middle = volume.grid.mm_from_voxel([48.0, 48.0, 15.0]);
    assert!(middle.iter().all(|v| v.abs() < 1e-9), "a header without offsets: {middle:?}");
}

/// Key and value of each line, without case, `!` and spaces.
fn keys(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap();
    let plain = |text: &str| text.to_lowercase().replace([' ', '!', '\t'], "");
    let pairs = text.lines().filter(|line| !line.starts_with(';')).filter_map(|line| line.split_once(":="));
    pairs.map(|(key, value)| (plain(key), plain(value))).collect()
}

/// Every key that we write STIR writes too, in the same order and with the same value (numbers to its six digits).
fn assert_same_header(ours: &Path, stirs: &Path, of_our_own: &[&str]) {
    let mut stir = keys(stirs).into_iter();
    for (key, value) in keys(ours) {
        if of_our_own.contains(&key.as_str()) {
            continue;
        }
        let Some((_, expected)) = stir.find(|(k, _)| *k == key) else {
            panic!("'{key}' is not in {} or not in this order", stirs.display());
        };
        match (value.parse::<f64>(), expected.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!((a - b).abs() <= 1e-5 * b.abs(), "{key}: {value}, STIR {expected}"),
            _ if key == "nameofdatafile" => {}
            _ => assert_eq!(value, expected, "{key}"),
        }
    }
}

#[test]
fn what_is_written_is_what_stir_writes() {
    let folder = super::folder();
    for name in ["stir/fwd_test5.hs", "stir/ecat931/fwd931.hs"] {
        let Some(path) = data_file(name) else { return };
        let (data, _) = read_projections(&path).unwrap();
        let ours = folder.path().join("ours.hs");
        write_projections(&ours, &data).unwrap();
        assert!(fs::read(ours.with_extension("s")).unwrap() == fs::read(path.with_extension("s")).unwrap(), "{name}");
        // This version of STIR leaves these out where it does not know them, or where nothing was arc-corrected.
        let of_our_own: &[&str] = match name {
            "stir/fwd_test5.hs" => &[],
            _ => &["patientorientation", "patientrotation", "effectivecentralbinsize(cm)", "defaultbinsize(cm)"],
        };
        assert_same_header(&ours, &path, of_our_own);
    }
    let Some(path) = data_file("stir/mlem_1.hv") else { return };
    let (volume, _) = read_volume(&path).unwrap();
    let ours = folder.path().join("ours.hv");
    write_volume(&ours, &volume).unwrap();
    assert!(fs::read(ours.with_extension("v")).unwrap() == fs::read(path.with_extension("v")).unwrap());
    assert_same_header(&ours, &path, &[]);
}
