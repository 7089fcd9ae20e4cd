//! Frames of the window while a session streams images and steps, which the test itself sends: two runs in difference mode, 67
//! regions, a long record. Results that frames compute in the background arrive and equal the direct computation.
//!
//! The ignored test draws the image of a whole body, 440 × 440 × 531, and prints the thread CPU time of each frame's own code.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::data::{IterateId, Roi, RoiRole, RoiShape, RoiSums, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::Accumulation;
use tomoscope::plan::{DeviceChoice, Job, RunSettings, StartInfo};
use tomoscope::recon::{AscentReport, AscentTuning, Estimate, StageTimes};
use tomoscope::session::{
    Command, Control, EndReason, Event, EventKind, IterateReport, IterateUpdate, Message, RunId, Session, SessionOptions,
    SolverChannels, StoredIterate, Trace, Transport,
};
use tomoscope::ui::{App, AppOptions};

use super::frames::Offscreen;
use super::{cache, click, renderer, small_study, type_text, wait_for, wait_to_see};

const SIZE: [f32; 2] = [1280.0, 900.0];

/// Steps of an iteration.
const NUM_SUBSETS: usize = 10;

/// Solver whose events and images the test sends.
#[derive(Clone, Default)]
struct Stream {
    channels: Arc<Mutex<Option<SolverChannels>>>,
    /// Newest run, its job and the number of its regions.
    started: Arc<Mutex<Option<(RunId, Job, u64)>>>,
}

impl Transport for Stream {
    fn send(&self, message: Message) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        match message.command {
            Command::Start { job, rois, .. } => *started = Some((message.run, job, rois.branch)),
            Command::Control(Control::SetRois(rois)) => {
                started.iter_mut().for_each(|(.., branch)| *branch = rois.branch);
            }
            _ => {}
        }
    }
}

impl Stream {
    fn with<T>(&self, use_channels: impl FnOnce(&SolverChannels) -> T) -> T {
        use_channels(self.channels.lock().unwrap().as_ref().unwrap())
    }

    fn event(&self, run: RunId, kind: EventKind) {
        self.with(|channels| channels.events.send(Event { run, kind }).unwrap());
    }

    fn run(&self) -> (RunId, Job, u64) {
        self.started.lock().unwrap().clone().unwrap()
    }

    /// Reports that the newest run was set up with images on this grid.
    fn set_up(&self, grid: &Grid) {
        let (run, job, _) = self.run();
        let settings = RunSettings { grid: grid.clone(), num_subsets: NUM_SUBSETS, ..(*job.settings).clone() };
        let info = StartInfo {
            device: "Test".into(),
            projector: "stream".into(),
            num_subsets: NUM_SUBSETS,
            accumulation: Accumulation::Deterministic,
            accumulations: &[Accumulation::Deterministic],
            estimate: Estimate::default(),
            memory: Vec::new(),
            job: Job::new(Arc::clone(&job.study), settings),
        };
        self.with(|channels| channels.history.begin(run));
        self.event(run, EventKind::Started(Box::new(info)));
    }

    /// Reports a step of the newest run.
    fn step(&self, subiteration: usize, roi_sums: Vec<RoiSums>) {
        let (run, _, branch) = self.run();
        let tuning = AscentTuning { strength: 1.0, gamma: 2.0, step_factor: 1.0 };
        let ascent = AscentReport { objective: None, optimality: None, step_size: 1.0, num_halved: 0, update: 0.1, tuning };
        let completes_iteration = subiteration.is_multiple_of(NUM_SUBSETS);
        let report = IterateReport {
            iteration: subiteration / NUM_SUBSETS,
            subiteration,
            subset: (subiteration - 1) % NUM_SUBSETS,
            completes_iteration,
            log_likelihood_of_subset: Some(-1e6 / subiteration as f64),
            log_likelihood: completes_iteration.then_some(-1e7 / subiteration as f64),
            residual: None,
            explained: None,
            num_events: None,
            accumulation: Accumulation::Deterministic,
            race: None,
            ascent: Some(ascent),
            stages: StageTimes::default(),
            elapsed: Duration::from_millis(10 * subiteration as u64),
            branch,
            roi_sums,
            roi_deviations: Vec::new(),
        };
        self.event(run, EventKind::Iterate(Box::new(report)));
    }

    /// Publishes the image of the newest run after a step.
    fn publish(&self, subiteration: usize, volume: &Arc<Volume>) {
        let id = IterateId { run: self.run().0, iteration: subiteration / NUM_SUBSETS, subiteration };
        let (volume, extremes) = (Arc::clone(volume), volume.extremes());
        self.with(|channels| {
            channels.history.push(StoredIterate { id, volume: Arc::clone(&volume), extremes });
            channels.frames.send(IterateUpdate { id, volume, on_device: None, extremes, slices: None });
        });
    }
}

/// Returns the window, and the stream of its session.
fn window() -> (Harness<'static, App>, Stream) {
    let options = AppOptions {
        start: small_study(),
        autostart: true,
        device: DeviceChoice::Cpu,
        num_iterations: Some(1_000_000),
        for_pictures: false,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let stream = Stream::default();
    let transport = stream.clone();
    let builder = Harness::builder().with_size(SIZE).with_theme(Theme::Dark).renderer(Offscreen::new(SIZE));
    let mut harness = builder.build_eframe(move |creation| {
        let options_of = SessionOptions { history_bytes: 8 << 30, ..SessionOptions::default() };
        let session = Session::connect(&options_of, |channels| {
            *transport.channels.lock().unwrap() = Some(channels);
            transport.clone()
        });
        App::with_session(creation, options, session, None)
    });
    wait_for(&mut harness, "the request of a run", |app| app.work.live().run == 1);
    (harness, stream)
}

/// Loads regions from a file: a hot one, a cold one, 65 of background.
fn load_regions(harness: &mut Harness<'_, App>, grid: &Grid) -> Vec<Roi> {
    let width_mm = grid.size[0] as f64 * grid.voxel_mm[0];
    let region = |index: usize| {
        let angle = index as f64;
        let radius_mm = 0.3 * width_mm * (index as f64 / 67.0);
        let (role, activity_ratio) = match index {
            0 => (RoiRole::Hot, Some(4.0)),
            1 => (RoiRole::Cold, None),
            _ => (RoiRole::Background, None),
        };
        let shape = RoiShape::Sphere { radius_mm: 0.03 * width_mm };
        let centre = [radius_mm * angle.cos(), radius_mm * angle.sin(), 0.0];
        Roi { role, activity_ratio, ..Roi::new(format!("region {index}"), shape, centre) }
    };
    let rois: Vec<Roi> = (0..67).map(region).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rois.toml");
    tomoscope::io::rois::write_rois(&path, &rois).unwrap();
    click(harness, "Load…");
    type_text(harness, &path.to_string_lossy());
    click(harness, "OK");
    wait_for(harness, "the regions", |app| app.work.document().rois.len() == 67);
    rois
}

/// Returns an image whose values differ by the seed.
fn image(grid: &Grid, seed: u32) -> Arc<Volume> {
    let mut volume = Volume::filled(grid.clone(), 0.0);
    for (index, value) in volume.as_mut_slice().iter_mut().enumerate() {
        *value = ((index as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 20) as f32 / 1024.0;
    }
    Arc::new(volume)
}

fn sums(rois: &[Roi], volume: &Volume) -> Vec<RoiSums> {
    rois.iter().map(|roi| roi.mask(&volume.grid).sums(volume.as_slice())).collect()
}

/// Seconds of CPU time of this thread. (The system counts them up to the last change of threads.)
fn thread_cpu_secs() -> Option<f64> {
    std::thread::sleep(Duration::from_micros(1));
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(stat.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Milliseconds of thread CPU time of each frame's own code.
#[derive(Default)]
struct Meter(Vec<f64>);

impl Meter {
    fn frame(&mut self, harness: &mut Harness<'_, App>) {
        let before = thread_cpu_secs();
        harness.step();
        if let Some((before, after)) = before.zip(thread_cpu_secs()) {
            self.0.push(1e3 * (after - before));
        }
        harness.render().unwrap();
    }

    fn print(&mut self, what: &str) {
        let mut longest: Vec<(usize, f64)> = self.0.iter().copied().enumerate().collect();
        longest.sort_by(|a, b| b.1.total_cmp(&a.1));
        println!("longest frames (number, ms): {:.1?}", &longest[..longest.len().min(8)]);
        self.0.sort_by(f64::total_cmp);
        let Some(last) = self.0.len().checked_sub(1) else { return };
        let [median, of_99] = [0.5, 0.99].map(|part| self.0[(last as f64 * part) as usize]);
        println!(
            "{what}: {} frames, own code median {median:.1} ms, 99 % {of_99:.1} ms, longest {:.1} ms",
            last + 1,
            self.0[last]
        );
    }
}

/// Image and the sums of its regions.
type Image = (Arc<Volume>, Vec<RoiSums>);

/// Returns the window with two runs, of which the second one streams: its stream, its regions, its images and their sums.
fn two_runs(size: [usize; 3], num_steps: usize) -> (Harness<'static, App>, Stream, [Image; 3]) {
    let grid = Grid::centred(size, [2.0; 3]).unwrap();
    let (mut harness, stream) = window();
    let rois = load_regions(&mut harness, &grid);
    let images = [1, 2, 3].map(|seed| image(&grid, seed)).map(|image| (Arc::clone(&image), sums(&rois, &image)));
    stream.set_up(&grid);
    stream.step(NUM_SUBSETS, images[0].1.clone());
    stream.publish(NUM_SUBSETS, &images[0].0);
    stream.event(1, EventKind::Ended(EndReason::Completed));
    wait_for(&mut harness, "the first image", |app| app.work.is_run_over() && app.work.shown().volume().is_some());
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2);
    stream.set_up(&grid);
    (1..=num_steps).for_each(|step| stream.step(step, images[1].1.clone()));
    stream.publish(num_steps, &images[1].0);
    let is_shown = |app: &App| app.work.shown().id().is_some_and(|id| (id.run, id.subiteration) == (2, num_steps));
    wait_for(&mut harness, "the record", |app| app.work.live().progress().0 == num_steps && is_shown(app));
    (harness, stream, images)
}

/// Draws two runs in difference mode while the second one streams images of this size for so long.
fn stream_for(size: [usize; 3], num_steps: usize, time: Duration) {
    let (mut harness, stream, images) = two_runs(size, num_steps);
    let mut step = num_steps;
    for tab in ["ROIs", "Compare"] {
        click(&mut harness, tab);
        if tab == "ROIs" {
            click(&mut harness, "difference");
        }
        let (mut meter, begin, mut published) = (Meter::default(), Instant::now(), Instant::now());
        while begin.elapsed() < time {
            if published.elapsed() > Duration::from_millis(500) {
                step += NUM_SUBSETS;
                let (image, sums) = &images[1 + step / NUM_SUBSETS % 2];
                (step - NUM_SUBSETS + 1..=step).for_each(|step| stream.step(step, sums.clone()));
                stream.publish(step, image);
                published = Instant::now();
            }
            meter.frame(&mut harness);
        }
        meter.print(&format!("{size:?}, {num_steps} steps, {tab}"));
    }
}

#[test]
#[ignore = "needs 6 GB of memory and minutes"]
fn frames_of_a_whole_body_are_short() {
    if renderer().is_some() {
        stream_for([440, 440, 531], 100_000, Duration::from_secs(30));
    }
}

#[test]
fn frames_are_drawn_while_images_and_steps_stream_in() {
    if renderer().is_some() {
        stream_for([48, 48, 40], 200, Duration::from_millis(700));
    }
}

#[test]
fn a_large_image_is_displayed_once_it_is_on_the_adapter() {
    if renderer().is_none() {
        return;
    }
    // Twelve parts of 4 MiB, at most four of them in a frame.
    let (mut harness, stream, images) = two_runs([200, 200, 300], NUM_SUBSETS);
    click(&mut harness, "ROIs");
    let next = 2 * NUM_SUBSETS;
    stream.step(next, images[2].1.clone());
    stream.publish(next, &images[2].0);
    let mut num_waiting = 0;
    while harness.state().work.shown().id().is_some_and(|id| id.subiteration == NUM_SUBSETS) {
        assert!(Arc::ptr_eq(harness.state().work.shown().image().unwrap(), &images[1].0));
        num_waiting += usize::from(harness.state().work.live().progress().0 == next);
        harness.step();
        harness.render().unwrap();
        assert!(num_waiting < 100, "the image does not come");
    }
    assert!(num_waiting >= 2, "{num_waiting}");
    assert!(Arc::ptr_eq(harness.state().work.shown().image().unwrap(), &images[2].0));
    // The table has the numbers of this image.
    let first = &images[2].1[0];
    let largest = f64::from(first.max);
    let text = format!("{largest:.*}", (3 - largest.abs().log10().floor() as i32).max(0) as usize);
    wait_to_see(&mut harness, "the numbers", |harness| harness.query_all_by_label(&text).next().is_some());
}

#[test]
fn a_long_record_has_the_provenance_of_each_image_that_can_be_displayed() {
    if renderer().is_none() {
        return;
    }
    let num_steps = 40_000;
    let (harness, ..) = two_runs([16, 16, 8], num_steps);
    let secs = |step: usize| harness.state().work.live().provenance(step, None).unwrap().times.elapsed_secs;
    for step in [NUM_SUBSETS, 10_000, num_steps - 16_000 + 3, num_steps - 1, num_steps] {
        assert!((secs(step) - 0.01 * step as f64).abs() < 1e-9, "{step}: {}", secs(step));
    }
    let made = harness.state().work.live().provenance(10_000, None).unwrap();
    assert_eq!(made.algorithm.unwrap().ascent.unwrap().switched, Vec::new());
}
