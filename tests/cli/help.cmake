# Help, its examples, and what is made of it.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
foreach(check width examples options defaults man)
  add_test(NAME "cli: help: ${check}" COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_LIST_DIR}/help_page.py" "$<TARGET_FILE:scalecalc_program>" ${check})
  set_tests_properties("cli: help: ${check}" PROPERTIES LABELS cli
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
add_test(NAME "cli: tables on a terminal" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/terminal.py" "$<TARGET_FILE:scalecalc_program>")
add_test(NAME "cli: pager and bars on a terminal" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/pager.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: tables on a terminal" "cli: pager and bars on a terminal" PROPERTIES
  LABELS cli
  ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
scalecalc_cli_error("help of no command" EXIT 2 SAYS "did you mean 'verify'" ARGS help verfy)
scalecalc_cli_test("help as Markdown" ARGS help verify --format md STDOUT "## ")

# Completion and man pages, as an installation has them.
include(completion.cmake)
foreach(shell bash zsh fish)
  scalecalc_cli_test("completion: ${shell} has the names" ARGS completion ${shell}
    STDOUT "scalecalc.*gpt2.*muon")
endforeach()
scalecalc_cli_error("completion of no shell" EXIT 2 SAYS "for which shell" ARGS completion)
scalecalc_cli_error("completion of another shell" EXIT 2 SAYS "bash, zsh, fish"
  ARGS completion tcsh)
add_test(NAME "cli: help: what is installed" COMMAND ${CMAKE_COMMAND}
  "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DSHARE=${CMAKE_CURRENT_BINARY_DIR}/share"
  -P "${PROJECT_SOURCE_DIR}/cmake/ScalecalcWriteShare.cmake")
set_tests_properties("cli: help: what is installed" PROPERTIES LABELS cli)
