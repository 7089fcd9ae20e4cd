//! An algorithm that follows a script, and a watcher that behaves as a window does.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use tomoscope::algebra::{BackendError, PendingVolume};
use tomoscope::coded::Problem;
use tomoscope::data::{Counts, Michelogram, Roi, RoiMask, RoiRole, RoiShape, RoiSums, Study, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, OperatorError};
use tomoscope::plan::{Job, Prepared, RunSettings, StartInfo, default_settings};
use tomoscope::recon::{
    Algorithm, AscentReport, AscentTuning, DataResidual, EmReport, Estimate, ReconError, StageTimes, StepReport,
};
use tomoscope::session::{
    Answer, Command, EndReason, Event, EventKind, IterateReport, IterateUpdate, RegionSums, RoiSet, RunId, Session,
    SessionOptions, Setup,
};
use tomoscope::task::Task;

/// Longer than anything here takes, on however busy a machine; a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Action of a step, which receives the number of the step and the stop flag.
type Deed = Arc<dyn Fn(usize, &Task) -> Result<(), ReconError> + Send + Sync>;

/// Action of a copy.
pub type CopyDeed = Arc<dyn Fn(usize) -> Result<(), BackendError> + Send + Sync>;

/// An algorithm whose image is, in every voxel, 1000 × run + step.
pub struct Script {
    pub run: usize,
    pub num_subsets: usize,
    pub deed: Deed,
    pub num_unexplained_bins: usize,
    /// Action of a device's copy, which receives the number of the step; without it images are read at once.
    pub copy: Option<CopyDeed>,
    /// Everything that is asked of the algorithm, in order.
    pub log: Option<Sender<&'static str>>,
    /// Where the masks go that it is given.
    pub given: Option<Sender<Vec<RoiMask>>>,
    pub steps: usize,
    pub masks: Vec<RoiMask>,
    pub accumulation: Accumulation,
    /// Penalty and step size, of a script that climbs, and the number of times that its steps were halved.
    pub tuning: Option<AscentTuning>,
    pub num_halved: usize,
}

impl Script {
    pub fn new(num_subsets: usize) -> Self {
        Self {
            run: 0,
            num_subsets,
            deed: Arc::new(|_, _| Ok(())),
            num_unexplained_bins: 0,
            copy: None,
            log: None,
            given: None,
            steps: 0,
            masks: Vec::new(),
            accumulation: Accumulation::Deterministic,
            tuning: None,
            num_halved: 0,
        }
    }

    pub fn with_deed(num_subsets: usize, deed: impl Fn(usize, &Task) -> Result<(), ReconError> + Send + Sync + 'static) -> Self {
        Self { deed: Arc::new(deed), ..Self::new(num_subsets) }
    }

    /// Returns a script whose images a device copies during the steps.
    pub fn with_copy(self, copy: impl Fn(usize) -> Result<(), BackendError> + Send + Sync + 'static) -> Self {
        Self { copy: Some(Arc::new(copy)), ..self }
    }

    fn note(&self, what: &'static str) {
        if let Some(log) = &self.log {
            log.send(what).unwrap();
        }
    }

    fn value(&self) -> f32 {
        value_of(self.run, self.steps)
    }
}

/// The image of a scripted run after a step.
pub fn value_of(run: usize, step: usize) -> f32 {
    (1000 * run + step) as f32
}

impl Algorithm for Script {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        (self.deed)(self.steps + 1, task)?;
        self.steps += 1;
        self.note("step");
        Ok(StepReport {
            iteration: self.steps / self.num_subsets,
            subiteration: self.steps,
            subset: (self.steps - 1) % self.num_subsets,
            completes_iteration: self.steps.is_multiple_of(self.num_subsets),
            num_events: None,
            stages: StageTimes::default(),
            ascent: self.tuning.map(|tuning| AscentReport {
                objective: None,
                optimality: None,
                step_size: tuning.step_factor,
                num_halved: self.num_halved,
                update: 0.1,
                tuning,
            }),
            em: Some(EmReport {
                log_likelihood: Some(-1.0 / self.steps as f64),
                residual: Some(DataResidual { squares: self.steps as f64, expected: 4.0 }),
                num_unexplained_bins: self.num_unexplained_bins,
                num_limited_bins: 0,
                explained: None,
                accumulation: self.accumulation,
                race: None,
            }),
        })
    }

    fn num_subsets(&self) -> usize {
        self.num_subsets
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        self.note("publish");
        volume.as_mut_slice().fill(self.value());
        Ok(())
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        let Some(copy) = self.copy.clone() else { return Ok(None) };
        self.note("publish");
        let (steps, value) = (self.steps, self.value());
        Ok(Some(PendingVolume::new(move |values: &mut [f32]| {
            copy(steps)?;
            values.fill(value);
            Ok(())
        })))
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.masks = masks.to_vec();
        if let Some(given) = &self.given {
            given.send(masks.to_vec()).unwrap();
        }
        Ok(())
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        self.note("measure");
        Ok(self.masks.iter().map(|mask| mask.sums_with(|_| Some(self.value()))).collect())
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        self.accumulation = accumulation;
    }

    fn tuning(&self) -> Option<AscentTuning> {
        self.tuning
    }

    fn set_tuning(&mut self, tuning: AscentTuning) {
        self.tuning = Some(tuning);
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic, Accumulation::Atomic]
    }
}

/// A set-up that gives each run the algorithm that `make` writes for it (runs count from 1).
pub fn scripted(mut make: impl FnMut(usize) -> Script + Send + 'static) -> Setup {
    let mut run = 0;
    Box::new(move |job, _| {
        run += 1;
        let mut algorithm = make(run);
        algorithm.run = run;
        let info = StartInfo {
            device: "script".into(),
            projector: "script".into(),
            num_subsets: algorithm.num_subsets,
            accumulation: Accumulation::Deterministic,
            accumulations: algorithm.accumulations(),
            estimate: Estimate::default(),
            memory: Vec::new(),
            job: job.clone(),
        };
        Ok(Prepared { algorithm: Box::new(algorithm), info, notices: Vec::new(), num_taken: 0 })
    })
}

/// The error of a step that a stop flag interrupted.
pub fn stopped(task: &Task) -> Result<(), ReconError> {
    task.check().map_err(|error| ReconError::Operator(OperatorError::from(error)))
}

/// Waits inside a step until the stop flag is raised.
pub fn wait_for_stop(task: &Task) -> Result<(), ReconError> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        stopped(task)?;
        // A stop flag can only be looked at, as the operators do.
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nobody raised the stop flag");
}

/// A study that scripted runs are started with; its data is never looked at.
pub fn any_study() -> Arc<Study<Counts>> {
    let geometry = Arc::new(tomoscope::scanner::find("small").unwrap().geometry.clone());
    let counts = vec![1.0; geometry.num_bins()];
    Arc::new(Study::new("any", Counts::new(Michelogram::new(geometry, counts).unwrap())))
}

/// Settings with a small image.
pub fn small_settings(study: &Counts, num_iterations: usize) -> RunSettings {
    let grid = Grid::centred([4, 4, 3], [2.0; 3]).unwrap();
    RunSettings { num_iterations, fov_radius_mm: 4.0, grid, ..default_settings(study).unwrap() }
}

/// Sums of regions that an event reports.
pub fn regions(event: &Event) -> Option<&RegionSums> {
    if let EventKind::Measured(Answer::Regions(sums)) = &event.kind { Some(sums) } else { None }
}

/// A ball of 3 mm about the middle.
pub fn ball(branch: u64) -> RoiSet {
    let shape = RoiShape::Sphere { radius_mm: 3.0 };
    RoiSet { branch, rois: vec![Roi { role: RoiRole::Background, ..Roi::new("ball", shape, [0.0; 3]) }].into() }
}

/// A watcher: on every call of wake it drains the events and then takes the volume, as a window does.
pub struct Watcher {
    pub session: Session,
    woken: Receiver<()>,
    study: Arc<Study<Counts>>,
    /// Every event so far.
    pub events: Vec<Event>,
    /// The last frame taken.
    pub shown: Option<IterateUpdate>,
    /// Subiterations of all frames taken, by run.
    pub taken: HashMap<RunId, Vec<usize>>,
}

impl Watcher {
    pub fn new(setup: Setup) -> Self {
        Self::with_options(SessionOptions::default(), setup, |_| {})
    }

    pub fn with_options(options: SessionOptions, setup: Setup, on_wake: impl Fn(usize) + Send + 'static) -> Self {
        let (wake, woken) = unbounded();
        let num_wakes = AtomicUsize::new(0);
        let session = Session::with_setup(options, setup, move || {
            on_wake(1 + num_wakes.fetch_add(1, Ordering::SeqCst));
            let _ = wake.send(());
        });
        Self { session, woken, study: any_study(), events: Vec::new(), shown: None, taken: HashMap::new() }
    }

    /// Starts a run of this number of iterations.
    pub fn start(&self, num_iterations: usize, rois: RoiSet, paused: bool) -> RunId {
        let settings = Box::new(small_settings(&self.study.measured, num_iterations));
        let job = Job::of(&self.study, *settings);
        self.session.send(Command::Start { job, rois, paused })
    }

    /// Drains the events, then takes the volume.
    pub fn look(&mut self) {
        self.events.extend(self.session.events().try_iter());
        if let Some(frame) = self.session.take_frame() {
            self.taken.entry(frame.id.run).or_default().push(frame.id.subiteration);
            if let Some(old) = self.shown.replace(frame) {
                self.session.return_frame(old);
            }
        }
    }

    /// Receives events until one from number `from` on matches `wanted`.
    pub fn wait_for(&mut self, from: usize, wanted: impl Fn(&Event) -> bool) -> Event {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.look();
            if let Some(event) = self.events.iter().skip(from).find(|event| wanted(event)) {
                return event.clone();
            }
            assert!(self.woken.recv_deadline(deadline).is_ok(), "waited in vain; events: {:#?}", self.events);
        }
    }

    /// Fails if the session wakes anybody within a time.
    pub fn assert_quiet(&self, time: Duration) {
        self.woken.try_iter().for_each(drop);
        assert!(self.woken.recv_timeout(time).is_err(), "something happened");
    }

    /// Waits for the end of a run.
    pub fn wait_for_end(&mut self, run: RunId) -> EndReason {
        let over = |event: &Event| event.run == run && matches!(event.kind, EventKind::Ended(_) | EventKind::Failed(_));
        match self.wait_for(0, over).kind {
            EventKind::Ended(reason) => reason,
            kind => panic!("run {run} did not end but: {kind:?}"),
        }
    }

    /// Waits for the problem that ends a run.
    pub fn wait_for_failure(&mut self, run: RunId) -> Problem {
        let over = |event: &Event| event.run == run && matches!(event.kind, EventKind::Ended(_) | EventKind::Failed(_));
        match self.wait_for(0, over).kind {
            EventKind::Failed(problem) => problem,
            kind => panic!("run {run} did not fail but: {kind:?}"),
        }
    }

    /// The iterates of a run so far.
    pub fn iterates(&self, run: RunId) -> Vec<IterateReport> {
        let of_run = self.events.iter().filter(|event| event.run == run);
        of_run
            .filter_map(|event| if let EventKind::Iterate(report) = &event.kind { Some((**report).clone()) } else { None })
            .collect()
    }

    /// Everything measured again for an edit so far, oldest iterate first.
    pub fn remeasured(&self, branch: u64) -> Vec<(usize, usize, Vec<RoiSums>)> {
        let of_branch = self.events.iter().filter_map(regions).filter(|sums| sums.branch == branch).map(|sums| &sums.points);
        let mut points: Vec<_> = of_branch.flatten().cloned().collect();
        points.sort_by_key(|point| point.1);
        points
    }

    /// The first voxel of the volume shown.
    pub fn shown_value(&self) -> f32 {
        self.shown.as_ref().unwrap().volume.as_slice()[0]
    }
}
