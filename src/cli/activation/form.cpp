#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace activation_keys {

Keys moments(const Shape& shape, bool is_always) {
  return {{"mean", shape, "E phi(u)", is_always},
          {"second", shape, "E phi(u)^2", is_always},
          {"slope_mean", shape, "E phi'(u)", is_always},
          {"slope_second", shape, "E phi'(u)^2", is_always},
          {"fourth", shape, "E phi(u)^4", is_always},
          {"cross", shape, "E phi(u) phi(v) of two correlated inputs", is_always},
          {"slope_cross", shape, "E phi'(u) phi'(v) of two correlated inputs", is_always}};
}

Keys gains() {
  using namespace shapes;
  const Shape gain = digits().or_null();
  return {{"variance", digits().or_null(), "second - mean^2"},
          {"gain_second", gain, "1/sqrt(E phi^2): the next pre-activation has second moment 1"},
          {"gain_activation", gain, "s with E phi(s u)^2 = 1"},
          {"gain_variance", gain, "1/std(phi): the same after centring"},
          {"gain_backward", gain, "1/sqrt(E phi'^2): gradients keep their second moment"},
          {"gain_compromise", gain, "sqrt(gain_second gain_backward)"},
          {"q_slope", gain, "d ln E phi^2 / d ln q: a plain stack is stable below 1"},
          {"q_slope_activation", gain, "the same at gain_activation's point"},
          {"stable", truth().or_null(), "whether |q_slope| <= 1"}};
}

Shape methods() {
  using namespace shapes;
  const Shape estimate = object({{"value", number().or_null(), "the moment"},
                                 {"error", number().or_null(), "how far it may be off"}});
  const Shape by_moment = object(moments(estimate.or_null(), false));
  return object({maybe("closed_form", by_moment, "by formula"),
                 maybe("quadrature", by_moment, "by quadrature"),
                 maybe("monte_carlo", by_moment.or_null(),
                       "by draws; the error is a standard error; null: out of time")});
}

Shape formulas() {
  using namespace shapes;
  return object(moments(text().or_null(), true) +
                Keys{maybe("why_not", object(moments(text(), false)), "why there is no formula")});
}

Shape kinks() {
  using namespace shapes;
  return list(
      object({{"x", number(), "where"},
              {"where", text(), "the same, exactly"},
              {"jump", truth(), "whether the function itself jumps, and not its slope alone"},
              {"jump_size", number(), "by how much it jumps"}}));
}

Shape tuned() {
  using namespace shapes;
  const Shape slope = number().or_null();
  return object({{"scale", number(), "scale phi(x) has second moment 1"},
                 {"shift", number(), "E phi"},
                 {"centred_scale", number(), "centred_scale (phi(x) - shift) has second moment 1"},
                 {"slope_before", slope, "E phi'^2; null: infinite"},
                 {"slope_after", slope, "E slope^2 of the scaled; null: infinite"},
                 {"centred_slope_after", slope, "E slope^2 of the centred; null: infinite"}});
}

Shape frameworks() {
  using namespace shapes;
  return list(
      object({{"framework", text(), "pytorch, jax, flax, keras, mlx"},
              {"function", text(), "the call that gives it"},
              {"value", number(), "the gain that it ships"},
              {"formula", text(), "the same, as it is written"},
              {"derived", number(), "gain_second at N(0, 1)"},
              {"settles_second", number().or_null(),
               "second moment at which a deep stack settles with it"},
              {"chi", number().or_null(), "factor a layer of the gradient's second moment there"},
              {"why", text(), "why they differ"}}));
}

}  // namespace activation_keys

JsonForm activation_form() {
  using namespace activation_keys;
  using namespace shapes;
  const Shape inputs =
      object({{"activation", text(), "its name, or the expression"},
              {"mean", number(), "of the input u"},
              {"variance", number(), "of the input"},
              {"second", number(), "E[u^2] of the input"},
              {"correlation", number().or_null(), "of two inputs; null: not asked"}});
  return {inputs,
          object(Keys{{"expression", text(), "phi(x)"}, {"derivative", text(), "phi'(x)"}} +
                 moments(digits().or_null(), true) + gains() +
                 Keys{{"closed_form", formulas(), "the moments' formulas in q, mu and c"},
                      {"methods", methods(), "each moment by each method"},
                      {"kinks", kinks(), "where phi or phi' jumps"},
                      maybe("tuned", tuned().or_null(), "what a scale or a shift costs in slope"),
                      {"frameworks", frameworks().or_null(),
                       "the gains that frameworks ship; null: out of time"},
                      {"unavailable", map(text()), "why a null is one, by its key"},
                      maybe("digits_out_of_reach", map(text()),
                            "why a value is a double, where digits were asked for, by its key"),
                      {"note", text(), "what is out of reach; empty: nothing"}})};
}

}  // namespace scalecalc::cli
