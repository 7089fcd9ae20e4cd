//! Factors of the model along a row, each with its source and its mean.

use crate::plan::{CorrectionRecord, ModelRow, ProjectorRecord, Provenance};
use crate::ui::widgets::format;

/// Factor of the model.
pub struct Factor {
    /// Name with its symbol.
    pub name: &'static str,
    /// Tooltip.
    pub help: &'static str,
    /// Mean along the row; `None` for a step without a value of each bin.
    pub mean: Option<f64>,
    /// Its source.
    pub source: String,
}

impl Factor {
    /// Returns the mean as text.
    pub fn mean_text(&self) -> String {
        self.mean.map_or_else(|| "–".to_owned(), format::value)
    }
}

/// Returns all factors. `iterate` describes the image.
pub fn factors(row: &ModelRow, provenance: &Provenance, iterate: &str) -> Vec<Factor> {
    let Provenance { data, corrections, projector, algorithm, .. } = provenance;
    let none = || "none".to_owned();
    let projector = projector.as_ref();
    let psf = projector.and_then(|projector| projector.psf.as_ref()).map_or_else(none, ToString::to_string);
    let tof = projector.and_then(|projector| projector.tof).map_or_else(none, |tof| tof.bins.text());
    let start_image = algorithm.as_ref().and_then(|algorithm| algorithm.em.as_ref()).map(|em| em.start_image.clone());
    let [multiplicative, additive] = corrections.as_ref().map_or_else(|| [none(), none()], sources);
    vec![
        Factor {
            name: "measured, y",
            help: "Measured counts (prompts), over all time-of-flight bins",
            mean: mean(&row.measured),
            source: data.file.clone().unwrap_or_else(|| "simulated".to_owned()),
        },
        Factor {
            name: "expected, m A x + a",
            help: "Expected counts of the displayed image x",
            mean: mean(&row.expected),
            source: iterate.to_owned(),
        },
        Factor {
            name: "projection, A x",
            help: "Counts of the image without attenuation, normalisation and background",
            mean: mean(&row.projected),
            source: projector.map_or_else(none, rays),
        },
        Factor {
            name: "attenuation × normalisation, m",
            help: "Factors of each bin; 1 without corrections",
            mean: row.multiplicative.as_ref().map_or(Some(1.0), |values| mean(values)),
            source: multiplicative,
        },
        Factor {
            name: "randoms + scatter, a",
            help: "Expected background counts; 0 without corrections",
            mean: row.additive.as_ref().map_or(Some(0.0), |values| mean(values)),
            source: additive,
        },
        Factor { name: "resolution model", help: "Gaussian of this width (FWHM), part of A", mean: None, source: psf },
        Factor { name: "time of flight", help: "Bins of the run, part of A", mean: None, source: tof },
        Factor { name: "start image", help: "Image before the first step", mean: None, source: start_image.unwrap_or_else(none) },
    ]
}

/// Returns the sources of factors and background.
fn sources(corrections: &CorrectionRecord) -> [String; 2] {
    let CorrectionRecord { multiplicative, attenuation, additive, additive_inside, .. } = corrections;
    let factors: Vec<&str> = [attenuation, multiplicative].into_iter().flatten().map(String::as_str).collect();
    let inside = if *additive_inside { " (inside the factors)" } else { "" };
    [
        if factors.is_empty() { "none, 1".to_owned() } else { factors.join(" × ") },
        additive.as_ref().map_or_else(|| "none, 0".to_owned(), |file| format!("{file}{inside}")),
    ]
}

fn rays(projector: &ProjectorRecord) -> String {
    let [tangential, axial] = projector.rays_per_bin;
    format!("{}, {tangential} × {axial} rays per LOR", projector.name)
}

fn mean(values: &[f32]) -> Option<f64> {
    let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    crate::statistics::mean(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_name_files_or_the_value_without_one() {
        let record = |multiplicative: Option<&str>, attenuation: Option<&str>, additive: Option<&str>, additive_inside| {
            let [multiplicative, attenuation, additive] =
                [multiplicative, attenuation, additive].map(|file| file.map(str::to_owned));
            sources(&CorrectionRecord { multiplicative, additive, additive_inside, attenuation, ..CorrectionRecord::default() })
        };
        assert_eq!(record(None, None, None, false), ["none, 1", "none, 0"]);
        let both = record(Some("norm.hs"), Some("mu.hv"), Some("add.hs"), true);
        assert_eq!(both, ["mu.hv × norm.hs", "add.hs (inside the factors)"]);
    }
}
