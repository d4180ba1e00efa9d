#include <algorithm>
#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {
namespace {

/// The least error of an exponent that can be told: constants and depths near 1 bend the lines.
constexpr double least_tolerance = 0.1;
/// Standard errors of the measured exponent within which the predicted one lies.
constexpr double standard_errors = 3;

Error one_depth(const std::string& hint) {
  return {ErrorKind::usage, "an exponent in depth needs two depths", "--verify", hint};
}

/// Rising depths to the asked one, a factor of four apart.
std::vector<std::int64_t> depths_up_to(std::int64_t layers) {
  if (layers < 2) throw one_depth("ask for at least --layers 2");
  std::vector<std::int64_t> depths;
  for (std::int64_t depth = layers < 8 ? 1 : 2; 2 * depth <= layers; depth *= 4)
    depths.push_back(depth);
  depths.push_back(layers);
  return depths;
}

/// The polynomial in N through a number at each depth.
Expr through(const std::vector<std::int64_t>& depths, const std::vector<double>& numbers) {
  const Expr depth = Expr::symbol("N");
  Expr total = 0;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    Expr term = Rational::shortest(numbers[i]);
    for (std::size_t j = 0; j < depths.size(); ++j)
      if (j != i) term = term * (depth - Expr(depths[j])) / Expr(depths[i] - depths[j]);
    total = total + term;
  }
  return total;
}

/// lambda where it is a root: solved for at each depth.
Expr solved_lambda(const ScalingProblem& problem, const std::vector<std::int64_t>& depths) {
  std::vector<double> numbers;
  for (const std::int64_t depth : depths) {
    ScalingProblem at = problem;
    at.layers = depth;
    numbers.push_back(solve_scaling(at).lambda.value);
  }
  return through(depths, numbers);
}

void set_scales(const ScalingPair& pair, ModelSpec& model) {
  model.alpha = pair.alpha;
  model.lambda = pair.lambda;
  model.encoder_decoder = pair.decoder.has_value();
  if (!pair.decoder) return;
  model.decoder_layers = pair.decoder->layers;
  model.decoder_alpha = pair.decoder->alpha;
  model.decoder_lambda = pair.decoder->lambda;
}

/// That of the moments at these depths; nothing where they have none.
std::optional<double> moments_exponent(SweepOptions options,
                                       const std::vector<std::int64_t>& layers) {
  options.layers = layers;
  options.progress = {};
  options.expect = {};
  options.engine = SweepEngine::quadrature;
  const SweepResult predicted = sweep(options);
  return predicted.no_exponent.empty() ? std::optional(predicted.exponent) : std::nullopt;
}

/// Whether the moments say what the pair gives at few layers, where terms of 1/N are left, and what
/// it comes to: where it is to hold the loss change, by formulas that can be taken to more layers.
bool predicted_by_moments(const ScalingPair& pair) {
  return pair.decoder || (pair.at_any_depth && pair.exponent == 0);
}

}  // namespace

ScalingPair scaling_pair(const ScalingProblem& problem) {
  const ScalingSolution solution = solve_scaling(problem);
  ScalingPair pair;
  pair.layers = depths_up_to(problem.layers);
  pair.alpha = solution.alpha.formula;
  pair.at_any_depth = solution.closed_form;
  pair.lambda = pair.at_any_depth ? solution.lambda.formula : solved_lambda(problem, pair.layers);
  const PredictedExponents predicted = predicted_exponents(problem, pair.layers);
  pair.exponent = predicted.pair;
  pair.plain_exponent = predicted.plain;
  return pair;
}

ScalingPair scaling_pair(const ScalingProblem& problem, const PublishedPair& published) {
  ScalingPair pair;
  pair.layers = depths_up_to(problem.layers);
  pair.alpha = published.alpha.formula;
  pair.lambda = published.lambda.formula;
  pair.at_any_depth = true;
  pair.plain_exponent = predicted_exponents(problem, pair.layers).plain;
  return pair;
}

ScalingPair scaling_pair(const ScalingProblem& problem, const ExactSolution& solution) {
  const ExactPoint& from = solution.reference;
  const ExactPoint& to = solution.solved;
  if (from.layers == to.layers) throw one_depth("use another --reference-layers than --layers");
  ScalingPair pair;
  pair.layers = {from.layers, to.layers};
  pair.alpha = through(pair.layers, {from.alpha, to.alpha});
  pair.lambda = through(pair.layers, {from.lambda, to.lambda});
  pair.plain_exponent = predicted_exponents(problem, pair.layers).plain;
  return pair;
}

ScalingPair scaling_pair_of_two(const ScalingPair& encoder, const ScalingPair& decoder,
                                std::int64_t encoder_layers, std::int64_t decoder_layers) {
  ScalingPair pair = encoder;
  // A decoder's depth is its own N where its pair was a root, else M.
  const auto in_m = [](const Expr& formula) {
    return substitute(formula, {{"N", Expr::symbol("M")}});
  };
  pair.decoder =
      ScalingPair::Decoder{in_m(decoder.alpha), in_m(decoder.lambda),
                           Expr(Rational(decoder_layers, encoder_layers)) * Expr::symbol("N")};
  if (std::fabs(decoder.exponent) > std::fabs(pair.exponent)) pair.exponent = decoder.exponent;
  pair.plain_exponent.reset();
  return pair;
}

ScalingVerification verify_scaling(const ScalingPair& pair, SweepOptions options) {
  const Progress whole = options.progress;
  const auto half_from = [&whole](double from) -> Progress {
    if (!whole) return {};
    return [&whole, from](double done, const std::string& what) {
      return whole(from + done / 2, what);
    };
  };
  options.engine = SweepEngine::passes;
  options.quantity = Quantity::delta_loss;
  options.layers = pair.layers;
  set_scales(pair, options.model);

  ScalingVerification result;
  result.predicted = pair.exponent;
  result.predicted_plain = pair.plain_exponent;
  options.progress = half_from(0.0);
  result.pair = sweep(options);
  if (predicted_by_moments(pair)) {
    const std::int64_t last = pair.layers.back();
    result.predicted = moments_exponent(options, pair.layers).value_or(pair.exponent);
    result.predicted_deep = moments_exponent(options, {last, ScalingVerification::deeper * last});
    result.holds_deep =
        std::fabs(result.predicted_deep.value_or(pair.exponent) - pair.exponent) <= least_tolerance;
  }
  options.model.alpha = options.model.lambda = Expr(1);
  options.model.decoder_alpha = options.model.decoder_lambda = Expr(1);
  options.progress = half_from(0.5);
  result.plain = sweep(options);
  if (pair.decoder) result.predicted_plain = moments_exponent(options, pair.layers);
  result.tolerance =
      std::max(least_tolerance, standard_errors * result.pair.exponent_standard_error);
  result.passed = result.holds_deep && result.pair.finite &&
                  std::fabs(result.pair.exponent - result.predicted) <= result.tolerance;
  return result;
}

}  // namespace scalecalc
