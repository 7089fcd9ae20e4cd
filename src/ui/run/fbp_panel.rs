//! The settings of filtered backprojection in the reconstruction panel.

use egui::{DragValue, Ui};
use strum::VariantArray as _;

use super::devices::{device_in_words, device_menu};
use super::fbp_form::{Choices, FbpForm};
use super::recon_panel::Running;
use crate::operator::Interpolation;
use crate::plan::{Device, PlaneKernel, Stages};
use crate::recon::{Baseline, Filter};
use crate::scanner::epri::Order;
use crate::ui::widgets::fields::name;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

/// The rows of the form.
pub fn fbp_form_ui(form: &mut FbpForm, running: &Running<FbpForm>, devices: &[Device], ui: &mut Ui) {
    let stages = [(Stages::Single, "FBP, one stage"), (Stages::Two, "FBP, two stages")];
    let is_slice = form.choices.space.is_slice();
    let stages = if is_slice { &stages[..1] } else { &stages };
    running.combo(ui, "Algorithm", &mut form.stages, |form| &form.stages, stages);
    ui.add_enabled_ui(form.stages == Stages::Single, |ui| {
        running.label(
            ui,
            "Program",
            &form.kernel,
            |form| &form.kernel,
            |kernel| (if *kernel == PlaneKernel::Fast { "fast" } else { "paper" }).to_owned(),
        );
    });
    ui.add_enabled_ui(form.stages == Stages::Single, |ui| {
        ui.horizontal(|ui| {
            for (kernel, kernel_name, help) in [
                (PlaneKernel::Fast, "fast", "Single precision, vector instructions or the GPU's shared memory"),
                (PlaneKernel::Paper, "paper", "Double precision, in the order of Qiao et al. 2015: slow, for comparison"),
            ] {
                ui.selectable_value(&mut form.kernel, kernel, kernel_name).on_hover_text(help);
            }
        });
    });
    ui.end_row();
    // One ramp, all that a slice takes, is the rectangular filter.
    let filters = Filter::VARIANTS.iter().copied().filter(|filter| !(is_slice && *filter == Filter::TwoRamp));
    let filters: Vec<_> = filters.map(|filter| (filter, filter.name())).collect();
    running.combo(ui, "Filter", &mut form.filter, |form| &form.filter, &filters);
    running.label(
        ui,
        "Cut-off",
        &form.cutoff,
        |form| &form.cutoff,
        |cutoff| cutoff.map_or_else(|| "none".into(), |part| format!("{part:.3}")),
    );
    cutoff_ui(&mut form.cutoff, ui);
    if form.choices.is_continuous_wave {
        let baselines = Baseline::VARIANTS.iter().map(|&baseline| (baseline, baseline.title())).collect::<Vec<_>>();
        running.combo(ui, "Baseline", &mut form.baseline, |form| &form.baseline, &baselines);
    }
    let interpolations = Interpolation::VARIANTS.iter().map(|&kind| (kind, kind.name())).collect::<Vec<_>>();
    running.combo(ui, "Interpolation", &mut form.interpolation, |form| &form.interpolation, &interpolations);
    let orders = [(Order::AsAcquired, "as acquired"), (Order::Spaced, "spaced")];
    running.combo(ui, "Order", &mut form.order, |form| &form.order, &orders);
    running.number(ui, "Projections a step", &mut form.block, |form| &form.block, 1..=10_000);
    let mut size = form.size;
    let axes = ImageAxes::of(form.choices.space);
    running.size(ui, axes.shown(), &mut size, |form| &form.size);
    form.set_size(size);
    running.voxel_mm(ui, axes.shown(), &mut form.voxel_mm, |form| &form.voxel_mm);
    extent_ui(form, ui);
    running.label(ui, "Device", &form.device, |form| &form.device, |choice| device_in_words(devices, *choice));
    device_menu(devices, &mut form.device, ui);
}

/// What the image can span.
fn extent_ui(form: &mut FbpForm, ui: &mut Ui) {
    let Choices { samples_mm, field_of_view_mm, .. } = form.choices;
    ui.label("Image spans");
    // One above the other: a wrapped row would reach into the next row of the form.
    ui.vertical(|ui| {
        let help = "Sets the field of view to the extent of the projections (same number of voxels)";
        if ui.small_button(format!("Samples {} mm", format::value(samples_mm))).on_hover_text(help).clicked() {
            form.set_extent(samples_mm);
        }
        let Some(field_mm) = field_of_view_mm else { return };
        let help = "Sets the field of view to the planned extent (same number of voxels)";
        if ui.small_button(format!("Field of view {} mm", format::short_number(field_mm))).on_hover_text(help).clicked() {
            form.set_extent(field_mm);
        }
    });
    ui.end_row();
}

fn cutoff_ui(cutoff: &mut Option<f64>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let mut has = cutoff.is_some();
        let help = "Leave out the frequencies above this part of the highest one that the samples have. The windows sinc and hamming end there, the others are cut off: see the filter's curve under Sweep";
        if ui.checkbox(&mut has, "").on_hover_text(help).changed() {
            *cutoff = has.then_some(0.5);
        }
        match cutoff {
            Some(part) => name(&ui.add(DragValue::new(part).range(0.01..=1.0).speed(0.005).max_decimals(3)), "Cut-off"),
            None => _ = ui.label("none"),
        }
    });
    ui.end_row();
}
