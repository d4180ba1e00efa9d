#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/network.hpp"

using namespace scalecalc;

namespace {

ModelSpec wide(const std::string& scheme) {
  ModelSpec spec;
  spec.layers = 8;
  spec.width = 64;
  spec.heads = 4;
  spec.ffn = 256;
  spec.vocab = 100;
  spec.init.scheme = scheme;
  return spec;
}

double std_of(const ModelSpec& spec, const std::string& role) {
  for (const ParameterInfo& info : parameters(build_network(spec)))
    if (info.role == role) return info.std;
  return std::nan("");
}

/// sqrt and one division, each rounded once.
doctest::Approx rounded(double value) {
  return doctest::Approx(value).epsilon(4e-16);
}

}  // namespace

TEST_CASE("lecun, xavier and he divide by the fans") {
  CHECK(std_of(wide("lecun"), "q") == rounded(0.125));
  CHECK(std_of(wide("lecun"), "ffn_out") == rounded(0.0625));
  CHECK(std_of(wide("lecun"), "head") == rounded(0.125));
  CHECK(std_of(wide("xavier"), "ffn_in") == rounded(std::sqrt(2.0 / 320)));
  CHECK(std_of(wide("xavier"), "ffn_out") == rounded(std::sqrt(2.0 / 320)));
  CHECK(std_of(wide("xavier"), "head") == rounded(std::sqrt(2.0 / 164)));
  CHECK(std_of(wide("he"), "ffn_out") == rounded(std::sqrt(2.0 / 256)));
}

TEST_CASE("gpt2 scales the output projections by the number of sublayers") {
  for (const char* role : {"q", "k", "v", "ffn_in", "head"})
    CHECK(std_of(wide("gpt2"), role) == rounded(0.02));
  CHECK(std_of(wide("gpt2"), "o") == rounded(0.005));
  CHECK(std_of(wide("gpt2"), "ffn_out") == rounded(0.005));
}

TEST_CASE("bert has one std for all") {
  for (const char* role : {"q", "k", "v", "o", "ffn_in", "ffn_out", "head"})
    CHECK(std_of(wide("bert"), role) == rounded(0.02));
}

TEST_CASE("t5 divides q by the head's width too") {
  CHECK(std_of(wide("t5"), "q") == rounded(1 / std::sqrt(64.0 * 16)));
  CHECK(std_of(wide("t5"), "k") == rounded(0.125));
  CHECK(std_of(wide("t5"), "o") == rounded(0.125));
  CHECK(std_of(wide("t5"), "ffn_out") == rounded(0.0625));
}

TEST_CASE("a given std or weight variance") {
  ModelSpec spec = wide("std");
  spec.init.std = 0.03;
  CHECK(std_of(spec, "ffn_out") == 0.03);
  spec = wide("weight_variance");
  spec.init.weight_variance = 4;
  CHECK(std_of(spec, "ffn_out") == rounded(0.125));
}
