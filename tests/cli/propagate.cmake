# The commands propagate, verify and presets: values, keys, and what is wrong with a question.
set(tiny "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml")
foreach(command propagate verify)
  scalecalc_cli_test("${command} --help" ARGS ${command} --help STDOUT "MODEL.*--layers.*--seeds")
endforeach()

set(site_keys "")
foreach(key path kind mean second cross cosine grad_second grad_cross spread second_finite
    second_typical grad_second_finite)
  list(APPEND site_keys results.sites.0.${key})
endforeach()
set(trace_keys ${site_keys} results.parameters.0.path results.parameters.0.second
  results.parameters.0.grad_second results.verdicts.0.what results.assumptions)
scalecalc_cli_test("propagate" ARGS propagate ${tiny}
  STDOUT "Sites.*block\\[1\\]\\.ffn\\.act.*Parameters.*What depth does.*Taken for granted")
scalecalc_cli_test("propagate as JSON" ARGS propagate ${tiny} --format json JSON ${trace_keys}
  results.stacks.0.stack results.stacks.0.sums results.stacks.0.identity_weight
  results.stacks.0.effective_depth results.stacks.0.block_gradient results.stacks.0.gradient_ratio
  results.stacks.0.blocks.1.path results.stacks.0.blocks.1.identity
  results.stacks.0.blocks.1.gradient_share results.verdicts.0.change)
scalecalc_cli_test("propagate: no stack without sums" ARGS propagate mlp-relu --format json
  STDOUT "\"stacks\": \\[\\]")
scalecalc_cli_test("propagate: what the sums keep, and what would help"
  ARGS propagate roberta-1280x48
  STDOUT "What the sums keep.*stream +96 +0\\.0000671.*forgets its input.*What would help.*alpha = 3\\.92")
scalecalc_cli_test("propagate: each stack of two" ARGS propagate transformer-base
  STDOUT "What the sums keep.*encoder +12 .*stream +18 ")
scalecalc_cli_test("propagate a preset" ARGS propagate mlp-relu --format json JSON ${trace_keys})
scalecalc_cli_test("propagate: relu with He's gain keeps the second moment"
  ARGS propagate mlp-relu --layers 10 --format csv STDOUT "\nlayer\\[9\\]\\.linear,linear,0,(2,|2\\.000000000000|1\\.999999999999)")
scalecalc_cli_test("propagate by Monte Carlo" STDOUT "\"engine\": \"montecarlo\""
  ARGS propagate ${tiny} --engine montecarlo --samples 1000 --format json JSON ${trace_keys})
scalecalc_cli_test("propagate by passes" ARGS propagate ${tiny} --engine passes --seeds 2
  --format json STDOUT "\"engine\": \"passes\"" JSON ${trace_keys} inputs.seeds)
scalecalc_cli_test("propagate by passes that run forward again" ARGS propagate ${tiny}
  --engine passes --seeds 2 --recompute --format json STDOUT "\"engine\": \"passes\"")
scalecalc_cli_error("passes that no machine holds" EXIT 2
  SAYS "its passes need .* GiB .*about [0-9]+ of its [0-9]+ outermost layers fit"
  ARGS propagate gpt2 --layers 20000 --engine passes --seeds 1)
scalecalc_cli_test("propagate in symbols" ARGS propagate ${tiny} --engine symbolic --format json
  JSON ${site_keys} results.parameters results.assumptions)
scalecalc_cli_test("propagate in symbols, for a person" ARGS propagate ${tiny} --engine symbolic
  STDOUT "block\\[l\\]\\.ffn.*second")
scalecalc_cli_test("propagate overrides the model" ARGS propagate ${tiny} --layers 3 --width 32
  --placement pre --alpha 1 --norm rmsnorm --format json
  STDOUT "\"layers\": 3,.*\"width\": 32,.*\"norm\": \"rmsnorm\".*\"placement\": \"pre\"")
scalecalc_cli_test("propagate solves alpha and lambda that are auto"
  ARGS propagate ${tiny} --alpha auto --lambda auto --optimizer adam --format json
  STDOUT "\"alpha\": \"sqrt\\(2\\*N\\)|\"alpha\": \"\\(2\\*N\\)\\^\\(1/2\\)")
scalecalc_cli_test("propagate a long stack: its ends, and words for the rest"
  ARGS propagate ${tiny} --layers 20
  STDOUT "block\\[1\\]\\.ffn .*\\.\\.\\. block\\[2\\] to block\\[17\\].*block\\[18\\]\\.attn")
scalecalc_cli_test("propagate a long stack: all of it in CSV" ARGS propagate ${tiny} --layers 20
  --format csv STDOUT "\nblock\\[9\\]\\.ffn,")
scalecalc_cli_test("propagate: no cosine where the second moment has underflowed"
  ARGS propagate mlp-relu --layers 200 --lambda 1e-3
  STDOUT "layer\\[199\\]\\.act +0 +0 +- .*ends with second 0, grad_second")
scalecalc_cli_test("propagate: no typical second moment where draws part ways"
  ARGS propagate mlp-relu --activation square --layers 5
  STDOUT "layer\\[3\\]\\.act [^\n]* [0-9.e]+\n.*layer\\[4\\]\\.act [^\n]* -\n")
scalecalc_cli_test("propagate as Markdown" ARGS propagate ${tiny} --format md STDOUT "\\| site")
scalecalc_cli_test("propagate as LaTeX" ARGS propagate ${tiny} --format latex
  STDOUT "begin{tabular}")

set(comparison "path;kind;quantity;predicted;measured;standard_error;band;z;ok;in_log_space")
set(verify_keys results.passed results.summary results.worst.path results.worst.z results.quantile
  results.causes)
foreach(key IN LISTS comparison)
  list(APPEND verify_keys results.sites.0.${key} results.parameters.0.${key})
endforeach()
scalecalc_cli_test("verify" ARGS verify ${tiny} --seeds 8
  STDOUT "predicted.*measured.*verdict.*comparisons of 8 seeds: all within their bands; worst z")
scalecalc_cli_test("verify as JSON" ARGS verify ${tiny} --seeds 8 --format json
  STDOUT "\"passed\": true" JSON ${verify_keys})
scalecalc_cli_test("verify as CSV" ARGS verify ${tiny} --seeds 4 --format csv
  STDOUT "^path,kind,quantity,predicted,measured,standard_error,band,z,ok,in_log_space\ninput,")
scalecalc_cli_test("propagate where gradients do not exist" ARGS propagate mlp-tanh --activation
  hardshrink --layers 2 STDOUT "head  [^\n]* -  +-  .*no gradient is predicted: hardshrink jumps")
scalecalc_cli_test("verify of a width that the rules are not for" EXIT 1 STDOUT "Failed.*outside"
  ARGS verify mlp-relu --width 3 --layers 12 --seeds 1000)
scalecalc_cli_test("verify in single precision" ARGS verify ${tiny} --seeds 4 --single
  STDOUT "single precision.*all within")
scalecalc_cli_test("verify: the same answer at any number of threads" STDOUT "all within"
  ARGS verify ${tiny} --seeds 8 --threads 3)

scalecalc_cli_test("presets" ARGS presets STDOUT "gpt2.*mlp-relu")
scalecalc_cli_test("presets as JSON" ARGS presets --format json
  JSON results.presets.0.name results.presets.0.title results.presets.0.model)
scalecalc_cli_test("presets NAME" ARGS presets gpt2 --format table
  STDOUT "As it is written.*\\[model\\].*As it is understood.*causal = true")
scalecalc_cli_test("presets NAME as JSON" ARGS presets gpt2 --format json
  JSON results.name results.title results.toml results.understood)

foreach(command propagate verify)
  scalecalc_cli_error("${command} of nothing" EXIT 2 ARGS ${command}
    SAYS "a model is missing.*scalecalc presets")
  scalecalc_cli_error("${command} of no preset" EXIT 2 ARGS ${command} gpt22 SAYS "gpt22.*gpt2")
  scalecalc_cli_error("${command} of no file" EXIT 2 ARGS ${command} no-such-model.toml
    SAYS "no-such-model\\.toml")
  scalecalc_cli_error("${command} of a folder" EXIT 2 ARGS ${command} / SAYS "/")
  scalecalc_cli_error("${command} --layers" EXIT 2 ARGS ${command} ${tiny} --layers 1e9
    SAYS "--layers must be an integer")
  scalecalc_cli_error("${command} --width" EXIT 2 ARGS ${command} ${tiny} --width 17 SAYS "heads")
  scalecalc_cli_error("${command} --alpha" EXIT 2 ARGS ${command} ${tiny} --alpha 2*M SAYS "alpha")
  scalecalc_cli_error("${command} --placement" EXIT 2 ARGS ${command} ${tiny} --placement pst
    SAYS "post")
  scalecalc_cli_error("${command} --seeds" EXIT 2 ARGS ${command} ${tiny} --engine passes --seeds 0
    SAYS "--seeds must be|unknown option '--engine'")
endforeach()
scalecalc_cli_error("propagate --engine" EXIT 2 ARGS propagate ${tiny} --engine quadratur
  SAYS "quadrature")
scalecalc_cli_error("propagate: seeds of quadrature" EXIT 2 ARGS propagate ${tiny} --seeds 4
  SAYS "--seeds belongs to --engine passes, not to quadrature")
scalecalc_cli_error("propagate: samples of passes" EXIT 2 SAYS "--samples belongs to"
  ARGS propagate ${tiny} --engine passes --samples 4)
scalecalc_cli_error("propagate --samples" EXIT 2 SAYS "--samples must be"
  ARGS propagate ${tiny} --engine montecarlo --samples few)
scalecalc_cli_error("verify of one seed" EXIT 2 ARGS verify ${tiny} --seeds 1
  SAYS "--seeds must be an integer from 2")
scalecalc_cli_error("verify --confidence" EXIT 2 ARGS verify ${tiny} --confidence 1
  SAYS "--confidence must be")
scalecalc_cli_error("verify --device cuda" EXIT 3 ARGS verify ${tiny} --device cuda
  SAYS "cuda|CUDA")
set_tests_properties("cli: wrong: verify --device cuda" PROPERTIES
  ENVIRONMENT CUDA_VISIBLE_DEVICES=)
scalecalc_cli_error("presets of what is not there" EXIT 2 ARGS presets gpt3 SAYS "gpt2")

# Every field of a model is an option.
scalecalc_cli_test("propagate: details of the model" ARGS propagate ${tiny} --qk-norm --bias=false
  --norm-eps 1e-5 --scheme xavier --dropout 0.1 --dropout-place input+branch STDOUT "block\\[0\\]")
scalecalc_cli_error("propagate: a flag that is no flag" EXIT 2 ARGS propagate ${tiny} --qk-norm=loud
  SAYS "unknown value 'loud' \\(--qk-norm\\)")
scalecalc_cli_error("propagate: two schemes" EXIT 2 ARGS propagate ${tiny} --scheme he --std 0.02
  SAYS "std and scheme are both given \\(--std\\)")
scalecalc_cli_error("propagate: another kind's option" EXIT 2 ARGS propagate mlp-relu --qk-norm
  SAYS "an mlp has no qk_norm \\(--qk-norm\\)")
scalecalc_cli_test("list fields" ARGS list fields --format csv
  STDOUT "\ninit\\.scheme\\.std,std,--std,all,")

# What rounding leaves of a cosine of 0 is not a curve.
scalecalc_cli_test("propagate: rounding is not drawn" ARGS propagate mlp-tanh --curves always
  STDOUT "Along the stream.*\n  cosine +0 +0 ")

# The first step.
scalecalc_cli_test("propagate: the first step" ARGS propagate ${tiny} --after-step adamw --lr 1e-3
  STDOUT "After the first step.*change of the loss +-.*How far the step moves each site.*block\\[1\\]\\.ffn\\.act.*How far it moves each parameter.*Taken for granted of the step")
set(step_keys "")
foreach(key optimizer lr loss_change loss_change_truncation sites.0.path sites.0.change
    sites.0.truncation parameters.0.path parameters.0.update parameters.0.relative
    parameters.0.spectral_norm parameters.0.spectral_relative parameters.0.weight_spectral_norm)
  list(APPEND step_keys results.step.${key})
endforeach()
scalecalc_cli_test("propagate: the first step as JSON" ARGS propagate ${tiny} --after-step muon+adamw
  --lr 1e-3 --format json JSON ${step_keys} ${trace_keys})
scalecalc_cli_test("propagate: the first step, taken" ARGS propagate ${tiny} --engine passes
  --seeds 3 --after-step sgd --lr 1e-3 --format json JSON ${step_keys} results.step.loss_change_error)
scalecalc_cli_error("a step without a learning rate" EXIT 2 SAYS "--after-step needs a learning rate"
  ARGS propagate ${tiny} --after-step adam)
scalecalc_cli_error("a learning rate without a step" EXIT 2
  SAYS "--lr is of what --after-step or --forecast asks for"
  ARGS propagate ${tiny} --lr 1e-3)
scalecalc_cli_error("steps of no optimizer" EXIT 2 SAYS "--steps counts those that --after-step or --forecast asks for"
  ARGS propagate ${tiny} --steps 3)
scalecalc_cli_error("numbers of parameters without a step" EXIT 2
  SAYS "are of the step that --after-step asks for \\(--eps-of\\)"
  ARGS propagate ${tiny} --eps-of head.weight=1e-3)
scalecalc_cli_error("the learning rate of no parameter" EXIT 2
  SAYS "unknown parameter 'block.9..ffn.in.weight'.*did you mean 'block...[.]ffn[.]in[.]weight'"
  ARGS propagate ${tiny} --after-step adam --lr 1e-3 --lr-of block[9].ffn.in.weight=1e-3)
scalecalc_cli_error("a learning rate without a parameter" EXIT 2 SAYS "--lr-of must be PATH=NUMBER"
  ARGS propagate ${tiny} --after-step adam --lr 1e-3 --lr-of 1e-3)
scalecalc_cli_error("a learning rate of a parameter that is none" EXIT 2 SAYS "--lr-of"
  ARGS propagate ${tiny} --after-step adam --lr 1e-3 --lr-of head.weight=fast)
scalecalc_cli_error("eps of a rule without one" EXIT 2 SAYS "sgd has no eps.*\\(--eps-of\\)"
  ARGS propagate ${tiny} --after-step sgd --lr 1e-3 --eps-of head.weight=1e-3)
# One parameter moves by its own rate, block[1]'s does not, the rest by 0.
scalecalc_cli_test("propagate: the learning rate of parameters" ARGS propagate ${tiny} --after-step adamw
  --lr 0 --lr-of block[*].ffn.in.weight=2e-3 --lr-of block[1].ffn.in.weight=0 --format csv
  STDOUT "block.0..ffn.in.weight,parameter,[^\n]*,0.00[12][0-9]*,[0-9.]+\n.*block.1..ffn.in.weight,parameter,[^\n]*,0,0\n.*head.weight,parameter,[^\n]*,0,0\n")
scalecalc_cli_error("a negative learning rate" EXIT 2 SAYS "--lr"
  ARGS propagate ${tiny} --after-step adam --lr -1)
scalecalc_cli_error("an unknown optimizer of a step" EXIT 2 SAYS "--after-step.*adamw"
  ARGS propagate ${tiny} --after-step adamv --lr 1e-3)
scalecalc_cli_error("a step in symbols" EXIT 2 SAYS "by quadrature or passes, not by symbolic"
  ARGS propagate ${tiny} --engine symbolic --after-step adam --lr 1e-3)
scalecalc_cli_error("a step with dropout" EXIT 2 SAYS "no rule for dropout"
  ARGS propagate ${tiny} --dropout 0.1 --after-step adam --lr 1e-3)
scalecalc_cli_test("propagate: the first step as CSV" ARGS propagate ${tiny} --after-step sgd
  --lr 1e-3 --format csv STDOUT "step_change,step_relative\ninput,.*,0,0\n.*head\\.weight,parameter,.*,[0-9.e-]+,[0-9.e-]+\n")
# Each engine looks at the clock, and the steps behind it.
set(late EXIT 2 SAYS "the answer was not found in the time limit of 0.001 s \\(--time-limit\\)"
  ARGS propagate gpt2 --time-limit 0.001)
scalecalc_cli_error("propagate past its time limit" ${late} --layers 12)
scalecalc_cli_error("sampled moments past their time limit" ${late} --engine montecarlo)
scalecalc_cli_error("passes past their time limit" ${late} --engine passes --layers 1 --seeds 2)
scalecalc_cli_error("formulas past their time limit" ${late} --engine symbolic)
scalecalc_cli_test("propagate in its time limit" ARGS propagate mlp-relu --layers 2 --time-limit 600
  STDOUT "head")
# Every option of a model beside lists of layers.
add_test(NAME "cli: propagate: options of lists" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/list_model_options.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: propagate: options of lists" PROPERTIES LABELS cli)

# Whether a run trains.
scalecalc_cli_test("propagate: would it train" ARGS propagate ${tiny} --forecast adamw --lr 1e-3
  STDOUT "Would it train.*steps +1000\n +warmup +0\n +probability +0\\.9.*not lost by +probability +why.*signal.*steps.*step size")
set(forecast_keys "")
foreach(key optimizer lr steps warmup trains probability rule parts.2.name parts.0.probability
    parts.1.text parts.1.change signs.identity_weight signs.relative_norm signs.grows_with_gradient)
  list(APPEND forecast_keys results.forecast.${key})
endforeach()
scalecalc_cli_test("propagate: would it train, as JSON" ARGS propagate ${tiny} --forecast muon+adamw
  --lr 1e-3 --warmup 10 --steps 5 --format json JSON ${forecast_keys})
scalecalc_cli_test("propagate: what loses a run" ARGS propagate ${tiny} --forecast sgd --lr 1e3
  STDOUT "step size +[0-9.e-]+ .*even at [0-9.e-]+ of")
scalecalc_cli_test("propagate: no forecast out of the rules' range" ARGS propagate no-ln-12
  --layers 4 --width 16 --heads 1 --ffn 32 --vocab 30 --scheme he --forecast adam --lr 1e-3
  STDOUT "Would it train")
scalecalc_cli_error("a forecast without a learning rate" EXIT 2
  SAYS "--forecast needs a learning rate" ARGS propagate ${tiny} --forecast adam)
scalecalc_cli_error("a forecast of no rate" EXIT 2 SAYS "learning rate 0 stays where it is"
  ARGS propagate ${tiny} --forecast adam --lr 0)
scalecalc_cli_error("a forecast by passes" EXIT 2
  SAYS "a forecast is made by the moment rules, not by passes"
  ARGS propagate ${tiny} --engine passes --forecast adam --lr 1e-3)
scalecalc_cli_error("a forecast and a step" EXIT 2 SAYS "ask for one at a time"
  ARGS propagate ${tiny} --forecast adam --after-step adam --lr 1e-3)
scalecalc_cli_error("a warm-up of no run" EXIT 2 SAYS "--warmup is of the run that --forecast asks for"
  ARGS propagate ${tiny} --warmup 3)
scalecalc_cli_error("a warm-up of -1 steps" EXIT 2 SAYS "--warmup"
  ARGS propagate ${tiny} --forecast adam --lr 1e-3 --warmup -1)
scalecalc_cli_error("a run of no steps" EXIT 2 SAYS "--steps"
  ARGS propagate ${tiny} --forecast adam --lr 1e-3 --steps 0)
scalecalc_cli_error("a forecast of an unknown optimizer" EXIT 2 SAYS "unknown optimizer 'adamz'"
  ARGS propagate ${tiny} --forecast adamz --lr 1e-3)
scalecalc_cli_error("a forecast of squares" EXIT 2 SAYS "a forecast is of a cross-entropy"
  ARGS propagate ${tiny} --loss mse --forecast adam --lr 1e-3)
