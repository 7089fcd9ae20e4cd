//! Resolution models and resampled slices, against closed forms, the projector that needs no resampling, and STIR 6.5.

use std::sync::Arc;

use tomoscope::algebra::{Backend as _, Host, Voxels};
use tomoscope::data::{Counts, Michelogram, Psf, PsfAtRadius, Study, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::read_volume;
use tomoscope::operator::{Composed, ImageModel, Siddon, Subset, axial_ripple, inner_grid};
use tomoscope::phantom;
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, ProjectorChoice, ProjectorSettings, Rays, RunInputs, RunSettings, SUBSET_ORDER,
    Values, choose_projector, prepare_with,
};
use tomoscope::recon::SubsetOrder;
use tomoscope::statistics::FWHM_PER_SIGMA;
use tomoscope::task::Task;

use super::data::data_file;
use super::support::{geometry, largest_difference, relative, stir_model, tiny};

/// Gᵀ of an image, that many times.
fn transposed(psf: &Psf, volume: &Volume, times: usize) -> Volume {
    let voxels = Voxels::whole(volume.grid.clone());
    let operator = Siddon::new(tiny(4), volume.grid.clone(), f64::INFINITY, [1, 1]);
    let model = ImageModel::new(&voxels, &voxels, Some(psf)).unwrap();
    let composed = Composed::new(&mut Host, operator, &model).unwrap();
    let mut x = Host.upload(Arc::new(voxels.coefficients(volume))).unwrap();
    for _ in 0..times {
        let mut out = Host.zeros(voxels.len()).unwrap();
        composed.image_adjoint(&mut Host, &x, &mut out).unwrap();
        x = out;
    }
    let mut result = Volume::filled(volume.grid.clone(), 0.0);
    voxels.write(&x, 1.0, &mut result);
    result
}

/// What becomes of a point: its sum, and its widths along x, y and z by their variance, mm. Σ_j f_j (G e_p)_j is (Gᵀ f)_p.
fn point(psf: &Psf, grid: &Grid, [x, y, z]: [usize; 3], times: usize) -> (f64, [f64; 3]) {
    let moment = |axis: usize, power: i32| {
        let mut f = Volume::filled(grid.clone(), 0.0);
        for ((at_z, at_y, at_x), value) in f.values.indexed_iter_mut() {
            let distance = [at_x as f64 - x as f64, at_y as f64 - y as f64, at_z as f64 - z as f64][axis];
            *value = distance.powi(power) as f32;
        }
        f64::from(transposed(psf, &f, times).values[[z, y, x]])
    };
    let width = |axis| FWHM_PER_SIGMA * (moment(axis, 2) - moment(axis, 1).powi(2)).sqrt() * grid.voxel_mm[axis];
    (moment(0, 0), [width(0), width(1), width(2)])
}

#[test]
fn a_point_becomes_as_wide_as_the_model_and_widths_add_in_quadrature() {
    let grid = Grid::centred([61, 61, 41], [2.0, 2.0, 3.0]).unwrap();
    let row = |radius_mm: f64, radial_fwhm_mm: f64| PsfAtRadius {
        radius_mm,
        radial_fwhm_mm,
        tangential_fwhm_mm: 5.0,
        axial_fwhm_mm: 7.5,
    };
    // The point lies 24 mm from the axis along x: its radial width is 5 + 3 · 24/48.
    let by_radius = Psf::ByRadius(vec![row(0.0, 5.0), row(48.0, 8.0)]);
    for (psf, widths) in [(Psf::Everywhere([4.5, 6.0, 5.0]), [4.5, 6.0, 5.0]), (by_radius, [6.5, 5.0, 7.5])] {
        for times in [1, 2] {
            let (sum, found) = point(&psf, &grid, [42, 30, 20], times);
            assert!((sum - 1.0).abs() < 1e-5, "{sum}");
            let is_uniform = matches!(psf, Psf::Everywhere(_));
            for (found, width) in found.into_iter().zip(widths).filter(|_| times == 1 || is_uniform) {
                let expected = width * (times as f64).sqrt();
                assert!((found / expected - 1.0).abs() < 0.01, "{psf}, {times} times: {found} and {expected} mm");
            }
        }
    }
}

#[test]
fn resampled_slices_project_as_the_image_s_own() {
    let geometry = geometry("discovery-ste");
    let extent_mm = 150.0;
    for dz in [2.0, 2.5, 3.0, 4.0, 5.0] {
        let grid = Grid::centred([96, 96, (extent_mm / dz) as usize], [4.0, 4.0, dz]).unwrap();
        let truth = phantom::by_name("nema-iq-2018", &geometry).unwrap().truth(&grid, 1.0, &Task::new()).unwrap();
        let project = |name| {
            let choice = ProjectorChoice::Named(name);
            let rays = Rays::Fixed { tangential: 1, axial: 2 };
            let radius_mm = grid.inscribed_radius_mm();
            let settings =
                ProjectorSettings { rays, ..ProjectorSettings::new(grid.clone(), radius_mm, choice, DeviceChoice::Cpu) };
            let mut chosen = choose_projector(&geometry, &settings).unwrap();
            let subset = Subset { index: 3, count: 140 };
            let data = chosen.system.project(subset, &truth, &Task::new()).unwrap();
            (data, chosen.notices)
        };
        let ((fast, notices), (definition, _)) = (project("axial-runs"), project("per-lor"));
        let difference = relative(&fast, &definition);
        let most = definition.iter().copied().fold(0.0, f32::max);
        let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
        let rms = (fast.iter().zip(&definition).map(square).sum::<f64>() / fast.len() as f64).sqrt() / f64::from(most);
        let sums = [&fast, &definition].map(|data| data.iter().map(|value| f64::from(*value)).sum::<f64>());
        let of_sums = sums[0] / sums[1] - 1.0;
        println!("slices of {dz} mm: {difference:.2e}, rms {rms:.2e} of the largest, sums {of_sums:.2e}, {notices:?}");
        assert!(rms <= 5e-3 && of_sums.abs() <= 1e-3, "slices of {dz} mm: {rms}, {of_sums}");
        assert!(notices.iter().any(|notice| notice.text.contains("resamples")), "{notices:?}");
    }
}

/// A rod that is longer than the image: the outer slices of a reconstruction deviate as far as the note of the projector says.
#[test]
fn the_ripple_of_resampled_slices_is_that_of_a_reconstruction() {
    let geometry = geometry("small");
    let is_inside = |x: usize, y: usize, radius: f64| (x as f64 - 23.0).hypot(y as f64 - 23.0) * 3.0 < radius;
    let long = Grid::centred([47, 47, 41], [3.0, 3.0, 1.0]).unwrap();
    let mut rod = Volume::filled(long.clone(), 0.0);
    for (index, value) in rod.as_mut_slice().iter_mut().enumerate() {
        *value = f32::from(u8::from(is_inside(index % 47, index / 47 % 47, 45.0)));
    }
    let rays = Rays::Fixed { tangential: 1, axial: 4 };
    let settings = ProjectorSettings::new(long, 69.0, ProjectorChoice::Named("per-lor"), DeviceChoice::Cpu);
    let mut exact = choose_projector(&geometry, &ProjectorSettings { rays, ..settings }).unwrap().system;
    let counts = exact.project(Subset::ALL, &rod, &Task::new()).unwrap();
    let counts = Counts::new(Michelogram::new(Arc::clone(&geometry), counts).unwrap());
    let study = Study::new("rod", counts);
    for (dz, nz) in [(2.0, 19), (4.1, 9), (2.9, 13)] {
        let grid = Grid::centred([47, 47, nz], [3.0, 3.0, dz]).unwrap();
        let inner = inner_grid(&geometry, &grid).unwrap();
        let expected = axial_ripple([&grid, &inner]);
        let settings = RunSettings {
            num_iterations: 20,
            num_subsets: 1,
            device: DeviceChoice::Cpu,
            ..RunSettings::new(AlgorithmChoice::MLEM, grid.clone())
        };
        let mut prepared = prepare_with(&Cache::nowhere(), &Job::of(&study, settings), &Task::new()).unwrap();
        for _ in 0..20 {
            prepared.algorithm.iterate(&Task::new()).unwrap();
        }
        let mut image = Volume::filled(grid, 0.0);
        prepared.algorithm.volume_into(&mut image).unwrap();
        let mean = |z: usize| {
            let slice = &image.as_slice()[z * 47 * 47..(z + 1) * 47 * 47];
            let inside = slice.iter().enumerate().filter(|(index, _)| is_inside(index % 47, index / 47, 30.0));
            let values: Vec<f64> = inside.map(|(_, value)| f64::from(*value)).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let found = (0..nz).map(|z| (mean(z) / mean(nz / 2) - 1.0).abs()).fold(0.0, f64::max);
        println!("{nz} slices of {dz} mm: {:.1} % of a reconstruction, {:.1} % expected", 100.0 * found, 100.0 * expected);
        assert!((found - expected).abs() < 0.01 + 0.3 * expected, "{nz} slices of {dz} mm: {found} {expected}");
    }
}

/// The image of STIR's scan with resolution modelling, in its units.
fn of_stir(algorithm: AlgorithmChoice, num_subsets: usize, num_iterations: usize) -> Option<Volume> {
    let (counts, start) = stir_model()?;
    let dx = start.grid.voxel_mm[0];
    let in_order = || Values::default().with_choice(&SUBSET_ORDER, SubsetOrder::Sequential);
    let parameters = if num_subsets > 1 { in_order() } else { Values::default() };
    let settings = RunSettings {
        parameters,
        num_iterations,
        num_subsets,
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        psf: Some(Psf::Everywhere([8.0, 8.0, 6.0])),
        device: DeviceChoice::Cpu,
        inputs: RunInputs { init: Some(Arc::new(start.clone())), ..RunInputs::default() },
        ..RunSettings::new(algorithm, start.grid.clone())
    };
    let job = Job::of(&Study::new("STIR", counts), settings);
    let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
    for _ in 0..num_iterations {
        prepared.algorithm.iterate(&Task::new()).unwrap();
    }
    let mut volume = Volume::filled(start.grid.clone(), 0.0);
    prepared.algorithm.volume_into(&mut volume).unwrap();
    volume.as_mut_slice().iter_mut().for_each(|value| *value *= dx as f32);
    Some(volume)
}

#[test]
fn reconstructions_with_a_resolution_model_are_those_of_stir() {
    for (algorithm, num_subsets, num_iterations, name) in
        [(AlgorithmChoice::MLEM, 1, 5, "psf_mlem_5.hv"), (AlgorithmChoice::OSEM, 4, 5, "psf_20.hv")]
    {
        let Some(ours) = of_stir(algorithm, num_subsets, num_iterations) else { return };
        let (theirs, _) = read_volume(&data_file(&format!("stir-oracles/model/{name}")).unwrap()).unwrap();
        let difference = largest_difference(ours.as_slice(), theirs.as_slice());
        println!("{name}: {difference:.2e} of the maximum");
        assert!(difference <= 1e-5, "{name}: {difference}");
    }
}
