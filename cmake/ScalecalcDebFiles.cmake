# What a Debian package has beside what is installed: a compressed changelog of its own and of the
# program, the licences, compressed man pages. cpack runs this before it packs.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root "${CPACK_TEMPORARY_DIRECTORY}/program/usr/share")
set(doc "${root}/doc/scalecalc")
file(MAKE_DIRECTORY "${doc}")
configure_file("${CPACK_SCALECALC_SOURCE}/cmake/debian/copyright" "${doc}/copyright" COPYONLY)
file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${doc}/changelog.Debian"
  "scalecalc (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
  "  * Version ${CPACK_PACKAGE_VERSION}: see changelog.gz.\n\n"
  " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
# Other than a first upload to the archive of Debian it closes no request of theirs.
file(WRITE "${root}/lintian/overrides/scalecalc" "scalecalc: initial-upload-closes-no-bugs\n")
file(GLOB pages "${root}/man/man1/*.1")
execute_process(COMMAND gzip -n9 "${doc}/changelog" "${doc}/changelog.Debian" ${pages}
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE files "${root}/*")
file(CHMOD ${files} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
