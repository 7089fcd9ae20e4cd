//! Damaged messages to both ends: each is refused or handled, and none stops the program.
//!
//! `TOMOSCOPE_FUZZ_CASES` sets their number; 1 000 000 were tried.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, never, unbounded};
use serde::Serialize;

use super::client::Client;
use super::client::handle::Remote;
use super::connection::rendezvous::Rendezvous;
use super::images::outgoing::PIECE;
use super::images::slices::num_in_slices;
use super::protocol::error::RemoteError;
use super::protocol::framing::{decode, encode};
use super::protocol::messages::*;
use super::protocol::study::{RemoteStudy, StartedRun, StudyId, StudyMetadata};
use super::server::{Input, ServeOptions, ServerSession};
use crate::coded::Problem;
use crate::data::{
    CountRates, Counts, EventList, EventNumbers, Extremes, ListMetadata, Michelogram, Notice, Roi, RoiShape, ScanTime, Study,
    Unit, Volume,
};
use crate::geometry::Grid;
use crate::measure::nema::RecoveryPoint;
use crate::operator::Accumulation;
use crate::phantom::epri::{self, SweepOptions};
use crate::plan::{
    Acquisition, Cache, Data, DeviceChoice, Job, ListFiles, RunSettings, SetupProblem, StartInfo, StudyFiles, cylinder_of,
    default_settings, default_sweep_settings, host_devices,
};
use crate::recon::{AscentReport, AscentTuning, Estimate};
use crate::scanner::{Detectors, find};
use crate::session::*;
use crate::task::Task;

/// Pseudo-random numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a damaged message: bytes changed, cut off, doubled or inserted.
    fn damage(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = message.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len().max(1)).min(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.next() as u8),
                2 => bytes.extend_from_within(at..),
                // The largest numbers.
                3 => drop(bytes.splice(at..(at + 4).min(bytes.len()), [0xff; 9])),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (self.next() % 8)),
            }
        }
        bytes
    }
}

fn cases() -> usize {
    std::env::var("TOMOSCOPE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

fn study() -> Study<Counts> {
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let counts = vec![1.0; geometry.num_bins()];
    Study::new("flat", Counts::new(Michelogram::new(geometry, counts).unwrap()))
}

/// Open study.
const STUDY: StudyId = 1;

fn job(study: Study<Counts>) -> Job {
    let settings = RunSettings { device: DeviceChoice::Cpu, ..default_settings(&study.measured).unwrap() };
    Job::of(&study, settings)
}

fn list() -> Study<EventList> {
    let detectors = Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap());
    let numbers = EventNumbers { num_prompts: 7, ..EventNumbers::default() };
    let list = EventList {
        facts: Arc::new(ListMetadata::new("a list", detectors)),
        prompts: Arc::default(),
        delayeds: Arc::default(),
        total_additive: 0.0,
        time: ScanTime::default(),
        rates: CountRates::default(),
        frame_ms: None,
        elsewhere: Some(numbers),
    };
    Study::new("a list", list)
}

fn sweep() -> Study<Acquisition> {
    let options = SweepOptions { num_points: 16, ..SweepOptions::default() };
    let phantom = epri::by_name("ball", options.half_extent_mm()).unwrap();
    epri::simulate(&phantom, &options, &Task::new()).unwrap().map(Acquisition::complete)
}

fn sweep_job() -> Job {
    let study = sweep();
    let settings = default_sweep_settings(&study.measured.snapshot()).unwrap();
    Job::of(&study, settings)
}

fn rois() -> RoiSet {
    let shapes = [RoiShape::Sphere { radius_mm: 9.0 }, RoiShape::Box { size_mm: [9.0; 3], plane: Default::default() }];
    let rois: Vec<Roi> = shapes.into_iter().map(|shape| Roi::new("a", shape, [1.0, 2.0, 3.0])).collect();
    RoiSet { branch: 3, rois: rois.into() }
}

/// Returns a message with its payload, without its length.
fn bytes(message: &impl Serialize, payload: &[u8]) -> Vec<u8> {
    encode(message, payload).unwrap().split_off(4)
}

const TUNING: AscentTuning = AscentTuning { strength: 1.0, gamma: 2.0, step_factor: 1.0 };

const ITERATE: IterateId = IterateId { run: 1, iteration: 1, subiteration: 1 };

fn to_server() -> Vec<Vec<u8>> {
    let lines = || job(study()).settings;
    let planes = sweep_job().settings;
    let grid = Grid::centred([4, 4, 2], [1.0; 3]).unwrap();
    let line = Some(PeakLine { ends_mm: [[0.0; 3], [5.0; 3]], width_mm: 1.0 });
    let rules = vec![StopRule::Noise { nsr: 0.1 }, StopRule::Plateau { part: 0.5 }];
    let volume = Arc::new(Volume::filled(grid, 1.0));
    let image = StoredIterate { id: ITERATE, extremes: volume.extremes(), volume };
    let requests = [
        Request::Open(2, Box::new(StudyFiles::File("/x".into()))),
        Request::Close(2),
        Request::Open(
            3,
            Box::new(StudyFiles::Events(ListFiles { attenuation: Some("/mu".into()), ..ListFiles::of(Path::new("/x")) })),
        ),
        Request::Start { run: 1, study: STUDY, settings: lines(), rois: rois(), paused: false },
        Request::Start { run: 1, study: 77, settings: lines(), rois: rois(), paused: false },
        Request::Control(Control::Cancel),
        Request::Control(Control::StepOnce),
        Request::Control(Control::SetAccumulation(Accumulation::Atomic)),
        Request::Control(Control::SetRois(rois())),
        Request::Control(Control::RenameRois(rois())),
        Request::Control(Control::SetStopRules(rules)),
        Request::Control(Control::SetIterations(5)),
        Request::Control(Control::SetTuning(TUNING)),
        Request::Control(Control::ReadVolumes(VolumesOf::Deviation(Some(5.0)))),
    ];
    let recovery = RecoveryQuery { filters_mm: vec![0.0, 5.0], activity_ratio: Some(4.0), with_peak: true, rois: rois() };
    let queries = [
        Query::Regions(rois()),
        Query::Similarity((Some(CompareWith::Run(1)), rois())),
        Query::Similarity((Some(CompareWith::Image(image)), rois())),
        Query::Peaks(line),
        Query::Recovery(Some(recovery)),
    ];
    let changes =
        [HistoryChange::Retain(1), HistoryChange::Release(1), HistoryChange::Pin(1, 2, true), HistoryChange::SetBudget(1 << 20)];
    let requests = requests.into_iter().chain(queries.map(|query| Request::Control(Control::Measure(1, query))));
    let requests = requests.chain(changes.map(|change| Request::Control(Control::ChangeHistory(change))));
    let mut all: Vec<Vec<u8>> = requests.map(|request| bytes(&ToServer::Request(1, request), &[])).collect();
    let others = [
        ToServer::Hello { session: Some("0".repeat(32)), num_notifications: 1 },
        ToServer::ReceivedNotifications(0),
        ToServer::ShowSlices([1, 2, 3]),
        ToServer::ReceivedPieces(1),
        ToServer::FetchImage(1, 1),
        ToServer::Ping(1),
        ToServer::Forecast { number: 1, study: STUDY, settings: lines() },
        ToServer::Forecast { number: 2, study: 77, settings: lines() },
        ToServer::Forecast { number: 3, study: STUDY, settings: planes },
    ];
    all.extend(others.iter().map(|message| bytes(message, &[])));
    all
}

fn to_client(job: &Job) -> Vec<Vec<u8>> {
    let grid = job.grid();
    let image = ImageHead { id: ITERATE, unit: Unit::Mm, extremes: Extremes::default() };
    let report = IterateReport {
        iteration: 1,
        subiteration: 1,
        subset: 0,
        completes_iteration: true,
        log_likelihood_of_subset: Some(1.0),
        log_likelihood: None,
        residual: Some(1.0),
        explained: Some(crate::recon::Explained::Counts { image: 1.0, additive: 0.5, measured: 2.0 }),
        num_events: None,
        accumulation: Accumulation::Atomic,
        race: None,
        ascent: Some(AscentReport {
            objective: None,
            optimality: None,
            step_size: 1.0,
            num_halved: 0,
            update: 0.1,
            tuning: TUNING,
        }),
        stages: Default::default(),
        elapsed: Duration::from_secs(1),
        branch: 1,
        roi_sums: Vec::new(),
        roi_deviations: Vec::new(),
    };
    let info = StartInfo {
        device: "CPU".into(),
        projector: "per-lor".into(),
        num_subsets: 1,
        accumulation: Accumulation::Atomic,
        accumulations: Accumulation::OF_LINES,
        estimate: Estimate::default(),
        memory: Vec::new(),
        job: job.clone(),
    };
    let opened = |scan: Study<Data>| {
        Notification::Opened(STUDY, Ok(Box::new(StudyMetadata::of(&scan, StudyFiles::File("/scan".into())).unwrap())))
    };
    let event = |kind| Notification::Event(Event { run: 1, kind });
    let line = PeakLine { ends_mm: [[0.0; 3], [5.0; 3]], width_mm: 1.0 };
    let comparison = Comparison {
        iteration: 1,
        subiteration: 1,
        reference: Some([1, 1]),
        is_fixed: false,
        correlation: 1.0,
        relative_difference: 0.0,
        convergence: None,
    };
    let setting = RecoveryPoint { iteration: 1, filter_mm: 5.0, outcome: Err(Problem::new("nema", "text")) };
    let notifications = [
        event(EventKind::Measured(Answer::Similarity((ReferenceId { run: 1, subiteration: None }, comparison)))),
        event(EventKind::Measured(Answer::Peaks((line, PeaksPoint { iteration: 1, subiteration: 1, widths: Vec::new() })))),
        event(EventKind::Measured(Answer::Recovery((1, Box::new(setting))))),
        event(EventKind::Iterate(Box::new(report))),
        event(EventKind::Measured(Answer::Regions(RegionSums {
            branch: 1,
            points: vec![(1, 1, Vec::new())],
            deviations: Some((1, vec![None, Some(0.5)])),
        }))),
        event(EventKind::Notice(Notice::info("x"))),
        event(EventKind::Volumes { id: image.id, of: VolumesOf::Deviation(Some(5.0)), num: 0 }),
        event(EventKind::Oxygen(Box::new(OxygenUpdate {
            num_images: 3,
            iterations: vec![5; 3],
            counts: Err("x".into()),
            branch: 1,
            all: None,
            regions: vec![None],
        }))),
        event(EventKind::Ended(EndReason::Completed)),
        event(EventKind::Failed(Problem::new("threads", "text"))),
        Notification::Started(1, Box::new(StartedRun::of(STUDY, info, 2))),
        opened(study().map(Data::from)),
        opened(list().map(Data::from)),
        opened(sweep().map(Data::from)),
        Notification::Devices(host_devices()),
    ];
    let mut all: Vec<Vec<u8>> =
        notifications.into_iter().map(|notification| bytes(&ToClient::Notification(1, notification), &[])).collect();
    let piece = |of, num| bytes(&ToClient::Piece(PieceHead { image, of, first: 0, num }), &pack(&vec![2.0; num]));
    all.push(piece(PieceOf::Slices([1, 2, 3]), num_in_slices(grid).min(PIECE[0])));
    all.extend(
        [PieceOf::Newest, PieceOf::Stored, PieceOf::Volumes { of: VolumesOf::Deviation(Some(5.0)), index: 0, num: 2 }]
            .map(|of| piece(of, 1000)),
    );
    let others = [
        ToClient::Welcome { session: "0".repeat(32), host: "x".into(), num_requests: 0 },
        ToClient::ReceivedRequests(0),
        ToClient::StoredIterates(1, vec![[1, 1], [2, 2]]),
        ToClient::SetupProgress { run: 1, done: 1, total: 2 },
        ToClient::Pong(1),
        ToClient::ForecastReply(1, Some(Err("x".into()))),
    ];
    all.extend(others.iter().map(|message| bytes(message, &[])));
    all
}

/// Returns the numbers of damaged messages that were handled and refused.
fn handled(messages: &[Vec<u8>], mut handle: impl FnMut(&[u8]) -> Result<(), RemoteError>) -> [usize; 2] {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut counted = [0; 2];
    for _ in 0..cases() {
        let message = &messages[random.below(messages.len())];
        let outcome = handle(&random.damage(message));
        counted[usize::from(outcome.is_err())] += 1;
        if let Err(error) = outcome {
            assert!(error.to_string().len() < 100_000);
        }
    }
    counted
}

/// Returns a request as the next one, and other messages unchanged.
fn as_next(server: &ServerSession, message: ToServer) -> ToServer {
    if let ToServer::Request(_, request) = message { ToServer::Request(server.next_request(), request) } else { message }
}

/// Uses a study as a window does after its arrival.
fn show(study: Result<RemoteStudy, String>) {
    let is_proposed = study.map(|RemoteStudy { study, .. }| match &study.measured {
        Data::Events(data) => cylinder_of(&data.list.facts).is_ok() && study.measured.default_settings().is_ok(),
        data => data.default_settings().is_ok(),
    });
    drop(is_proposed);
}

/// Returns a server whose set-up and files refuse everything.
fn server() -> (ServerSession, Receiver<Input>) {
    let refuse = |_: &Job, _: &Task| Err(SetupProblem::NoProjections.into());
    let options = SessionOptions { cache: Cache::nowhere(), ..SessionOptions::default() };
    let session = Session::with_setup(options, Box::new(refuse), || {});
    let (sender, inputs) = unbounded();
    let options = ServeOptions { linger: Duration::ZERO, stop: never, open: Arc::new(|_, _| Err("none".into())) };
    let mut server = ServerSession::new(session, sender, Arc::default(), Rendezvous::open(|_, _| ()), options);
    server.welcome(0).unwrap();
    (server, inputs)
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let (mut server, _inputs) = server();
    server.open_for_tests(STUDY, Arc::new(study().map(Data::from)));
    let mut handle = |request| server.handle_message(as_next(&server, ToServer::Request(0, request)));
    let lines = || job(study()).settings;
    let start = |run, study| Request::Start { run, study, settings: lines(), rois: rois(), paused: false };
    // The window numbers runs, with gaps; a study that is not open is refused, and the connection remains.
    for (run, study) in [(1, STUDY), (5, STUDY), (6, 77), (8, STUDY)] {
        handle(start(run, study)).unwrap();
    }
    for run in [0, 1, 7, 8] {
        assert!(handle(start(run, STUDY)).is_err(), "run {run} after run 8");
    }
    let planes = sweep_job().settings;
    assert!(handle(Request::Start { run: 9, study: STUDY, settings: planes, rois: rois(), paused: false }).is_err());
    // The window numbers studies too.
    handle(Request::Open(4, Box::new(StudyFiles::File("/x".into())))).unwrap();
    for study in [0, STUDY, 4] {
        assert!(handle(Request::Open(study, Box::new(StudyFiles::File("/x".into())))).is_err(), "study {study} after study 4");
    }
    handle(Request::Close(u64::MAX)).unwrap();
    handle(start(u64::MAX, STUDY)).unwrap();
    assert!(handle(start(u64::MAX, STUDY)).is_err());
}

#[test]
fn no_message_stops_the_server() {
    let (mut server, inputs) = server();
    server.open_for_tests(STUDY, Arc::new(study().map(Data::from)));
    let messages = to_server();
    for message in &messages[..1] {
        server.handle_message(decode(message).unwrap().0).unwrap();
    }
    let mut num = 0;
    let counted = handled(&messages, |bytes| {
        num += 1;
        if num % 100 == 0 {
            server.send_news()?;
            inputs.try_iter().for_each(drop);
        }
        // Each request is handled as the next one.
        server.handle_message(as_next(&server, decode(bytes)?.0))
    });
    assert!(counted.iter().all(|&num| num > cases() / 10), "{counted:?}");
}

#[test]
fn no_message_stops_the_client() {
    let ((events, received), (frames, images), (inputs, _inbox)) = (unbounded(), frame_channel(), unbounded());
    let channels = SolverChannels { events, frames, history: History::new(1 << 20), trace: Trace::off() };
    let (remote, shared) = Remote::new("server".into(), inputs.clone());
    let mut client = Client::new(Box::new(|| Err(RemoteError::Closed)), channels, shared, inputs, Box::new(|| {}));
    let job = job(Study { remote_id: Some(STUDY), ..study() });
    let start = Command::Start { job: job.clone(), rois: rois(), paused: false };
    client.forward(Message { command: start, run: 1, task: Task::new() }).unwrap();
    client.greet_for_tests();
    remote.ask_for_tests();
    let as_next = |client: &Client, message| match message {
        ToClient::Notification(_, notification) => ToClient::Notification(client.next_notification(), notification),
        message => message,
    };
    let messages = to_client(&job);
    for message in &messages[..messages.len() - 6] {
        let (message, payload) = decode(message).unwrap();
        client.handle_message(as_next(&client, message), payload).unwrap();
    }
    let counted = handled(&messages, |bytes| {
        received.try_iter().for_each(drop);
        drop(images.take());
        let (message, payload) = decode(bytes)?;
        let message = as_next(&client, message);
        if let ToClient::Notification(_, Notification::Opened(_, Ok(metadata))) = &message {
            show(StudyMetadata::clone(metadata).study());
        }
        client.handle_message(message, payload)
    });
    assert!(counted.iter().all(|&num| num > cases() / 10), "{counted:?}");
}
