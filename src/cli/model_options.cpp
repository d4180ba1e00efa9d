#include "cli/model_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/options.hpp"
#include "scalecalc/activation.hpp"
#include "symbolic/text.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kLargest = 1000000;

void set_size(const char* option, const std::string& text, const char* example,
              std::int64_t& size) {
  if (!text.empty()) size = parse_integer(option, text, 1, kLargest, example);
}

/// An mlp has nothing that these could change.
void refuse_for_mlp(const ModelOptions& options) {
  const char* option = !options.heads.empty() ? "--heads"
                       : !options.ffn.empty() ? "--ffn"
                       : options.causal       ? "--causal"
                                              : nullptr;
  if (option == nullptr) return;
  throw Error(ErrorKind::usage, std::string("an mlp has no ") + (option + 2), option,
              "leave it out, or use a model of kind \"transformer\"");
}

}  // namespace

void ModelOptions::add_to(CLI::App* app) {
  const auto add = [app](const char* name, std::string& text, const char* type, const char* help) {
    app->add_option(name, text, help)->type_name(type)->group("Model");
  };
  add("--width", width, "D", "features of the stream (default 64)");
  add("--heads", heads, "H", "attention heads, a divisor of the width (default 4)");
  add("--ffn", ffn, "F", "width inside the ffn (default 4 x width)");
  add("--sequence", sequence, "T", "tokens of a sequence (default 24)");
  add("--vocab", vocab, "V", "classes of the head (default 64)");
  add("--batch", batch, "B", "sequences (default 1)");
  add("--activation", activation, "NAME", "of the ffn (default gelu)");
  add("--norm", norm, "NAME", "layernorm, rmsnorm or none (default layernorm)");
  add("--cross", cross, "R", "E[x_t x_s] between two tokens of the input (default 0)");
  app->add_flag("--causal", causal, "each token attends to itself and those before")
      ->group("Model");
}

ModelSpec ModelOptions::spec() const {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  apply_to(spec);
  return spec;
}

void ModelOptions::apply_to(ModelSpec& spec) const {
  if (spec.kind == ModelSpec::Kind::mlp) refuse_for_mlp(*this);
  const std::int64_t old_width = spec.width;
  set_size("--width", width, "256", spec.width);
  if (old_width > 0 && spec.ffn % old_width == 0) spec.ffn = spec.ffn / old_width * spec.width;
  set_size("--heads", heads, "4", spec.heads);
  set_size("--ffn", ffn, "1024", spec.ffn);
  set_size("--sequence", sequence, "24", spec.sequence);
  set_size("--vocab", vocab, "64", spec.vocab);
  set_size("--batch", batch, "1", spec.batch);
  if (!activation.empty()) spec.activation = scalecalc::activation(activation, "--activation").name;
  if (!norm.empty()) spec.norm = norm_from(norm, "--norm");
  if (!cross.empty()) spec.input.cross = parse_number("--cross", cross, 0, 1e6, "0.1");
  if (causal) spec.causal = true;
  validate(spec, given());
}

std::string ModelOptions::given() const {
  std::string words = causal ? "--causal" : "";
  const auto add = [&words](const char* name, const std::string& text) {
    if (text.empty()) return;
    words += (words.empty() ? "" : " ") + std::string(name) + " " + symbolic::shortened(text);
  };
  add("--width", width);
  add("--heads", heads);
  add("--ffn", ffn);
  add("--sequence", sequence);
  add("--vocab", vocab);
  add("--batch", batch);
  add("--activation", activation);
  add("--norm", norm);
  add("--cross", cross);
  return words;
}

}  // namespace scalecalc::cli
