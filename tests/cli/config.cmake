# A config.json of another library in place of a model.
set(config "${CMAKE_CURRENT_LIST_DIR}/config.json")
scalecalc_cli_test("config: tensors" ARGS init ${config} --format csv
  STDOUT "model.layers.1.mlp.down_proj.weight,32x64,normal,0,0.02,normal.initializer_range.,")
scalecalc_cli_test("config: tied tensors" ARGS init ${config} --format json
  STDOUT "\"tied\": \"lm_head.weight\"")
scalecalc_cli_test("config: as a model file in JSON" ARGS import ${config} --format json
  JSON results.toml)
scalecalc_cli_test("config: as a model file" ARGS import ${config}
  STDOUT "# rotary positions are left out.*layers = 2")
scalecalc_cli_test("config: propagated" ARGS propagate ${config} --layers 3
  STDOUT "transformer of 3 blocks, width 32")
scalecalc_cli_test("config: verified" ARGS verify ${config} --seeds 8 STDOUT "Passed")
scalecalc_cli_test("config: with an option it is the model that is planned"
  ARGS init ${config} --width 64 STDOUT "block...\\.attn\\.q\\.weight")
scalecalc_cli_error("config: an unknown model type" EXIT 2 SAYS "did you mean 'llama'"
  ARGS init "${CMAKE_CURRENT_LIST_DIR}/wrong_config.json")
scalecalc_cli_error("config: none" EXIT 2 SAYS "no such config" ARGS import nothing.json)
scalecalc_cli_error("config: no path" EXIT 2 SAYS "a path is missing" ARGS import)
scalecalc_cli_error("config: a folder without one" EXIT 2 SAYS "a config.json, or a folder"
  ARGS import "${CMAKE_CURRENT_LIST_DIR}/claims")

# What newcomers ask, each by one line.
add_test(NAME "cli: tasks of a newcomer" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/newcomer_tasks.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: tasks of a newcomer" PROPERTIES LABELS cli)
