//! Widths of Gaussians that are written as voxels or as coefficients of blobs, measured as the window's profile tool measures them.

use tomoscope::algebra::{Host, HostArray, Image, ImageSpace, RingBasis, RingGrid};
use tomoscope::data::Volume;
use tomoscope::geometry::{Grid, Point};
use tomoscope::measure::{PeakWidth, ProfileInterpolation, peak_width, profile};

/// FWHM of a Gaussian in standard deviations.
const FWHM_OF_SIGMA: f64 = 2.354_820_045;
/// What a blob of a = 1.994 Δ, m = 2 and α = 10.4 adds to the variance along each axis, in Δ² (Δ = 0.5 mm: 0.254² mm²).
const BLOB_VARIANCE: f64 = 0.258_064;

const SPACING_MM: f64 = 0.5;

fn grid() -> Grid {
    Grid::centred([140, 140, 24], [SPACING_MM; 3]).unwrap()
}

fn gaussian(centre: Point, fwhm_mm: f64, at: Point) -> f64 {
    let square: f64 = (0..3).map(|a| (at[a] - centre[a]).powi(2)).sum();
    (-0.5 * square * (FWHM_OF_SIGMA / fwhm_mm).powi(2)).exp()
}

fn written(centre: Point, fwhm_mm: f64) -> Volume {
    let mut volume = Volume::filled(grid(), 0.0);
    for ((z, y, x), value) in volume.values.indexed_iter_mut() {
        *value = gaussian(centre, fwhm_mm, grid().mm_from_voxel([x as f64, y as f64, z as f64])) as f32;
    }
    volume
}

/// The image whose coefficients are those of the uniform image times the Gaussian at the middle of each blob.
fn of_blobs(centre: Point, fwhm_mm: f64) -> Volume {
    let basis = RingBasis::blobs(RingGrid::polar(18, SPACING_MM, 35.5, 6.0), grid());
    let uniform: Vec<f32> = ImageSpace::<Host>::uniform(&basis);
    let value = |(index, one): (usize, f32)| one * gaussian(centre, fwhm_mm, basis.cells().middle_mm(index)) as f32;
    let coefficients: HostArray<Image> = uniform.into_iter().enumerate().map(value).collect::<Vec<f32>>().into();
    let num_voxels = ImageSpace::<Host>::evaluated_len(&basis).unwrap();
    let mut voxels: HostArray<Image> = vec![0.0; num_voxels].into();
    basis.evaluate(&mut Host, &coefficients, &mut voxels).unwrap();
    let mut volume = Volume::filled(grid(), 0.0);
    ImageSpace::<Host>::write(&basis, &voxels, 1.0, &mut volume);
    volume
}

/// The width along a line through a place, with a point for each voxel that it passes through, as the window has it.
fn width(volume: &Volume, centre: Point, half: [f64; 3]) -> PeakWidth {
    let voxels = half.iter().map(|side| (2.0 * side / SPACING_MM).powi(2)).sum::<f64>().sqrt();
    let (from, to) = (std::array::from_fn(|a| centre[a] - half[a]), std::array::from_fn(|a| centre[a] + half[a]));
    peak_width(&profile(volume, from, to, voxels.round() as usize + 1, ProfileInterpolation::Cubic), SPACING_MM).unwrap()
}

/// Lines along the axes, and such between voxel centres.
const ALONG_AXES: [[f64; 3]; 3] = [[6.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 5.0]];
const OBLIQUE: [[f64; 3]; 3] = [[4.0, 4.0, 0.0], [5.0, 3.0, 0.0], [3.0, 3.0, 3.0]];

#[test]
fn a_gaussian_of_voxels_has_its_width() {
    for (centre, fwhm_mm) in [([12.25, 0.25, 0.25], 2.0), ([20.25, 7.75, -1.25], 2.0), ([25.25, -3.25, 0.75], 3.0)] {
        let volume = written(centre, fwhm_mm);
        for (half, tolerance) in ALONG_AXES.map(|half| (half, 1e-4)).into_iter().chain(OBLIQUE.map(|half| (half, 0.01))) {
            let ratio = width(&volume, centre, half).fwhm_mm / fwhm_mm;
            assert!((ratio - 1.0).abs() < tolerance, "{centre:?} along {half:?}: {ratio}");
        }
    }
}

#[test]
fn blobs_add_their_variance_to_that_of_their_coefficients() {
    // The rings of the polar grid are the less alike the nearer the axis.
    for (centre, tolerance) in [([12.25, 0.25, 0.25], 0.015), ([20.25, 7.75, -1.25], 0.01), ([25.25, 0.25, 0.25], 0.01)] {
        for fwhm_mm in [2.0, 3.0f64] {
            let variance = BLOB_VARIANCE * SPACING_MM * SPACING_MM;
            let expected = (fwhm_mm * fwhm_mm + FWHM_OF_SIGMA * FWHM_OF_SIGMA * variance).sqrt();
            let volume = of_blobs(centre, fwhm_mm);
            for half in ALONG_AXES {
                let ratio = width(&volume, centre, half).fwhm_mm / expected;
                println!("{fwhm_mm} mm at {centre:?} along {half:?}: {ratio:.4} of what is expected");
                assert!((ratio - 1.0).abs() < tolerance, "{fwhm_mm} mm at {centre:?} along {half:?}: {ratio}");
            }
            for half in OBLIQUE {
                let ratio = width(&volume, centre, half).fwhm_mm / expected;
                println!("{fwhm_mm} mm at {centre:?} along {half:?}: {ratio:.4} of what is expected");
            }
        }
    }
}
