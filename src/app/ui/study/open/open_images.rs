//! Open images of another program.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::{DateTime, Time};

use crate::data::{ImageSeries, PetScan, Sex, Sourced, ValueScale};
use crate::data::{NoSuv, SuvDefinition, suv_factor};

/// Source of a fact that the user has changed.
pub const ENTERED: &str = "entered here";

/// Images of another program, and the unit in which they are shown.
pub struct OpenImages {
    pub series: Arc<ImageSeries>,
    /// Their file or folder.
    pub path: Option<PathBuf>,
    /// Facts of a PET scan, with the user's changes.
    pub pet: Option<PetScan>,
    /// Definition of the uptake values that are shown; `None`: the images' own unit.
    pub uptake: Option<SuvDefinition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PetMoment {
    /// Injection of the tracer.
    Injection,
    /// Start of the scan.
    Scan,
}

impl PetMoment {
    pub fn name(self) -> &'static str {
        match self {
            PetMoment::Injection => "Injection",
            PetMoment::Scan => "Scan",
        }
    }

    fn of(self, scan: &mut PetScan) -> &mut Option<Sourced<DateTime>> {
        match self {
            PetMoment::Injection => &mut scan.injection,
            PetMoment::Scan => &mut scan.scan_start,
        }
    }
}

/// Unit and changed facts in a session. `None`: the fact of the file; the number 0: a removed fact.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageChanges {
    /// Definition of the uptake values that are shown; `None`: the images' own unit.
    pub uptake: Option<SuvDefinition>,
    /// Injected activity, Bq.
    pub dose_bq: Option<f64>,
    pub half_life_secs: Option<f64>,
    pub weight_kg: Option<f64>,
    pub height_m: Option<f64>,
    pub sex: Option<Sex>,
    pub injection: Option<DateTime>,
    pub scan_start: Option<DateTime>,
}

impl ImageChanges {
    /// Replaces values that the panel cannot make.
    pub fn sanitize(&mut self) {
        for fact in [&mut self.dose_bq, &mut self.half_life_secs, &mut self.weight_kg, &mut self.height_m] {
            *fact = fact.filter(|value| value.is_finite() && *value >= 0.0);
        }
    }
}

impl OpenImages {
    /// Returns the state of these images; uptake values by body weight are shown where they are known.
    pub fn new(series: Arc<ImageSeries>, path: Option<PathBuf>) -> Self {
        let mut open = Self { pet: series.pet.clone(), series, path, uptake: None };
        let default = SuvDefinition::default();
        open.uptake = open.factor(default).is_ok_and(|factor| factor != 1.0).then_some(default);
        open
    }

    /// Returns the uptake value of 1 of the images' own values.
    ///
    /// # Errors
    /// Missing facts, or an image without the necessary corrections.
    pub fn factor(&self, definition: SuvDefinition) -> Result<f64, NoSuv> {
        let scan = self.pet.as_ref().ok_or_else(|| NoSuv::Values(self.series.unit().label().to_owned()))?;
        suv_factor(scan, definition)
    }

    /// Returns the scale of the uptake values that are shown.
    pub fn uptake_scale(&self) -> Option<ValueScale> {
        let definition = self.uptake?;
        Some(ValueScale { unit: definition.unit(), factor: self.factor(definition).ok()? })
    }

    /// Sets a moment by its typed text: date and time, or the time alone on the same day.
    ///
    /// # Errors
    /// The text is neither.
    pub fn set_moment(&mut self, moment: PetMoment, typed: &str) -> Result<(), String> {
        let Some(scan) = &mut self.pet else { return Ok(()) };
        let fact = moment.of(scan);
        let typed = typed.trim();
        // A date alone would be midnight.
        let whole = typed.parse::<DateTime>().ok().filter(|_| typed.contains(':'));
        let time = typed.parse::<Time>().ok().filter(|_| !typed.contains('-'));
        let same_day = time.zip(fact.as_ref()).map(|(time, fact)| fact.value.date().to_datetime(time));
        let expected = || format!("{}: '{typed}' is no date and time; enter it as 2026-11-26 10:30:00", moment.name());
        *fact = Some(Sourced::new(whole.or(same_day).ok_or_else(expected)?, ENTERED));
        Ok(())
    }

    /// Returns unit and changed facts for a session.
    pub fn changes(&self) -> ImageChanges {
        let mut changes = ImageChanges { uptake: self.uptake, ..ImageChanges::default() };
        let Some((scan, of_file)) = self.pet.as_ref().zip(self.series.pet.as_ref()) else { return changes };
        let number = |of: fn(&PetScan) -> &Option<Sourced<f64>>| {
            let fact = of(scan);
            (fact != of(of_file)).then(|| fact.as_ref().map_or(0.0, |fact| fact.value))
        };
        changes.dose_bq = number(|scan| &scan.dose_bq);
        changes.half_life_secs = number(|scan| &scan.half_life_secs);
        changes.weight_kg = number(|scan| &scan.weight_kg);
        changes.height_m = number(|scan| &scan.height_m);
        changes.sex = entered(&scan.sex);
        changes.injection = entered(&scan.injection);
        changes.scan_start = entered(&scan.scan_start);
        changes
    }

    /// Restores unit and changed facts of a session.
    pub fn restore(&mut self, changes: &ImageChanges) {
        self.uptake = changes.uptake;
        let Some(scan) = &mut self.pet else { return };
        for (fact, changed) in [
            (&mut scan.dose_bq, changes.dose_bq),
            (&mut scan.half_life_secs, changes.half_life_secs),
            (&mut scan.weight_kg, changes.weight_kg),
            (&mut scan.height_m, changes.height_m),
        ] {
            if let Some(value) = changed {
                *fact = (value > 0.0).then(|| Sourced::new(value, ENTERED));
            }
        }
        let sourced = |value| Sourced::new(value, ENTERED);
        scan.sex = changes.sex.map(|sex| Sourced::new(sex, ENTERED)).or(scan.sex.take());
        scan.injection = changes.injection.map(sourced).or(scan.injection.take());
        scan.scan_start = changes.scan_start.map(sourced).or(scan.scan_start.take());
    }
}

/// Returns the value of a fact that the user has entered.
fn entered<T: Copy>(fact: &Option<Sourced<T>>) -> Option<T> {
    fact.as_ref().filter(|fact| fact.source == ENTERED).map(|fact| fact.value)
}
