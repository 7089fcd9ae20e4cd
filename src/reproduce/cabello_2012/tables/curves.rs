//! The curves of figures 4 to 6 and 9, and the profiles of figures 3(e) and 8, as CSV.

use super::super::plan::Scan;
use super::Sources;
use crate::reproduce::ReproduceError;

/// Scans whose images are measured.
const SCANS: [Scan; 2] = [Scan::Rods, Scan::Ellipsoid];

/// Writes the files.
pub(super) fn write(sources: &Sources) -> Result<(), ReproduceError> {
    let mut curves = vec![["scan", "implementation", "iteration", "quantity", "value"].map(String::from)];
    let mut profiles = vec![["scan", "implementation", "x_mm", "value"].map(String::from)];
    for scan in SCANS {
        for (implementation, run) in sources.runs(scan)? {
            for sample in &run.samples {
                let mut quantities: Vec<(String, Option<f64>)> =
                    vec![("correlation".into(), sample.correlation), ("lost".into(), sample.lost)];
                if let Some(noise) = &sample.noise {
                    let regions = ["hot", "warm", "cold"].into_iter().zip(noise.cv);
                    quantities.extend(regions.map(|(name, cv)| (format!("cv_{name}"), cv)));
                    quantities.push(("cnr".into(), noise.cnr));
                }
                for (point, width) in (1..).zip(&sample.widths) {
                    quantities.push((format!("fwhm_{point}_mm"), width.fwhm_mm));
                    quantities.push((format!("at_half_{point}_mm"), width.at_half_mm));
                }
                for (quantity, value) in quantities {
                    let Some(value) = value else { continue };
                    let iteration = sample.iteration.to_string();
                    curves.push([scan.name(), implementation.title(), iteration, quantity, value.to_string()]);
                }
            }
            let place = |[x, value]: &[f64; 2]| [scan.name(), implementation.title(), x.to_string(), value.to_string()];
            profiles.extend(run.profile.iter().map(place));
        }
    }
    sources.folder.write_csv("curves.csv", &curves)?;
    sources.folder.write_csv("profiles.csv", &profiles)
}
