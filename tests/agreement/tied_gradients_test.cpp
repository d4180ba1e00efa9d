#include "support.hpp"

/// Gradients that go with what they are gradients of.
namespace scalecalc {
namespace {

constexpr int seeds = 96;

ModelSpec layers(const std::string& list) {
  return parse_model(
      "[model]\nkind = \"layers\"\nfeatures = 48\nclasses = 10\nsequence = 6\n"
      "norm = \"none\"\n[init]\nscheme = \"lecun\"\n" +
          list,
      "layers");
}

std::string linear(int width) {
  return "[[layer]]\ntype = \"linear\"\nwidth = " + std::to_string(width) + "\n";
}
std::string activation(const std::string& name) {
  return "[[layer]]\ntype = \"activation\"\nactivation = \"" + name + "\"\n";
}
std::string norm(const std::string& name) {
  return "[[layer]]\ntype = \"norm\"\nnorm = \"" + name + "\"\n";
}

// phi' is large where phi is, by whose size the norm has divided: 9/n for relu^2.
TEST_CASE("an activation right below a norm") {
  for (const char* name : {"relu", "relu_squared", "gelu"})
    for (const char* over : {"rmsnorm", "layernorm"})
      agree(std::string(name) + " below " + over,
            layers(linear(24) + activation(name) + norm(over) + linear(24)), seeds);
}

// Of independent tokens the product of means is 0: the covariance is all there is.
TEST_CASE("gated units and gains follow the overlaps of tokens that share nothing") {
  for (const bool affine : {false, true}) {
    ModelSpec spec = small_transformer(Placement::pre, NormKind::rmsnorm);
    spec.layers = 1;
    spec.width = 48;
    spec.heads = 2;
    spec.ffn = 48;
    spec.gated = true;
    spec.norm_affine = affine;
    spec.input.cross = 0;
    agree(affine ? "gains" : "gated", spec, seeds);
  }
}

}  // namespace
}  // namespace scalecalc
