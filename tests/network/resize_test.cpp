#include <doctest/doctest.h>

#include "scalecalc/error.hpp"
#include "scalecalc/resize.hpp"

namespace scalecalc {

TEST_CASE("scale_width: what grows with the width does, and heads stay") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 32;
  spec.heads = 4;
  spec.ffn = 96;
  spec.experts = 2;
  spec.expert_ffn = 48;
  spec.shared_ffn = 16;
  spec.head_width = 8;
  spec.vocab = 50;
  scale_width(spec, 2.5, "here");
  CHECK(spec.width == 80);
  CHECK(spec.ffn == 240);
  CHECK(spec.expert_ffn == 120);
  CHECK(spec.shared_ffn == 40);
  CHECK(spec.head_width == 20);
  CHECK(spec.heads == 4);
  CHECK(spec.vocab == 50);
  ModelSpec mlp = default_spec(ModelSpec::Kind::mlp);
  mlp.width = 10;
  const std::int64_t features = mlp.features;
  scale_width(mlp, 0.5, "here");
  CHECK(mlp.width == 5);
  CHECK(mlp.features == features);
}

TEST_CASE("scale_width: of a list each layer but a head without classes") {
  ModelSpec spec = parse_model(
      "[model]\nkind = \"layers\"\nfeatures = 8\n[[layer]]\ntype = \"linear\"\nwidth = 8\n"
      "[[layer]]\ntype = \"linear\"\nwidth = 5\n",
      "list");
  scale_width(spec, 3, "here");
  CHECK(spec.layer_list.at(0).width == 24);
  CHECK(spec.layer_list.at(1).width == 5);
}

TEST_CASE("scale_width: a convolution of each channel by itself stays one, and groups stay") {
  ModelSpec spec = parse_model(
      "[model]\nkind = \"layers\"\nfeatures = 3\nsequence = 64\nheight = 8\nclasses = 10\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\ngroups = 16\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\ngroups = 4\n",
      "list");
  scale_width(spec, 0.5, "here");
  const std::int64_t groups[] = {1, 8, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(spec.layer_list.at(i).width == 8);
    CHECK(spec.layer_list.at(i).groups == groups[i]);
  }
}

TEST_CASE("scale_width: a size that would be no integer is named") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 30;
  spec.ffn = 45;
  try {
    scale_width(spec, 1.1, "width = 33");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == "the model's ffn of 45 would become 49.5");
    CHECK(error.where() == "width = 33");
  }
}

}  // namespace scalecalc
