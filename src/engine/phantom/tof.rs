//! Simulated counts by time of flight.
//!
//! A stretch of constant activity a between l₀ and l₁ on a line gives a bin [b₀, b₁) of d the part ∫ a [Φ((b₁ − l)/σ) −
//! Φ((b₀ − l)/σ)] dl of its counts, in closed form by ∫ Φ(t) dt = t Φ(t) + φ(t). Background is the same in all bins.

use std::f64::consts::{PI, SQRT_2};

use rayon::prelude::*;

use super::background::Background;
use super::object::Phantom;
use super::poisson::poisson;
use crate::data::TofBins;
use crate::random;
use crate::scanner::ScanGeometry;
use crate::statistics::FWHM_PER_SIGMA;
use crate::task::{Stopped, Task};

/// ∫ Φ from −∞.
fn integral(t: f64) -> f64 {
    let cumulative = 0.5 * libm::erfc(-t / SQRT_2);
    t * cumulative + (-0.5 * t * t).exp() / (2.0 * PI).sqrt()
}

/// Adds the parts that a stretch of a line gives each bin, mm.
fn add_parts(parts: &mut [f64], bins: &TofBins, [from_mm, to_mm]: [f64; 2], activity: f64) {
    let sigma_mm = bins.fwhm_mm / FWHM_PER_SIGMA;
    let below = |edge: f64| sigma_mm * (integral((edge - from_mm) / sigma_mm) - integral((edge - to_mm) / sigma_mm));
    let mut before = below(bins.edges_mm(0)[0]);
    for (bin, part) in parts.iter_mut().enumerate() {
        let behind = below(bins.edges_mm(bin)[1]);
        // (Far off, rounding leaves less than nothing.)
        *part += (activity * (behind - before)).max(0.0);
        before = behind;
    }
}

/// A scan by time of flight.
pub(super) struct TofScan<'a> {
    pub phantom: &'a Phantom,
    pub geometry: &'a ScanGeometry,
    pub bins: &'a TofBins,
    /// Counts for a line integral of 1 mm.
    pub scale: f64,
    pub background: Option<&'a Background>,
    /// Seed of Poisson noise; `None` = expected counts.
    pub seed: Option<u64>,
}

/// Returns measured counts by time of flight, and the expected background of each of those bins, from expected trues at scale 1.
pub(super) fn measured(scan: &TofScan<'_>, trues: &[f32], task: &Task) -> Result<(Vec<f32>, Option<Vec<f32>>), Stopped> {
    let TofScan { phantom, geometry, bins, scale, background, seed } = *scan;
    let (num_planes, planes, num_tof) = (geometry.num_planes(), geometry.planes(), bins.num);
    let mut counts = vec![0.0f32; trues.len() * num_tof];
    let mut additive = background.map(|_| vec![0.0f32; counts.len()]);
    let one = |transaxial: usize, trues: &[f32], counts: &mut [f32], additive: &mut [f32]| {
        task.check()?;
        let lor = geometry.transaxial_lor(transaxial / geometry.num_tangential, transaxial % geometry.num_tangential, 0, 1);
        let mut random = seed.map(|seed| random::stream(seed, transaxial as u64));
        let mut parts = vec![0.0; num_tof];
        for (plane, trues) in trues.iter().enumerate() {
            parts.fill(0.0);
            let mut all = 0.0;
            if *trues > 0.0 {
                let line = geometry.lor(lor, planes[plane]);
                let length_mm = line.length_mm();
                for stretch in phantom.stretches(&line) {
                    let ends_mm = stretch.t.map(|t| (t - 0.5) * length_mm);
                    add_parts(&mut parts, bins, ends_mm, stretch.material.activity);
                    all += stretch.material.activity * (ends_mm[1] - ends_mm[0]);
                }
            }
            let share = background.map_or(0.0, |background| background.expected(transaxial, plane) / num_tof as f64);
            for (tof, part) in parts.iter().enumerate() {
                let expected = share + if all > 0.0 { scale * f64::from(*trues) * part / all } else { 0.0 };
                counts[tof * num_planes + plane] = match &mut random {
                    Some(random) if expected > 0.0 => poisson(expected, random),
                    _ => expected as f32,
                };
                if let Some(additive) = additive.get_mut(tof * num_planes + plane) {
                    *additive = share as f32;
                }
            }
        }
        task.advance(1);
        Ok(())
    };
    let rows = counts.par_chunks_mut(num_planes * num_tof).zip(trues.par_chunks(num_planes)).enumerate();
    match &mut additive {
        Some(additive) => rows
            .zip(additive.par_chunks_mut(num_planes * num_tof))
            .try_for_each(|((transaxial, (counts, trues)), additive)| one(transaxial, trues, counts, additive))?,
        None => rows.try_for_each(|(transaxial, (counts, trues))| one(transaxial, trues, counts, &mut []))?,
    }
    Ok((counts, additive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_stretch_add_up_to_it_and_a_short_one_is_a_point() {
        let bins = TofBins { num: 41, width_mm: 20.0, fwhm_mm: 60.0 };
        let mut parts = vec![0.0; 41];
        add_parts(&mut parts, &bins, [-30.0, 55.0], 2.0);
        assert!((parts.iter().sum::<f64>() - 170.0).abs() < 1e-9);
        // The published weights of a point at 20 mm in bins of 60 mm.
        let bins = TofBins { num: 5, width_mm: 60.0, fwhm_mm: 60.0 };
        let mut parts = vec![0.0; 5];
        add_parts(&mut parts, &bins, [20.0 - 5e-4, 20.0 + 5e-4], 1e3);
        for (found, expected) in parts.iter().zip([0.000_007_90, 0.024_852_97, 0.627_783_64, 0.344_350_99, 0.003_004_33]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
