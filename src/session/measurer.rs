//! Measures the kept images beside the solver: the curve of a region that is dragged follows it while the solver steps, and images
//! are compared with those of a reference run, and their peaks measured along a line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender};

use super::history::History;
use super::protocol::number;
use super::publisher::EventSender;
use super::{CompareWith, Comparison, Event, EventKind, PeakLine, PeaksPoint, RoiSet, RunId, StoredIterate};
use crate::data::{Roi, RoiMask, RoiSums};
use crate::measure::{correlation, relative_difference, widths_along};

/// What the measurer is asked for.
pub(super) enum Query {
    /// Measure these regions on the images of a run.
    Rois(RunId, RoiSet),
    /// The solver measures the regions asked for last by itself from here on: measure what has been kept until now.
    CatchUp,
    /// Compare the images of the run begun last with these, or with none.
    Compare(Option<CompareWith>),
    /// Measure the peaks along a line through the images of a run, or no longer.
    Peaks(RunId, Option<PeakLine>),
    /// An image was kept.
    StoredIterate,
    /// End.
    Quit,
}

/// The thread that measures. It ends when dropped.
pub(super) struct Measurer {
    asks: Sender<Query>,
    thread: Option<JoinHandle<()>>,
}

impl Measurer {
    /// Starts the thread, which says what it measured through `outlet`.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(asks: Sender<Query>, inbox: Receiver<Query>, history: History, outlet: EventSender) -> io::Result<Self> {
        let thread = Builder::new().name("measurer".into()).spawn(move || run(&inbox, &history, &outlet))?;
        Ok(Self { asks, thread: Some(thread) })
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ = self.asks.send(Query::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(inbox: &Receiver<Query>, history: &History, outlet: &EventSender) {
    let mut edits: BTreeMap<RunId, Edit> = BTreeMap::new();
    let mut lines: BTreeMap<RunId, Along> = BTreeMap::new();
    let mut likeness: Option<Similarity> = None;
    while let Ok(ask) = inbox.recv() {
        let mut edited: BTreeMap<RunId, RoiSet> = BTreeMap::new();
        let mut regions_are_behind = false;
        // While a region is dragged edits come faster than they can be measured: only the last of a row counts.
        for ask in std::iter::once(ask).chain(inbox.try_iter()) {
            match ask {
                Query::Rois(run, rois) => _ = edited.insert(run, rois),
                Query::CatchUp => regions_are_behind = true,
                Query::Compare(reference) => {
                    likeness = reference.map(|with| Similarity { with, run: 0, compared: HashSet::new() });
                }
                Query::Peaks(run, Some(line)) => _ = lines.insert(run, Along { line, measured: HashSet::new() }),
                Query::Peaks(run, None) => _ = lines.remove(&run),
                Query::StoredIterate => {}
                Query::Quit => return,
            }
        }
        regions_are_behind |= !edited.is_empty();
        for (run, rois) in edited {
            let edit = Edit::after(edits.remove(&run), rois);
            edits.insert(run, edit);
        }
        if regions_are_behind {
            edits.retain(|run, _| history.has(*run));
            for (run, edit) in &mut edits {
                let points = edit.measure(history.entries(*run));
                if !points.is_empty() {
                    outlet.say(Event { run: *run, kind: EventKind::Remeasured { branch: edit.rois.branch, points } });
                }
            }
        }
        // What takes longer is left where something else is asked for, and taken up again after that.
        let nobody_asks = || inbox.is_empty();
        if let Some(likeness) = &mut likeness {
            let points = likeness.compare(history, nobody_asks);
            if !points.is_empty() {
                let reference = likeness.with.id();
                outlet.say(Event { run: likeness.run, kind: EventKind::Compared { reference, points } });
            }
        }
        lines.retain(|run, _| history.has(*run));
        for (run, along) in &mut lines {
            let points = along.measure(history.entries(*run), nobody_asks);
            if !points.is_empty() {
                outlet.say(Event { run: *run, kind: EventKind::Profiled { line: along.line, points } });
            }
        }
    }
}

/// Those of the images that are not done yet (by the steps done), while there is time; the first in any case, or asks without a pause
/// would keep them waiting for ever.
fn in_time(
    images: Vec<StoredIterate>,
    done: &mut HashSet<usize>,
    is_time: impl Fn() -> bool,
) -> impl Iterator<Item = StoredIterate> {
    let mut is_first = true;
    let new = images.into_iter().map_while(move |kept| {
        if done.contains(&kept.id.subiteration) {
            return Some(None);
        }
        let goes_on = std::mem::take(&mut is_first) || is_time();
        goes_on.then(|| {
            done.insert(kept.id.subiteration);
            Some(kept)
        })
    });
    new.flatten()
}

/// A reference, and the images of a run that were compared with it.
struct Similarity {
    with: CompareWith,
    run: RunId,
    /// By the steps done.
    compared: HashSet<usize>,
}

impl Similarity {
    /// Compares those of the images of the run begun last that were not compared yet, in their order, while there is time.
    fn compare(&mut self, history: &History, is_time: impl Fn() -> bool) -> Vec<Comparison> {
        let run = history.latest();
        if run != self.run {
            (self.run, self.compared) = (run, HashSet::new());
        }
        let of_reference = match &self.with {
            CompareWith::Run(reference) if *reference == run => return Vec::new(),
            CompareWith::Run(reference) => history.entries(*reference),
            CompareWith::Image(_) => Vec::new(),
        };
        let new = in_time(history.entries(run), &mut self.compared, is_time);
        let found = |kept: StoredIterate| match &self.with {
            CompareWith::Run(_) => compared(&kept, partner(&kept, &of_reference)?, false),
            CompareWith::Image(image) => compared(&kept, image, true),
        };
        new.filter_map(found).collect()
    }
}

/// The image of the reference with the same number, or where the image is past the reference's last one that. `None` where the
/// reference's was thinned out.
fn partner<'a>(kept: &StoredIterate, of_reference: &'a [StoredIterate]) -> Option<&'a StoredIterate> {
    let number = |kept: &StoredIterate| number([kept.id.iteration, kept.id.subiteration]);
    let last = of_reference.last().filter(|last| number(last) < number(kept));
    of_reference.iter().find(|reference| number(reference) == number(kept)).or(last)
}

/// An image beside another. `None` where grids differ, or one image has a single value everywhere.
fn compared(kept: &StoredIterate, reference: &StoredIterate, is_fixed: bool) -> Option<Comparison> {
    if !reference.volume.grid.same_as(&kept.volume.grid) {
        return None;
    }
    Some(Comparison {
        iteration: kept.id.iteration,
        subiteration: kept.id.subiteration,
        reference: Some([reference.id.iteration, reference.id.subiteration]),
        is_fixed,
        correlation: correlation(kept.volume.as_slice(), reference.volume.as_slice())?,
        relative_difference: relative_difference(kept.volume.as_slice(), reference.volume.as_slice()),
    })
}

/// Regions, and their sums on the images of a run.
struct Edit {
    rois: RoiSet,
    /// By the steps done.
    sums: HashMap<usize, Vec<RoiSums>>,
    /// The sums of the regions before, and for each region the place of the one there that covers the same.
    before: HashMap<usize, Vec<RoiSums>>,
    stayed: Vec<Option<usize>>,
}

impl Edit {
    /// Regions after others of the same run: of those that have not moved the sums are known.
    fn after(before: Option<Edit>, rois: RoiSet) -> Self {
        let place = |roi: &Roi| before.as_ref()?.rois.rois.iter().position(|other| other.covers_same(roi));
        let stayed = rois.rois.iter().map(place).collect();
        Self { rois, sums: HashMap::new(), stayed, before: before.map(|before| before.sums).unwrap_or_default() }
    }

    /// (iteration, subiteration, sums of each region) of those of the images that were not measured yet, in their order.
    fn measure(&mut self, images: Vec<StoredIterate>) -> Vec<(usize, usize, Vec<RoiSums>)> {
        let Self { rois, sums, before, stayed } = self;
        let new = images.into_iter().filter(|kept| !sums.contains_key(&kept.id.subiteration)).map(|kept| {
            let masks = rois.rois.masks(&kept.volume.grid);
            let known = before.get(&kept.id.subiteration);
            let of = |(mask, place): (&RoiMask, &Option<usize>)| {
                let known = place.and_then(|place| known?.get(place).copied());
                known.unwrap_or_else(|| mask.sums(kept.volume.as_slice()))
            };
            (kept.id.iteration, kept.id.subiteration, masks.iter().zip(&*stayed).map(of).collect())
        });
        let new: Vec<(usize, usize, Vec<RoiSums>)> = new.collect();
        sums.extend(new.iter().map(|(_, subiteration, sums)| (*subiteration, sums.clone())));
        new
    }
}

/// A line, and the images of a run that were measured along it.
struct Along {
    line: PeakLine,
    /// By the steps done.
    measured: HashSet<usize>,
}

impl Along {
    /// The peaks of those of the images that were not measured yet, in their order, while there is time.
    fn measure(&mut self, images: Vec<StoredIterate>, is_time: impl Fn() -> bool) -> Vec<PeaksPoint> {
        let Self { line, measured } = self;
        let points = in_time(images, measured, is_time).map(|StoredIterate { id, volume, .. }| PeaksPoint {
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

    /// An image of these values after so many iterations of two steps.
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
        // Other images under the same numbers show which sums were known: of the one that stayed, on the image that was measured.
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
        // However much else is asked for, one is measured at a time.
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
    fn an_image_is_compared_with_the_one_of_the_same_number_or_past_all_with_the_last() {
        let reference = [image(2, [1.0, 2.0, 3.0], 1.0), image(4, [1.0, 3.0, 2.0], 1.0)];
        let beside = |kept: &StoredIterate, reference: &[StoredIterate]| compared(kept, partner(kept, reference)?, false);
        let with = |kept: &StoredIterate| beside(kept, &reference).map(|found| (found.reference.unwrap()[0], found.correlation));
        assert_eq!(with(&image(2, [2.0, 4.0, 6.0], 1.0)), Some((2, 1.0)));
        assert_eq!(beside(&image(2, [2.0, 4.0, 6.0], 1.0), &reference).unwrap().relative_difference, 1.0);
        let (iteration, correlation) = with(&image(5, [1.0, 2.0, 3.0], 1.0)).unwrap();
        assert!(iteration == 4 && (correlation - 0.5).abs() < 1e-12, "{correlation}");
        // Thinned out; another grid; nothing to correlate; nothing to compare with.
        assert_eq!(with(&image(3, [1.0, 2.0, 3.0], 1.0)), None);
        assert_eq!(with(&image(2, [1.0, 2.0, 3.0], 2.0)), None);
        assert_eq!(with(&image(2, [1.0; 3], 1.0)), None);
        assert_eq!(beside(&image(2, [1.0, 2.0, 3.0], 1.0), &[]), None);
        // The subsets of both may be others; of a sweep the steps are the number.
        let numbered = |iteration, subiteration| {
            let id = IterateId { run: 1, iteration, subiteration };
            StoredIterate { id, ..image(2, [1.0, 2.0, 3.0], 1.0) }
        };
        assert!(with(&numbered(2, 7)).is_some());
        let projections = |subiteration| numbered(0, subiteration);
        let found = |steps| beside(&projections(steps), &[projections(16), projections(32)]).map(|found| found.reference);
        assert_eq!([16, 24, 40].map(found), [Some(Some([0, 16])), None, Some(Some([0, 32]))]);
    }

    #[test]
    fn all_images_of_a_run_are_compared_with_the_one_that_was_chosen_its_own_too() {
        let history = History::new(1 << 20);
        history.begin(1);
        let images = [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]];
        let images: Vec<StoredIterate> = (1..).zip(images).map(|(iteration, values)| image(iteration, values, 1.0)).collect();
        images.iter().for_each(|image| _ = history.push(image.clone()));
        let compared = |with| Similarity { with, run: 0, compared: HashSet::new() }.compare(&history, || true);
        assert_eq!(compared(CompareWith::Run(1)), [], "a run is not compared with itself");
        let found = compared(CompareWith::Image(images[1].clone()));
        assert!(found.iter().all(|found| found.is_fixed && found.reference == Some([2, 4])), "{found:?}");
        let correlations: Vec<f64> = found.iter().map(|found| found.correlation).collect();
        assert!(correlations.iter().zip([0.5, 1.0, -0.5]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
}
