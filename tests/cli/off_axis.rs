//! Images whose grid is off the axis of the scanner, and images with activity in their corners: nothing is lost by default, and a
//! given circle reports the share that it cuts off.

use std::path::Path;

use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume, write_volume};

use super::{done, tomoscope};

fn words(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().collect()
}

/// Runs a command that succeeds; its standard error.
fn warned(at: &Path, arguments: &str) -> String {
    let output = tomoscope(at, &words(arguments));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments}: {text}");
    text
}

/// A disc of 48 mm on the axis, on a grid whose middle is `shift_mm` beside it.
fn disc(shift_mm: f64) -> Volume {
    let mut grid = Grid::centred([31, 31, 15], [6.0, 6.0, 2.5]).unwrap();
    grid.origin_mm[0] += shift_mm;
    let mut volume = Volume::filled(grid, 0.0);
    for index in 0..volume.as_slice().len() {
        let [x, y] = [index % 31, index / 31 % 31].map(|voxel| voxel as f64);
        let [x, y, _] = volume.grid.mm_from_voxel([x, y, 0.0]);
        volume.as_mut_slice()[index] = if x.hypot(y) <= 24.0 { 1.0 } else { 0.0 };
    }
    volume
}

fn total(at: &Path, file: &str) -> f64 {
    read_projections(&at.join(file)).unwrap().0.total()
}

#[test]
fn an_image_is_projected_whole_wherever_its_grid_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --counts 1e5 --noise none -o c.hs"));
    write_volume(&at.join("s0.nii"), &disc(0.0)).unwrap();
    warned(at, "project s0.nii --like c.hs -o p0.hs");
    let expected = read_projections(&at.join("p0.hs")).unwrap().0;
    assert!(expected.total() > 0.0);
    // Whole voxels: the same voxels of activity.
    for shift in [12.0, 30.0, 60.0] {
        write_volume(&at.join("s.nii"), &disc(shift)).unwrap();
        let text = warned(at, "project s.nii --like c.hs -o p.hs");
        assert!(!text.contains("not projected"), "{text}");
        let found = read_projections(&at.join("p.hs")).unwrap().0;
        let max = expected.counts.iter().copied().fold(0.0, f32::max);
        for (found, expected) in found.counts.iter().zip(expected.counts.iter()) {
            assert!((found - expected).abs() <= 2e-5 * max, "shift {shift}: {found} is not {expected}");
        }
    }
}

#[test]
fn a_given_circle_reports_what_it_cuts_off_and_corners_are_projected() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --counts 1e5 --noise none -o c.hs"));
    // A square of 60 mm: 21.5 % of it are outside its inscribed circle.
    let square = Volume::filled(Grid::centred([30, 30, 15], [2.0, 2.0, 2.5]).unwrap(), 1.0);
    write_volume(&at.join("square.nii"), &square).unwrap();
    warned(at, "project square.nii --like c.hs -o whole.hs");
    let text = warned(at, "project square.nii --like c.hs -o cut.hs --fov-radius-mm 30");
    let share = square.share_outside(30.0);
    assert!((share - (1.0 - std::f64::consts::FRAC_PI_4)).abs() < 0.02, "{share}");
    assert!(text.contains(&format!("{:.2} % of the sum of the image", 100.0 * share)), "{text}");
    let [whole, cut] = ["whole.hs", "cut.hs"].map(|file| total(at, file));
    // (Lines between the middle and the corners are not equally dense.)
    assert!((1.0 - cut / whole - share).abs() < 0.05, "{cut} of {whole}");
    // The pair stays adjoint: ⟨A x, A x⟩ = ⟨x, Aᵀ A x⟩.
    warned(at, "backproject whole.hs --like square.nii -o back.nii");
    let squared: f64 = read_projections(&at.join("whole.hs")).unwrap().0.counts.iter().map(|y| f64::from(*y).powi(2)).sum();
    let back = read_volume(&at.join("back.nii")).unwrap().0;
    let product: f64 = back.as_slice().iter().zip(square.as_slice()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    assert!((product / squared - 1.0).abs() < 1e-5, "{product} is not {squared}");
}

#[test]
fn a_reconstruction_on_a_grid_off_the_axis_explains_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --counts 1e5 --noise none -o c.hs"));
    write_volume(&at.join("s0.nii"), &disc(0.0)).unwrap();
    write_volume(&at.join("s24.nii"), &disc(24.0)).unwrap();
    let text = warned(at, "reconstruct c.hs --like s24.nii -o a.nii --iterations 1 --subsets 4");
    assert!(text.contains("the image grid is off the axis by 24.0 mm: the field of view has a radius of"), "{text}");
    warned(at, "reconstruct c.hs --like s0.nii -o b.nii --iterations 1 --subsets 4 --fov-radius-mm 70.5");
    let [off, on] = ["a.nii", "b.nii"].map(|image| read_volume(&at.join(image)).unwrap().0.sum());
    assert!((off / on - 1.0).abs() < 0.02, "{off} is not {on}");
    write_volume(&at.join("square.nii"), &Volume::filled(Grid::centred([30, 30, 15], [2.0, 2.0, 2.5]).unwrap(), 1.0)).unwrap();
    let start = warned(at, "reconstruct c.hs --init square.nii -o c.nii --iterations 1 --subsets 4");
    assert!(start.contains("% of the sum of the start image lies outside the field of view"), "{start}");
}
