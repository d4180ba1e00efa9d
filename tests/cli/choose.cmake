# Questions on a terminal, and the commands that are printed.
foreach(check terminal pairs)
  add_test(NAME "cli: choose: ${check}" COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_LIST_DIR}/choose.py" "$<TARGET_FILE:scalecalc_program>" ${check})
  set_tests_properties("cli: choose: ${check}" PROPERTIES LABELS cli
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
scalecalc_cli_error("choose without a terminal" EXIT 2 SAYS "no terminal to ask on" ARGS choose)
scalecalc_cli_error("choose: code for no goal" EXIT 2 SAYS "no code is made"
  ARGS choose --goal check --framework c --defaults)
scalecalc_cli_error("choose: a width of no heads" EXIT 2 SAYS "multiple of 8"
  ARGS choose --width 100 --defaults)
scalecalc_cli_error("choose: too deep" EXIT 2 SAYS "from 1 to 1000"
  ARGS choose --layers 1001 --defaults)
