# --plot, and curves in tables.
set(tiny "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml")
set(plots "${CMAKE_CURRENT_BINARY_DIR}/plots")
file(MAKE_DIRECTORY "${plots}")

foreach(case svg gp png pdf no_converter injection curves one_file)
  add_test(NAME "cli: plot: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}" "-DTINY=${tiny}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/plot_${case}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/plot_case.cmake")
  set_tests_properties("cli: plot: ${case}" PROPERTIES LABELS cli
    SKIP_REGULAR_EXPRESSION "skipped: ")
endforeach()

foreach(command propagate verify sweep activation)
  scalecalc_cli_test("${command} has --plot" ARGS ${command} --help STDOUT "--plot FILE")
endforeach()
scalecalc_cli_error("plot: unknown extension" EXIT 2 ARGS activation relu --plot a.eps
  SAYS "no plot has this extension \\(--plot a\\.eps\\); use \\.svg, \\.png or \\.pdf, or \\.gp for a gnuplot script")
scalecalc_cli_error("plot: no extension" EXIT 2 ARGS propagate ${tiny} --plot plot
  SAYS "no plot has this extension")
scalecalc_cli_error("plot: no folder" EXIT 3 ARGS activation relu --plot /none/a.svg
  SAYS "cannot write the results \\(--plot /none/a\\.svg: No such file or directory\\); give --plot a path")
scalecalc_cli_error("plot: a folder" EXIT 3 ARGS verify ${tiny} --plot /dev/null/a.svg
  SAYS "--plot /dev/null/a\\.svg: Not a directory")
scalecalc_cli_error("plot of formulas" EXIT 2
  ARGS propagate ${tiny} --engine symbolic --plot ${plots}/a.svg SAYS "formulas are not drawn")
scalecalc_cli_error("curves: when" EXIT 2 ARGS propagate mlp-relu --curves sometimes
  SAYS "--curves.*auto, always")
