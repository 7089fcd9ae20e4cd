//! Solver of this process: its thread, the measurer and the publisher.

use std::io;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::measurements::Query;
use super::measurer::{self, Measurer};
use super::publisher::Publisher;
use super::solver::Solver;
use super::transport::{Message, SolverChannels, Transport, report_refused};
use super::{Command, Control, SessionOptions, Setup};
use crate::task::Task;

/// Threads of a solver in this process, and the channels to them.
pub(super) struct LocalSolver {
    messages: Sender<Message>,
    queries: Sender<measurer::Input>,
    threads: Option<(Measurer, JoinHandle<()>)>,
}

impl LocalSolver {
    /// Starts the threads. A refused thread is reported as an event.
    pub fn start(options: SessionOptions, setup: Setup, channels: SolverChannels, wake: impl Fn() + Send + 'static) -> Self {
        let ((messages, inbox), (queries, questions)) = (unbounded(), unbounded());
        let events = channels.events.clone();
        let threads = threads(options, setup, channels, inbox, (queries.clone(), questions), wake);
        let threads = threads.inspect_err(|error| report_refused("the solver's threads", error, &events)).ok();
        Self { messages, queries, threads }
    }
}

fn threads(
    options: SessionOptions,
    setup: Setup,
    channels: SolverChannels,
    inbox: Receiver<Message>,
    (queries, questions): (Sender<measurer::Input>, Receiver<measurer::Input>),
    wake: impl Fn() + Send + 'static,
) -> io::Result<(Measurer, JoinHandle<()>)> {
    let history = channels.history.clone();
    let (publisher, events) = Publisher::start(channels, wake, queries.clone())?;
    let measurer = Measurer::start(queries, questions, history.clone(), events)?;
    // The publisher ends when its last sender is dropped. If the solver's thread is refused, the measurer has to end first:
    // only a running thread receives the solver with the publisher.
    let (hand_over, handed) = bounded::<Solver>(1);
    let thread = Builder::new().name("solver".into()).spawn(move || _ = handed.recv().map(Solver::run))?;
    let _ = hand_over.send(Solver::new(setup, options, inbox, publisher, history));
    Ok((measurer, thread))
}

impl Transport for LocalSolver {
    fn send(&self, message: Message) {
        // After a refused thread nothing receives a message.
        match message.command {
            Command::Control(Control::Measure(run, query)) => _ = self.queries.send(measurer::Input::Measure(run, query)),
            // The handle has applied it: the history is shared.
            Command::Control(Control::ChangeHistory(_)) => {}
            command => {
                // The stored iterates are measured at once.
                if let Command::Control(Control::SetRois(rois)) = &command {
                    let _ = self.queries.send(measurer::Input::Measure(message.run, Query::Regions(rois.clone())));
                }
                let _ = self.messages.send(Message { command, ..message });
            }
        }
    }

    fn on_arrival(&self) -> Box<dyn Fn() + Send> {
        let messages = self.messages.clone();
        Box::new(move || _ = messages.send(Message { command: Command::DataArrived, run: 0, task: Task::new() }))
    }
}

impl Drop for LocalSolver {
    fn drop(&mut self) {
        if let Some((measurer, thread)) = self.threads.take() {
            // The publisher, which the solver waits for, lives as long as the measurer can send events.
            drop(measurer);
            // The panic of a thread was already printed.
            let _ = thread.join();
        }
    }
}
