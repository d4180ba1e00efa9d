# Where results go: files, special files, closed and full outputs.
foreach(case file_formats atomic in_place link full closed_pipe color same_bits interrupt)
  add_test(NAME "cli: output: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/output_${case}"
    -P "${CMAKE_CURRENT_LIST_DIR}/output_case.cmake")
  set_tests_properties("cli: output: ${case}" PROPERTIES LABELS cli TIMEOUT 60)
endforeach()
