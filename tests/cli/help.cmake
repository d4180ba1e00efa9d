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
set_tests_properties("cli: tables on a terminal" PROPERTIES LABELS cli
  ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
scalecalc_cli_error("help of no command" EXIT 2 SAYS "did you mean 'verify'" ARGS help verfy)
scalecalc_cli_test("help as Markdown" ARGS help verify --format md STDOUT "## ")
