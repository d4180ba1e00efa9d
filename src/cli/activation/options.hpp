#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/gaussian.hpp"

namespace CLI {
class App;
}

/// Which activation, and what its input is, as options.
namespace scalecalc::cli {

/// NAME or --expr, with --param a=0.2.
struct ActivationOptions {
  std::string name, expression;
  std::vector<std::string> parameters;

  /// The options; the positional argument is the command's own.
  void add_to(CLI::App* app);
  /// Throws Error(usage) for none or both, Error(input) for what is wrong with it.
  Activation read(const std::string& command) const;
};

/// A decimal or fraction, exactly.
Rational parse_exact(const std::string& option, const std::string& text,
                     const std::string& example);

/// N(mean, variance), and the correlation of two such inputs; exact as typed.
struct InputOptions {
  std::string second, mean, variance, correlation;

  void add_to(CLI::App* app);
};
struct ExactInput {
  Rational mean = 0, variance = 1;
  std::optional<Rational> correlation;

  GaussianInput rounded() const;
};
ExactInput read_input(const InputOptions& options);

}  // namespace scalecalc::cli
