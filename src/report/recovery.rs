//! Recovery coefficients of the NEMA spheres against the bands of a standard: of one image, and of many settings.

use serde_json::{Value, json};

use super::drawing::Anchor;
use super::image_page::{plot, table};
use super::page::{MARGIN, PAGE, Page};
use super::plot::{Plot, Series};
use super::text_table::TextTable;
use super::value::distinct;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{RecoveryBand, RecoveryQuantity, RecoveryStandard};
use crate::measure::nema::{Deviation, JudgedRecovery, Recovery, RecoveryPoint, Verdict, best_setting};
use crate::plan::Value as Strength;
use crate::text::counted;

const DEFINITIONS: [&str; 2] = [
    "Recovery: (value / background) / true ratio. Background: mean of 60 circles of 37 mm.",
    "A50: mean of the voxels above (max + background) / 2 that are connected with the maximum.",
];

/// Measured settings of a run.
pub struct RecoveryRun {
    /// Strength β of the penalty, if it is part of the settings.
    pub beta: Option<Strength>,
    /// Iterations and post-filters.
    pub points: Vec<RecoveryPoint>,
}

/// Settings that were measured against a standard, and the best of them.
pub struct RecoverySearch<'a> {
    standard: &'a RecoveryStandard,
    settings: Vec<Setting<'a>>,
    /// Index of the recommended setting and true, or of the nearest one and false.
    best: Option<(usize, bool)>,
}

/// Measured setting.
struct Setting<'a> {
    beta: Option<&'a Strength>,
    point: &'a RecoveryPoint,
    /// `None` where nothing was measured.
    verdict: Option<Verdict>,
}

pub fn recovery_table(title: &str, recovery: &Recovery, standard: &RecoveryStandard) -> TextTable {
    let verdict = Verdict::of(recovery, standard);
    let row = |sphere: usize| {
        let diameter_mm = SPHERE_DIAMETERS_MM[sphere];
        let of_sphere = verdict.deviations.iter().filter(|deviation| deviation.diameter_mm == diameter_mm);
        let cells = of_sphere.flat_map(|deviation| {
            let [min, max] = deviation.limits;
            [format!("{:.3}", deviation.coefficient), format!("{min:.2}–{max:.2}"), place(deviation)]
        });
        std::iter::once(format!("{diameter_mm} mm")).chain(cells).collect()
    };
    let group =
        |band: &RecoveryBand| (band.quantity.label().to_owned(), ["recovery", "band", "outside by"].map(String::from).to_vec());
    TextTable {
        title: format!("Recovery coefficients against {}: {title}", standard.title),
        words: vec!["sphere".into()],
        groups: standard.bands.iter().map(group).collect(),
        rows: (0..SPHERE_DIAMETERS_MM.len()).map(row).collect(),
        remarks: [vec![verdict_text(&verdict, standard)], definitions(standard)].concat(),
    }
}

/// Returns the signed distance beyond a limit as text; a dash inside the band.
fn place(deviation: &Deviation) -> String {
    match deviation.excess() {
        0.0 => "–".into(),
        excess => format!("{excess:+.3}"),
    }
}

/// Draws the recovery of an image against a standard: bands, curves, table and verdict.
pub(super) fn recovery_page(page: &mut Page, analysis: &JudgedRecovery) {
    let JudgedRecovery { standard, recovery, .. } = analysis;
    page.heading(104.0, &format!("Recovery coefficients against {}", standard.title));
    let mut top = plot(page, [118.0, 430.0], recovery_plot(recovery, standard)) + 28.0;
    let verdict = Verdict::of(recovery, standard);
    for band in &standard.bands {
        let titles = [band.quantity.label(), "min", "max", "outside by"];
        let step = (PAGE[0] - MARGIN - MARGIN - 60.0) / titles.len() as f64;
        let columns = std::array::from_fn(|index| MARGIN + 60.0 + step * (index + 1) as f64);
        let of_band = verdict.deviations.iter().filter(|deviation| deviation.quantity == band.quantity);
        let rows = of_band.map(|deviation| {
            let [min, max] = deviation.limits.map(|limit| format!("{limit:.2}"));
            (format!("{} mm", deviation.diameter_mm), [format!("{:.3}", deviation.coefficient), min, max, place(deviation)])
        });
        top = table(page, top, columns, titles, rows) + 20.0;
    }
    let outside = match verdict.worst().filter(|_| !verdict.complies()) {
        Some(worst) => format!("The image does not comply with {}: {}.", standard.title, worst.text()),
        None => format!("The image complies with {}.", standard.title),
    };
    page.text([MARGIN, top + 2.0], 10.0, Anchor::Start, &outside);
    top += 18.0;
    for line in definitions(standard) {
        page.small([MARGIN, top], Anchor::Start, &line);
        top += 12.0;
    }
}

/// Returns definitions and source of a standard.
fn definitions(standard: &RecoveryStandard) -> Vec<String> {
    DEFINITIONS.iter().map(ToString::to_string).chain([format!("Bands: {}.", standard.source)]).collect()
}

/// Maximum number of iterations in the table of a page.
const MAX_ROWS: usize = 50;

/// Draws the table of the settings that were measured against a standard: iterations and post-filters.
pub(super) fn settings_page(page: &mut Page, analysis: &JudgedRecovery) {
    let search = RecoverySearch::new(&analysis.settings, &analysis.standard);
    page.heading(104.0, &format!("Iterations and post-filters against {}", analysis.standard.title));
    let table = search.table();
    let every = table.rows.len().div_ceil(MAX_ROWS).max(1);
    let titles: Vec<&String> = table.groups.iter().flat_map(|(_, titles)| titles).collect();
    let step = (PAGE[0] - 2.0 * MARGIN - 30.0) / titles.len().max(1) as f64;
    let mut line = |top: f64, size: f64, cells: &[String]| {
        for (number, cell) in cells.iter().enumerate() {
            let left = MARGIN + if number == 0 { 0.0 } else { 30.0 + step * (number - 1) as f64 };
            page.text([left, top], size, Anchor::Start, &cell.replace(" mm ", " "));
        }
    };
    let mut top = 122.0;
    line(
        top,
        7.0,
        &std::iter::once("iteration").chain(titles.iter().map(|title| title.as_str())).map(String::from).collect::<Vec<_>>(),
    );
    for row in table.rows.iter().skip((table.rows.len() - 1) % every).step_by(every) {
        top += 12.0;
        line(top, 6.5, row);
    }
    top += 20.0;
    for line in search.sentence().split_inclusive(". ") {
        page.text([MARGIN, top], 9.0, Anchor::Start, line.trim_end());
        top += 13.0;
    }
    for remark in [
        "'complies' and the root mean square of the distances from the middles of the bands, in half widths;",
        "or the coefficient farthest outside its band.",
    ] {
        top += 12.0;
        page.small([MARGIN, top], Anchor::Start, remark);
    }
}

/// Returns the plot of the coefficients over the diameters, with the limits of their bands as dashed lines.
pub fn recovery_plot(recovery: &Recovery, standard: &RecoveryStandard) -> Plot {
    let line = |name: String, colour: usize, is_published: bool, value: &dyn Fn(usize) -> Option<f64>| Series {
        name,
        colour,
        is_published,
        points: (0..SPHERE_DIAMETERS_MM.len()).filter_map(|k| Some([SPHERE_DIAMETERS_MM[k], value(k)?])).collect(),
    };
    let of_band = |(band, colour): (&RecoveryBand, usize)| {
        let name = band.quantity.label();
        [
            line(name.to_owned(), colour, false, &|k| recovery.spheres[k].of(band.quantity)),
            line(format!("{name}, min"), colour, true, &|k| Some(band.limits[k][0])),
            line(format!("{name}, max"), colour, true, &|k| Some(band.limits[k][1])),
        ]
    };
    let x_ticks = SPHERE_DIAMETERS_MM.map(|diameter_mm| (diameter_mm, diameter_mm.to_string())).to_vec();
    let titles = ["Recovery coefficients and bands", "inner diameter, mm", "fraction of the true activity"];
    Plot::linear(titles, x_ticks, standard.bands.iter().zip([4, 2, 5]).flat_map(of_band).collect())
}

/// Describes a verdict in a sentence.
pub fn verdict_text(verdict: &Verdict, standard: &RecoveryStandard) -> String {
    let outside: Vec<String> = verdict.deviations.iter().filter(|d| d.excess() != 0.0).map(Deviation::text).collect();
    match &outside[..] {
        [] if verdict.complies() => format!("The image complies with {}.", standard.title),
        _ => format!("The image does not comply with {}: {}.", standard.title, outside.join("; ")),
    }
}

impl<'a> RecoverySearch<'a> {
    /// Compares the settings of a run with a standard.
    pub fn new(points: &'a [RecoveryPoint], standard: &'a RecoveryStandard) -> Self {
        Self::of(points.iter().map(|point| (None, point)), standard)
    }

    /// Compares the settings of several runs with a standard.
    pub fn of_runs(runs: &'a [RecoveryRun], standard: &'a RecoveryStandard) -> Self {
        Self::of(runs.iter().flat_map(|run| run.points.iter().map(|point| (run.beta.as_ref(), point))), standard)
    }

    fn of(points: impl Iterator<Item = (Option<&'a Strength>, &'a RecoveryPoint)>, standard: &'a RecoveryStandard) -> Self {
        let verdict = |point: &RecoveryPoint| Some(Verdict::of(point.outcome.as_ref().ok()?, standard));
        let settings: Vec<Setting> = points.map(|(beta, point)| Setting { beta, point, verdict: verdict(point) }).collect();
        let best = best_setting(settings.iter().map(|setting| setting.verdict.as_ref()));
        Self { standard, settings, best }
    }

    /// Returns each setting with its verdict, if it was measured.
    pub fn settings(&self) -> impl Iterator<Item = (&RecoveryPoint, Option<&Verdict>)> {
        self.settings.iter().map(|setting| (setting.point, setting.verdict.as_ref()))
    }

    pub fn has_compliant(&self) -> bool {
        self.best.is_some_and(|(_, complies)| complies)
    }

    /// Returns iteration and post-filter of the recommended setting; `None` if none complies.
    pub fn recommended(&self) -> Option<&RecoveryPoint> {
        self.recommended_setting().map(|setting| setting.point)
    }

    fn recommended_setting(&self) -> Option<&Setting<'a>> {
        self.best.filter(|(_, complies)| *complies).map(|(index, _)| &self.settings[index])
    }

    /// Returns the table: a row for each iteration, in the order of the runs, and a column for each filter.
    pub fn table(&self) -> TextTable {
        let mut filters: Vec<f64> = self.settings.iter().map(|setting| setting.point.filter_mm).collect();
        filters.sort_by(f64::total_cmp);
        filters.dedup();
        let has_beta = self.settings.iter().any(|setting| setting.beta.is_some());
        let runs = distinct(self.settings.iter().map(|setting| setting.beta));
        let mut rows = Vec::new();
        for beta in runs {
            let of_run: Vec<&Setting> = self.settings.iter().filter(|setting| setting.beta == beta).collect();
            let mut iterations: Vec<usize> = of_run.iter().map(|setting| setting.point.iteration).collect();
            iterations.sort_unstable();
            iterations.dedup();
            let cell = |iteration: usize, filter_mm: f64| {
                let is_here = |point: &RecoveryPoint| point.iteration == iteration && point.filter_mm == filter_mm;
                of_run.iter().rfind(|setting| is_here(setting.point)).map_or_else(String::new, |setting| setting.cell())
            };
            rows.extend(iterations.into_iter().map(|iteration| {
                let first = beta.map(ToString::to_string).into_iter().chain([iteration.to_string()]);
                first.chain(filters.iter().map(|filter_mm| cell(iteration, *filter_mm))).collect()
            }));
        }
        let filter = |mm: &f64| if *mm == 0.0 { "none".to_owned() } else { format!("{mm} mm") };
        TextTable {
            title: format!("Recovery coefficients against {}", self.standard.title),
            words: has_beta.then(|| "β".to_owned()).into_iter().chain(["iteration".to_owned()]).collect(),
            groups: vec![("post-filter, FWHM".into(), filters.iter().map(filter).collect())],
            rows,
            remarks: [
                vec!["Cells: 'complies' and the root mean square of the distances from the middles of the bands, in half widths; or the \
                 coefficient farthest outside its band."
                    .into()],
                definitions(self.standard),
            ].concat(),
        }
    }

    /// Describes the result in a sentence with the recommended setting.
    pub fn sentence(&self) -> String {
        let title = &self.standard.title;
        let num = self.num_compliant();
        let Some((index, complies)) = self.best else {
            return format!("{title}: no setting was measured.");
        };
        let (setting, verdict) = (self.settings[index].text(), self.settings[index].verdict.as_ref());
        let settings = counted(self.settings.len(), "setting");
        if complies {
            let rms = verdict.map_or(f64::NAN, Verdict::rms);
            return format!(
                "{title}: {num} of {settings} comply. Recommended: {setting}, nearest to the middles of the bands (root mean \
                 square distance {rms:.2} half widths)."
            );
        }
        let worst = verdict.and_then(Verdict::worst).map_or_else(String::new, Deviation::text);
        format!("{title}: none of {settings} complies. Nearest: {setting} ({worst}).")
    }

    /// Describes the recommended or nearest setting in a phrase.
    pub fn advice(&self) -> String {
        let settings = counted(self.settings.len(), "setting");
        match self.best.map(|(index, complies)| (self.settings[index].text(), complies)) {
            None => "No setting was measured".into(),
            Some((setting, true)) => format!("Recommended: {setting} ({} of {settings} comply)", self.num_compliant()),
            Some((setting, false)) => format!("Nearest: {setting} (none of {settings} complies)"),
        }
    }

    fn num_compliant(&self) -> usize {
        self.settings.iter().filter_map(|setting| setting.verdict.as_ref()).filter(|verdict| verdict.complies()).count()
    }

    /// Returns the settings as JSON. Coefficients are fractions, distances half widths.
    pub fn json(&self) -> Value {
        let setting = |Setting { beta, point, verdict }: &Setting| {
            let worst = verdict.as_ref().filter(|verdict| !verdict.complies()).and_then(Verdict::worst);
            json!({
                "beta": beta,
                "iteration": point.iteration,
                "post_filter_mm": point.filter_mm,
                "complies": verdict.as_ref().map(Verdict::complies),
                "num_outside": verdict.as_ref().map(Verdict::num_outside),
                "rms_deviation": verdict.as_ref().map(Verdict::rms),
                "largest_deviation": verdict.as_ref().map(Verdict::largest),
                "fails": worst.map(Deviation::text),
                "spheres": point.outcome.as_ref().ok().map(|recovery| &recovery.spheres),
                "problem": point.outcome.as_ref().err().map(|problem| &problem.text),
            })
        };
        let recommended = |Setting { beta, point, .. }: &Setting| json!({ "beta": beta, "iteration": point.iteration, "post_filter_mm": point.filter_mm });
        json!({
            "standard": self.standard,
            "sentence": self.sentence(),
            "recommended": self.recommended_setting().map(recommended),
            "settings": self.settings.iter().map(setting).collect::<Vec<_>>(),
        })
    }

    pub fn csv_titles() -> Vec<String> {
        let first =
            ["standard", "beta", "iteration", "post_filter_mm", "complies", "num_outside", "rms_deviation", "largest_deviation"];
        let coefficients = QUANTITIES.iter().flat_map(|quantity| {
            SPHERE_DIAMETERS_MM.iter().map(move |diameter_mm| format!("{}_{diameter_mm}_mm", quantity.key()))
        });
        first.into_iter().map(String::from).chain(coefficients).chain(["problem".into()]).collect()
    }

    /// Returns a row for each setting; coefficients that were not measured are empty.
    pub fn csv_rows(&self) -> Vec<Vec<String>> {
        let row = |Setting { beta, point, verdict }: &Setting| {
            let number = |of: &dyn Fn(&Verdict) -> String| verdict.as_ref().map_or_else(String::new, of);
            let first = [
                self.standard.name.clone(),
                beta.map_or_else(String::new, ToString::to_string),
                point.iteration.to_string(),
                point.filter_mm.to_string(),
                number(&|verdict| verdict.complies().to_string()),
                number(&|verdict| verdict.num_outside().to_string()),
                number(&|verdict| verdict.rms().to_string()),
                number(&|verdict| verdict.largest().to_string()),
            ];
            let recovery = point.outcome.as_ref().ok();
            let coefficient = |quantity: RecoveryQuantity, sphere: usize| {
                let value = recovery.and_then(|recovery| recovery.spheres[sphere].of(quantity));
                value.map_or_else(String::new, |value| value.to_string())
            };
            let coefficients = QUANTITIES
                .iter()
                .flat_map(|quantity| (0..SPHERE_DIAMETERS_MM.len()).map(|sphere| coefficient(*quantity, sphere)));
            let problem = point.outcome.as_ref().err().map_or_else(String::new, |problem| problem.text.clone());
            first.into_iter().chain(coefficients).chain([problem]).collect()
        };
        self.settings.iter().map(row).collect()
    }
}

impl Setting<'_> {
    fn cell(&self) -> String {
        let Some(verdict) = &self.verdict else { return "–".into() };
        if verdict.complies() {
            return format!("complies {:.2}", verdict.rms());
        }
        verdict.worst().map_or_else(String::new, |worst| {
            format!("{} of {} mm {:.2}", worst.quantity.label(), worst.diameter_mm, worst.coefficient)
        })
    }

    /// Describes the setting: "β 0.1, iteration 3 with a post-filter of 5 mm".
    fn text(&self) -> String {
        let RecoveryPoint { iteration, filter_mm, .. } = self.point;
        let beta = self.beta.map_or_else(String::new, |beta| format!("β {beta}, "));
        match filter_mm {
            0.0 => format!("{beta}iteration {iteration} without post-filter"),
            mm => format!("{beta}iteration {iteration} with a post-filter of {mm} mm"),
        }
    }
}

/// Quantities in the order of the columns.
const QUANTITIES: [RecoveryQuantity; 3] = [RecoveryQuantity::MeanA50, RecoveryQuantity::Max, RecoveryQuantity::Peak];

#[cfg(test)]
mod tests {
    use super::super::pdf::pdf;
    use super::*;
    use crate::coded::Problem;
    use crate::io::recovery::find;
    use crate::measure::nema::SphereRecovery;

    /// Coefficients in the middles of the bands of EARL 18F-1, each multiplied by a factor.
    fn recovery(factor: f64) -> Recovery {
        let earl = find("earl-18f-1").unwrap();
        let middle = |quantity: RecoveryQuantity, sphere: usize| {
            let band = earl.bands.iter().find(|band| band.quantity == quantity).unwrap();
            0.5 * factor * (band.limits[sphere][0] + band.limits[sphere][1])
        };
        let sphere = |k: usize| SphereRecovery {
            diameter_mm: SPHERE_DIAMETERS_MM[k],
            mean_a50: middle(RecoveryQuantity::MeanA50, k),
            max: middle(RecoveryQuantity::Max, k),
            peak: None,
        };
        Recovery { background_mean: 1.0, spheres: std::array::from_fn(sphere) }
    }

    fn points() -> Vec<RecoveryPoint> {
        let outcome = |iteration: usize, filter_mm: f64| match iteration {
            1 => Err(Problem::new("nema", "no spheres")),
            _ => Ok(recovery(1.0 + 0.05 * (iteration as f64 - 2.0) - 0.01 * filter_mm)),
        };
        let settings = (1..=60).flat_map(|iteration| [0.0, 5.0].map(|filter_mm| (iteration, filter_mm)));
        settings
            .map(|(iteration, filter_mm)| RecoveryPoint { iteration, filter_mm, outcome: outcome(iteration, filter_mm) })
            .collect()
    }

    #[test]
    fn table_sentence_and_rows_are_of_every_setting() {
        let (points, earl) = (points(), find("earl-18f-1").unwrap());
        let search = RecoverySearch::new(&points, earl);
        // Iteration 2 without a filter, and 3 with 5 mm, have every coefficient in its middle; the first of both is recommended.
        let best = search.recommended().unwrap();
        assert_eq!((best.iteration, best.filter_mm), (2, 0.0));
        let sentence = search.sentence();
        assert!(
            sentence.starts_with("EARL 18F-1: 5 of 120 settings comply. Recommended: iteration 2 without post-filter,"),
            "{sentence}"
        );
        assert_eq!(search.advice(), "Recommended: iteration 2 without post-filter (5 of 120 settings comply)");
        let table = search.table();
        assert_eq!((table.rows.len(), table.groups[0].1.as_slice()), (60, &["none".to_owned(), "5 mm".to_owned()][..]));
        assert_eq!(table.rows[0], ["1", "–", "–"]);
        assert_eq!(table.rows[1][1], "complies 0.00");
        assert_eq!(table.rows[9][1], "A50 of 37 mm 1.15");
        let (titles, rows) = (RecoverySearch::csv_titles(), search.csv_rows());
        assert!(rows.len() == 120 && rows.iter().all(|row| row.len() == titles.len()));
        assert_eq!((rows[0].last().map(String::as_str), rows[2][4].as_str()), (Some("no spheres"), "true"));
        let json = search.json();
        assert_eq!((&json["recommended"]["iteration"], &json["settings"][0]["problem"]), (&2.into(), &"no spheres".into()));
        assert!(json["settings"][0]["complies"].is_null() && json["settings"][2]["complies"] == true);
    }

    #[test]
    fn the_best_setting_is_that_of_all_strengths() {
        let earl = find("earl-18f-1").unwrap();
        let run = |beta: Strength, factor: f64| {
            let point = |iteration: usize| RecoveryPoint { iteration, filter_mm: 0.0, outcome: Ok(recovery(factor)) };
            RecoveryRun { beta: Some(beta), points: [1, 2].map(point).into() }
        };
        let runs = [run(Strength::Number(0.5), 1.02), run(Strength::Number(0.05), 1.0), run(Strength::Name("auto".into()), 2.0)];
        let search = RecoverySearch::of_runs(&runs, earl);
        assert!(search.sentence().contains(": 4 of 6 settings comply. Recommended: β 0.05, iteration 1 without"));
        let table = search.table();
        assert_eq!(table.words, ["β", "iteration"]);
        let first: Vec<[&str; 2]> = table.rows.iter().map(|row| [row[0].as_str(), row[1].as_str()]).collect();
        assert_eq!(first, [["0.5", "1"], ["0.5", "2"], ["0.05", "1"], ["0.05", "2"], ["auto", "1"], ["auto", "2"]]);
        let json = search.json();
        assert_eq!((&json["recommended"]["beta"], &json["settings"][5]["beta"]), (&0.05.into(), &"auto".into()));
        assert_eq!((search.csv_rows()[2][1].as_str(), search.csv_rows()[4][1].as_str()), ("0.05", "auto"));
    }

    #[test]
    fn pages_of_a_report_are_drawn() {
        let earl = find("earl-18f-1").unwrap().clone();
        let judged = JudgedRecovery { standard: earl, recovery: recovery(1.3), complies: false, settings: points() };
        let pages: [fn(&mut Page, &JudgedRecovery); 2] = [recovery_page, settings_page];
        let pages = pages.map(|draw| {
            let mut page = Page::default();
            draw(&mut page, &judged);
            page
        });
        let bytes = pdf("recovery", &pages).unwrap();
        assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 5_000, "{} bytes", bytes.len());
    }
}
