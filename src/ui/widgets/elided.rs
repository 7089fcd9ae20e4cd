//! Names that are shortened in the middle: their ends often distinguish them, such as "left" and "right".

use egui::{Color32, FontId, Ui};

use super::format::elided;

/// Returns the width of a text, points.
pub fn text_width(ui: &Ui, text: &str, font: &FontId) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x
}

/// Returns a text, shortened in the middle if it is wider than `width`, points.
pub fn fitted(ui: &Ui, text: &str, font: &FontId, width: f32) -> String {
    fitted_by(text, |text| text_width(ui, text, font) <= width)
}

/// Returns the longest of a text and its shortened forms that fits; the shortest form has its first and its last letter.
fn fitted_by(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let (mut low, mut high) = (3, text.chars().count().max(4));
    while high - low > 1 {
        let middle = (low + high) / 2;
        if fits(&elided(text, middle)) { low = middle } else { high = middle }
    }
    elided(text, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_room_keeps_its_begin_and_its_end() {
        let within = |text: &str, num: usize| fitted_by(text, |text| text.chars().count() <= num);
        assert_eq!(within("white matter, left", 18), "white matter, left");
        assert_eq!(within("white matter, left", 12), "white … left");
        assert_eq!(within("white matter, left", 9), "whit…left");
        assert_eq!([within("ROI 12", 1), within("ä", 0), within("", 0)], ["R…2", "ä", ""]);
    }
}
