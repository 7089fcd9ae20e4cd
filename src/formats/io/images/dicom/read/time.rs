//! Dates and times of DICOM (PS3.5, 6.2: DA, TM, DT).

use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

/// Returns the date of a DA value, also of the older form with points.
pub fn date(text: &str) -> Option<Date> {
    let digits: String = text.trim().chars().filter(|c| *c != '.').collect();
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
    let is_date = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_date {
        return None;
    }
    Date::new(number(0, 4)?, number(4, 6)? as i8, number(6, 8)? as i8).ok()
}

/// Returns the time of a TM value, also of the older form with colons. Missing minutes and seconds are 0.
pub fn time(text: &str) -> Option<Time> {
    let text: String = text.trim().chars().filter(|c| *c != ':').collect();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !matches!(whole.len(), 2 | 4 | 6) || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let number = |from: usize| whole.get(from..from + 2).map_or(Some(0), |digits| digits.parse::<i8>().ok());
    let nanoseconds = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    // A leap second is that before.
    Time::new(number(0)?, number(2)?, number(4)?.min(59), nanoseconds).ok()
}

/// Returns the date and time of a DT value in the time zone of the file's other times, which has this offset from UTC ("+0100").
pub fn date_time(text: &str, zone: Option<&str>) -> Option<DateTime> {
    let text = text.trim();
    let (local, offset) = match text.rfind(['+', '-']) {
        Some(at) => (text.get(..at)?, Some(text.get(at..)?)),
        None => (text, None),
    };
    let value = date(local.get(..8)?)?.to_datetime(time(local.get(8..)?)?);
    match (offset.and_then(minutes), zone.and_then(minutes)) {
        (Some(own), Some(zone)) => value.checked_add(Span::new().minutes(zone - own)).ok(),
        _ => Some(value),
    }
}

/// Returns an offset from UTC in minutes.
fn minutes(offset: &str) -> Option<i64> {
    let offset = offset.trim();
    let (sign, digits) = (if offset.starts_with('-') { -1 } else { 1 }, offset.get(1..5)?);
    let number = |from: usize| digits.get(from..from + 2)?.parse::<i64>().ok();
    Some(sign * (60 * number(0)? + number(2)?))
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::*;

    #[test]
    fn all_forms_of_the_standard_are_read() {
        assert_eq!([date("20201217"), date("2020.12.17 ")], [Some(civil::date(2020, 12, 17)); 2]);
        assert_eq!([date("20201317"), date("2020"), date("")], [None; 3]);
        let half = civil::time(10, 48, 30, 351_370_000);
        assert_eq!([time("104830.351370"), time("10:48:30.35137 ")], [Some(half); 2]);
        assert_eq!([time("10"), time("1048")], [Some(civil::time(10, 0, 0, 0)), Some(civil::time(10, 48, 0, 0))]);
        assert_eq!([time("24"), time("1"), time("10483x")], [None; 3]);
        let expected = Some(civil::date(2020, 12, 17).at(8, 30, 45, 0));
        assert_eq!(date_time("20201217083045.000000 ", None), expected);
        assert_eq!(date_time("20201217083045+0100", None), expected, "the zone of the others is not known");
        assert_eq!(date_time("20201217073045+0000", Some("+0100")), expected);
        assert_eq!(date_time("20201216233045.0-0900", Some("+0000")), expected);
        assert_eq!([date_time("2020", None), date_time("é0201217083045", None)], [None; 2]);
    }
}
