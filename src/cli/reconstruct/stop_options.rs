//! Stopping rules, as the window's *Stop automatically*.

use clap::Args;

use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::options::positive;
use crate::data::{Roi, RoiRole};
use crate::session::StopRule;

/// Stopping rules: a reconstruction stops with the image that meets a rule; at the latest after --iterations.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stopping rules")]
pub struct StopOptions {
    /// Stop after the first iteration with a background noise above this, % (mean NSR of the background ROIs; needs --rois).
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "rois", group = "use_of_rois", group = "steps")]
    pub stop_noise: Option<f64>,

    /// Stop when the contrast recovery of an ROI varies by less than PERCENT over K iterations (needs --rois).
    ///
    /// Can be given for several ROIs.
    #[arg(long, value_name = "ROI:PERCENT:K", value_parser = steady, requires = "rois", group = "use_of_rois", group = "steps")]
    pub stop_recovery: Vec<StopRule>,

    /// Stop after the first iteration that adds at most this part of the total increase of the log-likelihood, %.
    #[arg(long, value_name = "PERCENT", value_parser = percent, group = "for_counts")]
    pub stop_plateau: Option<f64>,
}

fn percent(text: &str) -> Result<f64, String> {
    positive(text).map_err(|_| format!("'{text}' is not a positive percentage"))
}

fn steady(text: &str) -> Result<StopRule, String> {
    // The name may contain colons.
    let parts: Vec<&str> = text.rsplitn(3, ':').collect();
    let [iterations, band, roi] = parts[..] else {
        return Err(format!("'{text}': expected ROI:PERCENT:K, for example hot:1:3"));
    };
    let count = iterations.parse().ok().filter(|count: &usize| *count > 0);
    let iterations = count.ok_or_else(|| format!("'{iterations}' is not a number of iterations, 1 or more"))?;
    Ok(StopRule::SteadyRecovery { roi: roi.to_owned(), band: 0.01 * percent(band)?, iterations })
}

impl StopOptions {
    /// Returns the rules, which refer to regions that can meet them.
    ///
    /// # Errors
    /// A rule refers to a region that is missing, or that lacks its quantity.
    pub fn rules(&self, rois: &[Roi]) -> CliResult<Vec<StopRule>> {
        let has_background = rois.iter().any(|roi| roi.role == RoiRole::Background);
        let needs_background = |option: &str| {
            if has_background {
                Ok(())
            } else {
                refuse(format!("{option} needs a region of the role background, and --rois has none"))
            }
        };
        let mut rules = Vec::new();
        if let Some(percent) = self.stop_noise {
            needs_background("--stop-noise")?;
            rules.push(StopRule::Noise { nsr: 0.01 * percent });
        }
        for rule in &self.stop_recovery {
            needs_background("--stop-recovery")?;
            if let StopRule::SteadyRecovery { roi, .. } = rule {
                check_recovery(roi, rois)?;
            }
            rules.push(rule.clone());
        }
        rules.extend(self.stop_plateau.map(|percent| StopRule::Plateau { part: 0.01 * percent }));
        Ok(rules)
    }
}

fn refuse<T>(text: String) -> CliResult<T> {
    Err(CliError::failed(Failure::MissingRegion, text))
}

/// Refuses a region that has no contrast recovery.
fn check_recovery(name: &str, rois: &[Roi]) -> CliResult {
    let Some(roi) = rois.iter().find(|roi| roi.name == name) else {
        let names: Vec<&str> = rois.iter().map(|roi| roi.name.as_str()).collect();
        return refuse(format!("--stop-recovery: there is no region '{name}' among those of --rois: {}", names.join(", ")));
    };
    match (roi.role, roi.activity_ratio) {
        (RoiRole::Cold, _) | (RoiRole::Hot, Some(_)) => Ok(()),
        (RoiRole::Hot, None) => refuse(format!(
            "--stop-recovery: '{name}' has no contrast recovery without its true ratio (activity_ratio in --rois)"
        )),
        _ => refuse(format!("--stop-recovery: '{name}' has no contrast recovery: its role is neither hot nor cold")),
    }
}
