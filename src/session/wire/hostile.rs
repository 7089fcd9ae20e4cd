//! Messages that were damaged on their way, to either end: each is refused or obeyed, and none stops the program.
//!
//! `TOMOSCOPE_FUZZ_CASES` says how many; 1 000 000 were tried.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, never, unbounded};
use serde::Serialize;

use super::client::client;
use super::framing::{decode, encode};
use super::image::{num_in_slices, pack};
use super::images_out::PIECE;
use super::messages::*;
use super::rendezvous::Rendezvous;
use super::server::{Hub, Input, ServeOptions};
use super::studies::{RemoteStudy, Started, StudyHead};
use super::{Ends, WireError};
use crate::coded::Problem;
use crate::data::{
    CountRates, Counts, EventList, EventNumbers, Extremes, ListMetadata, Michelogram, Notice, Roi, RoiShape, ScanTime, Study,
    Unit,
};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::phantom::epri::{self, SweepOptions};
use crate::plan::{
    Acquisition, Cache, Data, DeviceChoice, Job, ListFiles, RunSettings, SetupProblem, StartInfo, StudyFiles, cylinder_of,
    default_settings, default_settings_of, default_sweep_settings, host_devices,
};
use crate::recon::Estimate;
use crate::scanner::{Detectors, find};
use crate::session::frames::frame_channel;
use crate::session::history::History;
use crate::session::solver::Message;
use crate::session::*;
use crate::task::Task;

/// Numbers that follow from one another (Marsaglia's xorshift).
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

    /// A message that was damaged: bytes changed, cut off, doubled or put in.
    fn damage(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = message.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len().max(1)).min(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.next() as u8),
                2 => bytes.extend_from_within(at..),
                // The largest numbers there are.
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

/// The study that is open.
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

/// Each with what it brings, without its length.
fn bytes(message: &impl Serialize, brings: &[u8]) -> Vec<u8> {
    encode(message, brings).unwrap().split_off(4)
}

const ITERATE: IterateId = IterateId { run: 1, iteration: 1, subiteration: 1 };

fn to_server() -> Vec<Vec<u8>> {
    let lines = || job(study()).settings;
    let planes = sweep_job().settings;
    let grid = Grid::centred([4, 4, 2], [1.0; 3]).unwrap();
    let line = Some(PeakLine { ends_mm: [[0.0; 3], [5.0; 3]], width_mm: 1.0 });
    let rules = vec![StopRule::Noise { nsr: 0.1 }, StopRule::Plateau { part: 0.5 }];
    let image = Beside::CompareWith { id: ITERATE, grid };
    let orders = [
        Order::Open(2, StudyFiles::File("/x".into())),
        Order::Close(2),
        Order::Open(3, StudyFiles::Events(ListFiles { attenuation: Some("/mu".into()), ..ListFiles::of(Path::new("/x")) })),
        Order::Start { run: 1, study: STUDY, settings: lines(), rois: Rois::of(&rois()), paused: false },
        Order::Start { run: 1, study: 77, settings: lines(), rois: Rois::of(&rois()), paused: false },
        Order::Control(Control::Cancel),
        Order::Control(Control::StepOnce),
        Order::Control(Control::SetAccumulation(Accumulation::Atomic)),
        Order::SetRois(Rois::of(&rois())),
        Order::RenameRois(Rois::renamed(&rois().rois)),
        Order::Control(Control::SetStopRules(rules)),
        Order::Control(Control::SetIterations(5)),
    ];
    let beside = [
        Beside::Measure(1, Rois::of(&rois())),
        Beside::Compare(Some(1)),
        Beside::MeasurePeaks(1, line),
        Beside::Keep(1),
        Beside::LetGo(1),
        Beside::Pin(1, 2, true),
        Beside::SetHistoryBytes(1 << 20),
    ];
    let orders = orders.into_iter().chain(beside.map(Order::Beside));
    let mut all: Vec<Vec<u8>> = orders.map(|order| bytes(&ToServer::Order(1, order), &[])).collect();
    all.push(bytes(&ToServer::Order(1, Order::Beside(image)), &pack(&[1.0; 32])));
    let others = [
        ToServer::Hello { session: Some("0".repeat(32)), num_news: 1 },
        ToServer::HaveNews(0),
        ToServer::LookAt([1, 2, 3]),
        ToServer::HavePieces(1),
        ToServer::Fetch(1, 1),
        ToServer::Ping(1),
        ToServer::Foresee { number: 1, study: STUDY, settings: lines() },
        ToServer::Foresee { number: 2, study: 77, settings: lines() },
        ToServer::Foresee { number: 3, study: STUDY, settings: planes },
    ];
    all.extend(others.iter().map(|message| bytes(message, &[])));
    all
}

fn to_window(job: &Job) -> Vec<Vec<u8>> {
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
        explained: Some(crate::recon::Explained { image: 1.0, additive: 0.5, measured: 2.0 }),
        num_events: None,
        accumulation: Accumulation::Atomic,
        race: None,
        stages: Default::default(),
        elapsed: Duration::from_secs(1),
        branch: 1,
        roi_sums: Vec::new(),
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
    let opened =
        |scan: Study<Data>| News::Opened(STUDY, Ok(Box::new(StudyHead::of(&scan, StudyFiles::File("/scan".into())).unwrap())));
    let event = |kind| News::Event(Event { run: 1, kind });
    let news = [
        event(EventKind::Iterate(Box::new(report))),
        event(EventKind::Remeasured { branch: 1, points: vec![(1, 1, Vec::new())] }),
        event(EventKind::Notice(Notice::info("x"))),
        event(EventKind::Ended(EndReason::Completed)),
        event(EventKind::Failed(Problem::new("code", "text"))),
        News::Started(1, Box::new(Started::of(STUDY, info, 2))),
        opened(study().map(Data::from)),
        opened(list().map(Data::from)),
        opened(sweep().map(Data::from)),
        News::Devices(host_devices()),
    ];
    let mut all: Vec<Vec<u8>> = news.into_iter().map(|news| bytes(&ToWindow::News(1, news), &[])).collect();
    let piece = |of, num| bytes(&ToWindow::Piece(PieceHead { image, of, first: 0, num }), &pack(&vec![2.0; num]));
    all.push(piece(PieceOf::Slices([1, 2, 3]), num_in_slices(grid).min(PIECE[0])));
    all.extend([PieceOf::Newest, PieceOf::Past].map(|of| piece(of, 1000)));
    let others = [
        ToWindow::Welcome { session: "0".repeat(32), host: "x".into(), num_orders: 0 },
        ToWindow::HaveOrders(0),
        ToWindow::Past(1, vec![[1, 1], [2, 2]]),
        ToWindow::Making { run: 1, done: 1, total: 2 },
        ToWindow::Pong(1),
        ToWindow::Foreseen(1, Some(Err("x".into()))),
    ];
    all.extend(others.iter().map(|message| bytes(message, &[])));
    all
}

/// How many damaged messages came through, and how many were refused.
fn tried(messages: &[Vec<u8>], mut hear: impl FnMut(&[u8]) -> Result<(), WireError>) -> [usize; 2] {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut counted = [0; 2];
    for _ in 0..cases() {
        let message = &messages[random.below(messages.len())];
        let outcome = hear(&random.damage(message));
        counted[usize::from(outcome.is_err())] += 1;
        if let Err(error) = outcome {
            assert!(error.to_string().len() < 100_000);
        }
    }
    counted
}

/// A message that is an order, as the next one.
fn as_next(hub: &Hub, message: ToServer) -> ToServer {
    if let ToServer::Order(_, order) = message { ToServer::Order(hub.next_order(), order) } else { message }
}

/// What a window does with a study as soon as it has come.
fn show(study: Result<RemoteStudy, String>) {
    let is_proposed = study.map(|RemoteStudy { study, .. }| match &study.measured {
        Data::Events { list, .. } => cylinder_of(&list.facts).is_ok() && default_settings_of(&study.measured).is_ok(),
        data => default_settings_of(data).is_ok(),
    });
    drop(is_proposed);
}

/// A solver's end whose set-up and whose files refuse everything.
fn hub() -> (Hub, Receiver<Input>) {
    let refuse = |_: &Job, _: &Task| Err(SetupProblem::NoProjections.into());
    let options = SessionOptions { cache: Cache::nowhere(), ..SessionOptions::default() };
    let session = Session::with_setup(options, Box::new(refuse), || {});
    let (sender, inputs) = unbounded();
    let options = ServeOptions { linger: Duration::ZERO, stop: never, open: Arc::new(|_, _| Err("none".into())) };
    let mut hub = Hub::new(session, sender, Arc::default(), Rendezvous::open(|_, _| ()), options);
    hub.welcome(0).unwrap();
    (hub, inputs)
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let (mut hub, _inputs) = hub();
    hub.open_for_tests(STUDY, Arc::new(study().map(Data::from)));
    let mut obey = |order| hub.hear(as_next(&hub, ToServer::Order(0, order)), &[]);
    let lines = || job(study()).settings;
    let start = |run, study| Order::Start { run, study, settings: lines(), rois: Rois::of(&rois()), paused: false };
    // Runs are numbered by the window, which may leave numbers out; a study that is not open is refused, and the line holds.
    for (run, study) in [(1, STUDY), (5, STUDY), (6, 77), (8, STUDY)] {
        obey(start(run, study)).unwrap();
    }
    for run in [0, 1, 7, 8] {
        assert!(obey(start(run, STUDY)).is_err(), "run {run} after run 8");
    }
    let planes = sweep_job().settings;
    assert!(obey(Order::Start { run: 9, study: STUDY, settings: planes, rois: Rois::of(&rois()), paused: false }).is_err());
    // So are studies.
    obey(Order::Open(4, StudyFiles::File("/x".into()))).unwrap();
    for study in [0, STUDY, 4] {
        assert!(obey(Order::Open(study, StudyFiles::File("/x".into()))).is_err(), "study {study} after study 4");
    }
    obey(Order::Close(u64::MAX)).unwrap();
    obey(start(u64::MAX, STUDY)).unwrap();
    assert!(obey(start(u64::MAX, STUDY)).is_err());
}

#[test]
fn no_message_stops_the_solvers_end() {
    let (mut hub, inputs) = hub();
    hub.open_for_tests(STUDY, Arc::new(study().map(Data::from)));
    let messages = to_server();
    for message in &messages[..1] {
        let (message, brings) = decode(message).unwrap();
        hub.hear(message, brings).unwrap();
    }
    let mut num = 0;
    let counted = tried(&messages, |bytes| {
        num += 1;
        if num % 100 == 0 {
            hub.hand_over()?;
            inputs.try_iter().for_each(drop);
        }
        let (message, brings) = decode(bytes)?;
        // Orders come in their turn: each is looked at as the next.
        hub.hear(as_next(&hub, message), brings)
    });
    assert!(counted.iter().all(|&num| num > cases() / 10), "{counted:?}");
}

#[test]
fn no_message_stops_the_windows_end() {
    let (messages, inbox) = unbounded();
    let (asks, asked) = unbounded();
    let (events, told) = unbounded();
    let ((wholes, frames), (slices, sliced)) = (frame_channel(), frame_channel());
    let (history, trace) = (History::new(1 << 20), Trace::off());
    let ends = Ends { messages: inbox, asks: asked, events, wholes, slices, history, trace };
    let (remote, mut client, _inbox) = client("there".into(), Box::new(|| Err(WireError::Closed)), ends, || {});
    let job = job(Study { remote_id: Some(STUDY), ..study() });
    let start = Command::Start { job: job.clone(), rois: rois(), paused: false };
    client.pass_on(Message { command: start, run: 1, task: Task::new() }).unwrap();
    client.greeted_for_tests();
    remote.ask_for_tests();
    let heard = to_window(&job);
    for message in &heard[..heard.len() - 6] {
        let (message, brings) = decode(message).unwrap();
        let message = if let ToWindow::News(_, news) = message { ToWindow::News(client.next_news(), news) } else { message };
        client.hear(message, brings).unwrap();
    }
    let counted = tried(&heard, |bytes| {
        told.try_iter().for_each(drop);
        drop((frames.take(), sliced.take()));
        let (message, brings) = decode(bytes)?;
        let message = if let ToWindow::News(_, news) = message { ToWindow::News(client.next_news(), news) } else { message };
        if let ToWindow::News(_, News::Opened(_, Ok(head))) = &message {
            show(StudyHead::clone(head).study());
        }
        client.hear(message, brings)
    });
    assert!(counted.iter().all(|&num| num > cases() / 10), "{counted:?}");
    drop((messages, asks, remote));
}
