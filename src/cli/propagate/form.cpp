#include "cli/forms.hpp"
#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace propagate_keys {

/// The moments of a site that have an error, or a formula.
Keys figures(const Shape& shape) {
  return {{"mean", shape, "E x"},
          {"second", shape, "E x^2"},
          {"cross", shape, "E x_t x_s, mean over t != s; null for one token"},
          {"grad_second", shape, "E (dL/dx)^2"},
          {"grad_cross", shape, "E dL/dx_t dL/dx_s"}};
}

Keys place() {
  using namespace shapes;
  return {{"path", text(), "of the site: block[3].attn.mix"},
          {"kind", text(), "input, linear, activation, norm, attention, residual, ..."}};
}

Keys numeric(const Shape& some) {
  return {{"cosine", some, "cross/second"},
          {"spread", some, "variance over draws of the log of the average of x^2"},
          {"second_finite", some, "second at this width, mean over draws; null: not known"},
          {"second_typical", some, "second of the typical draw; null: not known"},
          {"grad_second_finite", some, "likewise of grad_second; null: not known"}};
}

Shape sites() {
  using namespace shapes;
  const Shape some = number().or_null();
  return list(object(place() + figures(some) + numeric(some) +
                     Keys{{"width", count(), "features"},
                          {"tokens", count(), "of one sequence"},
                          {"grad_spread", some, "as spread, of (dL/dx)^2"},
                          {"error", object(figures(some)), "of how each was computed, absolute"},
                          {"truncation", object(figures(some)),
                           "of the orders that the rules leave out, absolute"}}));
}

Shape symbolic_sites() {
  using namespace shapes;
  report::Value null;
  null["type"] = "null";
  return list(object(place() + figures(text().or_null()) + numeric(Shape(null)) +
                     Keys{{"note", text(), "what the symbols are, and how it follows"}}));
}

Shape parameters() {
  using namespace shapes;
  const Shape some = number().or_null();
  return list(object({{"path", text(), "of the parameter"},
                      {"rows", count(), "of the matrix; 1 of a vector"},
                      {"columns", count(), "of the matrix"},
                      {"second", some, "E w^2 of an entry"},
                      {"grad_second", some, "E (dL/dw)^2 of an entry"},
                      {"grad_spread", some, "variance over draws of the log of its average"},
                      {"grad_second_finite", some, "at this width, mean over draws"},
                      {"grad_error", some, "of how grad_second was computed, absolute"},
                      {"grad_truncation", some, "of the orders left out, absolute"}}));
}

Shape step() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape site = object(
      {{"path", text(), "of the site"},
       {"change", number(), "rms over features and tokens of x after the step less x before"},
       {"relative", some, "over the rms of x; null where that is 0"},
       {"error", some, "of change: its standard error, of passes; null: one draw"},
       {"truncation", some, "of change: the orders that the rules leave out"}});
  const Shape parameter =
      object({{"path", text(), "of the parameter"},
              {"lr", number(), "its learning rate"},
              {"update", number(), "rms over entries of the last step"},
              {"relative", some, "over the rms of the entries; null where that is 0"},
              {"spectral_norm", some, "largest singular value of the last step; null: not known"},
              {"spectral_relative", some, "over that of the parameter; null: 0, or not known"},
              {"spectral_error", some, "of spectral_norm: as error of a site"},
              {"spectral_truncation", some, "of it: how far draws lie, and what is left out"},
              {"weight_spectral_norm", some, "largest singular value before; null: not known"}});
  return object({{"optimizer", text(), "that takes it"},
                 {"lr", number(), "of parameters that have none of their own"},
                 {"steps", count(), "that are taken; all that follows is after them"},
                 {"loss_change", number(), "of the loss, on the same samples"},
                 {"loss_change_error", some, "its standard error, of passes; null: one draw"},
                 {"loss_change_truncation", number(), "of the orders left out"},
                 {"sites", list(site), "in the order of the forward pass"},
                 {"parameters", list(parameter), "in the order of the forward pass"},
                 {"assumptions", forms::assumptions(), "what the step's rules take for granted"}});
}

Shape verdicts() {
  using namespace shapes;
  return list(object({{"what", text(), "ok, explodes, vanishes, collapses in rank, ..."},
                      {"site", text().or_null(), "the first where it does; null: everywhere"},
                      {"text", text(), "in words"},
                      {"change", text().or_null(), "what to do about it, in numbers"}}));
}

Shape stacks() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape block = object(
      {{"path", text(), "of the block"},
       {"identity", some, "amplitude of the input that is left behind it; null of two streams"},
       {"gradient_share", some, "of the squared gradients of all these blocks' parameters"}});
  return list(object(
      {{"stack", text(), "encoder, or stream: what the head reads"},
       {"sums", count(), "residual sums, one after the other"},
       {"identity_weight", some, "amplitude that the input keeps: mean cosine of end and input"},
       {"effective_depth", some, "branches that the signal's power passes on average"},
       {"block_gradient", some, "share of the blocks in the squared gradients of all parameters"},
       {"gradient_ratio", some, "largest to smallest gradient_share; null: one is 0"},
       {"blocks", list(block), "that the sums stand in, in the order of the forward pass"}}));
}

}  // namespace propagate_keys

namespace forms {

Shape propagation_inputs() {
  using namespace propagate_keys;
  using namespace shapes;
  return object(forms::model() + forms::fields(true) +
                Keys{{"engine", one_of({"quadrature", "symbolic", "montecarlo", "passes"}),
                      "that took the moments; with symbolic they are formulas"},
                     {"seed", count(), "of what is drawn"},
                     maybe("seeds", count(), "draws of passes"),
                     maybe("samples", count(), "of each expectation of montecarlo")});
}

Keys propagation_results() {
  using namespace propagate_keys;
  using namespace shapes;
  return {{"sites", sites(), "in the order of the forward pass"},
          {"parameters", parameters(), "in the order of the forward pass"},
          {"loss", number().or_null(), "predicted at the start"},
          {"stacks", stacks(), "each stack of residual sums, of a network that has some"},
          {"verdicts", verdicts(), "what depth does"},
          {"assumptions", forms::assumptions(), "what the rules take for granted"}};
}

}  // namespace forms

JsonForm propagate_form() {
  using namespace propagate_keys;
  using namespace shapes;
  const Shape law = object({{"name", text(), "stream_second or identity_weight"},
                            {"meaning", text(), "in words"},
                            {"formula", text(), "after l branches"}});
  const Key assumptions = {"assumptions", forms::assumptions(), "what the rules take for granted"};
  return {forms::propagation_inputs(),
          any_of({object(forms::propagation_results() +
                         Keys{maybe("step", step(), "the first step, where --after-step asks"),
                              maybe("forecast", propagate_forecast_shape(),
                                    "whether a run trains, where --forecast asks")}),
                  object({{"sites", symbolic_sites(), "in the order of the forward pass"},
                          {"parameters", list(text()), "none: they have no formulas"},
                          assumptions,
                          {"laws", list(law), "of the stream after l alike branches"}})})};
}

}  // namespace scalecalc::cli
