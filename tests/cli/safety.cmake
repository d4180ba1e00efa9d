# What must not hurt: signals, files that are an input and an output, special files and
# permissions.
foreach(case signals overwritten both_outputs mode special denied)
  add_test(NAME "cli: safety: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/safety_${case}"
    -P "${CMAKE_CURRENT_LIST_DIR}/safety_case.cmake")
  set_tests_properties("cli: safety: ${case}" PROPERTIES LABELS cli TIMEOUT 300)
endforeach()
