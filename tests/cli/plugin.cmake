# Where the program finds its CUDA plug-in, and what it says where it has none: with the emulated
# device of tests/tensor/cuda in place of a real one.
if(TARGET plugin_emulated)
  file(RELATIVE_PATH plugin_dir
    "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/scalecalc")
  foreach(case installed beside quantities absent elsewhere other_version text)
    add_test(NAME "cli: plugin: ${case}" COMMAND ${CMAKE_COMMAND}
      "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DEMULATED=$<TARGET_FILE:plugin_emulated>"
      "-DOTHER=$<TARGET_FILE:plugin_other_version>" "-DPLUGIN_DIR=${plugin_dir}" "-DCASE=${case}"
      "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/plugin-${case}"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/plugin_case.cmake")
    set_tests_properties("cli: plugin: ${case}" PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
endif()
