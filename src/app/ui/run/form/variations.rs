//! Variations of a run: settings that differ in one value, for a comparison.

use super::forms::Forms;
use super::settings::psf_text;
use crate::data::Psf;
use crate::operator::Accumulation;
use crate::plan::{AlgorithmChoice, Choice, DataKind, Device, FILTER, Kind, ProjectorChoice, Setting, Value};
use crate::ui::study::open::open_study::OpenStudy;

/// One thing, by its name in the form, and the settings for each of its other values.
pub struct Variation {
    pub name: &'static str,
    /// The values in words.
    pub choices: Vec<(String, Forms)>,
}

/// Returns all variations for a study and the settings of the runs of a restored session. The run supports these accumulations.
pub fn variations(
    study: &OpenStudy,
    forms: &Forms,
    remembered: &[(String, Forms)],
    supported: &[Accumulation],
    devices: &[Device],
) -> Vec<Variation> {
    let kind = study.study.measured.kind();
    let mut all = vec![accumulations(forms, supported)];
    if matches!(kind, DataKind::Projections | DataKind::Events) {
        all.push(subsets(forms));
        all.push(resolution_models(forms));
    }
    if let Some(open) = study.counts() {
        all.push(projectors(forms, open.scanner_of_tubes().is_ok()));
    }
    if matches!(kind, DataKind::Sweep | DataKind::Oximetry) {
        all = vec![choices_of(&FILTER, forms)];
    }
    all.push(on_devices(forms, devices));
    let others = remembered.iter().filter(|(_, other)| other != forms).cloned();
    all.push(Variation { name: "All as in the session", choices: others.collect() });
    all.retain(|variation| !variation.choices.is_empty());
    all
}

fn accumulations(forms: &Forms, supported: &[Accumulation]) -> Variation {
    let others = supported.iter().filter(|accumulation| forms.settings.accumulation != Some(**accumulation));
    let with = |accumulation: &Accumulation| changed(forms, |forms| forms.settings.accumulation = Some(*accumulation));
    Variation {
        name: "Accumulation",
        choices: others.map(|accumulation| (accumulation.to_string(), with(accumulation))).collect(),
    }
}

/// Returns the other resolution models: none, or some widths.
fn resolution_models(forms: &Forms) -> Variation {
    let widths = [3.0, 4.5, 6.0].map(|fwhm_mm| Some(Psf::Everywhere([fwhm_mm; 3])));
    let others = std::iter::once(None).chain(widths).filter(|psf| forms.settings.psf != *psf);
    let with = |psf: Option<Psf>| (psf_text(&psf), changed(forms, |forms| forms.settings.psf = psf));
    Variation { name: "Resolution model", choices: others.map(with).collect() }
}

/// Returns half and twice the number of subsets, and one subset.
fn subsets(forms: &Forms) -> Variation {
    let now = if forms.settings.algorithm.entry().has_subsets { forms.settings.num_subsets } else { 1 };
    let mut numbers = vec![now / 2, 2 * now];
    numbers.retain(|number| *number > 1);
    let with = |number: usize| {
        changed(forms, |forms| {
            forms.settings.num_subsets = number;
            if !forms.settings.algorithm.entry().has_subsets {
                forms.settings.set_algorithm(AlgorithmChoice::OSEM);
            }
        })
    };
    let mut choices: Vec<_> = numbers.into_iter().map(|number| (number.to_string(), with(number))).collect();
    if now > 1 {
        let all_at_once = changed(forms, |forms| forms.settings.set_algorithm(AlgorithmChoice::MLEM));
        choices.push(("1 (MLEM)".to_owned(), all_at_once));
    }
    Variation { name: "Subsets", choices }
}

fn projectors(forms: &Forms, uses_tubes: bool) -> Variation {
    let others =
        ProjectorChoice::all().filter(|choice| *choice != forms.settings.projector && (uses_tubes || !choice.uses_tubes()));
    let with = |choice| changed(forms, |forms| forms.settings.projector = choice);
    Variation { name: "Projector", choices: others.map(|choice| (choice.name().to_owned(), with(choice))).collect() }
}

/// Returns the other choices of a parameter.
fn choices_of(setting: &'static Setting, forms: &Forms) -> Variation {
    let Kind::Choice { choices, .. } = setting.kind else { return Variation { name: setting.label, choices: Vec::new() } };
    let now = forms.settings.parameters.value(setting);
    let value = |choice: &Choice| Some(Value::Name(choice.key.to_owned()));
    let others = choices().into_iter().filter(|choice| (choice.is_for)(&forms.settings.bounds.traits) && value(choice) != now);
    let with = |choice: &Choice| changed(forms, |forms| forms.settings.parameters.set(setting, value(choice)));
    Variation { name: setting.label, choices: others.map(|choice| (choice.label.to_owned(), with(&choice))).collect() }
}

fn on_devices(forms: &Forms, devices: &[Device]) -> Variation {
    let others = devices.iter().filter(|device| device.why_not.is_none() && device.choice != forms.settings.device);
    let with = |device: &Device| changed(forms, |forms| forms.settings.device = device.choice);
    Variation { name: "Device", choices: others.map(|device| (device.name.clone(), with(device))).collect() }
}

fn changed(forms: &Forms, change: impl FnOnce(&mut Forms)) -> Forms {
    let mut forms = forms.clone();
    change(&mut forms);
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_differs_in_one_thing() {
        let forms = Forms::default();
        let words = |variation: &Variation| variation.choices.iter().map(|(words, _)| words.clone()).collect::<Vec<_>>();
        let varied = subsets(&forms);
        assert_eq!(words(&varied), ["7", "28", "1 (MLEM)"]);
        assert_eq!(varied.choices[0].1.settings.num_subsets, 7);
        assert_eq!(varied.choices[2].1.settings.algorithm, AlgorithmChoice::MLEM);
        // From all data at once there is no half.
        assert_eq!(words(&subsets(&varied.choices[2].1)), ["2"]);
        let supported = accumulations(&forms, &[Accumulation::Atomic, Accumulation::NonAtomic]);
        assert_eq!(supported.choices[1].1.settings.accumulation, Some(Accumulation::NonAtomic));
        assert_eq!(words(&accumulations(&supported.choices[1].1, &[Accumulation::NonAtomic])).len(), 0);
        assert!(projectors(&forms, false).choices.iter().all(|(_, forms)| !forms.settings.projector.uses_tubes()));
    }
}
