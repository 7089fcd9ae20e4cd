//! No datum and no voxel is left out in silence: MLEM and OSEM against f64 without thresholds, where single precision is short.

use std::sync::Arc;

use rayon::prelude::*;
use tomoscope::algebra::Host;
use tomoscope::data::{Counts, Michelogram, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, AxialRuns, Siddon, Subset, ViewProjector};
use tomoscope::recon::{Algorithm, EmKernels, EmSettings, Explained, MlemOsem, ProjectionModel, SubsetOrder};
use tomoscope::scanner::{Plane, ScanGeometry, find};
use tomoscope::task::Task;

use super::support::{backward, forward, noise, relative, tiny};

/// OSEM in f64 with the matrix written out, row by row, and no threshold at all.
pub struct Reference {
    geometry: Arc<ScanGeometry>,
    /// For each bin the voxels on its line, with the length in each, mm.
    rows: Vec<Vec<(u32, f64)>>,
    inside: Vec<bool>,
}

impl Reference {
    pub fn new(geometry: &Arc<ScanGeometry>, grid: &Grid, fov_radius_mm: f64) -> Self {
        let siddon = Siddon::new(Arc::clone(geometry), grid.clone(), fov_radius_mm, [1, 1]);
        let inside: Vec<bool> =
            siddon.voxels().coefficients(&Volume::filled(grid.clone(), 1.0)).iter().map(|value| *value > 0.0).collect();
        let planes = geometry.planes();
        let row = |bin: usize| {
            let (transaxial, plane) = (bin / planes.len(), bin % planes.len());
            let (view, tangential_pos) = (transaxial / geometry.num_tangential, transaxial % geometry.num_tangential);
            let line = geometry.lor(geometry.transaxial_lor(view, tangential_pos, 0, 1), planes[plane]);
            let mut row = Vec::new();
            siddon.walk(&line, |voxel, length| {
                if inside[voxel] {
                    row.push((voxel as u32, length));
                }
            });
            row
        };
        let rows = (0..geometry.num_bins()).map(row).collect();
        Self { geometry: Arc::clone(geometry), rows, inside }
    }

    pub fn project(&self, x: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().map(|(voxel, length)| length * x[*voxel as usize]).sum()).collect()
    }

    /// Subsets one after the other, from the uniform image of the right number of counts.
    pub fn osem(&self, counts: &Counts, num_subsets: usize, num_iterations: usize) -> Vec<f32> {
        let factor = |bin: usize| counts.multiplicative.as_ref().map_or(1.0, |m| f64::from(m.counts[bin]));
        let background = |bin: usize| counts.additive.as_ref().map_or(0.0, |a| f64::from(a.counts[bin]));
        let view_len = self.geometry.num_tangential * self.geometry.num_planes();
        let bins = |subset: usize| (0..self.rows.len()).filter(move |bin| bin / view_len % num_subsets == subset);
        let mut sensitivities = vec![vec![0.0; self.inside.len()]; num_subsets];
        for (subset, sensitivity) in sensitivities.iter_mut().enumerate() {
            for bin in bins(subset) {
                self.rows[bin].iter().for_each(|(voxel, length)| sensitivity[*voxel as usize] += factor(bin) * length);
            }
        }
        let measured: f64 = counts.prompts.counts.iter().map(|y| f64::from(*y)).sum();
        let net = measured - (0..self.rows.len()).map(background).sum::<f64>();
        let net = net.max(3.0 * measured.sqrt()).min(measured);
        let share = bins(0).count() as f64 / self.rows.len() as f64;
        let level = net * share / sensitivities[0].iter().sum::<f64>();
        let mut x: Vec<f64> = self.inside.iter().map(|inside| if *inside { level } else { 0.0 }).collect();
        for step in 0..num_subsets * num_iterations {
            let sensitivity = &sensitivities[step % num_subsets];
            let mut sums = vec![0.0; x.len()];
            for bin in bins(step % num_subsets) {
                let y = f64::from(counts.prompts.counts[bin]);
                let line: f64 = self.rows[bin].iter().map(|(voxel, length)| length * x[*voxel as usize]).sum();
                let expected = factor(bin) * line + background(bin);
                if y > 0.0 && expected > 0.0 {
                    let ratio = factor(bin) * y / expected;
                    self.rows[bin].iter().for_each(|(voxel, length)| sums[*voxel as usize] += length * ratio);
                }
            }
            for (voxel, x) in x.iter_mut().enumerate() {
                if sensitivity[voxel] > 0.0 {
                    *x *= sums[voxel] / sensitivity[voxel];
                }
            }
        }
        let is_seen = |voxel: usize| sensitivities.iter().any(|sensitivity| sensitivity[voxel] > 0.0);
        x.iter().enumerate().map(|(voxel, x)| if is_seen(voxel) { *x as f32 } else { 0.0 }).collect()
    }
}

fn osem<A: ViewProjector<Host> + 'static>(projector: A, counts: &Counts, num_subsets: usize) -> impl Algorithm + use<A> {
    osem_on(Host, projector, counts, num_subsets)
}

fn osem_on<B: EmKernels + 'static, A: ViewProjector<B> + 'static>(
    mut backend: B,
    projector: A,
    counts: &Counts,
    num_subsets: usize,
) -> impl Algorithm + use<A, B> {
    let settings = EmSettings {
        subset_order: SubsetOrder::Sequential,
        accumulation: Accumulation::Deterministic,
        sensitivity_accumulation: Accumulation::Deterministic,
        racy_sensitivity: false,
    };
    let (voxels, views) = (projector.voxels().clone(), projector.views().clone());
    let model = ProjectionModel::new(&mut backend, projector, views, counts, num_subsets).unwrap();
    MlemOsem::new(backend, voxels, model, settings, None).unwrap()
}

struct Outcome {
    image: Vec<f32>,
    explained: Explained,
    num_impossible: usize,
    num_limited: usize,
}

fn run<A: ViewProjector<Host> + 'static>(projector: A, counts: &Counts, num_subsets: usize, num_iterations: usize) -> Outcome {
    run_on(Host, projector, counts, num_subsets, num_iterations)
}

fn run_on<B: EmKernels + 'static, A: ViewProjector<B> + 'static>(
    backend: B,
    projector: A,
    counts: &Counts,
    num_subsets: usize,
    num_iterations: usize,
) -> Outcome {
    let mut volume = Volume::filled(projector.voxels().grid().clone(), 0.0);
    let mut algorithm = osem_on(backend, projector, counts, num_subsets);
    let (mut num_impossible, mut num_limited, mut explained) = (0, 0, None);
    for _ in 0..num_subsets * num_iterations {
        let report = algorithm.step(&Task::new()).unwrap();
        num_impossible += report.em.unwrap().num_unexplained_bins;
        num_limited += report.em.unwrap().num_limited_bins;
        explained = report.em.unwrap().explained;
    }
    algorithm.volume_into(&mut volume).unwrap();
    let explained = explained.expect("a whole iteration tells what its image explains");
    Outcome { image: volume.as_slice().to_vec(), explained, num_impossible, num_limited }
}

fn michelogram(geometry: &Arc<ScanGeometry>, values: Vec<f32>) -> Michelogram {
    Michelogram::new(Arc::clone(geometry), values).unwrap()
}

const FOV_MM: f64 = 34.0;

fn small_grid() -> Grid {
    Grid::centred([13, 13, 7], [5.5, 5.5, 3.0]).unwrap()
}

fn axial_runs(geometry: &Arc<ScanGeometry>) -> AxialRuns {
    AxialRuns::new(Arc::clone(geometry), small_grid(), FOV_MM, [1, 1]).unwrap()
}

/// Whole counts of a disc in the middle of the tiny scanner.
fn disc_counts(geometry: &Arc<ScanGeometry>, scale: f32) -> Vec<f32> {
    let mut disc = Volume::filled(small_grid(), 0.0);
    for ((_, y, x), value) in disc.values.indexed_iter_mut() {
        *value = if (x as f64 - 6.0).hypot(y as f64 - 6.0) < 5.0 { 1.0 } else { 0.0 };
    }
    forward(&axial_runs(geometry), Subset::ALL, &disc).iter().map(|value| (scale * value).round()).collect()
}

#[test]
fn a_voxel_that_one_subset_does_not_see_keeps_its_value() {
    let geometry = tiny(4);
    let view_len = geometry.num_tangential * geometry.num_planes();
    let dead = |is_dead: &dyn Fn(usize, usize) -> bool| {
        let factor = |bin: usize| {
            let (view, tangential_pos) = (bin / view_len, bin % view_len / geometry.num_planes());
            if is_dead(view, tangential_pos) { 0.0 } else { 1.0 }
        };
        let factors: Vec<f32> = (0..geometry.num_bins()).map(factor).collect();
        let counts = disc_counts(&geometry, 0.5).iter().zip(&factors).map(|(y, m)| y * m).collect();
        Counts::new(michelogram(&geometry, counts)).with_corrections(Some(michelogram(&geometry, factors)), None).unwrap()
    };
    let reference = Reference::new(&geometry, &small_grid(), FOV_MM);
    let cases: [(&str, Counts, usize); 4] = [
        ("dead bins in two views", dead(&|view, t| (view == 0 || view == 6) && (6..9).contains(&t)), 16),
        ("a dead view", dead(&|view, _| view == 3), 16),
        ("a dead block", dead(&|view, t| view < 2 && t > 7), 8),
        ("nothing dead, a view a subset", dead(&|_, _| false), 16),
    ];
    for (name, counts, num_subsets) in cases {
        let expected = reference.osem(&counts, num_subsets, 3);
        let num_positive = expected.iter().filter(|value| **value > 0.0).count();
        for (projector, found) in [
            ("axial runs", run(axial_runs(&geometry), &counts, num_subsets, 3)),
            ("per LOR", run(Siddon::new(Arc::clone(&geometry), small_grid(), FOV_MM, [1, 1]), &counts, num_subsets, 3)),
        ] {
            let error = relative(&found.image, &expected);
            println!("{name}, {projector}: {error:.1e}, {num_positive} voxels, explained {}", found.explained.text());
            assert!(error <= 1e-4, "{name}, {projector}: {error}");
            assert_eq!(found.image.iter().filter(|value| **value > 0.0).count(), num_positive, "{name}, {projector}");
            assert!(found.explained.is_usual(false) || name == "a dead view", "{name}: {}", found.explained.text());
        }
    }
}

#[test]
fn before_a_subset_has_seen_a_voxel_it_is_shown_as_zero_and_afterwards_it_is_there() {
    let geometry = tiny(2);
    let counts = Counts::new(michelogram(&geometry, vec![1.0; geometry.num_bins()]));
    // Voxels far smaller than bins: a view sees every third row or so.
    let grid = Grid::centred([41, 41, 3], [1.7, 1.7, 3.0]).unwrap();
    let projector = AxialRuns::new(Arc::clone(&geometry), grid.clone(), FOV_MM, [1, 1]).unwrap();
    let mut algorithm = osem(projector, &counts, 16);
    let mut num_dark = Vec::new();
    for _ in 0..16 {
        algorithm.step(&Task::new()).unwrap();
        let mut volume = Volume::filled(grid.clone(), 7.0);
        algorithm.volume_into(&mut volume).unwrap();
        num_dark.push(volume.as_slice().iter().filter(|value| **value == 0.0).count());
    }
    println!("{num_dark:?}");
    assert!(num_dark.windows(2).all(|dark| dark[1] <= dark[0]), "what was seen stays: {num_dark:?}");
    assert!(num_dark[0] > 2 * num_dark[15]);
    let mut seen = run(AxialRuns::new(Arc::clone(&geometry), grid.clone(), FOV_MM, [1, 1]).unwrap(), &counts, 1, 1).image;
    seen.retain(|value| *value == 0.0);
    assert_eq!(num_dark[15], seen.len(), "only what no line crosses is dark in the end");
}

#[test]
fn the_start_image_makes_the_right_number_of_counts_expect() {
    let geometry = tiny(4);
    let counts = Counts::new(michelogram(&geometry, disc_counts(&geometry, 3.0)));
    let background = vec![2.0; geometry.num_bins()];
    let with_background: Vec<f32> = counts.prompts.counts.iter().map(|y| y + 2.0).collect();
    let with_background = Counts::new(michelogram(&geometry, with_background))
        .with_corrections(None, Some(michelogram(&geometry, background)))
        .unwrap();
    let measured: f64 = counts.prompts.counts.iter().map(|y| f64::from(*y)).sum();
    for counts in [&counts, &with_background] {
        let mut algorithm = osem(axial_runs(&geometry), counts, 4);
        let report = algorithm.step(&Task::new()).unwrap();
        // Σ ȳ of the first subset at the start image.
        let expected = report.em.unwrap().residual.unwrap().expected;
        let background: f64 = counts.additive.as_ref().map_or(0.0, |a| a.counts.iter().map(|a| f64::from(*a)).sum());
        assert!((expected / ((measured + background) / 4.0) - 1.0).abs() < 1e-3, "{expected} of {measured}");
    }
}

/// A disc of background 0.8, and in it a hot column and a hot point in one plane.
fn hot(grid: &Grid, level: f32) -> Volume {
    let mut volume = Volume { unit: Unit::CountsPerMm, ..Volume::filled(grid.clone(), 0.0) };
    let [nx, ny, nz] = grid.size;
    for ((_, y, x), value) in volume.values.indexed_iter_mut() {
        let radius = (x as f64 - (nx as f64 - 1.0) / 2.0).hypot(y as f64 - (ny as f64 - 1.0) / 2.0);
        *value = if radius < 0.4 * nx as f64 { 0.8 } else { 0.0 };
    }
    volume.values.slice_mut(ndarray::s![.., ny / 2, nx / 3]).fill(level);
    volume.values[[nz / 2, ny / 3, 2 * nx / 3]] = level;
    volume
}

#[test]
fn beside_a_very_hot_source_the_background_stays() {
    let geometry = tiny(3);
    let grid = Grid::centred([12, 12, 5], [5.5, 5.5, 3.0]).unwrap();
    let reference = Reference::new(&geometry, &grid, FOV_MM);
    for (level, allowed) in [(1e4f32, 0.02), (1e5, 0.02), (1e6, 0.02), (1e7, 0.05), (1e8, f64::INFINITY)] {
        let truth = hot(&grid, level);
        let x: Vec<f64> = truth.as_slice().iter().map(|value| f64::from(*value)).collect();
        let counts: Vec<f32> = reference.project(&x).into_iter().map(|value| value as f32).collect();
        let counts = Counts::new(michelogram(&geometry, counts));
        // Where the hot voxels are not, nor their neighbours in the plane.
        let is_background = |voxel: usize| {
            let (x, y) = (voxel % 12, voxel / 12 % 12);
            let near = |[at_x, at_y]: [usize; 2]| x.abs_diff(at_x) < 2 && y.abs_diff(at_y) < 2;
            truth.as_slice()[voxel] == 0.8 && !near([4, 6]) && !near([8, 4])
        };
        let mean = |image: &[f32]| {
            let values: Vec<f64> =
                (0..image.len()).filter(|voxel| is_background(*voxel)).map(|voxel| f64::from(image[voxel])).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        for (num_subsets, num_iterations) in [(1, 20), (4, 5)] {
            let found = run(
                AxialRuns::new(Arc::clone(&geometry), grid.clone(), FOV_MM, [1, 1]).unwrap(),
                &counts,
                num_subsets,
                num_iterations,
            );
            let expected = reference.osem(&counts, num_subsets, num_iterations);
            let (found_mean, expected_mean) = (mean(&found.image), mean(&expected));
            println!(
                "{level:.0e}, {num_subsets} subsets: {found_mean:.5}, f64 {expected_mean:.5}, left out {}, limited {}, explained {}",
                found.num_impossible,
                found.num_limited,
                found.explained.text()
            );
            assert!((found_mean / expected_mean - 1.0).abs() <= allowed, "{level}, {num_subsets}: {found_mean} {expected_mean}");
            assert_eq!(found.num_limited, 0);
        }
    }
}

/// The lines of a scan, each walked anew: their matrix would not fit.
struct Lines<'a> {
    geometry: &'a ScanGeometry,
    planes: Vec<Plane>,
    siddon: &'a Siddon,
    inside: &'a [f32],
}

impl Lines<'_> {
    /// The voxels inside on the line of a bin, with the length in each.
    fn walk(&self, bin: usize, mut see: impl FnMut(usize, f64)) {
        let (transaxial, plane) = (bin / self.planes.len(), bin % self.planes.len());
        let num_tangential = self.geometry.num_tangential;
        let lor = self.geometry.transaxial_lor(transaxial / num_tangential, transaxial % num_tangential, 0, 1);
        self.siddon.walk(&self.geometry.lor(lor, self.planes[plane]), |voxel, length| {
            if self.inside[voxel] > 0.0 {
                see(voxel, length);
            }
        });
    }
}

#[test]
#[ignore = "takes minutes"]
fn beside_a_hot_source_the_background_of_a_whole_scanner_stays() {
    whole_scanner_beside_a_source(&[(1e4, 0.02), (1e5, 0.02), (1e6, 0.02)]);
}

#[test]
#[ignore = "takes minutes"]
fn beside_a_very_hot_source_the_background_of_a_whole_scanner_stays() {
    whole_scanner_beside_a_source(&[(1e7, 0.05), (1e8, f64::INFINITY)]);
}

// Each level of the source with the relative error that the background's mean may have.
fn whole_scanner_beside_a_source(levels: &[(f32, f64)]) {
    // Every tenth view of a clinical scanner.
    let mut geometry = find("discovery-ste").unwrap().geometry.clone();
    geometry.num_views /= 10;
    let geometry = Arc::new(geometry);
    let grid = Grid::centred([128, 128, 47], [5.468, 5.468, 3.27]).unwrap();
    let fov_mm = grid.inscribed_radius_mm();
    let siddon = Siddon::new(Arc::clone(&geometry), grid.clone(), fov_mm, [1, 1]);
    let inside = siddon.voxels().coefficients(&Volume::filled(grid.clone(), 1.0));
    let lines = Lines { geometry: &geometry, planes: geometry.planes(), siddon: &siddon, inside: &inside };
    let num_bins = geometry.num_bins();
    let sums = |of_bin: &(dyn Fn(usize) -> f64 + Sync)| {
        let chunk = num_bins.div_ceil(64);
        let of_chunk = |first: usize| {
            let mut sums = vec![0.0f64; inside.len()];
            for bin in first..num_bins.min(first + chunk) {
                let value = of_bin(bin);
                if value != 0.0 {
                    lines.walk(bin, |voxel, length| sums[voxel] += length * value);
                }
            }
            sums
        };
        let add = |mut a: Vec<f64>, b: Vec<f64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let firsts: Vec<usize> = (0..num_bins).step_by(chunk).collect();
        firsts.into_par_iter().map(of_chunk).reduce(|| vec![0.0; inside.len()], add)
    };
    let project = |x: &[f64], bin: usize| {
        let mut sum = 0.0;
        lines.walk(bin, |voxel, length| sum += length * x[voxel]);
        sum
    };
    let sensitivity = sums(&|_| 1.0);
    for &(level, allowed) in levels {
        let truth = hot(&grid, level);
        let x: Vec<f64> = siddon.voxels().coefficients(&truth).into_iter().map(f64::from).collect();
        let counts: Vec<f32> = (0..num_bins).into_par_iter().map(|bin| project(&x, bin) as f32).collect();
        let measured = counts.clone();
        let counts = Counts::new(michelogram(&geometry, counts));
        let axial_runs = AxialRuns::new(Arc::clone(&geometry), grid.clone(), fov_mm, [1, 1]).unwrap();
        let found = run(axial_runs, &counts, 1, 20);
        let mut x: Vec<f64> = inside.iter().map(|inside| f64::from(*inside)).collect();
        for _ in 0..20 {
            let ratio = |bin: usize| {
                let expected = if measured[bin] > 0.0 { project(&x, bin) } else { 0.0 };
                if expected > 0.0 { f64::from(measured[bin]) / expected } else { 0.0 }
            };
            let sums = sums(&ratio);
            for voxel in 0..x.len() {
                x[voxel] *= if sensitivity[voxel] > 0.0 { sums[voxel] / sensitivity[voxel] } else { 0.0 };
            }
        }
        let mut expected = Volume::filled(grid.clone(), 0.0);
        let values: Vec<f32> = x.iter().map(|value| *value as f32).collect();
        siddon.voxels().write(&values, 1.0, &mut expected);
        let mean = |image: &[f32]| {
            let is_background = |voxel: usize| {
                let (x, y) = (voxel % 128, voxel / 128 % 128);
                let near = |[at_x, at_y]: [usize; 2]| x.abs_diff(at_x) < 2 && y.abs_diff(at_y) < 2;
                truth.as_slice()[voxel] == 0.8 && !near([128 / 3, 64]) && !near([2 * 128 / 3, 128 / 3])
            };
            let values: Vec<f64> = (0..image.len()).filter(|v| is_background(*v)).map(|v| f64::from(image[v])).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let (found_mean, expected_mean) = (mean(&found.image), mean(expected.as_slice()));
        let difference = relative(&found.image, expected.as_slice());
        println!(
            "{level:.0e}: {found_mean:.5}, f64 {expected_mean:.5}, images {difference:.1e} apart, left out {}, limited {}, explained {}",
            found.num_impossible,
            found.num_limited,
            found.explained.text()
        );
        assert!((found_mean / expected_mean - 1.0).abs() <= allowed, "{level}: {found_mean}, f64 {expected_mean}");
    }
}

#[test]
fn counts_that_known_randoms_explain_are_not_thrown_away() {
    let geometry = tiny(4);
    let reference = Reference::new(&geometry, &small_grid(), FOV_MM);
    for (name, scale, background) in [("95 % randoms", 0.02f32, 0.4f32), ("few counts", 0.001, 0.0)] {
        let trues = disc_counts(&geometry, scale);
        let prompts = trues.iter().zip(noise(5, trues.len())).map(|(t, u)| t + if u < background { 1.0 } else { 0.0 }).collect();
        let additive = (background > 0.0).then(|| michelogram(&geometry, vec![background; geometry.num_bins()]));
        let counts = Counts::new(michelogram(&geometry, prompts)).with_corrections(None, additive).unwrap();
        if counts.prompts.counts.iter().all(|y| *y == 0.0) {
            continue;
        }
        for num_subsets in [1, 4] {
            let found = run(axial_runs(&geometry), &counts, num_subsets, 5);
            let error = relative(&found.image, &reference.osem(&counts, num_subsets, 5));
            println!("{name}, {num_subsets}: {error:.1e}, explained {}", found.explained.text());
            assert!(error <= 1e-4, "{name}, {num_subsets}: {error}");
        }
    }
}

#[test]
fn factors_over_eight_decades_leave_nothing_out() {
    let geometry = tiny(4);
    let reference = Reference::new(&geometry, &small_grid(), FOV_MM);
    let factors: Vec<f32> = noise(9, geometry.num_bins()).iter().map(|u| 10f32.powf(8.0 * u - 4.0)).collect();
    let counts = disc_counts(&geometry, 1.0).iter().zip(&factors).map(|(y, m)| y * m).collect();
    let counts =
        Counts::new(michelogram(&geometry, counts)).with_corrections(Some(michelogram(&geometry, factors)), None).unwrap();
    for num_subsets in [1, 4, 16] {
        let found = run(axial_runs(&geometry), &counts, num_subsets, 3);
        let expected = reference.osem(&counts, num_subsets, 3);
        let error = relative(&found.image, &expected);
        println!("{num_subsets} subsets: {error:.1e}, left out {}", found.num_impossible);
        // Of a single view some voxels are seen only with factors 10⁻⁸ of their neighbour's along z, whose rounding they share.
        let allowed = match num_subsets {
            1 => 1e-5,
            4 => 1e-3,
            _ => 0.05,
        };
        assert!(error <= allowed, "{num_subsets}: {error}");
        let zeros = |image: &[f32]| image.iter().filter(|value| **value == 0.0).count();
        assert!(zeros(&found.image) <= zeros(&expected), "{num_subsets}: no voxel is lost");
    }
}

/// MLEM in f64 of few counts on a large scanner: only the lines with counts are walked; the sensitivity is given.
fn sparse_mlem(
    geometry: &Arc<ScanGeometry>,
    grid: &Grid,
    counts: &Counts,
    sensitivity: &[f32],
    num_iterations: usize,
) -> Vec<f32> {
    let siddon = Siddon::new(Arc::clone(geometry), grid.clone(), grid.inscribed_radius_mm(), [1, 1]);
    let inside = siddon.voxels().coefficients(&Volume::filled(grid.clone(), 1.0));
    let (planes, num_tangential) = (geometry.planes(), geometry.num_tangential);
    let measured: Vec<(usize, f64)> =
        counts.prompts.counts.iter().enumerate().map(|(bin, y)| (bin, f64::from(*y))).filter(|(_, y)| *y > 0.0).collect();
    let rows: Vec<(f64, Vec<(usize, f64)>)> = measured
        .into_iter()
        .map(|(bin, y)| {
            let (lor, plane) = (bin / planes.len(), bin % planes.len());
            let line = geometry.lor(geometry.transaxial_lor(lor / num_tangential, lor % num_tangential, 0, 1), planes[plane]);
            let mut row = Vec::new();
            siddon.walk(&line, |voxel, length| {
                if inside[voxel] > 0.0 {
                    row.push((voxel, length));
                }
            });
            (y, row)
        })
        .collect();
    let total: f64 = rows.iter().map(|(y, _)| y).sum();
    let level = total / sensitivity.iter().map(|s| f64::from(*s)).sum::<f64>();
    let mut x: Vec<f64> = sensitivity.iter().map(|s| if *s > 0.0 { level } else { 0.0 }).collect();
    for _ in 0..num_iterations {
        let mut sums = vec![0.0; x.len()];
        for (y, row) in &rows {
            let expected: f64 = row.iter().map(|(voxel, length)| length * x[*voxel]).sum();
            if expected > 0.0 {
                row.iter().for_each(|(voxel, length)| sums[*voxel] += length * y / expected);
            }
        }
        for (voxel, x) in x.iter_mut().enumerate().filter(|(voxel, _)| sensitivity[*voxel] > 0.0) {
            *x *= sums[voxel] / f64::from(sensitivity[voxel]);
        }
    }
    x.into_iter().map(|x| x as f32).collect()
}

/// A handful of counts on a whole clinical scanner: the ratio of a single count is as large as there are bins for each count.
fn a_handful_of_counts_is_all_explained(scanner: &str, numbers: &[usize]) {
    let geometry = Arc::new(find(scanner).unwrap().geometry.clone());
    let grid = geometry.default_grid().unwrap();
    let projector = || AxialRuns::new(Arc::clone(&geometry), grid.clone(), grid.inscribed_radius_mm(), [1, 1]).unwrap();
    let ones = vec![1.0; geometry.num_bins()];
    let sensitivity = backward(&projector(), Subset::ALL, ones, Accumulation::Deterministic, &grid);
    for &num_counts in numbers {
        let mut values = vec![0.0; geometry.num_bins()];
        let (planes, tangential) = (geometry.num_planes(), geometry.num_tangential);
        for (u, v) in noise(3, num_counts).into_iter().zip(noise(4, num_counts)) {
            // Anywhere in the middle half of the tangential positions.
            let lor = (f64::from(u) * (geometry.num_views * (tangential / 2)) as f64) as usize;
            let (view, t) = (lor / (tangential / 2), lor % (tangential / 2) + tangential / 4);
            values[(view * tangential + t) * planes + (f64::from(v) * planes as f64) as usize] += 1.0;
        }
        let counts = Counts::new(michelogram(&geometry, values));
        let found = run(projector(), &counts, 1, 3);
        let expected = sparse_mlem(&geometry, &grid, &counts, sensitivity.as_slice(), 3);
        let error = relative(&found.image, &expected);
        println!(
            "{scanner}, {num_counts} counts: {error:.1e}, explained {}, left out {}",
            found.explained.text(),
            found.num_impossible
        );
        assert!(error <= 1e-4, "{scanner}, {num_counts}: {error}");
        assert_eq!((found.num_impossible, found.num_limited), (0, 0));
        assert!((found.explained.ratio() - 1.0).abs() < 1e-4, "{}", found.explained.text());
    }
}

#[test]
fn a_handful_of_counts_on_a_large_scanner_is_all_explained() {
    a_handful_of_counts_is_all_explained("ecat-931", &[10, 1000]);
}

#[test]
#[ignore = "takes minutes"]
fn a_handful_of_counts_on_the_discovery_ste_is_all_explained() {
    a_handful_of_counts_is_all_explained("discovery-ste", &[10, 1000, 100_000]);
}

/// The same beside a very hot source, with dead bins and with few counts, on a CUDA device.
#[cfg(feature = "cuda")]
mod on_a_device {
    use tomoscope::cuda;

    use super::super::device::device;
    use super::*;

    #[test]
    fn nothing_is_lost_on_a_device_either() {
        if device().is_none() {
            return;
        }
        let geometry = tiny(3);
        let grid = Grid::centred([12, 12, 5], [5.5, 5.5, 3.0]).unwrap();
        let reference = Reference::new(&geometry, &grid, FOV_MM);
        let view_len = geometry.num_tangential * geometry.num_planes();
        let exact = |image: &Volume| -> Vec<f32> {
            let x: Vec<f64> = image.as_slice().iter().map(|value| f64::from(*value)).collect();
            reference.project(&x).into_iter().map(|value| value as f32).collect()
        };
        let dead: Vec<f32> = (0..geometry.num_bins())
            .map(|bin| if (bin / view_len).is_multiple_of(6) && bin.is_multiple_of(3) { 0.0 } else { 1.0 })
            .collect();
        let of_dead = exact(&hot(&grid, 8.0)).iter().zip(&dead).map(|(y, m)| y * m).collect();
        let few: Vec<f32> = noise(11, geometry.num_bins()).iter().map(|u| if *u > 0.995 { 1.0 } else { 0.0 }).collect();
        let cases = [
            ("hot, 1e4", Counts::new(michelogram(&geometry, exact(&hot(&grid, 1e4)))), 1e-4),
            ("hot, 1e6", Counts::new(michelogram(&geometry, exact(&hot(&grid, 1e6)))), 1e-4),
            (
                "dead bins",
                Counts::new(michelogram(&geometry, of_dead)).with_corrections(Some(michelogram(&geometry, dead)), None).unwrap(),
                1e-4,
            ),
            ("few counts", Counts::new(michelogram(&geometry, few)), 1e-4),
        ];
        for (name, counts, allowed) in cases {
            // (Of a handful of counts in several subsets OSEM leaves nothing, in double precision as well.)
            for num_subsets in if name == "few counts" { vec![1] } else { vec![1, 4, 16] } {
                let device = device().unwrap();
                let projector = cuda::AxialRuns::new(&device, Arc::clone(&geometry), grid.clone(), FOV_MM, [1, 1]).unwrap();
                let found = run_on(device, projector, &counts, num_subsets, 3);
                let expected = reference.osem(&counts, num_subsets, 3);
                let error = relative(&found.image, &expected);
                println!(
                    "{name}, {num_subsets} subsets: {error:.1e}, left out {}, explained {}",
                    found.num_impossible,
                    found.explained.text()
                );
                assert!(error <= allowed, "{name}, {num_subsets}: {error}");
                // Where the image is faint, too: the mean of what is not hot.
                let faint =
                    |image: &[f32]| image.iter().filter(|value| **value < 10.0).map(|value| f64::from(*value)).sum::<f64>();
                let ratio = faint(&found.image) / faint(&expected);
                assert!((ratio - 1.0).abs() < 0.02, "{name}, {num_subsets}: {ratio} of the background");
            }
        }
    }
}
