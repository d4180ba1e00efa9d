#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace deepnorm_keys {

/// A number and its formula in the depth.
Keys scaled(const std::string& name, const std::string& meaning) {
  using namespace shapes;
  return {{name, digits(), meaning}, {name + "_formula", text(), "the same in N (M of a decoder)"}};
}

Keys pair() {
  return scaled("alpha", "skip multiplier") + scaled("lambda", "gain of v, o, ffn_in and ffn_out");
}

Keys sizes() {
  using namespace shapes;
  return scaled("branch_weight", "size of one branch against the stream") +
         scaled("branch_sum", "second moments of all branches against the stream's") +
         scaled("gradient_scale", "size of one matrix' gradient") +
         scaled("relative_step_scale", "|dtheta|/(eta |theta|) of one matrix") +
         Keys{{"warmup", digits().or_null(), "eta times this at the start; null: no warm-up helps"},
              {"warmup_formula", text().or_null(), "the same in N"},
              maybe("warmup_exponent", number(), "power of depth of the warm-up"),
              maybe("warmup_spread", number(),
                    "variance of the warm-up's logarithm over draws, of which it is the median; "
                    "past 1 no one value serves them all"),
              maybe("warmup_none_because", text(), "why no warm-up helps"),
              {"block",
               object(
                   {{"growth", number(),
                     "second moment that a branch adds, over the first stream's"},
                    {"kappa", number(),
                     "-d ln G/d ln m: squared gradients G against the stream's m"},
                    {"rate", number(), "of ln G per layer towards the input, where a norm holds m"},
                    {"spread", number(),
                     "of ln G, variance over draws per layer, where a norm holds m"}}),
               "moments of one block"}};
}

Shape init() {
  using namespace shapes;
  return list(object({{"kind", text(), "of parameter: q, k, v, o, ffn_in, ffn_out, ..."},
                      {"gain", number(), "factor on the scheme's std"},
                      {"gain_formula", text(), "the same in N"},
                      {"std_formula", text(), "std in the fans"},
                      {"std", number().or_null(), "std at the given widths; null: none given"}}));
}

Shape derivation() {
  using namespace shapes;
  return list(object({{"statement", text(), "of the step"},
                      {"formula", text(), "what it says"},
                      {"latex", text(), "the same for LaTeX"},
                      {"reason", text(), "why"},
                      {"condition", text(), "under which it holds; empty: always"}}));
}

Shape conditions() {
  using namespace shapes;
  return list(object({{"name", text(), "of the condition"},
                      {"statement", text(), "what must hold"},
                      {"formula", text(), "of the value, in N"},
                      {"value", number(), "at this depth"},
                      {"relation", one_of({"<=", ">="}), "between value and bound"},
                      {"bound", number(), "of the value"},
                      {"holds", truth(), "whether it does"}}));
}

Shape alternatives() {
  using namespace shapes;
  return list(
      object({{"constraint", text(), "that closes the pair instead"},
              {"alpha", number(), "skip multiplier"},
              {"lambda", number(), "gain"},
              {"alpha_formula", text(), "in N"},
              {"lambda_formula", text(), "in N"},
              {"relative_step_scale", number(), "|dtheta|/(eta |theta|) of one matrix"},
              {"relative_step_scale_formula", text(), "in N"},
              {"branch_sum", number(), "second moments of all branches against the stream's"}}));
}

Shape rest() {
  using namespace shapes;
  return list(object({{"parameters", text(), "embedding, head, norm gains, or matrices"},
                      {"optimizer", text(), "which of the two steps them"},
                      {"gradient_scale", number(), "size of their gradient"},
                      {"gradient_scale_formula", text(), "in N"},
                      {"relative_step_scale", number(), "|dtheta|/(eta |theta|) of one of them"},
                      {"relative_step_scale_formula", text(), "in N"},
                      maybe("loss_change", number(), "of matrices, where that of the others is 1"),
                      maybe("loss_change_formula", text(), "in N")}));
}

Keys law() {
  using namespace shapes;
  return {{"family", text(), "of the optimizer (scalecalc list families)"},
          {"gradient_power", text(), "of the gradient's size in a step, a fraction"},
          {"parameter_power", text(), "of the parameter's size in a step, a fraction"},
          {"outer_power", text(), "of the whole update, a fraction"},
          {"placement", text(), "where the norm stands"},
          {"constraint", text(), "what closes the pair"},
          {"equation", text(), "that the pair solves"},
          {"equation_value", number(), "its left side, which is to be 1"},
          {"init", init(), "how each kind of parameter starts"},
          {"derivation", derivation(), "step by step"},
          {"conditions", conditions(), "under which the answer holds"},
          {"alternatives", alternatives(), "other constraints"},
          maybe("rest", rest(), "of a mixture of optimizers: what the pair is not solved for")};
}

Keys published() {
  using namespace shapes;
  const Shape derived = object(pair());
  const Shape pair_published =
      object({{"alpha", number(), "as published"},
              {"lambda", number(), "as published"},
              {"alpha_formula", text(), "as published"},
              {"lambda_formula", text(), "as published"},
              {"rederived_alpha", number(), "the paper's argument, solved exactly"},
              {"rederived_lambda", number(), "likewise"},
              {"rederived_alpha_formula", text(), "in N and M"},
              {"rederived_lambda_formula", text(), "in N and M"},
              {"ratio", number(), "lambda/alpha as published"},
              {"why", list(text()), "why it differs from the derived pair"}});
  return {maybe("derived", derived, "with --rule deepnet: the pair that is derived"),
          maybe("published", pair_published, "with --rule deepnet: what was published")};
}

Keys point() {
  using namespace shapes;
  return {{"layers", count(), "the depth"},
          {"alpha", number(), "skip multiplier"},
          {"lambda", number(), "gain"},
          {"delta_loss", number(), "predicted loss change of a step, over eta"}};
}

Shape schemes() {
  using namespace shapes;
  const Shape sublayer = object(
      {{"path", text(), "of the sublayer"},
       {"share", number().or_null(), "of the branch in the stream's second moment behind it"},
       {"identity", number().or_null(), "amplitude of the input that is left"},
       {"second", number().or_null(), "E[x^2] of the stream"},
       {"grad_second", number().or_null(), "E[(dL/dx)^2] of the stream"},
       {"gradient_norm", number().or_null(), "of the branch's matrices"}});
  return list(object({{"scheme", text(), "where the norm stands"},
                      {"alpha", number(), "skip multiplier"},
                      {"lambda", number(), "gain"},
                      {"identity_weight", number().or_null(), "amplitude that the input keeps"},
                      {"effective_depth", number().or_null(),
                       "branches that the signal's power passes on average"},
                      {"delta_loss", number().or_null(), "loss change of a step, over eta"},
                      {"sublayers", list(sublayer), "one after the other"}}));
}

Keys exact() {
  using namespace shapes;
  const Shape shape = object({{"name", text(), "the ratio of norms"},
                              {"value", number(), "that it has"},
                              {"text", text(), "of which sums"}});
  const Shape assumption = object({{"rule", text(), "that takes it for granted"},
                                   {"text", text(), "what"},
                                   {"condition", text(), "what must be small; empty: nothing"},
                                   {"holds", truth(), "whether it is"}});
  const Shape power_law =
      object(point() + Keys{{"alpha_formula", text(), "in N"}, {"lambda_formula", text(), "in N"}});
  return {maybe("method", one_of({"exact"}), "with --method exact"),
          maybe("delta_loss", number(), "predicted loss change of a step, over eta"),
          maybe("residual", number(), "delta_loss over that of the reference, minus 1"),
          maybe("reference", object(point()), "the depth whose loss change is kept"),
          maybe("power_law", power_law, "the pair of --method scaling, there"),
          maybe("propagations", count(), "networks that were propagated"),
          maybe("shapes", list(shape), "ratios of norms that the step takes"),
          maybe("assumptions", list(assumption), "what the prediction takes for granted"),
          maybe("schemes", schemes(), "with --explain: what each scheme does to the signal")};
}

Keys fitted() {
  using namespace shapes;
  return {{"exponent", number().or_null(), "d ln |loss change| / d ln N, fitted"},
          {"exponent_standard_error", number().or_null(), "of the fit"},
          {"predicted_exponent", number().or_null(), "null: there is none"},
          {"statistic", one_of({"mean", "median"}), "of the draws at a depth"},
          {"points", forms::points(), "one a depth"}};
}

Shape verification() {
  using namespace shapes;
  const Shape plain = object(Keys{{"alpha", number(), "1"}, {"lambda", number(), "1"}} + fitted());
  return object(Keys{{"passed", truth(), "whether the exponent is as predicted"},
                     {"quantity", one_of({"delta_loss"}), "loss change of a step, over eta"},
                     {"tolerance", number(), "of the exponent"},
                     maybe("deep_exponent", number(), "what the moments predict from N to 8 N"),
                     {"plain", plain, "the same without the pair"}} +
                fitted());
}

}  // namespace deepnorm_keys

JsonForm deepnorm_form() {
  using namespace deepnorm_keys;
  using namespace shapes;
  const Shape inputs =
      object({{"layers", count(), "N, of the (first) stack"},
              maybe("decoder_layers", count(), "M, of the decoder of two stacks"),
              {"optimizer", text(), "its name, or its rule in g and theta"},
              {"placement", text(), "where the norm stands"},
              {"constraint", text(), "what closes the pair"},
              {"method", one_of({"scaling", "exact"}), "how it is solved"},
              maybe("reference_layers", count(), "of --method exact"),
              {"rule", one_of({"derived", "deepnet"}), "whose constants"},
              {"arch", one_of({"encoder", "decoder", "encoder-decoder"}), "of the stacks"},
              {"scheme", text(), "what the gains multiply: lecun, xavier or he"}});
  const Keys stack = pair() + sizes() + law() + published() + exact();
  const Keys more = {maybe("encoder", object(stack), "of two stacks, the encoder's answer"),
                     maybe("decoder", object(stack), "of two stacks, the decoder's answer"),
                     maybe("verification", verification(), "with --verify: by real passes")};
  return {inputs, object(stack + more)};
}

}  // namespace scalecalc::cli
