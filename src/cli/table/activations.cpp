#include "cli/table/tables.hpp"
#include "scalecalc/gains.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value value_of(const std::optional<Estimate>& estimate) {
  return estimate ? Value(estimate->value) : Value();
}

Value formula_of(const Activation& activation, Moment moment) {
  const ClosedForm form = closed_form(activation, moment);
  return form.formula ? Value(to_string(*form.formula)) : Value();
}

/// Closed form where there is one, else quadrature.
Value moment_of(const Activation& activation, Moment moment) {
  if (const auto exact = closed_form_value(activation, moment, {})) return exact->value;
  if (moment == Moment::slope_second && activation.has_jump()) return {};
  return quadrature(activation, moment, {}).value;
}

}  // namespace

report::Document activations_table_document() {
  report::Table table{
      {"name", "expression", "mean", "second", "fourth", "slope_mean", "slope_second",
       "gain_second", "gain_activation", "gain_variance", "gain_backward", "q_slope",
       "mean_formula", "second_formula", "slope_second_formula"},
      {}};
  for (const ActivationInfo& info : activations()) {
    const Activation activation = Activation::named(info.name);
    const Gains found = gains(activation, {});
    table.rows.push_back(
        {info.name, to_string(activation.expression()), moment_of(activation, Moment::mean),
         moment_of(activation, Moment::second), moment_of(activation, Moment::fourth),
         moment_of(activation, Moment::slope_mean), moment_of(activation, Moment::slope_second),
         value_of(found.second), value_of(found.activation), value_of(found.variance),
         value_of(found.backward), value_of(found.q_slope), formula_of(activation, Moment::mean),
         formula_of(activation, Moment::second), formula_of(activation, Moment::slope_second)});
  }
  return table_document(
      "activations", "Activations at N(0, 1)",
      "Moments of phi(z), z standard normal, default parameters; formulas in q, the variance of "
      "the "
      "input. gain_second keeps the second moment of the next pre-activation, gain_activation that "
      "of the activation, gain_variance the variance after centring, gain_backward that of the "
      "gradient. Empty: it does not exist or is out of reach (scalecalc activation NAME says why).",
      std::move(table));
}

}  // namespace scalecalc::cli
