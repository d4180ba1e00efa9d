#!/bin/bash
# What bash offers for the beginnings of some lines.
# usage: completion.bash PROGRAM CASES
set -eu
export PATH="$(dirname "$1"):$PATH"
cases=$(realpath "$2")
cd "$(mktemp -d)"
touch own.toml
mkdir runs
eval "$("$1" completion bash)"

# offers WORD... : COMPREPLY for a line whose last word is being written.
offers() {
  COMP_WORDS=(scalecalc "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _scalecalc 2> /dev/null || true
  echo " ${COMPREPLY[*]} "
}
expect() {
  local wanted="$1"
  shift
  case "$(offers "$@")" in
    *" $wanted "*) ;;
    *) echo "scalecalc $*: $wanted is not offered, but:$(offers "$@")" >&2; exit 1 ;;
  esac
}

while read -r wanted words; do
  [ "$wanted" = "#" ] && continue
  read -ra typed <<< "$words"
  expect "$wanted" "${typed[@]//\"\"/}"
done < "$cases"
case "$(offers list --dev)" in
  *--device*) echo "list has no --device" >&2; exit 1 ;;
esac
