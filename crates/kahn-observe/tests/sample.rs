//! Shares of runs that are looked at by a scripted clock: communicating processes, and S-Net programs.

use kahn_csp as csp;
use kahn_observe::sample::{Sampler, View};
use kahn_policies::POLICIES;
use kahn_report::observe::Sampled;
use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
use kahn_snet::record::{ReadError, Record};
use kahn_snet::runtime::{Handle, Options, Runtime, Source, run};
use std::collections::BTreeSet;
use std::time::Duration;

/// Looks four times, at times that it is told, and returns what that comes to.
fn view(run: &impl Sampled) -> View {
    let mut sampler = Sampler::default();
    for tick in 1..=4 {
        sampler.look(run, Duration::from_millis(20 * tick));
    }
    sampler.view(run, Duration::from_millis(80))
}

fn assert_whole(view: &View, at: &str) {
    assert_eq!(view.looks, 4, "{at}");
    for process in &view.processes {
        let shares = process.shares;
        let sum = shares.busy + shares.ready + shares.empty + shares.full + shares.outside;
        assert!((sum - 1.0).abs() < 1e-9, "{at}: {process:?}");
    }
    let ids: BTreeSet<_> = view.processes.iter().map(|process| process.id).collect();
    assert_eq!(ids.len(), view.processes.len(), "{at}: each process once");
    assert!(view.workers.iter().all(|worker| (0.0..=1.0).contains(&worker.busy)), "{at}");
    // A process that was made since the last look has no shares yet.
    let ends = view.channels.iter().flat_map(|channel| [channel.from, channel.to]).flatten();
    let unknown: BTreeSet<_> = ends.filter(|id| !ids.contains(id)).collect();
    assert!(unknown.len() + ids.len() <= view.of_processes.count, "{at}: {view:?}");
}

#[test]
fn shares_of_communicating_processes_add_up_to_one() {
    for policy in POLICIES {
        for workers in [1, 2, 3, 8] {
            let at = format!("{}, {workers} workers", policy.name());
            let options = csp::Options::new();
            let options = options.workers(workers).policy(kahn_laws::policy(policy.name()));
            let ran = csp::run(options, async |scope| {
                let (mut out, mut numbers) = csp::channel::<u64>("numbers");
                scope.spawn("source", async move {
                    for number in 0..100 {
                        out.send(number).await?;
                    }
                    Ok::<(), csp::Unsent<u64>>(())
                });
                let mut views = Vec::new();
                while let Ok(number) = numbers.recv().await {
                    if number % 20 == 0 {
                        views.push(view(&csp::handle()));
                    }
                }
                views
            });
            let views = ran.expect("it ends well").result;
            assert_eq!(views.len(), 5, "{at}");
            for view in views {
                assert_whole(&view, &at);
                let main = view.processes.iter().find(|process| process.name == "main");
                assert_eq!(main.map(|main| main.shares.busy), Some(1.0), "{at}: it looks");
            }
        }
    }
}

/// Gives records, and looks at the run between two of them.
struct Looking {
    handle: Handle,
    left: i64,
    views: Vec<View>,
}

impl Source for &mut Looking {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.views.push(view(&self.handle));
        self.left -= 1;
        (self.left > 0).then(|| Ok(Record::new().tag("n", self.left)))
    }

    fn is_ready(&self) -> bool {
        true
    }
}

#[test]
fn shares_of_an_snet_program_add_up_to_one_and_its_components_are_found_by_name() {
    let source = "
        net main connect
            [{<n>} -> {<n=n + 1>}]
            .. ([{<n>} -> if <n > 0> then {<n=n - 1>} else {<done>}] * {<done>});
    ";
    let program = Program::read("main.snet", source);
    let net = program.net(None).expect("a net");
    for policy in POLICIES {
        for workers in [1, 2, 3, 8] {
            let at = format!("{}, {workers} workers", policy.name());
            let handle = Handle::new();
            assert_eq!(view(&handle).looks, 0, "{at}: it has not begun");
            let runtime = Runtime::Network { policy: Some(kahn_laws::policy(policy.name())) };
            let options =
                Options { runtime, workers, handle: Some(handle.clone()), ..Options::default() };
            let mut looking = Looking { handle: handle.clone(), left: 6, views: Vec::new() };
            let mut output = Vec::<Record>::new();
            run(&program, net, &Boxes::of(&program), &options, &mut looking, &mut output)
                .expect("it ends well");
            assert_eq!(output.len(), 5, "{at}");
            assert_eq!(view(&handle).looks, 0, "{at}: it is over");
            let names: BTreeSet<String> = looking
                .views
                .iter()
                .flat_map(|view| &view.processes)
                .map(|process| process.name.to_string())
                .collect();
            for wanted in [
                "input",
                "output",
                "filter [{<n>} -> …] in net `main`",
                "star * {<done>} in net `main`",
            ] {
                assert!(names.contains(wanted), "{at}: {wanted} in {names:?}");
            }
            for view in &looking.views {
                assert_whole(view, &at);
                let input = view.processes.iter().find(|process| process.name == "input");
                assert_eq!(input.map(|input| input.shares.busy), Some(1.0), "{at}: it looks");
                let outside: f64 = view.processes.iter().map(|p| p.shares.outside).sum();
                assert!(outside == 0.0, "{at}: where streams meet is inside");
            }
        }
    }
}
