//! Each caller gets its own answer, or an error; none waits for ever.

use super::each_way;
use kahn::testing::{VerifyError, verify};
use kahn::{Ended, Network, Requests, Scope, process};
use std::sync::mpsc;
use std::thread::scope;

#[test]
fn each_of_many_threads_gets_its_own_answers() {
    each_way(|mut network, options| {
        let (requests, questions, answers) = network.requests::<u64, u64>("service", 2);
        let squares = network.ordered_map("square", questions, 3, 5, |n| n * n);
        network.process("answer", (squares, answers), process::forward);
        assert_eq!(network.size(), (3, 3), "all that ask are one process");
        scope(|scope| {
            for thread in 0..5 {
                let requests = requests.clone();
                scope.spawn(move || {
                    for n in 0..20 {
                        let asked = 100 * thread + n;
                        assert_eq!(requests.ask_blocking(asked), Ok(asked * asked));
                    }
                });
            }
            drop(requests);
            let report = network.run_with(options).expect("it ends when nobody asks any more");
            assert_eq!(report.messages(), 300);
            assert_eq!(report.processes[0].name, "service");
            assert!(
                report.warnings.iter().any(|warning| warning.starts_with("order from outside"))
            );
        });
    });
}

#[test]
fn a_request_that_is_given_up_takes_no_other_answer() {
    each_way(|mut network, options| {
        let (requests, questions, answers) = network.requests::<u64, u64>("service", 1);
        network.process("answer", (questions, answers), process::forward);
        scope(|scope| {
            scope.spawn(move || {
                for n in 0..50 {
                    let mut asking = Box::pin(requests.ask(2 * n));
                    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                    let _ = asking.as_mut().poll(&mut context);
                    drop(asking);
                    assert_eq!(requests.ask_blocking(2 * n + 1), Ok(2 * n + 1));
                }
            });
            network.run_with(options).expect("it ends");
        });
    });
}

#[test]
fn without_a_run_or_after_it_a_request_is_an_error() {
    let mut network = Network::new();
    let (requests, questions, answers) = network.requests::<u64, u64>("service", 1);
    network.process("answer", (questions, answers), process::forward);
    scope(|scope| {
        let asks = requests.clone();
        let user = scope.spawn(move || asks.ask_blocking(1));
        let picture = network.svg();
        assert!(picture.contains("round and dashed: outside the network"), "{picture}");
        drop(network);
        assert_eq!(user.join().expect("it does not panic"), Err(Ended::Run));
    });
    assert_eq!(requests.ask_blocking(2), Err(Ended::Run));
}

#[test]
fn if_what_answers_fails_or_stops_every_request_gets_an_error() {
    for stops in [false, true] {
        each_way(|mut network, options| {
            let (requests, questions, answers) = network.requests::<u64, u64>("service", 4);
            let stop = network.stop_handle();
            let code = async move |(mut questions, mut answers): (
                kahn::Receiver<u64>,
                kahn::Sender<u64>,
            )| {
                while let Some(n) = questions.recv().await {
                    if n == 3 {
                        if !stops {
                            return Err("three is too many");
                        }
                        stop.stop();
                    } else {
                        answers.send(n).await;
                    }
                }
                Ok(())
            };
            network.process("answer", (questions, answers), code);
            scope(|scope| {
                scope.spawn(move || {
                    for n in 0..3 {
                        assert_eq!(requests.ask_blocking(n), Ok(n));
                    }
                    assert_eq!(requests.ask_blocking(3), Err(Ended::Run));
                    assert_eq!(requests.ask_blocking(4), Err(Ended::Run));
                });
                network.run_with(options).expect_err("it fails, or is stopped");
            });
        });
    }
}

#[test]
fn runs_whose_order_comes_from_outside_are_not_compared() {
    let error = verify(|network| {
        let (requests, questions, answers) = network.requests::<u64, u64>("service", 1);
        network.process("answer", (questions, answers), process::forward);
        requests
    })
    .expect_err("the order may be another in each run");
    assert!(matches!(&error, VerifyError::FromOutside { process } if process == "service"));
    assert!(error.to_string().contains("`service` is asked comes from outside"), "{error}");
}

/// A service that squares numbers, in any part.
fn service(part: &mut Scope<'_, '_>) -> Requests<u64, u64> {
    let (requests, questions, answers) = part.requests("service", 2);
    let squares = part.ordered_map("square", questions, 2, 4, |n: u64| n * n);
    part.process("answer", (squares, answers), process::forward);
    requests
}

#[test]
fn parts_have_services_of_their_own_and_a_process_begins_one_while_the_network_runs() {
    each_way(|mut network, options| {
        let left = service(&mut network.scope("left"));
        let (tell, told) = mpsc::channel();
        let spawner = network.scope("right").spawner();
        network.process("author", spawner, async move |mut create| {
            let requests = service(&mut create.scope("late"));
            tell.send(requests).expect("the user waits for it");
        });
        scope(|scope| {
            scope.spawn(move || {
                // The one before the other: both are there until the end.
                let right = told.recv().expect("the author sends it");
                for n in 0..10 {
                    assert_eq!(right.clone().ask_blocking(n), Ok(n * n));
                    assert_eq!(left.ask_blocking(n + 1), Ok((n + 1) * (n + 1)));
                }
            });
            let report = network.run_with(options).expect("it ends when nothing asks any more");
            assert_eq!(report.messages(), 60);
            let mut names: Vec<_> = report.processes.iter().map(|p| p.name.as_str()).collect();
            names.sort_unstable();
            let parts = ["left", "right/late"];
            let of = |part| ["answer", "service", "square"].map(|name| format!("{part}/{name}"));
            let expected = [vec!["author".to_owned()], parts.map(of).concat()].concat();
            assert_eq!(names, expected);
            for part in parts {
                let warning =
                    format!("order from outside: in which order `{part}/service` is asked");
                assert!(report.warnings.iter().any(|told| told.starts_with(&warning)), "{report}");
            }
        });
    });
}

#[test]
fn a_service_that_begins_while_the_network_runs_is_not_compared_either() {
    let error = verify(|network| {
        let spawner = network.spawner();
        network.process("author", spawner, async move |mut create| {
            drop(service(&mut create.scope("late")));
        });
    })
    .expect_err("the order may be another in each run");
    let VerifyError::FromOutside { process } = &error else { panic!("{error}") };
    assert_eq!(process, "late/service");
}

#[test]
fn a_service_that_waits_says_so_while_it_runs_and_in_the_report() {
    each_way(|mut network, options| {
        let requests = service(&mut network.scope("quiet"));
        let handle = network.stop_handle();
        scope(|scope| {
            scope.spawn(move || {
                assert_eq!(requests.ask_blocking(3), Ok(9));
                // Nothing is asked: it comes to that, and stays there.
                let waits = "`quiet/service` waits for something outside the network";
                while !handle.explain().to_string().contains(waits) {
                    std::thread::yield_now();
                }
            });
            let report = network.run_with(options).expect("it ends when nothing asks any more");
            let picture = report.svg();
            assert!(picture.contains("2 processes, 1 party outside the network"), "{picture}");
            let told = "warning: order from outside: in which order `quiet/service` is asked";
            assert!(report.to_string().contains(told), "{report}");
        });
    });
}
