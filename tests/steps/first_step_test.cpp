#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/steps.hpp"

using namespace scalecalc;

namespace {

Network network_of(const std::string& more, const std::string& sections = {}) {
  return build_network(
      parse_model("[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 64\nheads = 4\nffn = 128\n"
                  "vocab = 50\nsequence = 8\n" +
                      more + "\n" + sections,
                  "test"));
}
OptimizerOptions rule_of(const std::string& name, double rate) {
  OptimizerOptions made = optimizer_options(name);
  made.learning_rate = made.adamw_learning_rate = rate;
  made.weight_decay = 0;
  return made;
}
FirstStep step_of(const Network& network, const std::string& name, double rate) {
  return predict_first_step(network, propagate(network), rule_of(name, rate));
}

}  // namespace

TEST_CASE("first step: twice the rate moves everything twice as far, to first order") {
  const Network network = network_of("placement = \"pre\"");
  for (const char* name :
       {"sgd", "adam", "lion", "muon", "lamb", "ngd", "lars", "adafactor", "rmsprop", "adagrad"}) {
    CAPTURE(name);
    const FirstStep one = step_of(network, name, 1e-4), two = step_of(network, name, 2e-4);
    REQUIRE(one.sites.size() == two.sites.size());
    for (std::size_t i = 0; i < one.sites.size(); ++i)
      CHECK(two.sites[i].change.value == doctest::Approx(4 * one.sites[i].change.value));
    CHECK(two.loss_change.value == doctest::Approx(2 * one.loss_change.value));
    CHECK(one.loss_change.value < 0);
  }
}

TEST_CASE("first step: the loss falls by lr |g|^2 under sgd, by lr |g| under ngd") {
  const Network network = network_of("placement = \"post\"\nbias = true\nnorm_affine = true");
  const Trace trace = propagate(network);
  double square = 0;
  for (const ParameterMoments& parameter : trace.parameters)
    square += parameter.grad_second.value * double(parameter.rows) * double(parameter.columns);
  const double lr = 1e-4;
  const FirstStep sgd = step_of(network, "sgd", lr), ngd = step_of(network, "ngd", lr);
  // Both sides sum the kernels of inputs and gradients, whose truncations they share; what differs
  // are orders of T/width that only the moments of gradients have.
  const double orders = 8.0 / 64;
  CHECK(sgd.loss_change.value == doctest::Approx(-lr * square).epsilon(orders));
  CHECK(ngd.loss_change.value == doctest::Approx(-lr * std::sqrt(square)).epsilon(orders));
}

TEST_CASE("first step: factors of parameters are the rates of their steps") {
  const Network network = network_of("placement = \"pre\"\nnorm_affine = true");
  const Trace trace = propagate(network);
  for (const char* name :
       {"sgd", "adam", "lion", "muon", "lamb", "ngd", "lars", "adafactor", "muon+adamw"}) {
    CAPTURE(name);
    OptimizerOptions plain = rule_of(name, 1e-4), all = plain, one = plain;
    for (OptimizerOptions* options : {&plain, &all, &one})
      for (OptimizerOptions& rest : options->rest) rest.weight_decay = 0;
    for (const ParameterInfo& info : parameters(network)) all.factors[info.path].learning_rate = 2;
    const std::string chosen = "block[1].ffn.out.weight";
    one.factors[chosen].learning_rate = 2;
    const FirstStep before = predict_first_step(network, trace, plain);
    const FirstStep after = predict_first_step(network, trace, all);
    const FirstStep single = predict_first_step(network, trace, one);
    for (std::size_t i = 0; i < before.sites.size(); ++i)
      CHECK(after.sites[i].change.value == doctest::Approx(4 * before.sites[i].change.value));
    for (std::size_t i = 0; i < before.parameters.size(); ++i) {
      const double alone = before.parameters[i].update.value;
      CHECK(after.parameters[i].update.value == doctest::Approx(4 * alone));
      CHECK(single.parameters[i].update.value ==
            doctest::Approx(before.parameters[i].path == chosen ? 4 * alone : alone));
    }
  }
}

TEST_CASE("first step: factors of eps are those of the options") {
  const Network network = network_of("placement = \"pre\"");
  const Trace trace = propagate(network);
  OptimizerOptions plain = rule_of("adam", 1e-4), all = plain;
  plain.eps = 1e-2;
  all.eps = 1e-3;
  for (const ParameterInfo& info : parameters(network)) all.factors[info.path].eps = 10;
  const FirstStep one = predict_first_step(network, trace, plain);
  const FirstStep other = predict_first_step(network, trace, all);
  for (std::size_t i = 0; i < one.sites.size(); ++i)
    CHECK(other.sites[i].change.value == doctest::Approx(one.sites[i].change.value));
}

TEST_CASE("first step: no rate, no change") {
  const FirstStep none = step_of(network_of("placement = \"pre\""), "adam", 0);
  for (const StepSite& site : none.sites) CHECK(site.change.value == 0);
  for (const StepParameter& parameter : none.parameters) CHECK(parameter.update.value == 0);
  CHECK(none.loss_change.value == 0);
}

TEST_CASE("first step: behind logits whose softmax is condensed") {
  // The head's second moment is 64 * 16^2: e^z has no moments in doubles, p has.
  const Network network = network_of("placement = \"pre\"", "[init]\ngain = { head = 128 }");
  const Trace trace = propagate(network);
  REQUIRE(trace.sites.back().second.value > 1000);
  double square = 0;
  for (const ParameterMoments& parameter : trace.parameters)
    square += parameter.grad_second.value * double(parameter.rows) * double(parameter.columns);
  const double lr = 1e-8;
  // As of logits of order 1, above.
  const double orders = 8.0 / 64;
  CHECK(step_of(network, "sgd", lr).loss_change.value ==
        doctest::Approx(-lr * square).epsilon(orders));
  for (const char* name : {"adam", "lion", "muon", "lamb"}) {
    CAPTURE(name);
    const FirstStep step = step_of(network, name, lr);
    CHECK(step.loss_change.value < 0);
    for (const StepSite& site : step.sites) CHECK(std::isfinite(site.change.value));
  }
}

TEST_CASE("first step: one that overflows is named with its place") {
  const Network network = network_of("placement = \"none\"\nnorm = \"none\"");
  try {
    step_of(network, "sgd", 1e200);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("no number") != std::string::npos);
    CHECK(error.where().find("block[0]") != std::string::npos);
  }
}

TEST_CASE("first step: what has no rule is named") {
  const auto refuses = [](const Network& network, const char* what) {
    try {
      step_of(network, "sgd", 1e-3);
      FAIL("not refused");
    } catch (const Error& error) {
      CAPTURE(error.message());
      CHECK(error.message().find(what) != std::string::npos);
      CHECK(!error.where().empty());
      // Of what draws masks, every rate that there is.
      if (std::string_view(what) == "dropout")
        CHECK(error.hint() == "set dropout, attention_dropout and drop_path to 0");
    }
  };
  refuses(network_of("placement = \"pre\"\ndropout = 0.1"), "dropout");
  refuses(network_of("placement = \"pre\"\ndrop_path = 0.1"), "dropout");
  refuses(network_of("placement = \"pre\"\npool = \"last\""), "a last token that is read");
  refuses(network_of("placement = \"resi-dual\""), "two streams");
  refuses(network_of("placement = \"pre\"\nexperts = 4"), "mixtures of experts");
  refuses(network_of("placement = \"pre\"\ntie_head = true", "[input]\nkind = \"tokens\""), "tied");
  refuses(network_of("placement = \"pre\"\nattention_softcap = 5"), "scores behind a softcap");
  refuses(network_of("placement = \"pre\"\nrelative_buckets = 8"), "learnt biases of scores");
  refuses(network_of("placement = \"pre\"\nlogit_softcap = 5"), "logits behind a softcap");
  refuses(network_of("placement = \"pre\"\nattention_dropout = 0.1"), "dropout");
  refuses(network_of("placement = \"pre\"\nresidual_attention = true"), "scores");
  refuses(network_of("placement = \"pre\"\nvalue_residual = 0.5"), "values that later blocks read");
  refuses(build_network(find_model("resnet-v2")), "convolutions");
  OptimizerOptions decays = rule_of("adamw", 1e-3);
  decays.weight_decay = 0.1;
  const Network network = network_of("placement = \"pre\"");
  CHECK_THROWS_AS(predict_first_step(network, propagate(network), decays), Error);
  const Network other = network_of("placement = \"pre\"\nbias = true");
  CHECK_THROWS_AS(predict_first_step(network, propagate(other), rule_of("sgd", 1)), Error);
}
