# train --grid: the best learning rate by size, in every form; folders to go on from; what is no grid.
# A process that trains in a folder locks its runs, so tests of one folder hold a RESOURCE_LOCK.
set(small --seeds 2 --steps 6 --heads 2 --sequence 8 --batch 2 --tokens 2000 --dropout 0
  --validation-batches 1)
set(grid train --grid lr=1e-3:1:x4 --widths 8,16 --parametrization mup ${small})
# Folders of an earlier build may have runs of another configuration.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/tuning")
add_test(NAME "cli: tuning: fresh folders" COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder})
set_tests_properties("cli: tuning: fresh folders" PROPERTIES LABELS cli
  FIXTURES_SETUP tuning_fresh)
add_test(NAME "cli: tuning: runs" COMMAND scalecalc_program ${grid} -o ${folder}/runs
  --plot ${folder}.svg)
set_tests_properties("cli: tuning: runs" PROPERTIES LABELS cli FIXTURES_SETUP tuning_runs
  FIXTURES_REQUIRED tuning_fresh)

set(keys "")
foreach(key axis others exponent standard_error fitted_sizes predicted because
    sizes.1.optimum.kind sizes.1.optimum.log_standard_error sizes.1.points.4.diverged)
  list(APPEND keys results.tuning.curves.0.${key})
endforeach()
list(APPEND keys results.tuning.keys.0 results.tuning.rates results.tuning.base.width
  results.tuning.runs.19.values.lr)
scalecalc_cli_test("tuning: as a table" ARGS ${grid} -o ${folder}/runs
  STDOUT "The best lr by width\n.*by the solver +0: each.*parametrization +mup\n.*width +best lr +from +to +loss.*lr +width 8 +width 16\n.*0.256 .*Text")
scalecalc_cli_test("tuning: as JSON" ARGS ${grid} -o ${folder}/runs --format json
  JSON ${keys} inputs.grid.lr.4 inputs.widths.1)
scalecalc_cli_test("tuning: as CSV" ARGS ${grid} -o ${folder}/runs --format csv
  STDOUT "^axis,width,layers,lr,loss,standard_error,seeds,diverged\nwidth,8,2,0.001,[0-9.]+,[0-9.]+,2,0\n.*width,16,2,0.256,")
scalecalc_cli_test("tuning: report as a table" ARGS report ${folder}/runs
  STDOUT "The best lr by width\n.*rates +each parameter's own, by the solver")
scalecalc_cli_test("tuning: report as JSON" ARGS report ${folder}/runs --format json
  JSON ${keys} results.finished)
scalecalc_cli_test("tuning: report as a page" ARGS report ${folder}/runs -o ${folder}/page.html
  STDOUT "The best lr by width")
scalecalc_cli_test("tuning: report's plot" ARGS report ${folder}/runs --plot ${folder}/report.svg
  STDOUT "The best lr by width")
scalecalc_cli_test("tuning: more values and sizes" ARGS train --grid lr=0.001,0.004,0.064,0.5
  --widths 8,16,24 --parametrization mup ${small} -o ${folder}/runs STDOUT "width 24\n.*0.5 ")
foreach(name "as a table" "as JSON" "as CSV" "report as a table" "report as JSON"
    "report as a page" "report's plot" "more values and sizes")
  set_tests_properties("cli: tuning: ${name}" PROPERTIES FIXTURES_REQUIRED tuning_runs
    RESOURCE_LOCK tuning_runs)
endforeach()
scalecalc_cli_test("tuning: two keys, two axes, one rate" ARGS train --grid lr=1e-2,1e-1,1
  --grid decay=0,0.1 --widths 8,16 --depths 1,2 --rates shared --parametrization depth-mup ${small}
  -o ${folder}/two STDOUT "The best lr by width, decay 0\n.*by the solver +-1: the largest.*The best lr by layers, decay 0.1\n.*The best of all\n.*depth +2 ")
scalecalc_cli_test("tuning: warm-up of a mixture" ARGS train --grid warmup=1,2,4 --depths 1,2
  --optimizer muon+adamw --lr 0.02+0.003 ${small} -o ${folder}/warmup
  STDOUT "The best warmup by layers\n.*by the solver +none: there is no rule for one warmup")
scalecalc_cli_test("tuning: every value diverges" ARGS train --grid lr=1e5,2e5,4e5 --widths 8,16
  --optimizer sgd ${small} -o ${folder}/lost
  STDOUT "power of the width +none: 0 of 2 sizes have a minimum inside of the grid\n.*own inits")
scalecalc_cli_test("tuning: a model's own placement" ARGS train --grid lr=1e-2,1e-1,1
  --model ${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml --depths 1,2 --seeds 1 --steps 2 --tokens 2000
  -o ${folder}/model --format json STDOUT "\"placements\": ?\\[[ \n]*\"post\"")
foreach(name "two keys, two axes, one rate" "warm-up of a mixture" "every value diverges" "a model's own placement")
  set_tests_properties("cli: tuning: ${name}" PROPERTIES FIXTURES_REQUIRED tuning_fresh)
endforeach()

# A folder is of one grid: other parametrisations, keys, rates, steps and bases are others'.
foreach(other "parametrization standard" "rates shared" "steps 7" "widths 16,32"
    "grid decay=0.1,0.2")
  string(REPLACE " " ";" other "${other}")
  list(GET other 0 option)
  set(words "")
  foreach(default "grid lr=1e-3:1:x4" "widths 8,16" "parametrization mup" "steps 6")
    string(REPLACE " " ";" default "${default}")
    list(GET default 0 name)
    list(GET default 1 value)
    if(NOT name STREQUAL option OR name STREQUAL "grid")
      list(APPEND words --${name} ${value})
    endif()
  endforeach()
  list(GET other 1 value)
  scalecalc_cli_error("tuning: a folder of another: ${option}" EXIT 2
    ARGS train ${words} --${option} ${value} --seeds 2 --heads 2 --sequence 8 --batch 2
      --tokens 2000 --dropout 0 --validation-batches 1 -o ${folder}/runs
    SAYS "the folder has a run of another configuration \\(.*-width.*; give the same options, or -o another")
  set_tests_properties("cli: wrong: tuning: a folder of another: ${option}" PROPERTIES
    FIXTURES_REQUIRED tuning_runs RESOURCE_LOCK tuning_runs)
endforeach()
# Several placements, each at its best.
set(best train --grid lr=1e-3,1e-2 --grid warmup=0,2 --placements post,pre --depths 1,2 --width 8
  ${small})
add_test(NAME "cli: tuning: placements" COMMAND scalecalc_program ${best} -o ${folder}/best
  --plot ${folder}-best.svg)
set_tests_properties("cli: tuning: placements" PROPERTIES LABELS cli FIXTURES_SETUP best_runs
  FIXTURES_REQUIRED tuning_fresh)
scalecalc_cli_test("tuning: placements as a table" ARGS ${best} -o ${folder}/best
  STDOUT "Each placement at its best\n +placement +layers +best lr +best warmup +converged +loss.*\n +pre +2 .*Held out:.*Which depth each reaches.*Which needs a warm-up")
scalecalc_cli_test("tuning: placements as JSON" ARGS ${best} -o ${folder}/best --format json
  JSON results.best.3.points.3.values.warmup results.best.0.held_out results.best.1.behind
  inputs.grid.warmup.1)
scalecalc_cli_test("tuning: placements as CSV" ARGS ${best} -o ${folder}/best --format csv
  STDOUT "^placement,layers,best lr,best warmup,converged,loss")
scalecalc_cli_test("tuning: report of placements" ARGS report ${folder}/best
  -o ${folder}/best.html STDOUT "Each placement at its best\n")
scalecalc_cli_test("tuning: report of placements as JSON" ARGS report ${folder}/best --format json
  JSON results.best.3.points.3.values.lr results.differences.0.key)
foreach(name "as a table" "as JSON" "as CSV")
  set_tests_properties("cli: tuning: placements ${name}" PROPERTIES FIXTURES_REQUIRED best_runs
    RESOURCE_LOCK best_runs)
endforeach()
foreach(name "" " as JSON")
  set_tests_properties("cli: tuning: report of placements${name}" PROPERTIES
    FIXTURES_REQUIRED best_runs RESOURCE_LOCK best_runs)
endforeach()
scalecalc_cli_error("tuning: another grid of placements" EXIT 2 ARGS train --grid lr=1e-3,1e-2
  --placements post,pre --depths 1,2 --width 8 ${small} -o ${folder}/best
  SAYS "another configuration")
set_tests_properties("cli: wrong: tuning: another grid of placements" PROPERTIES
  FIXTURES_REQUIRED best_runs RESOURCE_LOCK best_runs)
scalecalc_cli_error("tuning: placements in a folder of a grid" EXIT 2 ARGS train --placements pre
  --depths 2 --width 8 ${small} -o ${folder}/runs SAYS "another configuration")
set_tests_properties("cli: wrong: tuning: placements in a folder of a grid" PROPERTIES
  FIXTURES_REQUIRED tuning_runs RESOURCE_LOCK tuning_runs)

foreach(wrong IN ITEMS
    "lr|takes KEY=VALUES" "lr=|--grid lr must be a number" "=1,2,3|unknown number of a grid ''"
    "lrr=1,2,3|did you mean 'lr'" "lr=a,b,c|--grid lr must be a number"
    "lr=1,2,2|has a value twice" "lr=-1,1,2|--grid lr must be a number" "lr=0,1,2|must be a number"
    "lr=1e-3:1|as FROM:TO:xFACTOR" "lr=1e-3:1:2|as FROM:TO:xFACTOR" "lr=1:1e-3:x2|that rises"
    "lr=1e-3:1:x1|its factor" "lr=1e-3:1:x0.5|its factor" "lr=1e-300:1e6:x1.1|has over 100 values"
    "lr=0.1|lr has 1 value .*three at least" "lr=1,2|lr has 2 values"
    "lr=nan,1,2|must be a number" "lr=1,2,inf|must be a number"
    "decay=0,1,2|decay is 0, and its logarithm" "beta1=0.1,0.5,1|--grid beta1 must be a number"
    "warmup=0.5,1,2|--grid warmup must be an integer" "momentum=0.1,0.2,0.3|adamw has no momentum"
    "rest-lr=1,2,3|no second optimizer" "final=0.1,0.2,0.3|no final rate")
  string(REPLACE "|" ";" parts "${wrong}")
  list(GET parts 0 value)
  list(GET parts 1 says)
  scalecalc_cli_error("tuning: --grid ${value}" EXIT 2 SAYS "${says}"
    ARGS train --grid "${value}" --widths 8,16 --heads 2 --steps 6 --schedule constant -o x)
endforeach()
set(lr --grid lr=1e-3:1:x4)
scalecalc_cli_error("tuning: a key twice" EXIT 2 ARGS train ${lr} --grid lr=1,2,3 --widths 8,16 -o x
  SAYS "--grid has lr twice")
scalecalc_cli_error("tuning: one size" EXIT 2 ARGS train ${lr} --widths 8 -o x
  SAYS "--grid needs two sizes at least")
scalecalc_cli_error("tuning: no sizes" EXIT 2 ARGS train ${lr} -o x
  SAYS "--grid needs two sizes at least.*--widths 32,64,128 or --depths 2,4,8")
scalecalc_cli_error("tuning: widths that are none" EXIT 2 ARGS train ${lr} --widths 8,x -o x
  SAYS "--widths")
scalecalc_cli_error("tuning: a width of no heads" EXIT 2 ARGS train ${lr} --widths 8,17 -o x
  SAYS "heads must divide width \\(heads 4, width 17\\) \\(--widths\\)")
scalecalc_cli_error("tuning: a width of no whole layer" EXIT 2 SAYS "would become"
  ARGS train ${lr} --widths 8,16 --ffn 33 -o x)
scalecalc_cli_error("tuning: a width beside widths" EXIT 2 SAYS "a list of the same"
  ARGS train ${lr} --widths 8,16 --width 8 -o x)
scalecalc_cli_error("tuning: two placements" EXIT 2 SAYS "a grid is of one placement"
  ARGS train ${lr} --widths 8,16 --placements pre,post -o x)
scalecalc_cli_error("tuning: a parametrisation of no name" EXIT 2 SAYS "did you mean 'mup'"
  ARGS train ${lr} --widths 8,16 --parametrization mupp -o x)
scalecalc_cli_error("tuning: the solver's rates of nothing" EXIT 2 SAYS "add --parametrization mup"
  ARGS train ${lr} --widths 8,16 --rates solved -o x)
scalecalc_cli_error("tuning: rates of no name" EXIT 2 SAYS "did you mean 'solved'"
  ARGS train ${lr} --widths 8,16 --parametrization mup --rates solve -o x)
scalecalc_cli_error("tuning: a rate beside rates" EXIT 2 SAYS "--grid lr says it \\(--lr\\)"
  ARGS train ${lr} --widths 8,16 --lr 0.1 -o x)
scalecalc_cli_error("tuning: decay beside decays" EXIT 2 SAYS "--grid decay says it \\(--decay\\)"
  ARGS train ${lr} --grid decay=0,1 --widths 8,16 --decay 0.1 -o x)
scalecalc_cli_error("tuning: a loss to reach" EXIT 2 SAYS "a grid compares the losses at the end"
  ARGS train ${lr} --widths 8,16 --target-loss 3 -o x)
scalecalc_cli_error("tuning: too many runs" EXIT 2 SAYS "the number of runs is 1000"
  ARGS train ${lr} --widths 8,16 --seeds 100 -o x)
foreach(option "widths 8,16" "parametrization mup" "rates solved")
  string(REPLACE " " ";" words "${option}")
  list(GET words 0 name)
  list(GET words 1 value)
  scalecalc_cli_error("tuning: --${name} without a grid" EXIT 2
    ARGS train --${name} ${value} -o x SAYS "it is of a grid, and there is none \\(--${name}\\)")
endforeach()
