# What the scripts of this folder share: to be sourced.

# Prints a headline and runs a command; says how long it took.
step() {
    local title=$1 since=$SECONDS
    shift
    printf '\n=== %s: %s\n' "$title" "$*"
    "$@"
    printf '=== %s: done after %d s\n' "$title" $((SECONDS - since))
}

# Says why something was not done; nothing is skipped without a line.
skip() {
    printf '\n=== %s: SKIPPED, %s\n' "$1" "$2"
}
