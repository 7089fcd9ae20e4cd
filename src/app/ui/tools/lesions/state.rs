//! State of the lesions: their rule, their numbers in the displayed image, and the baseline.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::saved::{Baseline, InvalidBaseline, SavedLesions};
use crate::data::{Placement, Roi, ValueScale, Volume};
use crate::geometry::Point;
use crate::measure::lesions::{
    Changes, LesionOptions, LesionTable, LesionThreshold, NoLesions, changes, lesion_regions, measure_lesions,
};
use crate::task::Task;
use crate::ui::layer::second_image::{Registration, SecondImage};
use crate::ui::widgets::background_value::BackgroundValue;

/// Measured image, regions and rule.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    /// Run and generation of the image.
    image: (u64, u64),
    scale: ValueScale,
    rois: Vec<Roi>,
    threshold: LesionThreshold,
    liver: String,
    second: Option<(u64, Registration)>,
}

pub struct LesionInput<'a> {
    /// Run and generation of the image.
    pub image: (u64, u64),
    pub volume: &'a Arc<Volume>,
    /// Scale of the displayed values.
    pub scale: ValueScale,
    pub rois: &'a [Roi],
    /// Second image and its number.
    pub second: Option<(&'a SecondImage, u64)>,
    /// Position of an oblique image.
    pub placement: Option<Placement>,
}

type Measured = Result<Arc<LesionTable>, String>;

/// Lesions of the displayed image.
pub struct LesionState {
    /// Rule that selects their voxels.
    pub threshold: LesionThreshold,
    /// Name of the region in the liver.
    pub liver: String,
    pub baseline: Option<Baseline>,
    measured: BackgroundValue<Key, Measured>,
    changes: Option<Changes>,
}

impl Default for LesionState {
    fn default() -> Self {
        let SavedLesions { threshold, liver, baseline } = SavedLesions::default();
        Self { threshold, liver, baseline, measured: BackgroundValue::default(), changes: None }
    }
}

impl LesionState {
    /// Measures after a change. Work that is under way ends first, so that a live run shows numbers.
    pub fn update(&mut self, input: Option<LesionInput>, wake: impl FnOnce() + Send + 'static) {
        let Some(input) = input.filter(|input| self.has_lesions(input.rois)) else {
            (self.measured, self.changes) = Default::default();
            return;
        };
        let key = self.key(&input);
        let (volume, second) = (Arc::clone(input.volume), input.second.map(|(image, _)| image.clone()));
        let (of, placement) = (key.clone(), input.placement);
        let measure = move || match of.measure(&volume, second.as_ref(), placement.as_ref(), &Task::new()) {
            Ok(table) => Ok(Arc::new(table)),
            Err(reason) => Err(reason.to_string()),
        };
        self.measured.update("lesions", key, Duration::ZERO, wake, measure);
        self.compare();
    }

    fn key(&self, input: &LesionInput) -> Key {
        Key {
            image: input.image,
            scale: input.scale,
            rois: input.rois.to_vec(),
            threshold: self.threshold,
            liver: self.liver.clone(),
            second: input.second.map(|(image, number)| (number, image.registration)),
        }
    }

    /// Returns the numbers if they are those of this input and of the present rule.
    pub fn current(&self, input: &LesionInput) -> Option<&Arc<LesionTable>> {
        let (of, measured) = self.measured.newest()?;
        measured.as_ref().ok().filter(|_| *of == self.key(input))
    }

    /// Returns the newest numbers, or the reason of their absence; `None` before the first.
    pub fn measured(&self) -> Option<&Measured> {
        self.measured.newest().map(|(_, measured)| measured)
    }

    /// Returns the newest numbers.
    pub fn table(&self) -> Option<&Arc<LesionTable>> {
        self.measured()?.as_ref().ok()
    }

    pub fn is_measuring(&self) -> bool {
        self.measured.is_under_way()
    }

    /// Returns the changes since the baseline; `None` without one, or in another unit.
    pub fn changes(&self) -> Option<(&str, &Changes)> {
        Some((self.baseline.as_ref()?.title.as_str(), self.changes.as_ref()?))
    }

    /// Sets or removes the baseline.
    pub fn set_baseline(&mut self, title: Option<String>) {
        let table = self.table().cloned();
        self.baseline = title.zip(table).map(|(title, table)| Baseline { title, numbers: (&*table).into() });
        self.compare();
    }

    /// Returns rule and baseline for a session.
    pub fn saved(&self) -> SavedLesions {
        SavedLesions { threshold: self.threshold, liver: self.liver.clone(), baseline: self.baseline.clone() }
    }

    /// Restores the rule of a session, and its baseline if it has one.
    ///
    /// # Errors
    /// The baseline has a number that no measurement gives; the present baseline remains.
    pub fn restore(&mut self, saved: SavedLesions) -> Result<(), InvalidBaseline> {
        (self.threshold, self.liver) = (saved.threshold, saved.liver);
        if let Some(baseline) = saved.baseline {
            if !baseline.numbers.is_valid() {
                return Err(InvalidBaseline(baseline.title));
            }
            self.baseline = Some(baseline);
            self.compare();
        }
        Ok(())
    }

    fn compare(&mut self) {
        let table = self.table().cloned();
        self.changes = self.baseline.as_ref().zip(table).and_then(|(baseline, table)| changes(&baseline.numbers, &table));
    }

    /// Returns true if the regions contain a lesion.
    pub fn has_lesions(&self, rois: &[Roi]) -> bool {
        lesion_regions(rois, &self.liver).next().is_some()
    }
}

impl Key {
    /// Measures the lesions in the displayed unit.
    fn measure(
        &self,
        volume: &Volume,
        second: Option<&SecondImage>,
        placement: Option<&Placement>,
        task: &Task,
    ) -> Result<LesionTable, NoLesions> {
        let is_own = self.scale == ValueScale::own(volume.unit);
        let volume = if is_own { Cow::Borrowed(volume) } else { Cow::Owned(volume.converted(self.scale)) };
        let value = |point: Point| second?.value_at(placement, point);
        let options = LesionOptions { threshold: self.threshold, liver: &self.liver, second: second.is_some().then_some(&value) };
        measure_lesions(&volume, &self.rois, options, task)
    }
}
