# Audits of small GPT-2 files that a program of the tests writes.
add_executable(audit_weights audit_weights.cpp)
target_link_libraries(audit_weights PRIVATE scalecalc_options scalecalc_audit)
set(audited "${CMAKE_CURRENT_BINARY_DIR}/audit")
add_test(NAME "cli: audit: write weights" COMMAND audit_weights "${audited}")
set_tests_properties("cli: audit: write weights" PROPERTIES LABELS cli FIXTURES_SETUP audited)

set(small --model gpt2 --layers 3 --width 32 --heads 4 --ffn 96 --vocab 150 --sequence 24)
set(audit_tests "")
function(scalecalc_audit_test name)
  scalecalc_cli_test("audit: ${name}" ${ARGN})
  set(audit_tests ${audit_tests} "cli: audit: ${name}" PARENT_SCOPE)
endfunction()
function(scalecalc_audit_error name)
  scalecalc_cli_error("audit: ${name}" EXIT 2 ${ARGN})
  set(audit_tests ${audit_tests} "cli: wrong: audit: ${name}" PARENT_SCOPE)
endfunction()

scalecalc_audit_test("right weights" ARGS audit "${audited}/right.safetensors" ${small}
  STDOUT "\nPassed\n  All 52 parameters start as they should")
scalecalc_audit_test("in 16 bits" ARGS audit "${audited}/right_bf16.safetensors" ${small}
  STDOUT "\nPassed\n")
scalecalc_audit_test("shards" ARGS audit "${audited}/shards" ${small} STDOUT "\nPassed\n")
scalecalc_audit_test("one thread or three, csv" ARGS audit "${audited}/right.safetensors" ${small}
  --threads 3 --format csv
  STDOUT "^path,part,parameter,values,mean,std,.*\ntransformer.h.0.attn.c_attn.weight,q,block.0..attn.q.weight,1024,")
scalecalc_audit_test("three planted mistakes" EXIT 1
  ARGS audit "${audited}/planted.safetensors" ${small}
  STDOUT "^Findings\n  h.{i}.attn.c_proj.weight, all 3: 0.02, but 0.02/sqrt.2.N. = 0.00816497 was due: not scaled.*  h.{i}.attn.c_attn.weight, 1 of 3 .transformer.h.1.attn.c_attn.weight.: .*off by sqrt.2.*  h.{i}.ln_2.bias, 1 of 3 .transformer.h.2.ln_2.bias.: .*Failed\n  7 of 52 parameters")
scalecalc_audit_test("as JSON" EXIT 1
  ARGS audit "${audited}/planted.safetensors" ${small} --format json
  JSON results.passed results.parameters.0.path results.parameters.0.std
    results.parameters.0.expected_std results.parameters.0.rule results.parameters.0.verdict
    results.findings.2.verdict results.skipped.0.why
  STDOUT "\"faults\": 7,")
scalecalc_audit_test("in Markdown" EXIT 1
  ARGS audit "${audited}/planted.safetensors" ${small} --names hf-gpt2 --format md
  STDOUT "^## Findings")

scalecalc_audit_error("no weights" SAYS "weights are missing" ARGS audit --model gpt2)
scalecalc_audit_test("alone" EXIT 1 ARGS audit "${audited}/right.safetensors"
  STDOUT "^Findings\n  transformer.wpe.weight: normal.0.01. = 0.01, but .*--against openai.*by names and shapes.*taken  initializer_range = 0.02")
scalecalc_audit_test("alone, by the rules of OpenAI" ARGS audit "${audited}/right.safetensors"
  --against openai STDOUT "rules  openai: OpenAI's code; --against takes library, model, derived too.*\nPassed\n")
scalecalc_audit_test("alone, shards" ARGS audit "${audited}/shards" --against openai
  STDOUT "GPT2.* .gpt2., by names and shapes.*\nPassed\n")
scalecalc_audit_test("alone, as JSON" EXIT 1 ARGS audit "${audited}/right.safetensors" --format json
  JSON results.recognised results.against results.other_rules.0 results.taken.0
  STDOUT "\"recognised\": \"gpt2\"")
scalecalc_audit_test("alone, by its own model" ARGS audit "${audited}/right.safetensors"
  --against model STDOUT "rules  model: the model's .init.; .*\nPassed\n")
scalecalc_audit_test("alone, by what is derived" EXIT 1 ARGS audit "${audited}/right.safetensors"
  --against derived STDOUT "0.02, but width")
scalecalc_audit_test("alone, one tensor of another width" EXIT 1
  ARGS audit "${audited}/wide.safetensors" --against openai
  STDOUT "^Findings\n  transformer.h.{i}.mlp.c_fc.weight, 1 of 3 .*the shape is .32,[ \n]*104., but .32, 96. was[ \n]*due")
scalecalc_audit_test("a file in the place of a model" ARGS import "${audited}/right.safetensors"
  STDOUT "# GPT2LMHeadModel.*the tensors do not tell these.*n_head = 1, .*ffn = 96")
scalecalc_audit_test("a file in the place of a model, with heads"
  ARGS propagate "${audited}/right.safetensors" --heads 4 STDOUT "3 blocks, width 32, 4 heads, ffn 96")
scalecalc_audit_test("a file in the place of a model, its init" ARGS init "${audited}/right.safetensors"
  STDOUT "transformer.h.*.mlp.c_proj.weight .*Taken, for the tensors do not tell: init")

scalecalc_audit_error("alone, unknown" SAYS "those of no known architecture .*unknown.safetensors"
  ARGS audit "${audited}/unknown.safetensors")
scalecalc_audit_error("alone, truncated" SAYS "ends at byte|the file has" ARGS audit
  "${audited}/truncated.safetensors")
scalecalc_audit_error("alone, a huge header" SAYS "the header would have 9223372036854775807 bytes"
  ARGS audit "${audited}/huge.safetensors")
scalecalc_audit_error("a model of contradictory shapes"
  SAYS "nearly those of GPT2LMHeadModel, but .*c_fc.weight is .32, 104., not .32, 96."
  ARGS propagate "${audited}/wide.safetensors")
scalecalc_audit_error("the config of another model" SAYS "no tensor of the file is called as one of"
  ARGS audit "${audited}/right.safetensors" --model "${CMAKE_CURRENT_LIST_DIR}/config.json")
scalecalc_audit_error("unknown rules" SAYS "did you mean 'openai'"
  ARGS audit "${audited}/right.safetensors" --against opena)
scalecalc_audit_error("rules of a library for a preset" SAYS "rules of this model: model or derived"
  ARGS audit "${audited}/right.safetensors" --model gpt2 --against hf)
scalecalc_audit_error("rules that a config has not" SAYS "there are no such rules of llama"
  ARGS audit "${audited}/right.safetensors" --model "${CMAKE_CURRENT_LIST_DIR}/config.json"
  --against openai)
scalecalc_audit_error("no such file" SAYS "no such file .*none.safetensors"
  ARGS audit "${audited}/none.safetensors" --model gpt2)
scalecalc_audit_error("a text file" SAYS "the header would have [0-9]+ bytes"
  ARGS audit "${CMAKE_CURRENT_LIST_FILE}" --model gpt2)
scalecalc_audit_error("deep nesting" SAYS "the header has an array where an object belongs"
  ARGS audit "${audited}/nested.safetensors" --model gpt2)
scalecalc_audit_error("a tensor outside the file" SAYS "tensor 'a\"b' ends at byte 16 of 0"
  ARGS audit "${audited}/outside.safetensors" --model gpt2)
scalecalc_audit_error("unknown names" SAYS "did you mean 'hf-gpt2'"
  ARGS audit "${audited}/right.safetensors" ${small} --names hf-gpt3)
scalecalc_audit_error("other names" SAYS "no tensor of the file is called as one of the model's"
  ARGS audit "${audited}/right.safetensors" ${small} --names hf-bert)
scalecalc_audit_error("a confidence of 1" SAYS "--confidence must be"
  ARGS audit "${audited}/right.safetensors" ${small} --confidence 1)

set_tests_properties(${audit_tests} PROPERTIES FIXTURES_REQUIRED audited)
