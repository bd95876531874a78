//! Runs that a script tells, looked at by a scripted clock.

use super::*;
use kahn_report::Explanation;
use kahn_report::observe::{Doing, Look, Survey, SurveyedChannel, SurveyedProcess};
use std::ops::Range;

/// A run of which each look finds the next of these; after the last it has ended.
struct Script {
    looks: Vec<Vec<Doing>>,
    /// How many looks there were.
    at: Mutex<usize>,
    /// What was received on the one channel by each look.
    received: Vec<u64>,
}

impl Script {
    fn new(looks: Vec<Vec<Doing>>) -> Self {
        let received = (0..looks.len() as u64).map(|look| 10 * look * look).collect();
        Self { looks, at: Mutex::new(0), received }
    }
}

impl Sampled for Script {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        let mut at = self.at.lock();
        *found = Look::default();
        if let Some(all) = self.looks.get(*at) {
            let numbered = all.iter().enumerate().map(|(id, doing)| (id as u64, *doing));
            found.processes = numbered.skip(places.start).take(places.len()).collect();
            found.places = all.len();
            found.workers = vec![at.is_multiple_of(2).then_some(0), None];
            *at += 1;
        }
    }

    fn survey(&self, processes: Range<usize>, _: Range<usize>) -> Survey {
        let looked = *self.at.lock() - 1;
        let all = self.looks[looked].len();
        let process = |id: usize| SurveyedProcess {
            id: id as u64,
            name: format!("process {id}").into(),
            kind: "process",
            waits_at: None,
            is_stuck: false,
        };
        let channel = SurveyedChannel {
            id: 1,
            name: "numbers".into(),
            from: Some(0),
            to: Some(1),
            capacity: 64,
            sent: self.received[looked] + 5,
            received: self.received[looked],
            growths: 2,
        };
        Survey {
            processes: (0..all).skip(processes.start).take(processes.len()).map(process).collect(),
            channels: vec![channel],
            rings: Vec::new(),
            process_places: all,
            channel_places: 1,
        }
    }

    fn explain(&self) -> Explanation {
        Explanation::default()
    }
}

/// A clock by which each step costs so much of the processor, and which ends the watch when all was seen.
struct Scripted<'a> {
    now: Duration,
    spent: Duration,
    cost: Duration,
    rests: Vec<Duration>,
    run: &'a Script,
}

impl Clock for Scripted<'_> {
    fn now(&mut self) -> Duration {
        self.now
    }

    fn spent(&mut self) -> Duration {
        self.spent += self.cost;
        self.spent
    }

    fn rest(&mut self, time: Duration) -> bool {
        self.rests.push(time);
        self.now += time;
        *self.run.at.lock() < self.run.looks.len()
    }
}

fn watched(run: &Script, every: Duration, cost: Duration) -> (Vec<View>, Vec<Duration>) {
    let mut clock = Scripted { now: Duration::ZERO, spent: cost, cost, rests: Vec::new(), run };
    let mut views = Vec::new();
    watch(run, every, &mut clock, |view| views.push(view));
    (views, clock.rests)
}

const MILLISECOND: Duration = Duration::from_millis(1);

use Doing::{Busy, Ready, WaitsForMessage, WaitsForRoom, WaitsOutside};

#[test]
fn shares_are_those_of_the_time_and_add_up_to_one() {
    let looks = [
        [Busy, WaitsForMessage, WaitsOutside],
        [Busy, WaitsForMessage, Ready],
        [Ready, Busy, Ready],
        [WaitsForRoom, Busy, Ready],
        [Busy, WaitsForRoom, Ready],
    ];
    let run = Script::new(looks.iter().map(|look| look.to_vec()).collect());
    let (views, rests) = watched(&run, 100 * MILLISECOND, Duration::ZERO);
    assert!(rests.iter().all(|rest| *rest == 20 * MILLISECOND), "50 times a second");
    let [view] = &views[..] else { panic!("{views:?}") };
    let fifths = |view: &View, id| {
        let shares = view.process(id).expect("it is there").shares;
        assert!((Doing::ALL.map(|doing| shares.of(doing)).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        Doing::ALL.map(|doing| format!("{:.0}", shares.of(doing) * 5.0)).join(" ")
    };
    assert_eq!(fifths(view, 0), "3 1 0 1 0");
    assert_eq!(fifths(view, 1), "2 0 2 1 0");
    assert_eq!(fifths(view, 2), "0 4 0 0 1");
    assert_eq!((view.looks, view.seconds), (5, 0.1));
    assert!(view.is_whole());
    assert_eq!(view.process(0).map(|process| process.doing), Some(Busy));
    // The first, third and fifth look found the first worker running.
    assert!((view.workers[0].busy - 0.6).abs() < 1e-12 && view.workers[1].busy == 0.0);
}

#[test]
fn a_look_that_comes_late_stands_for_the_time_it_missed() {
    // Each step costs 1 ms, so the next is 99 ms later.
    let run = Script::new(vec![vec![Busy], vec![WaitsForRoom], vec![Busy], vec![Busy]]);
    let (views, rests) = watched(&run, 300 * MILLISECOND, MILLISECOND);
    assert!(rests.iter().all(|rest| *rest == 99 * MILLISECOND), "{rests:?}");
    let shares = views[0].process(0).expect("it is there").shares;
    assert_eq!((shares.busy, shares.full), (0.75, 0.25));
    assert_eq!(views[0].looks, 4, "and says so");
}

#[test]
fn it_takes_a_hundredth_of_a_core_at_most_whatever_a_look_costs() {
    for cost in [0, 1, 199, 201, 5_000, 1_000_000].map(Duration::from_micros) {
        let run = Script::new(vec![vec![Busy]; 100]);
        let (_, rests) = watched(&run, 200 * MILLISECOND, cost);
        let rested: Duration = rests.iter().sum();
        let spent = cost * u32::try_from(rests.len()).expect("a hundred");
        assert!(spent <= (rested + spent) / 100, "{spent:?} in {rested:?}");
    }
}

#[test]
fn a_view_is_of_several_looks_however_long_they_take() {
    // Each step costs 5 ms, so that looks are half a second apart.
    let run = Script::new(vec![vec![Busy]; 12]);
    let (views, _) = watched(&run, 200 * MILLISECOND, 5 * MILLISECOND);
    assert!(views.iter().map(|view| view.looks).eq([4, 4, 4]), "{views:?}");
}

#[test]
fn rates_are_by_what_passed_between_two_views() {
    let run = Script::new(vec![vec![Busy]; 15]);
    let (views, _) = watched(&run, 100 * MILLISECOND, Duration::ZERO);
    let rates: Vec<_> = views.iter().map(|view| view.channels[0].rate).collect();
    // After looks 5, 10 and 15 there were 10 * 4², 10 * 9² and 10 * 14² messages.
    assert_eq!(rates, [None, Some(6500.0), Some(11500.0)]);
    let channel = &views[2].channels[0];
    assert_eq!((channel.waiting, channel.received, channel.growths), (5, 1960, 2));
}

#[test]
fn of_very_many_processes_each_has_its_turn_and_a_view_says_which_they_are() {
    let all = 2 * super::super::MOST + 500;
    let run = Script::new(vec![vec![WaitsForMessage; all]; 20]);
    let (views, _) = watched(&run, 100 * MILLISECOND, Duration::ZERO);
    let parts: Vec<_> = views.iter().map(|view| view.of_processes.to_string()).collect();
    let expected =
        ["1 to 2000 of 4500", "2001 to 4000 of 4500", "4001 to 4500 of 4500", "1 to 2000 of 4500"];
    assert_eq!(parts, expected);
    for view in &views {
        assert_eq!(view.processes.len(), view.of_processes.count);
        assert_eq!(view.processes[0].id, view.of_processes.first as u64);
        assert!(view.processes.iter().all(|p| p.shares.empty > 0.999), "five looks each");
        assert!(!view.is_whole());
    }
}

#[test]
fn processes_that_come_and_go_keep_their_own_shares() {
    // The second process is there from the second look on.
    let looks = vec![vec![Busy], vec![Busy, Ready], vec![Ready, Ready], vec![Busy, WaitsForRoom]];
    let run = Script::new(looks);
    let (views, _) = watched(&run, 80 * MILLISECOND, Duration::ZERO);
    let shares = |id| views[0].process(id).expect("it is there").shares;
    assert_eq!((shares(0).busy, shares(0).ready), (0.75, 0.25));
    assert!((shares(1).ready - 2.0 / 3.0).abs() < 1e-12, "of the time in which it was seen");
}

#[test]
fn nothing_is_shown_of_a_run_that_has_not_begun() {
    let mut looks = vec![vec![]; 10];
    looks.extend(vec![vec![Busy]; 5]);
    let (views, _) = watched(&Script::new(looks), 100 * MILLISECOND, Duration::ZERO);
    let [view] = &views[..] else { panic!("{views:?}") };
    assert_eq!((view.looks, view.seconds), (5, 0.3));
    assert_eq!(view.processes.len(), 1);
}
