# Man pages and completion scripts, which the program writes of itself: made at the end of a build,
# installed where man and the shells look.
set(share "${PROJECT_BINARY_DIR}/share")
add_custom_command(OUTPUT "${share}/man/man1/scalecalc.1"
  COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DSHARE=${share}"
    -P "${PROJECT_SOURCE_DIR}/cmake/ScalecalcWriteShare.cmake"
  DEPENDS scalecalc_program "${PROJECT_SOURCE_DIR}/cmake/ScalecalcWriteShare.cmake" VERBATIM)
add_custom_target(scalecalc_share ALL DEPENDS "${share}/man/man1/scalecalc.1")
install(DIRECTORY "${share}/man/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT program)
install(FILES "${share}/scalecalc.bash" RENAME scalecalc
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  COMPONENT program)
install(FILES "${share}/scalecalc.zsh" RENAME _scalecalc
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
  COMPONENT program)
install(FILES "${share}/scalecalc.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
  COMPONENT program)
