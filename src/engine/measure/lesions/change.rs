//! Change of lesions from a baseline to a later image, by the names of their regions.

use std::collections::HashMap;

use super::baseline::{LesionBaseline, LesionNumbers};
use super::percist::LiverReference;
use super::table::LesionTable;

/// Change of a number from the baseline to a later image.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// Difference, later − baseline.
    pub difference: f64,
    /// Difference over the baseline's number; `None` of a baseline of 0.
    pub part: Option<f64>,
}

impl Change {
    /// Returns the change from a number to a later one.
    pub fn new(baseline: f64, later: f64) -> Self {
        let difference = later - baseline;
        Self { difference, part: (baseline != 0.0).then(|| difference / baseline) }
    }

    /// Returns the change if both numbers exist.
    fn of(baseline: Option<f64>, later: Option<f64>) -> Option<Self> {
        Some(Self::new(baseline?, later?))
    }
}

/// Change of a lesion, or of the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LesionChange {
    /// Change of the maximum.
    pub max: Option<Change>,
    /// Change of the peak; of the total that of the largest peak, which may be another lesion's.
    pub peak: Option<Change>,
    /// Change of the volume, mL.
    pub volume_ml: Option<Change>,
    /// Change of the total glycolysis, mL in the unit of the image.
    pub total_ml: Option<Change>,
}

impl LesionChange {
    fn new(baseline: &LesionNumbers, later: &LesionNumbers) -> Self {
        Self {
            max: Change::of(baseline.max, later.max),
            peak: Change::of(baseline.peak, later.peak),
            volume_ml: Some(Change::new(baseline.volume_ml, later.volume_ml)),
            total_ml: Some(Change::new(baseline.total_ml, later.total_ml)),
        }
    }
}

/// Changes of the lesions of an image since a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// Changes of its lesions, in their order; `None` where the baseline has no numbers of one lesion with this name.
    pub lesions: Vec<Option<LesionChange>>,
    /// Change of the total.
    pub total: LesionChange,
    /// Names of the lesions of the baseline that this image does not have.
    pub missing: Vec<String>,
    /// Names that several lesions of one image have, which are not compared.
    pub ambiguous: Vec<String>,
    /// Livers of the baseline and of this image.
    pub livers: Option<[LiverReference; 2]>,
}

/// Returns the changes of lesions since a baseline in the same unit; `None` in another unit.
pub fn changes(baseline: &LesionBaseline, later: &LesionTable) -> Option<Changes> {
    if baseline.unit != later.unit {
        return None;
    }
    let later = LesionBaseline::from(later);
    let counted = |image: &LesionBaseline| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        image.lesions.iter().for_each(|lesion| *counts.entry(lesion.name.clone()).or_default() += 1);
        counts
    };
    let [before, now] = [baseline, &later].map(counted);
    let is_ambiguous = |name: &str| [&before, &now].iter().any(|counts| counts.get(name).is_some_and(|count| *count > 1));
    let change = |name: &str, numbers: Option<&LesionNumbers>| {
        let first = baseline.lesions.iter().find(|lesion| lesion.name == name && lesion.numbers.is_some())?;
        Some(LesionChange::new(first.numbers.as_ref()?, numbers?)).filter(|_| !is_ambiguous(name))
    };
    let mut ambiguous: Vec<String> = before.keys().chain(now.keys()).filter(|name| is_ambiguous(name)).cloned().collect();
    ambiguous.sort();
    ambiguous.dedup();
    Some(Changes {
        lesions: later.lesions.iter().map(|lesion| change(&lesion.name, lesion.numbers.as_ref())).collect(),
        total: LesionChange::new(&baseline.total, &later.total),
        missing: baseline.lesions.iter().map(|lesion| lesion.name.clone()).filter(|name| !now.contains_key(name)).collect(),
        ambiguous,
        livers: baseline.liver.zip(later.liver).map(|(baseline, later)| [baseline, later]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Roi, RoiShape, Unit, Volume};
    use crate::geometry::Grid;
    use crate::measure::lesions::{LesionOptions, LesionThreshold, measure_lesions};
    use crate::task::Task;

    fn table(value: f32, names: &[&str]) -> LesionTable {
        let volume = Volume::filled(Grid::centred([20; 3], [2.0; 3]).unwrap(), value);
        let rois: Vec<Roi> = names.iter().map(|name| Roi::new(*name, RoiShape::Sphere { radius_mm: 8.0 }, [0.0; 3])).collect();
        let options = LesionOptions { threshold: LesionThreshold::Regions, liver: "liver", second: None };
        measure_lesions(&volume, &rois, options, &Task::new()).unwrap()
    }

    #[test]
    fn lesions_are_compared_by_their_names() {
        let (baseline, later) = (table(8.0, &["a", "b", "gone"]), table(2.0, &["b", "new", "a"]));
        let found = changes(&(&baseline).into(), &later).unwrap();
        assert_eq!((found.lesions[1], &found.missing), (None, &vec!["gone".to_owned()]));
        for index in [0, 2] {
            let change = found.lesions[index].unwrap();
            assert!((change.peak.unwrap().part.unwrap() + 0.75).abs() < 1e-6);
            assert_eq!(change.volume_ml, Some(Change { difference: 0.0, part: Some(0.0) }));
            let volume_ml = later.measured().next().unwrap().1.volume_ml;
            assert!((change.total_ml.unwrap().difference + 6.0 * volume_ml).abs() < 1e-6);
        }
        assert!((found.total.peak.unwrap().part.unwrap() + 0.75).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_compared_that_has_two_meanings() {
        let (baseline, later) = (table(8.0, &["a", "b"]), table(2.0, &["a", "a", "b"]));
        let found = changes(&(&baseline).into(), &later).unwrap();
        assert_eq!((&found.ambiguous[..], found.lesions[0], found.lesions[1]), (&["a".to_owned()][..], None, None));
        assert!(found.lesions[2].is_some());
        let other = LesionTable { unit: Unit::SuvBodyWeight, ..later };
        assert_eq!(changes(&(&baseline).into(), &other), None);
        assert_eq!(Change::new(0.0, 2.0), Change { difference: 2.0, part: None });
    }
}
