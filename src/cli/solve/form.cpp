#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace solve_keys {

Shape residual() {
  return shapes::number().or_null();
}

Keys self_normalizing() {
  using namespace shapes;
  return {{"lambda", digits(), "factor with E phi^2 = 1"},
          {"alpha", digits(), "parameter with E phi = 0"},
          {"residual", residual(), "of the equation of alpha"},
          {"residual_second", residual(), "of the equation of lambda"},
          {"slope_second", digits().or_null(), "E phi'^2 there; null: infinite"},
          {"q_slope", digits(), "slope of the map of the second moment"},
          {"stable", truth(), "whether |q_slope| < 1"}};
}

Shape critical() {
  using namespace shapes;
  return object({{"weight_variance", digits(), "times fan-in, at which chi = 1"},
                 {"bias_variance", digits(), "given, or solved for too"},
                 {"q_star", digits(), "second moment of the pre-activation, far down"},
                 {"q_slope", digits(), "slope of the map of q there"},
                 {"chi", digits(), "1"},
                 {"residual", residual(), "of the equation"},
                 {"note", text(), "what is special; empty: nothing"}});
}

Keys fixed_point() {
  using namespace shapes;
  const Shape some = digits().or_null();
  return {{"q_star", digits(), "second moment of the pre-activation, far down"},
          {"residual", residual(), "of the equation of q_star"},
          {"reached", truth(), "whether a stack that starts at q = 1 settles there"},
          {"phase", one_of({"ordered", "critical", "chaotic", "vanishes"}), "of the stack"},
          {"c_star", some, "fixed correlation; null at q_star = 0"},
          {"c_residual", residual(), "of the equation of c_star"},
          {"chi", some, "factor a layer of the gradient's second moment; null: infinite"},
          {"q_slope", some, "slope of the map of q"},
          {"q_stable", truth(), "whether |q_slope| < 1"},
          {"activation_second", digits(), "E phi^2 there"},
          {"q_depth_scale", some, "layers in which q settles by e; null: infinite"},
          {"c_depth_scale", some, "layers in which c settles by e; null: infinite"},
          {"note", text(), "what is special; empty: nothing"}};
}

Shape truncated() {
  using namespace shapes;
  return object({{"mean", digits(), "of the truncated standard normal"},
                 {"variance", digits(), "of it"},
                 {"ratio", digits(), "of its variance to 1"},
                 {"std", digits(), "of it"},
                 {"correction", digits(), "1/std"},
                 {"residual", residual(), "of the variance"}});
}

Shape tuned() {
  using namespace shapes;
  const Shape slope = digits().or_null(), formula = text().or_null();
  return object({{"scale", digits(), "scale phi(x) has second moment 1"},
                 {"shift", digits(), "E phi"},
                 {"centred_scale", digits(), "centred_scale (phi(x) - shift) has second moment 1"},
                 {"slope_before", slope, "E phi'^2; null: infinite"},
                 {"slope_after", slope, "E slope^2 of the scaled; null: infinite"},
                 {"centred_slope_after", slope, "E slope^2 of the centred; null: infinite"},
                 {"scale_formula", formula, "in q; null: none is known"},
                 {"centred_formula", formula, "of centred_scale, in q"},
                 {"residual", residual(), "of scale"}});
}

}  // namespace solve_keys

JsonForm solve_form() {
  using namespace solve_keys;
  using namespace shapes;
  const Shape inputs = object(
      {{"what",
        one_of({"self-normalizing", "tuned", "critical", "fixed-point", "truncated-normal"}),
        "is solved for; the rest depends on it"},
       maybe("activation", text(), "its name, or the expression"),
       maybe("weight_variance", number(), "times fan-in (fixed-point)"),
       maybe("bias_variance", number().or_null(), "null: solved for (critical)"),
       maybe("variance", number(), "of the input (tuned)"),
       maybe("family", text(), "an activation, or an expression in x and a (self-normalizing)"),
       maybe("range", numbers(2), "where alpha is sought (self-normalizing)"),
       maybe("bounds", list(text()), "in standard deviations, as given (truncated-normal)")});
  const Key solutions = {"solutions", list(object(self_normalizing())),
                         "all of them; the first is told above"};
  const Key points = {"points", list(object(fixed_point())),
                      "all of them; the first is told above"};
  return {inputs, any_of({object(self_normalizing() + Keys{solutions}), tuned(), critical(),
                          object(fixed_point() + Keys{points}), truncated()})};
}

}  // namespace scalecalc::cli
