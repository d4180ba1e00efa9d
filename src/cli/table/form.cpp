#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace table_keys {

Shape rows(const std::string& name, const Keys& keys) {
  return shapes::object({{name, shapes::list(shapes::object(keys)), "one a row"}});
}

Shape activations() {
  using namespace shapes;
  const Shape some = number().or_null(), formula = text().or_null();
  return rows("activations", {{"name", text(), "of the activation, at its default parameters"},
                              {"expression", text(), "phi(x)"},
                              {"mean", some, "E phi at N(0, 1)"},
                              {"second", some, "E phi^2"},
                              {"fourth", some, "E phi^4"},
                              {"slope_mean", some, "E phi'"},
                              {"slope_second", some, "E phi'^2; null: infinite"},
                              {"gain_second", some, "1/sqrt(E phi^2)"},
                              {"gain_activation", some, "s with E phi(s u)^2 = 1; null: none"},
                              {"gain_variance", some, "1/std(phi)"},
                              {"gain_backward", some, "1/sqrt(E phi'^2)"},
                              {"q_slope", some, "d ln E phi^2 / d ln q"},
                              {"mean_formula", formula, "in q; null: none is known"},
                              {"second_formula", formula, "in q"},
                              {"slope_second_formula", formula, "in q"}});
}

Shape conventions() {
  using namespace shapes;
  const Shape some = number().or_null();
  return rows("conventions", {{"topic", text(), "what it is an example of"},
                              {"framework", text(), "whose convention"},
                              {"line", text(), "the call"},
                              {"shape", text(), "as the framework has it: 1024x256"},
                              {"layer", text(), "the kind; empty: as the line says"},
                              {"tensor", text(), "weight, bias, ..."},
                              {"distribution", text(), "that is drawn from"},
                              {"std", number(), "of an entry"},
                              {"bound", some, "no entry is larger; null: unbounded"},
                              {"formula", text(), "of the std"},
                              {"fan_in", some, "as the framework counts it"},
                              {"true_fan_in", some, "inputs that an output sums"},
                              {"std_true_fan", some, "what the rule gives on the true fans"},
                              {"output_second", some, "for inputs of second moment 1"},
                              {"notes", text().or_null(), "what surprises"}});
}

Shape init() {
  using namespace shapes;
  return rows("init", {{"preset", text(), "the model"},
                       {"parameters", text(), "alike ones, as a pattern of paths"},
                       {"of", count().or_null(), "how many; null of a factor"},
                       {"role", text(), "in their layer"},
                       {"shape", text().or_null(), "as stored"},
                       {"start", text(), "distribution, or factor: of the forward pass"},
                       {"std", number().or_null(), "of an entry; of a factor its value"},
                       {"bound", number().or_null(), "no entry is larger; null: unbounded"},
                       {"formula", text().or_null(), "of the std"}});
}

Shape optimizers() {
  using namespace shapes;
  const Shape some = number().or_null(), words = text().or_null();
  return rows("optimizers", {{"optimizer", text(), "or its family"},
                             {"placement", text(), "where the norm stands"},
                             {"constraint", words, "that closes the pair"},
                             {"alpha", words, "in N"},
                             {"lambda", words, "in N"},
                             {"alpha_12", some, "at 12 layers"},
                             {"lambda_12", some, "at 12 layers"},
                             {"alpha_100", some, "at 100 layers"},
                             {"lambda_100", some, "at 100 layers"},
                             {"alpha_1000", some, "at 1000 layers"},
                             {"lambda_1000", some, "at 1000 layers"},
                             {"refused", words, "why there is no pair"}});
}

Shape schemes() {
  using namespace shapes;
  const Shape some = number().or_null();
  return rows("schemes",
              {{"scheme", text(), "where the norm stands, or deepnorm"},
               {"layers", count(), "the depth"},
               {"alpha", number(), "skip multiplier"},
               {"lambda", number(), "gain"},
               {"identity_weight", some, "amplitude that the input keeps"},
               {"effective_depth", some, "branches that the signal's power passes on average"},
               {"stream_growth", some, "second moment of the stream, last over first"},
               {"gradient_first_over_last", some, "norms of the branches' gradients"},
               {"stream_gradient_first_over_last", some, "second moments of the stream's gradient"},
               {"refused", text().or_null(), "why there are no numbers"}});
}

}  // namespace table_keys

JsonForm table_form() {
  using namespace table_keys;
  using namespace shapes;
  const Shape compared = object(
      {{"different", list(text()), "files that differ"}, {"passed", truth(), "whether none does"}});
  return {object({maybe("name", text(), "of the table; results have one key of that name")}),
          any_of({activations(), conventions(), init(), optimizers(), schemes(), compared})};
}

}  // namespace scalecalc::cli
