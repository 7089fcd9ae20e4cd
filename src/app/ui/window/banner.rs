//! The banner at the top: the study, the state of its run, the layout of the panes, and the commands of the window.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{RichText, Ui};

use super::commands::list::arrangements;
use crate::session::EndReason;
use crate::ui::run::live::RunState;
use crate::ui::widgets::fields::{item, push_if_clicked};
use crate::ui::widgets::icons::{self, IconButton};
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::state::{Request, Workspace, request};

/// Facts of a study in the banner, in this order.
const FACTS: [&str; 4] = ["Patient", "Study", "Series", "Scanner"];

/// Panes with their titles; true: shown.
pub type BannerPanes = [(Pane, &'static str, bool)];

/// Draws the banner. `typed`: the name of a new arrangement.
pub fn banner_ui(work: &Workspace, panes: &BannerPanes, typed: &mut String, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        let (icon, name) = if ui.visuals().dark_mode { (icons::LIGHT, "Light theme") } else { (icons::DARK, "Dark theme") };
        push_if_clicked(icons::quiet_button(ui, icon, name).on_hover_text(name), requests, request(|work| work.toggle_theme()));
        let keys = icons::quiet_button(ui, icons::KEYS, "Keys").on_hover_text("All keys (F1 or ?)");
        push_if_clicked(keys, requests, request(Workspace::toggle_command_list));
        let search = icons::quiet_button(ui, icons::SEARCH, "Commands").on_hover_text("Search all commands (Ctrl+K)");
        push_if_clicked(search, requests, request(Workspace::toggle_search));
        let button = IconButton::new(icons::ARRANGEMENT, "Layout").prominence(icons::Prominence::Quiet).button(ui.visuals());
        let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        let (menu, _) = MenuButton::from_button(button).config(stays).ui(ui, |ui| layout_ui(work, panes, typed, ui, requests));
        menu.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Layout"));
        menu.on_hover_text("Arrangement of the panes");
        ui.separator();
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| study_ui(work, ui));
    });
}

/// Draws title and facts of the study, and the state of its run.
fn study_ui(work: &Workspace, ui: &mut Ui) {
    let Some(study) = &work.study.open else {
        ui.label(RichText::new("tomoscope").heading().strong());
        return;
    };
    let colours = theme::colours(ui.visuals());
    if study.images().is_none() {
        let colour = match work.live().state {
            RunState::Running | RunState::Starting => colours.shown_mark,
            RunState::Failed | RunState::Ended(EndReason::Cancelled) => colours.error,
            RunState::Paused => colours.warning,
            RunState::Idle | RunState::Ended(_) => ui.visuals().weak_text_color(),
        };
        let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(10.0), egui::Sense::hover());
        ui.painter().circle_filled(rect.center(), 5.0, colour);
        ui.label(RichText::new(format::capitalised(work.live().state.label())).color(colour));
    }
    let facts = study.kind().facts();
    let fact = |name: &&str| facts.iter().find(|(fact, _)| fact == name).map(|(_, text)| text.clone());
    let dose = study.images().and_then(|open| open.pet.as_ref()?.dose_bq.as_ref());
    let dose = dose.map(|dose| format!("{} MBq", format::short_number(1e-6 * dose.value)));
    let facts: Vec<String> = FACTS.iter().filter_map(fact).chain(dose).filter(|text| *text != study.title()).collect();
    ui.label(RichText::new(study.title()).heading().strong());
    ui.add(egui::Label::new(RichText::new(facts.join(" · ")).weak()).truncate());
}

/// Draws the menu of arrangements and panes.
fn layout_ui(work: &Workspace, panes: &BannerPanes, typed: &mut String, ui: &mut Ui, requests: &mut Vec<Request>) {
    for (arrangement, command) in arrangements() {
        let keys: Vec<String> = command.keys.iter().map(|keys| ui.ctx().format_shortcut(keys)).collect();
        let button = egui::Button::new(&*command.text).right_text(RichText::new(keys.join(", ")).small());
        let response = ui.add(button).on_hover_text(arrangement.help());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Layout {}", command.text)));
        push_if_clicked(response, requests, command.request());
    }
    for name in work.preferences.arrangements.keys() {
        ui.horizontal(|ui| {
            let (of, removed) = (name.clone(), name.clone());
            item(ui, name, requests, request(move |work| work.arrange_as(&of)));
            let remove = icons::quiet_button(ui, icons::DELETE, &format!("Remove layout {name}"));
            push_if_clicked(remove, requests, request(move |work| _ = work.preferences.arrangements.remove(&removed)));
        });
    }
    ui.horizontal(|ui| {
        let field = egui::TextEdit::singleline(typed).desired_width(120.0).hint_text("name of this layout");
        let response = ui.add(field);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Name of this layout"));
        let can_save = !typed.trim().is_empty();
        let save = ui.add_enabled(can_save, egui::Button::new("Save layout"));
        if save.clicked() {
            let name = std::mem::take(typed).trim().to_owned();
            requests.push(request(|work| work.save_arrangement(name)));
        }
    });
    ui.separator();
    for (pane, title, is_shown) in panes {
        let mut is_checked = *is_shown;
        if ui.checkbox(&mut is_checked, *title).changed() {
            let pane = pane.clone();
            requests.push(request(move |work| work.panes.toggle(&pane)));
        }
    }
    ui.separator();
    let mut is_reduced = work.preferences.is_motion_reduced;
    if ui.checkbox(&mut is_reduced, "Reduce motion").on_hover_text("No animations of the window").changed() {
        requests.push(request(move |work| work.reduce_motion(is_reduced)));
    }
}
