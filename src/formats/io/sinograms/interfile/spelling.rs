//! Keys that may be misspelt.

/// Most letters by which a misspelt key differs from a known one of [`MIN_LETTERS`] or more. A shorter one differs by one letter.
const MAX_DIFFERENCE: usize = 2;
const MIN_LETTERS: usize = 12;

/// Returns the number of letters by which a key differs from a known one, if it may be that one misspelt or with another unit.
pub fn difference(key: &str, known: &str) -> Option<usize> {
    let letters = |key: &str, known: &str| {
        let max = if known.len() < MIN_LETTERS { 1 } else { MAX_DIFFERENCE };
        let is_near = key.len().abs_diff(known.len()) <= max;
        is_near.then(|| strsim::osa_distance(key, known)).filter(|letters| *letters <= max)
    };
    let name = |key: &str| key.split_once(" (").map(|(name, _)| name.to_owned());
    letters(key, known).or_else(|| {
        let known = name(known)?;
        letters(name(key).as_deref().unwrap_or(key), &known).map(|letters| letters.max(MAX_DIFFERENCE))
    })
}
