# The commands activation and solve: values, keys, and what is wrong with a question.
foreach(command activation solve)
  scalecalc_cli_test("${command} --help" ARGS ${command} --help STDOUT "--expr")
endforeach()

scalecalc_cli_test("activation: an expression where a name stands"
  ARGS activation "x*sigmoid(1.7*x)" STDOUT "sigmoid")
scalecalc_cli_test("solve: an expression where a name stands"
  ARGS solve tuned "x*sigmoid(1.7*x)" STDOUT "1.539706")
scalecalc_cli_test("activation" ARGS activation gelu
  STDOUT "0\\.4252215.*1\\.53353.*1\\.46801.*1\\.14[34]")
scalecalc_cli_test("activation as JSON" ARGS activation gelu --correlation 0.5 --format json
  JSON results.mean results.second results.variance results.slope_mean results.slope_second
    results.fourth results.cross results.slope_cross results.gain_second results.gain_activation
    results.gain_variance results.gain_backward results.q_slope results.closed_form.second
    results.methods.closed_form.second.value results.methods.quadrature.fourth.error results.kinks
    results.frameworks.0.why results.tuned.scale results.unavailable)
scalecalc_cli_test("activation as CSV" ARGS activation relu --format csv
  STDOUT "^moment,value,error,method\nmean,0\\.3989")
scalecalc_cli_test("activation: what is missing says why" ARGS activation hardshrink --format json
  STDOUT "\"slope_second\": null.*\"gain_backward\": null.*jumps at x = -1/2"
  JSON results.unavailable.gain_backward results.unavailable.cross results.kinks.1.jump_size)
scalecalc_cli_test("activation: the second moment is raw" ARGS activation relu --second 1.25
  --mean 0.5 --format json STDOUT "\"variance\": 1(\\.0)?,")
scalecalc_cli_test("activation with a parameter" ARGS activation leaky_relu --param a=0.2
  --format json STDOUT "\"second\": 0\\.52")
scalecalc_cli_test("activation from an expression" ARGS activation --expr "x*sigmoid(x)"
  STDOUT "1\\.676532")
scalecalc_cli_test("activation to fifty digits" ARGS activation sigmoid --digits 50
  --time-limit 600 --format json STDOUT "\"second\": \"0\\.2933790[0-9]+\"")
scalecalc_cli_test("activation with Monte Carlo" ARGS activation tanh --samples 65536 --format json
  JSON results.methods.monte_carlo.second.error)
scalecalc_cli_test("why 5/3" ARGS activation tanh --format json STDOUT "5/3.*0\\.4243 with chi = 1\\.21")

scalecalc_cli_test("solve self-normalizing" ARGS solve self-normalizing --digits 50 --format json
  STDOUT "1\\.0507009873554804934193349852946063519589812043764.*1\\.6732632423543772848170429916716520384611553482812"
  JSON results.lambda results.alpha results.residual results.solutions.0.stable)
scalecalc_cli_test("solve truncated-normal" ARGS solve truncated-normal --bounds=-2,2 --format json
  STDOUT "0\\.7737413.*1\\.136847" JSON results.variance results.correction results.residual)
scalecalc_cli_test("solve critical" ARGS solve critical tanh --bias-variance 0.05
  STDOUT "1\\.7[56][0-9]+" )
scalecalc_cli_test("solve critical for both" ARGS solve critical gelu --format json
  STDOUT "1\\.983058257.*0\\.1729223907"
  JSON results.weight_variance results.bias_variance results.q_star results.residual)
scalecalc_cli_test("solve critical to fifty digits" ARGS solve critical gelu --digits 50
  --format json STDOUT "\"weight_variance\": \"1\\.9830582574375471252054779858313486206580510359287\"")
scalecalc_cli_test("solve tuned to fifty digits" ARGS solve tuned gelu --digits 50
  STDOUT "slope.2 of phi +0\\.45585086564928712211362811073621543142164144008148")
scalecalc_cli_test("solve fixed-point to thirty digits" ARGS solve fixed-point gelu
  --weight-variance 3 --digits 30 --format json STDOUT "\"q_star\": \"0\\.247067168663027042747883585332\"")
scalecalc_cli_test("solve fixed-point" ARGS solve fixed-point selu --weight-variance 0.5625
  --format json JSON results.q_star results.c_star results.chi results.phase results.q_depth_scale
    results.c_depth_scale results.residual results.points.0.q_stable)
scalecalc_cli_test("solve fixed-point at a fraction: selu with gain 3/4" ARGS solve fixed-point selu
  --weight-variance 9/16 --format json STDOUT "\"activation_second\": 0\\.0409")
scalecalc_cli_error("a fraction over 0" EXIT 2 ARGS solve fixed-point selu --weight-variance 9/0
  SAYS "--weight-variance must be a number")
scalecalc_cli_test("a mean that vanishes, to fifty digits" ARGS activation selu --digits 50
  --time-limit 600 --format json STDOUT "\"mean\": \"0\\.0+\"")
scalecalc_cli_test("solve tuned" ARGS solve tuned sigmoid --format json
  STDOUT "0\\.152827.*1\\.03359" JSON results.scale results.shift results.centred_scale)

scalecalc_cli_error("solve without a solution" EXIT 1 SAYS "no weight variance gives chi = 1"
  ARGS solve critical relu --bias-variance 0.1)
scalecalc_cli_error("solve self-normalizing without a solution" EXIT 1 SAYS "E phi = 0"
  ARGS solve self-normalizing --family softplus)
scalecalc_cli_error("solve an exploding stack" EXIT 1 SAYS "explodes"
  ARGS solve fixed-point relu --weight-variance 3 --bias-variance 0.1)
scalecalc_cli_error("solve of nothing" EXIT 2 SAYS "solve what" ARGS solve)
scalecalc_cli_error("solve of what is not there" EXIT 2 SAYS "did you mean 'critical'"
  ARGS solve critcal)
# What another problem has a use for is no option of this one.
foreach(idle IN ITEMS
    "self-normalizing|--variance|2|--variance belongs to tuned, not to self-normalizing"
    "self-normalizing|--expr|x|--expr belongs to tuned, critical, fixed-point, not to"
    "self-normalizing|--param|a=1|--param belongs to" "self-normalizing|--bounds|0,1|--bounds belongs to"
    "truncated-normal|--range|1,2|--range belongs to self-normalizing"
    "critical;gelu|--variance|2|--variance belongs to tuned"
    "critical;gelu|--weight-variance|2|--weight-variance belongs to fixed-point"
    "tuned;gelu|--bias-variance|2|--bias-variance belongs to critical, fixed-point"
    "fixed-point;gelu|--family|x|--family belongs to self-normalizing")
  string(REPLACE ";" "," idle "${idle}")
  string(REPLACE "|" ";" parts "${idle}")
  list(GET parts 0 problem)
  list(GET parts 1 option)
  list(GET parts 2 value)
  list(GET parts 3 says)
  string(REPLACE "," ";" problem "${problem}")
  scalecalc_cli_error("solve ${problem} with an idle ${option}" EXIT 2 SAYS "${says}"
    ARGS solve ${problem} "${option}=${value}")
endforeach()
scalecalc_cli_error("solve truncated-normal of an activation" EXIT 2
  SAYS "ACTIVATION belongs to tuned, critical, fixed-point, not to truncated-normal"
  ARGS solve truncated-normal gelu --bounds=-2,2)

scalecalc_cli_error("solve truncated-normal the wrong way round" EXIT 2 SAYS "below the upper"
  ARGS solve truncated-normal --bounds=2,-2)
scalecalc_cli_error("solve truncated-normal with one bound" EXIT 2 SAYS "two numbers"
  ARGS solve truncated-normal --bounds=2)
scalecalc_cli_error("solve fixed-point without a variance" EXIT 2 SAYS "--weight-variance is missing"
  ARGS solve fixed-point tanh)
scalecalc_cli_error("activation of nothing" EXIT 2 SAYS "which activation" ARGS activation)
scalecalc_cli_error("activation that is not there" EXIT 2 SAYS "did you mean 'gelu'"
  ARGS activation gel)
scalecalc_cli_error("activation given twice" EXIT 2 SAYS "both given" ARGS activation gelu --expr x)
scalecalc_cli_error("activation --param without a value" EXIT 2 SAYS "NAME=NUMBER"
  ARGS activation elu --param a)
scalecalc_cli_error("activation --param unknown" EXIT 2 SAYS "elu" ARGS activation elu --param b=1)
scalecalc_cli_error("activation --second below the squared mean" EXIT 2 SAYS "negative"
  ARGS activation relu --second 0.1 --mean 1)
scalecalc_cli_error("activation --second and --variance" EXIT 2 SAYS "give one of them"
  ARGS activation relu --second 1 --variance 1)
scalecalc_cli_error("activation --correlation" EXIT 2 SAYS "from -1 to 1"
  ARGS activation relu --correlation 1.5)
scalecalc_cli_error("activation --digits" EXIT 2 SAYS "at most 100" ARGS activation relu --digits 101)
scalecalc_cli_error("a misspelt function" EXIT 2 SAYS "column 3 \\(--expr\\); did you mean 'sigmoid'"
  ARGS activation --expr "x*sigmod(x)")
scalecalc_cli_error("a broken expression" EXIT 2 SAYS "column" ARGS activation --expr "1/(")
scalecalc_cli_error("a pole at 0" EXIT 2 SAYS "expectation does not exist" ARGS activation --expr "1/x")

# Questions that would take minutes: what is found in time is there, the rest is null with its
# reason.
set(factors "")
foreach(k RANGE 1 60)
  string(APPEND factors "*tanh(x + ${k}/7)")
endforeach()
set(powers "")
foreach(k RANGE 2 900)
  string(APPEND powers " + x^${k}")
endforeach()
foreach(expression IN ITEMS "x${powers}" "sin(1e6*x)" "sigmoid(1e300*x)" "x${factors}" "exp(x)*Phi(x)^3")
  string(SUBSTRING "${expression}" 0 24 shown)
  scalecalc_cli_test("activation ${shown} ends at its time limit"
    ARGS activation --expr "${expression}" --digits 30 --time-limit 0.3 --format json
    STDOUT "not found in the time limit of 0.3 s" STDERR "--time-limit 3 allows more"
    JSON results.expression results.methods results.gain_activation results.unavailable)
  set_tests_properties("cli: activation ${shown} ends at its time limit" PROPERTIES TIMEOUT 60)
endforeach()
scalecalc_cli_test("activation keeps what it finds in its time"
  ARGS activation --expr "sin(1e6*x)" --time-limit 2 --format json
  STDOUT "\"second\": 0\\.5,.*\"gain_activation\": null.*\"gain_activation\": \"not found in the"
  STDERR "time limit")
scalecalc_cli_test("activation says what its time limit left out in a table"
  ARGS activation --expr "sigmoid(1e300*x)" --time-limit 0.3
  STDOUT "Left out\n.*methods\\.quadrature\\.mean.*not found" STDERR "time limit")
scalecalc_cli_test("activation does not note its time limit when it is quiet"
  ARGS activation --expr "sigmoid(1e300*x)" --time-limit 0.3 --quiet STDOUT "Left out")
scalecalc_cli_test("activation at an input of the largest variance" ARGS activation gelu
  --variance 1e60 --format json STDOUT "\"second\": 5(\\.0)?e\\+?59.*\"fourth\": 1\\.(5|4999)[0-9]*e\\+?120")
scalecalc_cli_error("a figure that is not drawn in time" EXIT 2
  ARGS activation --expr "x${factors}" --time-limit 0.3 --quiet --plot late.gp
  SAYS "not found in the time limit of 0.3 s")
string(REPEAT " + sin(x/7)*cos(3*x)" 300 sums)
scalecalc_cli_error("an expression that is not read in time" EXIT 2
  ARGS activation --expr "x${sums}" --time-limit 0.001
  SAYS "the answer was not found in the time limit of 0.001 s")
scalecalc_cli_error("solve past its time limit" EXIT 2 ARGS solve critical gelu --digits 80
  --time-limit 0.001 SAYS "not found in the time limit of 0.001 s \\(--time-limit\\)")
foreach(command IN ITEMS "activation;gelu" "solve;critical;gelu" "propagate;mlp-relu")
  foreach(value IN ITEMS 0 -1 abc nan inf 1e7)
    scalecalc_cli_error("${command} --time-limit ${value}" EXIT 2 ARGS ${command} --time-limit=${value}
      SAYS "--time-limit must be a number from 0.001 to 1000000")
  endforeach()
endforeach()
scalecalc_cli_test("eighty digits of a power" ARGS activation --expr "x^40" --digits 80
  --time-limit 600 --format json
  STDOUT "\"q_slope_activation\": \"(40\\.0|39\\.9)[0-9]+\"" JSON results.gain_activation)
scalecalc_cli_test("digits that quadrature has not are said in the digits asked for"
  ARGS activation tanh --digits 100 --time-limit 600 --format json
  JSON results.digits_out_of_reach.gain_second
  STDOUT "need 120 digits of an integral without a formula, and quadrature gives at most 100")
