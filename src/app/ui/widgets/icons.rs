//! Icons, and buttons with an icon. The accessible name of a button is its label, also where only the icon is drawn.

use egui::{Button, Response, Role, Ui, Widget, WidgetInfo};
pub use egui_material_icons::MaterialIcon as Icon;
pub use egui_material_icons::icons::{
    ICON_ADD as ADD, ICON_BLUR_CIRCULAR as CONTOUR, ICON_CIRCLE as CIRCLE, ICON_CLOSE_FULLSCREEN as RESTORE,
    ICON_CONTENT_COPY as COPY, ICON_CSV as EXPORT, ICON_DARK_MODE as DARK, ICON_DASHBOARD as ARRANGEMENT, ICON_DELETE as DELETE,
    ICON_DEPLOYED_CODE as BOX, ICON_EGG as ELLIPSOID, ICON_FLIP as MIRROR, ICON_FOLDER_OPEN as OPEN, ICON_GESTURE as FREEHAND,
    ICON_GLOBE as SPHERE, ICON_KEYBOARD as KEYS, ICON_LIGHT_MODE as LIGHT, ICON_NOTIFICATIONS as NOTICES,
    ICON_OPEN_IN_FULL as MAXIMISE, ICON_PANORAMA_PHOTOSPHERE as ELLIPSE, ICON_PAUSE as PAUSE, ICON_PLAY_ARROW as PLAY,
    ICON_POINT_SCAN as CROSSHAIR, ICON_POLYLINE as POLYGON, ICON_RECTANGLE as RECTANGLE, ICON_REDO as REDO,
    ICON_REPLAY as RESTART, ICON_SAVE as SAVE, ICON_SEARCH as SEARCH, ICON_SENSORS as FOLLOW, ICON_SKIP_NEXT as STEP,
    ICON_SPEED as DETAILS, ICON_STOP as STOP, ICON_STRAIGHTEN as LINE, ICON_TABLE_VIEW as TABLE, ICON_UNDO as UNDO,
    ICON_UPLOAD as LOAD,
};

use super::theme;

/// Prominence of a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prominence {
    /// The next step of the usual work.
    Primary,
    #[default]
    Normal,
    /// Without a frame until the pointer is over it.
    Quiet,
}

pub struct IconButton<'a> {
    icon: Icon,
    label: &'a str,
    prominence: Prominence,
    shows_label: bool,
    is_selected: Option<bool>,
}

impl<'a> IconButton<'a> {
    pub fn new(icon: Icon, label: &'a str) -> Self {
        Self { icon, label, prominence: Prominence::default(), shows_label: true, is_selected: None }
    }

    pub fn icon_only(self) -> Self {
        Self { shows_label: false, ..self }
    }

    pub fn prominence(self, prominence: Prominence) -> Self {
        Self { prominence, ..self }
    }

    /// Is a switch.
    pub fn selected(self, is_selected: bool) -> Self {
        Self { is_selected: Some(is_selected), ..self }
    }

    /// Returns the button without its accessible name, for menus.
    pub fn button(&self, visuals: &egui::Visuals) -> Button<'a> {
        let colours = theme::colours(visuals);
        let (icon, is_selected) = (self.icon.rich_text().size(theme::ICON_SIZE), self.is_selected.unwrap_or_default());
        let button = match (self.prominence, self.shows_label) {
            (Prominence::Primary, _) => {
                let [icon, label] = [icon, self.label.into()].map(|text: egui::RichText| text.color(colours.on_accent).strong());
                Button::new((icon, label)).fill(colours.accent)
            }
            (_, true) => Button::new((icon, self.label)),
            (_, false) => Button::new(icon),
        };
        let button = button.min_size(egui::Vec2::splat(theme::TARGET_SIZE)).selected(is_selected);
        if self.prominence == Prominence::Quiet { button.frame_when_inactive(is_selected) } else { button }
    }
}

impl Widget for IconButton<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let response = ui.add(self.button(ui.visuals()));
        response.widget_info(|| match self.is_selected {
            Some(is_selected) => WidgetInfo::selected(Role::Button, ui.is_enabled(), is_selected, self.label),
            None => WidgetInfo::labeled(Role::Button, ui.is_enabled(), self.label),
        });
        response
    }
}

/// Draws a quiet button with the icon alone.
pub fn quiet_button(ui: &mut Ui, icon: Icon, label: &str) -> Response {
    ui.add(IconButton::new(icon, label).icon_only().prominence(Prominence::Quiet))
}
