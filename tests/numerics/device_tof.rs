//! Sinograms with time of flight on every GPU: as on the processor.

use std::sync::Arc;

use tomoscope::data::{Counts, Michelogram, Study, TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, Siddon, Subset, TofKernel};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, ProjectorChoice, ProjectorSettings, Rays, RunSettings, TofSettings,
    choose_projector, prepare_with,
};
use tomoscope::recon::EmReport;
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;

use super::device::{Each, Gpu, difference, on_each_gpu};
use super::support::{forward, geometry, largest_difference, noise, random_volume, tiny_span_3};

on_each_gpu! {
    projections_and_images_are_those_of_the_processor;
    webgpu: the_projector_is_the_one_that_has_time_of_flight
}

/// The first GPU of an interface.
fn choice<B: Gpu>() -> Option<DeviceChoice> {
    B::all().first().map(|(_, device)| device.choice())
}

/// A scan, its image and a run.
struct Case {
    geometry: Arc<ScanGeometry>,
    bins: TofBins,
    sigmas: f64,
    grid: Grid,
    fov_radius_mm: f64,
    rays: Rays,
    projector: ProjectorChoice,
    algorithm: AlgorithmChoice,
    num_subsets: usize,
    counts: Counts,
}

const BINS: TofBins = TofBins { num: 5, width_mm: 20.0, fwhm_mm: 30.0 };

const RAYS: Rays = Rays::Fixed { tangential: 1, axial: 2 };

fn small_grid() -> Grid {
    Grid::centred([15, 13, 11], [5.0, 5.5, 3.0]).unwrap()
}

/// Counts of a random image with one hot voxel, under factors and a background: the latter of each time-of-flight bin, or of all.
fn corrected_counts(sigmas: f64, has_background_by_tof: bool) -> Counts {
    let (geometry, grid) = (tiny_span_3(), small_grid());
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
    Counts { multiplicative, additive: Some(background), ..Counts::new(prompts) }
}

/// What a software GPU can bear: one hot voxel under factors and a background. (Seven subsets of sixteen views are of unequal size.)
fn small_cases() -> Vec<Case> {
    let runs =
        [(AlgorithmChoice::MLEM, 1, 3.0, false), (AlgorithmChoice::OSEM, 7, 4.5, false), (AlgorithmChoice::OSEM, 7, 3.0, true)];
    let case = |(algorithm, num_subsets, sigmas, has_background_by_tof)| Case {
        geometry: tiny_span_3(),
        bins: BINS,
        sigmas,
        grid: small_grid(),
        fov_radius_mm: 35.0,
        rays: RAYS,
        projector: ProjectorChoice::PER_LOR,
        algorithm,
        num_subsets,
        counts: corrected_counts(sigmas, has_background_by_tof),
    };
    runs.map(case).into()
}

/// Few bins and many, lines with rays and without; a very hot voxel, so that many bins are less than their rounding, and are added up
/// again.
fn large_cases() -> Vec<Case> {
    let geometry = geometry("small");
    let grid = geometry.default_grid().unwrap();
    let off_centre =
        Grid::new(grid.size, grid.voxel_mm, [grid.origin_mm[0] + 3.0, grid.origin_mm[1], grid.origin_mm[2]]).unwrap();
    let case = |(num, width_mm, grid, rays): (usize, f64, &Grid, usize)| {
        let bins = TofBins { num, width_mm, fwhm_mm: 100.0 };
        let mut hot = Volume::filled(grid.clone(), 1.0);
        hot.as_mut_slice()[grid.num_voxels() / 2 + grid.size[0] / 3] = 1e4;
        let (rays, projector) = (Rays::Fixed { tangential: rays, axial: rays }, ProjectorChoice::AXIAL_RUNS);
        let settings = ProjectorSettings {
            rays,
            tof: Some((bins, TofKernel::new(bins.fwhm_mm))),
            ..ProjectorSettings::new(grid.clone(), 100.0, projector, DeviceChoice::Cpu)
        };
        let mut host = choose_projector(&geometry, &settings).unwrap().system;
        let counts = host.project(Subset::ALL, &hot, &Task::new()).unwrap().into_iter().map(|bin| bin.max(0.0)).collect();
        Case {
            geometry: Arc::clone(&geometry),
            bins,
            sigmas: TofSettings::default().sigmas,
            grid: grid.clone(),
            fov_radius_mm: 100.0,
            rays,
            projector,
            algorithm: AlgorithmChoice::MLEM,
            num_subsets: 1,
            counts: Counts::new(Michelogram::with_tof(Arc::clone(&geometry), bins, counts).unwrap()),
        }
    };
    [(7, 60.0, &grid, 1), (3, 40.0, &off_centre, 1), (41, 12.0, &grid, 2)].map(case).into()
}

impl Case {
    /// A x and Aᵀ q of the first `num_subsets` of four on a device.
    fn projections(&self, device: DeviceChoice, num_subsets: usize) -> Vec<Vec<f32>> {
        let settings = ProjectorSettings {
            rays: self.rays,
            tof: Some((self.bins, TofKernel::new(self.bins.fwhm_mm).with_reach(self.sigmas))),
            ..ProjectorSettings::new(self.grid.clone(), self.fov_radius_mm, self.projector, device)
        };
        let mut system = choose_projector(&self.geometry, &settings).unwrap().system;
        let of_subset = |subset| {
            let there = system.project(subset, &random_volume(&self.grid), &Task::new()).unwrap();
            let q = Arc::new(noise(3, there.len()));
            let back = system.backproject(subset, q, Accumulation::Deterministic, &Task::new()).unwrap();
            [there, back.as_slice().to_vec()]
        };
        Subset::all(4).take(num_subsets).flat_map(of_subset).collect()
    }

    /// The image after three iterations on a device, and the report of each step, whose sums also run over all time-of-flight bins.
    fn run(&self, device: DeviceChoice) -> (Volume, Vec<EmReport>) {
        let study = Study::new("counts", self.counts.clone());
        let settings = RunSettings {
            num_iterations: 3,
            num_subsets: self.num_subsets,
            fov_radius_mm: self.fov_radius_mm,
            rays: self.rays,
            projector: self.projector,
            device,
            tof: TofSettings { sigmas: self.sigmas, ..TofSettings::default() },
            ..RunSettings::new(self.algorithm, self.grid.clone())
        };
        let mut prepared = prepare_with(&Cache::nowhere(), &Job::of(&study, settings), &Task::new()).unwrap();
        let step = |_| prepared.algorithm.step(&Task::new()).unwrap().em.unwrap();
        let reports = (0..3 * self.num_subsets).map(step).collect();
        let mut image = Volume::filled(self.grid.clone(), 0.0);
        prepared.algorithm.volume_into(&mut image).unwrap();
        (image, reports)
    }
}

fn projections_and_images_are_those_of_the_processor<B: Gpu>() {
    let Some(gpu) = choice::<B>() else { return };
    let (of_images, of_sums) = Each { webgpu: (1e-5, 1e-5), cuda: (1e-4, 1e-3) }.of::<B>();
    // (With a thread for each bin: see `device_projectors`.)
    let num_compared = Each { webgpu: 0, cuda: 2 }.of::<B>();
    for case in (Each { webgpu: small_cases(), cuda: large_cases() }).of::<B>() {
        let (bins, algorithm, num_subsets) = (case.bins, case.algorithm, case.num_subsets);
        let [on_gpu, on_host] = [gpu, DeviceChoice::Cpu].map(|device| case.projections(device, num_compared));
        for (found, expected) in on_gpu.iter().zip(&on_host) {
            let difference = largest_difference(found, expected);
            println!("{bins:?}: there or back {difference:.1e} of the largest");
            assert!(difference <= 1e-5, "{bins:?}: {difference}");
        }
        let ((found, of_gpu), (host, of_host)) = (case.run(gpu), case.run(DeviceChoice::Cpu));
        let difference = difference::<B>(found.as_slice(), host.as_slice());
        let figures = |report: &EmReport| [report.log_likelihood, report.explained.map(|explained| explained.ratio())];
        let mut relative = 0.0f64;
        for (found, expected) in of_gpu.iter().zip(&of_host) {
            for (found, expected) in figures(found).into_iter().zip(figures(expected)) {
                assert_eq!(found.is_some(), expected.is_some());
                relative = relative.max(found.zip(expected).map_or(0.0, |(found, expected)| (found / expected - 1.0).abs()));
            }
        }
        println!("{bins:?}, {algorithm:?}, {num_subsets} subsets: image {difference:.1e}, sums {relative:.1e}");
        assert!(difference <= of_images && relative <= of_sums, "{bins:?}, {algorithm:?}: {difference}, {relative}");
    }
}

fn the_projector_is_the_one_that_has_time_of_flight<B: Gpu>() {
    let Some(gpu) = choice::<B>() else { return };
    let geometry = tiny_span_3();
    let settings = |projector, device| ProjectorSettings {
        rays: RAYS,
        tof: Some((BINS, TofKernel::new(BINS.fwhm_mm))),
        ..ProjectorSettings::new(small_grid(), 35.0, projector, device)
    };
    let chosen = |device| choose_projector(&geometry, &settings(ProjectorChoice::Auto, device)).unwrap();
    assert_eq!(chosen(gpu).entry.name, "per-lor");
    assert_eq!(chosen(DeviceChoice::Cpu).entry.name, "axial-runs");
    let refusal = choose_projector(&geometry, &settings(ProjectorChoice::AXIAL_RUNS, gpu)).err().unwrap();
    assert!(refusal.is_of_an_unsuitable_projector(), "{refusal}");
    assert!(refusal.to_string().contains("--projector per-lor"), "{refusal}");
}
