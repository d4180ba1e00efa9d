scalecalc_cli_test("explain: a topic" ARGS explain pre-norm
  STDOUT "^Pre-Norm.*because: it holds \\(proved.*follows from.*How they follow.*All [0-9]+ statements hold")
scalecalc_cli_test("explain: as JSON" ARGS explain norms --format json
  JSON results.title results.passed results.statements.0.statement results.statements.0.holds
  results.statements.1.methods.quadrature results.statements.2.follows.0 results.toml)
scalecalc_cli_test("explain: the topics" ARGS list topics STDOUT "pre-norm")
scalecalc_cli_error("explain: what" EXIT 2 SAYS "explain what" ARGS explain)
scalecalc_cli_error("explain: a topic with a slip" EXIT 2 SAYS "did you mean 'norms'"
  ARGS explain norm)
