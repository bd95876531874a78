# What the scripts of this folder share: to be sourced.

# Prints a headline and runs a command, and remembers what it took for `print_steps`; says how long it took, and how much processor time, which says
# more on a machine that does something else as well.
step() {
    local title=$1 since=$SECONDS processor used
    running=$title
    shift
    count_processor_time
    used=$processor
    printf '\n=== %s: %s\n' "$title" "$*"
    "$@"
    count_processor_time
    running=''
    took+=("$(printf '%-28s %6d s %6d s' "$title" $((SECONDS - since)) $((processor - used)))")
    printf '=== %s: done after %d s, %d s of processor time\n' \
        "$title" $((SECONDS - since)) $((processor - used))
}

# The steps so far, a line each: what they took by the clock, and of processor time.
took=() running=''
print_steps() {
    printf '\n%-28s %8s %8s\n' step clock processor
    ((${#took[@]} == 0)) || printf '%s\n' "${took[@]}"
    [[ -z $running ]] || printf '%-28s FAILED\n' "$running"
    printf '%-28s %6d s\n' all "$SECONDS"
}

# Sets `processor` to the seconds that all which this shell has run and waited for took. `times` would tell a
# subshell of the subshell alone.
count_processor_time() {
    local file
    file=$(mktemp)
    times > "$file"
    processor=$(awk -F '[ms ]+' 'NR == 2 { print int(60 * $1 + $2 + 60 * $3 + $4) }' "$file")
    rm "$file"
}

# Says why something was not done; nothing is skipped without a line.
skip() {
    printf '\n=== %s: SKIPPED, %s\n' "$1" "$2"
    took+=("$(printf '%-28s  skipped: %s' "$1" "$2")")
}

# --- models ----------------------------------------------------------------------------------------

# What sources this uses them.
# shellcheck disable=SC2034
# Models whose interleavings are so many that they are checked with one preemption less.
slow_models=(
    two_offers_that_want_each_other
    a_partner_and_a_foreign_waker
    the_receiver_follows_after_the_last_of_a_cycle
    a_network_that_stands_still_is_told
    a_party_outside_is_woken_and_wakes
    a_party_outside_polls_in_vain_and_cancels
)
# Whole runs that take minutes with one preemption: for `ci/nightly`, which allows three elsewhere.
# shellcheck disable=SC2034
slowest_models=(
    a_stream_ends_under_batch
    a_watcher_wakes_by_itself
    the_next_watcher_starts_when_it_is_wanted
)

# --- programs on several ranks ---------------------------------------------------------------------

# Sets `programs`: every Kahn program of `kahn run` with small input, some in several forms; writes the text at $1
# that some of them read.
programs_on_ranks() {
    local text=$1 n
    for n in {1..300}; do
        echo "To be, or not to be: $n antidisestablishmentarianISMs AntiDisestablishmentarianisms"
    done > "$text"
    # What sources this uses them.
    # shellcheck disable=SC2034
    programs=('hamming 300' 'sieve 200' fft des fm-radio filter-bank bitonic-sort
        "wordcount $text" "wordcount $text $text --variant mapreduce" "wordcount $text --words unicode"
        'kmeans --random 500 --groups 5' 'kmeans --random 500 --groups 5 --variant mapreduce'
        'ring --processes 5 --cycles 20' 'scatter-gather --rounds 20' 'pipeline --stages 5 --messages 100'
        'random --layers 4 --width 3 --back-edges 2 --messages 20' 'h264-graph --frames 5' 'aes --size 64K')
}

# --- mutations ------------------------------------------------------------------------------------
#
# A mutation is a Perl substitution on one file of a copy of the tree, and tests that must fail with
# it. One that no longer changes anything, or no longer compiles, is an error: it has to follow the
# code. So are tests that there are not, that fail without any mutation, or that fail and say nothing.

# prepare_mutations FOLDER [--apply] [NAME...]: a copy of the tree, in a folder that cargo finds again, and
# the names of the mutations that are wanted, all if there are none. With `--apply` nothing is compiled or
# run: it is looked whether each still changes its file. With `--list` nothing is done but to print their names.
prepare_mutations() {
    only_apply=false only_list=false
    if [[ ${2:-} == --apply ]]; then only_apply=true; set -- "$1" "${@:3}"; fi
    if [[ ${2:-} == --list ]]; then only_list=true; return; fi
    local folder
    folder=$(realpath -m "${CARGO_TARGET_DIR:-target}/$1")
    CARGO_TARGET_DIR=$folder
    export CARGO_TARGET_DIR RUST_BACKTRACE=0
    left_out=()
    chosen=("${@:2}") copy=$folder/copy noticed=0 amiss=()
    row='%-42s %-44s %-16s %5s s   %s\n'
    mkdir -p "$folder"
    # Two runs would overwrite each other's programs.
    if command -v flock > /dev/null; then
        exec 9> "$folder/lock"
        flock 9
    fi
    rm -rf "$copy"
    mkdir "$copy"
    # All files are new: what is left of a mutation that was stopped is compiled again.
    git ls-files -z --cached --others --exclude-standard \
        | while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done \
        | tar --null --files-from=- --create | tar --extract --touch --directory "$copy"
    if $only_apply; then return; fi
    # shellcheck disable=SC2059
    printf "$row" mutation tests verdict took 'what is said'
}

# tests_hold TESTS ARGUMENT...: builds the program of tests that cargo's arguments name (not the commands that it may
# call, which are built with it and may be told of last), and runs the tests whose names contain this, but for what
# `left_out` says; what they say is in the file `output`. A program that aborts has failed like any other, and is not
# worth a message of the shell.
tests_hold() {
    local binary
    : > "$copy/output"
    binary=$(cd "$copy" && cargo test --quiet "${@:2}" --no-run --message-format=json \
        2> "$copy/errors" | sed -n 's/.*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1) \
        && [[ -n $binary ]] \
        || return 125
    # What a property test has found is tried first when it runs again: of another mutation.
    find "$copy/crates/$package" -name proptest-regressions -exec rm -r {} +
    { (ulimit -t "$patience" && cd "$copy/crates/$package" \
        && exec timeout $((5 * patience)) "$binary" "$1" "${left_out[@]}" --nocapture > "$copy/output" 2>&1); } \
        2> /dev/null || return 1
}

# without_mutation TESTS ARGUMENT...: ends the script if these tests fail as the tree is.
without_mutation() {
    if $only_apply || $only_list || ((${#chosen[@]})) || tests_hold "$@"; then return; fi
    tail -n 40 "$copy/errors" "$copy/output"
    printf '\nwithout any mutation these fail: %s\n' "$*"
    exit 1
}

# mutate NAME TESTS FILE SUBSTITUTION ARGUMENT...
mutate() {
    if $only_list; then printf '%s\n' "$1"; return; fi
    local name=$1 tests=$2 file=$copy/crates/$package/src/$3 verdict said='' status=0 since=$SECONDS
    if ((${#chosen[@]})) && [[ " ${chosen[*]} " != *" $name "* ]]; then
        return
    fi
    cp "$file" "$copy/before"
    perl -0777 -pi -e "$4" "$file"
    if cmp -s "$file" "$copy/before"; then
        verdict='CHANGES NOTHING'
    elif $only_apply; then
        verdict=noticed
    else
        tests_hold "$tests" "${@:5}" || status=$?
        # One that is not noticed says nothing, which must not end the script.
        said=$(grep -a -A1 -m1 'panicked at' "$copy/output" | tail -n 1 | cut -c -100) || true
        # A watchdog says what hangs, and aborts; a test that is to panic may not.
        [[ -n $said ]] || said=$(grep -a -m1 -E ' hangs:|not done after|did not panic as expected' "$copy/output" \
            | cut -c -100) || true
        if ((status == 125)); then
            verdict='DOES NOT COMPILE'
        elif ! grep -aq '^running [1-9]' "$copy/output"; then
            verdict='NO SUCH TEST'
        elif ((status == 0)); then
            verdict='NOT NOTICED' said=''
        elif [[ -z $said ]]; then
            verdict='SAYS NOTHING'
        else
            verdict=noticed
        fi
    fi
    cp "$copy/before" "$file"
    if [[ $verdict == noticed ]]; then noticed=$((noticed + 1)); else amiss+=("$name: $verdict"); fi
    if $only_apply; then return; fi
    # shellcheck disable=SC2059
    printf "$row" "$name" "$tests" "$verdict" $((SECONDS - since)) "$said"
}

# The last line of a script: how many were noticed, and which were not.
summary() {
    if $only_list; then return; fi
    local is=noticed
    if $only_apply; then is='change their files'; fi
    printf '\n%s mutations, %s %s, %s s\n' "$((noticed + ${#amiss[@]}))" "$noticed" "$is" "$SECONDS"
    if ((${#amiss[@]})); then
        printf '%s\n' "${amiss[@]}"
        exit 1
    fi
    if ((${#chosen[@]} > noticed)); then
        printf 'there are no others of these names: %s\n' "${chosen[*]}"
        exit 1
    fi
}
