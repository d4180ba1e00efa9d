#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace convention_keys {

/// What one tensor is drawn from.
Keys drawn() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape truncation =
      object({{"low_in_std", some, "lower cut, in std before the cut"},
              {"high_in_std", some, "upper cut, in std before the cut"},
              {"std_before", number(), "std before the cut"},
              {"std_ratio", number(), "std after over before"},
              {"corrected", truth(), "whether the framework undoes what the cut takes"}});
  return {{"shape", list(count()).or_null(), "as the framework has it; null: not known"},
          {"distribution", text(), "normal, uniform, truncated_normal, orthogonal, constant, ..."},
          {"mean", number(), "of an entry"},
          {"std", number(), "of an entry"},
          {"variance", number(), "of an entry"},
          {"second", number(), "E[w^2] of an entry"},
          {"bounds", numbers(2).or_null(), "lowest and highest; null: unbounded"},
          {"formula", text(), "std, or its formula in the fans"},
          {"bound_formulas", list(text()).or_null(), "of the two bounds"},
          {"fan_in", some, "as the framework counts it"},
          {"fan_out", some, "as the framework counts it"},
          {"true_fan_in", some, "terms of one output"},
          {"true_fan_out", some, "terms of one gradient"},
          {"std_true_fan", some, "what the rule gives on the true fans"},
          {"output_second", some, "second moment of an output for inputs of second moment 1"},
          {"truncation", truncation.or_null(), "null: not cut"}};
}

}  // namespace convention_keys

JsonForm convention_form() {
  using namespace convention_keys;
  using namespace shapes;
  const Key framework = {"framework", text(), "whose convention it is"};
  const Key layer = {"layer", text().or_null(), "the kind of layer; null: not known"};
  const Shape example = object(Keys{{"topic", text(), "what it is an example of"},
                                    {"line", text(), "the call"},
                                    framework,
                                    layer} +
                               drawn());
  const Shape one = object(
      Keys{framework,
           {"function", text(), "its full name"},
           layer,
           {"layout", text().or_null(), "how the shape is read: (out, in)"}} +
      drawn() +
      Keys{{"notes", list(text()), "what surprises"},
           {"parameters", list(object(Keys{{"path", text(), "weight, bias, ..."}} + drawn())),
            "every tensor; the first is told above"}});
  return {object({maybe("line", text(), "the call; not with --all"),
                  maybe("shape", list(count()).or_null(), "of --shape; null: not given")}),
          any_of({one, object({{"conventions", list(example), "the catalogue, with --all"}})})};
}

}  // namespace scalecalc::cli
