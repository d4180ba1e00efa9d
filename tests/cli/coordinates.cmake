set(stack mlp-relu --layers 3 --features 8 --classes 4 --sequence 4 --seeds 2 --steps 2)
scalecalc_cli_test("coordinates: what a model keeps does not fit" EXIT 1
  ARGS coordinates ${stack} --widths 8,16,32 --optimizer adamw
  STDOUT "lr +1 +r_n\\^-1 +0.001 -> 0.00025 +layer\\[\\*\\].linear.weight, head.weight")
scalecalc_cli_test("coordinates: a parametrisation does" ARGS coordinates ${stack}
  --widths 8:32:x2 --optimizer adamw --parametrization mup STDOUT "every number goes with the width")
scalecalc_cli_test("coordinates: json" ARGS coordinates pre-ln-12 --width 16 --heads 2 --sequence 4
  --vocab 8 --depths 2,4 --optimizer muon+adamw --lr 1e-3 --parametrization complete-p --seeds 2
  --steps 1 --dropout 0 --format json
  JSON results.holds results.checks.0.axis results.checks.0.sites.0.points.0.predicted_change
    results.checks.0.sites.0.rms_laws.0.exponent results.checks.0.loss.1.1
    results.checks.0.findings results.checks.0.remarks)
scalecalc_cli_test("coordinates: widths and depths" ARGS coordinates ${stack} --widths 8,16
  --depths 2,3 --optimizer sgd --parametrization mup --format csv STDOUT "depth,3,2,head,")
scalecalc_cli_test("coordinates: one seed has no error" ARGS coordinates mlp-relu --layers 2
  --widths 8,16 --optimizer sgd --parametrization mup --seeds 1 --steps 1 STDOUT "grows most")
scalecalc_cli_test("coordinates: two rates" ARGS coordinates mlp-relu --layers 3 --widths 8,16
  --optimizer muon+adamw --lr 2e-2+1e-03 --parametrization mup --seeds 1 --steps 1
  STDOUT "lr +0.02, and 0.001 of the rest")
scalecalc_cli_error("coordinates: two rates of one optimizer" EXIT 2 SAYS "--lr must be a number"
  ARGS coordinates mlp-relu --widths 8,16 --optimizer adamw --lr 0.02+0.001)
foreach(wrong IN ITEMS
    "widths|64|two sizes" "widths|64,32,x|integers" "widths|0,4|integers" "depths|4|two sizes"
    "optimizer|adamm|unknown optimizer" "parametrization|mu-p|unknown parametrization"
    "lr|-1|--lr" "lr|0|--lr" "lr|nan|--lr" "steps|0|--steps" "seeds|0|--seeds")
  string(REPLACE "|" ";" parts "${wrong}")
  list(GET parts 0 option)
  list(GET parts 1 value)
  list(GET parts 2 says)
  set(others --widths 8,16 --optimizer sgd)
  if(option STREQUAL "widths")
    set(others --optimizer sgd)
  elseif(option STREQUAL "optimizer")
    set(others --widths 8,16)
  endif()
  scalecalc_cli_error("coordinates: --${option} ${value}" EXIT 2 SAYS "${says}"
    ARGS coordinates mlp-relu ${others} --${option} "${value}")
endforeach()
scalecalc_cli_error("coordinates: no sizes" EXIT 2 SAYS "sizes are missing"
  ARGS coordinates gpt2 --optimizer adamw)
scalecalc_cli_test("coordinates: sizes in any order, the smallest is the first" EXIT 1
  ARGS coordinates mlp-relu --layers 2 --widths 64,32 --optimizer sgd --steps 1 --seeds 2 --format json
  STDOUT "32\\.0,[ \n]*64\\.0")
scalecalc_cli_error("coordinates: an optimizer that is none, by its option" EXIT 2
  SAYS "unknown optimizer 'sdg' .--optimizer.; did you mean 'sgd'"
  ARGS coordinates mlp-relu --widths 64,128 --optimizer sdg)
scalecalc_cli_error("coordinates: three optimizers" EXIT 2
  SAYS "of two optimizers, not of more .--optimizer muon.adamw.sgd"
  ARGS coordinates mlp-relu --widths 64,128 --optimizer muon+adamw+sgd)
scalecalc_cli_error("coordinates: no optimizer" EXIT 2 SAYS "--optimizer is missing"
  ARGS coordinates gpt2 --widths 96,192)
scalecalc_cli_error("coordinates: no model" EXIT 2 SAYS "a model is missing"
  ARGS coordinates --widths 96,192 --optimizer adamw)
scalecalc_cli_error("coordinates: a width of no heads" EXIT 2 SAYS "\\(--widths\\)"
  ARGS coordinates gpt2 --widths 64,128 --optimizer adamw)
# Of a list with several widths the least is the one that is named.
scalecalc_cli_test("coordinates: widths of a list that has several" EXIT 1
  STDOUT "resnet-v1 by its width.*grows most"
  ARGS coordinates resnet-v1 --widths 16,32 --optimizer adamw --seeds 1 --steps 1)
scalecalc_cli_error("coordinates: a width beside widths" EXIT 2 SAYS "a list of the same"
  ARGS coordinates gpt2 --width 96 --widths 96,192 --optimizer adamw)

file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/measured.csv" "width,module,t,l1
64,fc,1,1.0
128,fc,1,1.01
256,fc,1,0.99
64,fc,4,1.0
128,fc,4,1.4
256,fc,4,2.0
64,readout,1,1
128,readout,1,0.7
256,readout,1,0.5
64,readout,4,1
128,readout,4,0.7
256,readout,4,0.5
")
scalecalc_cli_test("coordinates: a table that was measured" EXIT 1
  ARGS coordinates --measured "${CMAKE_CURRENT_BINARY_DIR}/measured.csv"
  STDOUT "fc .*0.50 .* grows in training +learning rate of the weights that make it")
scalecalc_cli_test("coordinates: a table, json" EXIT 1
  ARGS coordinates --measured "${CMAKE_CURRENT_BINARY_DIR}/measured.csv" --format json
  JSON inputs.measured results.measured.sites.0.last.exponent results.measured.sites.1.trend)
scalecalc_cli_error("coordinates: a table beside a model" EXIT 2 SAYS "runs nothing"
  ARGS coordinates gpt2 --measured "${CMAKE_CURRENT_BINARY_DIR}/measured.csv")
scalecalc_cli_error("coordinates: a table beside seeds" EXIT 2 SAYS "runs nothing"
  ARGS coordinates --seeds 2 --measured "${CMAKE_CURRENT_BINARY_DIR}/measured.csv")
scalecalc_cli_error("coordinates: a table that is not there" EXIT 2 SAYS "no-such.csv"
  ARGS coordinates --measured no-such.csv)
scalecalc_cli_error("coordinates: a table of something else" EXIT 2 SAYS "no CSV"
  ARGS coordinates --measured "${PROJECT_SOURCE_DIR}/tables/presets/gpt2.toml")
