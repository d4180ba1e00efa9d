# A graph of torch.export in place of a model (tests/graphs/make_graphs.py makes it).
set(graph "${CMAKE_CURRENT_LIST_DIR}/graph.pt2")
scalecalc_cli_test("graph: as a model file" ARGS import ${graph}
  STDOUT "a graph of 18 operations of torch.*times = .N.*activation = .silu")
scalecalc_cli_test("graph: as a model file in JSON" ARGS import ${graph} --format json
  JSON results.toml)
scalecalc_cli_test("graph: propagated" ARGS propagate ${graph} --layers 3 STDOUT "repeat.0..2.")
scalecalc_cli_test("graph: verified" ARGS verify ${graph} --seeds 8 STDOUT "Passed")
scalecalc_cli_test("graph: swept" ARGS sweep ${graph} --layers 1,2 --seeds 2 STDOUT "counted")
scalecalc_cli_test("graph: its own names" ARGS init ${graph} --format csv
  STDOUT "repeat.0..1..residual.0..gated.0..gate.weight,gates.1.weight")
scalecalc_cli_test("graph: code with its names" ARGS init ${graph} --target pytorch
  STDOUT "gates.{i}.weight")
scalecalc_cli_test("graph: its weights" ARGS audit ${graph} STDOUT "All [0-9]+ parameters")
scalecalc_cli_test("wrong: graph: a text file" EXIT 2 STDERR "no zip archive"
  ARGS propagate "${CMAKE_CURRENT_LIST_DIR}/no_graph.pt2")
scalecalc_cli_test("wrong: graph: no such file" EXIT 2 STDERR "nothing.pt2"
  ARGS propagate nothing.pt2)
