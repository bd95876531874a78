//! What a look from outside finds: each process once, what it does, how full channels are; while
//! networks grow, and without holding them up.

use super::schedules::{Schedule, count, everywhere, listen};
use kahn::observe::{Doing, Look, Sampled, Survey};
use kahn::{Channel, Network, StopHandle, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;

const ALL: std::ops::Range<usize> = 0..usize::MAX;

/// What processes do, by name; those of one name are told together.
fn found(handle: &StopHandle) -> (BTreeMap<String, Doing>, Survey) {
    let mut look = Look::default();
    handle.look(ALL, &mut look);
    let survey = handle.survey(ALL, ALL);
    let doing: BTreeMap<_, _> = look.processes.iter().copied().collect();
    assert_eq!(doing.len(), look.processes.len(), "a process was told twice");
    let by_name = survey.processes.iter().filter_map(|process| {
        doing.get(&process.id).map(|doing| (process.name.to_string(), *doing))
    });
    (by_name.collect(), survey)
}

/// Looks until it finds this, for the others park when they have run. The watchdog knows how long.
async fn until(handle: &StopHandle, expected: &[(&str, Doing)]) -> Survey {
    loop {
        let (doing, survey) = found(handle);
        if expected.iter().all(|(name, wanted)| doing.get(*name) == Some(wanted)) {
            return survey;
        }
        kahn::yield_now().await;
    }
}

/// Says so when it is dropped, also by a panic.
struct AtTheEnd<'a>(&'a AtomicBool);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn each_process_is_found_doing_what_it_does() {
    everywhere(|schedule| {
        let is_over = AtomicBool::new(false);
        let mut network = Network::new();
        let handle = network.stop_handle();
        let (typing, typed) = network.channel::<u64>("typed");
        let (out, told) = network.channel::<u64>("told");
        let (into, full) = network.channel("full");
        let party = network.outside("types", typing);
        network.process("asks", typed, async |mut typed| while typed.recv().await.is_some() {});
        network.process("sends", into, async |mut into| into.send_all(0..200_u64).await);
        let expected = [
            ("look", Doing::Busy),
            ("types", Doing::WaitsOutside),
            ("asks", Doing::WaitsOutside),
            ("sends", Doing::WaitsForRoom),
            ("hears", Doing::WaitsForMessage),
        ];
        let (looked, over, room) = (handle.clone(), &is_over, u64::from(schedule.capacity));
        network.process("look", (out, full), async move |(mut out, mut full)| {
            let _over = AtTheEnd(over);
            let survey = until(&looked, &expected).await;
            let process = |name: &str| survey.processes.iter().find(|p| p.name == *name).cloned();
            let channel = |name: &str| survey.channels.iter().find(|c| c.name == *name).cloned();
            let (full_, sends) = (channel("full").unwrap(), process("sends").unwrap());
            assert_eq!((full_.sent, full_.received, full_.growths), (room, 0, 0));
            assert_eq!(u64::from(full_.capacity), room);
            assert_eq!((full_.from, full_.to), (Some(sends.id), process("look").map(|p| p.id)));
            assert_eq!(sends.waits_at, Some(full_.id));
            assert_eq!(process("hears").unwrap().waits_at, channel("told").map(|told| told.id));
            assert_eq!(process("types").unwrap().kind, "outside");
            assert!(survey.rings.is_empty() && survey.processes.iter().all(|p| !p.is_stuck));
            full.for_each(|_| ()).await;
            out.send(7).await;
        });
        let heard = listen(&mut network, "hears", told);
        let mut look = Look::default();
        handle.look(ALL, &mut look);
        assert!(look.processes.is_empty() && look.places == 0, "it has not begun");
        assert!(handle.survey(ALL, ALL).channels.is_empty());
        thread::scope(|scope| {
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    thread::yield_now();
                }
                drop(party);
            });
            schedule.finish(network);
        });
        assert_eq!(heard.all(), [7]);
        handle.look(ALL, &mut look);
        assert!(look.processes.is_empty() && look.workers.is_empty(), "it has ended");
    });
}

/// Two processes that wait for each other for ever, beside one that looks until it has seen that.
#[test]
fn a_ring_that_is_stuck_is_found_while_the_rest_runs() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let handle = network.stop_handle();
        let (to_b, from_a) = network.channel::<u64>("to b");
        let (to_a, from_b) = network.channel::<u64>("to a");
        network.process("a", (to_b, from_b), async |(mut to, mut from)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
            }
        });
        network.process("b", (to_a, from_a), async |(mut to, mut from)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
            }
        });
        network.blocking("look", (), move |()| {
            loop {
                let survey = handle.survey(ALL, ALL);
                let stuck = survey.processes.iter().filter(|process| process.is_stuck);
                let stuck: Vec<_> = stuck.map(|process| process.name.as_str()).collect();
                if let [ring] = &survey.rings[..] {
                    assert_eq!(stuck, ["a", "b"], "whether the runtime has found it or not");
                    let members: Vec<_> =
                        ring.iter().map(|m| (m.process.as_str(), m.channel.as_str())).collect();
                    assert_eq!(members, [("a", "to a"), ("b", "to b")]);
                    assert!(ring.iter().all(|member| !member.full));
                    // Of whichever processes a view is, so that one of very many tells it as well.
                    for place in 0..survey.process_places {
                        let part = handle.survey(place..place + 1, 0..0);
                        assert!(part.processes.len() <= 1);
                        let [ring] = &part.rings[..] else { panic!("{part:?}") };
                        let names = ring.iter().map(|m| (m.process.as_str(), m.channel.as_str()));
                        assert!(names.eq(members.iter().copied()), "{ring:?}");
                    }
                    break;
                }
                thread::yield_now();
            }
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock);
        assert_eq!(report.failures, [], "what looks is content");
    });
}

#[test]
fn what_waits_for_a_ring_that_is_stuck_is_stuck_as_well() {
    everywhere(|schedule| {
        let (seen, told) = mpsc::channel();
        let mut network = Network::new();
        let handle = network.stop_handle();
        let (to_b, from_a) = network.channel::<u64>("to b");
        let (to_a, from_b) = network.channel::<u64>("to a");
        let (to_c, of_ring) = network.channel::<u64>("to c");
        let (into, unread) = network.channel_with(Channel::named("unread").capacity(1));
        network.process("a", (to_b, from_b), async |(mut to, mut from)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
            }
        });
        network.process("b", (to_a, to_c, from_a), async |(mut to, mut on, mut from)| {
            while let Some(n) = from.recv().await {
                on.send(n).await;
                to.send(n).await;
            }
        });
        network.process("c", (of_ring, unread), async |(mut first, mut second)| {
            while first.recv().await.is_some() && second.recv().await.is_some() {}
        });
        let (out, heard) = network.channel::<()>("heard");
        network.for_each("listen", heard, |()| {});
        // Something else observes it: without that it would be pruned when "c" is found to take nothing more.
        network.process("look", (into, out), async move |(mut into, _out)| {
            // When all wait it is found that nothing will be read: what is sent then goes nowhere.
            into.send_all(0..100_u64).await;
            let survey = handle.survey(ALL, ALL);
            let stuck = survey.processes.iter().filter(|process| process.is_stuck);
            let stuck: BTreeSet<_> = stuck.map(|process| process.name.to_string()).collect();
            seen.send(stuck).expect("the test waits for it");
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock);
        let expected = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(told.recv(), Ok(BTreeSet::from(expected)));
    });
}

#[test]
fn a_farm_is_one_process_and_busy_while_its_helpers_are() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let handle = network.stop_handle();
        let numbers = count(&mut network, "numbers", 3);
        let mapped = network.ordered_map("farm", numbers, 2, 4, move |item| {
            let (_, survey) = found(&handle);
            let farms = survey.processes.iter().filter(|process| process.name == "farm");
            let [farm] = &farms.collect::<Vec<_>>()[..] else { panic!("{survey:?}") };
            let mut look = Look::default();
            handle.look(ALL, &mut look);
            assert!(look.processes.contains(&(farm.id, Doing::Busy)), "{look:?}");
            item
        });
        let heard = listen(&mut network, "listen", mapped);
        schedule.finish(network);
        assert_eq!(heard.all(), [0, 1, 2]);
    });
}

#[test]
fn the_parts_of_a_table_make_up_the_whole() {
    let mut network = Network::new();
    let handle = network.stop_handle();
    let (out, told) = network.channel::<u64>("told");
    let mut counts = Vec::new();
    for n in 0..500_u64 {
        let (out, numbers) = network.channel(format!("numbers {n}"));
        network.process(format!("count {n}"), out, async move |mut out| {
            out.send(n).await;
            out.send(n).await;
        });
        counts.push(numbers);
    }
    network.process("look", (out, counts), async move |(mut out, mut numbers)| {
        let (mut look, whole) = (Look::default(), handle.survey(ALL, ALL));
        for size in [1, 7, 100, 499, 1000] {
            let (mut first, mut ids, mut channels) = (0, Vec::new(), Vec::new());
            loop {
                let part = first..first + size;
                handle.look(part.clone(), &mut look);
                let survey = handle.survey(part.clone(), part);
                assert!(look.processes.len() <= size && survey.channels.len() <= size);
                let surveyed = survey.processes.iter().map(|process| process.id);
                assert!(look.processes.iter().map(|(id, _)| *id).eq(surveyed));
                ids.extend(look.processes.iter().map(|(id, _)| *id));
                channels.extend(survey.channels.iter().map(|channel| channel.id));
                first += size;
                if first >= look.places.max(survey.channel_places) {
                    break;
                }
            }
            assert!(ids.iter().copied().eq(whole.processes.iter().map(|process| process.id)));
            assert!(channels.iter().copied().eq(whole.channels.iter().map(|channel| channel.id)));
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 502);
        }
        for numbers in &mut numbers {
            numbers.for_each(|_| ()).await;
        }
        out.send(1).await;
    });
    let heard = listen(&mut network, "listen", told);
    // On one worker no other process ends while this one looks.
    Schedule::sequential(1).finish(network);
    assert_eq!(heard.all(), [1]);
}

/// Processes and channels come and go while another thread looks without a pause.
#[test]
fn looking_changes_nothing_and_finds_nothing_impossible() {
    everywhere(|schedule| {
        let is_over = AtomicBool::new(false);
        let mut network = Network::new();
        let handle = network.stop_handle();
        let spawner = network.spawner();
        let (out, sums) = network.channel::<u64>("sums");
        network.process("create", (spawner, out), async |(mut create, mut out)| {
            for round in 0..20_u64 {
                let mut ends = Vec::new();
                for n in 0..20 {
                    let (answer, receive) = create.channel("answer");
                    let name = format!("a name that stands on the heap, {n}");
                    create.process(name, answer, async move |mut answer| {
                        answer.send(round * n).await;
                    });
                    ends.push(receive);
                }
                let mut sum = 0;
                for mut end in ends {
                    sum += end.recv().await.unwrap_or_default();
                }
                out.send(sum).await;
            }
        });
        let heard = listen(&mut network, "listen", sums);
        thread::scope(|scope| {
            let over = &is_over;
            let looks = scope.spawn(move || {
                let mut look = Look::default();
                while !over.load(SeqCst) {
                    handle.look(ALL, &mut look);
                    let ids: BTreeSet<_> = look.processes.iter().map(|(id, _)| *id).collect();
                    assert_eq!(ids.len(), look.processes.len());
                    let survey = handle.survey(ALL, ALL);
                    assert!(survey.channels.iter().all(|channel| channel.received <= channel.sent));
                    assert!(survey.rings.is_empty(), "{:?}", survey.rings);
                }
            });
            let at_the_end = AtTheEnd(over);
            schedule.finish(network);
            drop(at_the_end);
            // The sanitizer of threads sees this, and not what a scope does at its end.
            looks.join().expect("what it sees is possible");
        });
        let expected: Vec<_> =
            (0..20).map(|round| (0..20).map(|n| round * n).sum::<u64>()).collect();
        assert_eq!(heard.all(), expected);
    });
}
