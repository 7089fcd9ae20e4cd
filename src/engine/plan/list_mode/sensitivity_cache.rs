//! Cache of sensitivity images of list-mode data: computing one of 355 million crystal pairs takes seconds, reading it none.

use std::path::Path;
use std::time::Instant;

use super::sensitivity::{Sensitivity, SensitivitySettings, has_window_in, list_sensitivity};
use crate::data::{Attenuation, Fingerprint, ListMetadata, Notice, TofException, TofMeasurement};
use crate::io::IoError;
use crate::io::saved_sensitivity::{SavedSensitivity, read_sensitivity, write_sensitivity};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::simulation::cache::{Cache, Recipe};
use crate::plan::simulation::device_result::DeviceResult;
use crate::task::Task;
use crate::text::counted;

/// Beginning of the names of stored sensitivities.
const BEGINNING: &str = "sensitivity-";
/// Maximum number of stored files: each attenuation map and each grid has its own, of some megabytes.
const MAX_STORED: usize = 32;

/// A sensitivity of a list.
struct ListSensitivity<'a> {
    facts: &'a ListMetadata,
    settings: &'a SensitivitySettings,
    /// Fingerprint of all that it depends on.
    made_of: String,
}

impl Recipe for ListSensitivity<'_> {
    type Made = SavedSensitivity;

    const NAME: [&'static str; 2] = ["the sensitivity", "was"];

    const READ: fn(&Path) -> Result<SavedSensitivity, IoError> = read_sensitivity;

    const WRITE: fn(&Path, &SavedSensitivity) -> Result<(), IoError> = write_sensitivity;

    const MAX_STORED: Option<(usize, &'static str)> = Some((MAX_STORED, BEGINNING));

    fn file_name(&self) -> String {
        format!("{BEGINNING}{}-v{}.sensitivity", self.made_of, env!("CARGO_PKG_VERSION"))
    }

    fn would_make(&self, made: &SavedSensitivity) -> bool {
        made.made_of == self.made_of && made.volume.grid == self.settings.grid
    }

    fn make(&self, device: DeviceChoice, task: &Task) -> Result<DeviceResult<SavedSensitivity>, SetupError> {
        let begin = Instant::now();
        let settings = SensitivitySettings { device, ..self.settings.clone() };
        let Sensitivity { volume, num_pairs, is_of_planes } = list_sensitivity(self.facts, &settings, task)?;
        let how = if is_of_planes { "all planes at once" } else { "one after the other" };
        let device = format!("{how}, {:.2} s", begin.elapsed().as_secs_f64());
        let result = SavedSensitivity { made_of: self.made_of.clone(), num_pairs, volume };
        Ok(DeviceResult { result, device, notices: Vec::new() })
    }

    fn done(&self, made: &SavedSensitivity) -> String {
        format!("computed from {}", counted(made.num_pairs as usize, "pair of crystals"))
    }
}

impl Cache {
    /// Returns the sensitivity of list-mode data, read from the cache or computed and stored; notices report which. `task` counts
    /// the progress.
    ///
    /// # Errors
    /// Stopped, too little memory, device failure.
    pub(in crate::plan) fn list_sensitivity(
        &self,
        facts: &ListMetadata,
        settings: &SensitivitySettings,
        task: &Task,
    ) -> Result<(SavedSensitivity, Vec<Notice>), SetupError> {
        let recipe = ListSensitivity { facts, settings, made_of: fingerprint(facts, settings).digits() };
        self.find_or_make(&recipe, settings.device, task)
    }
}

/// Returns the fingerprint of all inputs of a sensitivity but the device, which computes the same.
fn fingerprint(facts: &ListMetadata, settings: &SensitivitySettings) -> Fingerprint {
    let ListMetadata { detectors, efficiency, attenuation, sampling, tof, .. } = facts;
    let SensitivitySettings { grid, fov_radius_mm, rays, device: _ } = settings;
    let mut of = Fingerprint::default();
    for crystal in detectors.crystals() {
        let sides = crystal.axes.iter().flatten();
        crystal.centre_mm.iter().chain(sides).chain(&crystal.size_mm).for_each(|value| of.number(*value));
    }
    of.whole(efficiency.is_some().into());
    if let Some(efficiency) = efficiency {
        efficiency.identify(&mut of);
    }
    match attenuation {
        Attenuation::Untold | Attenuation::InFactors => of.text("no map"),
        Attenuation::Maps(maps) => maps.iter().for_each(|map| of.volume(&map.per_mm)),
    }
    let sampling = sampling.map_or([0, u64::MAX], |s| [s.num_tangential as u64, s.max_ring_difference as u64]);
    sampling.into_iter().for_each(|value| of.whole(value));
    // Only windows that end near the image matter.
    if let Some(TofMeasurement { fwhm_mm, window_mm, edges_mm: _, exceptions }) =
        tof.as_ref().filter(|_| has_window_in(facts, *fov_radius_mm))
    {
        of.text("windows");
        [*fwhm_mm, window_mm[0], window_mm[1]].into_iter().for_each(|value| of.number(value));
        for TofException { crystals: [first, second], fwhm_mm, window_mm, edges_mm: _ } in exceptions {
            [first.start, first.end, second.start, second.end].into_iter().for_each(|number| of.whole(number.into()));
            [*fwhm_mm, window_mm[0], window_mm[1]].into_iter().for_each(|value| of.number(value));
        }
    }
    of.grid(grid);
    of.number(*fov_radius_mm);
    of.whole(rays.tangential as u64);
    of.whole(rays.axial as u64);
    of.number(rays.axial_mm.unwrap_or(0.0));
    of
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::data::{AttenuationMap, ListSampling, PairEfficiency, Volume};
    use crate::geometry::Grid;
    use crate::io::saved_sensitivity::data_file;
    use crate::scanner::{Crystal, Detectors, PairRays, find};

    #[derive(Debug)]
    struct All(f32);

    impl PairEfficiency for All {
        fn of(&self, _: [u32; 2]) -> f32 {
            self.0
        }

        fn identify(&self, into: &mut Fingerprint) {
            into.number(self.0.into());
        }
    }

    fn facts() -> ListMetadata {
        ListMetadata::new("test", Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap()))
    }

    fn settings() -> SensitivitySettings {
        let grid = Grid::centred([9, 9, 3], [8.0, 8.0, 5.0]).unwrap();
        SensitivitySettings { grid, fov_radius_mm: 30.0, rays: PairRays::ONE, device: DeviceChoice::Cpu }
    }

    #[test]
    fn one_that_was_computed_is_found_again_and_another_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let (made, notices) = cache.list_sensitivity(&facts(), &settings(), &Task::new()).unwrap();
        assert!(notices[0].text.contains("was computed from") && notices[0].text.contains("stored in the cache"), "{notices:?}");
        // A task that is stopped computes nothing: it was read.
        let stopped = Task::new();
        stopped.stop();
        let (found, notices) = cache.list_sensitivity(&facts(), &settings(), &stopped).unwrap();
        assert_eq!(found, made);
        assert!(
            matches!(&notices[..], [one] if one.text.starts_with("the sensitivity read from the cache") && one.text.ends_with(" s"))
        );
        // The device, the format and the duration do not matter; all that the numbers depend on does.
        let same = ListMetadata { format: "another".into(), duration_ms: Some(7), ..facts() };
        let on_device = SensitivitySettings { device: DeviceChoice::Auto, ..settings() };
        assert!(cache.list_sensitivity(&same, &on_device, &stopped).is_ok());
        let moved = {
            let mut crystals: Vec<Crystal> = facts().detectors.crystals().to_vec();
            crystals[5].centre_mm[2] += 1e-6;
            Arc::new(Detectors::new("small", crystals).unwrap())
        };
        let map = |value: f32| {
            let per_mm = Volume::filled(settings().grid, value);
            Attenuation::Maps(vec![Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm, ct: None })])
        };
        // So does a window that ends near the image, and one far away does not.
        let tof =
            |half_mm: f64| Some(TofMeasurement { fwhm_mm: 20.0, window_mm: [-half_mm, half_mm], ..TofMeasurement::default() });
        assert!(cache.list_sensitivity(&ListMetadata { tof: tof(900.0), ..facts() }, &settings(), &stopped).is_ok());
        let near = ListMetadata { tof: tof(30.0), ..facts() };
        cache.list_sensitivity(&near, &settings(), &Task::new()).unwrap();
        assert!(cache.list_sensitivity(&near, &settings(), &stopped).is_ok());
        let exception = TofException { crystals: [5..9, 0..5], fwhm_mm: 20.0, window_mm: [-20.0, 20.0], edges_mm: Vec::new() };
        let differing = TofMeasurement { exceptions: vec![exception], ..tof(30.0).unwrap() };
        let sampling = ListSampling { num_tangential: 31, max_ring_difference: 2 };
        for other in [
            ListMetadata { tof: tof(31.0), ..facts() },
            ListMetadata { tof: Some(TofMeasurement { fwhm_mm: 21.0, ..tof(30.0).unwrap() }), ..facts() },
            ListMetadata { tof: Some(differing), ..facts() },
            ListMetadata { detectors: moved, ..facts() },
            ListMetadata { efficiency: Some(Arc::new(All(1.0))), ..facts() },
            ListMetadata { attenuation: map(0.0), ..facts() },
            ListMetadata { sampling: Some(sampling), ..facts() },
        ] {
            assert!(cache.list_sensitivity(&other, &settings(), &stopped).is_err(), "{other:?} was found");
        }
        let base = settings();
        for other in [
            SensitivitySettings { grid: Grid::centred([9, 9, 3], [8.0, 8.0, 5.001]).unwrap(), ..base.clone() },
            SensitivitySettings { fov_radius_mm: 31.0, ..base.clone() },
            SensitivitySettings { rays: PairRays { axial: 2, ..PairRays::ONE }, ..base.clone() },
            SensitivitySettings { rays: PairRays { tangential: 2, ..PairRays::ONE }, ..base },
        ] {
            assert!(cache.list_sensitivity(&facts(), &other, &stopped).is_err(), "{other:?} was found");
        }
    }

    #[test]
    fn a_broken_or_foreign_file_is_reported_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let find = || cache.list_sensitivity(&facts(), &settings(), &Task::new()).unwrap();
        let (made, _) = find();
        let made_of = fingerprint(&facts(), &settings()).digits();
        let path =
            folder.path().join(ListSensitivity { facts: &facts(), settings: &settings(), made_of: made_of.clone() }.file_name());
        let assert_made_anew = |reason: &str| {
            let (found, notices) = find();
            assert_eq!(found, made);
            assert!(notices[0].text.contains(reason) && notices[0].text.ends_with("made anew"), "{notices:?}");
            assert!(notices[1].text.contains("stored in the cache"), "{notices:?}");
            assert!(matches!(&find().1[..], [one] if one.text.starts_with("the sensitivity read from the cache")));
        };
        let mut bytes = fs::read(data_file(&path)).unwrap();
        bytes[7] ^= 1;
        fs::write(data_file(&path), bytes).unwrap();
        assert_made_anew("do not belong together");
        fs::write(data_file(&path), "short").unwrap();
        assert_made_anew("are expected");
        fs::write(&path, "version = 9").unwrap();
        assert_made_anew("version 9");
        write_sensitivity(&path, &SavedSensitivity { made_of: "another".into(), ..made.clone() }).unwrap();
        assert_made_anew("does not match its name");
        let grid = Grid::centred([9, 9, 3], [8.0, 8.0, 6.0]).unwrap();
        write_sensitivity(&path, &SavedSensitivity { volume: Volume::filled(grid, 1.0), ..made.clone() }).unwrap();
        assert_made_anew("does not match its name");
        write_sensitivity(&path, &SavedSensitivity { volume: Volume::filled(settings().grid, -1.0), ..made.clone() }).unwrap();
        assert_made_anew("negative or non-finite");
    }

    #[test]
    fn the_oldest_go_when_there_are_many_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        fs::write(folder.path().join("other.tubes"), "").unwrap();
        let old = |number: usize| folder.path().join(format!("{BEGINNING}{number}-v0.sensitivity"));
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for number in 0..MAX_STORED + 2 {
            fs::write(data_file(&old(number)), "").unwrap();
            let file = fs::File::create(old(number)).unwrap();
            file.set_modified(long_ago + std::time::Duration::from_secs(number as u64)).unwrap();
        }
        cache.list_sensitivity(&facts(), &settings(), &Task::new()).unwrap();
        let is_there = |number: usize| [old(number).exists(), data_file(&old(number)).exists()];
        let expected = (0..MAX_STORED + 2).map(|number| [number > 2; 2]);
        assert!((0..MAX_STORED + 2).map(is_there).eq(expected));
        assert!(folder.path().join("other.tubes").exists());
    }
}
