//! Numbers of voxels with a fit and without one, below the figures of a tab.

use egui::{RichText, Ui};

use crate::measure::FitCounts;
use crate::ui::widgets::format;

/// Draws the numbers of fitted and masked voxels; `out_of_range` = the cause of those with nothing that the samples can measure.
pub fn fit_counts_ui(counts: &FitCounts, out_of_range: &'static str, ui: &mut Ui) {
    let number = |num: usize| format::count(num as f64);
    let masked: Vec<String> = counts.masked(out_of_range).map(|(num, cause)| format!("{} {cause}", number(num))).collect();
    let masked = if masked.is_empty() { String::new() } else { format!("; masked (grey): {}", masked.join(", ")) };
    let text = format!("{} voxels fitted{masked}", number(counts.fitted));
    ui.add(egui::Label::new(RichText::new(text).small()).wrap());
}
