//! The record of the algorithm that made an image.

use serde::{Deserialize, Serialize};

use crate::plan::algorithms::common::{RACY_SENSITIVITY, REPLICATES};
use crate::plan::algorithms::penalised::BETA;
use crate::plan::algorithms::registry::{AlgorithmChoice, filter_settings};
use crate::plan::algorithms::setting::{Kind, Setting};
use crate::plan::algorithms::total_variation::LAMBDA;
use crate::plan::algorithms::value::Value;
use crate::plan::algorithms::value::{NO, YES};
use crate::plan::algorithms::values::Values;
use crate::plan::job::replicates::ReplicateSettings;
use crate::plan::job::subsets::SubsetRecord;
use crate::recon::{AscentTuning, Baseline, Explained, FilterSettings, Optimality, RaceReport};
use crate::text::counted;

/// The algorithm that made an image. In JSON all fields are on one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmRecord {
    /// Its key.
    pub name: String,
    /// Of one that iterates with a forward model.
    #[serde(flatten)]
    pub em: Option<EmRecord>,
    /// Of filtered backprojection.
    #[serde(flatten)]
    pub fbp: Option<FbpRecord>,
    /// Part of the measured data that the image explains.
    #[serde(flatten)]
    pub explained: ExplainedRecord,
    /// Of one that climbs to a maximum: the step that made the image.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ascent: Option<AscentRecord>,
    /// Replicates that the run carried along for error bars.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replicates: Option<ReplicateSettings>,
    /// Values of the algorithm's parameters.
    #[serde(flatten)]
    pub parameters: Values,
}

/// Part of the measured data that an image explains ([`Explained`]), where it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainedRecord {
    /// Part of the counts that image and background explain, or of the signal of projections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explained: Option<f64>,
    /// Part of the counts net of background that the image explains, where more than noise is left of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explained_net: Option<f64>,
    /// Part of the signal of projections that their noise allows, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explained_expected: Option<f64>,
    /// Standard error of the part of the signal, where some of the projections were compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explained_error: Option<f64>,
}

impl From<Explained> for ExplainedRecord {
    fn from(explained: Explained) -> Self {
        Self {
            explained: Some(explained.ratio()),
            explained_net: explained.net_ratio(),
            explained_expected: explained.expectation(),
            explained_error: explained.standard_error(),
        }
    }
}

/// The record of a step that climbs to a maximum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AscentRecord {
    /// Newest objective whose image was made before, where the algorithm computes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objective: Option<ObjectiveRecord>,
    /// Newest optimality residual whose image was made before, or that of the image itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub optimality: Option<OptimalityRecord>,
    /// True if that residual is one of a converged image.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub converged: Option<bool>,
    /// Step size.
    pub step_size: f64,
    /// Number of times that the step size had been halved because the objective had fallen.
    pub num_halved: usize,
    /// Length of the step relative to that of the image.
    pub update: f64,
    /// Strength of the penalty, where the run found it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beta_found: Option<f64>,
    /// Strength λ of total variation, where the run found it by the noise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lambda_found: Option<f64>,
    /// Penalty and step factor from each step on at which they changed; empty where they never did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub switched: Vec<TuningSpan>,
}

/// From one step on an algorithm that climbs had these settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningSpan {
    /// The first of these steps, from 1.
    pub from_subiteration: usize,
    /// Settings of these steps.
    #[serde(flatten)]
    pub tuning: AscentTuning,
}

/// The distance of an image from the maximum of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptimalityRecord {
    /// Number of steps of the image.
    pub of_subiteration: usize,
    /// Longest step of a voxel by the second derivatives of its data, a part of the largest value.
    pub residual: Optimality,
}

/// An objective data term − penalty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveRecord {
    /// Number of steps of its image.
    pub of_subiteration: usize,
    /// Σ (y ln ȳ − ȳ) over all data.
    pub data_term: f64,
    /// β R.
    pub penalty: f64,
}

/// The record of an algorithm that iterates with a forward model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmRecord {
    /// Subsets of an iteration.
    pub subsets: usize,
    /// File of the start image; "uniform", or "given" where its file is not known.
    pub start_image: String,
    /// True if a non-atomic run computed its sensitivity image with the race, too.
    pub racy_sensitivity: bool,
    /// Losses in the race of the step that made the image.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub race: Option<RaceReport>,
    /// Bound on the default number of subsets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subset_rule: Option<SubsetRecord>,
}

/// The record of a filtered backprojection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FbpRecord {
    /// The program that backprojected ("single stage", …).
    pub program: String,
}

impl EmRecord {
    /// Returns the number of subsets, with the reason where it is a default that few counts or views lower.
    fn subsets_text(&self) -> String {
        let rule = self.subset_rule.as_ref().filter(|rule| rule.default_subsets == self.subsets);
        let reason = rule.and_then(|rule| rule.reason.as_deref());
        reason.map_or_else(|| self.subsets.to_string(), |reason| format!("{} ({reason})", self.subsets))
    }
}

impl AlgorithmRecord {
    /// Returns its algorithm; `None` of one that this version lacks.
    fn choice(&self) -> Option<AlgorithmChoice> {
        self.name.parse().ok()
    }

    fn label(&self) -> &str {
        self.choice().map_or(&self.name, |choice| choice.entry().label)
    }

    /// Returns the settings of its algorithm that it contains.
    fn recorded(&self) -> impl Iterator<Item = &'static Setting> {
        let settings = self.choice().map(AlgorithmChoice::settings).unwrap_or_default();
        settings.into_iter().filter(|setting| !setting.is_recorded_apart)
    }

    /// Returns it in one phrase: "OSEM 14 subsets", "FBP three-point, linear".
    pub(super) fn text(&self) -> String {
        if self.fbp.is_some() {
            let FilterSettings { filter, cutoff, baseline, interpolation } = filter_settings(&self.parameters);
            let cutoff = cutoff.map_or_else(String::new, |cutoff| format!(", cut-off {cutoff}"));
            let baseline = if baseline == Baseline::None { String::new() } else { format!(", baseline {baseline}") };
            return format!("FBP {filter}{cutoff}{baseline}, {interpolation}");
        }
        let has_subsets = self.choice().is_none_or(|choice| choice.entry().has_subsets);
        let subsets = self.em.as_ref().filter(|_| has_subsets).map(|em| format!(" {}", counted(em.subsets, "subset")));
        let mut text = format!("{}{}", self.label(), subsets.unwrap_or_default());
        for setting in self.recorded().filter(|setting| setting.is_in_short_texts) {
            let value = self.parameters.value(setting);
            // (Nothing of its kind is no fact of an image.)
            if matches!(setting.kind, Kind::Number { is_whole: true, .. }) && value == Some(Value::Number(0.0)) {
                continue;
            }
            if let Some(Value::Name(name)) = &value
                && [NO, YES].contains(&name.as_str())
            {
                text += &if name == YES { format!(", {}", setting.label.to_lowercase()) } else { String::new() };
                continue;
            }
            let value = match self.ascent.as_ref().and_then(|ascent| ascent.lambda_found) {
                Some(found) if value.is_none() && setting.key == LAMBDA.key => format!("{found:.3e} (by the noise)"),
                _ => setting.text(value.as_ref()),
            };
            text += &format!(", {} {value}", setting.label.to_lowercase());
            if let Some((before, TuningSpan { from_subiteration, tuning })) = self.last_change()
                && [BETA.key, LAMBDA.key].contains(&setting.key)
                && tuning.strength != before.strength
            {
                text += &format!(" since step {from_subiteration}");
            }
        }
        if let Some((before, TuningSpan { from_subiteration, tuning })) = self.last_change() {
            let others = AscentTuning { strength: before.strength, ..tuning }.changes_from(before, "");
            text += &if others.is_empty() { String::new() } else { format!(", {others} since step {from_subiteration}") };
        }
        if let Some(part) = self.replicates.and_then(|replicates| replicates.part_text()) {
            text += &format!(", {part}");
        }
        text
    }

    /// Returns the last change of penalty or step factor during the run: the settings before it, and those since.
    fn last_change(&self) -> Option<(AscentTuning, TuningSpan)> {
        match self.ascent.as_ref()?.switched[..] {
            [.., before, last] => Some((before.tuning, last)),
            _ => None,
        }
    }

    /// Returns its settings as names and values.
    pub(super) fn settings_table(&self) -> Vec<(&'static str, String)> {
        let name = self.fbp.as_ref().map_or(self.label(), |fbp| &fbp.program);
        let mut rows = vec![("Algorithm", name.to_owned())];
        if let Some(em) = &self.em {
            rows.push(("Subsets", em.subsets_text()));
        }
        for setting in self.recorded().filter(|setting| self.parameters.uses(setting)) {
            rows.push((setting.label, setting.text(self.parameters.value(setting).as_ref())));
        }
        if let Some(span) = self.ascent.as_ref().and_then(|ascent| ascent.switched.last()) {
            rows.push(("Changed while running", format!("{} since step {}", span.tuning, span.from_subiteration)));
        }
        rows.extend(self.replicates.map(|replicates| (REPLICATES.label, replicates.text())));
        if let Some(em) = &self.em {
            rows.push(("Start image", em.start_image.clone()));
            if em.racy_sensitivity {
                rows.push((RACY_SENSITIVITY.label, YES.to_owned()));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::algorithms::penalised::GAMMA;

    #[test]
    fn a_phrase_names_the_last_change_of_the_penalty() {
        let record = |choice: AlgorithmChoice, parameters: Values, switched: &[(usize, [f64; 3])]| {
            let span = |(from_subiteration, [strength, gamma, step_factor]): &(usize, [f64; 3])| TuningSpan {
                from_subiteration: *from_subiteration,
                tuning: AscentTuning { strength: *strength, gamma: *gamma, step_factor: *step_factor },
            };
            let switched = switched.iter().map(span).collect();
            let ascent = AscentRecord {
                objective: None,
                optimality: None,
                converged: None,
                step_size: 1.0,
                num_halved: 0,
                update: 0.1,
                beta_found: None,
                lambda_found: None,
                switched,
            };
            let name = choice.entry().key.to_owned();
            let (explained, ascent) = (ExplainedRecord::default(), Some(ascent));
            AlgorithmRecord { name, em: None, fbp: None, explained, ascent, replicates: None, parameters }.text()
        };
        let tv = Values::default().with_number(&LAMBDA, Some(0.05));
        let text = record(AlgorithmChoice::TV, tv.clone(), &[(1, [0.2, 0.0, 1.0]), (73, [0.05, 0.0, 1.0])]);
        assert!(text.contains("strength λ 0.05 since step 73"), "{text}");
        assert!(!record(AlgorithmChoice::TV, tv, &[]).contains("since"));
        let svrg = Values::default().with_number(&BETA, Some(2.0)).with_number(&GAMMA, Some(3.0));
        let spans = [(1, [1.0, 2.0, 1.0]), (20, [2.0, 2.0, 1.0]), (31, [2.0, 3.0, 0.5])];
        let text = record(AlgorithmChoice::SVRG, svrg.clone(), &spans);
        assert!(text.contains("strength β 2, ") && text.ends_with(", γ 3, steps × 0.5 since step 31"), "{text}");
        let text = record(AlgorithmChoice::SVRG, svrg, &spans[..2]);
        assert!(text.contains("strength β 2 since step 20"), "{text}");
    }
}
