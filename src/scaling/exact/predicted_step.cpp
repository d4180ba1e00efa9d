#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "scalecalc/optimizer_mixture.hpp"
#include "scaling/exact/step_sizes.hpp"

namespace scalecalc {
namespace {

using exact::MatrixSizes;
using exact::Step;

/// A parameter counted by the sum, with the tokens its gradient is a sum over.
struct Counted {
  const ParameterMoments* moments = nullptr;
  bool is_matrix = true, is_second = false;
};

std::vector<Counted> counted(const Network& network, const Trace& trace, bool all,
                             const std::optional<SecondRule>& rest) {
  std::map<std::string, const ParameterMoments*> by_path;
  for (const ParameterMoments& moments : trace.parameters) by_path[moments.path] = &moments;
  std::vector<Counted> list;
  for (const ParameterInfo& info : parameters(network)) {
    if (!all && !(info.in_branch && info.is_matrix)) continue;
    const auto found = by_path.find(info.path);
    if (found == by_path.end() || !found->second->grad_second.is_known())
      throw Error(ErrorKind::input, "the trace has no gradient of " + info.path, trace.engine,
                  "propagate with backward = true");
    list.push_back({found->second, info.is_matrix, rest && !steps_first(rest->first_roles, info)});
  }
  if (list.empty())
    throw Error(ErrorKind::input, "the network has no weight matrix inside a residual branch", {},
                "use all parameters, or more layers");
  return list;
}

std::int64_t tokens_of(const Network& network) {
  return std::max<std::int64_t>(1, network.sequence * network.batch);
}

std::vector<MatrixSizes> sizes_of(const std::vector<Counted>& list, std::int64_t tokens) {
  std::vector<MatrixSizes> sizes;
  sizes.reserve(list.size());
  for (const Counted& one : list) {
    const ParameterMoments& moments = *one.moments;
    sizes.push_back(exact::matrix_sizes(moments.rows, moments.columns, tokens, moments.second.value,
                                        moments.grad_second.value, moments.grad_spread));
  }
  return sizes;
}

/// Of the two optimizers of a mixture.
struct Steps {
  Step first, second;
  const Step& of(const Counted& one) const { return one.is_second ? second : first; }
};

/// Of a typical draw: squares are lognormal over draws, their median e^(-spread/2) of their mean.
double typical_change(const Steps& steps, const std::vector<Counted>& list, std::int64_t tokens) {
  std::vector<MatrixSizes> sizes;
  double squares = 0, change = 0;
  for (const Counted& one : list) {
    const ParameterMoments& moments = *one.moments;
    const double typical = moments.grad_second.value * std::exp(-moments.grad_spread / 2);
    sizes.push_back(exact::matrix_sizes(moments.rows, moments.columns, tokens, moments.second.value,
                                        typical, 0));
    squares += sizes.back().frobenius * sizes.back().frobenius;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    change += steps.of(list[i]).change(sizes[i], std::sqrt(squares));
  return change;
}

/// |theta| over the largest singular value of a matrix of independent entries:
/// sqrt(rows columns)/(sqrt(rows) + sqrt(columns)).
double norm_over_frobenius(const ParameterMoments& moments) {
  const double rows = std::sqrt(static_cast<double>(moments.rows)),
               columns = std::sqrt(static_cast<double>(moments.columns));
  return rows * columns / (rows + columns);
}

}  // namespace

std::optional<double> PredictedStep::find(std::string_view quantity) const {
  if (quantity == "delta_loss") return delta_loss;
  if (quantity == "grad_norm") return grad_norm;
  if (quantity == "update_ratio") return update_ratio;
  return std::nullopt;
}

PredictedStep predicted_step(const Network& network, const Trace& trace, const Expr& update,
                             bool all_parameters, const std::optional<SecondRule>& rest) {
  const Steps steps{Step(update), Step(rest ? rest->update : update)};
  const std::vector<Counted> list = counted(network, trace, all_parameters, rest);
  const std::vector<MatrixSizes> sizes = sizes_of(list, tokens_of(network));
  double squares = 0;
  for (const MatrixSizes& one : sizes) squares += one.frobenius * one.frobenius;

  PredictedStep result;
  result.grad_norm = std::sqrt(squares);
  double ratios = 0, drawn_ratios = 0, norm_ratios = 0;
  int matrices = 0, drawn = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Step& step = steps.of(list[i]);
    result.delta_loss += step.change(sizes[i], result.grad_norm);
    if (!list[i].is_matrix) continue;
    const double ratio = step.size(sizes[i], result.grad_norm) / sizes[i].theta;
    ratios += ratio * ratio;
    ++matrices;
    if (!(sizes[i].theta > 0)) continue;
    const double over_norm = ratio * norm_over_frobenius(*list[i].moments);
    drawn_ratios += ratio * ratio;
    norm_ratios += over_norm * over_norm;
    ++drawn;
  }
  result.typical_delta_loss = typical_change(steps, list, tokens_of(network));
  result.update_ratio = matrices > 0 ? std::sqrt(ratios / matrices) : 0;
  if (drawn > 0) {
    result.relative_update = std::sqrt(drawn_ratios / drawn);
    result.relative_norm = std::sqrt(norm_ratios / drawn);
  }
  return result;
}

std::vector<ShapeFactor> shape_factors(const Network& network, const Expr& update) {
  const std::string shape = Step(update).shape();
  const std::int64_t tokens = tokens_of(network);
  if (shape == "one")
    return {{"|g|_1/(entries*rms(g))", exact::one_norm_shape(tokens),
             fmt::format("entries that are sums over {} tokens of Gaussian products: 2/pi for one "
                         "token, (2/pi)^(1/2) for many; the same at every depth, so it cancels",
                         tokens)}};
  if (shape == "nuclear") {
    std::vector<ShapeFactor> list;
    for (const ParameterInfo& info : parameters(network)) {
      if (!info.in_branch || !info.is_matrix) continue;
      const double value = exact::nuclear_shape(info.rows, info.columns, tokens);
      const std::string name = fmt::format("|g|_nuclear/|g| of {} x {}", info.rows, info.columns);
      const bool seen = std::any_of(list.begin(), list.end(),
                                    [&](const ShapeFactor& one) { return one.name == name; });
      if (seen) continue;
      list.push_back(
          {name, value,
           fmt::format("rank {} of {} independent tokens, and the law of their singular values; it "
                       "cancels as long as tokens stay as different at every depth",
                       std::min({info.rows, info.columns, tokens}), tokens)});
    }
    return list;
  }
  return {};
}

}  // namespace scalecalc
