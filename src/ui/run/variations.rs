//! What a run can be done again with: settings that differ from its own in one thing, to be compared with it.

use strum::VariantArray as _;

use super::forms::Forms;
use crate::operator::Accumulation;
use crate::plan::{AlgorithmKind, Device, ProjectorChoice};
use crate::recon::Filter;
use crate::ui::study::open_study::OpenStudy;

/// One thing, by its name in the form, and the settings for each of its other values.
pub struct Variation {
    /// Its name.
    pub name: &'static str,
    /// The values in words.
    pub choices: Vec<(String, Forms)>,
}

/// All that the study leaves to vary, and what runs of a restored session did; `ways`: how the run can add.
pub fn variations(
    study: &OpenStudy,
    forms: &Forms,
    remembered: &[(String, Forms)],
    ways: &[Accumulation],
    devices: &[Device],
) -> Vec<Variation> {
    let mut all = match study {
        OpenStudy::Sweep(_) => vec![filters(forms)],
        OpenStudy::Pairs(_) => vec![accumulations(forms, ways)],
        OpenStudy::Events(_) => vec![accumulations(forms, ways), subsets(forms)],
        OpenStudy::Counts(open) => {
            let uses_tubes = open.scanner_of_tubes().is_ok();
            vec![accumulations(forms, ways), subsets(forms), projectors(forms, uses_tubes)]
        }
    };
    all.push(on_devices(study, forms, devices));
    let others = remembered.iter().filter(|(_, other)| other != forms).cloned();
    all.push(Variation { name: "All as in the session", choices: others.collect() });
    all.retain(|variation| !variation.choices.is_empty());
    all
}

fn accumulations(forms: &Forms, ways: &[Accumulation]) -> Variation {
    let others = ways.iter().filter(|way| forms.counts.accumulation != Some(**way));
    let with = |way: &Accumulation| changed(forms, |forms| forms.counts.accumulation = Some(*way));
    Variation { name: "Accumulation", choices: others.map(|way| (way.to_string(), with(way))).collect() }
}

/// Half and twice as many, and all data at once.
fn subsets(forms: &Forms) -> Variation {
    let now = if forms.counts.algorithm == AlgorithmKind::Mlem { 1 } else { forms.counts.num_subsets };
    let mut numbers = vec![now / 2, 2 * now];
    numbers.retain(|number| *number > 1);
    let with = |number: usize| {
        changed(forms, |forms| (forms.counts.algorithm, forms.counts.num_subsets) = (AlgorithmKind::Osem, number))
    };
    let mut choices: Vec<_> = numbers.into_iter().map(|number| (number.to_string(), with(number))).collect();
    if now > 1 {
        choices.push(("1 (MLEM)".to_owned(), changed(forms, |forms| forms.counts.algorithm = AlgorithmKind::Mlem)));
    }
    Variation { name: "Subsets", choices }
}

fn projectors(forms: &Forms, uses_tubes: bool) -> Variation {
    let others =
        ProjectorChoice::all().filter(|choice| *choice != forms.counts.projector && (uses_tubes || !choice.uses_tubes()));
    let with = |choice| changed(forms, |forms| forms.counts.projector = choice);
    Variation { name: "Projector", choices: others.map(|choice| (choice.name().to_owned(), with(choice))).collect() }
}

fn filters(forms: &Forms) -> Variation {
    let is_slice = forms.fbp.choices.space.is_slice();
    let others = Filter::VARIANTS.iter().copied().filter(|filter| *filter != forms.fbp.filter);
    let others = others.filter(|filter| !(is_slice && *filter == Filter::TwoRamp));
    let with = |filter| changed(forms, |forms| forms.fbp.filter = filter);
    Variation { name: "Filter", choices: others.map(|filter| (filter.name().to_owned(), with(filter))).collect() }
}

fn on_devices(study: &OpenStudy, forms: &Forms, devices: &[Device]) -> Variation {
    let now = if matches!(study, OpenStudy::Sweep(_)) { forms.fbp.device } else { forms.counts.device };
    let others = devices.iter().filter(|device| device.why_not.is_none() && device.choice != now);
    let with = |device: &Device| changed(forms, |forms| (forms.counts.device, forms.fbp.device) = (device.choice, device.choice));
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
        assert_eq!((varied.choices[0].1.counts.num_subsets, &varied.choices[0].1.fbp), (7, &forms.fbp));
        assert_eq!(varied.choices[2].1.counts.algorithm, AlgorithmKind::Mlem);
        // From all data at once there is no half.
        assert_eq!(words(&subsets(&varied.choices[2].1)), ["2"]);
        let ways = accumulations(&forms, &[Accumulation::Atomic, Accumulation::NonAtomic]);
        assert_eq!(ways.choices[1].1.counts.accumulation, Some(Accumulation::NonAtomic));
        assert_eq!(words(&accumulations(&ways.choices[1].1, &[Accumulation::NonAtomic])).len(), 0);
        assert!(projectors(&forms, false).choices.iter().all(|(_, forms)| !forms.counts.projector.uses_tubes()));
    }
}
