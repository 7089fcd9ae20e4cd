//! Options of list-mode data.

use std::path::PathBuf;

use clap::Args;

use super::options::number;
use crate::io::list_mode::{ListOptions, YrtFields};

/// Options of every command that reads list-mode data.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "List-mode data")]
pub struct ListArguments {
    /// Crystal table of the scanner (.lut, .hscan, .geom, .crystals.toml).
    ///
    /// Required if the list-mode file does not name it (YRT-PET) or it is in another folder.
    #[arg(long, value_name = "FILE")]
    pub crystals: Option<PathBuf>,

    /// CASToR normalisation file (.Cdh) with the detection efficiencies of all crystal pairs.
    #[arg(long, value_name = "FILE")]
    pub normalization: Option<PathBuf>,

    /// YRT-PET: time-of-flight resolution (FWHM) and, if times are stored in steps, the step, ps.
    #[arg(long, value_name = "FWHM[,STEP]", value_parser = tof_ps)]
    pub yrt_tof_ps: Option<[f64; 2]>,

    /// YRT-PET: width of the recorded range of time differences, ps.
    ///
    /// The randoms of time-of-flight data are spread over it.
    #[arg(long, value_name = "PS", value_parser = range_ps, requires = "yrt_tof_ps")]
    pub yrt_tof_range: Option<f64>,

    /// YRT-PET: each event has a randoms rate.
    #[arg(long)]
    pub yrt_randoms: bool,
}

fn tof_ps(text: &str) -> Result<[f64; 2], String> {
    let (fwhm, step) = text.split_once(',').unwrap_or((text, "0"));
    let ps = |text: &str| text.trim().parse().ok().filter(|ps: &f64| (0.0..1e6).contains(ps));
    let both = ps(fwhm).filter(|fwhm| *fwhm > 0.0).zip(ps(step));
    both.map(|(fwhm, step)| [fwhm, step])
        .ok_or_else(|| format!("'{text}' is not a width in ps, with or without a step: 400, or 400,20"))
}

fn range_ps(text: &str) -> Result<f64, String> {
    number(text.trim(), |ps: &f64| *ps > 0.0 && *ps <= 1e9, format!("'{text}' is not a width in ps: 4000"))
}

impl ListArguments {
    pub fn list_options(&self) -> ListOptions {
        ListOptions {
            scanner: self.crystals.clone(),
            normalization: self.normalization.clone(),
            yrt: YrtFields { tof_ps: self.yrt_tof_ps, tof_range_ps: self.yrt_tof_range, has_randoms: self.yrt_randoms },
            ..ListOptions::default()
        }
    }
}
