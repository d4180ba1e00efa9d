#include "scalecalc/activation.hpp"

#include <mutex>

#include "activation/analysis.hpp"
#include "base/text.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc {
namespace {

const ActivationParameter& parameter_of(const ActivationInfo& info, const std::string& name) {
  std::vector<std::string> names;
  for (const ActivationParameter& parameter : info.parameters) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  if (!names.empty()) throw unknown_name("parameter", name, names, info.name);
  throw Error(ErrorKind::input, "the activation has no parameters", info.name,
              "leave '" + base::shortened(name, 40) + "' out");
}

Expr with_parameters(const ActivationInfo& info, const std::map<std::string, Rational>& given) {
  std::map<std::string, Expr> values;
  for (const ActivationParameter& parameter : info.parameters) {
    values.insert_or_assign(parameter.name, Expr(parameter.default_value));
  }
  for (const auto& [name, value] : given) values.at(parameter_of(info, name).name) = Expr(value);
  try {
    return substitute(info.expression, values);
  } catch (const Error& error) {
    std::string settings;
    for (const auto& [name, value] : values) {
      settings += " " + name + " = " + base::shortened(to_string(value), 40);
    }
    throw Error(ErrorKind::input,
                info.name + " has no value with" + settings + ": " + error.message(), info.name,
                "other values of its parameters");
  }
}

std::string name_with(const ActivationInfo& info, const std::map<std::string, Rational>& given) {
  std::string settings;
  for (const auto& [name, value] : given) {
    settings +=
        (settings.empty() ? "" : ", ") + name + "=" + base::shortened(to_string(Expr(value)), 40);
  }
  return settings.empty() ? info.name : info.name + "(" + settings + ")";
}

/// Every registered activation that is no function of the formula language, as one.
const std::map<std::string, Expr>& registered_functions() {
  static const std::map<std::string, Expr> functions = [] {
    std::map<std::string, Expr> result;
    for (const ActivationInfo& info : activations()) {
      const Expr expression = with_parameters(info, {});
      if (!symbolic::find_function(info.name)) result.insert({info.name, expression});
      for (const std::string& alias : info.aliases) {
        if (!symbolic::find_function(alias)) result.insert({alias, expression});
      }
    }
    return result;
  }();
  return functions;
}

/// x - tanh(x), the one named activation whose code loses digits near 0.
constexpr std::string_view kCancelling = "tanhshrink";

}  // namespace

Activation Activation::named(std::string_view name,
                             const std::map<std::string, Rational>& parameters) {
  const ActivationInfo& info = activation(name);
  const auto make = [&] {
    auto impl =
        activation_room::analysed(name_with(info, parameters), with_parameters(info, parameters));
    impl->unmeasured.reset();
    if (!parameters.empty() || info.name == kCancelling)
      impl->unmeasured = activation_room::Measure::near_zero;
    return impl;
  };
  if (!parameters.empty()) return Activation(make());
  // Analysis and compilation take longer than a pass of the moment rules: once for each name.
  static std::mutex guard;
  static std::map<std::string, std::shared_ptr<const Impl>> known;
  const std::lock_guard lock(guard);
  std::shared_ptr<const Impl>& impl = known[info.name];
  if (!impl) impl = make();
  return Activation(impl);
}

Activation Activation::from_expression(std::string_view text) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  options.known_symbols = {"x"};
  options.functions = registered_functions();
  options.where = "activation";
  const Expr expression = parse(text, options);
  return Activation(activation_room::analysed(to_string(expression), expression));
}

const activation_room::Compiled& Activation::Impl::compiled() const {
  std::call_once(once_,
                 [this] { compiled_ = std::make_unique<const activation_room::Compiled>(*this); });
  return *compiled_;
}

const std::string& Activation::name() const {
  return impl_->name;
}
const Expr& Activation::expression() const {
  return impl_->expression;
}
const Expr& Activation::derivative() const {
  return impl_->derivative;
}
const std::vector<Break>& Activation::breaks() const {
  return impl_->breaks;
}
bool Activation::has_jump() const {
  return impl_->has_jump;
}
const std::vector<Expr>& Activation::pieces() const {
  return impl_->pieces;
}
const std::vector<Expr>& Activation::slope_pieces() const {
  return impl_->slope_pieces;
}
const std::vector<double>& Activation::scales() const {
  return impl_->scales;
}

double Activation::value(double x) const {
  double y = 0;
  evaluate(&x, &y, nullptr, 1);
  return y;
}
double Activation::slope(double x) const {
  double y = 0, dy = 0;
  evaluate(&x, &y, &dy, 1);
  return dy;
}
void Activation::evaluate(const double* x, double* y, double* dy, std::size_t count) const {
  impl_->compiled().evaluate(x, y, dy, count);
}

}  // namespace scalecalc
