//! The papers' numbers.

/// A row of a table of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Device, in the paper's words.
    pub name: &'static str,
    pub secs: f64,
    /// Acceleration as printed.
    pub speed_up: Option<f64>,
}

/// 2011, table 1: one full iteration of 50 subsets.
pub const TIMES_2011: [Row; 4] = [
    Row { name: "Core i7 2.93 GHz, 1 core", secs: 3456.0, speed_up: Some(1.0) },
    Row { name: "Core i7 2.93 GHz, 4 cores, 8 threads", secs: 623.0, speed_up: Some(5.5) },
    Row { name: "GeForce 8600 GT", secs: 509.0, speed_up: Some(7.0) },
    Row { name: "Tesla C1060", secs: 49.0, speed_up: Some(72.0) },
];

/// 2010, table 2: a whole reconstruction, with unpublished settings.
pub const TIMES_2010: [Row; 4] = [
    Row { name: "Core i7 940 2.93 GHz", secs: 1561.0, speed_up: Some(1.0) },
    Row { name: "Xeon X5472 3.00 GHz", secs: 2048.0, speed_up: None },
    Row { name: "GT 120", secs: 199.0, speed_up: Some(8.0) },
    Row { name: "Tesla C60", secs: 22.0, speed_up: Some(72.0) },
];

/// 2011, section 3.1: the mean square difference between the images of GPU and processor is below this, %.
pub const DIFFERENCE_PERCENT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed factors follow from the printed times but for the largest: 3456 / 49 is 70.5 and 1561 / 22 is 71.0, printed 72.
    #[test]
    fn factors_are_those_of_the_times() {
        for rows in [TIMES_2011, TIMES_2010] {
            for row in rows {
                let (found, printed) = (rows[0].secs / row.secs, row.speed_up.unwrap_or(rows[0].secs / row.secs));
                assert!((found / printed - 1.0).abs() < 0.04, "{row:?}: {found}");
            }
        }
        assert!((TIMES_2011[0].secs / TIMES_2011[3].secs - 70.5).abs() < 0.05);
        assert!((TIMES_2010[0].secs / TIMES_2010[3].secs - 71.0).abs() < 0.05);
    }
}
