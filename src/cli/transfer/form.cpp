#include "cli/forms.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::cli {
namespace transfer_keys {

using namespace shapes;

/// Of each ratio, as exact rationals.
Shape exponents() {
  Keys keys;
  for (std::size_t i = 0; i < growth_axes; ++i) {
    const auto axis = static_cast<GrowthAxis>(i);
    keys.push_back({ratio_symbol(axis), text(), "power of the ratio of " + growth_axis_names()[i]});
  }
  return object(keys);
}

Shape law() {
  return object({{"formula", text(), "a product of powers of ratios"},
                 {"exponents", exponents(), "exact rationals"},
                 maybe("factor", number(), "at the sizes of --from and --to"),
                 maybe("from", number(), "at the base"),
                 maybe("to", number(), "at the target")});
}

Keys numbers() {
  return {{"multiplier", law(), "in front of theta"},
          {"std", law(), "that theta starts with"},
          {"lr", law(), "the learning rate"},
          {"decay", law().or_null(), "decoupled weight decay: theta loses lr * decay * theta"},
          {"eps", law().or_null(), "null: the rule has none"},
          {"one_minus_beta", law().or_null(), "null: the rule averages nothing"}};
}

Shape kind() {
  return object(
      numbers() +
      Keys{{"rule", text(), "what steps it"},
           {"gradient", law(), "size of an entry of theta's gradient"},
           {"standard_excess", law(),
            "by what standard practice, with std fan_in^(-1/2) and all other numbers kept, "
            "oversteps: above 1 the step changes more than features, and with batch and "
            "tokens adds more noise"},
           {"tensors", list(text()), "patterns of the parameters of the kind"}});
}

Shape parameter() {
  return object(Keys{{"path", text(), "of the parameter, or the pattern of several"},
                     {"kind", text(), "by how its shape grows"},
                     {"in_branch", truth(), "whether it stands in a residual branch"}} +
                numbers());
}

Shape binding() {
  return object({{"tensor", text(), "what is bound"},
                 {"quantity", text(), "of it"},
                 {"axis", one_of(growth_axis_names()), "along which"},
                 {"bound", text(), "the name of the inequality"},
                 {"equation", text(), "in exponents"},
                 {"holds", truth(), "false: the numbers that are given, or the model, break it"}});
}

Shape criteria() {
  return object({{"feature_change", law(), "each order of a branch's change counts"},
                 {"loss_change", law().or_null(),
                  "at a learning rate that is kept: deepnorm; null: any branch multiplier"}});
}

Shape compared() {
  return object({{"kind", text(), "of the parameters"},
                 {"same", truth(), "whether one factor maps all numbers"},
                 {"factor", law(), "t, the second's multiplier over the first's"},
                 {"difference", text().or_null(), "what it does not map"}});
}

}  // namespace transfer_keys

JsonForm transfer_form() {
  using namespace transfer_keys;
  const Shape sizes = map(number()).or_null();
  return {object({{"model", text().or_null(), "as it was named; null: kinds alone"},
                  {"optimizer", text(), "its name, or its rule"},
                  {"alignment", text(), "full, none, or exponents of fan_in"},
                  {"axes", list(one_of(growth_axis_names())), "that grow"},
                  maybe("muon_scale", one_of(muon_scale_names()), "in front of muon's step"),
                  maybe("parametrization", text(), "a name or a file"),
                  maybe("decay_law", one_of(decay_law_names()), "how decay follows"),
                  maybe("from", sizes, "sizes of the base"),
                  maybe("to", sizes, "sizes of the target"),
                  maybe("lr", number().or_null(), "at the base"),
                  maybe("decay", number().or_null(), "at the base"),
                  maybe("eps", number().or_null(), "at the base"),
                  maybe("same", list(text()), "the two that are compared")}),
          object({maybe("parametrization", text(), "a name or a file"),
                  maybe("optimizer", text(), "its name, or its rule"),
                  maybe("alignment", text(), "full, none, or exponents of fan_in"),
                  maybe("branch", exponents(), "of the multiplier of every residual branch"),
                  maybe("criteria", criteria().or_null(),
                        "the branch multiplier that either asks for over depth"),
                  maybe("attention", law().or_null(), "the scale of scores that is stable"),
                  {"kinds", any_of({map(kind()), list(compared())}),
                   "an object by kind; of --same a list, in which a kind may stand twice"},
                  maybe("parameters", list(parameter()), "of a model"),
                  maybe("binding", list(binding()),
                        "the inequality that binds each number, and those that are broken"),
                  maybe("warnings", list(text()), "conditions that do not hold"),
                  maybe("same", truth(), "of --same: whether they are one"),
                  maybe("same_branch", truth(), "of --same: of the branch multiplier"),
                  maybe("same_attention", truth(), "of --same: of the scale of scores")})};
}

}  // namespace scalecalc::cli
