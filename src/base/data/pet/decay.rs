//! Radioactive decay: mean activity in a time interval.
//!
//! (1/(t₂ − t₁)) ∫ exp(−λ t) dt from t₁ to t₂ = exp(−λ t₁) (1 − exp(−λ (t₂ − t₁))) / (λ (t₂ − t₁)), λ = ln 2 / half-life.

/// Returns the mean activity between two times, s, relative to that at time 0; the second time is the later one.
pub fn mean_decay(half_life_secs: f64, [begin, end]: [f64; 2]) -> f64 {
    let rate = std::f64::consts::LN_2 / half_life_secs;
    let x = rate * (end - begin);
    let within = if x > 0.0 { -(-x).exp_m1() / x } else { 1.0 };
    (-rate * begin).exp() * within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_left_after_a_half_life() {
        // Over the first half-life 1/(2 ln 2), over the second half of that; in a moment what is there then.
        let first = 0.5 / std::f64::consts::LN_2;
        assert!((mean_decay(60.0, [0.0, 60.0]) - first).abs() < 1e-15);
        assert!((mean_decay(60.0, [60.0, 120.0]) - 0.5 * first).abs() < 1e-15);
        assert!((mean_decay(60.0, [120.0, 120.0]) - 0.25).abs() < 1e-15);
        assert!((mean_decay(1e30, [0.0, 1.0]) - 1.0).abs() < 1e-15);
    }
}
