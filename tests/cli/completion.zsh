#!/usr/bin/env zsh
# What zsh offers for the beginnings of some lines, in a shell on a terminal of its own whose compadd
# prints what it is given.
# usage: completion.zsh PROGRAM CASES
zmodload zsh/zpty
cases=${2:A}
export PATH="${1:A:h}:$PATH"
folder=$(mktemp -d)
cd $folder
touch own.toml
mkdir runs functions
scalecalc completion zsh > functions/_scalecalc

cat > setup.zsh << 'END'
PROMPT=
LISTMAX=10000
fpath=($PWD/functions $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
tell() { comppostfuncs=(tell); print fini""shed; }
comppostfuncs=(tell)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return $?
  fi
  local -a matched
  builtin compadd -A matched "$@"
  print -rl -- $matched >> $OFFERED
  builtin compadd "$@"
}
END

# offers LINE: what is offered for it, a line each.
offers() {
  local text
  : > offered
  zpty shell "OFFERED=$PWD/offered zsh -f -i"
  zpty -w shell 'source ./setup.zsh; print re""ady'
  zpty -r shell text '*ready*'
  zpty -w -n shell "$1"$'\t'
  zpty -r shell text '*finished*'
  zpty -w -n shell $'\x15exit\n'
  while zpty -r shell text; do :; done
  zpty -d shell
  cat offered
}

wrong=0
while read -r wanted words; do
  [[ $wanted == '#' ]] && continue
  line="scalecalc ${words%\"\"}"
  found=(${(f)"$(offers $line)"})
  # Of names with commas between them, those that stand are no part of what is added.
  name=${wanted##*,}
  if (( ! ${found[(Ie)$name]} )); then
    print -ru2 -- "$line: $wanted is not offered, but: $found"
    wrong=1
  fi
done < $cases
if [[ "$(offers 'scalecalc list --dev')" == *--device* ]]; then
  print -u2 "list has no --device"
  wrong=1
fi
exit $wrong
