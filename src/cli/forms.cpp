#include "cli/forms.hpp"

namespace scalecalc::cli::forms {

using shapes::count;
using shapes::list;
using shapes::number;
using shapes::object;
using shapes::one_of;
using shapes::text;
using shapes::truth;

Keys model() {
  return {{"model", text(), "the model as it was named: a preset, a file, or - for standard input"},
          {"kind", one_of({"transformer", "mlp", "layers"}), "what the model is made of"}};
}

Keys fields(bool may_miss) {
  Keys keys = {
      {"layers", count(), "blocks of a transformer, layers of an mlp"},
      maybe("decoder_layers", count(), "blocks of the decoder, of two stacks"),
      {"width", count(), "features of the stream"},
      maybe("heads", count(), "attention heads (transformer)"),
      maybe("ffn", count(), "width inside the ffn (transformer)"),
      maybe("causal", truth(), "whether a token attends to itself and those before alone"),
      {"sequence", count(), "tokens of a sequence"},
      {"vocab", count(), "classes of the head"},
      {"batch", count(), "sequences"},
      {"activation", text(), "its name, with its parameters"},
      {"norm", text(), "of the blocks, or none"},
      {"placement", text(), "where a block has its norms (scalecalc list placements)"},
      {"alpha", text().or_null(), "skip multiplier, a formula in N; null: the optimizer's"},
      {"lambda", text().or_null(), "gain of v, o, ffn_in, ffn_out, likewise"},
      {"cross", number(), "E[x_t x_s] between two tokens of the input"}};
  if (may_miss)
    for (Key& key : keys) key.is_always = false;
  return keys;
}

Shape assumptions() {
  return list(
      object({{"rule", text(), "the rule that takes it for granted: attention, activation, ..."},
              {"text", text(), "what is taken for granted"},
              {"first_site", text(), "the first place where it is"},
              {"condition", text().or_null(), "what must be small or large; null: nothing"},
              {"holds", truth(), "whether the condition is met"}}));
}

Shape points() {
  return list(
      object({{"layers", count(), "the depth"},
              maybe("decoder_layers", count(), "of two stacks, the decoder's"),
              maybe("width", count(), "of a sweep over widths"),
              {"alpha", number(), "skip multiplier there, of two stacks the encoder's"},
              {"lambda", number(), "gain there, likewise"},
              {"value", number().or_null(), "the quantity, by the statistic that is told"},
              {"standard_error", number().or_null(), "of the value; null where there are no draws"},
              {"mean", number().or_null(), "of the draws"},
              {"median", number().or_null(), "of the draws"},
              {"samples", list(number().or_null()), "the quantity of each draw"}}));
}

Keys cells() {
  return {{"placement", text(), "what is compared (scalecalc list groups)"},
          {"layers", count(), "the depth"},
          {"runs", count(), "runs of this placement and depth, one a seed"},
          {"converged", count(), "of them, how many came below the target"},
          {"verdicts", list(one_of({"converged", "stall", "vanishing", "explosion", "nan"})),
           "of each run"},
          {"final_loss", number().or_null(), "validation loss in nats, mean over the runs"},
          {"final_loss_standard_error", number().or_null(), "of that mean; null below two runs"},
          {"perplexity", number().or_null(), "exp of the loss, mean over the runs"},
          {"perplexity_standard_error", number().or_null(), "of that mean; null below two runs"},
          maybe("perplexity_per_byte", number().or_null(), "of a text that is read"),
          {"reached_target", count(), "runs whose loss came to the target"},
          {"steps_to_target", number().or_null(), "steps until then, mean over these runs"},
          maybe("forecast", one_of({"trains", "fails"}).or_null(),
                "what the moment rules say beforehand, of drawn weights; null: no forecast"),
          maybe("forecast_probability", number().or_null(), "that a run converges"),
          maybe("as_forecast", count(), "runs that did what was forecast, likewise")};
}

Shape differences() {
  return list(object({{"placement", text(), "that differs from the first"},
                      {"key", text(), "of its configuration"},
                      {"value", text(), "there"},
                      {"reference", text(), "of the first placement"}}));
}

}  // namespace scalecalc::cli::forms
