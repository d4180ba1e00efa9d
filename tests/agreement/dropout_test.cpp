#include "support.hpp"

namespace scalecalc {
namespace {

constexpr int seeds = 128;

ModelSpec on_the_stream(ModelSpec::Kind kind, Placement placement, double rate) {
  ModelSpec spec = default_spec(kind);
  spec.layers = 4;
  spec.width = 64;
  if (kind == ModelSpec::Kind::transformer) {
    spec.heads = 4;
    spec.ffn = 256;
    spec.vocab = 200;
    spec.sequence = 16;
    spec.activation = "relu";
  } else {
    spec.features = 64;
    spec.sequence = 8;
    spec.input.cross = 0.2;
    spec.activation = "tanh";
  }
  spec.norm = NormKind::layernorm;
  spec.placement = placement;
  spec.dropout = rate;
  spec.dropout_place = dropout_places_from("stream", "here");
  return spec;
}

/// Median and worst of |predicted/measured - 1|, less three standard errors, of all gradients:
/// these stray together, by 4% at a rate of 0.4.
struct Errors {
  double median = 0, worst = 0;
};
Errors errors_of(const Verification& verification) {
  std::vector<double> all;
  double worst = 0;
  for (const auto* comparisons : {&verification.sites, &verification.parameters}) {
    for (const Comparison& c : *comparisons) {
      if (c.quantity != "grad_second" || !(c.measured > 0)) continue;
      const double off = std::fabs(c.predicted / c.measured - 1);
      all.push_back(std::max(0.0, off - 3 * c.standard_error / c.measured));
      worst = std::max(worst, all.back());
    }
  }
  REQUIRE(!all.empty());
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], worst};
}

// Of a stream that dropout has gone over again and again one feature in many holds all of |x|^2.
TEST_CASE("dropout on the stream") {
  for (const ModelSpec::Kind kind : {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp}) {
    for (const Placement placement : {Placement::pre, Placement::post}) {
      for (const double rate : {0.1, 0.2, 0.4}) {
        // Below a Post-Norm stack gradients know the masks in front of them: 10 to 20% at 0.4.
        if (placement == Placement::post && rate > 0.2) continue;
        const std::string name = to_string(placement) + " " + std::to_string(rate);
        const Errors errors = errors_of(agree(name, on_the_stream(kind, placement, rate), seeds));
        CAPTURE(name);
        // Next orders in 1/d and the error of these seeds, at the median and at the worst place.
        CHECK(errors.median < 0.02);
        CHECK(errors.worst < 0.15);
      }
    }
  }
}

ModelSpec with_drop_path(Placement placement, double rate, bool rises) {
  ModelSpec spec = on_the_stream(ModelSpec::Kind::transformer, placement, 0);
  spec.batch = 2;
  spec.drop_path = rate;
  spec.drop_path_rises = rises;
  return spec;
}

// A sample keeps or loses a whole branch, by which the lengths of its tokens differ: at the first
// sum of two equal parts by a factor 2/(1 - p) + 1.
TEST_CASE("drop path") {
  for (const Placement placement : {Placement::pre, Placement::post, Placement::sandwich}) {
    for (const double rate : {0.1, 0.3}) {
      for (const bool rises : {true, false}) {
        const std::string name =
            to_string(placement) + " " + std::to_string(rate) + (rises ? " rising" : "");
        const Errors errors =
            errors_of(agree(name, with_drop_path(placement, rate, rises), 4 * seeds));
        CAPTURE(name);
        // Beyond three standard errors: next orders in 1/d, and Q^3 of earlier branches.
        CHECK(errors.median < 0.02);
        // Norms behind attention divide by mixes of samples that have lost what tokens share.
        if (rate < 0.2 || placement == Placement::pre) CHECK(errors.worst < 0.12);
      }
    }
  }
}

// Right behind dropout an activation and a norm see features of which some are 0.
TEST_CASE("dropout right before activations and norms") {
  for (const char* activation : {"relu", "tanh", "gelu", "sigmoid", "selu"}) {
    const std::string text = std::string(R"([model]
kind = "layers"
features = 48
classes = 10
sequence = 6
activation = ")") + activation +
                             R"("
[input]
cross = 0.5
[[layer]]
type = "linear"
width = 64
[[layer]]
type = "dropout"
rate = 0.3
[[layer]]
type = "activation"
[[layer]]
type = "linear"
width = 64
[[layer]]
type = "dropout"
rate = 0.4
[[layer]]
type = "norm"
norm = "rmsnorm"
[[layer]]
type = "activation"
)";
    const Verification found = agree(activation, parse_model(text, activation), 128);
    CAPTURE(activation);
    // The worst of many places, each with the error of 128 draws.
    CHECK(errors_of(found).worst < 0.1);
    for (const Comparison& c : found.sites) {
      if (c.quantity != "second") continue;
      CAPTURE(c.path);
      // Of second moments no more is left out than of order 1/width.
      CHECK(std::fabs(c.measured - c.predicted) < 4.5 * c.standard_error + 0.02 * c.predicted);
    }
  }
}

}  // namespace
}  // namespace scalecalc
