//! The width of a peak that is known at a few samples only, interpolated linearly between them.

/// Returns the full width at half of the largest of some samples that lie `spacing_mm` apart, mm. `None` where there is no peak,
/// or it does not fall to its half on both sides.
pub fn full_width_at_half_maximum(values: &[f64], spacing_mm: f64) -> Option<f64> {
    let (peak, &largest) = values.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let half = 0.5 * largest;
    // Distance from the peak at which a side falls to the half: between the last sample above it and the first one below.
    let fall = |side: &mut dyn Iterator<Item = f64>| {
        let mut above = largest;
        for (steps, value) in side.enumerate() {
            if value <= half {
                return Some(steps as f64 + (above - half) / (above - value));
            }
            above = value;
        }
        None
    };
    let left = fall(&mut values[..peak].iter().rev().copied())?;
    let right = fall(&mut values[peak + 1..].iter().copied())?;
    Some((left + right) * spacing_mm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_half_as_wide_as_its_foot() {
        let width = |values: &[f64]| full_width_at_half_maximum(values, 0.5);
        assert_eq!(width(&[0.0, 1.0, 2.0, 1.0, 0.0]), Some(1.0));
        assert_eq!(width(&[0.0, 4.0, 0.0]), Some(0.5));
        assert_eq!(width(&[0.0, 3.0, 4.0, 1.0]), Some((1.0 + 1.0 / 3.0 + 2.0 / 3.0) * 0.5));
    }

    #[test]
    fn peaks_above_their_half_have_no_width() {
        for values in [&[][..], &[0.0, 0.0], &[2.0, 1.5, 0.0], &[0.0, 2.0, 1.5], &[1.0], &[0.0, f64::INFINITY, 0.0]] {
            assert_eq!(full_width_at_half_maximum(values, 1.0), None, "{values:?}");
        }
    }
}
