//! What the two ends say. Where a type of the session can travel it does; of what cannot (a study with its counts, the masks of
//! regions) goes what makes it again there.

use serde::{Deserialize, Serialize};

use super::studies::{Started, StudyHead};
use crate::data::{Extremes, IterateId, MaskedRois, Roi, Unit};
use crate::geometry::Grid;
use crate::io::rois::{RoiEntry, of_entries};
use crate::plan::{Device, Forecast, RunSettings, StudyFiles};
use crate::session::{Control, Event, PeakLine, RoiSet, RunId};

/// Number of a study that the window asked for; each is larger than those before it.
pub type StudyId = u64;

/// Longest text of regions: with the voxels of isocontours they can be long.
const MAX_ROI_BYTES: usize = 16 << 20;

/// What the window's end says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToServer {
    /// First: which session is to be taken up again, if one is, and how much of its news is here.
    Hello { session: Option<String>, num_news: u64 },
    /// An order, by its number.
    Order(u64, Order),
    /// The news up to this number have arrived.
    HaveNews(u64),
    /// The voxel, along x, y, z, whose slices are on the screen.
    LookAt([usize; 3]),
    /// So many pieces of images have arrived.
    HavePieces(usize),
    /// Asks for an image of the past, by its run and the steps done.
    Fetch(RunId, usize),
    /// To be answered at once.
    Ping(u64),
    /// Asks, by a number, what a run of a study would need.
    Foresee { number: u64, study: StudyId, settings: Box<RunSettings> },
}

/// What is to be done; each arrives, once, in their order.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Open the study of these files, which has this number from then on. The one that is used stays open.
    Open(StudyId, StudyFiles),
    /// Close a study, or stop reading it.
    Close(StudyId),
    /// [`Command::Start`](crate::session::Command::Start) of a study, as the run of this number.
    Start {
        run: RunId,
        study: StudyId,
        settings: Box<RunSettings>,
        rois: Rois,
        paused: bool,
    },
    Control(Control),
    SetRois(Rois),
    RenameRois(Rois),
    /// What goes on beside the solver.
    Beside(Beside),
    /// The window is closed: end.
    Bye,
}

/// An order about what goes on beside the solver.
#[derive(Debug, Serialize, Deserialize)]
pub enum Beside {
    /// [`Session::measure`](crate::session::Session::measure).
    Measure(RunId, Rois),
    /// [`Session::compare_with`](crate::session::Session::compare_with) a run, or none.
    Compare(Option<RunId>),
    /// The same with an image, which the message brings.
    CompareWith {
        id: IterateId,
        grid: Grid,
    },
    /// [`Session::measure_peaks`](crate::session::Session::measure_peaks).
    MeasurePeaks(RunId, Option<PeakLine>),
    Keep(RunId),
    LetGo(RunId),
    Pin(RunId, usize, bool),
    SetHistoryBytes(u64),
}

/// What the solver's end says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWindow {
    /// First: the name of the session, that of the machine, and how many orders have arrived.
    Welcome { session: String, host: String, num_orders: u64 },
    /// It will not go on, and why.
    Refused(String),
    /// News, by their number.
    News(u64, News),
    /// The orders up to this number have arrived.
    HaveOrders(u64),
    /// A piece of an image, which the message brings.
    Piece(PieceHead),
    /// The images of a run's past that are kept there: full iterations and steps done of each, oldest first.
    Past(RunId, Vec<[usize; 2]>),
    /// How far the set-up of the run begun last is.
    Making { run: RunId, done: u64, total: u64 },
    /// The answer to a ping.
    Pong(u64),
    /// What a run would need that was asked about by this number, or why it would be refused; `None` where that is not known.
    Foreseen(u64, Option<Result<Forecast, String>>),
}

/// What must not be lost.
#[derive(Debug, Serialize, Deserialize)]
pub enum News {
    /// What the session says; all but [`EventKind::Started`](crate::session::EventKind::Started).
    Event(Event),
    /// A run was set up.
    Started(RunId, Box<Started>),
    /// The study of this number was opened, or why not.
    Opened(StudyId, Result<Box<StudyHead>, String>),
    /// What can compute there.
    Devices(Vec<Device>),
}

/// Which piece of an image.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PieceHead {
    pub image: ImageHead,
    pub of: PieceOf,
    /// Place of its first value among those of which it is a piece.
    pub first: usize,
    /// How many values.
    pub num: usize,
}

/// What a piece is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PieceOf {
    /// The three slices through this voxel along x, y, z: transaxial, coronal, sagittal.
    Slices([usize; 3]),
    /// The newest image, in order z, y, x.
    Newest,
    /// One of the past that was asked for, in the same order.
    Past,
}

/// An iterate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageHead {
    pub id: IterateId,
    pub unit: Unit,
    pub extremes: Extremes,
}

/// Regions with the number of their edit, as the fields of the ROI file's format.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rois {
    branch: u64,
    json: String,
}

impl Rois {
    /// Of regions that are measured.
    pub fn of(rois: &RoiSet) -> Self {
        Self { branch: rois.branch, json: Self::json(&rois.rois) }
    }

    /// Of regions that were renamed.
    pub fn renamed(rois: &[Roi]) -> Self {
        Self { branch: 0, json: Self::json(rois) }
    }

    fn json(rois: &[Roi]) -> String {
        let entries: Vec<RoiEntry> = rois.iter().map(RoiEntry::from).collect();
        // Structures of numbers and texts can always be written.
        serde_json::to_string(&entries).unwrap_or_default()
    }

    /// The regions; those that have not moved since `before` keep their masks.
    ///
    /// # Errors
    /// They are none, as a sentence.
    pub fn rois(&self, before: &MaskedRois) -> Result<RoiSet, String> {
        if self.json.len() > MAX_ROI_BYTES {
            return Err(format!("regions of {} bytes are more than the {MAX_ROI_BYTES} that can be sent", self.json.len()));
        }
        let entries: Vec<RoiEntry> = serde_json::from_str(&self.json).map_err(|error| error.to_string())?;
        Ok(RoiSet { branch: self.branch, rois: before.edited(&of_entries(&entries).map_err(|problem| problem.to_string())?) })
    }
}
