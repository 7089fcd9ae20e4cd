//! Description of an image's origin, for the fields of image formats.

use crate::data::PetImage;

/// The most important facts about an image, for formats with places for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageDescription {
    /// All facts in one line, the most important first: a short field cuts the rest off.
    pub text: String,
    /// The reconstruction method: "OSEM 14 subsets, iteration 3".
    pub method: Option<String>,
    /// Full width at half maximum of the Gaussian that the image was filtered with, mm.
    pub filter_fwhm_mm: Option<f64>,
    /// Facts of its PET scan.
    pub pet: Option<PetImage>,
    /// Start after that of the scan and duration of its frame, s.
    pub frame_secs: Option<[f64; 2]>,
}

impl From<&str> for ImageDescription {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// Returns a width in mm with one to three decimals: "6.0 mm".
pub fn filter_width(fwhm_mm: f64) -> String {
    let digits = format!("{fwhm_mm:.3}");
    let short = digits.trim_end_matches('0');
    let zero = if short.ends_with('.') { "0" } else { "" };
    format!("{short}{zero} mm")
}

/// Returns the whole words of a text that fit in `max` characters, without the punctuation before a cut. A first word that does not
/// fit is cut.
pub(in crate::io) fn whole_words(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let is_between = text[end..].starts_with([' ', ';', ',']);
    let whole = if is_between { head } else { head.rfind(' ').map_or(head, |at| &head[..at]) };
    whole.trim_end_matches([' ', ';', ',', '·', '–', '(']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_whole_words() {
        let text = "post-filter 6.0 mm; OSEM 14 subsets; iteration 3";
        assert_eq!(whole_words(text, 64), text);
        assert_eq!([18, 19, 20, 23].map(|max| whole_words(text, max)), ["post-filter 6.0 mm"; 4]);
        assert_eq!(whole_words(text, 24), "post-filter 6.0 mm; OSEM");
        assert_eq!((whole_words("ééééé é", 3), whole_words("", 3)), ("ééé".to_owned(), String::new()));
    }

    #[test]
    fn widths_have_one_decimal_or_as_many_as_they_need() {
        assert_eq!([6.0, 6.25, 0.1234, 12.5].map(filter_width), ["6.0 mm", "6.25 mm", "0.123 mm", "12.5 mm"]);
    }
}
