//! A solver in another process: `serve` as a window starts it, killed, told nonsense, and left alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tomoscope::data::{Counts, Study};
use tomoscope::plan::{DeviceChoice, Job, RunSettings, StudyFiles, default_settings};
use tomoscope::remote::{Connection, ConnectionState, Remote, connect};
use tomoscope::session::{Command, EventKind, IterateUpdate, RoiSet, Session, SessionOptions};
use tomoscope::task::Task;

use super::ends::kill;
use super::{cache, done, refused};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a scan of the small scanner.
fn scan(name: &str) -> PathBuf {
    let folder = tomoscope_support::kept().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    done(&folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "2e5", "-o", "small.hs"]);
    folder
}

/// A session whose server says its process's number in `FOLDER/NAME.pid`.
fn session(folder: &Path, name: &str, linger: &str) -> ((Session, Remote), PathBuf) {
    let pid = folder.join(name).with_extension("pid");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let script = "echo $$ > \"$0\"; exec \"$1\" serve --stdio --linger \"$2\"";
    let kept = format!("XDG_CACHE_HOME={}", text(&cache(folder)));
    let program = env!("CARGO_BIN_EXE_tomoscope");
    let words = ["env", &kept, "XDG_RUNTIME_DIR=", "sh", "-c", script, &text(&pid), program, linger].map(Into::into);
    let dial = Box::new(move || Connection::through(&words));
    (connect("there", dial, &SessionOptions::default(), || {}), pid)
}

fn open(remote: &Remote, folder: &Path) -> Arc<Study<Counts>> {
    let files = StudyFiles::File(folder.join("small.hs"));
    let head = remote.open(&files, &Task::new()).unwrap();
    Arc::new(head.study().unwrap().study.map(|data| data.counts().unwrap().clone()))
}

/// How both ends begin, before the program's version.
const GREETING: &str = "tomoscope wire 13, program ";

fn start(session: &Session, study: Arc<Study<Counts>>, num_iterations: usize) -> u64 {
    let settings = RunSettings { device: DeviceChoice::Cpu, num_iterations, ..default_settings(&study.measured).unwrap() };
    let job = Job::of(&study, settings);
    session.send(Command::Start { job, rois: RoiSet::default(), paused: false })
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).join("cmdline").metadata().is_ok()
        && std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|words| !words.is_empty())
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The sockets that servers have left.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let hosts = std::fs::read_dir(cache(folder).join("tomoscope/run")).into_iter().flatten().flatten();
    hosts.flat_map(|host| std::fs::read_dir(host.path()).unwrap().flatten()).map(|entry| entry.path()).collect()
}

#[cfg(target_os = "linux")] // `/proc`
#[test]
fn a_server_that_is_killed_at_any_moment_leaves_its_last_image_and_a_sentence() {
    let folder = scan("serve-killed");
    let num_images = AtomicUsize::new(0);
    let one = |moment: u64| {
        let ((session, remote), pid) = session(&folder, &format!("server-{moment}"), "30");
        start(&session, open(&remote, &folder), 100_000);
        let number = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
        let (mut image, mut problem, mut is_killed) = (None::<IterateUpdate>, None, false);
        let (begun, mut num_steps) = (Instant::now(), 0);
        wait_until("the end", || {
            if !is_killed && begun.elapsed() > Duration::from_millis(moment * 37) {
                kill(&number, "KILL");
                is_killed = true;
            }
            for event in session.events().try_iter() {
                match event.kind {
                    EventKind::Failed(found) => problem = Some(found),
                    EventKind::Iterate(_) => num_steps += 1,
                    _ => {}
                }
            }
            while let Some(frame) = session.take_frame() {
                image = Some(frame);
            }
            problem.is_some()
        });
        let problem = problem.unwrap();
        assert!(is_killed && problem.code == "remote", "{problem:?}");
        let over = remote.connection();
        assert!(matches!(over, ConnectionState::Closed { .. }), "{over:?}");
        // The image of the first step may still have been on its way.
        assert!(image.as_ref().is_none_or(|image| image.volume.sum() > 0.0));
        num_images.fetch_add(usize::from(num_steps > 0 && image.is_some()), Ordering::Relaxed);
        drop(session);
        assert!(!is_alive(&number), "the server is still there");
    };
    std::thread::scope(|scope| {
        for first in 0..4 {
            let one = &one;
            scope.spawn(move || (first..20).step_by(4).for_each(one));
        }
    });
    assert!(num_images.into_inner() > 0, "images are kept");
    // What those who were killed left goes when the next begins; that leaves nothing.
    let ((session, remote), pid) = session(&folder, "last", "30");
    open(&remote, &folder);
    assert_eq!(sockets(&folder).len(), 1);
    drop(session);
    assert!(!is_alive(std::fs::read_to_string(&pid).unwrap().trim()));
    assert_eq!(sockets(&folder), [] as [PathBuf; 0]);
}

#[cfg(target_os = "linux")] // `/proc`
#[test]
fn a_server_that_nobody_takes_up_ends_by_itself_and_leaves_nothing() {
    let folder = scan("serve-alone");
    let mut server = Program::new(env!("CARGO_BIN_EXE_tomoscope"))
        .args(["serve", "--stdio", "--linger", "1"])
        .env("XDG_CACHE_HOME", cache(&folder))
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(format!("{GREETING}{}\n", env!("CARGO_PKG_VERSION")).as_bytes()).unwrap();
    // What it is, of no session, with no news: variant 0, none, 0.
    input.write_all(&[3, 0, 0, 0, 0, 0, 0]).unwrap();
    wait_until("its socket", || sockets(&folder).len() == 1);
    let begun = Instant::now();
    drop(input);
    assert!(server.wait().unwrap().success());
    assert!(begun.elapsed() >= Duration::from_secs(1), "it waited {:?}", begun.elapsed());
    assert_eq!(sockets(&folder), [] as [PathBuf; 0]);
}

#[cfg(unix)]
#[test]
fn what_is_no_window_is_told_so() {
    let folder = scan("serve-nonsense");
    for (said, expected) in [
        ("hello\n".as_bytes(), "began with 'hello'"),
        (b"", "closed by the other end"),
        (b"tomoscope wire 8, program 7\n", "different versions"),
    ] {
        let mut server = Program::new(env!("CARGO_BIN_EXE_tomoscope"))
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        server.stdin.take().unwrap().write_all(said).unwrap();
        let output = server.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && text.contains(expected) && !text.contains("panicked"), "{text}");
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(out.starts_with(GREETING) && out.lines().count() == 1, "{out}");
    }
    refused(&folder, 2, &["serve"]);
    refused(&folder, 2, &["--connect-command", "ssh there"]);
    let text = refused(&folder, 2, &["--remote-program", "/x", "small.hs"]);
    assert!(text.contains("go with --connect"), "{text}");
    let text = refused(&folder, 2, &["--connect", "ssh://-oProxyCommand=touch%20x/scan.hs"]);
    assert!(text.contains("is not the name of a machine"), "{text}");
    let text = refused(&folder, 2, &["--connect-command", "'open", "small.hs"]);
    assert!(text.contains("--connect-command ''open'"), "{text}");
}
