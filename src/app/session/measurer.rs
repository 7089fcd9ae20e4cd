//! Measures the stored iterates in parallel with the solver: the curve of a dragged region, comparisons with a reference, and
//! peaks along a line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender};

use super::history::History;
use super::outgoing::EventSender;
use super::protocol::number;
use super::recovery::search::RecoverySearch;
use super::transport::Query;
use super::{CompareWith, Comparison, Event, EventKind, PeakLine, PeaksPoint, RoiSet, RunId, StoredIterate};
use crate::data::{IterateId, MaskedRois, Roi, RoiMask, RoiSums};
use crate::measure::{Convergence, PetricMasks, correlation, relative_difference, widths_along};

/// Message to the measurer.
pub(super) enum Input {
    Query(Query),
    /// Reports that the solver measures the current regions from here on: iterates stored before remain to be measured.
    CatchUp,
    /// Reports a new stored iterate.
    Stored,
    Quit,
}

/// Thread that measures. Dropping it ends the thread.
pub(super) struct Measurer {
    inputs: Sender<Input>,
    thread: Option<JoinHandle<()>>,
}

impl Measurer {
    /// Starts the thread, which sends its results through `events`.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(inputs: Sender<Input>, inbox: Receiver<Input>, history: History, events: EventSender) -> io::Result<Self> {
        let thread = Builder::new().name("measurer".into()).spawn(move || run(&inbox, &history, &events))?;
        Ok(Self { inputs, thread: Some(thread) })
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ = self.inputs.send(Input::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(inbox: &Receiver<Input>, history: &History, events: &EventSender) {
    let mut edits: BTreeMap<RunId, Edit> = BTreeMap::new();
    let mut lines: BTreeMap<RunId, Along> = BTreeMap::new();
    let mut searches: BTreeMap<RunId, RecoverySearch> = BTreeMap::new();
    let mut similarity: Option<Similarity> = None;
    while let Ok(input) = inbox.recv() {
        let mut edited: BTreeMap<RunId, RoiSet> = BTreeMap::new();
        let mut is_behind = false;
        // Edits of a dragged region arrive faster than they can be measured: only the last of a series counts.
        for input in std::iter::once(input).chain(inbox.try_iter()) {
            match input {
                Input::Query(Query::Rois(run, rois)) => _ = edited.insert(run, rois),
                Input::Query(Query::Compare(reference, RoiSet { rois, .. })) => {
                    similarity =
                        reference.map(|reference| Similarity { reference, rois, masks: None, run: 0, compared: HashSet::new() });
                }
                Input::Query(Query::Peaks(run, Some(line))) => _ = lines.insert(run, Along { line, measured: HashSet::new() }),
                Input::Query(Query::Peaks(run, None)) => _ = lines.remove(&run),
                Input::Query(Query::Recovery(run, Some(query))) => _ = searches.insert(run, RecoverySearch::new(query)),
                Input::Query(Query::Recovery(run, None)) => _ = searches.remove(&run),
                Input::CatchUp => is_behind = true,
                Input::Stored => {}
                Input::Quit => return,
            }
        }
        is_behind |= !edited.is_empty();
        for (run, rois) in edited {
            let edit = Edit::after(edits.remove(&run), rois);
            edits.insert(run, edit);
        }
        if is_behind {
            edits.retain(|run, _| history.has(*run));
            for (run, edit) in &mut edits {
                let points = edit.measure(history.entries(*run));
                if !points.is_empty() {
                    events.send(Event {
                        run: *run,
                        kind: EventKind::Remeasured { branch: edit.rois.branch, points, deviations: None },
                    });
                }
            }
        }
        // Longer work is interrupted by another input, and resumed after it.
        let is_idle = || inbox.is_empty();
        if let Some(similarity) = &mut similarity {
            let points = similarity.compare(history, is_idle);
            if !points.is_empty() {
                let reference = similarity.reference.id();
                events.send(Event { run: similarity.run, kind: EventKind::Compared { reference, points } });
            }
        }
        lines.retain(|run, _| history.has(*run));
        for (run, along) in &mut lines {
            let points = along.measure(history.entries(*run), is_idle);
            if !points.is_empty() {
                events.send(Event { run: *run, kind: EventKind::Profiled { line: along.line, points } });
            }
        }
        searches.retain(|run, _| history.has(*run));
        for (run, search) in &mut searches {
            let query = search.number();
            search.measure(&history.entries(*run), is_idle, |point| {
                events.send(Event { run: *run, kind: EventKind::Recovered { query, points: vec![point] } });
            });
        }
    }
}

/// Returns the images that are not done (by steps), while `is_idle`. The first is returned always, or frequent inputs would
/// delay it forever.
fn pending(
    images: Vec<StoredIterate>,
    done: &mut HashSet<usize>,
    is_idle: impl Fn() -> bool,
) -> impl Iterator<Item = StoredIterate> {
    let mut is_first = true;
    let new: Vec<_> = images.into_iter().filter(|image| !done.contains(&image.id.subiteration)).collect();
    new.into_iter().take_while(move |image| {
        let continues = std::mem::take(&mut is_first) || is_idle();
        continues && done.insert(image.id.subiteration)
    })
}

/// Reference, and the iterates of a run that were compared with it.
struct Similarity {
    reference: CompareWith,
    /// Regions of the convergence, and the same on the reference with these numbers.
    rois: MaskedRois,
    masks: Option<(IterateId, Option<PetricMasks>)>,
    run: RunId,
    /// Steps done of the compared iterates.
    compared: HashSet<usize>,
}

impl Similarity {
    /// Compares iterates of the latest run that were not compared yet, in their order, while `is_idle`.
    fn compare(&mut self, history: &History, is_idle: impl Fn() -> bool) -> Vec<Comparison> {
        let run = history.latest();
        if run != self.run {
            (self.run, self.compared) = (run, HashSet::new());
        }
        let references = match &self.reference {
            CompareWith::Run(reference) if *reference == run => return Vec::new(),
            CompareWith::Run(reference) => history.entries(*reference),
            CompareWith::Image(_) => Vec::new(),
        };
        let new = pending(history.entries(run), &mut self.compared, is_idle);
        let found = |image: StoredIterate| {
            // A run has converged to its last image.
            let (found, converged) = match &self.reference {
                CompareWith::Run(_) => (compared(&image, partner(&image, &references)?, false)?, references.last()?),
                CompareWith::Image(reference) => (compared(&image, reference, true)?, reference),
            };
            let [values, of_reference] = [&image, converged].map(|image| image.volume.as_slice());
            let masks = |rois: &MaskedRois| PetricMasks::of_regions(of_reference, rois, &rois.masks(&image.volume.grid));
            if self.masks.as_ref().is_none_or(|(of, _)| *of != converged.id) {
                self.masks = Some((converged.id, masks(&self.rois)));
            }
            let masks = self.masks.as_ref().and_then(|(_, masks)| masks.as_ref());
            Some(Comparison { convergence: masks.and_then(|masks| Convergence::of(values, of_reference, masks)), ..found })
        };
        new.filter_map(found).collect()
    }
}

/// Returns the reference image with the same number, or beyond the last reference that one. `None` if it was thinned.
fn partner<'a>(image: &StoredIterate, references: &'a [StoredIterate]) -> Option<&'a StoredIterate> {
    let number = |image: &StoredIterate| number([image.id.iteration, image.id.subiteration]);
    let last = references.last().filter(|last| number(last) < number(image));
    references.iter().find(|reference| number(reference) == number(image)).or(last)
}

/// Compares two images, without their convergence. `None` if the grids differ, or an image is constant.
fn compared(image: &StoredIterate, reference: &StoredIterate, is_fixed: bool) -> Option<Comparison> {
    if !reference.volume.grid.same_as(&image.volume.grid) {
        return None;
    }
    let [values, of_reference] = [image, reference].map(|image| image.volume.as_slice());
    Some(Comparison {
        iteration: image.id.iteration,
        subiteration: image.id.subiteration,
        reference: (reference.id.run != IterateId::FILE.run).then_some([reference.id.iteration, reference.id.subiteration]),
        is_fixed,
        correlation: correlation(values, of_reference)?,
        relative_difference: relative_difference(values, of_reference),
        convergence: None,
    })
}

/// Regions, and their sums on the iterates of a run.
struct Edit {
    rois: RoiSet,
    /// Sums by the steps done.
    sums: HashMap<usize, Vec<RoiSums>>,
    /// Sums of the previous regions.
    before: HashMap<usize, Vec<RoiSums>>,
    /// Index of the previous region that covers the same voxels, for each region.
    unmoved: Vec<Option<usize>>,
}

impl Edit {
    /// Returns the edit that follows another of the same run; sums of unmoved regions are reused.
    fn after(before: Option<Edit>, rois: RoiSet) -> Self {
        let index = |roi: &Roi| before.as_ref()?.rois.rois.iter().position(|other| other.covers_same(roi));
        let unmoved = rois.rois.iter().map(index).collect();
        Self { rois, sums: HashMap::new(), unmoved, before: before.map(|before| before.sums).unwrap_or_default() }
    }

    /// Returns (iteration, subiteration, sums of each region) of the images that were not measured yet, in their order.
    fn measure(&mut self, images: Vec<StoredIterate>) -> Vec<(usize, usize, Vec<RoiSums>)> {
        let Self { rois, sums, before, unmoved } = self;
        let new = images.into_iter().filter(|image| !sums.contains_key(&image.id.subiteration)).map(|image| {
            let masks = rois.rois.masks(&image.volume.grid);
            let known = before.get(&image.id.subiteration);
            let of = |(mask, index): (&RoiMask, &Option<usize>)| {
                let known = index.and_then(|index| known?.get(index).copied());
                known.unwrap_or_else(|| mask.sums(image.volume.as_slice()))
            };
            (image.id.iteration, image.id.subiteration, masks.iter().zip(&*unmoved).map(of).collect())
        });
        let new: Vec<(usize, usize, Vec<RoiSums>)> = new.collect();
        sums.extend(new.iter().map(|(_, subiteration, sums)| (*subiteration, sums.clone())));
        new
    }
}

/// Line, and the iterates of a run that were measured along it.
struct Along {
    line: PeakLine,
    /// Steps done of the measured iterates.
    measured: HashSet<usize>,
}

impl Along {
    /// Returns the peaks of the images that were not measured yet, in their order, while `is_idle`.
    fn measure(&mut self, images: Vec<StoredIterate>, is_idle: impl Fn() -> bool) -> Vec<PeaksPoint> {
        let Self { line, measured } = self;
        let points = pending(images, measured, is_idle).map(|StoredIterate { id, volume, .. }| PeaksPoint {
            iteration: id.iteration,
            subiteration: id.subiteration,
            widths: widths_along(&volume, line.ends_mm, line.width_mm),
        });
        points.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{IterateId, RoiPlane, RoiShape, Volume};
    use crate::geometry::Grid;

    /// Returns an image of these values after this number of iterations of two steps.
    fn image(iteration: usize, values: [f32; 3], voxel_mm: f64) -> StoredIterate {
        let mut volume = Volume::filled(Grid::centred([3, 1, 1], [voxel_mm; 3]).unwrap(), 0.0);
        volume.as_mut_slice().copy_from_slice(&values);
        let id = IterateId { run: 1, iteration, subiteration: 2 * iteration };
        StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume) }
    }

    #[test]
    fn of_the_regions_only_those_that_moved_are_measured_again() {
        let images = [image(1, [1.0, 2.0, 3.0], 1.0), image(2, [4.0, 5.0, 6.0], 1.0)];
        let roi = |x_mm: f64| Roi::new("r", RoiShape::Box { size_mm: [1.0; 3], plane: RoiPlane::Transaxial }, [x_mm, 0.0, 0.0]);
        let set = |branch, places: &[f64]| RoiSet { branch, rois: places.iter().copied().map(roi).collect::<Vec<_>>().into() };
        let sums = |edit: &mut Edit, images: &[StoredIterate]| -> Vec<Vec<f64>> {
            edit.measure(images.to_vec()).into_iter().map(|(.., sums)| sums.iter().map(|sums| sums.sum).collect()).collect()
        };
        let mut edit = Edit::after(None, set(1, &[-1.0, 0.0]));
        assert_eq!(sums(&mut edit, &images[..1]), [[1.0, 2.0]]);
        // Other images under the same numbers show which sums were reused: those of the unmoved region on the measured image.
        let others = [image(1, [10.0, 20.0, 30.0], 1.0), image(2, [40.0, 50.0, 60.0], 1.0)];
        let mut moved = Edit::after(Some(edit), set(2, &[1.0, 0.0]));
        assert_eq!(sums(&mut moved, &others), [[30.0, 2.0], [60.0, 50.0]]);
        assert!(sums(&mut moved, &others).is_empty());
    }

    #[test]
    fn peaks_are_measured_once_on_each_image_while_there_is_time() {
        let grid = Grid::centred([41, 1, 1], [1.0; 3]).unwrap();
        let blob = |iteration: usize, sigma: f64| {
            let mut volume = Volume::filled(grid.clone(), 0.0);
            let value = |x: f64| 1.0 + 9.0 * (-0.5 * (x / sigma).powi(2)).exp();
            (-20..).zip(volume.as_mut_slice()).for_each(|(x, v)| *v = value(f64::from(x)) as f32);
            let id = IterateId { run: 1, iteration, subiteration: iteration };
            StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume) }
        };
        let images = vec![blob(1, 4.0), blob(2, 3.0)];
        let line = PeakLine { ends_mm: [[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]], width_mm: 0.0 };
        let mut along = Along { line, measured: HashSet::new() };
        // At least one is measured each time.
        let mut found = along.measure(images.clone(), || false);
        assert_eq!(found.len(), 1);
        found.extend(along.measure(images.clone(), || true));
        assert_eq!(along.measure(images, || true), []);
        assert_eq!(found.iter().map(|point| point.iteration).collect::<Vec<_>>(), [1, 2]);
        for (point, sigma) in found.iter().zip([4.0, 3.0]) {
            let [Ok(width)] = point.widths[..] else { panic!("{:?}", point.widths) };
            assert!((width.fwhm_mm - 2.0 * (2.0 * 2f64.ln()).sqrt() * sigma).abs() < 1e-3, "{width:?}");
        }
    }

    #[test]
    fn an_image_is_compared_with_the_one_of_the_same_number_or_beyond_all_with_the_last() {
        let reference = [image(2, [1.0, 2.0, 3.0], 1.0), image(4, [1.0, 3.0, 2.0], 1.0)];
        let against = |image: &StoredIterate, reference: &[StoredIterate]| compared(image, partner(image, reference)?, false);
        let with =
            |image: &StoredIterate| against(image, &reference).map(|found| (found.reference.unwrap()[0], found.correlation));
        assert_eq!(with(&image(2, [2.0, 4.0, 6.0], 1.0)), Some((2, 1.0)));
        assert_eq!(against(&image(2, [2.0, 4.0, 6.0], 1.0), &reference).unwrap().relative_difference, 1.0);
        let (iteration, correlation) = with(&image(5, [1.0, 2.0, 3.0], 1.0)).unwrap();
        assert!(iteration == 4 && (correlation - 0.5).abs() < 1e-12, "{correlation}");
        // Thinned; another grid; a constant image; no reference.
        assert_eq!(with(&image(3, [1.0, 2.0, 3.0], 1.0)), None);
        assert_eq!(with(&image(2, [1.0, 2.0, 3.0], 2.0)), None);
        assert_eq!(with(&image(2, [1.0; 3], 1.0)), None);
        assert_eq!(against(&image(2, [1.0, 2.0, 3.0], 1.0), &[]), None);
        // The numbers of subsets may differ; for a sweep the number counts steps.
        let other = |iteration, subiteration| {
            let id = IterateId { run: 1, iteration, subiteration };
            StoredIterate { id, ..image(2, [1.0, 2.0, 3.0], 1.0) }
        };
        assert!(with(&other(2, 7)).is_some());
        let projections = |subiteration| other(0, subiteration);
        let found = |steps| against(&projections(steps), &[projections(16), projections(32)]).map(|found| found.reference);
        assert_eq!([16, 24, 40].map(found), [Some(Some([0, 16])), None, Some(Some([0, 32]))]);
    }

    #[test]
    fn all_images_of_a_run_are_compared_with_the_one_that_was_chosen_its_own_too() {
        let history = History::new(1 << 20);
        history.begin(1);
        let images = [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]];
        let images: Vec<StoredIterate> = (1..).zip(images).map(|(iteration, values)| image(iteration, values, 1.0)).collect();
        images.iter().for_each(|image| _ = history.push(image.clone()));
        let compared = |with| {
            Similarity { reference: with, rois: MaskedRois::default(), masks: None, run: 0, compared: HashSet::new() }
                .compare(&history, || true)
        };
        assert_eq!(compared(CompareWith::Run(1)), [], "a run is not compared with itself");
        let found = compared(CompareWith::Image(images[1].clone()));
        assert!(found.iter().all(|found| found.is_fixed && found.reference == Some([2, 4])), "{found:?}");
        let correlations: Vec<f64> = found.iter().map(|found| found.correlation).collect();
        assert!(correlations.iter().zip([0.5, 1.0, -0.5]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
}
