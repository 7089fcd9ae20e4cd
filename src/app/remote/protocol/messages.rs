//! Messages of client and server. Types of the session are sent where possible. For others (a study with its counts) the message has the data that make them again.

use serde::{Deserialize, Serialize};

use super::study::{StartedRun, StudyId, StudyMetadata};
use crate::data::{Extremes, IterateId, Unit};
use crate::plan::{Device, Forecast, RunSettings, StudyFiles};
use crate::session::{Control, Event, RoiSet, RunId, VolumesOf};

#[derive(Debug, Serialize, Deserialize)]
pub enum ToServer {
    /// First message: name of the session to resume, if any, and number of its notifications that have arrived.
    Hello { session: Option<String>, num_notifications: u64 },
    /// Numbered request.
    Request(u64, Request),
    /// Reports that notifications up to this number have arrived.
    ReceivedNotifications(u64),
    /// Voxel (x, y, z) whose slices are displayed.
    ShowSlices([usize; 3]),
    /// Reports that this number of further pieces of images has arrived.
    ReceivedPieces(usize),
    /// Requests a stored iterate by its run and the steps done.
    FetchImage(RunId, usize),
    /// Requests an immediate answer.
    Ping(u64),
    /// Requests a numbered memory forecast for a run of a study.
    Forecast { number: u64, study: StudyId, settings: Box<RunSettings> },
}

/// Request. Each arrives once, in order.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Opens the study of these files under this number. The study in use stays open.
    Open(StudyId, Box<StudyFiles>),
    /// Closes a study, or stops opening it.
    Close(StudyId),
    /// Starts a run of a study ([`Command::Start`](crate::session::Command::Start)) under this number.
    Start {
        run: RunId,
        study: StudyId,
        settings: Box<RunSettings>,
        rois: RoiSet,
        paused: bool,
    },
    Control(Control),
    /// Ends the session: the window is closed.
    Quit,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum ToClient {
    /// First message: name of the session, name of the host, and number of requests that have arrived.
    Welcome { session: String, host: String, num_requests: u64 },
    /// Reason why the server ends the connection.
    Refused(String),
    /// Numbered notification.
    Notification(u64, Notification),
    /// Reports that requests up to this number have arrived.
    ReceivedRequests(u64),
    /// Piece of an image, which is the payload.
    Piece(PieceHead),
    /// Full iterations and steps of each stored iterate of a run, oldest first.
    StoredIterates(RunId, Vec<[usize; 2]>),
    /// Progress of the latest run's set-up.
    SetupProgress { run: RunId, done: u64, total: u64 },
    /// Answer to a ping.
    Pong(u64),
    /// Numbered forecast or the reason of a refusal; `None` if unknown.
    ForecastReply(u64, Option<Result<Forecast, String>>),
}

/// Notification. Each arrives once, in order.
#[derive(Debug, Serialize, Deserialize)]
pub enum Notification {
    /// Event of the session except [`EventKind::Started`](crate::session::EventKind::Started).
    Event(Event),
    /// Completed set-up of a run.
    Started(RunId, Box<StartedRun>),
    /// Opened study of this number, or the reason of the failure.
    Opened(StudyId, Result<Box<StudyMetadata>, String>),
    /// Devices of the server.
    Devices(Vec<Device>),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PieceHead {
    pub image: ImageHead,
    pub of: PieceOf,
    /// Index of the first value.
    pub first: usize,
    /// Number of values.
    pub num: usize,
}

/// Array to which a piece belongs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PieceOf {
    /// Three slices through this voxel (x, y, z): transaxial, coronal, sagittal.
    Slices([usize; 3]),
    /// Newest image, in the order z, y, x.
    Newest,
    /// Requested stored iterate, in the same order.
    Stored,
    /// Volumes of an iterate, in the same order: the one of this index, of a number of them.
    Volumes { of: VolumesOf, index: usize, num: usize },
}

/// Header of an iterate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageHead {
    pub id: IterateId,
    pub unit: Unit,
    pub extremes: Extremes,
}
