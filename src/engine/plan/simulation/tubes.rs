//! Tubes of response for a run: stored in a cache, and a coarse set that takes seconds, for runs without other tubes.
//!
//! *The coarse set.* 59 × 30 tubes of 5733 samples need 10⁹ annihilations and more. With 6 distances × 5 ring differences per
//! tube, and a mean over 9 samples along the line, 10⁷ suffice: the coefficients of VrPET are 16 % (RMS; in the outermost groups
//! 20 %) from those of an endless simulation. The sharing alone accounts for 9 % (11 %). Without the running mean it is 27 % (44
//! %).

use std::path::Path;
use std::time::Instant;

use super::cache::{Cache, Recipe};
use super::device_result::{DeviceResult, on_device};
use crate::data::{Notice, SuperLors, TubeSampling, TubeSet};
use crate::io::IoError;
use crate::io::saved_tubes::{read_tubes, write_tubes};
use crate::montecarlo::{Amount, TubeRecipe, TubesError};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
use crate::scanner::{self, ScanGeometry, Scanner};
use crate::task::Task;

/// Tubes of a scanner by a recipe.
struct Tubes<'a> {
    scanner: &'a Scanner,
    recipe: &'a TubeRecipe,
}

impl Recipe for Tubes<'_> {
    type Made = TubeSet;

    const NAME: [&'static str; 2] = ["tubes of response", "were"];

    const READ: fn(&Path) -> Result<TubeSet, IoError> = read_tubes;

    const WRITE: fn(&Path, &TubeSet) -> Result<(), IoError> = write_tubes;

    fn file_name(&self) -> String {
        file_name(self.scanner, self.recipe)
    }

    fn would_make(&self, tubes: &TubeSet) -> bool {
        let Self { scanner, recipe } = self;
        let is_of_recipe = tubes.made.as_ref().is_some_and(|made| {
            let is_enough = match recipe.amount {
                Amount::Histories(num) => made.num_histories == num,
                Amount::Precision(percent) => made.median_error_percent <= percent,
            };
            is_enough
                && made.isotope == recipe.isotope.map(|isotope| isotope.to_string())
                && (made.is_collinear, made.seed) == (recipe.is_collinear, recipe.seed)
                && made.super_lors.map_or(SuperLors::NONE, |shared| shared.sizes) == recipe.super_lors
        });
        is_of_recipe && tubes.scanner == scanner.geometry.scanner && tubes.sampling == TubeSampling::of(&scanner.geometry)
    }

    fn make(&self, device: DeviceChoice, task: &Task) -> Result<DeviceResult<TubeSet>, SetupError> {
        let DeviceResult { result, device, notices } = make_tubes(self.scanner, self.recipe, device, task)?;
        Ok(DeviceResult { result: result.tubes, device, notices })
    }

    fn done(&self, tubes: &TubeSet) -> String {
        format!("simulated with {} annihilations", tubes.made.as_ref().map_or(0, |made| made.num_histories))
    }
}

impl Cache {
    /// Returns the tubes of a scanner by a recipe: stored, or made and then stored. Notices report which, and failures of reading
    /// or storing.
    ///
    /// # Errors
    /// The simulation failed or was stopped; a requested CUDA device is not usable.
    pub fn tubes(
        &self,
        scanner: &Scanner,
        recipe: &TubeRecipe,
        device: DeviceChoice,
        task: &Task,
    ) -> Result<(TubeSet, Vec<Notice>), SetupError> {
        self.find_or_make(&Tubes { scanner, recipe }, device, task)
    }

    /// Returns the coarse set for a scan, stored or made in seconds on a device; notices report which.
    ///
    /// # Errors
    /// The scan has no tubes of response; stopped; a requested CUDA device is not usable.
    pub fn coarse_set(
        &self,
        geometry: &ScanGeometry,
        device: DeviceChoice,
        task: &Task,
    ) -> Result<(TubeSet, Vec<Notice>), SetupError> {
        let scanner = scanner_of_tubes(geometry)?;
        let (tubes, notices) = self.tubes(scanner, &coarse_tubes(), device, task)?;
        let coarse = Notice::info("the coarse set of tubes is used; make your own for a finer image (tomoscope tubes)");
        Ok((tubes, [vec![coarse], notices].concat()))
    }
}

/// Tubes that were simulated.
pub struct MadeTubes {
    /// The tubes.
    pub tubes: TubeSet,
    /// Duration, s.
    pub secs: f64,
}

/// Simulates the tubes of a scanner on a device.
///
/// # Errors
/// The simulation failed or was stopped; a requested CUDA device is not usable.
pub fn make_tubes(
    scanner: &Scanner,
    recipe: &TubeRecipe,
    device: DeviceChoice,
    task: &Task,
) -> Result<DeviceResult<MadeTubes>, SetupError> {
    on_device(device, |platform| {
        let mut simulator = platform.history_simulator()?;
        let start = Instant::now();
        Ok(MadeTubes { tubes: recipe.make(scanner, &mut *simulator, task)?, secs: start.elapsed().as_secs_f64() })
    })
}

/// Returns the recipe of the default set.
fn coarse_tubes() -> TubeRecipe {
    let super_lors = SuperLors { radial: 6, ring_differences: 5, along: 9 };
    TubeRecipe { amount: Amount::Histories(10_000_000), super_lors, ..TubeRecipe::default() }
}

/// Returns the scanner for which the tubes of a scan are simulated.
///
/// # Errors
/// The scan has no tubes of response: the crystals of its scanner are unknown, or it adds ring differences.
pub fn scanner_of_tubes(geometry: &ScanGeometry) -> Result<&'static Scanner, SetupProblem> {
    let scanner = scanner::find_by_originating_system(&geometry.scanner).filter(|scanner| scanner.heads.is_some());
    let Some(scanner) = scanner else {
        return Err(SetupProblem::NoHeads(geometry.scanner.clone()));
    };
    if geometry.segments.iter().any(|segment| segment.is_spanned()) {
        return Err(SetupProblem::Spanned);
    }
    Ok(scanner)
}

/// Tubes of zeros that need as much memory as the coarse set.
///
/// # Errors
/// The scan has no tubes of response.
pub(in crate::plan) fn placeholder(geometry: &ScanGeometry) -> Result<TubeSet, SetupError> {
    let scanner = scanner_of_tubes(geometry)?;
    let sampling = TubeSampling::of(&scanner.geometry);
    let num = sampling.num_coefficients().unwrap_or_default();
    Ok(TubeSet::new(geometry.scanner.clone(), sampling, vec![0.0; num]).map_err(TubesError::from)?)
}

/// Returns a file name that describes scanner and recipe.
fn file_name(scanner: &Scanner, recipe: &TubeRecipe) -> String {
    let isotope = recipe.isotope.map_or_else(|| "none".to_owned(), |isotope| isotope.to_string());
    let angle = if recipe.is_collinear { "-collinear" } else { "" };
    let amount = match recipe.amount {
        Amount::Histories(num) => num.to_string(),
        Amount::Precision(percent) => format!("{percent}percent"),
    };
    let SuperLors { radial, ring_differences, along } = recipe.super_lors;
    let (version, name, seed) = (env!("CARGO_PKG_VERSION"), &scanner.name, recipe.seed);
    format!("{name}-{isotope}{angle}-{amount}-seed{seed}-{radial}x{ring_differences}x{along}-v{version}.tubes")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::coded::Coded as _;
    use crate::data::Severity;
    use crate::io::saved_tubes::data_file;
    use crate::montecarlo::AllThreads;

    fn recipe() -> TubeRecipe {
        TubeRecipe { amount: Amount::Histories(20_000), ..coarse_tubes() }
    }

    fn texts(notices: &[Notice]) -> Vec<(Severity, &str)> {
        notices.iter().map(|notice| (notice.severity, notice.text.as_str())).collect()
    }

    #[test]
    fn stored_tubes_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("not there yet"));
        let scanner = scanner::find("vrpet").unwrap();
        let (made, notices) = cache.tubes(scanner, &recipe(), DeviceChoice::Cpu, &Task::new()).unwrap();
        assert!(
            matches!(texts(&notices)[..], [(Severity::Info, text)] if text.contains("20000 annihilations (CPU) and stored in the cache"))
        );
        // A task that is stopped makes nothing: it was read.
        let stopped = Task::new();
        stopped.stop();
        let (found, notices) = cache.tubes(scanner, &recipe(), DeviceChoice::Cpu, &stopped).unwrap();
        assert_eq!(found, made);
        assert!(
            matches!(texts(&notices)[..], [(Severity::Info, text)] if text.starts_with("tubes of response read from the cache"))
        );
        for other in [
            TubeRecipe { seed: 2, ..recipe() },
            TubeRecipe { isotope: None, ..recipe() },
            TubeRecipe { is_collinear: true, ..recipe() },
            TubeRecipe { super_lors: SuperLors::NONE, ..recipe() },
            TubeRecipe { amount: Amount::Histories(20_001), ..recipe() },
        ] {
            let outcome = cache.tubes(scanner, &other, DeviceChoice::Cpu, &stopped);
            assert!(matches!(&outcome, Err(error) if error.code() == "stopped"), "{other:?} was found");
        }
        assert!(cache.tubes(scanner::find("vrpet-2010").unwrap(), &recipe(), DeviceChoice::Cpu, &stopped).is_err());
    }

    #[test]
    fn broken_or_foreign_tubes_are_refused_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let scanner = scanner::find("vrpet").unwrap();
        let (made, _) = cache.tubes(scanner, &recipe(), DeviceChoice::Cpu, &Task::new()).unwrap();
        let path = folder.path().join(file_name(scanner, &recipe()));
        let assert_made_anew = |reason: &str| {
            let (found, notices) = cache.tubes(scanner, &recipe(), DeviceChoice::Cpu, &Task::new()).unwrap();
            assert_eq!(found, made);
            assert!(texts(&notices)[0].1.contains(reason) && texts(&notices)[0].1.ends_with("made anew"), "{notices:?}");
            assert!(texts(&notices)[1].1.contains("stored in the cache"), "{notices:?}");
        };
        fs::write(data_file(&path), "no floats").unwrap();
        assert_made_anew("are expected");
        fs::write(&path, "version = 9").unwrap();
        assert_made_anew("version 9");
        write_tubes(&path, &TubeRecipe { seed: 7, ..recipe() }.make(scanner, &mut AllThreads, &Task::new()).unwrap()).unwrap();
        assert_made_anew("does not match its name");
        write_tubes(&path, &TubeSet { scanner: "tomoscope small".into(), ..made.clone() }).unwrap();
        assert_made_anew("does not match its name");
    }

    #[test]
    fn tubes_are_made_without_a_cache() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "no folder").unwrap();
        let scanner = scanner::find("vrpet").unwrap();
        for cache in [Cache::at(&file), Cache::nowhere()] {
            let (_, notices) = cache.tubes(scanner, &recipe(), DeviceChoice::Cpu, &Task::new()).unwrap();
            let [notice] = &notices[..] else { panic!("{notices:?}") };
            let is_told = notice.text.contains("in the cache failed") || notice.text.contains("not stored in the cache");
            assert!(is_told && notice.severity != Severity::Error, "{notice:?}");
        }
    }

    #[test]
    fn other_scans_have_no_tubes() {
        let of = |name| scanner_of_tubes(&scanner::find(name).unwrap().geometry);
        assert_eq!(of("vrpet").unwrap().name, "vrpet");
        assert_eq!(of("small"), Err(SetupProblem::NoHeads("tomoscope small".into())));
    }
}
