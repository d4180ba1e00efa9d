# The command report: its table, its page in a browser, folders that are none.
set(tiny "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml")
set(plots "${CMAKE_CURRENT_BINARY_DIR}/plots")
foreach(command train report)
  scalecalc_cli_test("${command} has --plot" ARGS ${command} --help STDOUT "--plot FILE")
endforeach()

# One experiment for all tests of report.
set(runs "${CMAKE_CURRENT_BINARY_DIR}/report_runs")
add_test(NAME "cli: report: fresh folder" COMMAND ${CMAKE_COMMAND} -E rm -rf ${runs})
add_test(NAME "cli: report: runs" COMMAND scalecalc_program train --placements post,pre
  --depths 1,3 --seeds 2 --steps 20 --record-every 5 --width 8 --heads 2 --sequence 8 --batch 2
  --tokens 2000 --validation-batches 1 -o ${runs} --plot ${plots}/train.svg)
set_tests_properties("cli: report: fresh folder" PROPERTIES LABELS cli
  FIXTURES_SETUP fresh_report_runs)
set_tests_properties("cli: report: runs" PROPERTIES LABELS cli FIXTURES_SETUP report_runs
  FIXTURES_REQUIRED fresh_report_runs)
scalecalc_cli_test("report as a table" ARGS report ${runs}
  STDOUT "post, pre at 1, 3 blocks\n.*placement +layers +outcome +as forecast +steps to [0-9.]+ +perplexity.*rises.*said +layers +post +pre +here.*predicted norm.*layers +probability +signal.*model.placement +\"pre\" +\"post\"")
scalecalc_cli_test("report as JSON" ARGS report ${runs} --format json
  JSON results.cells.3.perplexity_standard_error results.gradients.0.predicted
  results.gradients.0.measured_standard_error results.courses.3.rises results.differences.0.key inputs.target_loss)
scalecalc_cli_test("report as CSV" ARGS report ${runs} --format csv
  STDOUT "^placement,layers,outcome,as forecast,steps to [0-9.]+,perplexity,standard error\npost,1,")
scalecalc_cli_test("report as Markdown" ARGS report ${runs} --format md STDOUT "\\| post \\|")
scalecalc_cli_test("report as LaTeX" ARGS report ${runs} --format latex STDOUT "post &")
scalecalc_cli_test("report: a loss that all reach" ARGS report ${runs} --target-loss 100
  STDOUT "steps to 100.*post +1 [^\n]+ 1 +[0-9]")
scalecalc_cli_test("report: its plots" ARGS report ${runs} --plot ${plots}/report.svg
  STDOUT "Placement experiment")
foreach(case table JSON CSV Markdown LaTeX)
  string(REPLACE "table" "a table" case "${case}")
  set_tests_properties("cli: report as ${case}" PROPERTIES FIXTURES_REQUIRED report_runs)
endforeach()
set_tests_properties("cli: report: a loss that all reach" "cli: report: its plots" PROPERTIES
  FIXTURES_REQUIRED report_runs)

scalecalc_cli_error("report without a folder" EXIT 2 ARGS report SAYS "DIR is missing")
scalecalc_cli_error("report: no such folder" EXIT 2 ARGS report none
  SAYS "no such folder \\(none\\); give the folder that scalecalc train -o has filled")
scalecalc_cli_error("report: a file" EXIT 2 ARGS report ${tiny} SAYS "it is no folder")
scalecalc_cli_error("report: another folder" EXIT 2 ARGS report ${CMAKE_CURRENT_SOURCE_DIR}
  SAYS "no runs in the folder")
scalecalc_cli_error("report: a wrong loss" EXIT 2 ARGS report none --target-loss x
  SAYS "--target-loss must be")
foreach(case page unfinished damaged mixed browser)
  add_test(NAME "cli: report: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}" "-DRUNS=${runs}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/report_${case}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/report_case.cmake")
  set_tests_properties("cli: report: ${case}" PROPERTIES LABELS cli FIXTURES_REQUIRED report_runs
    SKIP_REGULAR_EXPRESSION "skipped: ")
endforeach()
