//! Texts of `tomoscope info`: lines of names and values.

use jiff::civil::DateTime;

use crate::data::{Exam, Notice, ScanFacts};

pub type Described = (Lines, serde_json::Value, Vec<Notice>);

/// Names and values.
pub type Lines = Vec<(&'static str, String)>;

/// Returns a number with six decimals, without the zeros at the end.
pub fn decimal(value: f64) -> String {
    format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Describes radionuclide, start, injection and patient, as far as they are known.
pub fn exam_lines(exam: &Exam, isotope: Option<&str>, half_life_secs: Option<f64>) -> Lines {
    let Exam { start, injection, dose_bq, tracer, weight_kg, height_m, sex, is_local } = exam;
    let zone = if *is_local { "" } else { " UTC" };
    let moment = |moment: &Option<DateTime>| moment.map(|moment| format!("{moment}{zone}"));
    let secs = half_life_secs.map(|secs| format!("half-life {secs} s"));
    let radionuclide: Vec<String> = isotope.map(str::to_owned).into_iter().chain(secs).collect();
    let lines = [
        ("isotope", (!radionuclide.is_empty()).then(|| radionuclide.join(", "))),
        ("tracer", tracer.clone()),
        ("scan start", moment(start)),
        ("injection", moment(injection)),
        ("injected activity", dose_bq.map(|bq| format!("{} MBq", decimal(1e-6 * bq)))),
        ("weight", weight_kg.map(|kg| format!("{kg} kg"))),
        ("height", height_m.map(|m| format!("{m} m"))),
        ("sex", sex.map(|sex| format!("{sex:?}").to_lowercase())),
    ];
    lines.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// Describes the facts of a scan, as far as they are known.
pub fn fact_lines(facts: &ScanFacts) -> Lines {
    let ScanFacts { exam, start_secs, duration_secs, isotope, half_life_secs, coincidence_window_ps, share_of_scan } = facts;
    let mut lines = exam_lines(exam, isotope.as_deref(), *half_life_secs);
    lines.extend(start_secs.map(|secs| ("data begin", format!("{secs} s after the start of the scan"))));
    lines.extend(duration_secs.map(|secs| ("duration", format!("{secs} s"))));
    lines.extend(share_of_scan.map(|share| ("share of the scan", format!("{:.4} % of its time", 100.0 * share))));
    lines.extend(coincidence_window_ps.map(|ps| ("coincidence window", format!("{} ns", decimal(1e-3 * ps)))));
    lines
}
