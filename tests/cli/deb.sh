#!/bin/sh
# What the Debian package of a build has in it.
# usage: deb.sh CPACK CONFIG PROGRAM
set -eu
for tool in dpkg-shlibdeps dpkg-deb; do
  command -v $tool > /dev/null || { echo "no $tool here"; exit 77; }
done
folder=$(mktemp -d)
cd "$folder"
umask 022
"$1" -G DEB --config "$2" -B "$folder" -D CPACK_PACKAGE_CONTACT="Tests <tests@example.org>" > log ||
  { cat log; exit 1; }
package=$(echo scalecalc_*.deb)
dpkg-deb -x "$package" root
dpkg-deb --field "$package" Depends > depends
for library in libgmp10 libmpfr6 libc6; do grep -q "$library (>=" depends; done
cd root/usr
for file in bin/scalecalc share/man/man1/scalecalc.1.gz share/man/man1/scalecalc-verify.1.gz \
  share/bash-completion/completions/scalecalc share/zsh/site-functions/_scalecalc \
  share/fish/vendor_completions.d/scalecalc.fish share/doc/scalecalc/copyright \
  share/doc/scalecalc/changelog.gz share/doc/scalecalc/changelog.Debian.gz; do
  [ -s "$file" ] || { echo "$file is missing"; exit 1; }
done
for absent in include lib/cmake share/doc/scalecalc/LICENSE; do
  [ ! -e "$absent" ] || { echo "$absent does not belong there"; exit 1; }
done
[ "$(bin/scalecalc --version | head -2)" = "$("$3" --version | head -2)" ]
gzip -dc share/doc/scalecalc/changelog.Debian.gz | grep -q '^ -- Tests <tests@example.org>  '
cd /
rm -r "$folder"
