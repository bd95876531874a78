#!/usr/bin/env bash
# Breaks the runtime's protocols one at a time, in a copy, and demands that loom notices: a model
# that passes whatever one does to the code proves nothing. Arguments choose mutations by name.
#
# Mutations of behaviour, which ordinary tests notice, are the second part, in ci/behaviour.sh. Ends
# with a summary, and with exit code 1 if one of the mutations (see ci/lib.sh) is not noticed. Most
# take some seconds, a few some minutes; `ci/nightly` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/lib.sh

export RUSTFLAGS="--cfg loom ${RUSTFLAGS:-}"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# One mutation after another changes a line of a crate: compiled in small parts, that takes seconds and not most of
# a minute.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_INCREMENTAL=true CARGO_INCREMENTAL=1
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=false
for crate in kahn kahn-csp kahn-engine kahn-snet; do
    small+=(--config "profile.release.package.$crate.codegen-units=64")
done
prepare_mutations loom-mutations "$@"

# mutation NAME MODEL FILE SUBSTITUTION
mutation() {
    mutate "$1" "models::$2" "$3" "$4" "${small[@]}" -p "$package" --release --lib
}

package=kahn
# All at once with two preemptions, and without those that take long: `ci/loom.sh` checks them all.
left_out=("${slow_models[@]/#/--skip=}" "${slowest_models[@]/#/--skip=}")
# Seconds of computing that they may take, some 170 on a machine that does nothing else.
patience=1000
LOOM_MAX_PREEMPTIONS=2 without_mutation models:: "${small[@]}" -p kahn --release --lib
LOOM_MAX_PREEMPTIONS=2 package=kahn-engine without_mutation models:: "${small[@]}" -p kahn-engine --release --lib
left_out=()
# Those that are to notice a mutation. One that never ends is stopped by loom.
patience=200

# --- words ------------------------------------------------------------------------------------

mutation publish-relaxed word::capacity_two channel/word.rs \
    's/(pub\(crate\) fn publish\(.*?swap\(count << SHIFT, )AcqRel/$1Acquire/s'
mutation publish-without-swap word::capacity_one channel/word.rs \
    's/(pub\(crate\) fn publish\(.*?)let old = self\.value\.swap\(count << SHIFT, AcqRel\);/$1self.value.store(count << SHIFT, Release);/s'
mutation take-over-relaxed word::capacity_one channel/word.rs \
    's/(pub\(crate\) fn publish\(.*?self\.value\.load\()Acquire(.*?swap\(count << SHIFT, )AcqRel/$1Relaxed$2Release/s'
mutation look-relaxed word::capacity_two channel/word.rs \
    's/Seen\(self\.value\.load\(Acquire\)\)/Seen(self.value.load(Relaxed))/'
mutation park-relaxed word::capacity_one channel/word.rs \
    's/(seen\.0 \| PARKED, )AcqRel(, Acquire)/$1Acquire$2/'
mutation park-without-compare word::capacity_one channel/word.rs \
    's/match self\.value\.compare_exchange\(seen\.0, seen\.0 \| PARKED, AcqRel, Acquire\) \{/match Ok::<u64, u64>(self.value.fetch_or(PARKED, AcqRel)) {/'
mutation close-wakes-nobody word::the_end_wakes channel/word.rs \
    's/(fn close\(.*?\| CLOSED, AcqRel\);\s*)if old & PARKED != 0 \{ Moved::Wake \}/$1if old == u64::MAX { Moved::Wake }/s'
mutation party-load-before-swap word::a_party_that_cancels channel/word.rs \
    's/(fn publish_outside\(.*?)(let old = self\.value\.swap)/$1if self.value.load(Acquire) & PARKED != 0 {\n self.value.store(count << SHIFT, Release);\n return Moved::Wake;\n}\n$2/s'

# --- channels ---------------------------------------------------------------------------------

mutation room-without-a-sleeper channel::capacity_one_streams channel/slow_path.rs \
    's/word_of_kind\(End::Sender, kind\)\.load\(\)\.is_parked\(\)/word_of_kind(End::Sender, kind).load().count() != u64::MAX/'
mutation given-and-not-counted channel::what_is_given channel/given.rs \
    's/^        local\.set\(count\);//m'
mutation given-and-not-published channel::what_is_given channel/given.rs \
    's/self\.word_of_kind\(End::Receiver, kind\)\.publish_for_sleeper\(count\);//'
mutation end-before-the-last channel::capacity_two_streams channel/slow_path.rs \
    's/if waiting == 0 \{/if waiting == 0 || seen.is_closed() {/'
mutation credit-beyond-the-cycle channel::what_a_side_may_do channel/growth.rs \
    's/most = most\.min\(switch_at - number\);//'
mutation follow-too-early channel::what_a_side_may_do channel/growth.rs \
    's/if number < switch_at \{/if number + 1 < switch_at {/'
mutation follow-too-late channel::the_receiver_follows channel/growth.rs \
    's/if number < switch_at \{/if number <= switch_at {/'
mutation segment-behind-the-oldest channel::a_channel_that_has_grown channel/growth.rs \
    's/let mut runs = vec!\[Run \{ start, slots \}\];\s*runs\.extend\(old\.runs_from\(at, stride\)\);/let mut runs: Vec<Run> = old.runs_from(at, stride).collect();\n runs.push(Run { start, slots });/'
mutation row-beyond-its-run channel::what_a_side_may_do channel/growth.rs \
    's/most\.min\(self\.end\.get\(\) - number\)/most/'
mutation cycle-linked-late channel::the_receiver_follows channel/growth.rs \
    's/old\.switch_at\.set\(at\);/old.switch_at.set(at + 1);/'
mutation gate-relaxed channel:: ../../kahn-engine/src/sync/short_lock.rs \
    's/(compare_exchange\(seen, locked, )Acquire/$1Relaxed/'
mutation gate-opened-relaxed channel:: ../../kahn-engine/src/sync/short_lock.rs \
    's/(self\.0\.store\(flags, )Release/$1Relaxed/'
mutation gate-without-lock channel::an_end_changes_hands ../../kahn-engine/src/sync/short_lock.rs \
    's/if access\.is_alone\(\) \{/if access.is_alone() || true {/'
mutation owner-asked-outside-the-gate channel::an_end_changes_hands channel/closing.rs \
    's/(channel\.with_gate\(of_gate, \|gate\| \{\s*)let is_observed =\s*is_sender && !gate\.is_closed\(End::Receiver\)/let is_observed = is_sender \&\& !channel.seen(End::Receiver).is_closed();\n $1let is_observed = is_observed/s'

# --- deque ------------------------------------------------------------------------------------

package=kahn-engine mutation pop-without-fence deque:: queue/deque.rs \
    's/(self\.bottom\.store\(last, Release\);\s*)fence\(SeqCst\);/$1/'
package=kahn-engine mutation steal-without-fence deque:: queue/deque.rs \
    's/(let top = self\.top\.load\(Acquire\);\s*)fence\(SeqCst\);/$1/'
package=kahn-engine mutation push-relaxed deque:: queue/deque.rs \
    's/(bottom\.wrapping_add\(1\), )Release/$1Relaxed/'
package=kahn-engine mutation last-one-without-exchange deque:: queue/deque.rs \
    's/let won =.*?is_ok\(\);/let won = true;\n self.top.store(top.wrapping_add(1), SeqCst);/s'

package=kahn-engine mutation waiting-push-relaxed fifo:: queue/fifo.rs \
    's/(back\.wrapping_add\(1\), )Release/$1Relaxed/'
package=kahn-engine mutation waiting-half-relaxed fifo:: queue/fifo.rs \
    's/(back\.wrapping_add\(size - 1\), )Release/$1Relaxed/'
package=kahn-engine mutation waiting-taken-without-exchange fifo:: queue/fifo.rs \
    's/if access\.is_alone\(\) \{/if true {/'

package=kahn-engine mutation rotated-beside-thieves bias:: queue/lane.rs \
    's/if !access\.is_alone\(\) \|\| oldest/if oldest/'
package=kahn-engine mutation owned-without-a-light-barrier bias:: queue/bias.rs \
    's/fences::light\(\);//'
package=kahn-engine mutation revoked-without-a-heavy-barrier bias:: queue/bias.rs \
    's/fences::heavy\(\);//'
package=kahn-engine mutation revoked-without-waiting bias:: queue/bias.rs \
    's/while self\.inside\.load\(Acquire\) \{/while false {/'
package=kahn-engine mutation section-ends-relaxed bias:: queue/bias.rs \
    's/(self\.inside\.store\(false, )Release/$1Relaxed/'
package=kahn-engine mutation owned-beside-thieves bias:: queue/bias.rs \
    's/let _ = self\.state\.compare_exchange\(0, OWN, Acquire, Relaxed\);/self.state.swap(OWN, AcqRel);/'
package=kahn-engine mutation owned-beside-thieves-that-come bias:: queue/bias.rs \
    's/if seen == REVOKED \{/if seen == REVOKED \&\& spins > 0 {/'

package=kahn-engine mutation lock-owned-without-a-light-fence biased_lock:: sync/biased_lock.rs \
    's/fences::light\(\);//'
package=kahn-engine mutation lock-taken-away-without-a-heavy-fence biased_lock:: sync/biased_lock.rs \
    's/fences::heavy\(\);//'
package=kahn-engine mutation lock-taken-away-without-waiting biased_lock:: sync/biased_lock.rs \
    's/while self\.inside\[owner\]\.load\(Acquire\) \{/while false {/'
package=kahn-engine mutation lock-left-relaxed biased_lock:: sync/biased_lock.rs \
    's/(inside\.store\(false, )Release/$1Relaxed/'
package=kahn-engine mutation lock-not-taken-away biased_lock:: sync/biased_lock.rs \
    's/self\.take_away\(owner\);//'
package=kahn-engine mutation lock-not-taken-from-workers biased_lock::workers sync/biased_lock.rs \
    's/owner != NONE && owner != comes/owner != NONE \&\& comes >= OWNERS/'
package=kahn-engine mutation lock-owners-inside-together biased_lock::workers sync/biased_lock.rs \
    's/self\.inside\.get\(access\.owner\(\)\)/self.inside.first()/;s/self\.inside\[owner\]/self.inside[0]/'
package=kahn-engine mutation oldest-taken-without-exchange bias:: queue/deque.rs \
    's/if !access\.is_alone\(\) \{/if false {/'

mutation lifo-taken-without-swap lifo_slot:: ../../kahn-engine/src/worker/lifo_slot.rs \
    's/(A swap: a worker with nothing to do.*?\n\s*)lifo\.swap\(ptr::null_mut\(\), AcqRel\)/$1let task = lifo.load(Acquire);\n lifo.store(ptr::null_mut(), Release);\n task/s'
mutation lifo-relaxed lifo_slot:: ../../kahn-engine/src/worker/lifo_slot.rs \
    's/lifo\.store\(task\.as_ptr\(\)\.cast_mut\(\), Release\)/lifo.store(task.as_ptr().cast_mut(), Relaxed)/'

# --- migration window -------------------------------------------------------------------------

package=kahn-engine mutation window-enqueue-relaxed window:: queue/window.rs \
    's/(swap\(Box::into_raw\(batch\), )AcqRel/$1Acquire/'
package=kahn-engine mutation window-take-without-swap window:: queue/window.rs \
    's/let batch = (self\.slots\[slot\])\.swap\(ptr::null_mut\(\), AcqRel\);/let batch = $1.load(Acquire);\n $1.store(ptr::null_mut(), Release);/'
package=kahn-engine mutation window-swap-before-clearing window::no_batch_is_hidden queue/window.rs \
    's/(self\.state\.fetch_and\(!bit, AcqRel\);)\s*self\.take\(slot\)/let taken = self.take(slot);\n $1\n taken/'
package=kahn-engine mutation window-forgets-the-oldest window::every_batch queue/window.rs \
    's/(if range\.len == SLOTS \{) self\.take\(range\.advance\(\)\) \}/$1 range.advance(); None }/'

# --- sleep ------------------------------------------------------------------------------------

package=kahn-engine mutation parker-without-lock parker:: sync/parker.rs \
    's/drop\(self\.lock\.lock\(\)\);//'
package=kahn-engine mutation unpark-relaxed parker:: sync/parker.rs \
    's/swap\(NOTIFIED, AcqRel\)/swap(NOTIFIED, Relaxed)/'
package=kahn-engine mutation no-driver-is-woken shared_loop::a_worker_that_waits sync/parker.rs \
    's/return driver\.wake\(\);/return;/'
package=kahn-engine mutation loop-given-without-a-note shared_loop:: sleep/shared_loop.rs \
    's/(At::Free\(event_loop\), false, )true\)/$1state.has_rung)/'
package=kahn-engine mutation rings-without-a-note shared_loop:: sleep/shared_loop.rs \
    's/(pub fn ring\(&self\) \{\s*let mut state = self\.state\.lock\(\);\s*)state\.has_rung = true;/$1state.has_rung |= false;/'
package=kahn-engine mutation thread-keeps-the-loop shared_loop::a_worker_gets sleep/shared_loop.rs \
    's/if self\.state\.lock\(\)\.is_wanted \{/if self.state.lock().turns == u64::MAX {/'
package=kahn-engine mutation wanted-without-the-bell shared_loop::a_worker_gets sleep/shared_loop.rs \
    's/(state\.is_wanted = true;\s*drop\(state\);\s*)\(self\.bell\)\(\);/$1/'
package=kahn-engine mutation thread-takes-no-loop shared_loop::the_thread_turns sleep/shared_loop.rs \
    's/if is_late && state\.is_free\(\)/if is_late \&\& state.turns > turns/'
mutation notify-without-fence run::a_foreign_waker_wakes ../../kahn-engine/src/scheduler/notify.rs \
    's/(fn notify_anyone.*?)fence\(SeqCst\);/$1/s'
mutation sleep-without-fence run::a_foreign_waker_wakes ../../kahn-engine/src/sleep/sleepers.rs \
    's/(Pairs with the fence of the notifier\.\s*)fence\(SeqCst\);/$1/'
mutation listed-before-it-is-counted sleep:: ../../kahn-engine/src/sleep/sleepers.rs \
    's/(list\.insert\(place, worker\);)\s*self\.count\.fetch_add\(1, SeqCst\);\s*\}/$1 }\n self.count.fetch_add(1, SeqCst);/'
mutation sleep-without-second-look run::a_foreign_waker_wakes ../../kahn-engine/src/sleep/sleepers.rs \
    's/if has_work\(\) && /if false \&\& /'
mutation pinned-work-not-looked-for sleep::what_is_pinned ../../kahn-engine/src/worker/idle.rs \
    's/scheduler\.has_pinned\(self\.index\(\)\)\s*\|\|/false ||/'
mutation woken-but-not-counted run::a_party_outside_is_not ../../kahn-engine/src/sleep/sleepers.rs \
    's/(fn count_woken.*?)activity\.wake\(\);/$1/s'
mutation last-one-does-not-look run::a_network_that_stands_still ../../kahn-engine/src/sleep/sleepers.rs \
    's/if activity\.go_idle\(\) \{/if !activity.go_idle() {/'
mutation unparked-but-not-counted run::a_party_outside ../../kahn-engine/src/scheduler/ready.rs \
    's/(fn unpark\(.*?)self\.activity\.wake\(\);/$1/s'
mutation free-core-looked-for-too-early run::a_foreign_waker_wakes_more ../../kahn-engine/src/worker/idle.rs \
    's/(fn go_to_sleep.*?let scheduler = self\.scheduler\(\);)(.*?let has_work = .*?)scheduler\.has_free_core\(\)/$1\n let free = scheduler.has_free_core();$2free/s'
mutation refused-but-counted run::a_network_that_stands_still_is_told_by_one ../../kahn-engine/src/thread/of_workers.rs \
    's/(let why = ThreadDoor::explain\(&error\);)/thread_set.parkers.push(Arc::clone(&parker));\n $1/'
mutation unparker-set-after-the-look run::a_party_outside_changes channel/outside/party.rs \
    's/(this\.party\.task\.set_unparker\(Unparker::Waker\(context\.waker\(\)\.clone\(\)\)\);\s*)if this\.party\.waits\(wait\) \{/if this.party.waits(wait) {\n $1/s'
mutation party-takes-any-unpark run::a_party_outside_is_not_woken channel/outside/party.rs \
    's/while self\.waits\(&wait\) \{\s*parker\.park\(\);\s*\}//'

# --- detector ---------------------------------------------------------------------------------

mutation no-second-look detector::a_gap deadlock/walk.rs \
    's/still_holds\(&ring\)\.then_some\(ring\)/Some(ring)/'
mutation second-look-without-count detector::a_gap deadlock/walk.rs \
    's/edge_of\(edge\.task\) == Some\(\*edge\)/edge_of(edge.task).is_some()/'
mutation look-everywhere-once detector::a_gap deadlock/mod.rs \
    's/if !still_holds\(&ring\) \{\s*continue;\s*\}//'
mutation walk-without-fence detector::one_of_those_that_complete deadlock/walk.rs \
    's/(see the module above for why late is early enough\.\s*)fence\(SeqCst\);/$1/'

mutation channels-go-beside-the-look detector::a_ring_of_parties deadlock/mod.rs \
    's/let kept = table\.hold\(\);\s*(if !still_holds\(waits\) \{\s*return Found::Nothing;\s*\})/$1\n let _ = smallest_full(waits);\n let kept = table.hold();/'
mutation held-but-not-looked-at-again detector::a_ring_of_parties deadlock/mod.rs \
    's/(let kept = table\.hold\(\);\s*)if !still_holds\(waits\) \{/$1if waits.is_empty() {/'

# --- pruning ----------------------------------------------------------------------------------

mutation woken-without-grace prune::one_of deadlock/prune.rs \
    's/if period > last_grace \|\| /if /'
mutation woken-without-telling-the-peer prune::a_peer_that_begins deadlock/prune.rs \
    's/\.tell\(told::OUTSIDE\)/.tells(told::OUTSIDE)/'
mutation sleeps-without-asking prune::a_worker_that_goes_to_sleep ../../kahn-engine/src/worker/idle.rs \
    's{\|\| L::probe\(self, Probe::Asleep\)}{}'

mutation over-without-fence prune::a_loop channel/prune.rs \
    's/fence\(SeqCst\);\s*(if watched)/$1/'
mutation watches-without-fence prune::a_loop channel/prune.rs \
    's/fence\(SeqCst\);\s*(!is_over\(task\))/$1/'
mutation watches-without-second-look prune::a_loop channel/prune.rs \
    's/fence\(SeqCst\);\s*!is_over\(task\)/true/'
mutation one-is-pruned-before-all-are-marked prune::what_sees channel/prune.rs \
    's/(    for task in &all \{\s+task\.marks\.fetch_or\(mark::PRUNE, Release\);\s+\}\n)(.*?)(    to_prune\.roots\.are_gone\.store\(true, Release\);\n)/$3$1/s'
mutation a-lost-root-is-forgotten prune::a_loop channel/prune.rs \
    's/ \|\| self\.roots\.is_lost\.load\(Relaxed\)//'

# --- foreign wakers ---------------------------------------------------------------------------

mutation clones-may-be-stale foreign::a_process_whose_last ../../kahn-engine/src/task/foreign.rs \
    's/clones\.fetch_add\(0, AcqRel\)/clones.load(Relaxed)/'
mutation wake-leaves-no-note foreign::a_wake_up_makes_it_ready ../../kahn-engine/src/task/foreign.rs \
    's/RUNNING => NOTIFIED,/RUNNING => return,/'
mutation wait-without-exchange foreign:: ../../kahn-engine/src/task/foreign.rs \
    's/self\.state\.compare_exchange\(RUNNING, WAITING, SeqCst, SeqCst\)\.is_err\(\)/self.state.swap(WAITING, SeqCst) == CLOSED/'
mutation orphans-stay-pending run::a_foreign_waker_that_is_dropped ../../kahn-engine/src/task/foreign.rs \
    's/foreign\.scheduler\.look_again\(\);//'

# --- the ordered farm -------------------------------------------------------------------------

mutation ordered-map-result-unseen farm:: network/farm.rs \
    's/\*state = (State::Open\(Some\(context\.waker\(\)\.clone\(\)\)\));/*state = State::Open(None);\n drop(state);\n *self.state.lock() = $1;/'
mutation ordered-map-result-wakes-nothing farm:: network/farm.rs \
    's/waker\.wake\(\);/drop(waker);/'
mutation ordered-map-helper-counts-off-late farm:: network/farm.rs \
    's/(if job\.is_none\(\) \{)/$1\n drop(hand_out);\n hand_out = self.hand_out.lock();/'
mutation ordered-map-job-without-a-helper farm:: network/farm.rs \
    's/hand_out\.helpers -= 1;//'

# --- verdict ----------------------------------------------------------------------------------

mutation activity-read-twice verdict:: ../../kahn-engine/src/sleep/activity.rs \
    's/(fn is_over\(&self\) -> bool \{\s*)self\.0\.load\(SeqCst\) == 0/$1self.0.load(SeqCst) \/ PENDING == 0 && self.0.load(SeqCst) & ALL_BUSY == 0/'
mutation pending-ends-before-ready verdict::who_is_woken ../../kahn-engine/src/task/foreign.rs \
    's/(self\.scheduler\.wake\(ready\);)(.*?)(self\.scheduler\.activity\(\)\.settle\(\);)/if state == WAITING {\n self.scheduler.activity().settle();\n}\n$1\n{/s'
mutation cancelled-before-counted verdict::a_party_that_cancels channel/outside/party.rs \
    's/if word\.unpark\(Word::parked\(wait\.seen\)\) \{(.*?)\}\s*self\.woken\(\);/let alone = word.unpark(Word::parked(wait.seen));\n self.woken();\n if alone {$1}/s'
mutation rests-before-pending verdict::a_party_that_cancels channel/outside/party.rs \
    's/scheduler\.activity\.expect\(\);(.*?scheduler\.rest\(\);)/$1\n scheduler.activity.expect();/s'

# --- communicating processes --------------------------------------------------------------------

package=kahn-csp
left_out=("${slow_models[@]/#/--skip=}")
LOOM_MAX_PREEMPTIONS=2 without_mutation models:: "${small[@]}" -p kahn-csp --release --lib
left_out=()

mutation csp-gate-relaxed words::of_two channel/word.rs \
    's/(fn lock\(&self.*?)let seen = self\.look\(\);/$1let seen = self.peek();/s; s/(seen \| LOCKED, )Acquire/$1Relaxed/'
mutation csp-gate-opened-relaxed words::of_two channel/word.rs \
    's/(self\.0\.store\(flags, )Release/$1Relaxed/'
mutation csp-left-relaxed words::of_two channel/word.rs \
    's/(side \| LEFT, )Release/$1Relaxed/'
mutation csp-left-and-looked-at-relaxed words::of_two channel/word.rs \
    's/self\.0\.load\(Acquire\)/self.0.load(Relaxed)/'
mutation csp-left-without-comparing meetings::two_messages channel/word.rs \
    's/self\.0\.compare_exchange\(buffer, buffer \| side \| LEFT, Release, Relaxed\)\.is_ok\(\)/{ self.0.store(buffer | side | LEFT, Release);\n true }/'
mutation csp-left-with-messages meetings::a_buffer channel/word.rs \
    's/if self\.peek\(\) != buffer \{/let buffer = self.peek();\n        if buffer \& LEFT != 0 {/'
mutation csp-struck-out-without-locking words::what_was_forgotten channel/word.rs \
    's/(fn lock_after_the_run.*?)if seen & LEFT == 0 \{\s*return seen;\s*\}/$1return seen \& !(LEFT | sides);/s'
mutation csp-left-and-locked words:: channel/word.rs \
    's/if seen & LEFT != 0 \|\| self\.close\(seen\)/if self.close(seen)/g'
mutation csp-left-taken-back words::a_lock_that channel/word.rs \
    's/if flags & LEFT == 0 \{/if flags != u32::MAX {/'
mutation csp-enter-without-looking choices:: channel/attempt.rs \
    's/if flags & side\.ready\(\) != 0 \{/if flags & side.ready() != 0 && entry.is_none() {/'
mutation csp-taken-while-entering choices::two_offers wait/select.rs \
    's/(pub\(crate\) fn settle.*?)_ => return false,/$1_ => return true,/s'
mutation csp-woken-while-entering choices::two_offers wait/select.rs \
    's/if seen & ENTERING == 0 \{ Wake::Asleep/if seen \& ENTERING != u64::MAX { Wake::Asleep/'
mutation csp-nobody-gives-way choices::two_offers wait/select.rs \
    's/&& by\.as_ptr\(\) > task\.as_ptr\(\)/&& by.as_ptr() == task.as_ptr()/'
mutation csp-offer-taken-twice choices::a_time_out wait/select.rs \
    's/(OPEN => \{\s*let next = seen.*?)_ => return Taken::No,/$1TAKEN => return Taken::Yes(Wake::Asleep(task)),\n _ => return Taken::No,/s'
mutation csp-phase-not-reset places::phases_never sharing/phases.rs \
    's/self\.gate\.unlock\(state\.enrolled \* ONE\)/self.gate.unlock(ONE)/'
mutation csp-phase-without-holding offers::both_take sharing/phases.rs \
    's/if is_twice \|\| !select::hold\(task, ticket\) \{/let _ = select::hold(task, ticket);\n if is_twice {/'
mutation csp-held-not-let-go offers::an_offer_that_was_held sharing/phases.rs \
    's/order\[\.\.held\]\.iter\(\)\.for_each\(.*?\);//'
mutation csp-held-in-any-order offers::of_two_barriers_that sharing/phases.rs \
    's/order\.sort_unstable_by_key\(.*?\);//'
mutation csp-withdrawn-not-missing offers::a_phase_or sharing/phases.rs \
    's/if left \{ flags \+ ONE \} else \{ flags \}/{ let _ = left; flags }/'
mutation csp-claim-without-keeping offers::a_claim_or sharing/claim.rs \
    's/if !own\.keep\(\) \{/if !own.keep() \&\& flags == u32::MAX {/'
mutation csp-foreign-asked-late offers::a_partner_and wait/select.rs \
    's/if seen & FOREIGN != 0 \{/if task.offer().load(Acquire) \& FOREIGN != 0 {/'
mutation csp-claim-freed-under-waiters places::a_claim_goes sharing/claim.rs \
    's/(self\.give_to\(task\);\s*self\.gate\.unlock\(flags)\)/$1 & !HELD)/'
mutation csp-failure-without-a-handle places::a_failure run/hooks.rs \
    's/if matches!\(ending, Ending::Finished\) \{/if false {/'
mutation csp-end-before-the-joiner places::the_joiner process/body.rs \
    's/(fn enter\(.*?self\.gate\.unlock\(flags\);\s*)flags & ENDED == 0/$1true/s'

# --- S-Net ------------------------------------------------------------------------------------

package=kahn-snet
without_mutation models:: -p kahn-snet --release --lib

mutation entity-looked-at-relaxed entity_is_made_once runtime/front/once.rs \
    's/self\.block\.load\(Acquire\)/self.block.load(Relaxed)/'
mutation entity-published-relaxed entity_is_made_once runtime/front/once.rs \
    's/ours, AcqRel, Acquire/ours, Acquire, Acquire/'
mutation entity-made-twice entity_is_made_once runtime/front/once.rs \
    's/Err\(theirs\) => \{/Err(theirs) if theirs.is_null() => {/; s/Ok\(_\) => \(/_ => (/'
mutation ownership-given-twice ownership_is_held runtime/front/ownership.rs \
    's/self\.running < limit && !std::mem::replace\(&mut self\.owned, true\)/{ self.owned = true; self.running < limit }/'
mutation ownership-given-back-blindly ownership_is_held runtime/front/ownership.rs \
    's/queue\.owned = !queue\.records\.is_empty\(\);\s*queue\.owned\n/queue.owned = false;\n false\n/'
mutation closed-without-a-look closing_a_mailbox runtime/front/ownership.rs \
    's/if queue\.records\.is_empty\(\) \{\s*(self\.forward\.set\(forward\(\)\);)\s*\}/drop(queue);\n $1/'
mutation call-ends-without-a-look collector_lets runtime/front/ownership.rs \
    's/let mine = !queue\.owned && !queue\.records\.is_empty\(\) && queue\.running < limit;/let mine = false;/'
mutation calls-let-out-at-once collector_lets runtime/front/collector.rs \
    's/if calls\.first != call \{.*?\n        \}/if calls.first != call {\n outputs.drain(..).for_each(\&mut out);\n }/s'
mutation slots-not-looked-at-again calls::a_slot_that_is_filled runtime/front/threads.rs \
    's/if self\.is_anything_there\(\) \{\s*self\.unattended\.store\(false, SeqCst\);\s*\}//'
mutation waits-beside-one-that-stops calls::a_call_that_waits_is_looked_at runtime/front/threads.rs \
    's/(either we see that no thread looks.*?\n\s*)fence\(SeqCst\);/$1/'
mutation over-beside-a-call-that-is-away calls::a_call_ runtime/front/sleep.rs \
    's/is_last && self\.activity\.is_over\(\)/is_last/'
mutation asks-when-it-is-not-away no_role_sleeps runtime/front/sleep.rs \
    's/self\.wake\(\);\s*self\.activity\.settle\(\);/self.activity.settle();\n self.wake();/'
mutation asks-and-wakes-nobody calls::a_call_ runtime/front/sleep.rs \
    's/self\.wake\(\);\s*(self\.activity\.settle\(\);)/$1/'
mutation slot-of-another-time calls::a_call_ runtime/front/handoff.rs \
    's/if top\.times == times \{ top\.left\.take\(\) \} else \{ None \}/if top.times >= times { top.left.take() } else { None }/'
mutation waits-after-the-end calls::a_call_that_waits_is_told runtime/front/threads.rs \
    's/if self\.over \{ Handed::Over \} else \{ Handed::Nothing \}/Handed::Nothing/'
mutation role-sleeps-without-fence no_role_sleeps ../../kahn-engine/src/sleep/sleepers.rs \
    's/(Pairs with the fence of the notifier\.\s*)fence\(SeqCst\);/$1/'
mutation role-woken-without-fence no_role_sleeps ../../kahn-engine/src/sleep/sleepers.rs \
    's/(fn notify\(.*?)fence\(SeqCst\);/$1/s'
mutation last-one-tells-nobody no_role_sleeps runtime/front/sleep.rs \
    's/self\.parkers\.iter\(\)\.for_each\(Parker::unpark\);//'
mutation last-one-goes-on-uncounted a_role_that_waits_outside ../../kahn-engine/src/sleep/sleepers.rs \
    's/(fn go_on\(.*?)activity\.wake\(\);/$1/s'
mutation waits-for-the-input-beside-a-call a_role_that_waits_outside runtime/front/sleep.rs \
    's/if self\.activity\.go_idle\(\) && a_call_goes_on\(\) \{\s*self\.wake\(\);\s*\}/let _ = (self.activity.go_idle(), a_call_goes_on);/'

summary
