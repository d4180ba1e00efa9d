#include <string>

#include "support.hpp"

/// Skips that are concatenated, and images that are made larger, beside passes
/// (docs/theory/layers.md#concat, #upsample, #conv-transpose).
namespace scalecalc {
namespace {

constexpr int seeds = 48;

const std::string head =
    "[model]\nkind = \"layers\"\nfeatures = 16\nsequence = 36\nheight = 6\nbatch = 2\nclasses = 5\n"
    "activation = \"tanh\"\n[input]\ncross = 0.3\n";

std::string op(int depth, const std::string& type, const std::string& keys = "") {
  std::string at = "layer";
  for (int i = 0; i < depth; ++i) at += ".layers";
  return "[[" + at + "]]\ntype = \"" + type + "\"\n" + keys;
}
std::string conv(int depth, int channels, const std::string& more = "") {
  return op(depth, "conv2d",
            "channels = " + std::to_string(channels) + "\nkernel = 3\npadding = 1\n" + more);
}
std::string up(int depth, int channels, int kernel = 2) {
  return op(depth, "conv_transpose2d",
            "channels = " + std::to_string(channels) + "\nstride = 2\nkernel = " +
                std::to_string(kernel) + "\npadding = " + std::to_string((kernel - 1) / 2) +
                "\noutput_padding = " + std::to_string(kernel % 2) + "\n");
}

void holds(const std::string& name, const std::string& layers) {
  agree(name, parse_model(head + layers, name), seeds);
}

}  // namespace

TEST_CASE("features of a skip and of what follows it") {
  const std::string act = op(0, "activation"), inner = op(1, "activation");
  holds("linear", op(0, "linear", "width = 24\n") + op(0, "concat") +
                      op(1, "linear", "width = 12\n") + op(0, "linear", "width = 24\n") + act);
  holds("two sizes", op(0, "linear", "width = 24\n") + op(0, "concat") +
                         op(1, "linear", "width = 24\nstd = 0.3\n") + inner +
                         op(0, "linear", "width = 24\n") + act);
  holds("activation", op(0, "linear", "width = 24\n") + op(0, "concat") + inner +
                          op(0, "linear", "width = 24\n") + act);
  holds("dense", op(0, "linear", "width = 24\n") + op(0, "concat") + inner +
                     op(1, "linear", "width = 12\n") + op(0, "concat") + inner +
                     op(1, "linear", "width = 12\n") + op(0, "linear", "width = 24\n") + act);
}

TEST_CASE("norms right behind a concatenation") {
  for (const char* norm : {"batchnorm", "instancenorm", "layernorm", "rmsnorm"})
    holds(norm, op(0, "linear", "width = 24\n") + op(0, "concat") +
                    op(1, "linear", "width = 24\nstd = 0.5\n") +
                    op(0, "norm", "norm = \"" + std::string(norm) + "\"\n") +
                    op(0, "linear", "width = 24\n") + op(0, "activation"));
}

TEST_CASE("images that are made larger") {
  const std::string act = op(0, "activation");
  const std::string small = conv(0, 24, "stride = 2\n") + act;
  for (const int kernel : {2, 3, 4})
    holds("transposed " + std::to_string(kernel),
          small + up(0, 16, kernel) + act + conv(0, 16) + act);
  holds("nearest", small + op(0, "upsample") + conv(0, 16) + act);
  holds("nearest by 3", small + op(0, "upsample", "factor = 3\n") + op(0, "activation") +
                            op(0, "conv2d", "channels = 16\n") + act);
}

TEST_CASE("a U-Net of two levels") {
  const auto norm = [](int depth) { return op(depth, "norm", "norm = \"batchnorm\"\n"); };
  const auto block = [&](int depth, int channels, bool normed) {
    return conv(depth, channels) + (normed ? norm(depth) : "") + op(depth, "activation");
  };
  for (const bool normed : {false, true})
    holds(normed ? "with norms" : "plain",
          block(0, 16, normed) + op(0, "concat") + op(1, "max_pool", "kernel = 2\nstride = 2\n") +
              block(1, 24, normed) + up(1, 16) + block(0, 16, normed));
}

}  // namespace scalecalc
