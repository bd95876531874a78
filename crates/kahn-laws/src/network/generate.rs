//! Draws programs.
//!
//! A process begins with the body of a *role* (a source, a relay, a fold, …), so that messages go
//! through most networks, and gets some statements drawn freely, so that what no author would write
//! happens as well.

use super::machine::PLACES;
use super::program::{Channel, End, How, Place, Port, Process, Program, Statement};
use crate::draw::{Choice, Draw};

macro_rules! choices {
    ($all:ident: $($name:ident = $text:literal, $($answer:literal $weight:literal),+;)+) => {
        $(static $name: Choice = Choice { name: $text, answers: &[$(($answer, $weight)),+] };)+
        /// The questions of this generator.
        pub(crate) static $all: &[&Choice] = &[$(&$name),+];
    };
}

choices! { CHOICES:
    SHAPE = "shape", "pipeline" 3, "forward" 5, "any" 4, "ring" 2, "loop" 2;
    HOW = "process", "async" 12, "blocking" 4, "party" 1;
    CREATES = "may create", "yes" 2, "no" 5;
    EFFECTS = "has effects", "yes" 1, "no" 4;
    GUARD = "destructor that sends", "yes" 1, "no" 5;
    ROLE = "role", "source" 2, "infinite source" 2, "relay" 5, "fold" 3, "merge in turn" 2,
        "some" 3, "handlers" 2, "sieve" 1, "hand on" 2, "drop and fail" 2, "free" 2;
    STATEMENT = "statement", "send" 4, "send many" 2, "receive" 4, "receive many" 2, "while" 1,
        "loop" 2, "forever" 1, "if" 3, "add" 1, "drop" 2, "move" 1, "flush" 1, "effect" 1, "channel" 2,
        "create" 3, "return" 1, "fail" 2, "panic" 1;
    CAPACITY = "capacity", "the run's" 3, "1" 3, "2" 1, "some" 2;
    INITIAL = "initial messages", "none" 5, "1" 2, "some" 1;
    WEIGHT = "message", "number" 5, "empty vector" 1, "vector" 2;
    DIGEST = "digest", "yes" 1, "no" 1;
    UNHELD = "end dropped before the start", "none" 70, "sender" 1, "receiver" 1;
    EXTRA = "statements drawn freely", "none" 3, "one" 3, "some" 2;
}

fn channel(draw: &mut Draw) -> Channel {
    let capacity = match draw.pick(&CAPACITY) {
        "the run's" => None,
        "1" => Some(1),
        "2" => Some(2),
        _ => Some(draw.between(3, 9)),
    };
    let initial = match draw.pick(&INITIAL) {
        "none" => 0,
        "1" => 1,
        _ => draw.between(2, 5) as u64,
    };
    let weight = match draw.pick(&WEIGHT) {
        "number" => None,
        "empty vector" => Some(0),
        _ => Some(draw.between(1, 300)),
    };
    Channel { capacity, initial, weight, digest: draw.yes(&DIGEST), wire: false }
}

/// Draws a program.
pub(crate) fn program(draw: &mut Draw) -> Program {
    let count = draw.between(2, 7);
    let mut program = Program::default();
    let mut ports: Vec<Vec<Port>> = vec![Vec::new(); count];
    let shape = draw.pick(&SHAPE);
    // Those of a loop that runs for ever: the others are behind it.
    let around = if shape == "loop" { draw.between(1, 3.min(count - 1)) } else { 0 };
    let edges = match shape {
        "pipeline" => count - 1,
        "ring" => count + draw.below(2),
        "loop" => draw.between(count, count + 2),
        _ => draw.between(count - 1, count + 3),
    };
    for edge in 0..edges {
        let (from, to) = match shape {
            "pipeline" => (edge, edge + 1),
            "ring" => (edge % count, (edge + 1) % count),
            "loop" if edge < around => (edge, (edge + 1) % around),
            "loop" => {
                let to = draw.between(around, count - 1);
                (draw.below(to), to)
            }
            "forward" => {
                let to = draw.between(1, count - 1);
                (draw.below(to), to)
            }
            _ => (draw.below(count), draw.below(count)),
        };
        if ports[from].len() >= 4 || ports[to].len() >= 4 {
            continue;
        }
        let number = program.channels.len();
        program.channels.push(channel(draw));
        if edge == 0 && around > 0 {
            // What goes round.
            let first = &mut program.channels[number].initial;
            *first = (*first).max(1);
        }
        let unheld = draw.pick(&UNHELD);
        if unheld != "sender" {
            ports[from].push(Port::Sender(number));
        }
        if unheld != "receiver" {
            ports[to].push(Port::Receiver(number));
        }
    }
    for (number, ports) in ports.into_iter().enumerate() {
        let held: Vec<bool> = ports.iter().map(|port| matches!(port, Port::Sender(_))).collect();
        let mut process = match number {
            _ if number < around => relay_for_ever(draw, held),
            // Most have enough of what comes out of a loop.
            _ if around > 0 && draw.below(4) > 0 => process_of(draw, held, 0, "some"),
            _ => process(draw, held, 0),
        };
        process.ports = ports;
        program.processes.push(process);
    }
    program
}

/// What is being written: which places hold senders and receivers, as far as that is known.
struct Scope {
    /// Of each place that holds an end, whether it is a sender.
    held: Vec<bool>,
    depth: usize,
}

impl Scope {
    fn senders(&self) -> Vec<Place> {
        (0..self.held.len()).filter(|&place| self.held[place]).collect()
    }

    fn receivers(&self) -> Vec<Place> {
        (0..self.held.len()).filter(|&place| !self.held[place]).collect()
    }

    fn any(draw: &mut Draw, places: &[Place]) -> Place {
        if places.is_empty() { draw.below(4) } else { *draw.one(places) }
    }
}

fn process(draw: &mut Draw, held: Vec<bool>, depth: usize) -> Process {
    let role = draw.pick(&ROLE);
    process_of(draw, held, depth, role)
}

fn process_of(draw: &mut Draw, held: Vec<bool>, depth: usize, role: &str) -> Process {
    let mut how = match draw.pick(&HOW) {
        "async" => How::Async,
        "blocking" => How::Blocking,
        _ => How::Party,
    };
    let mut creates = depth < 2 && draw.yes(&CREATES);
    let mut effects = draw.yes(&EFFECTS);
    if how == How::Party && depth > 0 {
        how = How::Async;
    }
    let scope = Scope { held, depth };
    creates |= depth < 2 && matches!(role, "handlers" | "sieve" | "hand on");
    if role == "infinite source" {
        // One that cannot be pruned never ends, and there is nothing to compare.
        (creates, effects) = (false, false);
        how = if how == How::Party { How::Async } else { how };
    }
    if how == How::Party {
        creates = false;
    }
    let mut body = role_body(draw, role, &scope);
    let extra = match draw.pick(&EXTRA) {
        "none" => 0,
        "one" => 1,
        _ => draw.between(2, 4),
    };
    for _ in 0..extra {
        let statement = statement(draw, &scope, 0);
        insert(draw, &mut body, statement);
    }
    let senders = scope.senders();
    let guard =
        (how != How::Party && !senders.is_empty() && draw.yes(&GUARD)).then(|| *draw.one(&senders));
    Process { how, creates, effects, ports: Vec::new(), guard, body }
}

/// One of a loop: it takes one from each and sends one to each, and never ends by itself.
fn relay_for_ever(draw: &mut Draw, held: Vec<bool>) -> Process {
    let how = if draw.below(4) == 0 { How::Blocking } else { How::Async };
    let scope = Scope { held, depth: 0 };
    let receives = scope.receivers().into_iter().map(|from| Statement::Recv { from });
    let mut body: Vec<Statement> = receives.collect();
    body.extend(scope.senders().into_iter().map(|to| send(draw, to)));
    if draw.below(4) == 0 {
        let statement = statement(draw, &scope, 1);
        insert(draw, &mut body, statement);
    }
    let body = vec![Statement::Forever { body }];
    Process { how, creates: false, effects: false, ports: Vec::new(), guard: None, body }
}

/// Puts a statement somewhere.
fn insert(draw: &mut Draw, body: &mut Vec<Statement>, statement: Statement) {
    let at = draw.between(0, body.len());
    if let Some(inner) = body.get_mut(at)
        && !matches!(inner, Statement::Create { .. })
        && let Some(inner) = inner.body_mut()
        && draw.below(3) > 0
    {
        return insert(draw, inner, statement);
    }
    body.insert(at, statement);
}

fn send(draw: &mut Draw, to: Place) -> Statement {
    Statement::Send { to, add: draw.below(100) as u64 }
}

fn role_body(draw: &mut Draw, role: &str, scope: &Scope) -> Vec<Statement> {
    let (senders, receivers) = (scope.senders(), scope.receivers());
    let to_all = |draw: &mut Draw| senders.iter().map(|&to| send(draw, to)).collect::<Vec<_>>();
    let times = draw.between(1, 14) as u64;
    match role {
        "source" => {
            let mut body = to_all(draw);
            body.push(Statement::Add(draw.below(1000) as u64));
            vec![Statement::Loop { times, body }]
        }
        "infinite source" => {
            let mut body = to_all(draw);
            body.push(Statement::Add(draw.below(1000) as u64));
            vec![Statement::Forever { body }]
        }
        "relay" => {
            let mut whole: Vec<Statement> = receivers
                .iter()
                .map(|&from| Statement::While { from, body: to_all(draw) })
                .collect();
            if whole.is_empty() {
                whole = vec![Statement::Loop { times, body: to_all(draw) }];
            }
            whole
        }
        "fold" => {
            let mut body: Vec<Statement> =
                receivers.iter().map(|&from| Statement::While { from, body: Vec::new() }).collect();
            body.extend(to_all(draw));
            body
        }
        "merge in turn" => {
            let mut body: Vec<Statement> =
                receivers.iter().map(|&from| Statement::Recv { from }).collect();
            body.extend(to_all(draw));
            if draw.below(2) == 0 {
                vec![Statement::Loop { times, body }]
            } else {
                vec![Statement::Forever { body }]
            }
        }
        "some" => {
            let mut body: Vec<Statement> = receivers
                .iter()
                .map(|&from| Statement::RecvMany { from, count: draw.between(1, 5) as u64 })
                .collect();
            body.extend(to_all(draw));
            body
        }
        "handlers" => handlers(draw, scope, &senders, &receivers),
        "sieve" => sieve(draw, scope, &senders, &receivers),
        "hand on" => hand_on(draw, scope, &senders, &receivers),
        "drop and fail" => drop_and_fail(draw, &senders, &receivers),
        _ => {
            let count = draw.between(1, 6);
            (0..count).map(|_| statement(draw, scope, 0)).collect()
        }
    }
}

/// For each message a child with a channel to it and one back.
fn handlers(
    draw: &mut Draw,
    scope: &Scope,
    senders: &[Place],
    receivers: &[Place],
) -> Vec<Statement> {
    let next = scope.held.len();
    let (to_child, from_parent, to_parent, from_child) = (next, next + 1, next + 2, next + 3);
    let mut body = vec![
        Statement::Channel { channel: channel(draw), sender: to_child, receiver: from_parent },
        Statement::Channel { channel: channel(draw), sender: to_parent, receiver: from_child },
        Statement::Create {
            child: Box::new(process(draw, vec![false, true], scope.depth + 1)),
            gives: vec![from_parent, to_parent],
        },
        send(draw, to_child),
    ];
    if draw.below(2) == 0 {
        body.push(Statement::Drop(to_child));
    }
    body.push(Statement::Recv { from: from_child });
    if let Some(&to) = senders.first() {
        body.push(send(draw, to));
    }
    match receivers.first() {
        Some(&from) => vec![Statement::While { from, body }],
        None => vec![Statement::Loop { times: draw.between(1, 5) as u64, body }],
    }
}

/// A chain of filters that grows at its front, read by the one that makes it.
fn sieve(draw: &mut Draw, scope: &Scope, senders: &[Place], receivers: &[Place]) -> Vec<Statement> {
    let next = scope.held.len();
    let Some(&from) = receivers.first() else {
        return vec![statement(draw, scope, 0)];
    };
    let mut body = vec![
        Statement::Recv { from },
        Statement::Channel { channel: channel(draw), sender: next, receiver: next + 1 },
        Statement::Create {
            child: Box::new(process(draw, vec![false, true], scope.depth + 1)),
            gives: vec![from, next],
        },
        Statement::Move { from: next + 1, to: from },
    ];
    if let Some(&to) = senders.first() {
        body.push(send(draw, to));
    }
    vec![Statement::Loop { times: draw.between(1, 4) as u64, body }]
}

/// Receives some, and hands the receiver on to a process that may be read.
fn hand_on(
    draw: &mut Draw,
    scope: &Scope,
    senders: &[Place],
    receivers: &[Place],
) -> Vec<Statement> {
    let next = scope.held.len();
    let Some(&from) = receivers.first() else {
        return vec![statement(draw, scope, 0)];
    };
    let mut body = vec![
        Statement::RecvMany { from, count: draw.between(0, 4) as u64 },
        Statement::Channel { channel: channel(draw), sender: next, receiver: next + 1 },
    ];
    let is_read = draw.below(2) == 0;
    if !is_read {
        body.push(Statement::Drop(next + 1));
    }
    let child = Box::new(process(draw, vec![false, true], scope.depth + 1));
    body.push(Statement::Create { child, gives: vec![from, next] });
    body.extend(senders.iter().map(|&to| send(draw, to)));
    if is_read {
        body.push(Statement::RecvMany { from: next + 1, count: draw.between(0, 4) as u64 });
    }
    body
}

/// Sends some, and fails when it has no sender any more.
fn drop_and_fail(draw: &mut Draw, senders: &[Place], receivers: &[Place]) -> Vec<Statement> {
    let mut body = Vec::new();
    for &to in senders {
        body.extend((0..draw.between(0, 3)).map(|_| send(draw, to)));
    }
    let operate = |draw: &mut Draw, body: &mut Vec<Statement>| {
        body.extend(receivers.first().map(|&from| match draw.below(3) {
            0 => Statement::Flush,
            _ => Statement::Recv { from },
        }));
    };
    if draw.below(4) == 0 {
        operate(draw, &mut body);
    }
    body.extend(senders.iter().map(|&place| Statement::Drop(place)));
    operate(draw, &mut body);
    body.push(Statement::End(if draw.below(4) == 0 { End::Panic } else { End::Fail }));
    body
}

/// Draws a statement.
fn statement(draw: &mut Draw, scope: &Scope, nesting: usize) -> Statement {
    let (senders, receivers) = (scope.senders(), scope.receivers());
    let inner = |draw: &mut Draw| -> Vec<Statement> {
        let count = if nesting < 2 { draw.between(1, 3) } else { 0 };
        (0..count).map(|_| statement(draw, scope, nesting + 1)).collect()
    };
    match draw.pick(&STATEMENT) {
        "send" => {
            let to = Scope::any(draw, &senders);
            send(draw, to)
        }
        "send many" => {
            Statement::SendAll { to: Scope::any(draw, &senders), count: draw.between(0, 9) as u64 }
        }
        "receive" => Statement::Recv { from: Scope::any(draw, &receivers) },
        "receive many" => Statement::RecvMany {
            from: Scope::any(draw, &receivers),
            count: draw.between(0, 6) as u64,
        },
        "while" => Statement::While { from: Scope::any(draw, &receivers), body: inner(draw) },
        "loop" => Statement::Loop { times: draw.between(1, 6) as u64, body: inner(draw) },
        "forever" => Statement::Forever { body: inner(draw) },
        "if" => Statement::If { modulus: draw.between(2, 4) as u64, body: inner(draw) },
        "add" => Statement::Add(draw.below(1000) as u64),
        "drop" => Statement::Drop(draw.below(scope.held.len() + 2)),
        "move" => Statement::Move {
            from: draw.below(scope.held.len() + 1),
            to: draw.below(scope.held.len() + 2),
        },
        "flush" => Statement::Flush,
        "effect" => Statement::Effect,
        "channel" => {
            let sender = draw.below(PLACES);
            let receiver = (sender + 1) % PLACES;
            Statement::Channel { channel: channel(draw), sender, receiver }
        }
        "create" => {
            let mut gives = Vec::new();
            let mut kinds = Vec::new();
            for place in 0..scope.held.len() {
                if draw.below(2) == 0 {
                    gives.push(place);
                    kinds.push(scope.held[place]);
                }
            }
            let child = if scope.depth < 2 && nesting < 2 {
                process(draw, kinds, scope.depth + 1)
            } else {
                Process {
                    how: How::Async,
                    creates: false,
                    effects: false,
                    ports: Vec::new(),
                    guard: None,
                    body: vec![Statement::While { from: 0, body: Vec::new() }],
                }
            };
            Statement::Create { child: Box::new(child), gives }
        }
        "return" => Statement::End(End::Leave),
        "fail" => Statement::End(End::Fail),
        _ => Statement::End(End::Panic),
    }
}
