//! Runs on list-mode data that are still being written.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tomoscope::data::{EventList, Study, Volume};
use tomoscope::io::list_mode::petsird::PetsirdWriter;
use tomoscope::io::list_mode::{ListFollower, ListOptions};
use tomoscope::io::open_list_mode;
use tomoscope::operator::Accumulation;
use tomoscope::phantom::{ListSimulation, by_name, simulate_list};
use tomoscope::plan::{
    AlgorithmChoice, DeviceChoice, EventAccumulator, Job, ListAcquisition, ListData, ListSelection, Rays, RunSettings,
    SensitivitySettings, default_list_settings, list_sensitivity, list_study, prepare, rays_of_a_pair,
};
use tomoscope::scanner::find;
use tomoscope::session::{Command, Control, EndReason, Event, EventKind, Feed, RoiSet, SessionOptions};
use tomoscope::task::Task;

use super::script::{PATIENCE, Watcher, ball};

const NUM_EVENTS: f64 = 30_000.0;

/// A list of the small ring without background, whose events come at even times.
pub fn list(folder: &Path) -> (PathBuf, Vec<u8>) {
    let scanner = &find("small").unwrap().geometry;
    let options = ListSimulation {
        counts: NUM_EVENTS,
        seed: 3,
        duration_secs: 60.0,
        tof_fwhm_mm: None,
        randoms_fraction: 0.0,
        attenuation: false,
    };
    let simulated = simulate_list(&by_name("cylinder", scanner).unwrap(), scanner, &options, &Task::new()).unwrap().measured;
    let path = folder.join("whole.petsird");
    let mut writer = PetsirdWriter::create(&path, &simulated.facts, 50).unwrap();
    writer.write(&simulated.events).unwrap();
    writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

pub fn read_whole(path: &Path) -> Study<EventList> {
    list_study(path, &ListOptions::default(), &ListSelection::default(), &Task::new()).unwrap()
}

/// One subset, one line for a pair, bit by bit the same; on the processor unless a device is required.
pub fn settings(list: &EventList) -> RunSettings {
    let device = match std::env::var_os("TOMOSCOPE_REQUIRE_CUDA") {
        Some(_) => DeviceChoice::Cuda(0),
        None => DeviceChoice::Cpu,
    };
    RunSettings {
        algorithm: AlgorithmChoice::MLEM,
        num_iterations: 2,
        num_subsets: 1,
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        device,
        accumulation: Some(Accumulation::Deterministic),
        ..default_list_settings(list).unwrap()
    }
}

/// A list that grows: its file, what adds to the acquisition, and the jobs of its runs.
struct Growing {
    path: PathBuf,
    bytes: Vec<u8>,
    written: usize,
    acquisition: ListAcquisition,
    feed: Feed,
    study: Arc<Study<EventList>>,
}

impl Growing {
    /// Writes only the header.
    fn new(folder: &Path, bytes: Vec<u8>, watcher: &Watcher) -> Self {
        let path = folder.join("growing.petsird");
        // The header is whole where the list can be opened.
        let opens = |len: usize| {
            fs::write(&path, &bytes[..len]).unwrap();
            open_list_mode(&path, &ListOptions::default())
        };
        let (mut low, mut high) = (0, bytes.len());
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            (low, high) = if opens(middle).is_ok() { (low, middle) } else { (middle, high) };
        }
        let follower = ListFollower::new(opens(high).unwrap());
        let events = EventAccumulator::new(Arc::clone(follower.facts()), ListSelection::default());
        let study = Arc::new(Study::new("growing", events.list().clone()));
        let acquisition = ListAcquisition::growing(events);
        let feed = Feed::follow_list(follower, acquisition.clone(), watcher.session.on_arrival()).unwrap();
        Self { path, bytes, written: high, acquisition, feed, study }
    }

    fn write(&mut self, num_bytes: usize) {
        let to = (self.written + num_bytes).min(self.bytes.len());
        OpenOptions::new().append(true).open(&self.path).unwrap().write_all(&self.bytes[self.written..to]).unwrap();
        self.written = to;
    }

    fn job(&self) -> Job {
        let study = Study::clone(&self.study);
        let settings = settings(&study.measured);
        let growing = Some(self.acquisition.clone());
        Job::new(Arc::new(study.map(|list| ListData { list, growing }.into())), settings)
    }

    fn num_arrived(&self) -> usize {
        self.acquisition.look(|events| events.list().prompts.len())
    }

    /// The whole list, once its end was written.
    fn whole(&self) -> EventList {
        let mut whole = None;
        wait_until(|| {
            whole = self.feed.take_list();
            whole.is_some()
        });
        whole.unwrap()
    }
}

/// Waits until something holds that can only be looked at.
fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Σ_j s_j x_j: the expected number of all pairs for an image; for MLEM without background the number of its events.
struct Expected {
    sensitivity: Volume,
}

impl Expected {
    fn new(list: &EventList) -> Self {
        let settings = settings(list);
        let rays = rays_of_a_pair(&list.facts, &settings.grid, settings.rays);
        let (grid, fov_radius_mm, device) = (settings.grid, settings.fov_radius_mm, settings.device);
        let wanted = SensitivitySettings { grid, fov_radius_mm, rays, device };
        Self { sensitivity: list_sensitivity(&list.facts, &wanted, &Task::new()).unwrap().volume }
    }

    fn of(&self, image: &Volume) -> f64 {
        self.sensitivity.as_slice().iter().zip(image.as_slice()).map(|(s, x)| f64::from(*s) * f64::from(*x)).sum()
    }
}

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, num: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % num
    }
}

/// Returns the image of a complete list.
fn image_of(study: Study<EventList>) -> Volume {
    let mut watcher = Watcher::new(Box::new(prepare));
    let settings = Box::new(settings(&study.measured));
    let job = Job::of(&study, *settings);
    let run = watcher.session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    Volume::clone(&watcher.shown.as_ref().unwrap().volume)
}

/// Commands that are sent; `TOMOSCOPE_FUZZ_CASES` asks for more.
fn num_commands() -> usize {
    std::env::var("TOMOSCOPE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

#[test]
fn whatever_is_commanded_no_event_is_lost_or_counted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = list(folder.path());
    let whole = read_whole(&path);
    let expected = Expected::new(&whole.measured);
    // Neither likelihood nor history is requested: images are checked as they arrive.
    let options = SessionOptions { history_bytes: 0, ..SessionOptions::default() };
    let mut watcher = Watcher::with_options(options, Box::new(prepare), |_| {});
    let mut growing = Growing::new(folder.path(), bytes, &watcher);
    let (num_commands, len) = (num_commands(), growing.bytes.len() - growing.written);
    let (mut dice, mut branch, mut num_checked) = (Dice(15), 0, 0);
    let mut checked_frame = (0, 0);
    for _ in 0..num_commands {
        let command: Option<Command> = match dice.below(40) {
            // Half of all commands; on average the file is whole when nine in ten were sent.
            0..=19 => {
                growing.write(dice.below(2 * (len * 22 / (num_commands * 10)) as u64 + 2) as usize);
                None
            }
            20 => Some(Command::Start { job: growing.job(), rois: ball(branch), paused: dice.below(4) == 0 }),
            21..=22 => Some(Control::Pause.into()),
            23..=25 => Some(Control::Resume.into()),
            26 => Some(Control::StepOnce.into()),
            27 if dice.below(3) == 0 => Some(Control::Stop.into()),
            28 if dice.below(3) == 0 => Some(Control::Cancel.into()),
            29 => {
                branch += 1;
                Some(Control::SetRois(ball(branch)).into())
            }
            30 => Some(Control::SetIterations(1 + dice.below(3) as usize).into()),
            31 => Some(Control::SetAccumulation(Accumulation::Deterministic).into()),
            32 => Some(Command::DataArrived),
            _ => {
                std::thread::sleep(Duration::from_millis(dice.below(80)));
                None
            }
        };
        command.into_iter().for_each(|command| _ = watcher.session.send(command));
        watcher.look();
        // The displayed image contains exactly the events that its step reports.
        let Some(frame) = watcher.shown.as_ref().filter(|frame| frame.id.subiteration > 0) else { continue };
        if std::mem::replace(&mut checked_frame, (frame.id.run, frame.id.subiteration)) == checked_frame {
            continue;
        }
        let (run, step, volume) = (frame.id.run, frame.id.subiteration, Arc::clone(&frame.volume));
        let of_step =
            |event: &Event| event.run == run && matches!(&event.kind, EventKind::Iterate(report) if report.subiteration == step);
        let EventKind::Iterate(report) = watcher.wait_for(0, of_step).kind else { continue };
        let (num_events, counts) = (report.num_events.unwrap(), expected.of(&volume));
        assert!((counts / num_events as f64 - 1.0).abs() < 1e-4, "{counts} of {num_events} events");
        assert!(num_events <= growing.num_arrived());
        num_checked += 1;
    }
    println!("{num_checked} images checked");
    assert!(num_checked > 0);
    // Each run has only ever had more.
    let runs: Vec<u64> = watcher.events.iter().map(|event| event.run).collect();
    for run in 1..=runs.into_iter().max().unwrap() {
        let of_steps: Vec<usize> = watcher.iterates(run).iter().map(|report| report.num_events.unwrap()).collect();
        assert!(of_steps.is_sorted(), "{of_steps:?}");
    }
    assert!(watcher.events.iter().all(|event| !matches!(event.kind, EventKind::Failed(_))));
    growing.write(len);
    let list = growing.whole();
    assert_eq!(list.prompts, whole.measured.prompts);
    assert_eq!(list.delayeds, whole.measured.delayeds);
    let [followed, read] = [&list, &whole.measured].map(|list| list.rates.curves());
    for (followed, read) in followed.iter().flatten().zip(read.iter().flatten()) {
        assert!(followed[0] == read[0] && (followed[1] - read[1]).abs() < 1e-6 * read[1], "{followed:?} {read:?}");
    }
    let image = image_of(Study::new("followed", list));
    assert!(image.as_slice() == image_of(whole).as_slice());
}

#[test]
fn an_image_is_there_with_the_first_events_and_grows_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = list(folder.path());
    let whole = read_whole(&path);
    let mut watcher = Watcher::new(Box::new(prepare));
    let mut growing = Growing::new(folder.path(), bytes, &watcher);
    let run = watcher.session.send(Command::Start { job: growing.job(), rois: RoiSet::default(), paused: false });
    watcher.wait_for(0, |event| matches!(event.kind, EventKind::Started(_)));
    let num_bytes_of_events = growing.bytes.len() - growing.written;
    // Too few for an image.
    growing.write(2000);
    wait_until(|| growing.num_arrived() > 0);
    std::thread::sleep(Duration::from_millis(300));
    watcher.look();
    assert!(watcher.iterates(run).is_empty());
    growing.write(num_bytes_of_events / 3);
    let is_of = |least: usize| move |event: &Event| matches!(&event.kind, EventKind::Iterate(report) if report.num_events.is_some_and(|num| num >= least));
    watcher.wait_for(0, is_of(whole.measured.prompts.len() / 4));
    growing.write(num_bytes_of_events / 3);
    watcher.wait_for(0, is_of(whole.measured.prompts.len() / 2));
    // A while later the image is of all that has come, and nothing is computed while nothing comes.
    let mut num_steps = 0;
    wait_until(|| {
        std::thread::sleep(Duration::from_millis(300));
        watcher.look();
        let steps = watcher.iterates(run);
        let is_at_rest = std::mem::replace(&mut num_steps, steps.len()) == steps.len();
        is_at_rest && steps.last().unwrap().num_events == Some(growing.num_arrived())
    });
    growing.write(usize::MAX / 2);
    assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
    assert_eq!(growing.whole().prompts, whole.measured.prompts);
}
