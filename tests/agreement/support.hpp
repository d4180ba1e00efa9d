#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// Of three blocks, with gelu.
inline ModelSpec small_transformer(Placement placement, NormKind norm) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 3;
  spec.width = 96;
  spec.heads = 4;
  spec.ffn = 192;
  spec.vocab = 32;
  spec.sequence = 14;
  spec.input.cross = 0.2;
  spec.placement = placement;
  spec.norm = norm;
  spec.activation = "gelu";
  return spec;
}

/// T5's: gated, of one width, with sharp attention over 32 words of the vocabulary below a tied
/// head.
inline ModelSpec gated_words(int layers, std::int64_t width, std::int64_t vocab) {
  ModelSpec spec = parse_model(R"([model]
kind = "transformer"
heads = 4
sequence = 32
activation = "gelu"
gated = true
tie_head = true
norm = "rmsnorm"
placement = "pre"
attention_scale = 1
[init]
scheme = "t5"
gain = { head = 1 }
[input]
kind = "tokens"
)",
                               "words");
  spec.layers = layers;
  spec.width = spec.ffn = width;
  spec.vocab = vocab;
  return spec;
}

inline std::string describe(const Comparison& c) {
  return c.path + " " + c.quantity + ": predicted " + std::to_string(c.predicted) + ", measured " +
         std::to_string(c.measured) + " +- " + std::to_string(c.standard_error) + ", z " +
         std::to_string(c.z) + (c.in_log_space ? ", typical values" : "") + "\n";
}

/// What is outside its band, the first few; empty when all is well.
inline std::string failures_of(const Verification& verification) {
  constexpr int shown = 8;
  std::string text;
  int count = 0;
  for (const auto* comparisons : {&verification.sites, &verification.parameters})
    for (const Comparison& comparison : *comparisons)
      if (!comparison.ok && ++count <= shown) text += describe(comparison);
  for (const std::string& path : verification.unmatched) text += "unmatched " + path + "\n";
  for (const Cause& cause : verification.causes)
    text += "cause: " + cause.path + ", rule " + cause.rule + ", " + cause.assumption + "\n";
  return text;
}

/// |measured/predicted - 1| of the gradients of all weight matrices of many networks.
class WeightErrors {
 public:
  void add(const Verification& verification) {
    for (const Comparison& c : verification.parameters)
      if (c.quantity == "grad_second" && c.predicted != 0)
        errors_.push_back(std::abs(c.measured / c.predicted - 1));
  }
  double median() {
    REQUIRE(!errors_.empty());
    std::sort(errors_.begin(), errors_.end());
    return errors_[errors_.size() / 2];
  }

 private:
  std::vector<double> errors_;
};

/// Verifies one network; a failure says what is outside its band.
inline Verification agree(const std::string& name, const ModelSpec& spec, int seeds) {
  VerifyOptions options;
  options.seeds = seeds;
  options.threads = 2;
  const Verification verification = verify_network(build_network(spec), options);
  const std::string failures = failures_of(verification);
  CAPTURE(name);
  CHECK(failures == "");
  CHECK(verification.passed);
  return verification;
}

}  // namespace scalecalc
