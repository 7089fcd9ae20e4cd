//! Notices: temporary toasts and a permanent list, both as plain labels for screen readers.

use std::time::Duration;

use egui::{Align2, RichText};

use super::theme;
use super::words::in_window;
use crate::data::{Notice, Severity};

/// Maximum length of the list; the oldest notices are removed first.
const MAX_NOTICES: usize = 200;

/// Notice with the state of its display.
#[derive(Clone, Debug)]
struct Entry {
    notice: Notice,
    count: usize,
    /// End of its toast, egui time; `None`: no toast.
    toast_until_secs: Option<f64>,
}

#[derive(Debug, Default)]
pub struct Notices {
    entries: Vec<Entry>,
    is_list_open: bool,
}

impl Notices {
    /// Adds a notice. A repeated one increases its number and shows its toast again.
    pub fn push(&mut self, notice: Notice, now_secs: f64) {
        let notice = Notice { text: in_window(&notice.text), ..notice };
        let times = match notice.severity {
            Severity::Info => 1.0,
            Severity::Warning => 2.0,
            Severity::Error => 4.0,
        };
        let toast_until_secs = Some(now_secs + times * theme::TOAST_SECS);
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.notice == notice) {
            entry.count += 1;
            entry.toast_until_secs = toast_until_secs;
            return;
        }
        if self.entries.len() >= MAX_NOTICES {
            self.entries.remove(0);
        }
        self.entries.push(Entry { notice, count: 1, toast_until_secs });
    }

    /// Opens or closes the list.
    pub fn toggle_list(&mut self) {
        self.is_list_open = !self.is_list_open;
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the texts, oldest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.notice.text.as_str())
    }
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "Note",
        Severity::Warning => "Warning",
        Severity::Error => "Error",
    }
}

const MAX_TOASTS: usize = 3;

/// Gap between notices and the borders of the window, points: colour bar and status line stay free.
const MARGIN: [f32; 2] = [theme::COLOUR_BAR_WIDTH + 16.0, 44.0];

/// Draws the toasts in the lower right corner, left of the colour bar, the newest at the bottom.
pub fn toasts_ui(notices: &mut Notices, ctx: &egui::Context) {
    let now = ctx.input(|input| input.time);
    let is_shown = |entry: &&mut Entry| entry.toast_until_secs.is_some_and(|until| until > now);
    let mut toasts: Vec<&mut Entry> = notices.entries.iter_mut().filter(is_shown).collect();
    let Some(next) = toasts.iter().filter_map(|e| e.toast_until_secs).reduce(f64::min) else { return };
    ctx.request_repaint_after(Duration::try_from_secs_f64(next - now).unwrap_or_default());
    egui::Area::new(egui::Id::unique("toasts"))
        .anchor(Align2::RIGHT_BOTTOM, egui::vec2(-MARGIN[0], -MARGIN[1]))
        .order(egui::Order::Foreground)
        .show(ctx, |ui| {
            if toasts.len() > 1 && ui.button("Close all").clicked() {
                toasts.iter_mut().for_each(|entry| entry.toast_until_secs = None);
            }
            for entry in toasts.iter_mut().rev().take(MAX_TOASTS).rev() {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.set_max_width(420.0);
                    ui.horizontal_top(|ui| {
                        let colour = theme::severity_colour(entry.notice.severity, ui.visuals());
                        ui.label(RichText::new(severity_word(entry.notice.severity)).color(colour).strong());
                        if ui.button("Close").clicked() {
                            // The notice stays in the list.
                            entry.toast_until_secs = None;
                        }
                    });
                    ui.add(egui::Label::new(&entry.notice.text).wrap());
                });
            }
        });
}

pub fn notice_list_ui(notices: &mut Notices, ctx: &egui::Context) {
    let mut open = notices.is_list_open;
    let is_escaped = open && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape));
    let window = egui::Window::new("Notices").open(&mut open).default_width(520.0).default_height(260.0);
    window.anchor(Align2::RIGHT_BOTTOM, egui::vec2(-MARGIN[0], -MARGIN[1])).show(ctx, |ui| {
        if notices.is_empty() {
            ui.label("No notices.");
            return;
        }
        if ui.button("Clear").clicked() {
            notices.entries.clear();
        }
        ui.separator();
        egui::ScrollArea::vertical().auto_shrink([false, true]).show(ui, |ui| {
            for entry in notices.entries.iter().rev() {
                let colour = theme::severity_colour(entry.notice.severity, ui.visuals());
                let times = if entry.count > 1 { format!(" ({} times)", entry.count) } else { String::new() };
                ui.label(RichText::new(format!("{}{times}", severity_word(entry.notice.severity))).color(colour).strong());
                ui.add(egui::Label::new(&entry.notice.text).wrap().selectable(true));
                ui.add_space(4.0);
            }
        });
    });
    notices.is_list_open = open && !is_escaped;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_notices_are_stored_once() {
        let mut notices = Notices::default();
        notices.push(Notice::info("a"), 0.0);
        notices.push(Notice::warning("b"), 0.0);
        notices.push(Notice::info("a"), 1.0);
        assert_eq!(notices.texts().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(notices.entries[0].count, 2);
        for n in 0..2 * MAX_NOTICES {
            notices.push(Notice::info(n.to_string()), 2.0);
        }
        assert_eq!(notices.len(), MAX_NOTICES);
    }
}
