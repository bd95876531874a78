#!/usr/bin/env bash
# Takes away what options, policies, counters and columns of the report do, one at a time, in a
# copy, and demands that the named test fails: the second part of ci/mutations.sh, which breaks
# protocols and asks loom. Arguments choose mutations by name.
#
#   ci/behaviour.sh --apply    whether each still changes its file
#   ci/behaviour.sh --list     their names
#
# Ends with a summary, and with exit code 1 if one of the mutations (see ci/lib.sh) is not noticed.
# Takes some ten seconds for each, when all is compiled once; `ci/nightly` runs it, and `.ci/run` one of them, by the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/lib.sh

# Compiled fast, and again faster.
export CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_LTO=off CARGO_PROFILE_DEV_DEBUG=false
# Seconds of computing that a test may take.
patience=200
prepare_mutations behaviour "$@"

# mutation NAME TARGET TEST FILE SUBSTITUTION: TARGET is `--lib` or `--test NAME`.
mutation() {
    # shellcheck disable=SC2086
    mutate "$1" "$3" "$4" "$5" -p "$package" $2
}

package=kahn
laws='--test laws'
testing='--test testing'
csp='--test laws'
check='--test check'
without_mutation '' -p kahn --test laws
without_mutation '' -p kahn --test testing
package=kahn-csp without_mutation '' -p kahn-csp --test laws
package=kahn-csp without_mutation '' -p kahn-csp --test check
package=kahn-csp without_mutation '' -p kahn-csp --lib
without_mutation '' -p kahn --test memory

# --- policies -----------------------------------------------------------------------------------

mutation a-part-searches-as-the-whole "$laws" shares_the_cores_leaves ../../kahn-engine/src/scheduler/config.rs \
    's/workers\.min\(settings\.cores\) \/ 2/workers.min(cores) \/ 2/'
mutation ws-last-as-ws-cur "$laws" under_ws_last_a_woken ../../kahn-policies/src/ws_last.rs \
    's/\(_, Reason::Woken \| Reason::Yielded \| Reason::Preempted\) => \{/(Origin::Worker(worker), _) => worker,\n _ => {/'
mutation ws-cur-as-ws-last "$laws" under_ws_cur_a_woken ../../kahn-policies/src/ws_cur.rs \
    's/(Reason::Woken \| Reason::New \| Reason::Preempted\) => \{\s*)queues\.push_front\(worker, ready\);/$1let _ = worker;\n queues.push_front(ready.last_worker() % queues.workers(), ready);/'
mutation what-ended-runs-on "$laws" found_dead_by_a_worker_at_rest ../../kahn-engine/src/worker/dispatch.rs \
    's/(if task\.marks\.load\(Acquire\) & mark::MAY_END != 0\s+&& let Some\(ending\) = self\.must_end\(task\))/self.set_current(Some(task));\n        $1/'
mutation pin-not-told "$laws" is_told_where_processes_are ../../kahn-engine/src/task/ready.rs \
    's/self\.0\.pinned\(\)\.map\(\|worker\| worker as usize\)/None/'
mutation pinned-for-good "$laws" a_pinned_worker_runs_on_one ../../kahn-engine/src/sync/system.rs \
    's/(if let Some\(before\) = BEFORE\.replace\(self\.outer\))/$1\n            && false/'
mutation pins-what-it-starts "$laws" a_pinned_worker_starts ../../kahn-engine/src/sync/system.rs \
    's/let before = BEFORE\.get\(\);/let before = BEFORE.get().filter(|_| false);/'
mutation pins-processes "$laws" a_pinned_worker_starts ../../kahn-engine/src/scheduler/threads.rs \
    's/builder\.spawn\(unpinned\((move \|\| \{.*?\n            \})\)\)\?/builder.spawn($1)?/s'
package=kahn-csp mutation pins-calls "$csp" a_blocking_call_of_a_pinned network/helpers.rs \
    's/builder\.spawn\(unpinned\((move \|\| this\.work\(number\))\)\)/builder.spawn($1)/'
mutation channels-as-if-alone "$laws" several_processes_create channel/table.rs \
    's/lock_as\(access\)/lock_as(Access::ALONE)/g'
package=kahn-engine mutation block-of-another-class --lib blocks_of_sizes memory.rs \
    's/is_none_or\(\|class\| class\.size != size\)/is_none()/'
package=kahn-engine mutation defect-is-survived --lib a_panic_of_the_runtime sync/panics.rs \
    's/std::process::abort\(\);//'
package=kahn-engine mutation pins-by-number --lib a_thread_is_pinned sync/system.rs \
    's/cores\.get\(number % cores\.len\(\)\.max\(1\)\)/Some(&number)/'
mutation parties-close-at-once "$laws" parties_may_give_all channel/outside/party.rs \
    's/let given_up = \(!is_stood_in_for\)\.then\(Vec::new\);/let given_up = None;/'
mutation work-not-told "$laws" is_told_what_computes network/load.rs \
    's/Weight::follow\(before, task\.busy\(\)\)/Weight::follow(before, 1)/'
mutation partition-weighs-nothing "$laws" partition_parts_two ../../kahn-policies/src/parts.rs \
    's/work: scaled\(&work\)/work: vec![1; work.len()]/'
mutation moves-off-by-one "$laws" is_told_what_computes network/load.rs \
    's/Some\(moved\)/Some(moved + 1)/'
mutation static-forgets-the-pin "$laws" under_static_a_list_and_a_pin network/load.rs \
    's/process\.pinned = task\.pinned\(\)\.map\(\|worker\| worker as usize\);//'
mutation seeded-does-not-draw "$laws" a_seed_is_heeded ../../kahn-engine/src/run/plan.rs \
    's/setup\.seed = schedule\.seed;/setup.seed = 0;/'
package=kahn-policies mutation tau-does-nothing '--lib --features partition' it_shares_out_anew partition.rs \
    's/Some\(self\.tau\)/Some(DEFAULT_TAU)/'
mutation operations-end-streams-and-go-on '--test random_programs' pruned_within_an_operation ../../kahn-laws/src/network/world.rs \
    's/(self\.operation\(number, Mark::Clean\);)\s*\/\/ Others may[^;]*;\s*return Step::Moved;/$1/'
mutation what-has-a-message-waits '--test random_programs' takes_none_for_dead_that_has ../../kahn-laws/src/network/world.rs \
    's/wire\.sender\.filter\(\|_\| \(wire\.queue\.len\(\) as u64\) < asked\)/wire.sender.filter(|_| asked > 0)/'
mutation waits-are-told-whatever-saw-the-end '--test random_programs' tells_a_wait_as_pruned ../../kahn-laws/src/network/failures.rs \
    's/told\.as_pruned\.insert\(at\);(\s*\} else if self\.prunes_loops)/$1/'
package=kahn-policies mutation batches-keep-the-room-of-all '--lib' batches_take_memory_for_what_they_hold batches.rs \
    's/self\.put_behind\(window, processes\.drain\(\.\.MOST_PROCESSES\)\.collect\(\)\);/let rest = processes.split_off(MOST_PROCESSES);\n self.put_behind(window, std::mem::replace(\&mut processes, rest));/'
package=kahn-policies mutation batch-never-splits '--lib' in_which_no_process_was_ever_alone batches.rs \
    's/if !self\.was_alone && batch\.len\(\) > 1 \{/if batch.is_empty() {/'
package=kahn-csp mutation threads-are-one "$csp" of_the_policy_threads ../../kahn-engine/src/run/plan.rs \
    's/\.threads\(\) == Threads::OnePerProcess$/.threads() == Threads::OnePerProcess \&\& self.schedule.policy.waits_once()/m'

# --- scheduling laws ----------------------------------------------------------------------------

mutation waits-before-publishing "$laws" :: channel/language.rs \
    's/(fn left_poll\(.*?settle\(worker, task\);\s*\}\s*)Self::flush\(worker\);/$1let _ = worker;/s'
mutation operations-for-nothing "$laws" a_process_that_sends_to_itself channel/slow_path.rs \
    's/worker\.patience\.set\(patience - 1\);//; s/worker\.patience\.set\(worker\.patience\.get\(\)\.saturating_sub\(1\)\);//'
mutation one-that-waited-not-told "$laws" reports:: channel/counts.rs \
    's/\.max\(waited\)/.max(waited.min(0))/'
mutation parks-with-a-sender-dropped "$laws" while_its_process_begins_to_wait channel/closing.rs \
    's/worker\.has_something_left\(\);//'
mutation credit-left-unlisted "$laws" room_that_was_left_unused channel/sender.rs \
    's/self\.channel\.list\(End::Sender, worker\);/let _ = worker;/'
mutation flush-for-nothing "$laws" a_process_that_flushes_again channel/closing.rs \
    's/if has_yielded \|\| worker\.spend\(1\)/if !has_yielded || worker.spend(1)/'
package=kahn-csp mutation chunks-one-at-a-time '--lib' memory_is_taken_for_more_chunks channel/blocks.rs \
    's/self\.chunks\.len\(\)\.clamp\(1, MOST_AT_ONCE\)/1/'
package=kahn-csp mutation making-for-nothing "$check" every_policy_keeps ../../kahn-engine/src/worker/operation.rs \
    's/(fn has_made_one\(&self\) \{\s*)self\.spend\(1\);/$1/'
package=kahn-csp mutation no-rounds "$check" every_policy_keeps ../../kahn-engine/src/queue/lane.rs \
    's/ready > FEW && ready \/ 2 >= self\.least\.load\(Relaxed\)/false \&\& ready > FEW/'
package=kahn-csp mutation cold-ends-not-asked "$check" every_policy_keeps ../../kahn-engine/src/worker/pick.rs \
    's/for _ in 0\.\.COLD_ENDS \{/for _ in COLD_ENDS..COLD_ENDS {/'
package=kahn-csp mutation busy-workers-look-nowhere "$csp" what_stands_behind_one ../../kahn-engine/src/queue/lane.rs \
    's/(self\.looked_at\.load\(Relaxed\)\)) < clock::about\(STILL\)/$1 < u64::MAX/'
package=kahn-engine mutation looks-once-if-too-early --lib the_lanes_of_others_are_looked_into queue/lane.rs \
    's/!asked\.is_power_of_two\(\) && !asked\.is_multiple_of\(ASKS\)/asked != 1/'
package=kahn-csp mutation lifo-slot-not-taken-over "$check" every_policy_keeps ../../kahn-engine/src/worker/idle.rs \
    's/(if slot\.lifo\.load\(Relaxed\))\.is_null\(\)( \{\s*continue;)/$1 != std::ptr::dangling_mut()$2/'
package=kahn-csp mutation a-pin-is-urgent "$csp" a_pinned_process_waits ../../kahn-engine/src/queue/places.rs \
    's/let urgency = Urgency::of\(ready\.notes\(\)\);/let urgency = Urgency::Usual;/'
package=kahn-csp mutation gives-way-late "$csp" that_wakes_a_more_urgent ../../kahn-engine/src/worker/urgency.rs \
    's/let left = self\.patience\.replace\(0\);/let left = self.patience.get();/'
package=kahn-csp mutation fork-is-nobody "$csp" a_process_that_joins_forks sharing/phases.rs \
    's/state\.enrol\(task\.as_ptr\(\)\)/state.enrol(ptr::null())/'
package=kahn-csp mutation choices-wait-at-once "$csp" a_choice_that_finds_nothing choice/alternation.rs \
    's/chosen\.is_none\(\) && !wait/false \&\& chosen.is_none() \&\& !wait/'
package=kahn-csp mutation releases-are-done-later "$csp" what_was_dropped_outside channel/typed.rs \
    's/worker\.language\(\)\.common\(\)\.calls\.finish_releases\(worker\.scheduler\(\)\);//'
package=kahn-csp mutation channel-keeps-nothing '--lib' a_channel_keeps channel/blocks.rs \
    's/let _ = Arc::into_raw\(Arc::clone\(common\)\);//'
package=kahn-csp mutation results-are-left "$csp" is_dropped_with_the_run_if_its_handle run/execute.rs \
    's/core\.drop_results\(\);//'
package=kahn-csp mutation handle-runs-twice "$csp" a_second_run_of_a_handle run/execute.rs \
    's/handle\.attachment\(\)\.take\(\);//'
package=kahn-csp mutation users-are-kept "$csp" that_was_used_works network/core.rs \
    's/blocks::forget_users\(&self\.common\);//'
package=kahn-csp mutation killable-leaves-channels "$csp" while_it_receives process/create.rs \
    's/if process\.killable \|\| settings\.threads \{ own::STAYS \}/if settings.threads { own::STAYS }/'
package=kahn-csp mutation current-is-not-called "$csp" a_waker_that_is_called ../../kahn-engine/src/task/foreign.rs \
    's/current_at\(data\)\.marks\.fetch_or\(mark::AGAIN, Release\);/let _ = data;/'
package=kahn-csp mutation deferred-to-nobody "$csp" an_end_that_is_dropped_on_another run/execute.rs \
    's/core\.common\.calls\.begin\(&scheduler\);//'
package=kahn-csp mutation goes-behind-others "$csp" that_has_given_way_to ../../kahn-engine/src/worker/urgency.rs \
    's/self\.make_ready\(Ready::new\(task\), Reason::Preempted\);/self.give_way(task);/'
package=kahn-csp mutation yields-to-few "$csp" all_that_were_ready ../../kahn-engine/src/queue/lane.rs \
    's/let is_first = .*?;/let is_first = waits.is_some();/s'
among=that_gives_way_among_others
package=kahn-csp mutation rotates-past-the-deque "$csp" $among ../../kahn-engine/src/queue/lane.rs \
    's/ \|\| oldest != end//'
package=kahn-csp mutation rotates-past-the-rest "$csp" $among ../../kahn-engine/src/queue/lane.rs \
    's/(oldest != end) \|\| self\.rest_len\.load\(Relaxed\) > 0/$1/'
package=kahn-csp mutation rotates-past-the-woken "$csp" $among ../../kahn-engine/src/worker/pick.rs \
    's/ \| slot\.lifo\.load\(Relaxed\)\.addr\(\)//'
package=kahn-csp mutation rotates-for-ever "$csp" what_stands_behind_one ../../kahn-engine/src/worker/pick.rs \
    's/step\.is_multiple_of\(FAIRNESS\) \|\| goes_before/goes_before/'
package=kahn-csp mutation rotates-what-is-apart "$csp" gives_way_to_usual_ones ../../kahn-engine/src/worker/pick.rs \
    's/ \|\| task\.notes\(\) & own::APART != 0//'

# --- the ordered farm ---------------------------------------------------------------------------

mutation ordered-map-out-of-order "$laws" it_does_what_a_map network/farm.rs \
    's/hand_out\.jobs\.push_back\(job\);/let mut job = job;\n if let Some(before) = hand_out.jobs.back_mut() { mem::swap(\&mut before.1, \&mut job.1); }\n hand_out.jobs.push_back(job);/'
mutation ordered-map-without-a-window "$laws" no_more_than_n_at_once network/farm.rs \
    's/capacity: u32::try_from\(plan\.window\)\.unwrap_or\(u32::MAX\)/capacity: 500/'
mutation ordered-map-one-helper-more "$laws" no_more_than_n_at_once network/farm.rs \
    's/hand_out\.helpers < self\.plan\.n;/hand_out.helpers <= self.plan.n;/'
mutation ordered-map-failure-left-out "$laws" a_failure_is_told_after network/farm.rs \
    's/Made::Failed\(error\) => \{/Made::Failed(_) if number > 3 => {}\n Made::Failed(error) => {/'
mutation ordered-map-blames-the-next "$laws" a_failure_is_told_after network/farm.rs \
    's/AtMessage \{ channel: items, number \}/AtMessage { channel: items, number: number + 1 }/'
mutation ordered-map-goes-on "$laws" a_stop_ends_it network/farm.rs \
    's/rest\(gives_way\)\.await;/let _ = (gives_way, rest);/'
mutation ordered-map-unread-goes-on "$laws" a_reader_that_leaves_ends_it_within network/farm.rs \
    's/let has_reader = .*?;/let has_reader = true;/'
mutation ordered-map-weighs-nothing "$laws" what_is_in_flight_counts network/farm.rs \
    's/Ticket::new\(weigher\.bytes\(&item\)\)/Ticket::new(0 * weigher.bytes(\&item))/'

# --- recording and replay -----------------------------------------------------------------------

package=kahn-observe
replay='--test replay'
record='--test record'
without_mutation '' -p kahn-observe --test replay
without_mutation '' -p kahn-observe --test record

mutation written-where-it-was-read '--lib' stands_behind_what_is_there record/write.rs \
    's/file\.seek\(SeekFrom::Start\(self\.end\)\)\?;//'
mutation recorded-processes-are-run "$replay" a_failure_that_data_decides ../../kahn/src/network/core.rs \
    's/(\(plan\.is_joined \|\| !seen\.has\(End::Receiver\)\)) && self\.is_done_again\(&plan, &seen, by\)/$1 \&\& false/'
mutation stood-in-for-and-kept "$replay" what_stands_in_for ../../kahn/src/channel/untyped.rs \
    's/drop\(ports\);/std::mem::forget(ports);/'
mutation slot-is-free-before-it-is-empty "$replay" drops_each_message_before ../../kahn/src/channel/untyped.rs \
    's/\(credit == 0\)\.then\(\|\| (PublishTaken \{ channel, worker \})\)/(credit == 0).then_some($1)/'
mutation a-failure-ends-parties "$replay" random_networks ../../kahn/src/channel/slow_path.rs \
    's/flag::FAILED\) && is_ended_by_it/flag::FAILED) \&\& (is_ended_by_it || true)/'
mutation a-close-does-not-take-effect "$replay" a_close_that_took_effect ../../kahn/src/network/replay.rs \
    's/flush\(task\)\.await;/let _ = flush;/'
mutation the-end-is-seen-before-what-was-sent "$replay" a_failed_end_is_seen_again ../../kahn/src/channel/slow_path.rs \
    's/Kahn::flush\(worker\);(\s*\}\s*channel\.tell_of_act)/$1/'
mutation what-is-discarded-is-not-told "$replay" whether_its_reader_has_left ../../kahn/src/channel/observer.rs \
    's/&& closing::goes_on\(sender\)/\&\& !closing::goes_on(sender)/'
mutation messages-are-not-compared "$replay" the_first_message_that_differs record/replay.rs \
    's/is_some_and\(\|known\| \*known != digest\)/is_some_and(|_| false)/'
mutation sums-are-not-compared "$replay" what_no_recorded_process_has record/replay.rs \
    's/\*digest != carried\.digest\(\)/*digest > u64::MAX - 1/'
mutation any-network-will-do "$replay" another_network_is_refused record/replay.rs \
    's/match here\.difference\(&self\.header\.network\) \{/match None::<String>.filter(|_| graph.processes.is_empty()) {/'
mutation any-input-will-do "$replay" another_input_is_refused record/content.rs \
    's/\(is != self\.sha256\)\.then/false.then/'
mutation anything-is-recorded "$replay" what_cannot_be_replayed record/recorder.rs \
    's/self\.with_messages && !problems\.is_empty\(\)/self.with_messages \&\& problems.len() > 100/'
# Whether a file is on the disk before that is told shows after a power failure alone: a unit test of `whole.rs` looks at the
# order of what the system is asked.
mutation what-is-left-is-not-cut "$replay" resume::every_beginning ../../kahn/src/network/process/file/whole.rs \
    's/self\.file\.set_len\(bytes\)\.and_then/self.file.sync_all().and_then/'
mutation one-message-too-many-is-left-out "$replay" resume::every_beginning ../../kahn/src/network/process/file/write.rs \
    's/received <= begin\.messages \{/received <= begin.messages + begin.messages.min(1) {/'
mutation one-message-is-written-twice "$replay" resume::every_beginning ../../kahn/src/network/process/file/write.rs \
    's/received <= begin\.messages \{/received < begin.messages {/'
mutation what-is-left-is-not-compared "$replay" resume::only_a_file_of_its_own record/resume.rs \
    's/is_whole && summed\.sha256\(\) == self\.sha256/is_whole/'
mutation any-name-will-do "$replay" resume::a_name_that_is_none ../../kahn/src/network/process/file/whole.rs \
    's/if !is_name_beside\(target, name\) \{/if name.is_empty() \&\& !is_name_beside(target, name) {/'
mutation other-names-are-not-looked-at "$replay" resume::only_a_file_of_its_own ../../kahn/src/network/process/file/whole.rs \
    's/\(before\.dev\(\), before\.ino\(\), 1\) == \(opened\.dev\(\), opened\.ino\(\), opened\.nlink\(\)\)/(before.dev(), before.ino()) == (opened.dev(), opened.ino())/'
mutation acts-are-recorded-twice '--lib' what_is_known_is_no_news record/known.rs \
    's/\(before >= number\(&known\.sends, channel\)\)\.then_some\(act\)/Some(act)/'
mutation what-parts-is-kept "$replay" resume::a_source_that_sends record/resume.rs \
    's/ends\.end\(\|\| "this is not the run that was recorded"\.to_owned\(\)\);/let _ = \&ends;/'
mutation recordings-of-all-go-on "$replay" resume::a_recording_that_others record/resume.rs \
    's/ \|\| facts\.mode\(\) & 0o077 != 0//'
mutation two-runs-write-a-recording "$replay" resume::a_recording_that_others record/resume.rs \
    's/lock\(&file\)\?;/let _ = lock;/'
mutation checksums-are-not-looked-at "$record" a_changed_byte_ends record/read.rs \
    's/if checksum\(\[a, b, c, d\], &self\.content\) != u32::from_le_bytes\(sum\) \{/if checksum([a, b, c, d], \&self.content) != u32::from_le_bytes(sum) \&\& bytes > MOST {/'
mutation a-cut-record-is-read "$record" a_cut_file_is_read record/read.rs \
    's/if got < bytes \{/if got < bytes \&\& bytes > MOST {/; s/if checksum\(\[a, b, c, d\], &self\.content\) != u32::from_le_bytes\(sum\) \{/if bytes > MOST {/'

package=kgz
recording='--test recording'
without_mutation '' -p kgz --test recording
without_mutation '' -p kgz --test damage

mutation what-does-not-compress-has-no-room '--test bytes' what_does_not_compress pack.rs \
    's/\.or_else\(\|\| deflate\(0, plain, &\[\], packed\)\)//'
mutation another-run-is-not-told "$recording" another_run command/recording.rs \
    's/replay\.difference\(\)/replay.difference().filter(|what| what.is_empty())/'
mutation any-arguments-are-done-again "$recording" another_run command/recording.rs \
    's/_ => return Err\(wrong\("they name several files"\)\),/_ => Path::new(work::STANDARD),/'
mutation threads-are-not-recorded "$recording" a_file_that_is_cut_off command/recording.rs \
    's/format!\("--processes=\{\}", arguments\.parts\(\)\)/"--processes=1".to_owned()/'
mutation bundles-stay "$recording" a_bundle_stays command/recording.rs \
    's/let Some\(failure\) = failure else \{ return true \};/let failure = failure.unwrap_or_default();/'
mutation report-not-kept "$recording" a_bundle_of_a_file command/recording.rs \
    's/let _ = self\.0\.set\(report\.clone\(\)\);/let _ = report;/'
mutation index-of-what-is-recorded "$recording" a_file_is_done_again command/work.rs \
    's/let index = if arguments\.kept\.is_some\(\) \{/let index = if false {/'
mutation what-cannot-be-kept-is-told-first "--test damage" damage_is_told_although network/write.rs \
    's/let _ = output\.flush\(\);\s*return Ok\(\(\)\);//'
mutation right-and-not-written "--test damage" a_reader_or_writer_that_fails network/write.rs \
    's/Some\(Ok\(\(\)\)\) => verdict\.recv\(\)\.await,\s*Some\(Err\(error\)\) => Some\(Err\(error\)\),/Some(_) => verdict.recv().await,/'
mutation memory-comes-back-without-weight --lib what_is_written_is_read network/written.rs \
    's/self\.weight\.to_le_bytes\(\)/0_u64.to_le_bytes()/'
package=kahn
mutation one-observer-is-told "$laws" of_several_observers ../../kahn-report/src/both.rs \
    's/self\.0\.iter\(\)\.filter\(\|one\| wants\(one\.wants\)\)/self.0.iter().take(1).filter(|one| wants(one.wants))/'

# --- ranks --------------------------------------------------------------------------------------

package=kahn-net
without_mutation '' -p kahn-net --test laws
without_mutation '' -p kahn-net --test endings
without_mutation '' -p kahn-net --test random
without_mutation '' -p kahn-net --test chase
without_mutation '' -p kahn-net --test held
without_mutation '' -p kahn-net --lib
without_mutation '' -p kahn-net --test alike
without_mutation '' -p kahn-net --test waits
without_mutation '' -p kahn-net --test loops
without_mutation '' -p kahn-net --test driven

mutation what-is-sent-waits-for-a-turn '--test driven' what_is_sent_goes ../../kahn/src/network/cut.rs \
    's/worker\.drive_soon\(\);/let _ = worker;/'
mutation no-turn-in-passing '--test driven' turns_its_driver_in_passing ../../kahn-engine/src/worker/pick.rs \
    's/if self\.drives \{/if self.drives \&\& step == u64::MAX {/'
mutation one-that-computes-holds-up-all '--test driven' the_others_go_on ../../kahn-engine/src/sleep/shared_loop.rs \
    's/Duration::from_millis\(50\)/Duration::from_secs(3600)/'
mutation one-of-many-drives '--test driven' that_is_not_the_only_one ../../kahn-engine/src/run/plan.rs \
    's/self\.driver = driver\.filter\(\|_\| is_alone\);/self.driver = driver.filter(|_| is_alone || self.threads.workers() > 1);/'
mutation what-turns-is-a-worker '--test driven' what_is_sent_goes ../../kahn-engine/src/worker/mod.rs \
    's/Installed \{ before: NOTHING\.replace\(\) \}/Installed { before: { let before = NOTHING.replace(); Running { ..before }.replace(); before } }/'
mutation panics-of-the-worker "--test driven" a_transport_that_panics ../../kahn-engine/src/sleep/shared_loop.rs \
    's/catch_unwind\(AssertUnwindSafe\(\|\| (with\(&mut event_loop\))\)\)/Ok::<bool, Box<dyn Any + Send>>($1)/'
mutation ranks-take-all-cores '--test laws' share_its_cores within.rs 's/\.cores_shared_by\(ranks\)//'
mutation a-ring-dies-one-by-one '--test laws' a_deadlock_across_ranks ../../kahn/src/network/local.rs \
    's/note_dead\(edge\.task\);/let _ = edge;/'
mutation a-frame-is-not-waited-for --lib while_a_frame_is_under_way coordinator.rs \
    's/!told\.iter\(\)\.all\(rests\) \|\| sent != received/!told.iter().all(rests) || sent < received/'
mutation what-death-frees-is-not-told '--test random' that_came_to_rest_again_within_a_look ../../kahn/src/network/local.rs \
    's/is_freed \|\| is_pruned/{ let _ = is_freed; is_pruned }/'
mutation readers-of-links-see '--test endings' a_failure_behind_the_last_message ../../kahn/src/network/merged.rs \
    's/let was_seen = reader\.was_seen;/let was_seen = writer.was_seen || reader.was_seen;/'
mutation pruned-before-it-runs-and-untold '--test random' on_ranks_what_the_model ../../kahn/src/network/cut.rs \
    's/(channel: number,\s*)is_over: false/$1is_over: true/; s/(let channel = departure\.channel;)/$1\n    departure.is_over = false;/'
mutation failures-have-the-names-of-links '--test endings' a_failure_is_told_by_the_name ../../kahn/src/network/merged.rs \
    's/\*process = name\.clone\(\);/let _ = (\&process, name);/'
mutation any-message-is-the-next '--lib' is_refused_before_it_is_kept way.rs \
    's/if number != arrived \|\| self\.end\.is_some\(\) \{/if self.end.is_some() {/'
mutation as-many-as-are-sent '--lib' is_refused_before_it_is_kept way.rs \
    's/if count > most - arrived \{/if number >= most {/'
mutation the-last-that-fits-does-not-ask '--lib' all_comes_and_little way.rs \
    's/let asks = self\.room\(\) == 0 \|\| is_half/let asks = is_half/'
mutation only-the-last-that-fits-asks '--lib' small_messages_go_by way.rs \
    's/self\.room\(\) == 0 \|\| is_half && self\.asked <= self\.told/self.room() == 0/'
mutation few-small-messages-are-under-way '--lib' small_messages_go_by way.rs \
    's/self\.capacity >= USUAL && self\.bytes_under_way < BYTES/false/'
mutation what-is-taken-is-under-way '--lib' after_large_messages way.rs \
    's/self\.bytes_under_way -= bytes;/let _ = bytes;/'
mutation told-of-what-was-not-sent '--lib' what_was_not_sent way.rs \
    's/taken <= self\.told \|\| taken > self\.sent/taken <= self.told/'
mutation what-is-left-of-a-batch '--lib' is_refused_before_it_is_kept ../../kahn-report/src/batch.rs \
    's/if !rest\.is_empty\(\) \|\| count != messages/if count != messages/'
mutation messages-go-one-by-one '--test held' what_is_in_a_channel ../../kahn/src/channel/untyped.rs \
    's/let mut left = most\.max\(1\);/let mut left = most.min(1);/'
mutation more-go-than-there-is-room-for '--test held' what_is_in_a_channel ../../kahn/src/channel/untyped.rs \
    's/let mut left = most\.max\(1\);/let mut left = u64::MAX - most.min(1);/'
mutation messages-come-one-by-one '--test held' what_comes_together ../../kahn/src/channel/untyped.rs \
    's/while channel\.sender\.credit\.get\(\) > 0/if channel.sender.credit.get() > 0/'
mutation weights-are-forgotten --lib groups_are_shared_out_by_their_weights placement/mod.rs \
    's/weight\(&self\.weights\.processes, &process\.name\)\.unwrap_or\(1\)/1/'
mutation any-file-will-do '--test alike' a_rank_that_has_another_file alike.rs \
    's/position\(\|\(own, there\)\| own != there\)/position(|(own, there)| own.len() != there.len())/'
mutation all-files-are-read --lib nobody_reads alike.rs \
    's/\.all\(\|\(own, other\)\| own\.is_same\(other\)\)/.all(|(own, other)| own.is_same(other) \&\& own.bytes == 0)/'
mutation what-was-written-is-as-the-file --lib what_is_mapped_and_was_not_written files.rs \
    's/!own\.into_iter\(\)\.all\(is_none\)/own.into_iter().any(is_none) \&\& rights.is_empty()/'
mutation ranks-begin-at-once '--test alike' nothing_runs_on_a_rank_that_has_another_file links.rs \
    's/self\.gate\.pass\(\);/self.gate.open();/'
mutation contents-are-not-compared '--test alike' runs_are_compared_by ../../kahn-report/src/ranks.rs \
    's/position\(\|\(own, other\)\| own != other\)/position(|_| false)/'
mutation histories-of-senders '--test alike' runs_are_compared_by ../../kahn/src/network/part.rs \
    's/cut\.ranks\[to\] == cut\.rank/cut.ranks[to] != cut.rank/'
mutation a-party-outlives-what-it-borrows '--test alike' is_not_given_to_a_party ../../kahn/src/channel/wire.rs \
    's/is_short: F::IS_SHORT/is_short: false/'
mutation what-the-program-says-of-ranks --lib what_the_program_says_counts placement/mod.rs \
    's/filter\(\|\(_, rank\)\| \*rank < ranks\)/filter(|_| false)/'
mutation blocks-of-one-kind --lib groups_are_dealt_out placement/mod.rs \
    's/ && groups::are_shared\(kinds, ranks\)/ \&\& kinds.count() <= usize::MAX/'
mutation bytes-are-not-counted '--test alike' what_goes_from_rank_to_rank way.rs \
    's/self\.bytes \+= bytes;/self.bytes += messages;/'
mutation late-answers-count --lib what_is_told_under_another_number waits.rs \
    's/question\.number == number/question.number >= number/'
mutation on-its-way-is-not-sent '--test waits' no_ring_is_told ../../kahn/src/network/waits.rs \
    's/peer\.messages < one\.number/peer.messages < u64::MAX - one.number/'
mutation what-cannot-be-read-is-waited-for '--test laws' a_byte_that_is_another rank.rs \
    's/self\.all_told\[from\] = Heard::Unreadable\(refusal\);/let _ = Heard::Unreadable(refusal);/'
mutation what-cannot-be-read-is-not-missed '--test laws' a_byte_that_is_another rank.rs \
    's/Some\(How::Refused \{ rank: self\.rank, refusal: refusal\.clone\(\) \}\)/{ let _ = refusal; None }/'
mutation no-ring-grows-across-ranks '--test laws' a_ring_that_must_grow coordinator.rs \
    's/Some\(\(_, at\)\) => found\.grow\.push\(at\)/Some((_, at)) => drop(at)/'
mutation a-chase-without-counts --lib a_ring_that_is_freed_is_one chase.rs \
    's/\(chain\.to_count == next\.from_count\)\.then_some\(next\.from\)/Some(next.from)/'
mutation a-chase-that-looks-once --lib a_ring_that_is_freed_is_one chase.rs \
    's/stood\.contains\(&\(\*rank, chain\.number\)\)/(stood.contains(\&(*rank, chain.number)) || true)/'
mutation a-chase-that-does-not-wait-for-all --lib no_ring_that_is_freed_is_none chase.rs \
    's/let is_last = asked\.is_empty\(\);/let is_last = true;/'
mutation room-that-was-granted-may-be-left --lib a_ring_that_is_freed_is_one chase.rs \
    's/is_full\.then_some\(told\)/Some(told)/'
mutation what-is-held-is-pruned '--test held' what_is_held_is_not ../../kahn/src/deadlock/prune.rs \
    's/!held\.contains\(&marked\.task\) && marked/(held.len() < usize::MAX) \&\& marked/'
mutation no-ring-grows-while-others-run '--test chase' a_ring_that_must_grow rank.rs \
    's/is_done &= local\.grow_on\(&seen\.chain\);/is_done \&= seen.from_count < u64::MAX;/'
mutation no-ring-dies-while-others-run '--test chase' what_sends_to_processes rank.rs \
    's/local\.is_dead_on\(&seen\.chain\);/let _ = seen;/'
mutation roots-asked-once --lib all_prune_only_when roots.rs \
    's/self\.phase = Phase::Asking \{ answers: vec!\[None; self\.has_told\.len\(\)\] \};/self.phase = Phase::Gone;/'
mutation a-root-since-it-told '--test loops' goes_on_while_one_that_sends_no_more ../../kahn/src/deadlock/prune.rs \
    's/if roots\.are_none\(\) && roots\.are_more\(\) \{/if roots.are_more() \&\& !roots.are_none() {/'
mutation links-are-roots '--test loops' ends_when_nothing_reads_it ../../kahn/src/channel/process.rs \
    's/\(attribute::HELPER \| attribute::LINK\)/attribute::HELPER/'
mutation the-dead-of-ranks-see-on '--test loops' reads_it_waits_for_ever ../../kahn/src/network/local.rs \
    's/note_dead\((\w+)\.task\);/$1.task.marks.fetch_or(crate::channel::language::mark::DEAD, AcqRel);/g'
mutation pruned-ends-go-to-ranks '--test loops' is_no_end_on_another ../../kahn/src/network/cut.rs \
    's/if !end\.is_unobserved\(\) \{/if !end.is_unobserved() || room < u64::MAX {/'
mutation runs-mix --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/Some\(if run > self\.run \{/Some(if run == u64::MAX {/'
mutation the-next-run-begins-at-once --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/is_sent && self\.messages\.is_passed\(barrier\)/{ let _ = (\&barrier, is_sent); true }/'
mutation the-barrier-does-not-wait-for-what-is-known --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/pair\.out\.is_empty\(\) && pair\.window\.is_all_known\(\)/pair.out.len() < usize::MAX/'
mutation what-is-kept-outlives-its-run --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/self\.early\.clear\(\);/let _ = \&self.early;/'
mutation receipts-of-nothing --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/self\.sizes\.window\.div_ceil\(2\)/self.sizes.window \/ 2/'
mutation parcels-go-without-a-window --lib a_rank_receives_in_each_run parcels/mod.rs \
    's/while pair\.window\.is_open\(\)\s+&& let/while let/'
without_mutation '' -p kahn-net --test timed
mutation a-window-without-end '--test timed' no_more_than_a_window window.rs \
    's/self\.sent - self\.known < self\.most/self.sent + self.most > self.known/'
mutation parcels-are-not-told-of --lib no_more_than_a_window window.rs \
    's/self\.received - self\.told >= not_told/self.received - self.told > u64::MAX - not_told/'
mutation ranks-run-at-once '--test timed' a_run_takes_the_same_time timed/carrier.rs \
    's/if !self\.is_at_rest\(\) \|\| self\.turns\.has_rung\(self\.rank\)/if self.turns.has_rung(self.rank) \&\& self.out.is_empty()/; s/if self\.is_at_rest\(\) \{\s*return;/if self.is_at_rest() || !self.out.is_empty() || true {\n return;/'
mutation processes-compute-at-once '--test timed' processes_of_a_rank timed/turns.rs \
    's/one\.core = one\.core\.max\(clock\) \+ nanoseconds\(time\);/one.core = clock + nanoseconds(time);/'
mutation bytes-come-at-once '--test timed' so_many_bytes_a_second timed/turns.rs \
    's/one\.way_in\.max\(at\.saturating_sub\(enters\)\) \+ enters/one.way_in.min(at).max(at.saturating_sub(enters)).min(at)/'
mutation a-rank-is-asked-twice '--test timed' whether_all_rest_is_asked coordinator.rs \
    's/self\.to_all\(&Frame::Ask \{ round: self\.round \}\)/[self.to_all(\&Frame::Ask { round: self.round }), self.to_all(\&Frame::Ask { round: self.round })].concat()/'
mutation a-clock-is-that-of-the-question --lib times_are_as_exact watch.rs \
    's/i128::midpoint\(self\.asked\.into\(\), self\.answered\.into\(\)\)/i128::from(self.asked)/'
mutation clocks-do-not-drift --lib an_even_drift watch.rs \
    's/let drift = last\.ahead\(\) - first\.ahead\(\);/let drift = 0;/'
package=kahn-command
ranks='--test ranks'
without_mutation '' -p kahn-command --test ranks
mutation clocks-of-ranks-are-one "$ranks" no_arrow_points_backwards ../../kahn-net/src/watch.rs \
    's/i128::from\(there\) - first\.ahead\(\) - passed/i128::from(there) - passed/'
mutation links-send-what-passes "$ranks" no_arrow_points_backwards ../../kahn-observe/src/trace/ranks.rs \
    's/What::Received\) && is_cut && is_link\(process\)/What::Received) \&\& is_cut \&\& is_link(process) \&\& ring.lost > 0/'
mutation what-others-have-lost-is-told "$ranks" what_one_rank_has_lost ../../kahn-observe/src/trace/ranks.rs \
    's/lost: ring\.lost,/lost: ring.lost.min(0),/g'
mutation sums-of-ranks-are-not-added "$ranks" what_passes_between_other_ranks ../../kahn-observe/src/record/ranks.rs \
    's/self\.append\(&Entry::Carried \{ channel, messages, digest \}\);/let _ = Entry::Carried { channel, messages, digest };/'
mutation links-are-summed-up "$ranks" what_passes_between_other_ranks ../../kahn-observe/src/record/ranks.rs \
    's/link\.sends \|\| link\.rank == 0/link.rank == 0 \&\& !link.sends/'
mutation other-ranks-are-not-compared "$ranks" a_network_that_sends_something_else \
    ../../kahn-observe/src/record/ranks.rs \
    's/if !self\.elsewhere\.has\(channel\.id\) \{/if self.elsewhere.has(channel.id) {/'
package=kahn-apps
without_mutation '' -p kahn-apps --test on_ranks
mutation results-anywhere '--test on_ranks' every_network_prints ../../kahn/src/network/cut.rs \
    's/attributes & attribute::EFFECTS != 0/attributes == u8::MAX/'
mutation parts-of-the-first-file '--test on_ranks' every_network_prints input.rs \
    's/files\.0\.get\(number\)/files.0.first()/'
package=kahn

# --- files --------------------------------------------------------------------------------------

rims='--test rims'
without_mutation '' -p kahn --test rims

mutation beside-over-what-is-there "$rims" what_stands_where network/process/file/whole.rs \
    's/\.create_new\(true\)/.create(true).truncate(true)/'
mutation beside-is-left "$rims" if_anything_fails network/process/file/whole.rs \
    's/let _ = fs::remove_file\(&beside\.path\);/let _ = beside;/'
mutation link-is-renamed-over "$rims" a_file_keeps_its_mode network/process/file/whole.rs \
    's/found\.is_some_and\(\|found\| !found\.is_file\(\)\)/found.is_some_and(|found| !found.is_file() \&\& !found.is_symlink())/'
mutation mode-is-forgotten "$rims" a_file_keeps_its_mode network/process/file/whole.rs \
    's/file\.set_permissions\(found\.permissions\(\)\)\?;/let _ = (found, file);/; s/options\.mode\(found\.mode\(\) & 0o777\);/let _ = found;/'
mutation renamed-without-fsync '--lib' all_is_on_the_disk network/process/file/whole.rs \
    's/system::sync\(file\)\?;/let _ = file;/'

# --- what is told of failures -------------------------------------------------------------------

mutation last-message-not-noted "$laws" whose_reader_left_with channel/closing.rs \
    's/just_sent: task\.has_just_sent\(channel\.as_ptr\(\)\.cast\(\)\),/just_sent: false,/'
mutation operations-not-noted "$laws" before_it_drops_its_sender channel/process.rs \
    's/(fn note_sent\(&self, channel: \*const \(\)\) \{)/$1\n if channel.is_null() { return; }/'
mutation own-reader-not-seen "$laws" that_is_its_own_reader network/observed.rs \
    's/if sender\.was_kept \{/if sender.was_kept \&\& is_kept.is_empty() {/'
mutation own-receiver-dropped-first "$laws" of_a_process_that_is_its_own channel/closing.rs \
    's/task\.note_kept\(\);//'
mutation last-message-of-an-end "$laws" was_seen_before_a_message channel/closing.rs \
    's/(fn process_ended\(.*?)(close_dropped\(task, worker, failed\);)/$1task.note_sent(ptr::null());\n    $2/s'
mutation handed-on-forgotten "$laws" before_the_receiver_was_handed_on network/observed.rs \
    's/if sender\.was_received_before \{/if sender.was_received_before \&\& is_kept.is_empty() {/'
mutation handed-on-at-any-time "$laws" last_message_was_left_to channel/endings.rs \
    's/handed_on_at == Some\(sent\)/handed_on_at.is_some()/'
mutation pruned-readers-see "$laws" only_a_pruned_process_would_see network/observed.rs \
    's/for Reason \{ writer, sees_end, \.\. \} in mem::take\(&mut observes\[process\]\) \{/for Reason { writer, sees_end, .. } in mem::take(\&mut observes[process]) {\n if sees_end { continue; }/'
mutation flush-prunes-nothing "$laws" ends_where_it_flushes channel/closing.rs \
    's/if is_marked && is_polled_here \{/if is_marked != is_marked \&\& is_polled_here {/'
mutation batch-discards-nothing "$laws" though_its_reader_has_left channel/sending.rs \
    's/let Some\(message\) = this\.next\.take\(\)\.or_else\(\|\| this\.messages\.next\(\)\) else/let Some(message) = this.next.take() else/'
mutation batch-waits-after-its-last "$laws" what_has_sent_all channel/sending.rs \
    's/if least == 0 && this\.next\.is_none\(\) \{/if most == Some(usize::MAX) \&\& this.next.is_none() {/'

# --- options ------------------------------------------------------------------------------------

mutation pin-does-nothing "$laws" a_pinned_worker ../../kahn-engine/src/worker/dispatch.rs \
    's/self\.scheduler\(\)\.settings\(\)\.pin\.then\(/false.then(/'
mutation workers-do-nothing "$laws" workers_without_a_thread ../../kahn-engine/src/run/plan.rs \
    's/schedule\.workers\.unwrap_or_else\(\|\|/Some(cores()).unwrap_or_else(||/'
mutation detection-does-nothing "$laws" without_detection_a_network network/run.rs \
    's/Resolver::new\(options\.detection\)/Resolver::new(Detection::Deferred)/'
mutation capacity-does-nothing "$laws" counters_fit_together channel/capacities.rs \
    's/let wanted = self\.all\.unwrap_or\(own\);/let wanted = own;/'
mutation capacity-bounds-nothing "$laws" an_option_bounds_capacities channel/capacities.rs \
    's/self\.most\.map_or\(wanted, \|most\| wanted\.min\(most\)\)/wanted/'
mutation budget-does-nothing "$laws" the_budget_ends_the_run channel/table.rs \
    's/self\.budget\.store\(budget, Relaxed\);/let _ = budget;/'
mutation quiescence-does-nothing "$laws" where_nothing_more_can_happen network/run.rs \
    's/core\.quiescence\.store\(options\.quiescence, Relaxed\);//'
mutation wait-once-does-nothing "$laws" an_option_has_every_operation ../../kahn-engine/src/run/plan.rs \
    's/wait_once: schedule\.policy\.waits_once\(\) \|\| schedule\.wait_once,/wait_once: schedule.policy.waits_once(),/'
mutation accounting-off-counts "$laws" what_accounting_leaves_out ../../kahn-engine/src/worker/mod.rs \
    's/counts: settings\.accounting != Accounting::Off,/counts: true,/'
mutation timing-does-nothing "$laws" what_accounting_leaves_out ../../kahn-engine/src/worker/mod.rs \
    's/let timing = settings\.accounting == Accounting::Timing \|\| settings\.samples;/let timing = settings.samples;/'

mutation rings-are-not-marked "$laws" a_ring_that_is_stuck deadlock/look.rs \
    's/ \|\| for_ever\.contains\(&id\)//'
mutation rings-of-a-part-alone "$laws" a_ring_that_is_stuck deadlock/look.rs \
    's/all_rings\(&table\.all\(\)\)/all_rings(\&part)/'
mutation later-channels-not-observed "$laws" an_observer_is_told channel/observer.rs \
    's/channel\.observe_for\(observer\.wants\);/let _ = observer;/'
mutation ends-got-later-not-observed "$laws" ends_that_they_get_while channel/closing.rs \
    's/channel\.observe_acts_of\(end, to\);//'
mutation all-ends-are-told-of --lib ends_at_which_nothing_is_wanted channel/observer.rs \
    's/wants\.contents && self\.is_wired\(\)/wants.contents/'
mutation rest-not-observed "$laws" an_observer_is_told channel/observer.rs \
    's/observer\.rests\(process\(&task\), number, slice, rest\);/let _ = (observer, number, slice, rest);/'
mutation wait-not-observed "$laws" an_observer_is_told channel/observer.rs \
    's/Pause::ToPark => rest_at\(waits_at\.as_ref\(\)\)/Pause::ToPark => Rest::Otherwise/'
mutation wake-not-observed "$laws" an_observer_is_told channel/language.rs \
    's/observer::tell_of_waking\(worker, task\);//'
mutation drop-not-observed "$laws" an_observer_is_told ../../kahn-engine/src/worker/dispatch.rs \
    's/L::dropped\(self, task\);//'
mutation blocking-wait-not-observed "$laws" an_observer_is_told ../../kahn-engine/src/worker/blocking.rs \
    's/self\.end_slice\(task, Pause::ToPark\);//'
mutation slices-not-of-the-report "$laws" what_ran_by_the_slices ../../kahn-engine/src/worker/dispatch.rs \
    's/slice\.ran \* self\.stopwatch\.weight\(\)/(slice.ran + 20_000) * self.stopwatch.weight()/'

package=kahn-observe
trace='--test trace'
mutation lost-not-counted "$trace" what_is_lost ../../kahn-report/src/log.rs \
    's/let lost = end - number\.min\(end\) - records\.len\(\) as u64;/let lost = 0;/'
mutation losses-not-cut-off "$trace" what_is_lost trace/weave.rs \
    's/slice\.from\.max\(scale\.complete_from\)/slice.from/'
mutation arrows-begin-twice "$trace" a_trace_tells trace/weave.rs \
    's/self\.flows\.insert\(flow\)\.then\(\|\| \{/self.flows.insert(flow);\n (flow > 0).then(|| {\n self.drawn.push((by, at, flow));/'
mutation parts-are-one "$trace" a_trace_tells trace/names.rs \
    's/\(kind, subject\.id, subject\.part\)/(kind, subject.id, 0)/'
mutation recycled-blocks-not-told-apart --lib is_found_where_it_stood trace/names.rs \
    's/partition_point\(\|&\(since, _\)\| since <= then\)/len()/'
mutation put-aside-not-taken-off --lib put_aside_for_is_taken trace/ring.rs \
    's/saturating_sub\(aside\)/saturating_sub(0 * aside)/'
mutation torn-slices-told --lib put_aside_for_is_taken trace/ring.rs \
    's/&& lost > 0/\&\& lost > u64::MAX - 1/'
mutation rounding-adds-up --lib rounding_does_not trace/weave.rs \
    's/ran: scale\.long\(ran\) - before,/ran: scale.long(slice.ran),/'
mutation shares-as-whole-bars --lib states_shorter_than_a_column trace/picture.rs \
    's/\.max\(1\) \* parts\.max\(1\);/.max(1).min(1) * parts.max(1);/'
mutation short-runs-not-drawn --lib states_shorter_than_a_column trace/picture.rs \
    's/if column\[RUNS\] > 0 \{/if column[RUNS] > u64::MAX - 1 {/'
mutation more-frequent-waits-not-told --lib happens_much_more_often trace/difference.rs \
    's/after\.count > \(2 \* before\.count\)/after.count > 1 << 40 | (2 * before.count)/'
mutation gaps-not-told "$trace" what_cannot_be_written_in_time trace/stream/weaver.rs \
    's/if round\.of_rings\.iter\(\)\.any\(\|ring\| ring\.lost > 0\)/if round.of_rings.is_empty()/'
mutation a-gap-is-of-its-round --lib what_is_read_behind_a_gap trace/stream/weaver.rs \
    's/\(self\.last, self\.resumed\) = \(until, until\);/self.last = until;/'
mutation slices-told-before-their-causes "$trace" what_is_written_meanwhile trace/stream/weaver.rs \
    's/part\.ripe = over\.map\(\|slice\| slice\.from \+ 1\)\.max\(\)\.unwrap_or\(0\);/drop(over);\n part.ripe = u64::MAX;\n part.woken.clear();/'
mutation messages-sent-twice "$trace" each_message_has_an_arrow trace/stream/weaver.rs \
    's/let first = channel\.sent\.map_or\(event\.number, \|\(first, _\)\| first\);/let first = 0;/; s/channel\.sends\.push_back\(\(end, at\)\);\s*event\.number\.\.end/channel.sends.push_back((end, at));\n first..end/'
mutation arrows-of-wakes-beside-messages "$trace" each_message_has_an_arrow trace/weave.rs \
    's/&& \(salt != 0 \|\| wants != Wanted::Message \|\| !arrows\.draws\.has\(channel\)\)//'
mutation cut-files-not-read "$trace" cut_off_by_a_kill trace/perfetto/read.rs \
    's/Ok\(None\) \| Err\(_\) if reader\.is_stream => break,/Ok(None) | Err(_) if reader.is_stream \&\& reader.has_end => break,/'
mutation idle-not-told "$trace" a_trace_tells trace/weave.rs \
    's/if told\.start > at \{/if told.start > at + (1 << 40) {/'
replay='--test replay'
mutation receives-of-the-held-not-counted "$replay" until::what_is_there ../../kahn/src/channel/hold.rs \
    's/received\.store\(received\.load\(Relaxed\) \+ 1, Relaxed\);//'
mutation the-held-is-granted-more "$replay" until::what_is_there ../../kahn/src/channel/slow_path.rs \
    's/\(own::WAIT_ONCE \| own::HOLDS\)/own::WAIT_ONCE/'
mutation the-held-is-untold "$replay" until::what_is_there ../../kahn/src/deadlock/explain.rs \
    's/channel\.table\(\)\.held_at\(channel\)\.is_some\(\)/false/'
mutation partners-not-told "--test trace" communicating ../../kahn-csp/src/run/hooks.rs \
    's/Pause::ToPark => Place::logged\(task, \|channel\| unsafe \{ Rendezvous::met_at\(channel\) \}\),//'
mutation partners-waits-not-ended "--test trace" communicating trace/weave.rs \
    's/wants == Wanted::Partner \{/wants == Wanted::Partner {\n wakes.clear();/'
mutation meetings-are-outside "--test sample" shares_of_an_snet ../../kahn-snet/src/runtime/network/seen.rs \
    's/\*doing = Doing::WaitsForMessage;//'
mutation phases-are-not-marked "$trace" a_job_is_traced ../../kahn-mapreduce/src/reduce.rs \
    's/mark\("reduces", count\);//'
mutation replicas-have-no-names "$trace" components_are_traced ../../kahn-snet/src/runtime/network/wiring.rs \
    's/if !self\.world\.is_seen \{/if !self.world.is_seen || true {/'
mutation waits-until-the-next-slice "$trace" waits_are_told trace/weave.rs \
    's/let ready = wake\.map_or\(until, \|\(at, _\)\| at\.clamp\(slice\.until, until\)\);/let ready = until;/'
package=kahn-live
mutation served-after-the-run --lib served_by_its_options options.rs \
    's/self\.server\.lock\(\)\.take\(\);//'
mutation hosts-are-not-looked-at --lib a_host_that_is_not_ours page/door.rs \
    's/let is_ours = [^;]*;/let is_ours = host.is_some();/'
mutation any-token-is-right --lib with_a_token_nothing page/door.rs \
    's/bool::from\(given\.as_bytes\(\)\.ct_eq\(token\.as_bytes\(\)\)\)/!given.is_empty()/'
mutation labels-are-not-escaped --lib with_escaped_labels page/metrics.rs \
    's/c => text\.push\(c\),/_ => text.push(c),/; s/\x27"\x27 => text\.push_str[^,]*,//'
mutation metrics-are-of-no-rank --lib with_escaped_labels page/metrics.rs \
    's/\.chain\(rank\.map\(/.chain(None::<usize>.map(/'
mutation limits-are-of-no-rank --lib told_with_its_rank limit.rs \
    's/\.map_or\("…"\.into\(\), ProcessView::called\)/.map_or("…".into(), |process| process.name.as_str().into())/'
mutation what-is-stuck-is-told-last --lib told_by_what_limits_them limit.rs \
    's/Reverse\((\w)\.stuck\)/$1.stuck/g'
mutation streams-are-not-counted --lib sixteen_streams page/routes.rs \
    's/\.try_acquire_owned\(\)/.try_acquire_many_owned(0)/'
mutation a-stream-waits-for-ever --lib a_stream_that_takes_nothing page/routes.rs \
    's/Some\(self\.patience\)/None/'
mutation what-cannot-be-served-runs --lib a_run_that_cannot_be_served ../../kahn/src/network/run.rs \
    's/(observer\s*\.begins\(.*?)\.map_err\(RunError::Refused\)\?;/$1.ok();/s'
package=kahn

# --- counters and columns -----------------------------------------------------------------------

mutation spins-not-counted "$laws" a_worker_that_finds_nothing ../../kahn-engine/src/worker/idle.rs \
    's/spins\.store\(spins\.load\(Relaxed\) \+ 1, Relaxed\);//'
mutation sleeps-not-counted "$laws" a_worker_that_finds_nothing ../../kahn-engine/src/worker/idle.rs \
    's/times\.sleeps\.store\(times\.sleeps\.load\(Relaxed\) \+ 1, Relaxed\);//'
mutation idle-not-measured "$laws" a_worker_that_finds_nothing ../../kahn-engine/src/worker/idle.rs \
    's/times\.idle\.store\(.*?Relaxed\);//'
mutation steals-not-counted "$laws" what_is_stolen_is_counted ../../kahn-policies/src/queues.rs \
    's/own\.steals\.win\(\);//'
mutation tries-not-counted "$laws" counters_fit_together ../../kahn-policies/src/queues.rs \
    's/own\.steals\.try_one\(\);//'
mutation growths-not-counted "$laws" counted_where_a_ring_had_to_be_found channel/counts.rs \
    's/growths: self\.growths\(\)\.load\(Relaxed\),/growths: 0,/'
mutation others-not-told "$laws" a_hundred_thousand_short network/summary.rs \
    's/more_channels: \(folded_channels\.0 > 0\)/more_channels: (folded_channels.0 == u64::MAX)/'
mutation most-bytes-not-kept '--test memory' a_network_of_heavy channel/table.rs \
    's/if used > self\.most_used\.load\(Relaxed\) \{/if used == u64::MAX {/'
mutation no-time-passes "$laws" times_are_told ../../kahn-engine/src/run/outline.rs \
    's/seconds: elapsed\.seconds\(\),/seconds: 0.0 * elapsed.seconds(),/'
mutation walks-not-counted "$laws" walks_in_search_of_rings network/run.rs \
    's/walks: core\.resolver\.get\(\)\.map_or\(0, Resolver::walks\),/walks: 0,/'
mutation remote-not-counted "$laws" messages_that_change_workers network/summary.rs \
    's/remote: counts\.remote,/remote: 0,/'
mutation waits-at-the-other-end "$laws" waits_are_counted_at channel/language.rs \
    's/waits_empty => state\.waits_empty/waits_empty => state.waits_full/'
mutation migrations-not-counted "$laws" counters_fit_together ../../kahn-engine/src/worker/dispatch.rs \
    's/Task::count\(&task\.migrations\);//'
mutation polls-off-by-one "$laws" counters_fit_together ../../kahn-engine/src/task/mod.rs \
    's/task\.polls\.store\(0, Relaxed\)/task.polls.store(1, Relaxed)/; s/polls: PlainAtomicU64::new\(0\)/polls: PlainAtomicU64::new(1)/'
mutation polls-not-counted "$laws" waits_are_counted_at ../../kahn-engine/src/worker/dispatch.rs \
    's/task\.polls\.store\(task\.polls\.load\(Relaxed\) \+ 1, Relaxed\);//'
mutation waits-in-the-wrong-column "$laws" each_column_of ../../kahn-report/src/report/counters/mod.rs \
    's/"empty", Language/"full-", Language/; s/"full", Language/"empty", Language/; s/"full-"/"full"/'
mutation sleeps-in-the-wrong-column "$laws" each_column_of ../../kahn-report/src/report/counters/mod.rs \
    's/"spins";/"sleeps-";/; s/"sleeps";/"spins";/; s/"sleeps-"/"sleeps"/'
mutation unknown-times-are-zero "$laws" not_measured_are_unknown ../../kahn-engine/src/task/extension.rs \
    's/timed\.then\(\|\| self\.busy\(\)\)/Some(self.busy())/'
mutation held-threads-are-heavy "$laws" whose_thread_does_not_run ../../kahn-engine/src/worker/stopwatch.rs \
    's/ran = ran\.saturating_sub\(self\.end_period\(until\)\);/let _ = self.end_period(until);\n ran += 0;/'

# --- endings ------------------------------------------------------------------------------------

mutation waits-and-is-not-pruned "$laws" waits_for_ever_is_pruned channel/prune.rs \
    's/language::of\(task\)\.to_prune\.note\(task\);//'
mutation loops-run-on "$laws" a_loop_that_runs_for_ever channel/prune.rs \
    's/to_prune\.roots\.are_gone\.store\(true, Release\);//'
mutation circles-are-reasons "$laws" in_a_ring_that_runs_for_itself network/observed.rs \
    's/let is_founded = founded\(is_root, &may_be_pruned, &observes\);/let _ = founded(is_root, \&may_be_pruned, \&observes);\n            let is_founded = vec![true; count];/'
mutation what-was-received-founds "$laws" only_one_that_may_be_pruned_sees_its_end network/observed.rs \
    's/founds: sender\.was_seen/founds: true/'
mutation created-are-no-roots "$laws" what_was_created_while_it_runs channel/process.rs \
    's/ \|\| !was_there\(identity, attributes\)//'
mutation rings-that-lead-nowhere-are-pruned "$laws" a_ring_that_leads_nowhere graph/loops.rs \
    's/found == vertices/found > 0/'
mutation the-dead-see-on "$laws" could_see_it_wait_for_ever deadlock/mod.rs \
    's/note_over\(task\);//'
mutation without-senders-is-no-root "$laws" a_process_without_senders_reads channel/prune.rs \
    's/task\.marks\.fetch_or\(mark::SENDS_NO_MORE, Release\);//'
mutation waits-that-nothing-sees-are-told "$laws" told_as_pruned_though network/summary.rs \
    's/verdict\.cuts_short\(\) \|\| !prunes_loops \|\| /true || /'
mutation waiting-for-the-dead-told "$laws" told_as_pruned_though network/observed.rs \
    's/if self\.is_told_as_pruned\[process\] && !is_cut_short \{/if self.is_told_as_pruned[process] \&\& self.records[process].ending.is_some() \&\& !is_cut_short {/'
mutation dead-through-itself "$laws" whose_reader_waits_for_it network/left.rs \
    's/!self\.is_dead_without\(\*reader, \*writer\)/self.readers.is_empty()/'
mutation marks-need-no-reader "$laws" whose_mark_nobody_reaches network/observed.rs \
    's/self\.marks\[process\]\.is_none\(\)\s*\|\| self\.is_kept\[process\]\s*\|\| !with\.is_empty\(\)/true/'
mutation messages-weigh-nothing '--test memory' what_messages_own channel/weight.rs \
    's/scales\.total\.store\(scales.*?Relaxed\);/let _ = weight;/s'
mutation central-forgets-waits "$laws" frees_a_stuck_part deadlock/mod.rs \
    's/state\.waits\.insert\(task, edge\);/let _ = edge;/'
package=kahn-csp mutation woken-is-not-seen "$csp" what_was_woken_is_ready wait/place.rs \
    's/if kind >= CLAIM \{/if kind > BUCKET {/'
package=kahn-csp mutation phases-are-not-seen "$csp" what_was_woken_is_ready run/look.rs \
    's/phase == Some\(awaited\)/phase.is_some() \&\& awaited <= u32::MAX/'
package=kahn-csp mutation woken-behind-a-full-queue-lost "$csp" keeps_apart_go_on_from_a_barrier ../../kahn-engine/src/queue/lane.rs \
    's/for &task in &ready\[queued\.\.\] \{/for \&task in \&ready[ready.len().max(queued)..] {/'
package=kahn-csp mutation waits-and-is-missing "$csp" keeps_apart_go_on_from_a_barrier sharing/phases.rs \
    's/if is_entered \{ flags - ONE \} else \{ flags \}/{ let _ = is_entered; flags }/'
package=kahn-csp mutation no-turns "$csp" pinned_processes_and_others ../../kahn-engine/src/queue/places.rs \
    's/own\.turn\.fetch_add\(1, Relaxed\) % 2/own.turn.load(Relaxed) % 2/'

mutation served-by-any-wake-up "$laws" walks_in_search_of_rings channel/process.rs \
    's/(fn is_served.*?)== channel\.served_at\(end\)/$1 != channel.served_at(end)/s'
mutation unsent-and-not-dropped "$laws" every_message_is_dropped channel/sending.rs \
    's/unsafe \{ self\.message\.assume_init_drop\(\) \};/let _ = \&self.message;/'
mutation sent-and-dropped "$laws" every_message_is_dropped channel/sending.rs \
    's/self\.is_over = true;//'
mutation given-to-any-that-sleeps "$laws" where_the_receiver_sleeps channel/given.rs \
    's/waits_at\.load\(Relaxed\) == self\.taking_at\(\)/waits_at.load(Relaxed) != self.given_at()/'
mutation given-and-left-in-its-slot "$laws" where_the_receiver_sleeps channel/sender.rs \
    's/receiver\.give\(message\);/put_next(channel, message);\n channel.sender.local.set(channel.sender.local.get() - 1);/'
mutation given-and-always-remote "$laws" where_the_receiver_sleeps channel/given.rs \
    's/worker\.number\(\) != u32::from\(given_by\.get\(\)\)/worker.counts || given_by.get() > 0/'
mutation words-home-without-a-count "$laws" goes_on_from_what_its channel/raw.rs \
    's/self\.word\(end\)\.begin\(count\)/self.word(end).begin(0 * count)/'
mutation recycled-as-it-was "$laws" memory_of_small_ones channel/raw.rs \
    's/channel\.side\(end\)\.set_kind\(kind::ROOMY, is_roomy\);//'
mutation recorded-and-served "$laws" histories channel/growth.rs \
    's/ && !self\.receiver\.is_recorded\(\)//'
mutation gone-on-and-waiting "$laws" has_waited_and_panics channel/fast_path.rs \
    's/SlowPath::Go => \{\s*\*waited = false;/SlowPath::Go => {/'

# --- comparing runs -----------------------------------------------------------------------------

mutation no-digest-by-type "$testing" by_processes_of_the_library channel/table.rs \
    's/self\.digests\.get\(\)\?\.find::<T>\(\)/self.digests.get()?.find::<T>().filter(|_| false)/'
mutation count-passes-as-equal "$testing" equal_by_count_only testing/verify.rs \
    's/self\.by_contents == 0/self.by_contents == usize::MAX/'
mutation party-holds-nothing "$laws" a_forgotten_end_outside deadlock/explain.rs \
    's/channel\.owner\(\*end\) == Some\(party\)/channel.owner(*end).is_none()/'
mutation outside-is-not-seen "$laws" each_process_is_found deadlock/look.rs \
    's/edge\.peer\(\)\.is_some_and\(\|peer\| peer\.created_as\(\) == Kind::Outside\)/false/'
mutation parts-are-seen-apart "$laws" a_farm_is_one_process deadlock/look.rs \
    's/whole\.has_first \|= .*?;/let _ = WITHIN;/'
mutation dead-is-not-seen "$laws" what_waits_for_a_ring deadlock/look.rs \
    's/is_stuck: is_dead\(task\)/is_stuck: is_dead(task) \&\& false/'
mutation sink-keeps-its-message "$laws" forwarded_into_a_sink channel/adapters.rs \
    's/this\.sender\.write\(message, Some\(worker\)\);//'

# --- S-Net --------------------------------------------------------------------------------------

package=kahn-snet
failing='--test failing'
without_mutation '' -p kahn-snet --test laws
without_mutation '' -p kahn-snet --test failing

mutation stops-are-not-heeded '--test failing' a_run_that_is_stopped_says runtime/handle.rs \
    's/running\.failures\.end_at_once\(Failure::Stopped\);/let _ = Failure::Stopped;/'

mutation feedback-out-of-turn "$laws" an_ordered_feedback_gives runtime/steps/graph.rs \
    's/let in_turn = \*ordered \&\& /let in_turn = false \&\& *ordered \&\& /'
mutation beginnings-out-of-turn "$laws" deterministic_programs_give runtime/steps/graph.rs \
    's/self\.keeps_records\(\*body\) \|\| self\.begins\(\*body\)/self.keeps_records(*body)/'
mutation beginnings-without-places "$laws" deterministic_programs_give runtime/front/body.rs \
    's/let tickets = self\.shared\.regions\.before\(cause\);/let tickets = Tickets::default();/'
mutation the-rest-goes-on "$failing" behind_the_part_of_it_that_fails runtime/steps/marks.rs \
    's/self\.end\.fetch_min\(number \+ u32::from\(self\.chooses\), Relaxed\);//'
mutation the-rest-is-dropped "$laws" the_rest_of_what_fails_goes_on runtime/steps/marks.rs \
    's/self\.end\.fetch_min\(number \+ 1, Relaxed\);/self.end.fetch_min(number, Relaxed);/'
mutation marks-overtake "$failing" of_several_records_that_fail runtime/steps/marks.rs \
    's/number < \*known/number > *known/'
mutation no-boundary "$failing" a_record_that_the_net_does_not runtime/steps/graph.rs \
    's/self\.shapes\.iter\(\)\.any\(\|wanted\| shape\.fits\(wanted\)\)/shape.fields < usize::MAX/'
emissions='--test emissions'
mutation calls-far-ahead "$emissions" what_a_box_emits_goes_on runtime/front/emission.rs \
    's/const MOST_AHEAD: usize = 512/const MOST_AHEAD: usize = usize::MAX/'
mutation early-without-a-backlog "$emissions" a_box_waits_where runtime/front/backlog.rs \
    's/const MOST_EARLY: usize = 4096/const MOST_EARLY: usize = usize::MAX/'
mutation orders-without-a-backlog "$emissions" a_box_waits_where runtime/front/worker.rs \
    's/backlogs\.note\(\|\| Backlog::Order\(region\)\)/drop((backlogs, Backlog::Order(region)))/'
mutation calls-without-a-backlog "$emissions" a_box_waits_where runtime/front/calls.rs \
    's/turn\.collector\.early\(\) > MOST_EARLY/turn.collector.early() > usize::MAX - MOST_EARLY/'
mutation held-up-by-what-is-before "$emissions" holds_up_only_what runtime/front/backlog.rs \
    's/position\(&home, mailbox\.op\) < position/position(\&home, mailbox.op) != position/'
mutation calls-begin-in-a-backlog "$emissions" wait_before_they_begin runtime/front/calls.rs \
    's/self\.begin_emission\(&mut emission, &rec\);//'
mutation roles-stay-with-calls "$emissions" a_box_may_wait_until runtime/front/handoff.rs \
    's/is_some_and\(Left::is_wanted\)\.then_some/is_some_and(|_| false).then_some/'
mutation away-and-forgotten "$emissions" does_not_wait_for_input runtime/front/threads.rs \
    's/self\.away\.load\(SeqCst\) > 0/self.away.load(SeqCst) > usize::MAX \/ 2/'
mutation roles-woken-and-not-unparked "$emissions" a_box_may_wait_until runtime/front/sleep.rs \
    's/self\.parkers\[role\]\.unpark\(\);//'
mutation over-beside-a-call "$emissions" a_box_may_wait_until runtime/front/sleep.rs \
    's/is_last && self\.activity\.is_over\(\)/is_last/'
mutation meetings-without-level "$emissions" a_box_waits_where \
    runtime/network/wiring.rs 's/self\.levels\.iter\(\)\.for_each\(Level::wait\);//'

command='--test command'
mutation ends-at-once "$command" that_ends_the_process boxes/c/crash.rs \
    's/super::rescue::settle\(\);//'
mutation ends-unseen "$command" that_ends_the_process boxes/c/build.rs \
    's/command\.arg\(format!\("-Wl,--wrap=\{end\}"\)\);//'

package=kahn-mapreduce
without_mutation '' -p kahn-mapreduce --test laws
mutation records-go-together "$laws" one_by_one_there_are_as_many map.rs \
    's/sending\.send\(reducer,/Sending::Together.send(reducer,/'
mutation batches-taken-in-pieces "$laws" a_message_for_each_record batch.rs \
    's/if self == Self::Together \|\| /if true || /'

package=kahn-apps
programs='--features snet --test snet'
without_mutation '' -p kahn-apps --features snet --test snet

mutation made-on-the-way-comes-late "$programs" through_collected_replicas \
    ../../kahn-snet/src/runtime/front/worker.rs 's/for \(mailbox, mut made\) in std::mem::take\(&mut self\.role\.outbox\) \{\s*self\.deliver_at_once\(&mailbox, &mut made\);\s*self\.keep_emptied\(made\);\s*\}//'

summary
