# What each option of the commands that work things out makes of numbers that are wrong or extreme.
add_test(NAME "cli: extreme values" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/extreme_values.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: extreme values" PROPERTIES LABELS cli TIMEOUT 300 PROCESSORS 2
  ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
