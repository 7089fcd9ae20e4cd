//! Which facts of a PET scan can be. A value outside its range is in another unit, or belongs to another scan.

use std::ops::RangeInclusive;

use super::nuclide::{NUCLIDES, Nuclide};

/// Weights of patients and animals, kg: a young mouse has 5 g.
pub const WEIGHT_KG: RangeInclusive<f64> = 0.005..=1000.0;

/// Heights of patients, m.
pub const HEIGHT_M: RangeInclusive<f64> = 0.2..=2.8;

/// Injected activity by weight, MBq/kg: 0.5 of ⁸⁹Zr (37 MBq in 75 kg) to 40 of ⁸²Rb (2.2 GBq).
pub const DOSE_MBQ_PER_KG: RangeInclusive<f64> = 0.1..=50.0;

/// Injected activity by weight of animals below [`SMALL_KG`], MBq/kg: 0.2 MBq in a rat of 0.3 kg to 100 MBq in a mouse of 20 g.
pub const SMALL_DOSE_MBQ_PER_KG: RangeInclusive<f64> = 0.5..=5000.0;

/// Weight below which the activity by weight is that of small animals, kg.
pub const SMALL_KG: f64 = 2.0;

/// Half-lives of tracers, s: ⁸²Rb has 75 s, ⁴⁸V 16 days; sources of ⁶⁸Ge 271 days.
pub const HALF_LIFE_SECS: RangeInclusive<f64> = 60.0..=300.0 * 86400.0;

/// Largest difference of a half-life from that of its nuclide; published half-lives differ by less.
const HALF_LIFE_DIFFERENCE: f64 = 0.03;

/// Most half-lives from the injection to the scan: a thousandth of the activity is left.
pub const MAX_HALF_LIVES: f64 = 10.0;

/// Longest time from the injection to the scan, s: ⁸⁹Zr and ¹²⁴I are imaged for a week.
pub const MAX_UPTAKE_SECS: f64 = 14.0 * 86400.0;

/// Largest uptake value of an image: the rest at the place of an injection has some hundreds.
const MAX_UPTAKE: f64 = 1000.0;

/// Half-life above which an injection without a date is not assumed to be of the day of the scan, s.
pub const SAME_DAY_SECS: f64 = 86400.0;

/// Returns the range of the injected activity of a patient or animal, MBq/kg.
pub fn dose_mbq_per_kg(weight_kg: f64) -> RangeInclusive<f64> {
    if weight_kg < SMALL_KG { SMALL_DOSE_MBQ_PER_KG } else { DOSE_MBQ_PER_KG }
}

/// Returns the warning about an uptake value that no tissue has.
pub fn high_uptake(largest: f64) -> Option<String> {
    (largest > MAX_UPTAKE).then(|| {
        format!("its largest uptake value is {largest:.3e}, above {MAX_UPTAKE}: check the units of dose, weight and values, and the times")
    })
}

/// Returns the nuclide of a half-life that was given in a wrong unit, with that unit: minutes, hours or days.
pub fn wrong_unit(half_life: f64) -> Option<(&'static Nuclide, &'static str)> {
    let units = [("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0)];
    units.into_iter().find_map(|(unit, secs)| {
        let nuclide = NUCLIDES.iter().find(|nuclide| has_half_life(nuclide, secs * half_life))?;
        Some((nuclide, unit))
    })
}

/// Returns true if a half-life in s is that of a nuclide.
pub fn has_half_life(nuclide: &Nuclide, secs: f64) -> bool {
    is_same_half_life(secs, nuclide.half_life_secs)
}

/// Returns true if two half-lives can be of one nuclide.
pub fn is_same_half_life(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= HALF_LIFE_DIFFERENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_half_lives_are_recognised() {
        let name = |half_life: f64| wrong_unit(half_life).map(|(nuclide, unit)| (nuclide.name, unit));
        assert_eq!(name(109.77), Some(("F-18", "minutes")));
        assert_eq!(name(78.4), Some(("Zr-89", "hours")));
        assert_eq!(name(1e5), None);
        assert!(NUCLIDES.iter().all(|nuclide| wrong_unit(nuclide.half_life_secs).is_none()));
        assert!(has_half_life(Nuclide::find("F-18").unwrap(), 6588.0) && !has_half_life(Nuclide::find("F-18").unwrap(), 1223.4));
    }

    #[test]
    fn usual_activities_are_in_their_range() {
        // MBq and kg: FDG, ⁸²Rb, ⁸⁹Zr, a newborn, a rat, a mouse.
        for (mbq, kg) in [(370.0, 70.0), (2200.0, 60.0), (37.0, 90.0), (14.0, 3.0), (20.0, 0.3), (0.2, 0.3), (10.0, 0.02)] {
            assert!(dose_mbq_per_kg(kg).contains(&(mbq / kg)), "{mbq} MBq, {kg} kg");
        }
        // kBq and Bq for MBq, g for kg.
        for (mbq, kg) in [(0.37, 70.0), (370e6, 70.0), (370.0, 0.07), (0.005, 0.02)] {
            assert!(!dose_mbq_per_kg(kg).contains(&(mbq / kg)), "{mbq} MBq, {kg} kg");
        }
    }
}
