#include "cli/table/tables.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

constexpr std::int64_t placement_depths[] = {12, 64};
/// Interpolations leave 1e-10 of a moment, and 128 sublayers multiply their moments.
constexpr int digits = 6;

const std::vector<std::string>& columns() {
  static const std::vector<std::string> all = {"scheme",
                                               "layers",
                                               "alpha",
                                               "lambda",
                                               "identity_weight",
                                               "effective_depth",
                                               "stream_growth",
                                               "gradient_first_over_last",
                                               "stream_gradient_first_over_last",
                                               "refused"};
  return all;
}

/// One block of usual shape, at which the schemes are compared.
ModelSpec block(Placement placement, std::int64_t layers) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 256;
  spec.heads = 4;
  spec.ffn = 1024;
  spec.activation = "relu";
  spec.placement = placement;
  spec.layers = layers;
  spec.input.cross = 0.1;
  if (placement == Placement::none) spec.norm = NormKind::none;
  return spec;
}

double scale_of(const std::optional<Expr>& formula, std::int64_t layers) {
  return evaluate(formula.value(), {{"N", static_cast<double>(layers)}});
}

std::vector<Value> measured(const std::string& scheme, const ModelSpec& spec) {
  const Network network = build_network(spec);
  const DepthProfile profile = depth_profile(network, propagate(network, {}));
  std::vector<Value> row = {scheme,
                            spec.layers,
                            scale_of(spec.alpha, spec.layers),
                            scale_of(spec.lambda, spec.layers),
                            profile.identity_weight,
                            profile.effective_depth};
  // Two streams share their branches.
  if (!profile.sublayers.empty()) {
    const SublayerShare& first = profile.sublayers.front();
    const SublayerShare& last = profile.sublayers.back();
    row.insert(row.end(),
               {last.stream / first.stream,
                last.gradient > 0 ? Value(first.gradient / last.gradient) : Value(),
                last.grad_stream > 0 ? Value(first.grad_stream / last.grad_stream) : Value()});
  }
  row.resize(columns().size());
  return row;
}

std::vector<Value> row_of(const std::string& scheme, const ModelSpec& spec) {
  try {
    return measured(scheme, spec);
  } catch (const Error& error) {
    std::vector<Value> row = {scheme, spec.layers, 1.0, 1.0};
    row.resize(columns().size() - 1);
    row.emplace_back(error.message());
    return row;
  }
}

/// post with the pair of its depth, under the name it is known by.
ModelSpec deepnorm(const char* optimizer, std::int64_t layers) {
  ModelSpec spec = block(Placement::post, layers);
  ScalingProblem problem;
  problem.layers = layers;
  problem.optimizer = optimizer;
  const ScalingSolution solution = solve_scaling(problem);
  spec.alpha = solution.alpha.formula;
  spec.lambda = solution.lambda.formula;
  return spec;
}

}  // namespace

report::Document schemes_table_document() {
  report::Table table{columns(), {}};
  for (const std::int64_t layers : placement_depths) {
    for (const std::string& name : placement_names())
      table.rows.push_back(row_of(name, block(placement_from(name), layers)));
    table.rows.push_back(row_of("deepnorm (sgd)", deepnorm("sgd", layers)));
    table.rows.push_back(row_of("deepnorm (adam)", deepnorm("adam", layers)));
  }
  return table_document(
      "schemes", "Residual schemes at the start of training",
      "A relu transformer 256 wide (4 heads, ffn 1024, 24 tokens of cosine 0.1, LeCun), by the "
      "moment rules. identity_weight: amplitude that the input keeps; effective_depth: branches "
      "that the signal's power passes on average; stream_growth: second moment of the stream, last "
      "over first; gradient_first_over_last: norms of the gradients of the first branch's and the "
      "last branch's matrices; resi-dual, of two streams, has none of the last three. rezero, "
      "skipinit and fixup "
      "start as the identity: their branch "
      "weights have no gradient yet.",
      std::move(table), digits);
}

}  // namespace scalecalc::cli
