#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm sweep_form() {
  using namespace shapes;
  const Shape quantity =
      one_of({"delta_loss", "actual_delta_loss", "grad_norm", "update_ratio", "probe"});
  Keys inputs = {
      maybe("widths", list(count()), "of a sweep over them, at one depth"),
      {"model", text().or_null(), "as it was named; null: by options alone"},
      {"kind", one_of({"transformer", "mlp", "layers"}), "what the model is made of"},
      {"quantity", quantity, "that is measured"},
      {"optimizer", text(), "its name, or its rule"},
      {"constraint", text().or_null(), "of the pair that is solved for; null: none is"},
      {"parameters", one_of({"branch", "all"}), "that are stepped and counted"},
      {"seeds", count(), "draws a depth"},
      {"seed", count(), "of the first draw"},
      {"eta", number().or_null(), "of actual_delta_loss; null: one that is small enough"},
      {"dtype", one_of({"float", "double"}), "of the passes"},
      {"device", text(), "of the passes"},
      {"engine", one_of({"passes", "quadrature"}), "that measures or predicts"}};
  for (Key key : forms::fields(true)) {  // a list of layers has few of them
    if (key.name == "layers") key = {"layers", list(count()), "the depths"};
    if (key.name == "decoder_layers")
      key = maybe("decoder_layers", text(), "of two stacks, the decoder's depth, a formula in N");
    inputs.push_back(key);
  }
  return {object(inputs),
          object({{"points", forms::points(), "one a size"},
                  {"axis", one_of({"depth", "width"}), "that grows"},
                  {"exponent", number().or_null(), "d ln value / d ln size, fitted"},
                  {"exponent_standard_error", number().or_null(), "of the fit"},
                  {"statistic", one_of({"mean", "median"}), "of the draws at a depth"},
                  {"quantity", quantity, "that is measured"},
                  {"family", text(), "of the optimizer"},
                  maybe("no_exponent", text(), "why there is none"),
                  {"finite", truth(), "whether no pass gave an infinity or a NaN"}})};
}

}  // namespace scalecalc::cli
