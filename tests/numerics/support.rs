//! What the tests of operators share.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Host};
use tomoscope::data::{
    CountRates, Counts, EventList, Events, ListMetadata, Michelogram, ReferenceSpectrum, ScanTime, Sweep, SweepKind, Unit, Volume,
};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume};
use tomoscope::measure::relative_difference;
use tomoscope::operator::{Accumulation, FilteredProjections, PlaneBackprojector, Subset, ViewProjector, backproject_plain};
use tomoscope::phantom::{ListSimulation, by_name, simulate_list};
use tomoscope::scanner::{self, InPlane, ScanGeometry, Segment};
use tomoscope::task::Task;

use super::data::data_file;

/// Numbers between 0 and 1 that depend on the seed alone.
pub fn noise(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32
        })
        .collect()
}

/// Returns list-mode data of prompts alone: no delayed coincidences, times or rates of the scan.
pub fn list_of_prompts(facts: Arc<ListMetadata>, prompts: Arc<Events>) -> EventList {
    EventList {
        facts,
        prompts,
        delayeds: Arc::default(),
        total_additive: 0.0,
        time: ScanTime::default(),
        rates: CountRates::default(),
        frame_ms: None,
        elsewhere: None,
    }
}

/// Returns the prompts of a simulated scan of 5 s: the cylinder in the small scanner, without attenuation.
pub fn simulated_list(counts: f64, seed: u64, tof_fwhm_mm: Option<f64>, randoms_fraction: f64) -> EventList {
    let scanner = &geometry("small");
    let options = ListSimulation { counts, attenuation: false, seed, duration_secs: 5.0, tof_fwhm_mm, randoms_fraction };
    let simulated = simulate_list(&by_name("cylinder", scanner).unwrap(), scanner, &options, &Task::new()).unwrap().measured;
    list_of_prompts(simulated.facts, Arc::new(simulated.events.prompts))
}

/// ‖a − b‖ / ‖b‖; fails where b is all zero.
pub fn relative(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference = relative_difference(a, b);
    assert!(!difference.is_nan() && b.iter().any(|&b| b != 0.0), "all zero, or not numbers");
    difference
}

/// Largest difference, in parts of the largest magnitude of b; fails where b is all zero.
pub fn largest_difference(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0f32, |most, v| most.max(v.abs()));
    // (What is no number is the largest.)
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0f32, |most, v| if v <= most { most } else { v });
    assert!(largest > 0.0, "all zero, or not numbers");
    f64::from(worst / largest)
}

/// ⟨a, b⟩.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// Correlation of two images: their scalar product, normalised, after the mean was taken off each.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>();
    product(a, mean_a, b, mean_b) / (product(a, mean_a, a, mean_a) * product(b, mean_b, b, mean_b)).sqrt()
}

/// Makes a pulse sweep one of continuous-wave spectra: each projection convolved with the derivative of a Gaussian line, whose
/// σ is so many samples, by the sums of the definition; the reference spectrum is that line.
pub fn with_line(mut sweep: Sweep, width: f64, step_mt: f64) -> Sweep {
    let (num_points, step_mm) = (sweep.num_points, sweep.step_mm);
    let line = |i: f64| -i / (width * width) * (-0.5 * (i / width).powi(2)).exp();
    let middle = (num_points / 2) as f64;
    let reference: Arc<[f32]> = (0..num_points).map(|j| line(j as f64 - middle) as f32).collect();
    for projection in &mut sweep.projections {
        let of = |i: usize| {
            let term = |(j, value): (usize, &f32)| f64::from(*value) * step_mm * line(i as f64 - j as f64);
            projection.values.iter().enumerate().map(term).sum::<f64>() as f32
        };
        projection.values = (0..num_points).map(of).collect();
    }
    let reference = Some(ReferenceSpectrum { values: reference, step_mt });
    sweep.kind = SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm: step_mt / step_mm, reference };
    sweep
}

/// The scale that fits a to b best, and ‖scale·a − b‖ / ‖b‖.
pub fn fit(pairs: impl Iterator<Item = (f32, f32)>) -> (f64, f64) {
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (f64::from(a), f64::from(b));
        aa += a * a;
        ab += a * b;
        bb += b * b;
    }
    assert!(aa > 0.0 && bb > 0.0, "all zero");
    let scale = ab / aa;
    (scale, ((bb - scale * ab).max(0.0) / bb).sqrt())
}

/// The sampling of a scanner of the catalogue.
pub fn geometry(name: &str) -> Arc<ScanGeometry> {
    Arc::new(scanner::find(name).unwrap().geometry.clone())
}

/// A scanner of a few thousand bins, for dense matrices: every ring difference by itself (span 1).
pub fn tiny(num_rings: usize) -> Arc<ScanGeometry> {
    let largest = num_rings as i32 - 1;
    let segments = (-largest..=largest).map(|d| Segment::full(d, d, num_rings)).collect();
    tiny_with(num_rings, segments)
}

/// The same of eight rings with three ring differences in each segment (span 3), so that planes lie half a ring apart.
pub fn tiny_span_3() -> Arc<ScanGeometry> {
    let segments = [(-7, -5), (-4, -2), (-1, 1), (2, 4), (5, 7)].map(|(min, max)| Segment::full(min, max, 8)).to_vec();
    tiny_with(8, segments)
}

fn tiny_with(num_rings: usize, segments: Vec<Segment>) -> Arc<ScanGeometry> {
    let geometry = ScanGeometry {
        scanner: "tiny".into(),
        num_rings,
        ring_spacing_mm: 6.0,
        num_detectors_per_ring: 32,
        inner_radius_mm: 60.0,
        depth_of_interaction_mm: 2.0,
        num_views: 16,
        num_tangential: 15,
        view_offset_deg: 1.3,
        in_plane: InPlane::ArcCorrected { bin_mm: 5.0 },
        segments,
        fov_radius_mm: 37.5,
    };
    Arc::new(geometry.validate().unwrap())
}

/// A volume of random values.
pub fn random_volume(grid: &Grid) -> Volume {
    Volume::from_vec(grid.clone(), noise(7, grid.num_voxels()), Unit::CountsPerMm).unwrap()
}

/// A x for a volume, on the host.
pub fn forward(operator: &impl ViewProjector<Host>, subset: Subset, volume: &Volume) -> Vec<f32> {
    let x = operator.voxels().coefficients(volume).into();
    let mut out = Host.zeros(operator.views().len(subset)).unwrap();
    operator.apply(&mut Host, subset, &x, &mut out, &Task::new()).unwrap();
    out.into_values()
}

/// Aᵀ q as a volume of `grid`, on the host.
pub fn backward(
    operator: &impl ViewProjector<Host>,
    subset: Subset,
    q: Vec<f32>,
    accumulation: Accumulation,
    grid: &Grid,
) -> Volume {
    let mut image = Host.zeros(operator.voxels().len()).unwrap();
    operator.adjoint(&mut Host, subset, &q.into(), accumulation, &mut image, &Task::new()).unwrap();
    let mut volume = Volume::filled(grid.clone(), 0.0);
    operator.voxels().write(&image, 1.0, &mut volume);
    volume
}

/// The backprojection of planes by definition, rounded at the end.
pub fn planes_by_definition(grid: &Grid, projections: &FilteredProjections) -> Vec<f32> {
    let mut volume = vec![0.0; grid.num_voxels()];
    backproject_plain(grid, projections, &mut volume, &Task::new()).unwrap();
    volume.iter().map(|&value| value as f32).collect()
}

/// The same by another program of the host.
pub fn planes_by(backprojector: &mut impl PlaneBackprojector<Host>, projections: &FilteredProjections) -> Vec<f32> {
    let mut image = Host.zeros(backprojector.grid().num_voxels()).unwrap();
    backprojector.add(&mut Host, projections, &mut image, &Task::new()).unwrap();
    image.into_values()
}

/// The scan that STIR reconstructed in several ways, with its factors and its background, and its start image per mm.
pub fn stir_model() -> Option<(Counts, Volume)> {
    let file = |name: &str| data_file(&format!("stir-oracles/model/{name}"));
    let measured = |name: &str| Some(read_projections(&file(name)?).unwrap().0);
    let (prompts, factors, additive) = (measured("prompts.hs")?, measured("af.hs")?, measured("additive.hs")?);
    let (mut start, _) = read_volume(&file("start.hv")?).unwrap();
    let dx = start.grid.voxel_mm[0];
    start.as_mut_slice().iter_mut().for_each(|value| *value /= dx as f32);
    // STIR's term is already corrected.
    let inside: Vec<f32> = additive.counts.iter().zip(&*factors.counts).map(|(additive, factor)| additive * factor).collect();
    let additive = Michelogram::new(Arc::clone(&prompts.geometry), inside).unwrap();
    let counts = Counts { multiplicative: Some(factors), additive: Some(additive), ..Counts::new(prompts) };
    Some((counts, start))
}
