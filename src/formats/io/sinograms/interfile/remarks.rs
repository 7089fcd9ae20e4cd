//! Warnings about the keys of a header: misspelt ones, keys with several values, factors that are not applied.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::Notice;
use crate::io::sinograms::interfile::header::{Entry, Header};
use crate::io::sinograms::interfile::spelling::difference;
use crate::text::counted;

/// Most misspelt keys that a warning lists.
const MAX_LISTED: usize = 5;

/// Key of a factor of the values that other programs apply. It is not applied here.
const NOT_APPLIED: &str = "calibration factor";

impl Header {
    /// Returns warnings about keys that are not understood, have several values, or scale values and are not applied: to call when the
    /// header has been read.
    pub fn remarks(&self) -> Vec<Notice> {
        let texts = [self.misspelt(), self.repeated(), self.not_applied()];
        texts.into_iter().flatten().map(|text| self.warning(text)).collect()
    }

    /// Names the keys that the reader did not look for and that differ by few letters from one that the header lacks.
    fn misspelt(&self) -> Option<String> {
        let known = self.known.borrow();
        let present: BTreeSet<_> = self.entries.iter().map(|entry| (&entry.key, entry.index)).collect();
        let near = |entry: &Entry| {
            let missing = known.iter().filter(|key| !present.contains(&(*key, entry.index)));
            missing.filter_map(|key| Some((difference(&entry.key, key)?, key))).min()
        };
        let unknown = self.entries.iter().filter(|entry| !known.contains(&entry.key));
        let text = |entry: &Entry| Some(format!("'{}' (did you mean '{}'?)", entry.key, near(entry)?.1));
        let texts: BTreeSet<String> = unknown.filter_map(text).collect();
        let are = if texts.len() == 1 { "is" } else { "are" };
        let listed = texts.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
        let num = counted(texts.len(), "key");
        (!texts.is_empty()).then(|| format!("{num} {are} not understood: {listed}"))
    }

    /// Names the first key in use that has several values.
    fn repeated(&self) -> Option<String> {
        let known = self.known.borrow();
        let place = |entry: &Entry| (entry.key.clone(), entry.index);
        let last: BTreeMap<_, &Entry> = self.entries.iter().map(|entry| (place(entry), entry)).collect();
        let pairs = self.entries.iter().filter(|entry| known.contains(&entry.key)).map(|entry| (entry, last[&place(entry)]));
        let mut different = pairs.filter(|(entry, last)| entry.value != last.value);
        let (entry, last) = different.next()?;
        Some(format!("the lines '{}' and '{}' contradict each other; the last counts", entry.line, last.line))
    }

    /// Names a factor that other programs apply.
    fn not_applied(&self) -> Option<String> {
        let text = self.text_at(NOT_APPLIED, 1)?;
        let is_one = text.parse().is_ok_and(|factor: f64| factor == 1.0 || factor <= 0.0);
        (!is_one).then(|| format!("the values are not multiplied by its '{NOT_APPLIED}', {text}"))
    }
}
