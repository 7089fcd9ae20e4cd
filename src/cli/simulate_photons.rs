//! `tomoscope simulate PHANTOM --scanner NAME --model montecarlo -o OUT.hs`: a scan whose photons are followed into the crystals of
//! rotating heads.

use std::path::Path;
use std::sync::Arc;

use super::CliResult;
use super::console::out;
use super::progress::with_bar;
use super::simulate::{SimulateOptions, WRITTEN};
use super::{notices, tubes};
use crate::data::Michelogram;
use crate::io::{Correction, rois, write_projections};
use crate::montecarlo::{Coincidences, MeasuredScan, measure};
use crate::phantom;
use crate::scanner::Scanner;
use crate::words::counted;

/// Simulates and writes.
pub fn run(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    let refused = [
        ("--noise", options.is_noiseless(), "its counts are as noisy as a scanner's"),
        ("--attenuation", options.attenuation, "its photons are followed in the crystals alone"),
        ("--background", options.background > 0.0, "it counts what the photons of the object give, and nothing else"),
        (
            "--truth",
            options.truth.is_some(),
            "its counts have no absolute scale until tubes give them one; write it with --model analytic",
        ),
    ];
    if let Some((option, _, why)) = refused.into_iter().find(|(_, is_given, _)| *is_given) {
        return Err(format!("{option} does not go with --model montecarlo: {why}").into());
    }
    let Some(heads) = scanner.heads.clone() else {
        return Err(
            format!("{} has no rotating heads; photons are followed into those (vrpet, vrpet-2010)", scanner.title).into()
        );
    };
    let geometry = Arc::new(scanner.geometry.clone());
    let phantom = phantom::by_name(&options.phantom, &geometry)?;
    let coincidences = Coincidences::new(scanner.geometry.clone(), heads, tubes::usual_physics())?;
    let activity = |point| phantom.material_at(point).activity;
    let largest = phantom.parts.iter().map(|part| part.material.activity).fold(0.0, f64::max);
    let num_counts = options.counts.round() as u64;
    let scan = with_bar("simulating", |task| measure(&coincidences, &activity, largest, num_counts, options.seed, task))??;
    let Some(MeasuredScan { counts, num_counts }) = scan else {
        return Err(format!("{} has no activity in the field of view of {}", phantom.title, scanner.title).into());
    };
    notices::print(&phantom.notices);
    out!("{} on {}", phantom.title, scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    write_projections(&options.output, &Michelogram::new(Arc::clone(&geometry), counts)?)?;
    report(&options.output, &format!("{num_counts} counts in {} bins", geometry.num_bins()));
    let factors = Correction::Multiplicative.path_beside(&options.output);
    write_projections(&factors, &Michelogram::new(Arc::clone(&geometry), dwell_factors(&coincidences))?)?;
    report(&factors, "how many crystal pairs fall into each bin (their mean is 1)");
    if let Some(path) = &options.rois {
        rois::write_rois(path, &phantom.rois)?;
        report(path, &counted(phantom.rois.len(), "region of interest"));
    }
    Ok(())
}

/// The dwell of each bin over its mean.
fn dwell_factors(coincidences: &Coincidences) -> Vec<f32> {
    let (geometry, dwell) = (coincidences.geometry(), coincidences.dwell());
    let mean = dwell.iter().sum::<f64>() / dwell.len() as f64;
    let of_view = || dwell.iter().flat_map(|dwell| std::iter::repeat_n((dwell / mean) as f32, geometry.num_planes()));
    (0..geometry.num_views).flat_map(|_| of_view()).collect()
}
