# - for standard input and output, and model files that presets prints.
foreach(case model claims presets mpi)
  add_test(NAME "cli: standard streams: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/standard_streams_${case}"
    -P "${CMAKE_CURRENT_LIST_DIR}/standard_streams_case.cmake")
  set_tests_properties("cli: standard streams: ${case}" PROPERTIES LABELS cli TIMEOUT 300)
endforeach()
