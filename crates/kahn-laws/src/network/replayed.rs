//! Random networks that are recorded, and do the same again from what was recorded.

use super::compare::{broken_by, told};
use super::interpreter::{Meaning, interpret};
use super::program::{Channel, How, Port, Process, Program, Statement};
use super::schedule::Schedule;
use super::translate::{Cut, Ran, run};
use super::{generate, schedule, shrink};
use crate::campaign::{Campaign, Tally, Trouble};
use crate::draw::{Choice, Draw};
use kahn::observe::{Observer, Script};
use kahn::{Report, RunError};
use std::sync::Arc;

/// What records runs and has them done again.
pub trait Records {
    /// What is kept of a run.
    type Recording;
    /// Observes a run that is recorded.
    type Recorder: Observer + 'static;
    /// Observes a run that does the same again, and tells it what.
    type Replay: Observer + Script + 'static;

    /// Runs a network that this observes, and returns what was recorded of it.
    ///
    /// # Errors
    /// Fails if nothing was kept.
    fn record(&self, run: &mut dyn FnMut(Arc<Self::Recorder>)) -> Result<Self::Recording, String>;

    /// Runs a network by the script of a recording, which observes it.
    ///
    /// # Errors
    /// Tells what the network did that was not recorded.
    fn replay(
        &self,
        recording: &Self::Recording,
        run: &mut dyn FnMut(Arc<Self::Replay>),
    ) -> Result<(), String>;
}

/// The campaign over process networks that are recorded and replayed.
///
/// Each runs under one schedule and does the same again under others. Both are held against the model; in a replay, what
/// is joined to the outside does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Replayed<R> {
    /// The replays of each network.
    pub replays: usize,
    /// What records them.
    pub records: R,
}

impl<R: Records> Campaign for Replayed<R> {
    type Case = Program;

    const NAME: &'static str = "replays";

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        static ALL: &[&[&Choice]] = &[generate::CHOICES, schedule::UNCUT];
        ALL
    }

    fn draw(&self, draw: &mut Draw) -> Program {
        let mut program = generate::program(draw);
        write_all(&mut program);
        program
    }

    fn check(&self, program: &Program, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        let meaning = interpret(program, None).map_err(|_| Trouble::Refused("does not end"))?;
        let schedule = Schedule::uncut(draw);
        let broken = |schedule: &Schedule, (promise, what): (&'static str, String)| {
            Trouble::Broken(promise, format!("{schedule}: {what}"))
        };
        let mut ran = None;
        let recording = self.records.record(&mut |observer| {
            let options = schedule.options().observer(observer);
            ran = Some(run(program, options, Cut::Nothing, None));
        });
        let Some(ran) = ran else { return Err(Trouble::Refused("did not run")) };
        let report = match reported(&ran) {
            Ok(report) => report,
            Err(Some(UNHELD)) => {
                tally.note("cases refused for an end that no process holds");
                return Ok(());
            }
            Err(Some(why)) => return Err(Trouble::Refused(why)),
            Err(None) => {
                let what = format!("{:?}", ran.report);
                return Err(broken(&schedule, ("a network is recorded", what)));
            }
        };
        let recording = match recording {
            Ok(recording) => recording,
            Err(why) if why.contains("creates processes") => return Err(Trouble::Refused(CREATES)),
            Err(what) => return Err(broken(&schedule, ("all is recorded", what))),
        };
        broken_by(&meaning, &ran, report, schedule.quiescence, tally)
            .map_err(|what| broken(&schedule, what))?;
        let recorded = told(&meaning, report);
        for _ in 0..self.replays {
            // Whether a quiescent end is normal decides the outcome.
            let mut again = Schedule::uncut(draw);
            again.quiescence = schedule.quiescence;
            let mut ran = None;
            let same = self.records.replay(&recording, &mut |replay| {
                let options = again.options().observer(Arc::clone(&replay));
                ran = Some(run(program, options, Cut::Nothing, Some(replay)));
            });
            tally.schedules += 1;
            let text = |what: String| format!("{what}\n(recorded with {schedule})");
            let broken = |(promise, what)| broken(&again, (promise, text(what)));
            same.map_err(|what| broken(("a replay does the same", what)))?;
            let Some(ran) = ran else { return Err(Trouble::Refused("did not run")) };
            let Ok(report) = reported(&ran) else {
                return Err(broken(("a recording is replayed", format!("{:?}", ran.report))));
            };
            is_replayed(program, &meaning, &ran, tally).map_err(broken)?;
            if let Some((promise, what)) = told(&meaning, report).difference(&recorded) {
                return Err(broken((promise, what)));
            }
        }
        Ok(())
    }

    fn smaller(&self, program: &Program) -> Vec<Program> {
        shrink::smaller(program)
    }
}

const UNHELD: &str = "has an end that no process holds";
const CREATES: &str = "creates processes in a process that is joined to the outside";

/// The report of a run, or why it is none, if that is not a mistake.
fn reported(ran: &Ran) -> Result<&Report, Option<&'static str>> {
    match &ran.report {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(RunError::Ended(report))) => Ok(report),
        Ok(Err(RunError::Check(_))) => Err(Some(UNHELD)),
        Ok(Err(RunError::Refused(why))) if why.contains("creates processes") => Err(Some(CREATES)),
        _ => Err(None),
    }
}

/// Gives every channel a written form.
pub(super) fn write_all(program: &mut Program) {
    program.channels.iter_mut().for_each(write);
    program.processes.iter_mut().for_each(|process| write_in(&mut process.body));
}

fn write(channel: &mut Channel) {
    channel.wire = true;
}

fn write_in(body: &mut [Statement]) {
    for statement in body {
        if let Statement::Channel { channel, .. } = statement {
            write(channel);
        }
        if let Some(body) = statement.body_mut() {
            write_in(body);
        }
    }
}

/// Whether what a process does is recorded, and not done in a replay.
fn is_joined(process: &Process) -> bool {
    let receives = process.ports.iter().any(|port| matches!(port, Port::Receiver(_)));
    process.effects
        || match process.how() {
            How::Party => true,
            How::Blocking => !receives,
            How::Async => false,
        }
}

/// Whether a replay received what is to be received where it is run, and had no effects.
fn is_replayed(
    program: &Program,
    meaning: &Meaning,
    ran: &Ran,
    tally: &mut Tally,
) -> Result<(), (&'static str, String)> {
    if let Some((process, _)) = ran.record.effects.iter().next() {
        return Err(("a replay does not act", format!("process {process} does")));
    }
    for (name, came) in &ran.record.received {
        let Some(history) = meaning.channels.get(name) else {
            return Err(("history", format!("channel {name} should not be there")));
        };
        tally.messages += came.len() as u64;
        if !history.messages.starts_with(came) {
            let should = &history.messages;
            let what = format!("channel {name}: received {came:?}, and should {should:?}");
            return Err(("history", what));
        }
    }
    for process in &program.processes {
        for port in &process.ports {
            let Port::Receiver(channel) = port else { continue };
            let name = format!("c{channel}");
            let Some(history) = meaning.channels.get(&name).filter(|history| history.exact) else {
                continue;
            };
            let came = ran.record.received.get(&name).map_or(0, Vec::len);
            // What creates may have given the receiver away, to one that is joined.
            let should = match is_joined(process) {
                true => 0,
                false if process.creates => continue,
                false => history.messages.len(),
            };
            if came != should {
                let what = format!("channel {name}: received {came} messages, and should {should}");
                return Err(("length of a history", what));
            }
        }
    }
    Ok(())
}
