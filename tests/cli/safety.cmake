# What must not hurt: signals, files that are an input and an output, special files and
# permissions.
foreach(case signals overwritten both_outputs mode special denied)
  add_test(NAME "cli: safety: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/safety_${case}"
    -P "${CMAKE_CURRENT_LIST_DIR}/safety_case.cmake")
  set_tests_properties("cli: safety: ${case}" PROPERTIES LABELS cli TIMEOUT 300)
endforeach()

# Limits on processes; 77 where they cannot be tried.
if(BASH_PROGRAM)
  add_test(NAME "cli: safety: threads that cannot start" COMMAND "${BASH_PROGRAM}"
    "${CMAKE_CURRENT_LIST_DIR}/threads.sh" "$<TARGET_FILE:scalecalc_program>")
  set_tests_properties("cli: safety: threads that cannot start" PROPERTIES LABELS cli TIMEOUT 600
    SKIP_RETURN_CODE 77)
endif()
