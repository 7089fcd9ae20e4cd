//! Time of flight in projection data: STIR's fifth axis, "timing positions", the slowest in the file.
//!
//! Bin k of T has d from (k − T/2) w to (k − T/2 + 1) w along x sin φ − y cos φ, from the start of our LORs to their end: the order
//! of the file is that of [`TofBins`]. The width is w = mashing factor × size of an unmashed bin × c/2.

use super::header::Header;
use crate::data::{TofBins, tof_mm};
use crate::io::error::IoError;

// (Keys are compared in lower case.)
const MASH: &str = "tof mashing factor";
const NUM: &str = "maximum number of (unmashed) tof time bins";
const SIZE: &str = "size of unmashed tof time bins (ps)";
const RESOLUTION: &str = "tof timing resolution (ps)";

/// Reads the bins of a header with five dimensions.
pub fn bins(header: &Header) -> Result<TofBins, IoError> {
    let label = header.text_at("matrix axis label", 5).unwrap_or_default().to_lowercase();
    if label != "timing positions" {
        return Err(header.invalid("matrix axis label [5]", &label, "timing positions"));
    }
    let num = header.count_at("matrix size", 5)?;
    let mash = header.count(MASH)?.unwrap_or(1);
    if let Some(unmashed) = header.count(NUM)?
        && unmashed / mash != num
    {
        let expected = format!("{} ({unmashed} bins added up {mash} at a time)", unmashed / mash);
        return Err(header.invalid("matrix size [5]", &num.to_string(), &expected));
    }
    let ps = |key: &str, hint: &str| {
        let ps = header.number(key)?.ok_or_else(|| header.missing(key, hint))?;
        if ps.is_finite() && ps > 0.0 { Ok(ps) } else { Err(header.invalid(key, &ps.to_string(), "a number above 0")) }
    };
    let size_ps = ps(SIZE, "time-of-flight bins need their size")?;
    let resolution_ps = ps(RESOLUTION, "time-of-flight data need the resolution (FWHM of the time difference) of their scanner")?;
    Ok(TofBins { num, width_mm: tof_mm(mash as f64 * size_ps), fwhm_mm: tof_mm(resolution_ps) })
}

/// Returns the lines of a header for the axis, and those for the scanner.
pub fn header_lines(bins: &TofBins) -> [String; 2] {
    let ps = |mm: f64| mm / tof_mm(1.0);
    let axis = format!("matrix axis label [5] := timing positions\n!matrix size [5] := {}\nTOF mashing factor := 1\n", bins.num);
    let scanner = format!(
        "  Maximum number of (unmashed) TOF time bins := {}\n  Size of unmashed TOF time bins (ps) := {}\n  TOF timing resolution (ps) := {}\n",
        bins.num,
        ps(bins.width_mm),
        ps(bins.fwhm_mm)
    );
    [axis, scanner]
}
