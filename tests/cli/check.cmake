# The command check: claims that hold and that do not, its formats, and what is wrong with a file.
set(claims "${CMAKE_CURRENT_SOURCE_DIR}/claims")
set(claim_keys "")
foreach(key name holds assertion methods.quadrature.value methods.quadrature.difference
    methods.symbolic.proved methods.montecarlo.error)
  list(APPEND claim_keys results.claims.0.${key})
endforeach()
scalecalc_cli_test("check --help" ARGS check --help STDOUT "FILE.*--junit.*--github")
scalecalc_cli_test("check: claims that hold" ARGS check ${claims}/right.toml
  STDOUT "He initialisation.*relu halves.*yes.*proved.*quadrature.*Published claims.*wrong.*1\\.666667.*3 claims, all hold\\.")
scalecalc_cli_test("check as JSON" ARGS check ${claims}/right.toml --format json
  JSON results.passed ${claim_keys} results.findings.0.off)
foreach(format csv md latex)
  scalecalc_cli_test("check as ${format}" ARGS check ${claims}/right.toml --format ${format}
    STDOUT "relu halves the second moment")
endforeach()
scalecalc_cli_test("check: a claim that does not hold" EXIT 1 ARGS check ${claims}/wrong.toml
  STDOUT "NO.*refuted.*left +q/2.*right +q.*left - right +-q/2, left/right = 1/2")
scalecalc_cli_test("check: what only points support says so" EXIT 1 ARGS check ${claims}/points.toml
  STDOUT "two variances that differ +NO +quadrature differs.*a tangent line +NO +refuted.*Jensen +yes +quadrature at [1-9][0-9] points.*where +q = 1 *\n +there +left 2, right 2\\.000001")
scalecalc_cli_test("check: points and verdicts as JSON" EXIT 1
  ARGS check ${claims}/points.toml --format json
  JSON results.claims.2.verdict results.claims.2.methods.quadrature.points)
scalecalc_cli_test("check: one of two files" EXIT 1 STDOUT "4 claims, 1 of them do not hold"
  ARGS check ${claims}/right.toml ${claims}/wrong.toml)
scalecalc_cli_test("check: annotations for GitHub" EXIT 1 ARGS check ${claims}/wrong.toml --github
  STDOUT "\n::error file=[^\n]*wrong\\.toml,line=4,col=11,title=relu keeps the second moment <b>&amp")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/broken.toml" "[[claim]]\nassert = '1 + == 2'\n")
scalecalc_cli_test("check: an annotation of what cannot be read" EXIT 2
  ARGS check "${CMAKE_CURRENT_BINARY_DIR}/broken.toml" --github STDERR "unexpected '=='"
  STDOUT "^::error file=[^\n]*broken\\.toml,line=2,col=[0-9]+,title=scalecalc::unexpected '==';")
scalecalc_cli_error("check: annotations behind CSV" EXIT 2 SAYS "both go to standard output"
  ARGS check ${claims}/right.toml --github --format csv)
scalecalc_cli_test("check: annotations behind JSON" EXIT 2 STDERR "both go to standard output"
  ARGS check ${claims}/right.toml --github --format json JSON error.hint)
scalecalc_cli_test("check: annotations, and JSON in a file" ARGS check ${claims}/right.toml --github
  -o annotated.json STDOUT "^$")
scalecalc_cli_test("check: mutants of claims that hold" ARGS check ${claims}/right.toml --mutate
  STDOUT "all hold\\..*factor 2 .*Survives its mutation: but it is not.*turned +not: E.relu.z.\\^2. > 1/2.*reason +it is a half.*1 of them survive, of 1 claims")
scalecalc_cli_test("check: mutants as JSON" ARGS check ${claims}/right.toml --mutate --format json
  JSON results.mutants.0.claim results.mutants.0.mutation results.mutants.0.text
  results.mutants.0.survived results.mutants.0.refuted_by results.survivors
  results.surviving_claims results.unexplained results.claims.1.follows.0)
scalecalc_cli_test("check: a mutant that survives" EXIT 1 ARGS check ${claims}/wide.toml --mutate
  STDOUT "factor 2 +gain.tanh. == 3\\.2 within 60%.*reason +none is written.*1 of these claims without")
scalecalc_cli_test("check: without --mutate it is not asked" ARGS check ${claims}/wide.toml
  STDOUT "1 claims, all hold\\.")
add_test(NAME "cli: check: JUnit" COMMAND ${CMAKE_COMMAND}
  "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DFILE=${claims}/wrong.toml"
  "-DJUNIT=${CMAKE_CURRENT_BINARY_DIR}/junit.xml" -P "${CMAKE_CURRENT_SOURCE_DIR}/junit.cmake")
set_tests_properties("cli: check: JUnit" PROPERTIES LABELS cli)

scalecalc_cli_error("check without a file" EXIT 2 ARGS check SAYS "check what\\?")
scalecalc_cli_error("no such claim file" EXIT 2 ARGS check none.toml SAYS "no such claim file")
scalecalc_cli_error("a folder without claims" EXIT 2 ARGS check ${claims}/../../report/golden
  SAYS "a directory without claim files")
foreach(case
    "syntax|syntax\\.toml:2:23\\)"
    "function|unknown function 'rellu' \\([^ ]*function\\.toml:2:13\\); did you mean 'relu'"
    "division|division by zero \\([^ ]*division\\.toml:2:12\\)"
    "endless|a bound that never ends \\([^ ]*endless\\.toml:2:25\\)"
    "reserved|'nan' is no number \\([^ ]*reserved\\.toml:2:27\\)"
    "huge|product of 1000000000000 factors; at most 100000.*huge\\.toml:2:11\\)"
    "divergent|this expectation does not exist \\([^ ]*divergent\\.toml:2:11\\)"
    "reason|unknown mutation 'factor 3' \\([^ ]*reason\\.toml:3:14\\); did you mean 'factor 2'"
    "premise|unknown claim further up 'on' \\([^ ]*premise\\.toml:6:12\\)"
    "latin|a claim file must be UTF-8 text \\([^ ]*latin\\.toml:2:16\\)")
  string(REPLACE "|" ";" parts "${case}")
  list(GET parts 0 name)
  list(GET parts 1 says)
  scalecalc_cli_error("a claim file: ${name}" EXIT 2 ARGS check ${claims}/${name}.toml
    SAYS "${says}")
endforeach()
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/large.toml" "")
execute_process(COMMAND truncate -s 100M "${CMAKE_CURRENT_BINARY_DIR}/large.toml")
scalecalc_cli_error("a claim file of 100 MB" EXIT 2
  ARGS check ${CMAKE_CURRENT_BINARY_DIR}/large.toml
  SAYS "a claim file may have at most 1048576 bytes")
scalecalc_cli_error("samples of claims" EXIT 2 ARGS check ${claims}/right.toml --samples 1
  SAYS "--samples")
scalecalc_cli_error("JUnit that cannot be written" EXIT 3
  ARGS check ${claims}/right.toml --junit /no-such-folder/x.xml SAYS "no-such-folder")

# Every derivation of tables/claims, by every method that applies.
if(EXISTS "${PROJECT_SOURCE_DIR}/tables/claims")
  scalecalc_cli_test("the claims of tables/claims hold" STDOUT "all hold\\."
    ARGS check ${PROJECT_SOURCE_DIR}/tables/claims)
  set_tests_properties("cli: the claims of tables/claims hold" PROPERTIES TIMEOUT 600)
endif()

# Of each claim whatever can be changed: at most 3% of the claims have a mutant that survives, each
# with its reason (else the exit code is 1).
if(EXISTS "${PROJECT_SOURCE_DIR}/tables/claims")
  scalecalc_cli_test("the claims of tables/claims refute what they are changed to"
    STDOUT "of them survive, of [0-9]+ claims \\([0-2]\\.[0-9]%\\)\\."
    ARGS check ${PROJECT_SOURCE_DIR}/tables/claims --mutate --threads 2)
  set_tests_properties("cli: the claims of tables/claims refute what they are changed to"
    PROPERTIES TIMEOUT 900 LABELS "cli;slow" PROCESSORS 2)
endif()
