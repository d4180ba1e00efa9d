#include "cli/deepnorm/verification_document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/sweep/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Section;
using report::Table;
using report::Value;

std::string plain_column(const SweepResult& plain) {
  return plain.by_median ? "alpha = lambda = 1 (median)" : "alpha = lambda = 1";
}

/// Of two stacks, "18 + 6".
Value depth_of(const SweepPoint& point) {
  if (point.decoder_layers == 0) return point.layers;
  return fmt::format("{} + {}", point.layers, point.decoder_layers);
}

/// What becomes of the exponent at depths where terms of 1/N are gone.
std::string deep_clause(const ScalingVerification& verification) {
  if (!verification.predicted_deep) return {};
  const SweepPoint& last = verification.pair.points.back();
  return fmt::format(", {} for many layers (the moments have N^{:.3f} from {} to {})",
                     verification.holds_deep ? "and is held" : "but is not held",
                     *verification.predicted_deep, last.layers,
                     ScalingVerification::deeper * last.layers);
}

}  // namespace

Value verification_results(const ScalingVerification& verification) {
  Value results = Value::object();
  results["passed"] = verification.passed;
  results["quantity"] = "delta_loss";
  results["exponent"] = verification.pair.exponent;
  results["exponent_standard_error"] = verification.pair.exponent_standard_error;
  results["predicted_exponent"] = verification.predicted;
  if (verification.predicted_deep) results["deep_exponent"] = *verification.predicted_deep;
  results["tolerance"] = verification.tolerance;
  results["statistic"] = verification.pair.by_median ? "median" : "mean";
  results["points"] = sweep_points(verification.pair);
  Value plain = Value::object();
  plain["alpha"] = 1;
  plain["lambda"] = 1;
  plain["exponent"] = verification.plain.exponent;
  plain["predicted_exponent"] =
      verification.predicted_plain ? Value(*verification.predicted_plain) : Value();
  plain["exponent_standard_error"] = verification.plain.exponent_standard_error;
  plain["statistic"] = verification.plain.by_median ? "median" : "mean";
  plain["points"] = sweep_points(verification.plain);
  results["plain"] = std::move(plain);
  return results;
}

std::vector<Section> verification_sections(const ScalingVerification& verification,
                                           const std::string& optimizer) {
  Table table;
  table.columns = {
      "layers", "alpha", "lambda", "loss change", "+-", plain_column(verification.plain), "+-"};
  for (std::size_t i = 0; i < verification.pair.points.size(); ++i) {
    const SweepPoint& pair = verification.pair.points[i];
    const SweepPoint& plain = verification.plain.points[i];
    table.rows.push_back(
        {depth_of(pair), report::format_number(pair.alpha, 5),
         report::format_number(pair.lambda, 5), report::format_number(pair.value, 4),
         report::format_number(pair.standard_error, 2), report::format_number(plain.value, 4),
         report::format_number(plain.standard_error, 2)});
  }
  const auto line = [](const SweepResult& sweep) {
    return fmt::format("N^({:.3f} +- {:.3f})", sweep.exponent, sweep.exponent_standard_error);
  };
  const double predicted = verification.predicted;
  const std::optional<double>& plain = verification.predicted_plain;
  const std::string wanted = predicted == 0 ? "0" : fmt::format("the predicted {:.3f}", predicted);
  const bool agrees = std::fabs(verification.pair.exponent - predicted) <= verification.tolerance;
  std::string verdict = fmt::format(
      "The loss change of one {} step goes as {}, {} {} within {:.3f}{}: {}. Without the pair "
      "(alpha = lambda = 1) it goes as {}, {}.",
      optimizer, line(verification.pair), agrees ? "which is" : "which is not", wanted,
      verification.tolerance, deep_clause(verification), verification.passed ? "passed" : "FAILED",
      line(verification.plain),
      plain ? fmt::format("predicted N^{:.3f}", *plain) : std::string("predicted to explode"));
  if (predicted != 0 && !verification.predicted_deep)
    verdict +=
        " No lambda holds it: squared gradients grow as the stream to the power kappa, and the "
        "first branch sees the stream before it grows.";
  return {{fmt::format("Real passes: -dL/eta of one {} step, {} over seeds", optimizer,
                       verification.pair.by_median ? "median" : "mean"),
           table},
          {"", report::Paragraph{verdict}}};
}

}  // namespace scalecalc::cli
