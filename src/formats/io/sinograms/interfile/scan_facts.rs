//! Facts of a scan in a header: start, duration, radionuclide, injection.
//!
//! Keys are those of Interfile 3.3 (`study date`, `study time`, `isotope name`), STIR (`image duration (sec)[1]`, `image relative
//! start time (sec)[1]`, `radionuclide name[1]`, `radionuclide halflife (sec)[1]`) and Siemens (`%study date (yyyy:mm:dd)`, `%study
//! time (hh:mm:ss GMT+00:00)`, `isotope gamma halflife (sec)`, `%tracer injection date (yyyy:mm:dd)`, `%coincidence window width (ns)`, …).
//!
//! A value that is invalid, or that another key contradicts, is a warning that names the keys. The fact is then unknown.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

use super::header::{Header, PATIENT, SHARE};
use crate::data::{Exam, Notice, Nuclide, ScanFacts, Sex, plausible};

/// First year of a scan: an earlier one is a year without its century, or another order of day and year.
const FIRST_YEAR: i16 = 1900;

/// The range of t₁ − t₂, of Siemens.
const WINDOW_KEYS: [&str; 2] = ["%coincidence window width (ns)", "coincidence window width (ns)"];

/// A moment, and its offset from UTC in seconds where the header has it.
type Moment = (DateTime, Option<i64>);

/// Reads the facts of a scan.
pub fn scan_facts(header: &Header, notices: &mut Vec<Notice>) -> ScanFacts {
    let mut keys = Keys { header, notices };
    let (isotope, half_life_secs) = keys.radionuclide();
    ScanFacts {
        exam: keys.exam(),
        start_secs: keys.number(&["image relative start time (sec)"], "a number of seconds, at least 0", |secs| secs >= 0.0),
        duration_secs: keys.positive(&["image duration (sec)"], "a number of seconds above 0"),
        isotope,
        half_life_secs,
        coincidence_window_ps: keys.positive(&WINDOW_KEYS, "a number of ns above 0").map(|ns| 1e3 * ns),
        share_of_scan: header.own(SHARE).and_then(|text| text.parse().ok()).filter(|share| *share > 0.0 && *share <= 1.0),
    }
}

/// Returns the lines of a header with the facts of a scan, from which [`scan_facts`] reads them again: those of the study, and those of
/// the time frame, which come last.
pub fn fact_lines(facts: &ScanFacts) -> [String; 2] {
    let ScanFacts { exam, start_secs, duration_secs, isotope, half_life_secs, coincidence_window_ps, share_of_scan } = facts;
    let zone = if exam.is_local { "" } else { " GMT+00:00" };
    let moment = |name: &str, at: Option<DateTime>| {
        at.map_or_else(String::new, |at| {
            let (date, time) = (at.strftime("%Y:%m:%d"), at.strftime("%H:%M:%S%.f"));
            format!("{name} date (yyyy:mm:dd) := {date}\n{name} time (hh:mm:ss{zone}) := {time}\n")
        })
    };
    let line =
        |key: &str, value: Option<String>| value.map_or_else(String::new, |value| format!("{key} := {}\n", one_line(&value)));
    let number = |key: &str, value: Option<f64>| line(key, value.map(|value| value.to_string()));
    let isotope =
        isotope.as_ref().map(|name| Nuclide::find(name).map_or_else(|| name.clone(), |nuclide| nuclide.meaning.to_owned()));
    let own = PATIENT.map(|key| format!("; {key}"));
    let of_study = [
        moment("study", exam.start),
        "number of radionuclides := 1\n".to_owned(),
        line("radionuclide name[1]", isotope),
        number("radionuclide halflife (sec)[1]", *half_life_secs),
        line("radiopharmaceutical", exam.tracer.clone()),
        moment("tracer injection", exam.injection),
        number("tracer activity at time of injection (Bq)", exam.dose_bq),
        number(WINDOW_KEYS[0], coincidence_window_ps.map(|ps| 1e-3 * ps)),
        number(&own[0], exam.weight_kg),
        number(&own[1], exam.height_m),
        line(&own[2], exam.sex.map(|sex| sex.to_string())),
        number(&format!("; {SHARE}"), *share_of_scan),
    ];
    let of_frame = [
        "number of time frames := 1\n".to_owned(),
        number("image duration (sec)[1]", *duration_secs),
        number("image relative start time (sec)[1]", *start_secs),
    ];
    [of_study.concat(), of_frame.concat()]
}

/// Returns a text without line breaks; a backslash at the end of a line would draw the next one to it.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '\\' { ' ' } else { c }).collect()
}

/// Keys of a header, and the warnings about their values.
struct Keys<'a> {
    header: &'a Header,
    notices: &'a mut Vec<Notice>,
}

impl Keys<'_> {
    /// Returns the value of all these keys; `None` without a key, and with a warning where one is invalid or they contradict each
    /// other.
    fn agreed<T: PartialEq>(
        &mut self,
        is_key: impl Fn(&str) -> bool,
        expected: &str,
        parse: impl Fn(&str, &str) -> Option<T>,
    ) -> Option<T> {
        let mut first: Option<(String, &str, T)> = None;
        for (key, text) in self.header.values(is_key) {
            let Some(value) = parse(&key, text) else {
                self.notices
                    .push(self.header.warning(format!("the key '{key}' is '{text}', expected {expected}; it is not used")));
                return None;
            };
            match &first {
                Some((other, other_text, other_value)) if *other_value != value => {
                    self.notices.push(self.header.warning(format!(
                        "the keys '{other}' ('{other_text}') and '{key}' ('{text}') contradict each other; neither is used"
                    )));
                    return None;
                }
                Some(_) => {}
                None => first = Some((key, text, value)),
            }
        }
        first.map(|(_, _, value)| value)
    }

    fn number(&mut self, names: &[&str], expected: &str, is_valid: fn(f64) -> bool) -> Option<f64> {
        names.iter().for_each(|name| self.header.know(name));
        let number = |_: &str, text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && is_valid(*value));
        self.agreed(|key| names.contains(&key), expected, number)
    }

    /// Returns a number above 0. In STIR's headers 0 and −1 mean unknown.
    fn positive(&mut self, names: &[&str], expected: &str) -> Option<f64> {
        self.number(names, expected, |value| value >= 0.0 || value == -1.0).filter(|value| *value > 0.0)
    }

    /// Returns name and half-life of the radionuclide.
    fn radionuclide(&mut self) -> (Option<String>, Option<f64>) {
        const NUM: &str = "number of radionuclides";
        let num = self.number(&[NUM], "a whole number", |num| num >= 0.0);
        if num.is_some_and(|num| num > 1.0) {
            self.notices.push(self.header.warning(format!("the key '{NUM}' is above 1; its radionuclides are not used")));
            return (None, None);
        }
        let names = ["isotope name", "radionuclide name"];
        let name =
            |_: &str, text: &str| Some(Nuclide::find(text).map_or_else(|| text.to_owned(), |nuclide| nuclide.name.to_owned()));
        names.iter().for_each(|name| self.header.know(name));
        let isotope = self.agreed(|key| names.contains(&key), "", name).filter(|name| !name.eq_ignore_ascii_case("unknown"));
        let half_lives = ["isotope gamma halflife (sec)", "radionuclide halflife (sec)"];
        let secs = self.positive(&half_lives, "a number of seconds above 0");
        let nuclide = isotope.as_deref().and_then(Nuclide::find);
        if let (Some(nuclide), Some(secs)) = (nuclide, secs)
            && !plausible::has_half_life(nuclide, secs)
        {
            self.notices.push(self.header.warning(format!(
                "the half-life of {secs} s ('{}') is not that of the radionuclide {} ('{}'), {} s; neither is used",
                half_lives.join("', '"),
                nuclide.name,
                names.join("', '"),
                nuclide.half_life_secs
            )));
            return (None, None);
        }
        (isotope, secs)
    }

    /// Returns start, injection and tracer.
    fn exam(&mut self) -> Exam {
        let start = self.moment("study");
        let mut injection = self.moment("tracer injection");
        let is_local = [start, injection].into_iter().flatten().any(|(_, offset)| offset.is_none());
        if is_local && [start, injection].into_iter().flatten().any(|(_, offset)| offset.is_some()) {
            let text = "only one of the keys 'study time' and 'tracer injection time' has a time zone; the injection is not used";
            self.notices.push(self.header.warning(text));
            injection = None;
        }
        let utc = |(local, offset): Moment| local.checked_sub(SignedDuration::from_secs(offset.unwrap_or_default())).ok();
        Exam {
            start: start.and_then(utc),
            injection: injection.and_then(utc),
            dose_bq: self.positive(&["tracer activity at time of injection (bq)"], "an activity above 0"),
            tracer: self.header.text("radiopharmaceutical").map(str::to_owned),
            weight_kg: self.of_patient(0),
            height_m: self.of_patient(1),
            sex: self.of_patient::<Sex>(2),
            is_local: start.or(injection).is_some_and(|(_, offset)| offset.is_none()),
        }
    }

    /// Returns a fact of the patient in a key of the program's own.
    fn of_patient<T: std::str::FromStr>(&self, which: usize) -> Option<T> {
        self.header.own(PATIENT[which]).and_then(|text| text.trim().parse().ok())
    }

    /// Returns the moment of `NAME date` and `NAME time`; `None` without one of them.
    fn moment(&mut self, name: &str) -> Option<Moment> {
        let is_date = |key: &str| form_of(key, name, "date").is_some();
        let is_time = |key: &str| form_of(key, name, "time").is_some();
        let date = |key: &str, text: &str| {
            let form = form_of(key, name, "date")?;
            let is_known = form.is_empty() || form == "yyyy:mm:dd";
            Date::strptime("%Y:%m:%d", text.trim()).ok().filter(|date| is_known && date.year() >= FIRST_YEAR)
        };
        let time = |key: &str, text: &str| {
            let form = form_of(key, name, "time")?;
            let zone = if form.is_empty() { "" } else { form.strip_prefix("hh:mm:ss")?.trim() };
            clock(text.trim(), zone)
        };
        ["date", "time"].iter().for_each(|kind| self.header.know(&format!("{name} {kind}")));
        let date = self.agreed(is_date, "a date (yyyy:mm:dd)", date);
        let time = self.agreed(is_time, "a time (hh:mm:ss) with the time zone of its key", time);
        let (time, offset) = time?;
        Some((date?.to_datetime(time), offset))
    }
}

/// Returns the form in parentheses of the key `NAME KIND (FORM)`, `%NAME KIND` …; empty without one, `None` of another key.
fn form_of<'a>(key: &'a str, name: &str, kind: &str) -> Option<&'a str> {
    let rest = key.strip_prefix('%').unwrap_or(key).trim_start().strip_prefix(name)?.strip_prefix(' ')?.strip_prefix(kind)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix(" (")?.strip_suffix(')') }
}

/// Parses a time, and its offset from UTC by the zone of the key or of the text.
fn clock(text: &str, zone: &str) -> Option<(Time, Option<i64>)> {
    let (time, own_zone) = text.split_at(text.find(['+', '-', 'Z', 'z']).unwrap_or(text.len()));
    let (of_key, own) = (offset_secs(zone)?, offset_secs(own_zone)?);
    let is_one = of_key.zip(own).is_none_or(|(of_key, own)| of_key == own);
    let time = Time::strptime("%H:%M:%S%.f", time.trim()).ok().filter(|_| is_one)?;
    Some((time, own.or(of_key)))
}

/// Returns the offset of a zone such as `gmt+01:00`, s; `Some(None)` of an empty text.
fn offset_secs(zone: &str) -> Option<Option<i64>> {
    let zone = zone.trim().to_ascii_lowercase();
    let offset = ["gmt", "utc", "z"].iter().find_map(|name| zone.strip_prefix(name)).unwrap_or(&zone);
    if offset.is_empty() {
        return Some((!zone.is_empty()).then_some(0));
    }
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.strip_prefix(['+', '-'])?.split_once(':')?;
    let part = |text: &str, max: i64| text.parse::<u8>().ok().map(i64::from).filter(|part| *part <= max);
    Some(Some(sign * (3600 * part(hours, 14)? + 60 * part(minutes, 59)?)))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn facts(lines: &str) -> (ScanFacts, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hs");
        std::fs::write(&path, format!("!INTERFILE:=\n{lines}\n")).unwrap();
        let mut notices = Vec::new();
        let facts = scan_facts(&Header::read(&path).unwrap(), &mut notices);
        (facts, notices.into_iter().map(|notice| notice.text).collect())
    }

    #[test]
    fn keys_of_all_dialects_are_read() {
        let noon = Some(date(2026, 3, 1).at(12, 0, 0, 0));
        let (interfile, notices) = facts(
            "study date := 2026:03:01\nstudy time := 12:00:00\nisotope name := f18\n!image duration (sec)[1] := 900\n\
             image relative start time (sec) [1] := 60",
        );
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!((interfile.exam.start, interfile.exam.is_local), (noon, true));
        assert_eq!((interfile.duration_secs, interfile.start_secs), (Some(900.0), Some(60.0)));
        assert_eq!(interfile.isotope.as_deref(), Some("F-18"));
        let (stir, notices) = facts(
            "!study date (yyyy:mm:dd) := 2026:03:01\n!study time (hh:mm:ss) := 12:00:00\nradionuclide name[1] := ^18^Fluorine\n\
             radionuclide halflife (sec)[1] := 6584\nnumber of radionuclides := 1",
        );
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!((stir.exam.start, stir.exam.is_local, stir.half_life_secs), (noon, true, Some(6584.0)));
        let (siemens, notices) = facts(
            "%study date (yyyy:mm:dd):=2026:03:02\n%study time (hh:mm:ss GMT+02:00):=00:30:00.5\nradiopharmaceutical:=FDG\n\
             %tracer injection date (yyyy:mm:dd):=2026:03:01\n%tracer injection time (hh:mm:ss GMT+00:00):=21:30:00\n\
             %coincidence window width (ns):=4.0625\ntracer activity at time of injection (Bq):=3.7e+008\nisotope gamma halflife (sec):=6586.2\nimage duration (sec):=60",
        );
        assert!(notices.is_empty(), "{notices:?}");
        assert_eq!(siemens.exam.start, Some(date(2026, 3, 1).at(22, 30, 0, 500_000_000)));
        assert_eq!(siemens.exam.injection, Some(date(2026, 3, 1).at(21, 30, 0, 0)));
        assert_eq!((siemens.exam.dose_bq, siemens.exam.tracer.as_deref()), (Some(370e6), Some("FDG")));
        assert_eq!(siemens.coincidence_window_ps, Some(4062.5));
        assert!(!siemens.exam.is_local && siemens.duration_secs == Some(60.0));
        let (zoned, _) = facts("study date := 2026:03:01\nstudy time := 13:00:00+01:00");
        assert_eq!((zoned.exam.start, zoned.exam.is_local), (noon, false));
        assert_eq!(facts("number format := float").0, ScanFacts::default());
        // STIR's unknown values.
        let (unknown, notices) = facts(
            "image duration (sec)[1] := -1\nradionuclide name[1] := Unknown\nradionuclide halflife (sec)[1] := -1\n\
             image duration (sec) := -1\nstudy date := \nstudy time := ",
        );
        assert!(unknown == ScanFacts::default() && notices.is_empty(), "{notices:?}");
    }

    #[test]
    fn written_facts_are_read_again() {
        let noon = date(2026, 3, 1).at(12, 0, 0, 250_000_000);
        let exam = Exam {
            start: Some(noon),
            injection: Some(date(2026, 2, 28).at(23, 59, 59, 0)),
            dose_bq: Some(370e6),
            tracer: Some("FDG\\\nstudy date := 1".to_owned()),
            weight_kg: Some(70.5),
            height_m: Some(1.7),
            sex: Some(Sex::Female),
            is_local: true,
        };
        let all = ScanFacts {
            exam,
            start_secs: Some(60.5),
            duration_secs: Some(900.0),
            isotope: Some("F-18".to_owned()),
            half_life_secs: Some(6586.2),
            coincidence_window_ps: Some(4062.5),
            share_of_scan: Some(0.25),
        };
        let in_utc =
            ScanFacts { exam: Exam { is_local: false, ..all.exam.clone() }, isotope: Some("Xx-1".to_owned()), ..all.clone() };
        let exam = |exam: &Exam| Exam { tracer: Some("FDG  study date := 1".to_owned()), ..exam.clone() };
        for written in [ScanFacts::default(), all, in_utc] {
            let (found, notices) = facts(&fact_lines(&written).concat());
            let expected =
                if written == ScanFacts::default() { written } else { ScanFacts { exam: exam(&written.exam), ..written } };
            assert!(notices.is_empty(), "{notices:?}");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn invalid_and_contradictory_values_are_named_and_not_used() {
        for (lines, named) in [
            ("study date := 0000:00:00\nstudy time := 12:00:00", "'study date' is '0000:00:00'"),
            ("study date := 01:03:26\nstudy time := 12:00:00", "'study date' is '01:03:26'"),
            ("study date := 01:03:2026\nstudy time := 12:00:00", "'study date' is '01:03:2026'"),
            ("study date (dd:mm:yyyy) := 01:03:2026\nstudy time := 12:00:00", "'study date (dd:mm:yyyy)'"),
            ("study date := 2026:03:01\nstudy time := 25:00:00", "'study time' is '25:00:00'"),
            ("study date := 2026:03:01\nstudy time (hh:mm:ss EST) := 12:00:00", "'study time (hh:mm:ss est)'"),
            ("study date := 2026:03:01\nstudy time (hh:mm:ss GMT) := 12:00:00+01:00", "expected a time"),
            ("study date := 2026:03:01\n%study date (yyyy:mm:dd) := 2026:03:02\nstudy time := 12:00:00", "contradict each other"),
            ("image duration (sec)[1] := -900", "above 0"),
            ("image duration (sec)[1] := nan", "'image duration (sec) [1]' is 'nan'"),
            ("image duration (sec)[1] := 900\nimage duration (sec) := 800", "contradict each other"),
            ("image relative start time (sec)[1] := -5", "at least 0"),
            ("radionuclide halflife (sec)[1] := F-18", "'radionuclide halflife (sec) [1]' is 'F-18'"),
            ("isotope name := F-18\nradionuclide halflife (sec)[1] := 1221.8", "neither is used"),
            ("isotope name := F-18\nradionuclide name[1] := ^68^Gallium", "'radionuclide name [1]' ('^68^Gallium')"),
            ("number of radionuclides := 2\nisotope name := F-18", "'number of radionuclides'"),
        ] {
            let (found, notices) = facts(lines);
            assert!(notices.len() == 1 && notices[0].contains(named), "{lines}: {notices:?}");
            let unknown = ScanFacts { exam: Exam { is_local: found.exam.is_local, ..Exam::default() }, ..ScanFacts::default() };
            assert_eq!(found, unknown, "{lines}");
        }
        let (found, notices) = facts(
            "study date := 2026:03:01\nstudy time := 12:00:00\n%tracer injection date (yyyy:mm:dd):=2026:03:01\n\
             %tracer injection time (hh:mm:ss GMT+00:00):=11:00:00",
        );
        assert!(found.exam.start.is_some() && found.exam.injection.is_none() && found.exam.is_local);
        assert!(notices.len() == 1 && notices[0].contains("time zone"), "{notices:?}");
    }
}
