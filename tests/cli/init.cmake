scalecalc_cli_test("init: a plan as JSON" ARGS init gpt2 --target json
  JSON results.parameters.0.path results.parameters.0.shape results.parameters.0.distribution
       results.parameters.0.std results.parameters.0.gain results.parameters.0.formula
       results.parameters.0.name results.scales)
scalecalc_cli_test("init: a plan as CSV" ARGS init mlp-relu --target csv
  STDOUT "^path,name,role,shape,distribution,std,mean,bound,gain,fan_rule,formula")
scalecalc_cli_test("init: a table" ARGS init bert-base STDOUT "block\\[\\*\\].attn.q.weight +12")
scalecalc_cli_test("init: the residual projections of GPT-2" ARGS init gpt2
  STDOUT "0.004082483 .*\\(2\\*N\\)\\^\\(-1/2\\)/50")
foreach(words "--target;c;-o;x.json" "--target;pytorch;-o;x.csv" "--target;json;-o;x.csv"
    "--target;pytorch;--format;json" "--target;hf;-o;x.md")
  string(REPLACE ";" " " shown "${words}")
  scalecalc_cli_test("init: ${shown} contradicts itself" ARGS init gpt2 ${words} EXIT 2
    STDERR "^scalecalc: --target [^\n]+\n$")
endforeach()
scalecalc_cli_test("init: code into a device" ARGS init gpt2 --target c -o /dev/null)
scalecalc_cli_test("init: a table into a file of no format" ARGS init gpt2 -o x.xyz EXIT 2
  STDERR "no format has the extension .xyz")
scalecalc_cli_test("init: alpha and lambda of a depth" ARGS init deepnet-encoder --layers 100
  --alpha auto --lambda auto --optimizer adam --target pytorch STDOUT "14.142135623730951")
scalecalc_cli_test("init: without a seed" ARGS init mlp-relu --target pytorch --seedless
  STDOUT "SEED = None")
scalecalc_cli_test("init: with a seed" ARGS init mlp-relu --target pytorch --seed 11
  STDOUT "SEED = 11")
scalecalc_cli_test("init: other names" ARGS init gpt2 --names nanogpt --target csv
  STDOUT "h.0.attn.c_attn.weight,q,768x768")
scalecalc_cli_test("init: a configuration" ARGS init gpt2 --target hf JSON model_type
  _scalecalc.not_expressed)

scalecalc_cli_error("init: no model" EXIT 2 SAYS "a model is missing" ARGS init)
scalecalc_cli_error("init: a target with a slip" EXIT 2 SAYS "did you mean 'pytorch'"
  ARGS init gpt2 --target pytroch)
scalecalc_cli_error("init: names with a slip" EXIT 2 SAYS "did you mean 'hf-gpt2'"
  ARGS init gpt2 --names hf-gtp2)
scalecalc_cli_test("init: an mlp for megatron" EXIT 2 STDERR "words for transformers alone"
  ARGS init mlp-relu --target megatron)
scalecalc_cli_test("init: hf without a model's names" EXIT 2 STDERR "which model's configuration"
  ARGS init pre-ln-12 --target hf)
scalecalc_cli_test("init: code has no other format" ARGS init gpt2 --target pytorch --format csv
  EXIT 2 STDERR "is a text of its own")
scalecalc_cli_test("init: two formats" ARGS init gpt2 --target csv --format md
  EXIT 2 STDERR "another --format")

find_package(Python3 COMPONENTS Interpreter)
function(scalecalc_generated_test model target suffix)
  add_test(NAME "cli: init ${model} --target ${target} is read by its compiler"
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DMODEL=${model}"
    "-DTARGET=${target}" "-DSUFFIX=${suffix}" "-DCOMPILER=${ARGN}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/generated.cmake")
  set_tests_properties("cli: init ${model} --target ${target} is read by its compiler"
    PROPERTIES LABELS cli)
endfunction()
foreach(model gpt2 resnet-v1 mlp-relu)
  scalecalc_generated_test(${model} c .c "${CMAKE_CXX_COMPILER}" -x c -std=c99 -Wall -Wextra
    -Werror -Wno-unused-variable -pedantic -c -o generated_${model}.o)
  foreach(target pytorch flax keras)
    if(Python3_FOUND)
      scalecalc_generated_test(${model} ${target} .py "${Python3_EXECUTABLE}" -m py_compile)
    endif()
  endforeach()
endforeach()

scalecalc_cli_test("init: weights" ARGS init mlp-relu --weights
  "${CMAKE_CURRENT_BINARY_DIR}/drawn.safetensors" --dtype bf16 STDOUT "how its parameters start")
scalecalc_cli_error("init: weights without a seed" EXIT 2 SAYS "takes it away"
  ARGS init mlp-relu --weights "${CMAKE_CURRENT_BINARY_DIR}/none.safetensors" --seedless)
scalecalc_cli_error("init: a type without weights" EXIT 2 SAYS "belongs to --weights"
  ARGS init mlp-relu --dtype f16)
scalecalc_cli_error("init: weights of no type" EXIT 2 SAYS "unknown dtype"
  ARGS init mlp-relu --weights "${CMAKE_CURRENT_BINARY_DIR}/none.safetensors" --dtype f8)
scalecalc_cli_error("init: weights into nowhere" EXIT 3 SAYS "nowhere"
  ARGS init mlp-relu --weights /nowhere/x.safetensors)

scalecalc_cli_test("init: groups of parameters from a smaller model" ARGS init gpt2
  --target pytorch --transfer-from width=192,layers=4 --optimizer adamw
  STDOUT "from width 192 to 768, from depth 4 to 12, under mup, for adamw")
scalecalc_cli_test("init: muon with a factor of its own" ARGS init gpt2 --target pytorch
  --transfer-from width=192 --optimizer muon+adamw --muon-scale match_rms
  STDOUT "step=Step\\(0.5, [0-9.]+, [0-9.]+, .muon.\\)")
scalecalc_cli_test("init: a factor of muon's without muon" EXIT 2 STDERR "is not muon" ARGS init gpt2
  --target pytorch --transfer-from width=192 --optimizer adamw --muon-scale shape)
scalecalc_cli_test("init: a factor of muon's without a base" EXIT 2 STDERR
  "belongs to --transfer-from" ARGS init gpt2 --target pytorch --muon-scale shape)
add_test(NAME "cli: init: the steps of a transferred C header compile" COMMAND ${CMAKE_COMMAND}
  "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" -DMODEL=bert-base -DTARGET=c -DSUFFIX=_steps.c
  "-DOPTIONS=--transfer-from;width=192;--optimizer;muon+adamw"
  "-DCOMPILER=${CMAKE_CXX_COMPILER};-x;c;-std=c99;-Wall;-Wextra;-Werror;-Wno-unused-variable;-pedantic;-c;-o;steps.o"
  "-DWORK=${CMAKE_CURRENT_BINARY_DIR}" -P "${CMAKE_CURRENT_LIST_DIR}/generated.cmake")
set_tests_properties("cli: init: the steps of a transferred C header compile" PROPERTIES LABELS cli)
scalecalc_cli_test("init: optax from a smaller model" ARGS init gpt2 --target flax
  --transfer-from width=192 --optimizer adamw STDOUT "def multi_transform")
scalecalc_cli_test("init: a Keras optimizer from a smaller model" ARGS init gpt2 --target keras
  --transfer-from width=192 --optimizer adamw STDOUT "def make_optimizer")
scalecalc_cli_test("init: a base for Megatron" EXIT 2 STDERR "for pytorch, flax, keras or c"
  ARGS init gpt2 --target megatron --transfer-from width=192)
scalecalc_cli_error("init: a base for a table" EXIT 2 SAYS "writes code for pytorch"
  ARGS init gpt2 --transfer-from width=192)
scalecalc_cli_test("init: a parametrization without a base" EXIT 2 STDERR
  "belongs to --transfer-from" ARGS init gpt2 --target pytorch --parametrization mup)
scalecalc_cli_test("init: a base of an unknown size" EXIT 2 STDERR "did you mean 'width'"
  ARGS init gpt2 --target pytorch --transfer-from wdth=192)
scalecalc_cli_test("init: a base of no such width" EXIT 2 STDERR "heads must divide width"
  ARGS init gpt2 --target pytorch --transfer-from width=190)
scalecalc_cli_test("init: a base of fewer tokens" EXIT 2 STDERR "has no number of tokens"
  ARGS init gpt2 --target pytorch --transfer-from tokens=1e6)
scalecalc_cli_test("init: a base twice" EXIT 2 STDERR "names the width twice"
  ARGS init gpt2 --target pytorch --transfer-from width=192,width=384)
scalecalc_cli_test("init: a base and drawn weights" EXIT 2 STDERR "leave one of the two out"
  ARGS init gpt2 --target pytorch --transfer-from width=192 --weights
  "${CMAKE_CURRENT_BINARY_DIR}/none.safetensors")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/two_widths.toml" "[model]
kind = \"layers\"
features = 32
batch = 4
[[layer]]
type = \"linear\"
width = 64
[[layer]]
type = \"linear\"
width = 256
[[layer]]
type = \"linear\"
width = 10
")
scalecalc_cli_test("init: a base of several widths is named by its least" ARGS init
  "${CMAKE_CURRENT_BINARY_DIR}/two_widths.toml" --target pytorch --transfer-from width=16
  --optimizer adamw STDOUT "from width 16 to 64.*Step\\(0.25")
