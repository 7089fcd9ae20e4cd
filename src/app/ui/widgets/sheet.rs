//! Table with a frozen head and a frozen first column. Scroll bars are visible while rows or columns are cut.

use egui::scroll_area::ScrollArea;
use egui::style::{KineticScrollStyle, ScrollStyle};
use egui::{Align, Id, Layout, Rect, Sense, Stroke, Ui, UiBuilder};

/// Gap between columns, points.
const GAP: f32 = 5.0;

pub struct Sheet<'a> {
    /// Name, unique in its panel.
    pub id: &'a str,
    /// Widths of the columns, points; the first one is frozen.
    pub widths: &'a [f32],
    /// Number of rows without the head.
    pub num_rows: usize,
    /// Height of the head, points.
    pub head_height: f32,
    /// Height of a row, points.
    pub row_height: f32,
    /// Selected row; it scrolls into view when it is selected or the height of the table changes.
    pub selected: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SheetClicks {
    pub clicked: Option<usize>,
    pub double_clicked: Option<usize>,
}

/// Returns the width of columns with the gaps between them, points.
pub fn width_of(widths: &[f32]) -> f32 {
    widths.iter().map(|width| width + GAP).sum()
}

/// Returns the style of scroll bars with a visible handle.
pub fn scroll_style() -> ScrollStyle {
    let solid = ScrollStyle::solid();
    let kinetic = KineticScrollStyle { rubber_band: false, ..solid.kinetic };
    ScrollStyle { foreground_color: true, kinetic, ..solid }
}

/// Returns the width that a vertical scroll bar takes, points.
pub fn bar_width() -> f32 {
    let style = scroll_style();
    style.bar_width + style.bar_inner_margin + style.bar_outer_margin
}

/// State of a table in the last frame.
#[derive(Clone, Copy)]
struct Seen {
    selected: Option<usize>,
    /// Height of the visible rows, points.
    height: f32,
    /// Height of the rows above, points.
    offset: f32,
}

impl Sheet<'_> {
    /// Draws the table; `cell` draws the content of a cell, given its row (`None`: the head) and column.
    pub fn show(self, ui: &mut Ui, mut cell: impl FnMut(&mut Ui, Option<usize>, usize)) -> SheetClicks {
        let mut clicks = SheetClicks::default();
        ui.scope(|ui| {
            ui.spacing_mut().scroll = scroll_style();
            let id = ui.scope_id().with(self.id);
            let is_cut = width_of(self.widths) > ui.available_width();
            let room = ui.available_height().min(ui.clip_rect().bottom() - ui.cursor().top());
            let height = room - self.head_height - if is_cut { bar_width() } else { 0.0 };
            let before: Option<Seen> = ui.data(|data| data.get_temp(id));
            let (selected, mut area) =
                (self.selected, ScrollArea::both().id_salt(self.id).max_height(room).min_scrolled_height(0.0).auto_shrink(false));
            let is_new = before.is_none_or(|before| before.selected != selected || before.height != height);
            if let Some(row) = selected.filter(|_| is_new) {
                let [top, end] = [row, row + 1].map(|row| row as f32 * self.row_height);
                let offset = before.map_or(0.0, |before| before.offset);
                area = area.vertical_scroll_offset(offset.max(end - height).min(top).max(0.0));
            }
            let output = area.show_viewport(ui, |ui, viewport| clicks = self.contents(id, ui, viewport, &mut cell));
            ui.data_mut(|data| data.insert_temp(id, Seen { selected, height, offset: output.state.clamped_offset().y }));
        });
        clicks
    }

    fn contents(self, id: Id, ui: &mut Ui, viewport: Rect, cell: &mut dyn FnMut(&mut Ui, Option<usize>, usize)) -> SheetClicks {
        let origin = ui.max_rect().min;
        ui.set_width(width_of(self.widths));
        ui.set_height(self.head_height + self.num_rows as f32 * self.row_height);
        let visible = viewport.translate(origin.to_vec2());
        let frozen = visible.left() + width_of(&self.widths[..1]);
        let below_head = visible.top() + self.head_height;
        let clip = ui.clip_rect();
        let range = |from: f32, to: f32| from..=to.max(from);
        // Parts of the table that scroll along both axes, along one, or not at all.
        let part = |is_head: bool, is_first: bool| {
            let x = if is_first { range(visible.left(), frozen.min(visible.right())) } else { range(frozen, visible.right()) };
            let y = if is_head { range(visible.top(), below_head) } else { range(below_head, visible.bottom()) };
            Rect::from_x_y_ranges(x, y).intersect(clip)
        };
        let parts = [[part(false, false), part(false, true)], [part(true, false), part(true, true)]];
        let selected_text = ui.visuals().selection.stroke.color;
        let mut row_ui = |ui: &mut Ui, row: Option<usize>, top: f32, height: f32| {
            let mut left = origin.x;
            for (column, width) in self.widths.iter().enumerate() {
                let at = if column == 0 { visible.left() } else { left };
                let rect = Rect::from_min_size(egui::pos2(at, top), egui::vec2(*width, height));
                let clip = rect.intersect(parts[usize::from(row.is_none())][usize::from(column == 0)]);
                let builder = UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)).id_salt((row, column));
                let mut child = ui.new_child(builder);
                child.set_clip_rect(if clip.is_positive() { clip } else { Rect::NOTHING });
                if row.is_some() && row == self.selected {
                    child.visuals_mut().override_text_color = Some(selected_text);
                }
                cell(&mut child, row, column);
                left += width + GAP;
            }
        };
        row_ui(ui, None, visible.top(), self.head_height);
        let rows = part(false, true).union(part(false, false));
        let first = (viewport.top() / self.row_height).max(0.0) as usize;
        let end = ((viewport.bottom() - self.head_height) / self.row_height).ceil().max(0.0) as usize;
        let mut clicks = SheetClicks::default();
        let top_of = |row: usize| origin.y + self.head_height + row as f32 * self.row_height;
        for row in first..end.min(self.num_rows) {
            let rect = Rect::from_x_y_ranges(visible.x_range(), top_of(row)..=top_of(row) + self.row_height);
            let painter = ui.painter_at(rows);
            if self.selected == Some(row) {
                painter.rect_filled(rect, 0.0, ui.visuals().selection.bg_fill);
            } else if row % 2 == 1 {
                painter.rect_filled(rect, 0.0, ui.visuals().faint_bg_color);
            }
            let shown = rect.intersect(rows);
            if shown.is_positive() {
                let response = ui.interact(shown, id.with(row), Sense::click());
                clicks.clicked = response.clicked().then_some(row).or(clicks.clicked);
                clicks.double_clicked = response.double_clicked().then_some(row).or(clicks.double_clicked);
            }
            row_ui(ui, Some(row), top_of(row), self.row_height);
        }
        if viewport.left() > 0.0 {
            let stroke = Stroke::new(1.0, ui.visuals().weak_text_color());
            ui.painter().vline(frozen - 0.5 * GAP, visible.y_range(), stroke);
        }
        clicks
    }
}
