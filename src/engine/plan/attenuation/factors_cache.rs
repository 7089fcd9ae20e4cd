//! Cache of the attenuation factors of sinograms: projecting the maps of a large scan takes up to minutes, reading the factors none.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::factors::survival;
use crate::data::{AttenuationMap, Counts, Fingerprint, Michelogram, Notice};
use crate::io::IoError;
use crate::io::saved_factors::{SavedFactors, read_factors, write_factors};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::{AttenuationError, SetupError};
use crate::plan::projector::settings::Rays;
use crate::plan::simulation::cache::{Cache, Recipe};
use crate::plan::simulation::device_result::DeviceResult;
use crate::scanner::{InPlane, ScanGeometry, Segment};
use crate::task::Task;
use crate::text::counted;

/// Beginning of the names of stored factors.
const BEGINNING: &str = "attenuation-";
/// Maximum number of stored files: each map and each sampling has its own, of up to some hundred megabytes.
const MAX_STORED: usize = 8;

/// Attenuation factors of a sinogram.
struct SinogramFactors<'a> {
    geometry: &'a Arc<ScanGeometry>,
    maps: &'a [Arc<AttenuationMap>],
    rays: Rays,
    /// Fingerprint of all that they depend on.
    made_of: String,
}

impl<'a> SinogramFactors<'a> {
    fn new(geometry: &'a Arc<ScanGeometry>, maps: &'a [Arc<AttenuationMap>], rays: Rays) -> Self {
        Self { geometry, maps, rays, made_of: fingerprint(geometry, maps, rays).digits() }
    }
}

impl Recipe for SinogramFactors<'_> {
    type Made = SavedFactors;

    const NAME: [&'static str; 2] = ["the attenuation factors", "were"];

    const READ: fn(&Path) -> Result<SavedFactors, IoError> = read_factors;

    const WRITE: fn(&Path, &SavedFactors) -> Result<(), IoError> = write_factors;

    const MAX_STORED: Option<(usize, &'static str)> = Some((MAX_STORED, BEGINNING));

    fn file_name(&self) -> String {
        format!("{BEGINNING}{}-v{}.factors", self.made_of, env!("CARGO_PKG_VERSION"))
    }

    fn would_make(&self, made: &SavedFactors) -> bool {
        made.made_of == self.made_of && made.values.len() == self.geometry.num_bins()
    }

    fn make(&self, _: DeviceChoice, task: &Task) -> Result<DeviceResult<SavedFactors>, SetupError> {
        let begin = Instant::now();
        let values = survival(self.geometry, self.maps, self.rays, task)?;
        let device = format!("{:.2} s", begin.elapsed().as_secs_f64());
        Ok(DeviceResult { result: SavedFactors { made_of: self.made_of.clone(), values }, device, notices: Vec::new() })
    }

    fn done(&self, _: &SavedFactors) -> String {
        format!("projected from {}", counted(self.maps.len(), "map"))
    }
}

/// Returns the fingerprint of all inputs of attenuation factors: values and grids of the maps, sampling, rays.
fn fingerprint(geometry: &ScanGeometry, maps: &[Arc<AttenuationMap>], rays: Rays) -> Fingerprint {
    let ScanGeometry { scanner: _, num_rings, ring_spacing_mm, num_detectors_per_ring, inner_radius_mm, .. } = geometry;
    let ScanGeometry { depth_of_interaction_mm, num_views, num_tangential, view_offset_deg, .. } = geometry;
    let ScanGeometry { in_plane, segments, fov_radius_mm, .. } = geometry;
    let mut of = Fingerprint::default();
    maps.iter().for_each(|map| of.volume(&map.per_mm));
    [num_rings, num_detectors_per_ring, num_views, num_tangential].into_iter().for_each(|number| of.whole(*number as u64));
    [ring_spacing_mm, inner_radius_mm, depth_of_interaction_mm, view_offset_deg, fov_radius_mm]
        .into_iter()
        .for_each(|value| of.number(*value));
    match in_plane {
        InPlane::ArcCorrected { bin_mm } => (of.text("arc-corrected"), of.number(*bin_mm)).0,
        InPlane::Heads { bin_mm } => (of.text("heads"), of.number(*bin_mm)).0,
        InPlane::Detectors => of.text("detectors"),
        InPlane::DetectorPairs => of.text("detector pairs"),
    }
    for Segment { min_ring_difference, max_ring_difference, num_axial_pos } in segments {
        [*min_ring_difference, *max_ring_difference].into_iter().for_each(|difference| of.number(difference.into()));
        of.whole(*num_axial_pos as u64);
    }
    match rays {
        Rays::Auto => of.text("auto"),
        Rays::Fixed { tangential, axial } => [tangential, axial].into_iter().for_each(|rays| of.whole(rays as u64)),
    }
    of
}

/// Returns counts whose factors include the attenuation of maps, read from the cache or projected and stored; notices report which;
/// and the correlation of the logarithms of both factors, where the counts have any.
///
/// # Errors
/// Stopped, too little memory.
pub fn attenuated(
    cache: &Cache,
    counts: Counts,
    maps: Vec<Arc<AttenuationMap>>,
    task: &Task,
) -> Result<(Counts, Vec<Notice>, Option<f64>), AttenuationError> {
    let geometry = counts.geometry();
    let (found, notices) = cache.find_or_make(&SinogramFactors::new(geometry, &maps, Rays::Auto), DeviceChoice::Cpu, task)?;
    let mut factors = Michelogram::new(Arc::clone(geometry), found.values)?;
    let mut correlation = None;
    if let Some(known) = &counts.multiplicative {
        correlation = Some(correlation_of_logarithms(&factors.counts, &known.counts));
        factors.scale_bins(&known.counts);
    }
    Ok((Counts { multiplicative: Some(factors), attenuation: maps, ..counts }, notices, correlation))
}

/// Returns the correlation of the logarithms of two factors over the bins in which both are above 0; 0 if one is constant.
fn correlation_of_logarithms(a: &[f32], b: &[f32]) -> f64 {
    /// Bins of one partial sum.
    const CHUNK: usize = 1 << 16;
    let sums = |(a, b): (&[f32], &[f32])| {
        let both = a.iter().zip(b).filter(|(a, b)| **a > 0.0 && **b > 0.0 && a.is_finite() && b.is_finite());
        both.map(|(a, b)| [f64::from(*a).ln(), f64::from(*b).ln()])
            .fold([0.0; 6], |sums, [a, b]| added(sums, [1.0, a, b, a * a, b * b, a * b]))
    };
    let parts: Vec<[f64; 6]> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(sums).collect();
    let [num, a, b, aa, bb, ab] = parts.into_iter().fold([0.0; 6], added);
    let variances = (aa - a * a / num) * (bb - b * b / num);
    // A constant has a variance of rounding errors only.
    if variances > 1e-20 * aa * bb { (ab - a * b / num) / variances.sqrt() } else { 0.0 }
}

fn added(sums: [f64; 6], more: [f64; 6]) -> [f64; 6] {
    std::array::from_fn(|i| sums[i] + more[i])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::data::Volume;
    use crate::geometry::Grid;
    use crate::io::saved_factors::data_file;
    use crate::scanner::find;

    fn map(per_mm: f32) -> Arc<AttenuationMap> {
        let grid = Grid::centred([12, 12, 4], [8.0, 8.0, 10.0]).unwrap();
        Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm: Volume::filled(grid, per_mm), ct: None })
    }

    fn geometry() -> Arc<ScanGeometry> {
        Arc::new(find("small").unwrap().geometry.clone())
    }

    fn attenuated_by(
        cache: &Cache,
        geometry: &Arc<ScanGeometry>,
        maps: &[Arc<AttenuationMap>],
        task: &Task,
    ) -> Result<(Vec<f32>, Vec<Notice>), AttenuationError> {
        let counts = Counts::new(Michelogram::new(Arc::clone(geometry), vec![1.0; geometry.num_bins()]).unwrap());
        let (counts, notices, _) = attenuated(cache, counts, maps.to_vec(), task)?;
        Ok((counts.multiplicative.unwrap().counts.to_vec(), notices))
    }

    #[test]
    fn factors_are_read_again_and_those_of_another_map_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let [water, bed] = [map(0.0096), map(0.002)];
        let (made, notices) = attenuated_by(&cache, &geometry(), std::slice::from_ref(&water), &Task::new()).unwrap();
        assert!(notices[0].text.starts_with("the attenuation factors were projected from 1 map"), "{notices:?}");
        assert!(notices[0].text.ends_with("stored in the cache") && made.iter().any(|factor| *factor < 0.5), "{notices:?}");
        // A task that is stopped projects nothing: they were read.
        let stopped = Task::new();
        stopped.stop();
        let (found, notices) = attenuated_by(&cache, &geometry(), std::slice::from_ref(&water), &stopped).unwrap();
        assert!(found == made);
        assert!(matches!(&notices[..], [one] if one.text.starts_with("the attenuation factors read from the cache")));
        // The names of map and scanner do not matter.
        let renamed = Arc::new(AttenuationMap { file: "other.nii".into(), ..(*water).clone() });
        let of_another = Arc::new(ScanGeometry { scanner: "another".into(), ..(*geometry()).clone() });
        assert!(attenuated_by(&cache, &of_another, &[renamed], &stopped).is_ok());
        // Values, grid, further maps and the sampling do.
        let one_voxel = {
            let mut per_mm = water.per_mm.clone();
            per_mm.as_mut_slice()[7] += 1e-5;
            Arc::new(AttenuationMap { per_mm, ..(*water).clone() })
        };
        let moved = {
            let mut per_mm = water.per_mm.clone();
            per_mm.grid.origin_mm[2] += 1e-3;
            Arc::new(AttenuationMap { per_mm, ..(*water).clone() })
        };
        for maps in [vec![one_voxel], vec![moved], vec![water.clone(), bed], vec![map(0.002)]] {
            assert!(attenuated_by(&cache, &geometry(), &maps, &stopped).is_err(), "{maps:?} were found");
        }
        let turned = ScanGeometry { view_offset_deg: 1.0, ..(*geometry()).clone() };
        let narrow = ScanGeometry { ring_spacing_mm: 4.9, ..(*geometry()).clone() };
        for other in [turned, narrow] {
            assert!(attenuated_by(&cache, &Arc::new(other), std::slice::from_ref(&water), &stopped).is_err());
        }
    }

    #[test]
    fn factors_correlate_with_their_attenuation_and_constants_with_nothing() {
        let integrals: Vec<f64> = (0..1000).map(|i| f64::from(i % 37) * 0.05).collect();
        let survival: Vec<f32> = integrals.iter().map(|integral| (-integral).exp() as f32).collect();
        let waves = |size: f64| -> Vec<f32> { (0..1000).map(|i| (size * (f64::from(i) * 0.7).sin()).exp() as f32).collect() };
        let with_efficiency: Vec<f32> = survival.iter().zip(waves(0.1)).map(|(a, b)| a * b).collect();
        let correlation = correlation_of_logarithms(&survival, &with_efficiency);
        assert!((0.9..1.0).contains(&correlation), "{correlation}");
        assert!(correlation_of_logarithms(&survival, &waves(0.1)).abs() < 0.2);
        assert!(correlation_of_logarithms(&survival, &vec![0.7; 1000]).abs() < 1e-6);
        assert!(correlation_of_logarithms(&vec![1.0; 1000], &survival).abs() < 1e-6);
        let gaps: Vec<f32> = survival.iter().enumerate().map(|(i, a)| if i % 5 == 0 { 0.0 } else { *a }).collect();
        assert!((correlation_of_logarithms(&survival, &gaps) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_broken_file_is_reported_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let maps = [map(0.0096)];
        let (made, _) = attenuated_by(&cache, &geometry(), &maps, &Task::new()).unwrap();
        let path = folder.path().join(SinogramFactors::new(&geometry(), &maps, Rays::Auto).file_name());
        let assert_made_anew = |reason: &str| {
            let (found, notices) = attenuated_by(&cache, &geometry(), &maps, &Task::new()).unwrap();
            assert!(found == made && notices[0].text.contains(reason) && notices[0].text.ends_with("made anew"), "{notices:?}");
        };
        fs::write(data_file(&path), "short").unwrap();
        assert_made_anew("are expected");
        fs::write(&path, "version = 9").unwrap();
        assert_made_anew("version 9");
        let made_of = fingerprint(&geometry(), &maps, Rays::Auto).digits();
        write_factors(&path, &SavedFactors { made_of: made_of.clone(), values: vec![1.0; 3] }).unwrap();
        assert_made_anew("does not match its name");
        write_factors(&path, &SavedFactors { made_of, values: vec![1.5; geometry().num_bins()] }).unwrap();
        assert_made_anew("from 0 to 1");
    }
}
