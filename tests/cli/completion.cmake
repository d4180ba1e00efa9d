# What shells offer; a shell that is not there is told as skipped.
foreach(shell bash zsh fish)
  add_test(NAME "cli: completion: ${shell}" COMMAND sh -c
    "command -v ${shell} >/dev/null || { echo 'no ${shell} here'; exit 77; }; exec ${shell} \"$@\""
    completion "${CMAKE_CURRENT_LIST_DIR}/completion.${shell}" "$<TARGET_FILE:scalecalc_program>"
    "${CMAKE_CURRENT_LIST_DIR}/completion_cases.txt")
  set_tests_properties("cli: completion: ${shell}" PROPERTIES LABELS cli SKIP_RETURN_CODE 77
    ENVIRONMENT "HOME=${CMAKE_CURRENT_BINARY_DIR};XDG_CONFIG_HOME=${CMAKE_CURRENT_BINARY_DIR}")
endforeach()
