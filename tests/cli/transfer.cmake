scalecalc_cli_test("transfer: kinds" ARGS transfer --optimizer adamw --parametrization mup
  STDOUT "hidden +1 +r_n\\^\\(-1/2\\) +r_n\\^-1")
scalecalc_cli_test("transfer: json" ARGS transfer --format json --axes width,depth,batch,tokens
  JSON results.parametrization results.kinds.hidden.lr.exponents.r_n
    results.kinds.output.multiplier.formula results.kinds.bias.eps.exponents.r_L
    results.kinds.embedding.std.exponents.r_H results.branch.r_L results.binding results.warnings)
scalecalc_cli_test("transfer: numbers"
  ARGS transfer --from width=256,layers=4 --to width=4096,layers=32 --lr 3e-3 --parametrization complete-p --format json
  STDOUT "\"to\": 0.0001875" JSON results.kinds.hidden.lr.to)
scalecalc_cli_test("transfer: a model" ARGS transfer gpt2 --all --to width=1536 --format json
  STDOUT "block\\[11\\].ffn.out.weight" JSON results.attention.exponents.r_n)
scalecalc_cli_test("transfer: csv" ARGS transfer --format csv STDOUT "embedding,r_n\\^\\(1/2\\)")
scalecalc_cli_test("transfer: explain" ARGS transfer --explain STDOUT "own_change")
scalecalc_cli_test("transfer: the same" ARGS transfer --same mup spectral --axes width STDOUT "yes")
scalecalc_cli_test("transfer: not the same" EXIT 1 ARGS transfer --same mup standard --format json
  JSON results.same results.kinds)
scalecalc_cli_test("transfer: other names of the options" ARGS transfer --learning-rate 1e-3
  --weight-decay 0.1 --from width=1 --to width=2 STDOUT "0.001 -> ")
foreach(wrong IN ITEMS
    "parametrization|mu-p|unknown parametrization" "optimizer|adamm|unknown optimizer"
    "optimizer|norm(g)|no matrix" "optimizer|shampoo(1/4)|two powers"
    "alignment|half|full, none" "alignment|1,2,1|outside" "axes|width,depht|unknown axis"
    "muon-scale|wide|unknown scale" "decay-law|slow|unknown decay law" "lr|-1|--lr"
    "decay|nan|--decay" "eps|x|--eps" "depth-alpha|3|from 0 to 2" "depth-alpha|1/0|from 0 to 2"
    "matrices|0|from 1" "same|mup|two parametrisations" "from|width=2|--from without --to"
    "to|width=2|--from does not" "to|widht=2|unknown size" "to|width|NAME=VALUE"
    "to|width=-2|from 1" "to|width=2,width=3|twice" "axes|experts,|unknown axis")
  string(REPLACE "|" ";" parts "${wrong}")
  list(GET parts 0 option)
  list(GET parts 1 value)
  list(GET parts 2 says)
  scalecalc_cli_error("transfer: --${option} ${value}" EXIT 2 SAYS "${says}"
    ARGS transfer --${option} "${value}")
endforeach()
scalecalc_cli_test("transfer: a size that stays changes nothing" ARGS transfer --from width=256
  --to width=256 --lr 1e-3 STDOUT "hidden +x 1 +x 1 +0\\.001 -> 0\\.001 +x 1 +x 1")
scalecalc_cli_error("transfer: contradictory sizes" EXIT 2 SAYS "--to does not"
  ARGS transfer --from width=2,layers=2 --to width=4)
scalecalc_cli_error("transfer: sizes beside the axes" EXIT 2 SAYS "--axes does not"
  ARGS transfer --from width=2 --to width=4 --axes depth)
scalecalc_cli_error("transfer: a width of no heads" EXIT 2 SAYS "heads"
  ARGS transfer gpt2 --to width=770)
scalecalc_cli_error("transfer: a model that does not grow" EXIT 2 SAYS "no shape"
  ARGS transfer mlp-relu --axes heads)
scalecalc_cli_error("transfer: matrices of a model" EXIT 2 SAYS "the model says"
  ARGS transfer gpt2 --matrices 2)
scalecalc_cli_error("transfer: all of no model" EXIT 2 SAYS "give a MODEL" ARGS transfer --all)
scalecalc_cli_error("transfer: roles of no model" EXIT 2 SAYS "give a MODEL"
  ARGS transfer --optimizer "muon(ffn)+adamw")
scalecalc_cli_error("transfer: heads of no model" EXIT 2 SAYS "give a MODEL"
  ARGS transfer --axes width,heads)
scalecalc_cli_error("transfer: a rule that begins with orthogonal" EXIT 2 SAYS "no matrix"
  ARGS transfer --optimizer "orthogonal(fan_in)*g")
scalecalc_cli_error("transfer: powers of shampoo" EXIT 2 SAYS "'x' is no power of shampoo"
  ARGS transfer --optimizer "shampoo(x,y)")
scalecalc_cli_error("transfer: three powers of shampoo" EXIT 2 SAYS "two powers"
  ARGS transfer --optimizer "shampoo(1/4,1/4,1)")
scalecalc_cli_error("transfer: a size that is none" EXIT 2 SAYS "for example --from width=256"
  ARGS transfer --from width=x --to width=3)
scalecalc_cli_error("transfer: tokens that are none" EXIT 2 SAYS "for example --to tokens=1e9"
  ARGS transfer --from tokens=1 --to tokens=x)
scalecalc_cli_error("transfer: widths of a list" EXIT 2 SAYS "widths 16, 32, 64"
  ARGS transfer resnet-v2 --to width=512)
scalecalc_cli_error("transfer: a width that a list has not" EXIT 2 SAYS "--from width=16"
  ARGS transfer resnet-v2 --from width=20 --to width=40)
scalecalc_cli_test("transfer: a width of a list" ARGS transfer resnet-v2 --from width=16
  --to width=64 --format json STDOUT "\"r_n\": \"-1/2\"")
scalecalc_cli_error("transfer: heads of a list" EXIT 2 SAYS "no layer of the model has heads"
  ARGS transfer resnet-v2 --to heads=4)
# Inits are of the model at the sizes of --from: of lecun's std, 4096^(-1/2).
scalecalc_cli_test("transfer: std of the base" ARGS transfer pre-ln-12 --scheme lecun
  --from width=4096 --to width=16384 --format json STDOUT "\"from\": 0.015625,")
scalecalc_cli_test("transfer: experts" ARGS transfer pre-ln-12 --experts 8 --to experts=64
  --format json JSON results.kinds.expert_hidden.eps.exponents.r_E results.kinds.router.lr.factor)
scalecalc_cli_test("transfer: a tied head" ARGS transfer gpt2 --tie-head --all --axes width
  STDOUT "head.weight +r_n\\^\\(-1/2\\)")
# Every option where it has no effect.
add_test(NAME "cli: transfer: options" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/transfer_options.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: transfer: options" PROPERTIES LABELS cli)
scalecalc_cli_test("transfer: branches between stages" ARGS transfer resnet-v1
  STDOUT "fixed_hidden +1 +r_n\\^\\(-1/2\\) +r_n\\^-1 ")
