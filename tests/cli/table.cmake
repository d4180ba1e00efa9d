scalecalc_cli_test("table: one as JSON" ARGS table activations --format json
  JSON results.activations.0.gain_second results.activations.0.second_formula)
scalecalc_cli_test("table: one as Markdown" ARGS table optimizers --format md
  STDOUT "| adam \\| post \\| symmetric \\|")
scalecalc_cli_test("table: those of this repository are what the program makes"
  ARGS table --all --compare -o "${PROJECT_SOURCE_DIR}/tables" STDOUT "are what this program makes")
scalecalc_cli_test("table: an empty folder differs" EXIT 1
  ARGS table --all --compare -o "${CMAKE_CURRENT_SOURCE_DIR}" --format json
  JSON results.different.0 results.passed)
scalecalc_cli_error("table: which" EXIT 2 SAYS "which table" ARGS table)
scalecalc_cli_error("table: a name with a slip" EXIT 2 SAYS "did you mean 'activations'"
  ARGS table activation)
scalecalc_cli_error("table: --all without a folder" EXIT 2 SAYS "needs a folder" ARGS table --all)
scalecalc_cli_error("table: --all into nowhere" EXIT 2 SAYS "no such folder"
  ARGS table --all -o /nowhere/at/all)
scalecalc_cli_error("table: --all and a name" EXIT 2 SAYS "both given"
  ARGS table init --all -o "${CMAKE_CURRENT_BINARY_DIR}/no-table")
scalecalc_cli_error("table: --compare of one" EXIT 2 SAYS "belongs to --all"
  ARGS table init --compare)
