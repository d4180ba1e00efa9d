#include <string>

#include "support.hpp"

/// Transformers that a condition modulates.
namespace scalecalc {
namespace {

constexpr int seeds = 64;

void agree_modulated(const char* name, const std::string& fields, const std::string& rest = "") {
  const std::string text =
      "[model]\nkind = \"transformer\"\nwidth = 48\nheads = 4\nffn = 96\nvocab = 20\n"
      "placement = \"pre\"\n" +
      fields + "[condition]\nfeatures = 32\n" + rest;
  agree(name, parse_model(text, name), seeds);
}

}  // namespace

TEST_CASE("norms and gates by a condition") {
  agree_modulated("adaln", "layers = 3\nsequence = 8\nbatch = 2\nmodulation = \"adaln\"\n",
                  "cross = 0.3\n");
  agree_modulated("causal",
                  "layers = 4\nsequence = 12\ncausal = true\nbias = true\nqk_norm = true\n"
                  "norm = \"rmsnorm\"\nmodulation = \"adaln\"\n",
                  "classes = 5\nclass_std = 0.5\n");
}

TEST_CASE("gates that start closed") {
  agree_modulated("adaln-zero",
                  "layers = 4\nsequence = 8\nbatch = 3\nmodulation = \"adaln-zero\"\n",
                  "classes = 10\n[loss]\nkind = \"mse\"\n");
}

}  // namespace scalecalc
