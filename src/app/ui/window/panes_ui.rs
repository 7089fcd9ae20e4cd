//! Drawing of the panes: tabs with titles, borders that resize, and the maximised pane.

use egui::{RichText, Ui, WidgetText};
use egui_tiles::{Behavior, SimplificationOptions, Tabs, TileId, Tiles, UiResponse};

use crate::ui::widgets::fields::{item, push_if_clicked};
use crate::ui::widgets::icons;
use crate::ui::widgets::theme;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::panes::pane_tree::PaneTree;
use crate::ui::workspace::state::{Request, request};

pub trait PaneContent {
    /// Returns the title of a pane and its tooltip.
    fn title(&self, pane: &Pane) -> [&'static str; 2];

    fn draw(&mut self, pane: &Pane, ui: &mut Ui);
}

/// Draws all panes, or the maximised one; pushes the requests on panes.
pub fn panes_ui(panes: &mut PaneTree, content: &mut impl PaneContent, ui: &mut Ui, requests: &mut Vec<Request>) {
    if let Some(pane) = panes.maximised() {
        return maximised_ui(pane, content, ui, requests);
    }
    panes.fit_to(ui.available_width());
    let plain = [Pane::Side, Pane::Image].iter().filter_map(|pane| panes.tree.tiles.find_pane(pane)).collect();
    panes.tree.ui(&mut Drawing { content, requests, plain }, ui);
}

/// Draws a pane that fills the window, below its title.
fn maximised_ui(pane: &Pane, content: &mut impl PaneContent, ui: &mut Ui, requests: &mut Vec<Request>) {
    let [title, _] = content.title(pane);
    ui.horizontal(|ui| {
        let title = egui::Label::new(RichText::new(title).strong()).sense(egui::Sense::click());
        let title = ui.add(title).on_hover_text("Double click: back to its place (Esc)");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let button = icons::quiet_button(ui, icons::RESTORE, "Restore panes").on_hover_text("Back to its place (Esc)");
            push_if_clicked(button, requests, restore());
        });
        if title.double_clicked() {
            requests.push(restore());
        }
    });
    framed(ui, |ui| content.draw(pane, ui));
}

/// Draws a pane within its margin. Whole points: contents look the same at every resolution of the screen.
fn framed(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    let area = ui.available_rect_before_wrap().shrink(theme::PANE_MARGIN);
    let area = egui::Rect::from_min_max(area.min.ceil(), area.max.floor());
    ui.scope_builder(egui::UiBuilder::new().max_rect(area), |ui| {
        ui.set_min_size(ui.available_size());
        contents(ui);
    });
}

/// The panes while they are drawn.
struct Drawing<'a, C> {
    content: &'a mut C,
    requests: &'a mut Vec<Request>,
    /// Tiles without a title while they have no neighbour in their tabs.
    plain: Vec<TileId>,
}

/// Requests a pane that fills the window; the maximised one returns to its place.
fn maximise(pane: &Pane) -> Request {
    let pane = pane.clone();
    request(move |work| work.panes.toggle_maximised(&pane))
}

/// Requests the maximised pane in its place.
fn restore() -> Request {
    request(|work| work.panes.maximise(None))
}

impl<C: PaneContent> Behavior<Pane> for Drawing<'_, C> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        framed(ui, |ui| self.content.draw(pane, ui));
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        self.content.title(pane)[0].into()
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<Pane>, tile: TileId, response: egui::Response) -> egui::Response {
        let Some(pane) = tiles.get_pane(&tile) else { return response };
        if response.double_clicked() {
            self.requests.push(maximise(pane));
        }
        response.context_menu(|ui| {
            item(ui, "Maximise", self.requests, maximise(pane));
            {
                let pane = pane.clone();
                item(ui, "Hide", self.requests, request(move |work| work.panes.toggle(&pane)));
            }
        });
        let help = format!("{}. Double click: maximise; drag: move", self.content.title(pane)[1]);
        response.on_hover_text(help)
    }

    fn top_bar_right_ui(&mut self, tiles: &Tiles<Pane>, ui: &mut Ui, _tile: TileId, tabs: &Tabs, _scroll: &mut f32) {
        let Some(pane) = tabs.active.and_then(|tile| tiles.get_pane(&tile)) else { return };
        let label = format!("Maximise {}", self.content.title(pane)[0]);
        let button = icons::quiet_button(ui, icons::MAXIMISE, &label);
        push_if_clicked(button.on_hover_text(&label), self.requests, maximise(pane));
    }

    fn is_tab_bar_visible(&self, _tile: TileId, tabs: &Tabs) -> bool {
        // Side and image need no title while nothing else is in their place.
        tabs.children.len() > 1 || !tabs.active.is_some_and(|tile| self.plain.contains(&tile))
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        theme::TAB_HEIGHT
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        theme::PANE_GAP
    }

    fn min_size(&self) -> f32 {
        theme::MIN_PANE_SIZE
    }

    fn tab_bar_color(&self, visuals: &egui::Visuals) -> egui::Color32 {
        theme::colours(visuals).tab_bar
    }

    fn tab_outline_stroke(
        &self,
        _visuals: &egui::Visuals,
        _tiles: &Tiles<Pane>,
        _tile: TileId,
        _state: &egui_tiles::TabState,
    ) -> egui::Stroke {
        egui::Stroke::NONE
    }

    fn tab_text_color(
        &self,
        visuals: &egui::Visuals,
        _tiles: &Tiles<Pane>,
        _tile: TileId,
        state: &egui_tiles::TabState,
    ) -> egui::Color32 {
        if state.active { visuals.strong_text_color() } else { visuals.text_color() }
    }
}
