//! Remote sessions: the same runs as local ones through pipes, lost connections, and invalid messages.

mod deviations;
mod scans;
mod slow;
mod studies;

use std::io::{PipeReader, Read, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::never;
use tomoscope::data::{Counts, Roi, RoiShape, Study, Volume};
use tomoscope::operator::Accumulation;
use tomoscope::plan::{
    Cache, Data, DeviceChoice, Job, RunInputs, RunSettings, SetupProblem, StudyFiles, default_settings, prepare,
};
use tomoscope::remote::{
    Connection, ConnectionState, Dialer, Opener, Remote, RemoteError, RemoteStudy, ServeOptions, connect, serve,
};
use tomoscope::session::{Command, Control, EndReason, Event, EventKind, IterateUpdate, RoiSet, Session, SessionOptions, Setup};
use tomoscope::task::Task;

use super::runs::cylinder_study;
use super::script::{PATIENCE, Script, regions, scripted};

/// Waiting time of a server without a connection: longer than any test.
const LINGER: Duration = Duration::from_secs(600);

/// End of a pipe that can be cut from outside: reading ends, and writing fails.
struct Cuttable<T>(T, Arc<AtomicBool>);

impl Read for Cuttable<PipeReader> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let num = self.0.read(bytes)?;
        Ok(if self.1.load(Ordering::Relaxed) { 0 } else { num })
    }
}

impl<T: Write> Write for Cuttable<T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.1.load(Ordering::Relaxed) { Err(std::io::ErrorKind::BrokenPipe.into()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Returns both ends of a connection, and the flag that cuts it.
fn line() -> (Connection, Connection, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let ((to_there, from_here), (to_here, from_there)) = (pipe().unwrap(), pipe().unwrap());
    let end = |input, output| Connection {
        input: Box::new(Cuttable(input, Arc::clone(&cut))),
        output: Box::new(Cuttable(output, Arc::clone(&cut))),
        program: None,
    };
    (end(to_here, from_here), end(to_there, from_there), cut)
}

/// Thread of a server, with its outcome.
type Server = JoinHandle<Result<(), RemoteError>>;

/// Session on a server, with its connections and the server's outcomes.
struct RemoteSession {
    session: Session,
    remote: Remote,
    servers: Arc<Mutex<Vec<Server>>>,
    cuts: Arc<Mutex<Vec<Arc<AtomicBool>>>>,
}

/// Returns the files of a study at a path.
fn file(path: &str) -> StudyFiles {
    StudyFiles::File(path.into())
}

/// Converts a study.
fn any<M: Clone + Into<Data>>(study: &Study<M>) -> Study<Data> {
    study.clone().map(M::into)
}

/// Returns a remote study of projection data.
fn counts_of(remote: RemoteStudy) -> Study<Counts> {
    remote.study.map(|data| data.counts().unwrap().clone())
}

type Tamper = Box<dyn FnMut(Connection) -> Connection + Send>;

impl RemoteSession {
    /// Starts a server with one study.
    fn with(scan: Study<Data>, setup: fn() -> Setup) -> Self {
        Self::tampered(scan, setup, Box::new(|line| line))
    }

    fn new(study: &Arc<Study<Counts>>, setup: fn() -> Setup) -> Self {
        Self::with(any(study), setup)
    }

    /// Starts the same with connections changed by `tamper` at the client.
    fn tampered(scan: Study<Data>, setup: fn() -> Setup, tamper: Tamper) -> Self {
        let open = move |files: &StudyFiles, _: &Task| match files.measured().to_str() {
            Some("/scan.hs") => Ok((scan.clone(), files.clone())),
            _ => Err(format!("{} is not there", files.measured().display())),
        };
        Self::opening(Arc::new(open), setup, tamper)
    }

    /// Starts a server that reads studies with `open`.
    fn opening(open: Opener, setup: fn() -> Setup, tamper: Tamper) -> Self {
        Self::waking(open, setup, tamper, || {})
    }

    /// Starts the same with a wake-up function.
    fn waking(open: Opener, setup: fn() -> Setup, mut tamper: Tamper, wake: impl Fn() + Send + 'static) -> Self {
        let (servers, cuts) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (began, cut) = (Arc::clone(&servers), Arc::clone(&cuts));
        let dial: Dialer = Box::new(move || {
            let (here, other, switch) = line();
            cut.lock().unwrap().push(switch);
            let options = ServeOptions { linger: LINGER, stop: never, open: Arc::clone(&open) };
            let options_of = SessionOptions { cache: Cache::nowhere(), ..SessionOptions::default() };
            let work = move || serve(other, options, |wake| Session::with_setup(options_of, setup(), wake));
            began.lock().unwrap().push(std::thread::spawn(work));
            Ok(tamper(here))
        });
        let (session, remote) = connect("there", dial, &SessionOptions::default(), wake);
        Self { session, remote, servers, cuts }
    }

    /// Opens the study.
    fn scan(&self) -> RemoteStudy {
        self.remote.open(&file("/scan.hs"), &Task::new()).unwrap().study().unwrap()
    }

    /// Opens the study as projection data.
    fn open(&self) -> Arc<Study<Counts>> {
        Arc::new(counts_of(self.scan()))
    }

    fn cut(&self) {
        self.cuts.lock().unwrap().iter().for_each(|cut| cut.store(true, Ordering::Relaxed));
    }
}

fn settings(study: &Study<Counts>, num_iterations: usize) -> RunSettings {
    let accumulation = Some(Accumulation::Deterministic);
    RunSettings {
        device: DeviceChoice::Cpu,
        accumulation,
        num_iterations,
        num_subsets: 4,
        ..default_settings(&study.measured).unwrap()
    }
}

fn start(session: &Session, study: &Arc<Study<Counts>>, num_iterations: usize) -> u64 {
    let settings = Box::new(settings(study, num_iterations));
    let ball = Roi::new("ball", RoiShape::Sphere { radius_mm: 12.0 }, [3.0, 4.0, 5.0]);
    let rois = RoiSet { branch: 1, rois: vec![ball].into() };
    session.send(Command::Start { job: Job::of(study, *settings), rois, paused: false })
}

/// Returns the events of a run to its end, and its last whole image.
fn watch(session: &Session, run: u64) -> (Vec<EventKind>, Option<IterateUpdate>) {
    let (mut kinds, mut whole, begun) = (Vec::new(), None, Instant::now());
    let is_end = |kind: &EventKind| matches!(kind, EventKind::Ended(_) | EventKind::Failed(_));
    loop {
        assert!(begun.elapsed() < PATIENCE, "{kinds:?}");
        let event = session.events().recv_timeout(Duration::from_millis(5));
        kinds.extend(event.ok().filter(|event| event.run == run).map(|Event { kind, .. }| kind));
        while let Some(frame) = session.take_frame() {
            if frame.slices.is_none() && frame.id.run == run {
                whole = Some(frame);
            }
        }
        let last = kinds.iter().rev().find_map(|kind| if let EventKind::Iterate(report) = kind { Some(report) } else { None });
        let is_there = last.is_none_or(|last| whole.as_ref().is_some_and(|whole| whole.id.subiteration == last.subiteration));
        if kinds.last().is_some_and(is_end) && (is_there || matches!(kinds.last(), Some(EventKind::Failed(_)))) {
            return (kinds, whole);
        }
    }
}

fn real() -> Setup {
    Box::new(prepare)
}

/// Returns number, sums of the regions and likelihood of each step.
fn steps(kinds: &[EventKind]) -> Vec<(usize, Vec<f64>, Option<f64>)> {
    let step = |kind: &EventKind| match kind {
        EventKind::Iterate(report) => {
            let sums = report.roi_sums.iter().map(|sums| sums.sum).collect();
            Some((report.subiteration, sums, report.log_likelihood_of_subset))
        }
        _ => None,
    };
    kinds.iter().filter_map(step).collect()
}

#[test]
fn a_run_elsewhere_is_the_run_here_bit_by_bit() {
    let study = cylinder_study();
    let there = RemoteSession::new(&study, real);
    let head = there.open();
    assert_eq!((head.title.as_str(), head.measured.geometry()), ("cylinder", study.measured.geometry()));
    assert!(head.measured.prompts.counts.is_empty(), "its counts stay there");
    let run = start(&there.session, &head, 3);
    let (far, far_image) = watch(&there.session, run);
    let here = Session::with_setup(SessionOptions::default(), real(), || {});
    let run = start(&here, &study, 3);
    let (near, near_image) = watch(&here, run);
    let (far_image, near_image) = (far_image.unwrap(), near_image.unwrap());
    assert_eq!((&far_image.volume, far_image.extremes), (&near_image.volume, near_image.extremes));
    assert!(far_image.volume.sum() > 0.0);
    assert_eq!(steps(&far), steps(&near));
    assert_eq!(steps(&far).len(), 3 * settings(&study, 3).num_subsets);
    let EventKind::Started(info) = &far[0] else { panic!("{:?}", far[0]) };
    assert!(info.device.starts_with("CPU, ") && info.device.contains(" on "), "{}", info.device);
    assert!(!info.accumulations.is_empty());
    // The server stores the iterates, and sends them on request.
    let past = there.session.stored(1);
    assert_eq!(past.iter().map(|[iteration, _]| *iteration).collect::<Vec<_>>(), [1, 2, 3]);
    let begun = Instant::now();
    let first = loop {
        if let Some(image) = there.session.stored_image(1, past[0][1]) {
            break image;
        }
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(first.volume, here.stored_image(1, past[0][1]).unwrap().volume);
    // The server measures a moved region again.
    let ball = Roi::new("ball", RoiShape::Sphere { radius_mm: 9.0 }, [0.0; 3]);
    for session in [&there.session, &here] {
        session.send(Control::SetRois(RoiSet { branch: 2, rois: vec![ball.clone()].into() }));
    }
    let again = |session: &Session| {
        let (mut points, begun) = (std::collections::BTreeMap::new(), Instant::now());
        while points.len() < 3 {
            assert!(begun.elapsed() < PATIENCE);
            let event = session.events().recv_timeout(Duration::from_millis(5));
            if let Some(new) = event.ok().as_ref().and_then(regions).filter(|sums| sums.branch == 2) {
                points.extend(new.points.iter().cloned().map(|(iteration, _, sums)| (iteration, sums)));
            }
        }
        points
    };
    assert_eq!(again(&there.session), again(&here));
    let RemoteSession { session, servers, .. } = there;
    drop(session);
    let ended: Vec<_> = servers.lock().unwrap().drain(..).map(|server| server.join().unwrap()).collect();
    assert!(ended.len() == 1 && ended[0].is_ok(), "the window said goodbye: {ended:?}");
}

#[test]
fn a_thousand_short_runs_lose_nothing() {
    let study = cylinder_study();
    let there = RemoteSession::new(&study, || scripted(|_| Script::new(3)));
    let head = there.open();
    for expected in 1..=1000 {
        let run = start(&there.session, &head, 2);
        let (kinds, image) = watch(&there.session, run);
        assert!(matches!(kinds.first(), Some(EventKind::Started(_))), "{run}: {kinds:?}");
        assert!(matches!(kinds.last(), Some(EventKind::Ended(EndReason::Completed))), "{run}: {kinds:?}");
        let steps: Vec<usize> = steps(&kinds).iter().map(|(step, ..)| *step).collect();
        assert_eq!((run, steps, image.map(|image| image.id.subiteration)), (expected, (1..=6).collect(), Some(6)));
    }
}

#[test]
fn what_cannot_be_done_there_is_said() {
    fn refuses() -> Setup {
        Box::new(|_, _| Err(SetupProblem::NoProjections.into()))
    }
    let there = RemoteSession::new(&cylinder_study(), refuses);
    let remote = &there.remote;
    assert_eq!(remote.open(&file("/other.hs"), &Task::new()).err().as_deref(), Some("/other.hs is not there"));
    let head = there.open();
    let (kinds, _) = watch(&there.session, start(&there.session, &head, 1));
    assert!(matches!(&kinds[..], [EventKind::Failed(problem)] if problem.code == "setup.data"), "{kinds:?}");
    // A local start image.
    let init = Some(Arc::new(Volume::filled(settings(&head, 1).grid, 1.0)));
    let settings = Box::new(RunSettings { inputs: RunInputs { init, ..RunInputs::default() }, ..settings(&head, 1) });
    let job = Job::of(&head, *settings);
    let run = there.session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    let (kinds, _) = watch(&there.session, run);
    assert!(matches!(&kinds[..], [EventKind::Failed(problem)] if problem.code == "remote"), "{kinds:?}");
}

#[test]
fn a_start_that_is_refused_here_does_not_stop_those_after_it() {
    let there = RemoteSession::new(&cylinder_study(), || scripted(|_| Script::new(3)));
    let head = there.open();
    let remote = &there.remote;
    for expected in [1, 4, 7] {
        let run = start(&there.session, &head, 2);
        let (kinds, image) = watch(&there.session, run);
        assert!(matches!(kinds.last(), Some(EventKind::Ended(EndReason::Completed))), "{run}: {kinds:?}");
        assert_eq!((run, image.map(|image| image.id.run)), (expected, Some(expected)));
        // The client refuses a local start image and a local study: the server receives neither.
        let init = Some(Arc::new(Volume::filled(settings(&head, 1).grid, 1.0)));
        let settings = RunSettings { inputs: RunInputs { init, ..RunInputs::default() }, ..settings(&head, 1) };
        let own = Arc::new(Study { remote_id: None, ..Study::clone(&head) });
        for (study, settings) in [(&head, settings), (&own, self::settings(&head, 1))] {
            let job = Job::of(study, settings);
            let run = there.session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
            let (kinds, _) = watch(&there.session, run);
            assert!(matches!(&kinds[..], [EventKind::Failed(problem)] if problem.code == "remote"), "{kinds:?}");
        }
        assert_eq!(remote.connection(), ConnectionState::Connected);
    }
}

#[test]
fn a_run_that_is_refused_here_ends_the_one_before_as_it_does_there() {
    let forever = || scripted(|_| Script::with_deed(3, |_, task| super::script::wait_for_stop(task)));
    let there = RemoteSession::new(&cylinder_study(), forever);
    let head = there.open();
    let first = start(&there.session, &head, 1000);
    let own = Arc::new(Study { remote_id: None, ..Study::clone(&head) });
    start(&there.session, &own, 1);
    let (kinds, _) = watch(&there.session, first);
    assert!(matches!(kinds.last(), Some(EventKind::Ended(EndReason::Cancelled))), "{kinds:?}");
}

#[test]
fn an_end_that_is_no_tomoscope_is_said_to_be_none() {
    for (said, expected) in [
        ("Last login: today\n", "began with 'Last login: today'"),
        ("tomoscope wire 0, program 0.0.1\n", "different versions: 'tomoscope wire 0, program 0.0.1' there"),
        ("", "closed by the other end"),
    ] {
        let dial: Dialer = Box::new(move || {
            let (here, mut there, _) = line();
            there.output.write_all(said.as_bytes()).unwrap();
            Ok(here)
        });
        let (_session, remote) = connect("that", dial, &SessionOptions::default(), || {});
        let reason = remote.open(&file("/scan.hs"), &Task::new()).map(drop).unwrap_err();
        assert!(reason.starts_with("the connection to that is over") && reason.contains(expected), "{reason}");
    }
    #[cfg(unix)]
    {
        let words = ["sh", "-c", "echo no route to you >&2; exit 7"].map(Into::into);
        let (_session, remote) =
            connect("that", Box::new(move || Connection::through(&words)), &SessionOptions::default(), || {});
        let reason = remote.open(&file("/scan.hs"), &Task::new()).map(drop).unwrap_err();
        assert!(reason.contains("exit status: 7") && reason.contains("no route to you"), "{reason}");
    }
}

#[cfg(unix)]
#[test]
fn a_line_that_breaks_at_any_moment_is_begun_again_and_nothing_is_lost() {
    let study = cylinder_study();
    let here = Session::with_setup(SessionOptions::default(), real(), || {});
    let run = start(&here, &study, 12);
    let (near, near_image) = watch(&here, run);
    let near = steps(&near);
    let one = |moment: usize| {
        let there = RemoteSession::new(&study, real);
        let head = there.open();
        let run = start(&there.session, &head, 12);
        // Some of the steps have arrived.
        let (mut far, num_known) = (Vec::new(), near.len() * moment / 20);
        while steps(&far).len() < num_known {
            far.push(there.session.events().recv_timeout(PATIENCE).unwrap().kind);
        }
        there.cut();
        let (after, far_image) = watch(&there.session, run);
        far.extend(after);
        let (far, end) = (steps(&far), far.last().cloned());
        let numbers = |steps: &[(usize, Vec<f64>, Option<f64>)]| steps.iter().map(|step| step.0).collect::<Vec<usize>>();
        assert_eq!(numbers(&far), numbers(&near), "cut after {num_known} steps, ended by {end:?}");
        assert!(far == near, "cut after {num_known} steps");
        assert_eq!(far_image.unwrap().volume, near_image.as_ref().unwrap().volume);
        // The run may end before the loss is noticed.
        let begun = Instant::now();
        while there.servers.lock().unwrap().len() < 2 || there.remote.connection() != ConnectionState::Connected {
            assert!(begun.elapsed() < PATIENCE, "the line was not begun again");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    // Most of the time is spent waiting for the next attempt.
    std::thread::scope(|scope| {
        for first in 0..5 {
            let one = &one;
            scope.spawn(move || (first..20).step_by(5).for_each(one));
        }
    });
}

#[test]
fn who_is_woken_when_a_line_breaks_may_look_at_it() {
    let (seen, states) = crossbeam_channel::unbounded();
    let remote = Arc::<OnceLock<Remote>>::default();
    let known = Arc::clone(&remote);
    let wake = move || {
        // It would wait forever while the connection's state is locked.
        let _ = seen.send(known.get().map(Remote::connection));
    };
    let none = |_: &StudyFiles, _: &Task| Err("none".into());
    let there = RemoteSession::waking(Arc::new(none), real, Box::new(|line| line), wake);
    let _ = remote.set(there.remote.clone());
    let wait_for = |wanted: fn(&ConnectionState) -> bool| {
        while !states.recv_timeout(PATIENCE).unwrap().as_ref().is_some_and(wanted) {}
    };
    wait_for(|line| *line == ConnectionState::Connected);
    there.cut();
    wait_for(|line| matches!(line, ConnectionState::Lost { .. }));
    wait_for(|line| *line == ConnectionState::Connected);
}

/// Input whose bytes are changed at random.
struct Damaged {
    line: Box<dyn Read + Send>,
    random: u64,
    rarity: u64,
    num: Arc<AtomicU64>,
    greeting: usize,
}

impl Damaged {
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Read for Damaged {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let num = self.line.read(bytes)?;
        for byte in &mut bytes[..num] {
            if self.greeting > 0 {
                // Otherwise every connection would end there.
                self.greeting -= 1;
            } else if self.next().is_multiple_of(self.rarity) {
                *byte = self.next() as u8;
                self.num.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(num)
    }
}

#[test]
fn a_line_full_of_errors_ends_with_a_sentence() {
    let study = cylinder_study();
    let one = |seed: u64| {
        let num = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&num);
        let tamper: Tamper = Box::new(move |line| {
            let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let damaged = Damaged { line: line.input, random, rarity: 5000, num: Arc::clone(&count), greeting: 200 };
            Connection { input: Box::new(damaged), ..line }
        });
        let there = RemoteSession::tampered(any(&study), real, tamper);
        let task = Task::new();
        let stop = task.clone();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            stop.stop();
        });
        drop(timer);
        let Ok(head) = there.remote.open(&file("/scan.hs"), &task) else { return };
        let head = head.study().map_or_else(|_| Arc::clone(&study), |head| Arc::new(counts_of(head)));
        start(&there.session, &head, 2);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            let _ = there.session.events().recv_timeout(Duration::from_millis(5));
            while there.session.take_frame().is_some() {}
        }
    };
    std::thread::scope(|scope| {
        for first in 1..=5 {
            let one = &one;
            scope.spawn(move || (first..=20).step_by(5).for_each(one));
        }
    });
}
