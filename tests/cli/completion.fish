#!/usr/bin/env fish
# What fish offers for the beginnings of some lines.
# usage: completion.fish PROGRAM CASES
set -x PATH (path dirname $argv[1]) $PATH
$argv[1] completion fish | source
set -l wrong 0
cd (mktemp -d)
touch own.toml
mkdir runs
for line in (string match -rv '^#' < $argv[2])
    set -l words (string split ' ' -- $line)
    set -l written (string replace -- '""' '' "scalecalc $words[2..-1]")
    set -l offered (complete -C $written | string split -f1 \t | string trim -r -c /)
    if not contains -- $words[1] $offered
        echo "$written: $words[1] is not offered, but: $offered" >&2
        set wrong 1
    end
end
if complete -C 'scalecalc list --dev' | string match -q -- '--device*'
    echo 'list has no --device' >&2
    set wrong 1
end
exit $wrong
