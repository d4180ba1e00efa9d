# The JSON of every command beside its schema.
scalecalc_cli_test("schema: the list of all" ARGS schema --format json JSON results.schemas)
scalecalc_cli_test("schema: of a command" ARGS schema verify STDOUT "\"\\$id\": \"urn:scalecalc:")
scalecalc_cli_error("schema of no command" EXIT 2 SAYS "did you mean 'verify'" ARGS schema verfy)
scalecalc_cli_error("schema of a command without JSON" EXIT 2 SAYS "a text alone"
  ARGS schema completion)
scalecalc_cli_test("schema: in another format" ARGS schema verify --format csv EXIT 2
  STDERR "a schema is JSON")
foreach(check form outputs strict)
  add_test(NAME "cli: schema: ${check}" COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_LIST_DIR}/schema.py" "$<TARGET_FILE:scalecalc_program>" ${check}
    "${CMAKE_CTEST_COMMAND}" "${PROJECT_BINARY_DIR}")
  set_tests_properties("cli: schema: ${check}" PROPERTIES LABELS cli
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
