# What the issue of each command calls wrong input: exit 2 (3 for a fault outside), one line.
set(deepnorm deepnorm --optimizer adam)
scalecalc_cli_error("layers 0" EXIT 2 ARGS ${deepnorm} --layers 0
  SAYS "--layers must be an integer from 1 to 1000000 \\(got '0'\\); for example --layers 12")
scalecalc_cli_error("layers -3" EXIT 2 ARGS ${deepnorm} --layers -3 SAYS "integer.*got '-3'")
scalecalc_cli_error("layers 1e9" EXIT 2 ARGS ${deepnorm} --layers 1e9 SAYS "integer.*got '1e9'")
scalecalc_cli_error("layers abc" EXIT 2 ARGS ${deepnorm} --layers abc SAYS "integer.*got 'abc'")
scalecalc_cli_error("layers 1000001" EXIT 2 ARGS ${deepnorm} --layers 1000001 SAYS "1000000")
scalecalc_cli_error("layers beyond 64 bits" EXIT 2 SAYS "1000000"
  ARGS ${deepnorm} --layers 99999999999999999999)
scalecalc_cli_error("layers without a value" EXIT 2 ARGS ${deepnorm} --layers
  SAYS "--layers needs a value")
scalecalc_cli_error("an option as a value" EXIT 2 ARGS ${deepnorm} --layers --quiet
  SAYS "--layers needs a value.*'--quiet'")
scalecalc_cli_error("layers twice" EXIT 2 ARGS ${deepnorm} --layers 2 --layers 3
  SAYS "--layers is given more than once")
scalecalc_cli_error("no layers" EXIT 2 ARGS ${deepnorm} SAYS "--layers")
scalecalc_cli_error("a mixture with a wrong name" EXIT 2 ARGS deepnorm --layers 4 --optimizer muon+adm
  SAYS "unknown optimizer 'adm' .--optimizer.; did you mean 'adam'")
scalecalc_cli_error("a mixture of three" EXIT 2 ARGS deepnorm --layers 4 --optimizer muon+adam+sgd
  SAYS "a mixture is of two optimizers, not of more .--optimizer muon.adam.sgd.; for example muon.adamw")
scalecalc_cli_error("a mixture with nothing" EXIT 2 ARGS sweep --layers 2,4 --optimizer muon+
  SAYS "unknown optimizer ''")
scalecalc_cli_error("optimizer adm" EXIT 2 ARGS deepnorm --layers 4 --optimizer adm
  SAYS "did you mean 'adam'")
scalecalc_cli_error("a rule that is no power" EXIT 2 ARGS deepnorm --layers 4
  --optimizer "sign(g)+theta" SAYS "not homogeneous.*--optimizer")
scalecalc_cli_error("a rule without the gradient" EXIT 2 ARGS deepnorm --layers 4
  --optimizer "sign(theta)" SAYS "does not depend on the gradient")
scalecalc_cli_error("constraint lambda=0" EXIT 2 ARGS ${deepnorm} --layers 4 --constraint lambda=0
  SAYS "lambda")
scalecalc_cli_error("constraint nonsense" EXIT 2 ARGS ${deepnorm} --layers 4 --constraint gamma=1
  SAYS "symmetric")
scalecalc_cli_error("width 65 of 4 heads" EXIT 2 SAYS "heads.*65.*--width 65 --heads 4"
  ARGS ${deepnorm} --layers 4 --width 65 --heads 4)
scalecalc_cli_error("pre with alpha=2" EXIT 2 SAYS "alpha"
  ARGS ${deepnorm} --layers 4 --placement pre --constraint alpha=2)
scalecalc_cli_error("two stacks, one depth" EXIT 2 SAYS "--decoder-layers"
  ARGS ${deepnorm} --layers 4 --arch encoder-decoder)
scalecalc_cli_error("decoder layers of gpt2" EXIT 2
  SAYS "decoder_layers is of two stacks, and this model is one stack .--decoder-layers"
  ARGS propagate gpt2 --decoder-layers 2)
scalecalc_cli_error("decoder layers below 1" EXIT 2
  SAYS "decoder_layers must be a whole number from 1 to 1000000, got -1"
  ARGS propagate deepnet-18-6 --decoder-layers=-1)
scalecalc_cli_error("formulas of two stacks" EXIT 2
  SAYS "formulas follow one stream, and an encoder has another"
  ARGS propagate deepnet-18-6 --engine symbolic)
scalecalc_cli_error("names of one stack for two" EXIT 2
  SAYS "the names hf-t5 are those of one stack"
  ARGS init deepnet-18-6 --names hf-t5)
scalecalc_cli_error("a decoder of no layers" EXIT 2 SAYS "--decoder-layers.*got '0'"
  ARGS ${deepnorm} --layers 4 --arch encoder-decoder --decoder-layers 0)
scalecalc_cli_error("a decoder of one stack" EXIT 2 SAYS "--decoder-layers belongs to two stacks"
  ARGS ${deepnorm} --layers 4 --decoder-layers 2)
scalecalc_cli_error("exact pairs of two stacks, verified" EXIT 2 SAYS "one by one .--verify"
  ARGS ${deepnorm} --layers 4 --arch encoder-decoder --decoder-layers 2 --method exact --verify)
scalecalc_cli_error("a task with a text" EXIT 2 SAYS "--task copy draws its own symbols .--text"
  ARGS train --task copy --text ${CMAKE_CURRENT_LIST_FILE} -o a-folder)
scalecalc_cli_error("an unknown task" EXIT 2 SAYS "did you mean 'copy'"
  ARGS train --task copi -o a-folder)
scalecalc_cli_error("unwritable -o" EXIT 3 SAYS "no-such-folder.*-o"
  ARGS ${deepnorm} --layers 4 -o /no-such-folder/answer.json)
scalecalc_cli_error("-o is a folder" EXIT 3 ARGS ${deepnorm} --layers 4 -o / SAYS "irectory")

scalecalc_cli_error("no command" EXIT 2 ARGS --quiet SAYS "no command.*deepnorm")
scalecalc_cli_error("unknown command" EXIT 2 ARGS deepnrom --layers 4
  SAYS "unknown command 'deepnrom'.*did you mean 'deepnorm'")
scalecalc_cli_error("unknown option" EXIT 2 ARGS ${deepnorm} --layer 4
  SAYS "unknown option '--layer'.*did you mean '--layers'")
scalecalc_cli_error("unknown option far from all" EXIT 2 ARGS ${deepnorm} --zzzzzzzzzz=1
  SAYS "unknown option '--zzzzzzzzzz'.*--help")
scalecalc_cli_error("unknown short option" EXIT 2 ARGS ${deepnorm} -z SAYS "unknown option '-z'")
scalecalc_cli_error("an option before the command" EXIT 2 ARGS --layers 4 ${deepnorm}
  SAYS "unknown option '--layers'")
scalecalc_cli_error("a word too many" EXIT 2 ARGS ${deepnorm} --layers 4 five
  SAYS "unexpected argument 'five'")
string(REPEAT "x" 5000 long)
scalecalc_cli_error("a long word" EXIT 2 ARGS ${deepnorm} --layers ${long} SAYS "xxx\\.\\.\\.'")
scalecalc_cli_error("a long option" EXIT 2 ARGS ${deepnorm} --${long} SAYS "xxx\\.\\.\\.'")
scalecalc_cli_error("a line break in a word" EXIT 2 ARGS ${deepnorm} "--layers=4\n5" SAYS "got '4")
scalecalc_cli_error("an accent in a word" EXIT 2 ARGS ${deepnorm} --layers "é\"\\" SAYS "got 'é")
scalecalc_cli_error("a flag with a value" EXIT 2 ARGS ${deepnorm} --layers 4 --quiet=loud
  SAYS "\\(--quiet = loud\\)")

# Global options, wrong in each command.
foreach(command "deepnorm;--layers;4;--optimizer;adam" "sweep;--layers;2,4;--optimizer;adam")
  list(GET command 0 name)
  scalecalc_cli_error("${name} --seed" EXIT 2 ARGS ${command} --seed -1
    SAYS "--seed must be an integer from 0 .*got '-1'")
  scalecalc_cli_error("${name} --threads" EXIT 2 ARGS ${command} --threads 0
    SAYS "--threads must be an integer from 1 to 1024")
  scalecalc_cli_error("${name} --digits" EXIT 2 ARGS ${command} --digits many
    SAYS "--digits must be an integer from 1")
  scalecalc_cli_error("${name} --device" EXIT 2 ARGS ${command} --device gpu
    SAYS "'gpu' \\(--device\\).*cuda")
endforeach()
foreach(command "deepnorm;--layers;4;--optimizer;adam" "sweep;--layers;2,4;--optimizer;adam"
    "list;families" "devices")
  list(GET command 0 name)
  scalecalc_cli_error("${name} --format" EXIT 2 ARGS ${command} --format jsn
    SAYS "unknown format 'jsn'.*did you mean 'json'")
  scalecalc_cli_error("${name} --color" EXIT 2 ARGS ${command} --color alway
    SAYS "did you mean 'always'")
  scalecalc_cli_error("${name} -o" EXIT 3 ARGS ${command} -o /no-such-folder/x
    SAYS "no-such-folder")
  scalecalc_cli_error("${name} --bogus" EXIT 2 ARGS ${command} --bogus
    SAYS "unknown option '--bogus' \\(scalecalc ${name}\\)")
endforeach()

set(sweep sweep --optimizer adam --layers 2,4)
scalecalc_cli_error("sweep without depths" EXIT 2 ARGS sweep --optimizer adam
  SAYS "--layers is missing.*for example")
scalecalc_cli_error("sweep over depths and widths" EXIT 2 ARGS ${sweep} --widths 16,32
  SAYS "--layers and --widths are both lists")
scalecalc_cli_error("sweep over widths and one of them" EXIT 2 SAYS "--width and --widths are given"
  ARGS sweep --optimizer adam --widths 16,32 --width 16)
scalecalc_cli_error("sweep over widths that heads do not divide" EXIT 2 SAYS "heads"
  ARGS sweep --optimizer adam --widths 16,33)
scalecalc_cli_error("sweep without an optimizer" EXIT 2 ARGS sweep --layers 2,4
  SAYS "--optimizer is missing.*for example")
foreach(depths "0,4" "-3" "1e9" "abc" "2,,8" "2,2" "2," "8:2:x2" "2:8:x1" "2:8:2" "2:8" "x")
  scalecalc_cli_error("sweep --layers ${depths}" EXIT 2 SAYS "--layers must be.*got '${depths}'"
    ARGS sweep --optimizer adam --layers ${depths})
endforeach()
scalecalc_cli_error("sweep --quantity" EXIT 2 ARGS ${sweep} --quantity delta_lss
  SAYS "did you mean 'delta_loss'")
scalecalc_cli_error("sweep --optimizer" EXIT 2 ARGS sweep --layers 2,4 --optimizer adm
  SAYS "did you mean 'adam'")
scalecalc_cli_error("sweep --placement" EXIT 2 ARGS ${sweep} --placement pst SAYS "post")
scalecalc_cli_error("sweep --alpha" EXIT 2 ARGS ${sweep} --alpha "2*M" SAYS "--alpha.*N")
scalecalc_cli_error("sweep --alpha 0" EXIT 2 ARGS ${sweep} --alpha 0 --lambda 1
  SAYS "--alpha must be positive and finite; it is 0 at N = 2.*got '0'")
scalecalc_cli_error("sweep --lambda" EXIT 2 ARGS ${sweep} --lambda "(" SAYS "--lambda")
scalecalc_cli_error("sweep --constraint twice closed" EXIT 2 SAYS "--constraint and --alpha"
  ARGS ${sweep} --constraint symmetric --alpha 2)
scalecalc_cli_error("sweep --constraint" EXIT 2 ARGS ${sweep} --constraint lambda=0 SAYS "lambda")
scalecalc_cli_error("sweep --parameters" EXIT 2 ARGS ${sweep} --parameters some SAYS "branch, all")
scalecalc_cli_error("sweep --seeds" EXIT 2 ARGS ${sweep} --seeds 0 SAYS "--seeds must be")
scalecalc_cli_error("sweep --eta" EXIT 2 ARGS ${sweep} --eta nan SAYS "--eta must be a number")
scalecalc_cli_error("sweep --dtype" EXIT 2 ARGS ${sweep} --dtype half SAYS "float, double")
scalecalc_cli_error("sweep --engine" EXIT 2 ARGS ${sweep} --engine symbolic SAYS "passes")
scalecalc_cli_error("sweep by quadrature of what has no prediction" EXIT 2
  ARGS ${sweep} --engine quadrature --quantity probe SAYS "probe has no prediction.*passes")
scalecalc_cli_error("deepnorm --method" EXIT 2 ARGS deepnorm --layers 4 --method best
  SAYS "scaling, exact")
scalecalc_cli_error("deepnorm --reference-layers without exact" EXIT 2
  ARGS deepnorm --layers 4 --reference-layers 2 SAYS "--method exact")
scalecalc_cli_error("deepnorm exact with published constants" EXIT 2
  ARGS deepnorm --layers 4 --method exact --rule deepnet SAYS "--rule deepnet")
scalecalc_cli_error("sweep --width 65" EXIT 2 ARGS ${sweep} --width 65 --heads 4 SAYS "heads.*65")
scalecalc_cli_error("sweep --width" EXIT 2 ARGS ${sweep} --width 64.5 SAYS "--width must be")
scalecalc_cli_error("sweep --activation" EXIT 2 ARGS ${sweep} --activation gel
  SAYS "did you mean 'gelu'")
scalecalc_cli_error("sweep --norm" EXIT 2 ARGS ${sweep} --norm layer SAYS "layernorm")
scalecalc_cli_error("sweep --cross" EXIT 2 ARGS ${sweep} --cross 2 SAYS "cross")
# Where there is a CUDA device, it is hidden: then its absence is a fault outside.
foreach(device cuda cuda:0 cuda:1 cuda+tf32 cuda+nograph)
  scalecalc_cli_error("sweep --device ${device}" EXIT 3 ARGS ${sweep} --device ${device}
    SAYS "\\(device cuda.*use cpu or auto")
  set_tests_properties("cli: wrong: sweep --device ${device}" PROPERTIES
    ENVIRONMENT CUDA_VISIBLE_DEVICES=)
endforeach()
foreach(device cuda: cuda:x cuda:-1 cuda1 cuda:0+bf16 cdua)
  scalecalc_cli_error("sweep --device ${device}" EXIT 2 ARGS ${sweep} --device ${device}
    SAYS "unknown device '.*' \\(--device\\); .*cuda:0")
endforeach()
scalecalc_cli_error("sweep of no file" EXIT 2 ARGS ${sweep} no-such-model.toml
  SAYS "no-such-model.toml")
scalecalc_cli_error("sweep of a folder" EXIT 2 ARGS ${sweep} / SAYS "\\(/|'/'|/:")
scalecalc_cli_error("list of nothing" EXIT 2 ARGS list SAYS "scalecalc list families")
scalecalc_cli_error("list of what is not there" EXIT 2 ARGS list familys
  SAYS "did you mean 'families'")

# Errors that say what is right, and name what the command has.
scalecalc_cli_error("a confidence that rounds to 1" EXIT 2
  SAYS "number from 0.5 to 0.999999999 \\(got '0.999999999999'\\)"
  ARGS verify mlp-relu --confidence 0.999999999999)
foreach(samples 1 63 4294967297)
  scalecalc_cli_error("propagate --samples ${samples}" EXIT 2
    SAYS "--samples must be an integer from 64 to 4294967296 .got '${samples}'"
    ARGS propagate mlp-relu --engine montecarlo --samples ${samples})
endforeach()
scalecalc_cli_error("init --alpha auto where lambda closes nothing" EXIT 2
  SAYS "alpha = auto beside lambda = 1.; let both be auto" ARGS init gpt2 --alpha auto)
foreach(function norm rms global_norm orthogonal)
  scalecalc_cli_error("an activation with ${function}" EXIT 2
    SAYS "'${function}' has no known derivative; .*rule of an optimizer"
    ARGS activation --expr "${function}(x)")
endforeach()
scalecalc_cli_error("an activation with Phi2" EXIT 2 SAYS "functions of one number"
  ARGS activation --expr "Phi2(x,0,1/2)")
scalecalc_cli_test("functions that an activation can be made of" EXIT 2
  ARGS activation --expr "nrm(x)" STDERR "known: sqrt, .*owens_t, sigmoid.*max, celu")
scalecalc_cli_error("a constraint that divides by zero at this depth" EXIT 2
  SAYS "the constraint lambda=.* does not give positive finite alpha and lambda at N = 4"
  ARGS deepnorm --layers 4 --constraint "lambda=1/(N-4)")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/type.toml" "[model]\ntype = \"mlp\"\n")
scalecalc_cli_error("a model with a type" EXIT 2 SAYS "unknown key 'type' .*did you mean 'kind'"
  ARGS init "${CMAKE_CURRENT_BINARY_DIR}/type.toml")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/kind.toml"
  "[model]\nkind = \"layers\"\n[[layer]]\nkind = \"norm\"\n")
scalecalc_cli_error("a layer with a kind" EXIT 2 SAYS "kind.toml:4:.*did you mean 'type'"
  ARGS init "${CMAKE_CURRENT_BINARY_DIR}/kind.toml")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/both.toml"
  "[model]\nkind = \"layers\"\n[[layer]]\ntype = \"norm\"\nkind = \"norm\"\n")
scalecalc_cli_error("a layer with a type and a kind" EXIT 2 SAYS "unknown key 'kind'.*type"
  ARGS init "${CMAKE_CURRENT_BINARY_DIR}/both.toml")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/twice.toml" "[model]\nkind = \"mlp\"\nlayers = 2\n"
  "[names]\n\"a.{i}\" = \"layer[{i}].linear.weight\"\n\"b.{i}\" = \"layer[{i}].linear.weight\"\n")
scalecalc_cli_error("two names of one parameter" EXIT 2
  SAYS "'layer.{i}..linear.weight' is named twice, 'a.{i}' and 'b.{i}'"
  ARGS init "${CMAKE_CURRENT_BINARY_DIR}/twice.toml")
scalecalc_cli_test("a prediction has no standard error" ARGS sweep --layers 2,4 --width 16 --heads 2
  --optimizer adam --engine quadrature --format csv STDOUT "\n2,2[.0-9]*,0.5,[0-9.]+,,[0-9.]+,[0-9.]+\n")
scalecalc_cli_test("init: a depth for what its file repeats" ARGS init resnet-v1 --layers 8
  STDOUT "stage1.* 16 ")
scalecalc_cli_test("deepnorm: who tells other stds" ARGS deepnorm --layers 8
  STDOUT "scalecalc init MODEL.*--alpha auto --lambda")
scalecalc_cli_test("init: who tells other stds" ARGS init gpt2
  STDOUT "scheme gpt2.*--alpha auto.*scalecalc deepnorm --layers")
foreach(command propagate verify "sweep;--layers;1,2" init)
  list(GET command 0 name)
  scalecalc_cli_test("${name}: a file of no format" EXIT 2 STDERR "no format has the extension .xyz"
    ARGS ${command} mlp-relu -o x.xyz)
endforeach()

add_test(NAME "cli: wrong: empty values" COMMAND ${CMAKE_COMMAND}
  "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" -P "${CMAKE_CURRENT_LIST_DIR}/empty_values.cmake")
set_tests_properties("cli: wrong: empty values" PROPERTIES LABELS cli)
scalecalc_cli_error("a cap that no number is divided by" EXIT 2
  SAYS "attention_softcap must be 0 or at least 1e-30, got 5e-324 .*--attention-softcap 5e-324"
  ARGS propagate gpt2 --attention-softcap 5e-324)
scalecalc_cli_error("a mean past fourth powers" EXIT 2
  SAYS "--mean must be 0 or of a size from 1e-60 to 1e60 .got '1e61'" ARGS activation gelu --mean 1e61)
