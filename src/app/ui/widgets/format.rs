//! Texts of numbers.

use std::time::Duration;

use crate::plan::IterationScheme;

/// Returns a measured value with four significant digits, mostly without an exponent.
pub fn value(v: f64) -> String {
    if !v.is_finite() {
        return "–".into();
    }
    let size = v.abs();
    if size == 0.0 {
        "0".into()
    } else if (1e-3..1e6).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{v:.decimals$}")
    } else {
        format!("{v:.2e}")
    }
}

/// Returns a large value with all digits before the decimal point, in groups of three.
pub fn whole(v: f64) -> String {
    if !v.is_finite() || v.abs() < 1e6 {
        return value(v);
    }
    let digits = format!("{:.0}", v.abs());
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{}{}", if v < 0.0 { "−" } else { "" }, groups.join("\u{2009}"))
}

/// Returns a value with its standard deviation, to two digits of the latter.
pub fn with_sd(value: f64, sd: f64) -> String {
    let decimals = if sd == 0.0 { 3.0 } else { (1.0 - sd.log10().floor()).max(0.0) };
    if value.abs() < 1e6 && sd.is_finite() && decimals <= 6.0 {
        let decimals = decimals as usize;
        return format!("{value:.decimals$} ± {sd:.decimals$}");
    }
    format!("{} ± {}", self::value(value), self::value(sd))
}

/// Returns a fraction in % with one decimal.
pub fn percent(fraction: Option<f64>) -> String {
    fraction.filter(|v| v.is_finite()).map_or_else(|| "–".into(), |v| format!("{:.1} %", 100.0 * v))
}

/// Returns a number with at most two decimals, without trailing zeros.
pub fn short_number(v: f64) -> String {
    let text = format!("{v:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a text of at most this many letters; of a longer one the middle is left out.
pub fn elided(text: &str, max_letters: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= max_letters {
        return text.to_owned();
    }
    let (start, end) = (max_letters / 2, max_letters - max_letters / 2 - 1);
    letters[..start].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

/// Returns a date of DICOM as text: 2026-03-01.
pub fn date(date: &str) -> String {
    match (date.get(..4), date.get(4..6), date.get(6..8)) {
        (Some(year), Some(month), Some(day)) if date.len() == 8 => format!("{year}-{month}-{day}"),
        _ => date.to_owned(),
    }
}

pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the smallest of 1, 2 and 5 times the powers of ten that is at least `min`.
pub fn round_step(min: f64) -> f64 {
    let power = 10f64.powf(min.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= min).unwrap_or(10.0 * power)
}

/// Label of numbers and curves of the unfiltered image.
pub const UNFILTERED: &str = "unfiltered";

pub const NSR_HELP: &str = "Noise-to-signal ratio SD / mean, also called coefficient of variation (CV)";

pub const RECOVERY_HELP: &str = "Contrast recovery: measured contrast over the true one. Hot: (mean / background − 1) / (true ratio − 1), cold: 1 − mean / background";

pub const CNR_HELP: &str = "Contrast-to-noise ratio (mean − background's mean) / √((SD² + background's SD²) / 2), the background being the voxels of all background ROIs together";

/// Describes the post-filter of an image.
pub fn filtered(fwhm_mm: f64) -> String {
    format!("filtered {fwhm_mm:.1} mm")
}

/// Returns the label of the horizontal axis of a run's curves.
pub fn axis(course: &IterationScheme) -> String {
    if course.by_iteration { course.counted.to_owned() } else { format!("{}s", course.counted) }
}

/// Describes work under way: its completed part and its remaining time, if they are known.
pub fn under_way(what: &str, fraction: Option<f32>, remaining: Option<Duration>) -> String {
    let part = fraction.map_or_else(|| " …".to_owned(), |fraction| format!(": {:.0} %", 100.0 * fraction));
    let left = remaining.map_or_else(String::new, |remaining| format!(", {} left", duration(remaining)));
    format!("{what}{part}{left}")
}

pub fn duration(time: Duration) -> String {
    let secs = time.as_secs_f64();
    if secs < 1.0 {
        format!("{:.0} ms", 1e3 * secs)
    } else if secs < 90.0 {
        format!("{secs:.1} s")
    } else if secs < 5400.0 {
        format!("{:.0} min {:02.0} s", (secs / 60.0).floor(), (secs % 60.0).floor())
    } else {
        format!("{:.1} h", secs / 3600.0)
    }
}

/// Returns a large count as text: 101.3 million.
pub fn count(n: f64) -> String {
    if n.abs() >= 1e9 {
        format!("{:.2} billion", n * 1e-9)
    } else if n.abs() >= 1e6 {
        format!("{:.1} million", n * 1e-6)
    } else {
        format!("{n:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_dicom_have_hyphens() {
        assert_eq!(date("20260301"), "2026-03-01");
        assert_eq!(date("2026"), "2026");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(value(0.0), "0");
        assert_eq!(value(12.3456), "12.35");
        assert_eq!(value(-0.012345), "-0.01235");
        assert_eq!(value(123456.7), "123457");
        assert_eq!(value(1.5e9), "1.50e9");
        assert_eq!(value(f64::NAN), "–");
        assert_eq!([3.0, 0.5, 1.234, 120.0].map(short_number), ["3", "0.5", "1.23", "120"]);
        assert_eq!(
            [with_sd(6.4251, 0.132), with_sd(128.3, 12.0), with_sd(5.0, 0.0), with_sd(0.54221, 0.005_21)],
            ["6.43 ± 0.13", "128 ± 12", "5.000 ± 0.000", "0.5422 ± 0.0052"]
        );
        assert_eq!([with_sd(1.5e9, 2e7), with_sd(1.0, f64::NAN)], ["1.50e9 ± 2.00e7", "1.000 ± –"]);
        assert_eq!(
            [whole(69_089_712.3), whole(-1.0e6), whole(12.5)],
            ["69\u{2009}089\u{2009}712", "−1\u{2009}000\u{2009}000", "12.50"]
        );
        assert_eq!(percent(Some(0.1234)), "12.3 %");
        assert_eq!(percent(Some(f64::INFINITY)), "–");
        assert_eq!(duration(Duration::from_millis(250)), "250 ms");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(count(1.234e8), "123.4 million");
    }
}
