//! Frames of a dynamic scan: intervals of its time, each with its own image.
//!
//! In text, commas separate frames: `0-60` from one second to another, `6x10` six frames of ten seconds. The first of these
//! begins at the end of the previous frame.

use std::ops::Range;
use std::str::FromStr;

/// Most frames of a scan.
const MAX_FRAMES: usize = 1000;
/// Latest second of a frame, which milliseconds can still count.
const LATEST_SECS: f64 = 4e6;

/// Frames in the order in which they were named, ms from the beginning of the scan; none is without duration.
///
/// ```
/// use tomoscope_base::data::Frames;
///
/// // Two frames of 10 s, then one up to 60 s.
/// let frames: Frames = "2x10,20-60".parse()?;
/// assert_eq!(frames.as_slice(), [0..10_000, 10_000..20_000, 20_000..60_000]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames(Vec<Range<u32>>);

impl Frames {
    /// Returns all of them.
    pub fn as_slice(&self) -> &[Range<u32>] {
        &self.0
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut frames: Vec<Range<u32>> = Vec::new();
        for item in text.split(',') {
            let begin = frames.last().map_or(0, |before| before.end);
            match item.split_once(['x', '×']) {
                Some((count, secs)) => frames.extend(equal_frames(begin, count, secs).ok_or_else(|| not_frames(item))?),
                None => frames.push(frame_ms(item)?),
            }
            if frames.len() > MAX_FRAMES {
                return Err(format!("'{text}' are more than {MAX_FRAMES} frames; give fewer, longer ones"));
            }
        }
        Ok(Self(frames))
    }
}

/// Returns `count` frames of `secs` seconds.
fn equal_frames(begin_ms: u32, count: &str, secs: &str) -> Option<impl Iterator<Item = Range<u32>> + use<>> {
    let count: u32 = count.trim().parse().ok().filter(|count| (1..=MAX_FRAMES as u32).contains(count))?;
    let duration_ms = ms_of_secs(secs).filter(|ms| *ms > 0)?;
    let is_late = f64::from(begin_ms) + f64::from(count) * f64::from(duration_ms) > 1e3 * LATEST_SECS;
    (!is_late).then(|| (0..count).map(move |k| begin_ms + k * duration_ms..begin_ms + (k + 1) * duration_ms))
}

fn not_frames(item: &str) -> String {
    format!("'{item}' are no frames; give how many and their seconds, as in 6x10, or begin and end in seconds, as in 0-60")
}

fn ms_of_secs(text: &str) -> Option<u32> {
    let secs: f64 = text.trim().trim_end_matches('s').trim_end().parse().ok()?;
    (0.0..=LATEST_SECS).contains(&secs).then(|| (1000.0 * secs).round() as u32)
}

/// Parses a frame, ms.
///
/// # Errors
/// It is none; the text contains the expected form.
pub fn frame_ms(text: &str) -> Result<Range<u32>, String> {
    let ends = text.split_once(['-', '–']).and_then(|(from, to)| Some(ms_of_secs(from)?..ms_of_secs(to)?));
    ends.filter(|frame| frame.start < frame.end)
        .ok_or_else(|| format!("'{text}' is not a frame; give its begin and end in seconds, as in 0-60"))
}

/// Returns a frame as text: "60–300 s".
pub fn frame_text(frame_ms: &Range<u32>) -> String {
    let [from, to] = [frame_ms.start, frame_ms.end].map(|ms| f64::from(ms) / 1e3);
    format!("{from}–{to} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_seconds() {
        assert_eq!(frame_ms("0.1-0.6"), Ok(100..600));
        assert_eq!(frame_ms(" 60 - 300"), Ok(60_000..300_000));
        for wrong in ["5", "6-5", "-1-5", "a-b", "0-1e9", "", "NaN-1"] {
            assert!(frame_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!(frame_text(&(500..60_000)), "0.5–60 s");
    }

    #[test]
    fn equal_frames_follow_the_one_before() {
        let frames = |text: &str| text.parse::<Frames>().map(|frames| frames.0);
        assert_eq!(frames("0-60,60-300"), Ok(vec![0..60_000, 60_000..300_000]));
        assert_eq!(frames("2x10, 1x0.5"), Ok(vec![0..10_000, 10_000..20_000, 20_000..20_500]));
        assert_eq!(frames("5–6, 2×10 s"), Ok(vec![5000..6000, 6000..16_000, 16_000..26_000]));
        for wrong in ["", "0x10", "2x0", "2x", "x", "2x1e9", "1.5x2", "2000x1", "900x1,900x1", "1000x4000,1x1", "0-60,"] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
    }
}
