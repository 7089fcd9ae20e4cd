//! Open acquisitions of pulse oximetry.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{OxygenSeries, Sweep, SweepSpace};
use crate::ui::widgets::format;

pub struct OpenOximetry {
    pub series: Arc<OxygenSeries>,
    /// File of the study; `None` for a simulation.
    pub path: Option<PathBuf>,
}

impl OpenOximetry {
    pub fn space(&self) -> SweepSpace {
        self.series.sweeps.first().map_or(SweepSpace::Volume, |sweep| sweep.space)
    }

    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let OxygenSeries { times_us, sweeps, calibration } = &*self.series;
        let times: Vec<String> = times_us.iter().map(f64::to_string).collect();
        let name = if self.series.time_name() == "delay" { "Delays" } else { "Echo times" };
        let mut facts = vec![
            ("Data", format!("EPRI, pulse oximetry by {}", calibration.rate.label())),
            (name, format!("{} µs", times.join(", "))),
            ("Calibration", calibration.text()),
        ];
        if let Some(sweep) = sweeps.first() {
            let Sweep { space, num_points, step_mm, .. } = sweep;
            facts.extend([
                ("Image", space.to_string()),
                ("Projections", format!("{} × {}", sweeps.len(), sweep.num_complete())),
                ("Samples", format!("{num_points} of {} mm, ±{:.1} mm", format::value(*step_mm), sweep.half_extent_mm())),
            ]);
        }
        facts
    }
}
