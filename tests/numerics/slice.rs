//! Two-dimensional sweeps: filtered backprojection of line integrals against closed forms and another program.

use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use strum::VariantArray as _;
use tomoscope::algebra::Host;
use tomoscope::data::{GradientAxis, RoiShape, Study, Sweep, SweepSpace, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::read_sweep;
use tomoscope::operator::{PlainPlanes, PlaneBackprojector, SingleStage, grid_about_zero};
use tomoscope::phantom::epri::{SweepOptions, by_name, simulate};
use tomoscope::recon::{
    Algorithm, Baseline, DataProblem, Fbp, FbpSettings, Filter, FilterSettings, ProjectionProblem, ReconError,
};
use tomoscope::scanner::epri::Scheme;
use tomoscope::task::Task;

use super::data::data_file;
use super::support::{correlation, relative, with_line};

/// A phantom seen along so many angles of a half circle.
fn slice(name: &str, num_angles: usize) -> Sweep {
    study(name, num_angles).measured
}

fn study(name: &str, num_angles: usize) -> Study<Sweep> {
    let options = SweepOptions { scheme: Scheme::HalfCircle { num_angles }, ..SweepOptions::default() };
    simulate(&by_name(name, options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap()
}

fn fbp<P: PlaneBackprojector<Host>>(sweep: &Sweep, planes: P, filter: FilterSettings) -> Result<Fbp<Host, P>, ReconError> {
    Fbp::new(Host, planes, sweep, FbpSettings { filter, block: 2000, ..FbpSettings::default() })
}

fn reconstruct(sweep: &Sweep, filter: FilterSettings, grid: &Grid) -> Volume {
    let mut fbp = fbp(sweep, SingleStage::new(grid.clone()), filter).unwrap();
    fbp.step(&Task::new()).unwrap();
    let mut volume = Volume::filled(grid.clone(), 0.0);
    fbp.volume_into(&mut volume).unwrap();
    volume
}

/// Mean over the pixels whose distance from a point lies between two.
fn mean(volume: &Volume, [x, y]: [f64; 2], from: f64, to: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for ((_, j, i), value) in volume.values.indexed_iter() {
        let point = volume.grid.mm_from_voxel([i as f64, j as f64, 0.0]);
        let distance = (point[0] - x).hypot(point[1] - y);
        if distance >= from && distance <= to {
            (sum, count) = (sum + f64::from(*value), count + 1.0);
        }
    }
    sum / count
}

fn pixels() -> Grid {
    grid_about_zero([96, 96, 1], [0.4; 3]).unwrap()
}

fn with(filter: Filter, cutoff: Option<f64>) -> FilterSettings {
    FilterSettings { filter, cutoff, ..FilterSettings::default() }
}

#[test]
fn a_disc_of_known_density_has_it_and_nothing_lies_beside_it() {
    let sweep = slice("disc", 120);
    assert_eq!((sweep.num_complete(), sweep.space.is_slice()), (120, true));
    assert!((sweep.total_weight() - PI).abs() < 1e-12);
    // Chords of a disc.
    let middle = &sweep.projections[7].values;
    assert!((middle[64] - 20.0).abs() < 1e-4 && (middle[64 + 16] - 2.0 * 75f32.sqrt()).abs() < 1e-4);
    for &filter in Filter::VARIANTS {
        for cutoff in [None, Some(0.5)] {
            let volume = reconstruct(&sweep, with(filter, cutoff), &pixels());
            let (inside, outside) = (mean(&volume, [0.0; 2], 0.0, 8.0), mean(&volume, [0.0; 2], 12.0, 17.0));
            println!("{filter}, cut-off {cutoff:?}: {inside:.5}, beside it {outside:.5}");
            assert!((inside - 1.0).abs() <= 0.005 && outside.abs() <= 0.005, "{filter}, {cutoff:?}: {inside} {outside}");
        }
    }
    // The plain program, and half of the angles only: the same density.
    let mut plain = fbp(&sweep, PlainPlanes::new(pixels()), FilterSettings::default()).unwrap();
    plain.step(&Task::new()).unwrap();
    let mut volume = Volume::filled(pixels(), 0.0);
    plain.volume_into(&mut volume).unwrap();
    assert!((mean(&volume, [0.0; 2], 0.0, 8.0) - 1.0).abs() <= 0.005);
    let half = Sweep { projections: sweep.projections.iter().step_by(2).cloned().collect(), ..sweep };
    let volume = reconstruct(&half, FilterSettings::default(), &pixels());
    assert!((mean(&volume, [0.0; 2], 0.0, 8.0) - 1.0).abs() <= 0.005);
}

#[test]
fn tubes_have_their_densities_in_their_places() {
    let tubes = study("tubes", 120);
    let volume = reconstruct(&tubes.measured, with(Filter::Hamming, None), &pixels());
    let densities = [1.0, 1.5, 2.0, 3.0];
    for (roi, density) in tubes.rois.iter().zip(densities) {
        let RoiShape::Circle { radius_mm, .. } = roi.shape else { panic!("{roi:?}") };
        let [x, y, z] = roi.centre_mm;
        let found = mean(&volume, [x, y], 0.0, 0.8 * radius_mm);
        println!("{}: {found:.4}", roi.name);
        assert!(z == 0.0 && (found / density - 1.0).abs() < 0.02, "{}: {found}", roi.name);
    }
}

/// The same disc, each projection convolved with the derivative of a Gaussian line.
#[test]
fn deconvolution_takes_the_line_shape_off_and_keeps_the_level() {
    let (num_points, step_mm, step_mt, width) = (512, 40.0 / 512.0, 0.02, 8.0);
    let options = SweepOptions { scheme: Scheme::HalfCircle { num_angles: 90 }, num_points, step_mm, ..SweepOptions::default() };
    let pulse = simulate(&by_name("disc", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap();
    let sweep = with_line(pulse.measured, width, step_mt);
    let volume = reconstruct(&sweep, with(Filter::Rectangular, Some(0.1)), &pixels());
    let (inside, outside) = (mean(&volume, [0.0; 2], 0.0, 8.0), mean(&volume, [0.0; 2], 12.0, 17.0));
    println!("{inside:.5}, beside it {outside:.5}");
    assert!((inside - 1.0).abs() <= 0.005 && outside.abs() <= 0.005, "{inside} {outside}");
}

#[test]
fn a_direction_out_of_the_plane_is_refused() {
    let mut sweep = slice("disc", 10);
    sweep.projections[3].direction = [0.6, 0.0, 0.8];
    let refused = fbp(&sweep, SingleStage::new(pixels()), FilterSettings::default()).err();
    let expected = DataProblem::Projection { index: 3, problem: ProjectionProblem::OutOfSlice };
    assert_eq!(refused, Some(expected.into()));
}

/// The real two-dimensional scan and its folder; `None`, said, where there are no data.
fn phalanx() -> Option<(Sweep, PathBuf)> {
    let path = data_file("epri2d/phalanx-20220203-proj.DSC")?;
    Some((read_sweep(&path, None).unwrap().measured, path))
}

/// Little-endian 32-bit floats after the header of a `.npy` file.
fn npy_floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[test]
fn a_real_scan_is_what_pyepri_makes_of_it() {
    let Some((sweep, path)) = phalanx() else { return };
    assert_eq!(sweep.space, SweepSpace::Slice([GradientAxis::Z, GradientAxis::Y]));
    assert_eq!((sweep.num_complete(), sweep.num_points), (113, 2000));
    let pyepri = npy_floats(&path.with_file_name("phalanx-20220203-pyepri-fbp2d.npy"));
    let grid = grid_about_zero([200, 200, 1], [0.15; 3]).unwrap();
    for baseline in [Baseline::None, FilterSettings::for_data(&sweep.kind).baseline] {
        let settings = FilterSettings { baseline, ..FilterSettings::for_data(&sweep.kind) };
        assert_eq!((settings.filter, settings.cutoff), (Filter::Rectangular, Some(0.1)));
        let correlated = correlation(&wide(reconstruct(&sweep, settings, &grid).as_slice()), &wide(&pyepri));
        println!("baseline {baseline:?}: correlation {correlated:.6}");
        assert!(correlated >= 0.99, "{correlated}");
    }
}

#[test]
fn the_windows_differ_at_the_cut_off_that_spectra_have() {
    let Some((sweep, _)) = phalanx() else { return };
    let grid = grid_about_zero([100, 100, 1], [0.3; 3]).unwrap();
    let image = |filter: Filter| reconstruct(&sweep, with(filter, Some(0.1)), &grid);
    let images = [Filter::Rectangular, Filter::Sinc, Filter::Hamming].map(image);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        let difference = relative(images[a].as_slice(), images[b].as_slice());
        println!("{a} and {b}: {difference:.3}");
        assert!(difference > 0.014, "{a} and {b} differ by {difference}");
    }
}
