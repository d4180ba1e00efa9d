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

expect verify ver
expect --version --ver
expect gpt2 propagate gp
expect own.toml propagate ow
expect --optimizer deepnorm --opt
expect muon deepnorm --optimizer mu
expect sub-ln deepnorm --placement sub
expect gelu activation ge
expect gelu propagate gpt2 --activation ge
expect pytorch init gpt2 --target py
expect json --format js
expect post,pre train --placements post,pr
expect post,pre propagate gpt2 --placement post,pr
expect adam,muon deepnorm --optimizer adam,mu
expect tanh activation gelu ta
expect families list fam
expect always table --color al
while read -r wanted words; do
  [ "$wanted" = "#" ] && continue
  read -ra typed <<< "$words"
  expect "$wanted" "${typed[@]//\"\"/}"
done < "$cases"
case "$(offers list --dev)" in
  *--device*) echo "list has no --device" >&2; exit 1 ;;
esac
