//! Images of another program in the study panel: PET facts, unit of the values.

use egui::{DragValue, RichText, Ui};
use jiff::civil::DateTime;
use strum::VariantArray as _;

use super::edit;
use crate::data::{DecayReference, Sex, Sourced, SuvDefinition};
use crate::ui::study::open::open_images::{ENTERED, OpenImages, PetMoment};
use crate::ui::widgets::fields::{choice, name, name_menu, typed_ui};
use crate::ui::widgets::format;
use crate::ui::widgets::place::Place;
use crate::ui::workspace::state::{Request, request};

/// Draws the choice of the unit, and the facts of a PET scan with their sources.
pub fn image_ui(open: &OpenImages, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Some(scan) = &open.pet else { return };
    ui.separator();
    ui.label(RichText::new("Uptake").strong());
    unit_ui(open, ui, requests);
    let mut edited = scan.clone();
    egui::Grid::new("PET facts").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
        number_ui(ui, "Injected activity", &mut edited.dose_bq, 1e-6, "MBq");
        number_ui(ui, "Half-life", &mut edited.half_life_secs, 1.0 / 60.0, "min");
        number_ui(ui, "Weight", &mut edited.weight_kg, 1.0, "kg");
        number_ui(ui, "Height", &mut edited.height_m, 100.0, "cm");
        sex_ui(ui, &mut edited.sex);
        moment_ui(ui, PetMoment::Injection, &scan.injection, requests);
        moment_ui(ui, PetMoment::Scan, &scan.scan_start, requests);
        let decay = match scan.decay_reference {
            DecayReference::Start => "to the start of the scan",
            DecayReference::Administration => "to the injection",
            DecayReference::None => "none",
        };
        text_ui(ui, "Decay correction", Some((decay.to_owned(), "DecayCorrection (0054,1102)")));
        text_ui(ui, "Corrections", Some((scan.corrections.join(", "), "CorrectedImage (0028,0051)")));
    });
    if edited != *scan {
        requests.push(edit(move |study| study.images_mut().into_iter().for_each(|open| open.pet = Some(edited.clone()))));
    }
}

/// Draws the choice of the unit; definitions without the necessary facts are disabled, with the reason.
fn unit_ui(open: &OpenImages, ui: &mut Ui, requests: &mut Vec<Request>) {
    let own = open.series.unit().label();
    let current = open.uptake.map_or(own, |definition| definition.unit().label());
    ui.horizontal(|ui| {
        let label = ui.label("Values in");
        Place::Calibration.is_at(&label);
        let menu = egui::ComboBox::from_id_salt("unit of the values").selected_text(current).show_ui(ui, |ui| {
            let mut choose = |ui: &mut Ui, uptake: Option<SuvDefinition>, text: &str, reason: Option<String>| {
                let button = egui::Button::selectable(open.uptake == uptake, text);
                let response = ui.add_enabled(reason.is_none(), button).on_disabled_hover_text(reason.unwrap_or_default());
                if response.clicked() {
                    requests.push(edit(move |study| study.images_mut().into_iter().for_each(|open| open.uptake = uptake)));
                    ui.close();
                }
            };
            choose(ui, None, own, None);
            for &definition in SuvDefinition::VARIANTS {
                let reason = open.factor(definition).err().map(|problem| problem.to_string());
                choose(ui, Some(definition), definition.unit().label(), reason);
            }
        });
        name_menu(&menu.response, &format!("Values in: {current}"));
    });
    if let Err(problem) = open.factor(open.uptake.unwrap_or_default()) {
        let colour = crate::ui::widgets::theme::colours(ui.visuals()).warning;
        ui.add(egui::Label::new(RichText::new(format!("No uptake values: {problem}")).color(colour)).wrap());
    }
}

/// Draws a number in another unit, which is `factor` times the stored one, with its source as tooltip.
fn number_ui(ui: &mut Ui, label: &str, fact: &mut Option<Sourced<f64>>, factor: f64, unit: &str) {
    let text = ui.label(RichText::new(label).weak());
    let before = fact.as_ref().map_or(0.0, |fact| factor * fact.value);
    let mut value = before;
    let drag = DragValue::new(&mut value).range(0.0..=1e9).speed(0.0).max_decimals(3).suffix(format!(" {unit}"));
    let drag = drag
        .update_while_editing(false)
        .custom_formatter(|value, _| if value > 0.0 { format::short_number(value) } else { "missing".into() });
    let response = ui.horizontal(|ui| {
        let response = ui.add(drag).labelled_by(text.id);
        mark_ui(ui, fact);
        response
    });
    name(&response.inner, &format!("{label}, {unit}"));
    response.inner.on_hover_text(source(fact));
    // The displayed number has fewer digits than the stored one.
    if value != before && format::short_number(value) != format::short_number(before) {
        *fact = (value > 0.0).then(|| Sourced::new(value / factor, ENTERED));
    }
    ui.end_row();
}

/// Draws the mark of a fact that the user has changed.
fn mark_ui<T>(ui: &mut Ui, fact: &Option<Sourced<T>>) {
    if fact.as_ref().is_some_and(|fact| fact.source == ENTERED) {
        ui.label(RichText::new("changed").small().weak());
    }
}

fn sex_ui(ui: &mut Ui, fact: &mut Option<Sourced<Sex>>) {
    ui.label(RichText::new("Sex").weak());
    let text = |sex: Option<Sex>| match sex {
        Some(Sex::Female) => "female".to_owned(),
        Some(Sex::Male) => "male".to_owned(),
        Some(Sex::Other) => "other".to_owned(),
        None => "missing".to_owned(),
    };
    let before = fact.as_ref().map(|fact| fact.value);
    let mut value = before;
    ui.horizontal(|ui| {
        let menu = choice(ui, "sex", 80.0, &mut value, &[Some(Sex::Female), Some(Sex::Male), Some(Sex::Other)], text);
        name_menu(&menu, &format!("Sex: {}", text(before)));
        mark_ui(ui, fact);
        menu.on_hover_text(source(fact));
    });
    if value != before {
        *fact = value.map(|sex| Sourced::new(sex, ENTERED));
    }
    ui.end_row();
}

/// Draws a moment as a text field, with its source as tooltip.
fn moment_ui(ui: &mut Ui, moment: PetMoment, fact: &Option<Sourced<DateTime>>, requests: &mut Vec<Request>) {
    // Next to its long field there is no room for the mark.
    let label = ui.horizontal(|ui| {
        let label = ui.label(RichText::new(moment.name()).weak());
        mark_ui(ui, fact);
        label.id
    });
    let known = fact.as_ref().map_or_else(String::new, |fact| fact.value.to_string().replace('T', " "));
    let id = ui.scope_id().with(("moment", moment.name()));
    let (response, typed) = typed_ui(ui, id, &known, (label.inner, MOMENT_WIDTH, "missing"));
    response.on_hover_text(source(fact));
    requests.extend(typed.map(|text| request(move |work| work.set_moment(moment, &text))));
    ui.end_row();
}

/// Draws a fact as text, with its source as tooltip.
fn text_ui(ui: &mut Ui, label: &str, fact: Option<(String, &str)>) {
    ui.label(RichText::new(label).weak());
    let (text, source) = fact.unwrap_or_else(|| ("missing".to_owned(), "missing in the file"));
    ui.add(egui::Label::new(text).wrap()).on_hover_text(source);
    ui.end_row();
}

fn source<T>(fact: &Option<Sourced<T>>) -> &str {
    fact.as_ref().map_or("missing in the file", |fact| &fact.source)
}

/// Width of the field of a moment, points: date and time to the second.
const MOMENT_WIDTH: f32 = 148.0;

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::data::{ImageSeries, PetScan, PetValues, Unit, Volume};
    use crate::geometry::Grid;

    #[test]
    fn uptake_values_are_offered_where_their_facts_are_known() {
        let from = |value: f64| Some(Sourced::new(value, "a tag"));
        let scan = PetScan {
            values: PetValues::BqPerMl,
            corrections: ["ATTN", "DECY"].map(str::to_owned).into(),
            decay_reference: DecayReference::Administration,
            scan_start: None,
            scan_end: None,
            injection: None,
            dose_bq: from(370e6),
            half_life_secs: None,
            tracer: None,
            nuclide: None,
            weight_kg: from(70.0),
            height_m: None,
            sex: None,
            philips_suv: None,
            philips_bq_per_ml: None,
        };
        let volume = Volume { unit: Unit::BqPerMl, ..Volume::filled(Grid::centred([1; 3], [1.0; 3]).unwrap(), 1.0) };
        let series = ImageSeries { pet: Some(scan), ..ImageSeries::single(volume) };
        let open = OpenImages::new(series.into(), None);
        assert_eq!(open.uptake, Some(SuvDefinition::BodyWeight));
        assert!((open.uptake_scale().unwrap().factor / (70e3 / 370e6) - 1.0).abs() < 1e-12);
        assert!(open.factor(SuvDefinition::LeanJames).unwrap_err().to_string().contains("height"));
        let mut harness = Harness::new_ui(move |ui| image_ui(&open, ui, &mut Vec::new()));
        harness.get_by_label("Values in: SUVbw");
        harness.get_by_label("Injected activity, MBq").hover();
        harness.run();
        assert!(harness.query_by_label("a tag").is_some());
    }
}
