//! Default subsets and iterations: one rule for projection data, list-mode data, crystal-pair histograms, tubes and system
//! matrices.
//!
//! A subset with few counts multiplies the image by its noise; with too few views a subset does not see the whole image. So the
//! data bound the subsets, and more iterations make up for them: the number of updates stays about the same.

use std::ops::Range;

use crate::data::{Counts, EventList, Notice};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::text::counted;

/// Counts net of the expected background that a subset has at least.
const MIN_COUNTS: f64 = 50_000.0;
/// Views that a subset has at least.
const MIN_VIEWS: usize = 4;
/// Subsets at most, however many counts and views there are.
const MAX_SUBSETS: usize = 14;
/// Subsets aimed at of algorithms that converge with any number of them (that of PETRIC's winner): their steps are bounded by the second
/// derivatives of every subset, also of one with a single view, and fewer subsets take more iterations.
const SUBSETS_OF_ASCENT: usize = 25;
/// Updates of the image aimed at: subsets × iterations.
const NUM_UPDATES: f64 = 56.0;
const MIN_ITERATIONS: usize = 4;

/// Bounds of the number of subsets of some data.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SubsetRule {
    /// Counts net of the expected background; `None` = still to come.
    pub net_counts: Option<f64>,
    /// Views; `None` = events are dealt out, not views.
    pub views: Option<usize>,
}

impl SubsetRule {
    /// Returns the rule of projection data.
    pub fn of_counts(counts: &Counts) -> Self {
        let background = counts.additive.as_ref().map_or(0.0, |additive| additive.total());
        Self { net_counts: Some((counts.prompts.total() - background).max(0.0)), views: Some(counts.geometry().num_views) }
    }

    /// Returns the rule of list-mode data; of data without events as of many, which will arrive.
    pub fn of_list(list: &EventList) -> Self {
        let num_prompts = list.numbers().num_prompts;
        let net_counts = (num_prompts as f64 - list.total_additive).max(0.0);
        Self { net_counts: (num_prompts > 0).then_some(net_counts), views: None }
    }

    /// Returns the rule of frames of a list, ms, with common settings: that of the frame with the fewest counts. `None` without events.
    pub fn of_frames(list: &EventList, frames_ms: &[Range<u32>]) -> Option<Self> {
        let frames = frames_ms.iter().map(|frame_ms| net_counts_in(list, frame_ms));
        let fewest = frames.flatten().min_by(f64::total_cmp)?;
        Some(Self { net_counts: Some(fewest), views: None })
    }

    /// Returns the most subsets that the data bear, each with counts and views enough.
    fn bounds(self) -> [usize; 2] {
        // (NaN becomes 0.)
        let of_counts = self.net_counts.map_or(usize::MAX, |net| (net / MIN_COUNTS) as usize);
        let of_views = self.views.map_or(usize::MAX, |views| views / MIN_VIEWS);
        [of_counts.max(1), of_views.max(1)]
    }

    /// Returns the most subsets that the rule allows.
    pub fn max_subsets(self) -> usize {
        let [of_counts, of_views] = self.bounds();
        of_counts.min(of_views).min(MAX_SUBSETS)
    }

    /// Returns the default: the most that the rule allows, or down to half of that the most that divide the views evenly.
    pub fn num_subsets(self) -> usize {
        let max = self.max_subsets();
        let is_even = |num: &usize| self.views.is_none_or(|views| views.is_multiple_of(*num));
        (max.div_ceil(2)..=max).rev().find(is_even).unwrap_or(max)
    }

    /// Returns the default of an algorithm. Those that climb to a maximum have the divisor of the views nearest to 25, of two the
    /// smaller: few counts in a subset do not make their image noisier.
    pub fn num_subsets_of(self, algorithm: AlgorithmChoice) -> usize {
        if !algorithm.has_penalty() {
            return self.num_subsets();
        }
        let Some(views) = self.views else { return SUBSETS_OF_ASCENT };
        let divisors = (1..=views).filter(|num| views.is_multiple_of(*num));
        divisors.min_by_key(|num| num.abs_diff(SUBSETS_OF_ASCENT)).unwrap_or(1)
    }

    /// Returns the default number of iterations.
    pub fn num_iterations(self) -> usize {
        default_num_iterations(self.num_subsets())
    }

    /// Describes the bound of the subsets: "271 000 net counts, at least 50 000 per subset".
    fn reason(self) -> String {
        let [of_counts, of_views] = self.bounds();
        match self.views.filter(|_| of_views <= of_counts) {
            Some(views) => format!("{}, at least {MIN_VIEWS} per subset", counted(views, "view")),
            None => {
                let net = self.net_counts.unwrap_or_default();
                format!("{} net counts, at least {} per subset", digits(net), digits(MIN_COUNTS))
            }
        }
    }

    /// Returns the reason of the default if the data lower the number of subsets.
    pub fn why_lowered(self) -> Option<String> {
        (self.max_subsets() < MAX_SUBSETS).then(|| self.reason())
    }

    /// Returns a notice if the data do not support this number of subsets.
    pub fn notice(self, num_subsets: usize) -> Option<Notice> {
        let [of_counts, of_views] = self.bounds();
        let max = of_counts.min(of_views);
        let text = || {
            let reason = self.reason();
            format!("{num_subsets} subsets are more than these data support ({reason}): the image is noisier; use at most {max}")
        };
        (num_subsets > max).then(|| Notice::info(text()))
    }
}

/// The rule for the default number of subsets, as it was for the data.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SubsetRecord {
    /// Counts and views.
    #[serde(flatten)]
    pub rule: SubsetRule,
    /// Default number of subsets.
    pub default_subsets: usize,
    /// Default number of iterations.
    pub default_iterations: usize,
    /// Reason why the default is not the usual one; `None` = it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl From<SubsetRule> for SubsetRecord {
    fn from(rule: SubsetRule) -> Self {
        let (default_subsets, default_iterations) = (rule.num_subsets(), rule.num_iterations());
        Self { rule, default_subsets, default_iterations, reason: rule.why_lowered() }
    }
}

/// Returns the full iterations of `num_subsets` subsets: subsets × iterations is about 56.
pub fn default_num_iterations(num_subsets: usize) -> usize {
    let num = (NUM_UPDATES / num_subsets.max(1) as f64).round() as usize;
    num.max(MIN_ITERATIONS)
}

/// Returns the counts of a frame, ms, net of the randoms expected from delayeds; `None` without a prompt. Counts of remote data
/// come from their rates.
fn net_counts_in(list: &EventList, frame_ms: &Range<u32>) -> Option<f64> {
    let [prompts, delayeds] = match list.elsewhere {
        Some(_) => list.rates.curves().map(|curve| counts_of_curve(&curve, list.rates.bin_secs(), frame_ms)),
        None => [&list.prompts, &list.delayeds].map(|events| events.num_in_frame(frame_ms) as f64),
    };
    let is_corrected = list.total_additive > 0.0;
    (prompts > 0.0).then(|| (prompts - if is_corrected { delayeds } else { 0.0 }).max(0.0))
}

/// Returns the counts of a frame, ms, from a curve of counts per second in bins of equal width.
fn counts_of_curve(curve: &[[f64; 2]], bin_secs: f64, frame_ms: &Range<u32>) -> f64 {
    let [begin, end] = [frame_ms.start, frame_ms.end].map(|ms| 1e-3 * f64::from(ms));
    let inside = |middle: f64| (end.min(middle + 0.5 * bin_secs) - begin.max(middle - 0.5 * bin_secs)).max(0.0);
    curve.iter().map(|&[middle, per_sec]| per_sec * inside(middle)).sum()
}

/// Returns a number of counts with a thin space between thousands.
fn digits(num: f64) -> String {
    let text = format!("{num:.0}");
    let groups: Vec<&str> = text.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("\u{202f}")
}

#[cfg(test)]
mod tests {
    use super::super::settings::RunSettings;
    use crate::plan::job::Job;
    use std::sync::Arc;

    use super::*;
    use crate::data::{CountRates, Events, ListMetadata, ScanTime, Study};
    use crate::plan::job::defaults::default_list_settings;
    use crate::scanner::{Detectors, catalogue, find};

    fn rule(net_counts: f64, views: usize) -> SubsetRule {
        SubsetRule { net_counts: Some(net_counts), views: (views > 0).then_some(views) }
    }

    #[test]
    fn subsets_suit_counts_and_views() {
        // Prompts, background, views (0 = events), subsets, iterations.
        let table = [
            // The built-in study.
            (1.35e8, 0.35e8, 280, 14, 4),
            (1e9, 0.0, 280, 14, 4),
            (700_000.0, 0.0, 280, 14, 4),
            (699_999.0, 0.0, 280, 10, 6),
            (450_000.0, 0.0, 280, 8, 7),
            (350_000.0, 0.0, 280, 7, 8),
            (271_000.0, 0.0, 280, 5, 11),
            (100_000.0, 0.0, 280, 2, 28),
            (99_999.0, 0.0, 280, 1, 56),
            (1000.0, 0.0, 280, 1, 56),
            (0.0, 0.0, 280, 1, 56),
            // Background does not count.
            (1e6, 0.95e6, 280, 1, 56),
            (1e6, 2e6, 280, 1, 56),
            (2e7, 1.9e7, 280, 14, 4),
            // Few views; a divisor of them down to half.
            (1e8, 0.0, 96, 12, 5),
            (1e8, 0.0, 48, 12, 5),
            (1e8, 0.0, 64, 8, 7),
            (1e8, 0.0, 97, 14, 4),
            (1e8, 0.0, 210, 14, 4),
            (1e8, 0.0, 16, 4, 14),
            (1e8, 0.0, 4, 1, 56),
            (1e8, 0.0, 1, 1, 56),
            (260_000.0, 0.0, 48, 4, 14),
            // Events have no views.
            (18_522.0, 0.0, 0, 1, 56),
            (649_999.0, 0.0, 0, 12, 5),
            (1e7, 0.0, 0, 14, 4),
        ];
        for (prompts, background, views, subsets, iterations) in table {
            let rule = rule(f64::max(prompts - background, 0.0), views);
            assert_eq!(
                (rule.num_subsets(), rule.num_iterations()),
                (subsets, iterations),
                "{prompts} − {background}, {views} views"
            );
        }
        for (views, subsets) in [(280, 28), (48, 24), (252, 28), (96, 24), (210, 21), (97, 1), (4, 4), (1, 1), (0, 25), (20, 20)]
        {
            let rule = rule(1000.0, views);
            for algorithm in [AlgorithmChoice::SVRG, AlgorithmChoice::BSREM] {
                assert_eq!(rule.num_subsets_of(algorithm), subsets, "{views} views");
            }
            assert_eq!(rule.num_subsets_of(AlgorithmChoice::OSEM), 1);
        }
        let to_come = SubsetRule { net_counts: None, views: None };
        assert_eq!((to_come.num_subsets(), to_come.why_lowered()), (14, None));
    }

    #[test]
    fn the_rule_holds_for_any_counts_on_every_scanner() {
        let views: Vec<usize> =
            catalogue().iter().map(|scanner| scanner.geometry.num_views).chain([0, 1, 2, 3, 5, 7, 4096]).collect();
        for net in (0..=80).map(|k| 10.0_f64.powf(1.0 + 0.1 * f64::from(k))).chain([f64::NAN, f64::INFINITY, -1.0, 0.0]) {
            for &views in &views {
                let rule = rule(net, views);
                let (subsets, iterations) = (rule.num_subsets(), rule.num_iterations());
                assert!((1..=14).contains(&subsets) && (4..=56).contains(&iterations), "{net} counts, {views} views");
                assert!(subsets == 1 || net >= 50_000.0 * subsets as f64, "{net} counts, {subsets} subsets");
                assert!(subsets == 1 || views == 0 || views >= 4 * subsets, "{views} views, {subsets} subsets");
                assert!((48..=60).contains(&(subsets * iterations)), "{subsets} × {iterations}");
                assert_eq!(rule.why_lowered().is_some(), rule.max_subsets() < 14);
                assert!(
                    rule.notice(subsets).is_none() && rule.notice(usize::MAX).is_some() == (net != f64::INFINITY || views > 0)
                );
            }
        }
    }

    #[test]
    fn the_bound_of_the_subsets_is_described() {
        let of_counts = "271\u{202f}000 net counts, at least 50\u{202f}000 per subset";
        assert_eq!(rule(271_000.0, 280).why_lowered().unwrap(), of_counts);
        assert_eq!(rule(1e8, 48).why_lowered().unwrap(), "48 views, at least 4 per subset");
        assert_eq!(rule(999.0, 0).why_lowered().unwrap(), "999 net counts, at least 50\u{202f}000 per subset");
        assert_eq!(rule(1e8, 280).why_lowered(), None);
        let text = rule(271_000.0, 280).notice(14).unwrap().text;
        assert!(
            text.starts_with("14 subsets are more than these data support (271\u{202f}000") && text.ends_with("at most 5"),
            "{text}"
        );
        // As many as data of many counts bear are nobody's business.
        assert!(rule(1e8, 280).notice(28).is_none() && rule(1e8, 280).notice(71).is_some());
    }

    fn list(times_ms: Vec<u32>, delayed_ms: Vec<u32>) -> EventList {
        let events = |times_ms: Vec<u32>| Events { pairs: vec![[0, 1]; times_ms.len()], times_ms, ..Events::default() };
        let detectors = Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap());
        EventList {
            facts: Arc::new(ListMetadata::new("a list", detectors)),
            total_additive: delayed_ms.len() as f64,
            prompts: Arc::new(events(times_ms)),
            delayeds: Arc::new(events(delayed_ms)),
            time: ScanTime::default(),
            rates: CountRates::default(),
            frame_ms: None,
            elsewhere: None,
        }
    }

    #[test]
    fn frames_are_alike_as_suits_the_one_with_the_fewest_counts() {
        let times_ms = (0..900_000).map(|k| if k < 800_000 { 500 } else { 1500 }).collect();
        let list = list(times_ms, vec![1500; 40_000]);
        assert_eq!(SubsetRule::of_list(&list).net_counts, Some(860_000.0));
        let frames_ms = [0..1000, 1000..2000, 2000..3000];
        assert_eq!(SubsetRule::of_frames(&list, &frames_ms).unwrap().net_counts, Some(60_000.0));
        assert_eq!(SubsetRule::of_frames(&list, &frames_ms[..1]).unwrap().net_counts, Some(800_000.0));
        assert_eq!(SubsetRule::of_frames(&list, &frames_ms[2..]), None);
        // What was asked for stays.
        let settings = default_list_settings(&list).unwrap();
        assert_eq!((settings.num_subsets, settings.num_iterations), (14, 4));
        let study = Arc::new(Study::new("a list", list));
        for (asked, expected) in [((14, 4), (1, 56)), ((14, 9), (1, 9)), ((7, 4), (7, 8)), ((7, 9), (7, 9))] {
            let settings = Box::new(RunSettings { num_subsets: asked.0, num_iterations: asked.1, ..settings.clone() });
            let job = Job::of(&study, *settings).for_frames(&frames_ms);
            let settings = &job.settings;
            assert_eq!((settings.num_subsets, settings.num_iterations), expected, "{asked:?}");
            let notice = job.notice_of_frames().map(|notice| notice.text);
            assert_eq!(notice.is_some(), expected.0 == 1, "{notice:?}");
        }
    }

    #[test]
    fn a_curve_of_rates_has_the_counts_of_a_frame() {
        let curve = [[0.5, 10.0], [1.5, 20.0], [2.5, 0.0]];
        assert_eq!(counts_of_curve(&curve, 1.0, &(0..3000)), 30.0);
        assert_eq!(counts_of_curve(&curve, 1.0, &(500..1500)), 15.0);
        assert_eq!(counts_of_curve(&curve, 1.0, &(2000..9000)), 0.0);
    }
}
