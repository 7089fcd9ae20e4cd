//! Runs of sinograms with time of flight on GPUs through wgpu: as on the processor, with the projector that has it.

use std::sync::Arc;

use tomoscope::algebra::{Backend as _, Data, Rows};
use tomoscope::data::{Counts, Michelogram, Study, TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Siddon, Subset, TofKernel};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, ProjectorChoice, ProjectorSettings, Rays, RunSettings, TofSettings,
    choose_projector, prepare_with,
};
use tomoscope::recon::EmReport;
use tomoscope::task::Task;
use tomoscope::webgpu::WebGpuArray;

use super::device_webgpu::{backends, read, upload};
use super::registered::webgpu;
use super::support::{dot, forward, largest_difference, noise, random_volume, tiny_span_3};

/// The GPU that tests may use; none, said, where there is none.
fn gpu() -> Option<DeviceChoice> {
    let gpu = webgpu();
    if gpu.is_none() {
        assert!(std::env::var_os("TOMOSCOPE_REQUIRE_WEBGPU").is_none(), "there is no GPU through wgpu");
        println!("skipped: no GPU through wgpu");
    }
    gpu
}

const BINS: TofBins = TofBins { num: 5, width_mm: 20.0, fwhm_mm: 30.0 };

const RAYS: Rays = Rays::Fixed { tangential: 1, axial: 2 };

fn grid() -> Grid {
    Grid::centred([15, 13, 11], [5.0, 5.5, 3.0]).unwrap()
}

/// Counts of a random image with one hot voxel, under factors and a background: the latter of each time-of-flight bin, or of all.
fn study(sigmas: f64, has_background_by_tof: bool) -> Study<Counts> {
    let (geometry, grid) = (tiny_span_3(), grid());
    let mut image = random_volume(&grid);
    image.as_mut_slice()[grid.num_voxels() / 2 + 3] = 50.0;
    let kernel = TofKernel::new(BINS.fwhm_mm).with_reach(sigmas);
    let operator = Siddon::new(Arc::clone(&geometry), grid, 35.0, [1, 2]).with_tof(BINS, kernel);
    let num_bins = geometry.num_bins();
    let factors: Vec<f32> = noise(7, num_bins).into_iter().map(|value| 0.2 + value).collect();
    let background: Vec<f32> = noise(8, num_bins * BINS.num).into_iter().map(|value| 0.5 + 2.0 * value).collect();
    let background = Michelogram::with_tof(Arc::clone(&geometry), BINS, background).unwrap();
    let background = if has_background_by_tof { background } else { background.without_tof() };
    let mut counts = forward(&operator, Subset::ALL, &image);
    let (num_planes, share) = (geometry.num_planes(), 1.0 / BINS.num as f32);
    for (at, value) in counts.iter_mut().enumerate() {
        let line = at / (num_planes * BINS.num) * num_planes + at % num_planes;
        let expected = background.tof.as_ref().map_or(share * background.counts[line], |by_tof| by_tof.values[at]);
        *value = (factors[line] * *value + expected).round();
    }
    let prompts = Michelogram::with_tof(Arc::clone(&geometry), BINS, counts).unwrap();
    let multiplicative = Some(Michelogram::new(geometry, factors).unwrap());
    Study::new("counts", Counts { multiplicative, additive: Some(background), ..Counts::new(prompts) })
}

#[test]
fn images_are_those_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    // (Seven subsets of sixteen views are of unequal size.)
    for (algorithm, num_subsets, sigmas, has_background_by_tof) in
        [(AlgorithmChoice::MLEM, 1, 3.0, false), (AlgorithmChoice::OSEM, 7, 4.5, false), (AlgorithmChoice::OSEM, 7, 3.0, true)]
    {
        let study = study(sigmas, has_background_by_tof);
        let run = |device| {
            let settings = RunSettings {
                num_iterations: 3,
                num_subsets,
                fov_radius_mm: 35.0,
                rays: RAYS,
                projector: ProjectorChoice::PER_LOR,
                device,
                tof: TofSettings { sigmas, ..TofSettings::default() },
                ..RunSettings::new(algorithm, grid())
            };
            let mut prepared = prepare_with(&Cache::nowhere(), &Job::of(&study, settings), &Task::new()).unwrap();
            // (Of each step, whose sums also run over all time-of-flight bins.)
            let step = |_| prepared.algorithm.step(&Task::new()).unwrap().em.unwrap();
            let reports: Vec<EmReport> = (0..3 * num_subsets).map(step).collect();
            let mut image = Volume::filled(grid(), 0.0);
            prepared.algorithm.volume_into(&mut image).unwrap();
            (image, reports)
        };
        let ((host, of_host), (found, of_gpu)) = (run(DeviceChoice::Cpu), run(gpu));
        let difference = largest_difference(found.as_slice(), host.as_slice());
        let figures = |report: &EmReport| [report.log_likelihood, report.explained.map(|explained| explained.image)];
        let mut relative = 0.0f64;
        for (found, expected) in of_gpu.iter().zip(&of_host) {
            for (found, expected) in figures(found).into_iter().zip(figures(expected)) {
                assert_eq!(found.is_some(), expected.is_some());
                relative = relative.max(found.zip(expected).map_or(0.0, |(found, expected)| (found / expected - 1.0).abs()));
            }
        }
        println!("{algorithm:?}, {num_subsets} subsets, {sigmas} sigma: {difference:.1e} of the largest, sums {relative:.1e}");
        assert!(difference <= 1e-5 && relative <= 1e-5, "{algorithm:?}: {difference}, {relative}");
    }
}

#[test]
fn the_projector_is_the_one_that_has_time_of_flight() {
    let Some(gpu) = gpu() else { return };
    let geometry = tiny_span_3();
    let settings = |projector, device| ProjectorSettings {
        rays: RAYS,
        tof: Some((BINS, TofKernel::new(BINS.fwhm_mm))),
        ..ProjectorSettings::new(grid(), 35.0, projector, device)
    };
    let chosen = |device| choose_projector(&geometry, &settings(ProjectorChoice::Auto, device)).unwrap();
    assert_eq!(chosen(gpu).entry.name, "per-lor");
    assert_eq!(chosen(DeviceChoice::Cpu).entry.name, "axial-runs");
    let refusal = choose_projector(&geometry, &settings(ProjectorChoice::AXIAL_RUNS, gpu)).err().unwrap();
    assert!(refusal.is_of_an_unsuitable_projector(), "{refusal}");
    assert!(refusal.to_string().contains("--projector per-lor"), "{refusal}");
}

/// Each row of y for three rows of x, with rows before and behind those that are used, in one buffer and in several.
#[test]
fn values_that_bins_share_are_those_of_each_row() {
    let rows = Rows { len: 4001, repeats: 3 };
    let (x, y) = (noise(1, 4 * 7 * rows.len), noise(2, 7 * rows.len));
    let (at, range) = (rows.len, 2 * rows.len..7 * rows.len);
    let repeated: Vec<f32> = y[range.clone()].chunks(rows.len).flat_map(|row| row.repeat(rows.repeats)).collect();
    let expected = |value: fn(f32, f32) -> f32| {
        let mut expected = x.clone();
        expected[at..].iter_mut().zip(&repeated).for_each(|(x, y)| *x = value(*x, *y));
        expected
    };
    for (name, mut backend) in backends() {
        let y: WebGpuArray<Data> = upload(&mut backend, &y);
        let mut values: WebGpuArray<Data> = upload(&mut backend, &x);
        let sum = backend.dot_rows(&values, at, &y, range.clone(), rows).unwrap();
        assert!((sum / dot(&x[at..at + repeated.len()], &repeated) - 1.0).abs() <= 1e-6, "{name}: {sum}");
        backend.multiply_rows(&mut values, at, &y, range.clone(), rows).unwrap();
        assert_eq!(read(&mut backend, &values), expected(|x, y| x * y), "{name}");
        let mut values: WebGpuArray<Data> = upload(&mut backend, &x);
        backend.add_rows(&mut values, at, &y, range.clone(), rows).unwrap();
        assert!(largest_difference(&read(&mut backend, &values), &expected(|x, y| x + y)) <= 1e-7, "{name}");
    }
}
