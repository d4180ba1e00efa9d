# `cmake --install`: the program, its plug-ins, the library, its headers and the package that
# find_package reads.
include(CMakePackageConfigHelpers)
install(TARGETS scalecalc_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
set(plugin_dir "${CMAKE_INSTALL_LIBDIR}/scalecalc")
get_property(plugins GLOBAL PROPERTY SCALECALC_PLUGINS)
if(plugins)
  install(TARGETS ${plugins} LIBRARY DESTINATION "${plugin_dir}")
endif()
install(TARGETS scalecalc EXPORT scalecalcTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/scalecalc DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/scalecalc")
install(EXPORT scalecalcTargets NAMESPACE scalecalc:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/scalecalcConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS plugin_dir)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
