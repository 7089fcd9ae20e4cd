//! Factors of the model along a row, each with its source and its mean.

use crate::plan::{CorrectionRecord, ModelRow, ProjectorRecord, Provenance};
use crate::ui::widgets::format;

pub struct Factor {
    /// Name with its symbol.
    pub name: &'static str,
    pub help: &'static str,
    /// Mean along the row; `None` for a step without a value of each bin.
    pub mean: Option<f64>,
    pub source: String,
}

impl Factor {
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
    let Sources { attenuation, normalisation, additive } =
        corrections.as_ref().map_or_else(|| sources(&CorrectionRecord::default()), sources);
    let mut factors = vec![
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
    ];
    factors.extend(factors_of_m(row, attenuation, normalisation));
    factors.extend([
        Factor {
            name: "randoms + scatter, a",
            help: "Expected background counts; 0 without corrections",
            mean: row.additive.as_ref().map_or(Some(0.0), |values| mean(values)),
            source: additive,
        },
        Factor { name: "resolution model", help: "Gaussian of this width (FWHM), part of A", mean: None, source: psf },
        Factor { name: "time of flight", help: "Bins of the run, part of A", mean: None, source: tof },
        Factor { name: "start image", help: "Image before the first step", mean: None, source: start_image.unwrap_or_else(none) },
    ]);
    factors
}

/// Returns m, in its parts where they are known, with the sources of attenuation and normalisation.
fn factors_of_m(row: &ModelRow, attenuation: Option<String>, normalisation: Option<String>) -> Vec<Factor> {
    let none = || "none, 1".to_owned();
    if let (Some(of_maps), Some(of_files)) = (&row.attenuation, row.normalisation()) {
        return vec![
            Factor {
                name: "attenuation, part of m",
                help: "The part of the photon pairs that passes the maps on each line",
                mean: mean(of_maps),
                source: attenuation.unwrap_or_else(none),
            },
            Factor {
                name: "normalisation, part of m",
                help: "Factors of the file: normalisation, and attenuation if the file includes some",
                mean: mean(&of_files),
                source: normalisation.unwrap_or_else(none),
            },
        ];
    }
    let of_both: Vec<String> = [attenuation, normalisation].into_iter().flatten().collect();
    vec![Factor {
        name: "attenuation × normalisation, m",
        help: "Factors of each bin; 1 without corrections",
        mean: row.multiplicative.as_ref().map_or(Some(1.0), |values| mean(values)),
        source: if of_both.is_empty() { none() } else { of_both.join(" × ") },
    }]
}

/// Sources of factors and background; `None` = no such factors.
#[derive(Debug, PartialEq)]
struct Sources {
    attenuation: Option<String>,
    normalisation: Option<String>,
    additive: String,
}

fn sources(corrections: &CorrectionRecord) -> Sources {
    let CorrectionRecord { attenuation, additive, additive_inside, .. } = corrections;
    let inside = if *additive_inside { " (inside the factors)" } else { "" };
    Sources {
        attenuation: attenuation.clone(),
        normalisation: corrections.factors_text(),
        additive: additive.as_ref().map_or_else(|| "none, 0".to_owned(), |file| format!("{file}{inside}")),
    }
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
    use crate::data::SinogramRow;

    /// A row of two bins with factors m, half of them attenuation if that is known.
    fn row(has_attenuation: bool) -> ModelRow {
        let twice = |value: f32| vec![value; 2];
        ModelRow {
            row: SinogramRow { view: 0, plane: 0 },
            s_mm: vec![-1.0, 1.0],
            measured: twice(3.0),
            projected: twice(8.0),
            multiplicative: Some(twice(0.25)),
            attenuation: has_attenuation.then(|| twice(0.5)),
            additive: None,
            expected: twice(2.0),
        }
    }

    #[test]
    fn attenuation_and_normalisation_are_apart_where_that_is_known() {
        let record = |additive_inside| CorrectionRecord {
            multiplicative: Some("norm.hs".to_owned()),
            attenuation: Some("mu.hv".to_owned()),
            additive: Some("add.hs".to_owned()),
            additive_inside,
            ..CorrectionRecord::default()
        };
        assert_eq!(sources(&record(true)).additive, "add.hs (inside the factors)");
        assert_eq!(sources(&CorrectionRecord::default()).additive, "none, 0");
        let of = |has_attenuation| {
            let Sources { attenuation, normalisation, .. } = sources(&record(false));
            let factors = factors_of_m(&row(has_attenuation), attenuation, normalisation).into_iter();
            factors.map(|factor| (factor.mean.unwrap(), factor.source)).collect::<Vec<_>>()
        };
        assert_eq!(of(true), [(0.5, "mu.hv".to_owned()), (0.5, "norm.hs".to_owned())]);
        assert_eq!(of(false), [(0.25, "mu.hv × norm.hs".to_owned())]);
    }
}
