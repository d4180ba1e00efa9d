# A config.json of another library in place of a model.
set(config "${CMAKE_CURRENT_LIST_DIR}/config.json")
scalecalc_cli_test("config: tensors" ARGS init ${config} --format csv
  STDOUT "model.layers.1.mlp.down_proj.weight,32x64,normal,0,0.02,normal.initializer_range.,")
scalecalc_cli_test("config: tied tensors" ARGS init ${config} --format json
  STDOUT "\"tied\": \"lm_head.weight\"")
scalecalc_cli_test("config: as a model file in JSON" ARGS import ${config} --format json
  JSON results.toml)
scalecalc_cli_test("config: as a model file" ARGS import ${config}
  STDOUT "layers = 2.*rotary_base = 10000")
scalecalc_cli_test("config: propagated" ARGS propagate ${config} --layers 3
  STDOUT "transformer of 3 blocks, width 32")
scalecalc_cli_test("config: verified" ARGS verify ${config} --seeds 8 STDOUT "Passed")
scalecalc_cli_test("config: with an option it is the model that is planned"
  ARGS init ${config} --width 64 STDOUT "block...\\.attn\\.q\\.weight")
foreach(target pytorch hf)
  scalecalc_cli_test("config: code for ${target}" ARGS init ${config} --target ${target}
    STDOUT "Rule.\"model.layers.{i}.mlp.up_proj.weight\", None, 2, .64, 32., 0, False")
endforeach()
scalecalc_cli_test("config: code for an architecture that is no model"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/moe_config.json" --target pytorch --seedless
  STDOUT "SEED = None.*Rule.\"model.layers.{i}.mlp.experts.down_proj\"")
scalecalc_cli_test("config: code for a mixture of experts"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/mixtral_config.json" --target pytorch --seedless
  STDOUT "SEED = None.*Rule.\"model.layers.{i}.mlp.experts.down_proj\"")
foreach(target flax keras megatron c)
  scalecalc_cli_test("config: ${target} of an architecture that is no model" EXIT 2
    STDERR "no model file describes this deepseek_v3: .*scalecalc init .* lists its tensors"
    ARGS init "${CMAKE_CURRENT_LIST_DIR}/moe_config.json" --target ${target})
  scalecalc_cli_test("config: ${target}" ARGS init ${config} --target ${target} STDOUT "2 layers")
endforeach()
foreach(target pytorch hf)
  scalecalc_cli_test("config: code for ${target} with what options change"
    ARGS init ${config} --lambda 1/2 --target ${target}
    STDOUT "v_proj.weight[^P]*Part.32, .normal., .0.0, 0.01.")
endforeach()
scalecalc_cli_test("config: code of another depth is the library's of that depth"
  ARGS init ${config} --layers 3 --target pytorch
  STDOUT "Rule.\"model.layers.{i}.mlp.up_proj.weight\", None, 3")
scalecalc_cli_test("config: code of another model has the library's names"
  ARGS init ${config} --bias --target pytorch STDOUT "Rule.\"layers.{i}.mlp.up_proj.bias\", None, 2")
scalecalc_cli_test("config: a configuration of another model" ARGS init ${config} --bias
  --target hf JSON model_type _scalecalc.not_expressed)
scalecalc_cli_test("config: a configuration by its names" ARGS init ${config} --names hf-llama
  --target hf JSON model_type _scalecalc.not_expressed)
scalecalc_cli_test("config: the library's names" ARGS init ${config} --width 64 --format csv
  STDOUT "block.0..attn.q.weight,layers.0.self_attn.q_proj.weight")
scalecalc_cli_test("config: the library's names by one word" ARGS init ${config} --names hf --format csv
  STDOUT "block.0..attn.q.weight,layers.0.self_attn.q_proj.weight")
scalecalc_cli_test("config: the library's names of no library" ARGS init mlp-relu --names hf EXIT 2
  STDERR "this model has none .--names hf.; give its config.json")
scalecalc_cli_test("config: its names in a model file" ARGS import ${config}
  STDOUT "names = \"hf-llama\"")
scalecalc_cli_test("config: an option of an architecture that is no model" EXIT 2
  STDERR "no model file describes this deepseek_v3"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/moe_config.json" --target pytorch --scheme he)
scalecalc_cli_test("config: code into JSON" EXIT 2 STDERR "writes no such file"
  ARGS init ${config} --target hf -o x.json)
scalecalc_cli_test("config: tensors by a target" ARGS init ${config} --target csv
  STDOUT "^name,shape,distribution,mean,std,formula,tied")
foreach(name config moe_config mixtral_config)
  set(drawn "${CMAKE_CURRENT_BINARY_DIR}/${name}.safetensors")
  scalecalc_cli_test("config: weights of ${name}" STDOUT "how transformers"
    ARGS init "${CMAKE_CURRENT_LIST_DIR}/${name}.json" --weights ${drawn} --seed 3)
  scalecalc_cli_test("config: an audit of weights of ${name}" STDOUT "Passed"
    ARGS audit ${drawn} --strict --model "${CMAKE_CURRENT_LIST_DIR}/${name}.json")
  set_tests_properties("cli: config: weights of ${name}" PROPERTIES FIXTURES_SETUP ${name}_weights)
  set_tests_properties("cli: config: an audit of weights of ${name}" PROPERTIES
    FIXTURES_REQUIRED ${name}_weights)
endforeach()
scalecalc_cli_error("config: an unknown model type" EXIT 2 SAYS "list architectures names them"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/wrong_config.json")
scalecalc_cli_error("config: none" EXIT 2 SAYS "no such config" ARGS import nothing.json)
scalecalc_cli_error("config: no path" EXIT 2 SAYS "a path is missing" ARGS import)
scalecalc_cli_error("config: a folder without one as a model" EXIT 2
  SAYS "the folder has no config.json .*a model file .TOML., or a folder with a config.json"
  ARGS propagate "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles")
scalecalc_cli_error("config: a folder without one" EXIT 2 SAYS "a config.json, or a folder"
  ARGS import "${CMAKE_CURRENT_LIST_DIR}/claims")

scalecalc_cli_test("config: an option of packed experts" EXIT 2
  STDERR "is no tensor of .*by itself, and the options change it"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/mixtral_config.json" --target pytorch --scheme he)

# Of every architecture, with options.
add_test(NAME "cli: config: audits with options" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/audit_options.py" "$<TARGET_FILE:scalecalc_program>"
  "${PROJECT_SOURCE_DIR}/tests/architectures/models")
set_tests_properties("cli: config: audits with options" PROPERTIES LABELS cli)

# What newcomers ask, each by one line.
add_test(NAME "cli: tasks of a newcomer" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/newcomer_tasks.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: tasks of a newcomer" PROPERTIES LABELS cli)
