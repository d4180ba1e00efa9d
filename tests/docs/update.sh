#!/bin/sh
# Wrong examples are found, rewritten by --update, and pass then. usage: update.sh PYTHON PROGRAM TABLES
set -eu
here=$(cd "$(dirname "$0")" && pwd)
page=$(mktemp --suffix=.md)
trap 'rm -f "$page"' EXIT
for kind in line missing extra; do
  cp "$here/examples/wrong_$kind.md" "$page"
  run() { "$1" "$here/run_examples.py" --program "$2" --tables "$3" $4 "$page"; }
  if run "$1" "$2" "$3" --update >/dev/null; then
    echo "wrong_$kind.md passes"
    exit 1
  fi
  run "$1" "$2" "$3" ""
done
