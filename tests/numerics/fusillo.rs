//! A real continuous-wave scan against a second way of computing its filtered backprojection: sums of sines over the few
//! frequencies below the cut-off, with the absorption profile as a running sum, as the published reconstructions have it.

use std::f64::consts::TAU;

use tomoscope::algebra::Host;
use tomoscope::data::{Sweep, SweepKind, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::read_sweep;
use tomoscope::operator::{MultiStage, PlaneBackprojector, SingleStage, grid_about_zero};
use tomoscope::recon::{Algorithm, Baseline, Fbp, FbpSettings, FilterSettings, ProjectionFilter};
use tomoscope::task::Task;

use super::data::data_file;
use super::support::{correlation, planes_by, planes_by_definition, relative};

/// Frequencies below a tenth of Nyquist's, of 500 samples.
const NUM_FREQUENCIES: usize = 25;
/// One voxel in so many is compared.
const EVERY: usize = 41;

/// The scan; `None`, said, where there are no data.
pub fn fusillo() -> Option<Sweep> {
    Some(read_sweep(&data_file("epri/fusillo-20091002-proj.DSC")?, None).unwrap().measured)
}

fn reconstruct(sweep: &Sweep, backprojector: impl PlaneBackprojector<Host>, baseline: Baseline) -> Volume {
    let mut volume = Volume::filled(backprojector.grid().clone(), 0.0);
    let filter = FilterSettings { baseline, ..FilterSettings::for_data(&sweep.kind) };
    let settings = FbpSettings { filter, block: 2000, ..FbpSettings::default() };
    let mut fbp = Fbp::new(Host, backprojector, sweep, settings).unwrap();
    assert!(fbp.step(&Task::new()).unwrap().completes_iteration);
    fbp.volume_into(&mut volume).unwrap();
    volume
}

/// Cosine and sine sums of samples at each frequency, counted from the middle sample.
fn spectrum(samples: impl Iterator<Item = f64> + Clone) -> Vec<[f64; 2]> {
    (1..=NUM_FREQUENCIES)
        .map(|k| {
            let term = |(j, value): (usize, f64)| {
                let phase = TAU * k as f64 * (j as f64 - 250.0) / 500.0;
                [value * phase.cos(), -value * phase.sin()]
            };
            samples.clone().enumerate().map(term).fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]])
        })
        .collect()
}

/// The reconstruction at every [`EVERY`]th voxel.
fn second_way(sweep: &Sweep, grid: &Grid) -> Vec<f64> {
    let SweepKind::ContinuousWave { reference: Some(reference), .. } = &sweep.kind else { panic!("no reference") };
    let absorption = reference.values.iter().scan(0.0, |sum, &value| {
        *sum += f64::from(value);
        Some(*sum)
    });
    let g = spectrum(absorption.collect::<Vec<_>>().into_iter());
    // −iξ P/G, ξ in units of the lowest frequency.
    let filtered: Vec<Vec<[f64; 2]>> = sweep
        .projections
        .iter()
        .map(|projection| {
            let p = spectrum(projection.values.iter().map(|&value| f64::from(value)));
            let divide = |(k, ([a, b], [c, d])): (usize, (&[f64; 2], &[f64; 2]))| {
                let (norm, xi) = (c * c + d * d, (k + 1) as f64);
                let (re, im) = ((a * c + b * d) / norm, (b * c - a * d) / norm);
                [xi * im, -xi * re]
            };
            p.iter().zip(&g).enumerate().map(divide).collect()
        })
        .collect();
    let [nx, ny, _] = grid.size;
    let at = |index: usize| {
        let voxel = [index % nx, index / nx % ny, index / (nx * ny)].map(|i| i as f64);
        let position = grid.mm_from_voxel(voxel);
        let of = |(projection, q): (&tomoscope::data::Projection, &Vec<[f64; 2]>)| {
            let t: f64 = position.iter().zip(&projection.direction).map(|(x, n)| x * n).sum();
            let phase = |k: usize| TAU * (k + 1) as f64 * t / sweep.step_mm / 500.0;
            let sum: f64 = q.iter().enumerate().map(|(k, [re, im])| re * phase(k).cos() - im * phase(k).sin()).sum();
            projection.weight * sum
        };
        sweep.projections.iter().zip(&filtered).map(of).sum()
    };
    (0..grid.num_voxels()).step_by(EVERY).map(at).collect()
}

#[test]
fn a_real_scan_is_reconstructed_as_published() {
    let Some(sweep) = fusillo() else { return };
    assert_eq!((sweep.num_complete(), sweep.num_points), (961, 500));
    let grid = grid_about_zero([50, 100, 50], [0.5; 3]).unwrap();
    let volume = reconstruct(&sweep, SingleStage::new(grid.clone()), Baseline::None);
    let every = |volume: &Volume| volume.as_slice().iter().step_by(EVERY).map(|&value| f64::from(value)).collect::<Vec<_>>();
    let published = second_way(&sweep, &grid);
    let correlated = correlation(&every(&volume), &published);
    let with_baseline = reconstruct(&sweep, SingleStage::new(grid.clone()), Baseline::Line);
    let correlated_with_baseline = correlation(&every(&with_baseline), &published);
    println!("correlation {correlated:.5}, with a baseline taken off {correlated_with_baseline:.5}");
    assert!(correlated >= 0.99 && correlated_with_baseline >= 0.98);
    let filter = ProjectionFilter::new(&sweep, &FilterSettings::for_data(&sweep.kind)).unwrap();
    // Over all that the scan has seen: its filtered spectra are as high at their ends as anywhere.
    let whole = grid_about_zero([40; 3], [sweep.num_points as f64 * sweep.step_mm / 40.0; 3]).unwrap();
    let filtered = filter.apply(&sweep.projections).unwrap();
    let error = relative(&planes_by(&mut SingleStage::new(whole.clone()), &filtered), &planes_by_definition(&whole, &filtered));
    println!("against the definition: {error:.1e}");
    assert!(error <= 1e-5);
    // Its angles are equal: two stages do it too.
    let two = reconstruct(&sweep, MultiStage::new(grid), Baseline::None);
    let error = relative(two.as_slice(), volume.as_slice());
    println!("two stages: {error:.1e}");
    assert!(error <= 0.01);
    // The rod runs along y through the middle: brighter there than beside it, halfway to the helix' arms.
    let mean = |z: usize, x: usize| (30..70).map(|y| volume.values[[z, y, x]]).sum::<f32>() / 40.0;
    let brightest = (20..31).flat_map(|z| (20..31).map(move |x| (z, x))).max_by(|a, b| mean(a.0, a.1).total_cmp(&mean(b.0, b.1)));
    let (z, x) = brightest.unwrap();
    assert!(mean(z, x) > 2.0 * mean(z, x + 15).abs() && mean(z, x) > 2.0 * mean(z, x - 15).abs());
}
