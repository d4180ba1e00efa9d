# Lists of values: a list gives what its values give one by one, at every option that takes one.
foreach(command activation solve propagate compare init verify deepnorm sweep convention all)
  add_test(NAME "cli: lists: ${command}" COMMAND Python3::Interpreter
    "${CMAKE_CURRENT_LIST_DIR}/lists.py" "$<TARGET_FILE:scalecalc_program>" ${command})
  set_tests_properties("cli: lists: ${command}" PROPERTIES LABELS cli COST 30
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()

# What is wrong with a list, or with one of its entries.
set(lists deepnorm --layers 12,24)
scalecalc_cli_error("list: an entry that is no depth" EXIT 2 ARGS deepnorm --layers 12,abc
  SAYS "integer.*got 'abc'; at --layers abc")
scalecalc_cli_error("list: an unknown name" EXIT 2 ARGS ${lists} --optimizer adam,adm
  SAYS "unknown optimizer 'adm' .--optimizer; at --layers 12 --optimizer adm.; did you mean 'adam'")
scalecalc_cli_error("list: an unknown model" EXIT 2 ARGS propagate mlp-relu gpt3
  SAYS "gpt3.*at MODEL gpt3")
scalecalc_cli_error("list: a seed that is none" EXIT 2 ARGS propagate mlp-relu --seed 1,x
  SAYS "--seed must be an integer.*at --seed x")
scalecalc_cli_error("list: an unknown device" EXIT 2 ARGS verify mlp-relu --device cpu,xpu
  SAYS "unknown device 'xpu' .--device; at --device xpu")
scalecalc_cli_error("list: an empty entry" EXIT 2 ARGS deepnorm --layers 12,,24
  SAYS "an entry of a list is empty .--layers.")
scalecalc_cli_error("list: a comma at the end" EXIT 2 ARGS deepnorm --layers 12,
  SAYS "an entry of a list is empty .--layers.")
scalecalc_cli_error("list: an entry twice" EXIT 2 ARGS deepnorm --layers 12,24,12
  SAYS "comes twice .--layers 12.")
scalecalc_cli_error("list: an argument twice" EXIT 2 ARGS activation gelu gelu SAYS "comes twice")
scalecalc_cli_error("list: too many combinations" EXIT 2
  ARGS deepnorm --layers 1,2,3,4,5,6,7,8,9 --width 8,16,24,32,40,48,56,64
  SAYS "72 combinations, and 64 is the most .9 of --layers, 8 of --width.")
scalecalc_cli_error("list: explain" EXIT 2 ARGS ${lists} --explain
  SAYS "--explain belongs to one result")
scalecalc_cli_error("list: code" EXIT 2 ARGS init gpt2 llama --target pytorch
  SAYS "--target (belongs to one result|pytorch is a text)")
scalecalc_cli_error("list: weights" EXIT 2 ARGS init gpt2 llama --weights w.safetensors
  SAYS "--weights belongs to one result")
scalecalc_cli_error("list: brackets left open" EXIT 2 ARGS ${lists} --optimizer "max(g,0,adam"
  SAYS "unknown symbol 'adam'")
scalecalc_cli_error("list: a command without lists" EXIT 2 ARGS audit w --model gpt2 --layers 2,3
  SAYS "got '2,3'")
scalecalc_cli_error("list: more curves than looks" EXIT 2
  ARGS propagate mlp-relu --layers 1,2,3,4,5,6,7,8,9,10,11,12,13 --plot lists.svg
  SAYS "24 different curves, and these are 26")
scalecalc_cli_error("compare: one model" EXIT 2 ARGS compare gpt2 SAYS "nothing to compare")
scalecalc_cli_error("compare: nothing" EXIT 2 ARGS compare SAYS "nothing to compare")
scalecalc_cli_error("compare: an unknown model" EXIT 2 ARGS compare mlp-relu gpt3
  SAYS "gpt3.*at MODEL gpt3")

scalecalc_cli_test("list: commas in brackets" ARGS deepnorm --layers 4 --optimizer "max(g,0),adam"
  --format csv STDOUT "optimizer,.*\n\"max.g,0.\",.*\nadam,")
scalecalc_cli_test("list: differences" ARGS ${lists} STDOUT "alpha  *x 1.414 .*differs: x R")
scalecalc_cli_test("list: axes as fields" ARGS ${lists} --optimizer adam,muon --format json
  JSON results.rows.3.layers results.rows.3.optimizer results.rows.3.results.alpha
  results.quantities.0.ratio)
scalecalc_cli_test("list: a missing site" ARGS propagate mlp-relu --layers 1,2
  STDOUT "layer.1..act  *!=  *missing")
scalecalc_cli_test("compare: fields, parameters, sites" ARGS compare pre-ln-12 post-ln-12 --layers 1
  STDOUT "parameter_count.*fields.*placement  *!=  *pre  *post.*init: std.*sites: grad_second")
scalecalc_cli_test("compare: standard input beside itself" EXIT 2 ARGS compare - -
  STDERR "comes twice")
