# `cmake --install`: the program and its plug-ins (component program), the library, its headers and
# the package that find_package reads (component development).
include(CMakePackageConfigHelpers)
install(TARGETS scalecalc_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
set(plugin_dir "${CMAKE_INSTALL_LIBDIR}/scalecalc")
get_property(plugins GLOBAL PROPERTY SCALECALC_PLUGINS)
if(plugins)
  install(TARGETS ${plugins} LIBRARY DESTINATION "${plugin_dir}" COMPONENT program)
endif()
install(TARGETS scalecalc EXPORT scalecalcTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY include/scalecalc DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/scalecalc")
install(EXPORT scalecalcTargets NAMESPACE scalecalc:: DESTINATION "${package_dir}"
  COMPONENT development)
configure_package_config_file(cmake/scalecalcConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS plugin_dir)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/scalecalcConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)
install(FILES LICENSE CONTRIBUTING.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
