#include "cli/activation/options.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

std::map<std::string, Rational> read_parameters(const std::vector<std::string>& texts) {
  std::map<std::string, Rational> values;
  for (const std::string& text : texts) {
    const std::size_t mark = text.find('=');
    if (mark == std::string::npos || mark == 0) {
      throw Error(ErrorKind::input, "--param must be NAME=NUMBER",
                  "got '" + base::shortened(text) + "'", "for example --param a=0.2");
    }
    const std::string name = text.substr(0, mark);
    if (!values.emplace(name, parse_exact("--param", text.substr(mark + 1), name + "=0.2"))
             .second) {
      throw Error(ErrorKind::usage, "the parameter '" + base::shortened(name) + "' comes twice",
                  "--param", "give each once");
    }
  }
  return values;
}

/// Fourth powers of these are doubles.
void check_magnitude(const char* option, const Rational& value, const std::string& text) {
  constexpr double least = 1e-60, largest = 1e60;
  const double size = std::fabs(value.to_double());
  if (value.is_zero() || (size >= least && size <= largest)) return;
  throw Error(ErrorKind::input, std::string(option) + " must be 0 or of a size from 1e-60 to 1e60",
              "got '" + base::shortened(text) + "'", std::string("for example ") + option + " 1");
}

}  // namespace

Rational parse_exact(const std::string& option, const std::string& text,
                     const std::string& example) {
  try {
    return Rational::parse(text);
  } catch (const Error&) {
    throw Error(ErrorKind::input, option + " must be a number",
                text.empty() ? "got nothing" : "got '" + base::shortened(text) + "'",
                "for example " + option + " " + example);
  }
}

void ActivationOptions::add_to(CLI::App* app) {
  const Options add{app};
  add.axis("--expr", expression, "E", "an expression in x, instead of a name");
  add.repeated("--param", parameters, "P=V", "a parameter of the activation: a=0.2");
}

Activation ActivationOptions::read(const std::string& command) const {
  if (name.empty() == expression.empty()) {
    throw Error(ErrorKind::usage,
                name.empty() ? "which activation?" : "a name and --expr are both given",
                "scalecalc " + command,
                "for example scalecalc " + command + " gelu, or --expr \"x*sigmoid(x)\"");
  }
  const bool is_word = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  if (!name.empty() && is_word && name != "x")
    return Activation::named(name, read_parameters(parameters));
  if (!parameters.empty()) {
    throw Error(ErrorKind::usage, "an expression has no parameters", "--param",
                "write the numbers into the expression");
  }
  if (expression.empty()) return Activation::from_expression(name);
  try {
    return Activation::from_expression(expression);
  } catch (const Error& error) {
    const std::string where = error.where() == "activation" ? "--expr" : error.where();
    throw Error(error.kind(), error.message(), where, error.hint());
  }
}

void InputOptions::add_to(CLI::App* app) {
  const Options add{app, "Input"};
  add.axis("--second", second, "M",
           "second moment E[x^2] of the input, of 1e-60 to 1e60 (default: variance 1)");
  add.axis("--mean", mean, "MU", "mean of the input, at most 1e60 (default 0)");
  add.axis("--variance", variance, "V", "variance of the input, instead of --second");
  add.axis("--correlation", correlation, "C", "correlation of two such inputs, from -1 to 1");
}

GaussianInput ExactInput::rounded() const {
  GaussianInput input{mean.to_double(), variance.to_double(), {}};
  if (correlation) input.correlation = correlation->to_double();
  return input;
}

ExactInput read_input(const InputOptions& options) {
  ExactInput input;
  if (!options.mean.empty()) input.mean = parse_exact("--mean", options.mean, "0.5");
  check_magnitude("--mean", input.mean, options.mean);
  if (!options.second.empty() && !options.variance.empty()) {
    throw Error(ErrorKind::usage, "--second and --variance both say how large the input is",
                "--second " + base::shortened(options.second), "give one of them");
  }
  if (!options.variance.empty()) {
    input.variance = parse_exact("--variance", options.variance, "1");
  } else if (!options.second.empty()) {
    input.variance = parse_exact("--second", options.second, "1") - input.mean * input.mean;
  }
  if (input.variance.sign() < 0) {
    throw Error(ErrorKind::input, "the variance of the input is negative",
                options.second.empty() ? "--variance " + base::shortened(options.variance)
                                       : "--second " + base::shortened(options.second),
                "the second moment is at least the square of the mean");
  }
  check_magnitude(options.second.empty() ? "--variance" : "--second", input.variance,
                  options.second.empty() ? options.variance : options.second);
  if (!options.correlation.empty()) {
    input.correlation = parse_exact("--correlation", options.correlation, "0.5");
    if (Rational(1) < *input.correlation || *input.correlation < Rational(-1)) {
      throw Error(ErrorKind::input, "--correlation must lie from -1 to 1",
                  "got '" + base::shortened(options.correlation) + "'",
                  "for example --correlation 0.5");
    }
  }
  return input;
}

}  // namespace scalecalc::cli
