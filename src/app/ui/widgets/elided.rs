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

/// Returns a text of a list, shortened before the word that distinguishes it from the others if it is wider than `width`, points;
/// in the middle if that word is the first, or the rest has no room.
pub fn fitted_of<'a>(ui: &Ui, text: &str, list: impl Iterator<Item = &'a str>, font: &FontId, width: f32) -> String {
    fitted_of_by(text, list, |text| text_width(ui, text, font) <= width)
}

fn fitted_of_by<'a>(text: &str, list: impl Iterator<Item = &'a str>, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let rest = first_own_word(&letters, list);
    let form = |num: usize| letters[..num].iter().chain(&['…']).chain(&letters[rest..]).collect::<String>();
    let forms = (1..rest).rev().map(form);
    forms.into_iter().find(|form| fits(form)).unwrap_or_else(|| fitted_by(text, fits))
}

/// Smallest number of first letters that texts of one kind share.
const SHARED: usize = 4;

/// Returns the place of the first word that differs from another text with the same begin.
fn first_own_word<'a>(letters: &[char], list: impl Iterator<Item = &'a str>) -> usize {
    let num_shared = |other: &str| letters.iter().zip(other.chars()).take_while(|(own, other)| **own == *other).count();
    let own = list.map(num_shared).filter(|num| (SHARED..letters.len()).contains(num)).min().unwrap_or(0);
    letters[..own].iter().rposition(|letter| letter.is_whitespace()).map_or(0, |space| space + 1)
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

    #[test]
    fn a_name_without_room_keeps_the_word_that_no_other_has() {
        let list = ["sphere 10 mm", "background 1, -10 mm", "background 2, -10 mm", "background 12, -10 mm", "lung"];
        let within = |text: &str, num: usize| fitted_of_by(text, list.into_iter(), |text| text.chars().count() <= num);
        assert_eq!(within(list[1], 20), list[1]);
        assert_eq!(within(list[1], 14), "back…1, -10 mm");
        assert_eq!(within(list[3], 14), "bac…12, -10 mm");
        // A rest without room, and a name whose begin no other has.
        assert_eq!(within(list[1], 9), "back…0 mm");
        assert_eq!(within("left ventricle", 9), "left…icle");
    }
}
