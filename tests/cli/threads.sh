#!/bin/bash
# Usage: threads.sh PROGRAM. Runs commands that use many threads under limits on the processes of a
# user: they end with 0 or 3, and with the bytes that they write without a limit. The limit does not
# hold for root, so that another user runs them; 77 where this one is not root.
set -u
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
  echo "skipped: a limit on processes is tried by root as another user, with setpriv"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1" "$work/scalecalc"
mkdir "$work/runs"
chmod 755 "$work" "$work/scalecalc"
chmod 777 "$work/runs"
cd "$work/runs" || exit 1

# limited LIMIT NAME ARGS...: as a user that has no other processes.
limited() {
  local limit=$1 name=$2
  shift 2
  rm -rf trained
  setpriv --reuid 4123 --regid 4123 --clear-groups \
    bash -c 'ulimit -u "$1"; shift; exec "$@"' bash "$limit" "$work/scalecalc" "$@" \
    >"$name.out" 2>"$name.err"
}

failed=0
try() {
  local name=$1
  shift
  limited unlimited "$name" "$@" --threads 16
  local code=$?
  if [ $code != 0 ]; then
    echo "$name: exit $code without a limit: $(cat "$name.err")"
    failed=1
  fi
  mv "$name.out" "$name.whole"
  for limit in 1 2 3 4 5 6 7 8 9 10 11 12; do
    limited $limit "$name" "$@" --threads 16
    code=$?
    if [ $code = 0 ] && ! cmp -s "$name.out" "$name.whole"; then
      echo "$name at a limit of $limit: other results"
      failed=1
    elif [ $code != 0 ] && [ $code != 3 ]; then
      echo "$name at a limit of $limit: exit $code: $(cat "$name.err")"
      failed=1
    elif [ "$(wc -l <"$name.err")" -gt 1 ]; then
      echo "$name at a limit of $limit: more than one line: $(cat "$name.err")"
      failed=1
    fi
  done
  # At a limit of one process no other thread was started, and that is said.
  limited 1 "$name" "$@" --threads 16
  grep -q "the system refused threads" "$name.err" || { echo "$name: no note"; failed=1; }
  limited 1 "$name" "$@" --threads 1
  [ -s "$name.err" ] && { echo "$name: a note for one thread: $(cat "$name.err")"; failed=1; }
}

try deepnorm deepnorm --layers 8 --optimizer adam --verify --format json
try verify verify mlp-relu --layers 3 --width 64 --seeds 16 --format json
# Few passes, each of which shares out its loops.
try passes verify mlp-relu --layers 3 --width 256 --seeds 3 --format json
try propagate propagate mlp-relu --layers 3 --engine montecarlo --samples 6400 --format json
try softmax propagate pre-ln-12 --layers 1 --width 32 --heads 2 --format json
try activation activation tanh --samples 2000000 --time-limit 600 --format json
try train train --placements post --depths 1 --seeds 1 --steps 4 --record-every 2 --width 64 \
  --heads 2 --sequence 32 --batch 8 --tokens 20000 --validation-batches 1 -o trained
exit $failed
