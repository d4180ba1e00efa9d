# What each command answers when all is well.
scalecalc_cli_test("version" ARGS --version STDOUT
  "^scalecalc ${PROJECT_VERSION}\ncommit +[0-9a-z]+[+]?\ncompiler +[A-Za-z]+ [0-9.]+, [A-Za-z]+\nproducts +[^\n]*Eigen\nCUDA +[^\n]+\nMPI +[^\n]+\n$")
scalecalc_cli_test("help" ARGS --help STDOUT "deepnorm.*sweep.*list.*devices")
foreach(command deepnorm sweep list devices)
  scalecalc_cli_test("${command} --help" ARGS ${command} --help STDOUT "--format")
  scalecalc_cli_test("${command} -h with the rest wrong" ARGS ${command} --bogus -h
    STDOUT "--format")
endforeach()

scalecalc_cli_test("deepnorm" ARGS deepnorm --layers 1000 --optimizer adam
  STDOUT "44\\.72136.*0\\.02236068")
scalecalc_cli_test("deepnorm as JSON" ARGS deepnorm --layers 1000 --optimizer adam --format json
  STDOUT "\"alpha\": 44\\.72135954999579"
  JSON scalecalc command inputs.layers results.alpha results.lambda results.alpha_formula
    results.lambda_formula results.branch_weight results.gradient_scale
    results.relative_step_scale results.family results.init results.derivation results.conditions)

scalecalc_cli_test("deepnorm: published pairs of two stacks, sized"
  ARGS deepnorm --model deepnet-18-6 --layers 18 --rule deepnet
  STDOUT "encoder: 18 layers.*1.866112.*decoder: 6 layers.*2.059767")
scalecalc_cli_test("deepnorm: a model's own depths"
  ARGS deepnorm --model deepnet-18-6 --rule deepnet
  STDOUT "encoder: 18 layers.*1.866112.*decoder: 6 layers.*2.059767")
scalecalc_cli_test("deepnorm: the depth of a config"
  ARGS deepnorm --model "${CMAKE_CURRENT_LIST_DIR}/config.json" --sequence 2 --format json
  STDOUT "\"layers\": 2,")
scalecalc_cli_test("deepnorm: no depth" EXIT 2 ARGS deepnorm --optimizer adam
  STDERR "deepnorm needs a depth .--layers.; for example --layers 12, or --model")
scalecalc_cli_test("deepnorm: two stacks, verified"
  ARGS deepnorm --layers 4 --arch encoder-decoder --decoder-layers 2 --optimizer adam --verify
    --width 16 --heads 2 --sequence 4 --vocab 8 --seeds 2 --format json
  JSON results.verification.deep_exponent results.verification.points.1.decoder_layers
    results.decoder.alpha)
scalecalc_cli_test("deepnorm: the warm-up as JSON"
  ARGS deepnorm --layers 64 --optimizer sgd --placement pre --format json
  JSON results.warmup results.warmup_formula results.warmup_exponent results.block.kappa)
scalecalc_cli_test("deepnorm: no warm-up helps"
  ARGS deepnorm --layers 32 --optimizer adam --placement none --format json
  STDOUT "\"warmup\": null.*\"warmup_formula\": null.*exponentially"
  JSON results.warmup_none_because)
scalecalc_cli_test("deepnorm: a rule of one's own, explained and verified"
  ARGS deepnorm --layers 8 --optimizer "sign(g)*norm(theta)" --explain --verify
  STDOUT "powers of lamb.*lambda +0\\.25.*The other way out.*held for many layers.*passed")
scalecalc_cli_test("deepnorm: sub-ln meets the power that kappa leaves"
  ARGS deepnorm --layers 32 --optimizer adam --placement sub-ln --verify
  STDOUT "which is the predicted 0\\.1.*passed.*No lambda holds it")
scalecalc_cli_test("deepnorm: sub-ln without a closed form is verified too"
  ARGS deepnorm --layers 8 --optimizer sgd --placement sub-ln --verify STDOUT "passed")
scalecalc_cli_test("deepnorm exact beside the power law"
  ARGS deepnorm --layers 12 --method exact --explain
  STDOUT "reference, power law.*exact +12.*identity weight.*Power law: 12 layers")
scalecalc_cli_test("deepnorm exact as JSON"
  ARGS deepnorm --layers 12 --optimizer sgd --method exact --reference-layers 2 --explain
    --format json
  JSON inputs.method inputs.reference_layers results.alpha results.lambda results.alpha_formula
    results.lambda_formula results.power_law.alpha results.reference.delta_loss results.delta_loss
    results.residual results.schemes.0.identity_weight results.schemes.0.effective_depth
    results.schemes.4.sublayers.23.gradient_norm results.branch_weight results.init)

foreach(topic families placements groups activations architectures quantities formats)
  scalecalc_cli_test("list ${topic}" ARGS list ${topic} STDOUT "name")
  scalecalc_cli_test("list ${topic} as JSON" ARGS list ${topic} --format json
    JSON scalecalc command inputs.topic results.${topic}.0.name)
endforeach()
scalecalc_cli_test("families say what they are" ARGS list families --format json
  JSON results.families.0.aliases results.families.0.update results.families.0.p
    results.families.0.s)
scalecalc_cli_test("list placements as CSV" ARGS list placements --format csv
  STDOUT "^name,final_norm\npost,false\npre,true\n")
scalecalc_cli_test("list placements as Markdown" ARGS list placements --format md
  STDOUT "\\| post \\| no \\|")
scalecalc_cli_test("list placements as LaTeX" ARGS list placements --format latex
  STDOUT "begin{tabular}")
scalecalc_cli_test("markdown is md" ARGS list placements --format markdown STDOUT "\\| post \\|")
scalecalc_cli_test("global options before the command" ARGS --format json list formats
  JSON results.formats)
scalecalc_cli_test("devices" ARGS devices STDOUT "cpu.*cuda")
scalecalc_cli_test("devices as JSON" ARGS devices --format json
  JSON results.devices.0.name results.devices.0.kind results.devices.0.available
  results.devices.0.memory results.devices.0.capability results.devices.0.products
  results.devices.1.name
  results.devices.1.driver results.devices.1.why_none)

set(small sweep --width 16 --heads 2 --sequence 4 --vocab 8 --seeds 2)
set(sweep ${small} --layers 2,4)
scalecalc_cli_test("deepnorm of a mixture" ARGS deepnorm --layers 100 --optimizer Muon+AdamW
  --placement pre --explain
  STDOUT "of embedding, head +1 .*of norm gains +1 .*All but the hidden matrices: norm gains")
scalecalc_cli_test("deepnorm of a mixture as JSON"
  ARGS deepnorm --layers 100 --optimizer Muon+SGD --placement pre --format json
  JSON results.rest.0.relative_step_scale results.rest.1.relative_step_scale_formula
  results.rest.1.parameters)
scalecalc_cli_test("deepnorm of a name in capitals is that name"
  ARGS deepnorm --layers 100 --optimizer ADAM --format json STDOUT "\"optimizer\": \"adam\"")
scalecalc_cli_test("deepnorm verifies a mixture"
  ARGS deepnorm --layers 8 --optimizer muon+adamw --verify STDOUT "passed")
scalecalc_cli_test("sweep of a mixture" ARGS ${sweep} --optimizer Muon+SGD --parameters all
  STDOUT "muon.sgd")
scalecalc_cli_test("sweep" ARGS ${sweep} --optimizer sgd STDOUT "layers.*exponent.*weight matrices")
scalecalc_cli_test("sweep as JSON" ARGS ${sweep} --optimizer adam --format json
  JSON results.points.0.layers results.points.0.alpha results.points.0.lambda
    results.points.0.value results.points.0.standard_error results.points.1.samples.1
    results.exponent results.exponent_standard_error results.statistic results.quantity
    results.family inputs.alpha inputs.constraint)
scalecalc_cli_test("sweep as CSV" ARGS ${sweep} --optimizer adam --format csv
  STDOUT "^layers,alpha,lambda,value,standard_error,mean,median\n2,2[.0-9]*,0\\.5,")
scalecalc_cli_test("sweep solves alpha and lambda at each depth" STDOUT "2  +2 +0\\.5 .*4  +2\\.828427"
  ARGS ${sweep} --optimizer adam)
scalecalc_cli_test("sweep with alpha given solves lambda" ARGS ${sweep} --optimizer adam --alpha 1
  STDOUT "alpha, lambda +1, 1/\\(2\\*N\\).*alpha=1")
scalecalc_cli_test("sweep with formulas" STDOUT "alpha, lambda +N, 1/N"
  ARGS ${sweep} --optimizer adam --alpha N --lambda 1/N)
scalecalc_cli_test("sweep with a range" ARGS ${small} --layers=2:9:x2 --optimizer adam --format csv
  STDOUT "\n2,.*\n4,.*\n8,[^\n]*\n$")
scalecalc_cli_test("the same seed gives the same answer at any number of threads"
  ARGS ${sweep} --optimizer sgd --seed 7 --threads 3 --format csv STDOUT "\n4,")
foreach(quantity delta_loss grad_norm update_ratio)
  scalecalc_cli_test("predicted sweep of ${quantity}" STDOUT "predicted from second moments"
    ARGS ${sweep} --optimizer sgd --quantity ${quantity} --engine quadrature)
endforeach()
foreach(quantity delta_loss actual_delta_loss grad_norm update_ratio probe)
  scalecalc_cli_test("sweep of ${quantity}" ARGS ${sweep} --optimizer sgd --quantity ${quantity}
    STDOUT "${quantity} by depth")
endforeach()
scalecalc_cli_test("sweep over widths" STDOUT "delta_loss by width: sgd.*width +alpha.*\n +16 .*\n +32 .*d ln value / d ln width"
  ARGS sweep --widths 16,32 --layers 2 --heads 2 --sequence 4 --vocab 8 --seeds 2 --optimizer sgd)
scalecalc_cli_test("sweep over widths as JSON" ARGS sweep "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml"
  --widths 8:32:x2 --engine quadrature --format json
  JSON results.points.2.width results.axis inputs.widths.2)
scalecalc_cli_test("sweep of a model file" STDOUT "alpha, lambda +1, 1\n"
  ARGS sweep "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml" --layers 2,4 --seeds 2)
scalecalc_cli_test("options override the model file" STDOUT "alpha, lambda +2, 1\n"
  ARGS sweep "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml" --layers 2,4 --seeds 2 --alpha 2)
scalecalc_cli_test("sweep of a preset" ARGS sweep mlp-relu --layers 1,2 --seeds 1 --optimizer sgd
  STDOUT "delta_loss by depth")
scalecalc_cli_test("a constraint solves instead of the model file" STDOUT "symmetric"
  ARGS sweep "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml" --layers 2,4 --seeds 2 --constraint symmetric)

add_test(NAME "cli: passes that take long are announced" COMMAND Python3::Interpreter
  "${CMAKE_CURRENT_LIST_DIR}/announced.py" "$<TARGET_FILE:scalecalc_program>")
set_tests_properties("cli: passes that take long are announced" PROPERTIES LABELS cli)
# Its gradients were infinite: masks forget how far apart a draw had its tokens.
scalecalc_cli_test("deepnorm with dropout" ARGS deepnorm --layers 4 --dropout 0.5
  STDOUT "alpha +2\\.828427")
scalecalc_cli_test("deepnorm with attention dropout" ARGS deepnorm --layers 4 --width 16 --heads 2
  --attention-dropout 0.5 STDOUT "alpha +2\\.828427")
