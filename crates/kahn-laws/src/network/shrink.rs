//! Smaller programs, among which a failing one is looked for.

use super::program::{Port, Process, Program, Statement};

/// Programs that are a little smaller, the much smaller first.
pub(crate) fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for at in 0..program.processes.len() {
        let mut less = program.clone();
        less.processes.remove(at);
        all.push(less);
    }
    for at in 0..program.channels.len() {
        all.push(without_channel(program, at));
    }
    for at in 0..program.processes.len() {
        let mut with = |process: Process| {
            let mut less = program.clone();
            less.processes[at] = process;
            all.push(less);
        };
        let process = &program.processes[at];
        for place in 0..process.ports.len() {
            // Only the last, so that the other places keep their numbers.
            if place + 1 == process.ports.len() {
                let mut less = process.clone();
                less.ports.pop();
                with(less);
            }
        }
        plainer(process, &mut with);
    }
    for at in 0..program.channels.len() {
        let mut less = program.clone();
        let channel = &mut less.channels[at];
        if channel.weight.take().is_some() {
            all.push(less.clone());
        }
        if less.channels[at].initial > 0 {
            less.channels[at].initial -= 1;
            all.push(less);
        }
    }
    all
}

fn without_channel(program: &Program, at: usize) -> Program {
    let mut less = program.clone();
    less.channels.remove(at);
    for process in &mut less.processes {
        // Statements about the places that move up do something else, or nothing: either will do.
        process
            .ports
            .retain(|port| !matches!(port, Port::Sender(c) | Port::Receiver(c) if *c == at));
        for port in &mut process.ports {
            let (Port::Sender(channel) | Port::Receiver(channel)) = port;
            if *channel > at {
                *channel -= 1;
            }
        }
    }
    less
}

/// A process with less in it.
fn plainer(process: &Process, with: &mut dyn FnMut(Process)) {
    if process.guard.is_some() {
        with(Process { guard: None, ..process.clone() });
    }
    if process.effects {
        with(Process { effects: false, ..process.clone() });
    }
    if process.creates {
        with(Process { creates: false, ..process.clone() });
    }
    if process.how != super::program::How::Async {
        with(Process { how: super::program::How::Async, ..process.clone() });
    }
    bodies(&process.body, &mut |body| with(Process { body, ..process.clone() }));
}

/// Bodies with a statement less, or a smaller one.
fn bodies(body: &[Statement], with: &mut dyn FnMut(Vec<Statement>)) {
    for at in 0..body.len() {
        let mut less = body.to_vec();
        let statement = less.remove(at);
        with(less.clone());
        // What is within, once, in the place of a loop.
        if let Some(inner) = statement.body()
            && !matches!(statement, Statement::Create { .. })
            && !inner.is_empty()
        {
            let mut flat = body.to_vec();
            flat.splice(at..=at, inner.iter().cloned());
            with(flat);
        }
        let replaced = &mut |statement: Statement| {
            let mut less = body.to_vec();
            less[at] = statement;
            with(less);
        };
        match &statement {
            Statement::Loop { times, body } if *times > 1 => {
                for times in [times / 2, times - 1] {
                    replaced(Statement::Loop { times, body: body.clone() });
                }
            }
            Statement::RecvMany { from, count } if *count > 1 => {
                replaced(Statement::RecvMany { from: *from, count: count - 1 });
            }
            Statement::SendAll { to, count } if *count > 1 => {
                replaced(Statement::SendAll { to: *to, count: count - 1 });
            }
            Statement::Create { child, gives } => plainer(child, &mut |child| {
                replaced(Statement::Create { child: Box::new(child), gives: gives.clone() });
            }),
            _ => {}
        }
        if let Some(inner) = statement.body()
            && !matches!(statement, Statement::Create { .. })
        {
            bodies(inner, &mut |inner| {
                let mut whole = statement.clone();
                if let Some(body) = whole.body_mut() {
                    *body = inner;
                }
                let mut less = body.to_vec();
                less[at] = whole;
                with(less);
            });
        }
    }
}
