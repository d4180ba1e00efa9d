#include "cli/model_options.hpp"

#include "base/text.hpp"
#include "cli/options.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/scaling.hpp"

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

void set_scale(const char* option, const std::string& text, std::optional<Expr>& scale) {
  if (text == "auto") {
    scale.reset();
  } else if (!text.empty()) {
    scale = parse_depth_formula(option, text);
  }
}

}  // namespace

void ModelOptions::add_to(CLI::App* app) {
  const Options add{app, "Model"};
  add.text("--width", width, "D", "features of the stream (default 64)");
  add.text("--heads", heads, "H", "attention heads, a divisor of the width (default 4)");
  add.text("--ffn", ffn, "F", "width inside the ffn (default 4 x width)");
  add.text("--sequence", sequence, "T", "tokens of a sequence (default 24)");
  add.text("--vocab", vocab, "V", "classes of the head (default 64)");
  add.text("--batch", batch, "B", "sequences (default 1)");
  add.text("--activation", activation, "NAME", "of the ffn (default gelu)");
  add.text("--norm", norm, "NAME", "layernorm, rmsnorm or none (default layernorm)");
  add.text("--cross", cross, "R", "E[x_t x_s] between two tokens of the input (default 0)");
  add.flag("--causal", causal, "each token attends to itself and those before");
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
    words += (words.empty() ? "" : " ") + std::string(name) + " " + base::shortened(text);
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

void add_scale_options(CLI::App* app, std::string& placement, std::string& alpha,
                       std::string& lambda) {
  const Options add{app};
  add.text("--placement", placement, "P", "where the norms stand (scalecalc list placements)");
  add.text("--alpha", alpha, "X", "skip multiplier: a number, a formula in N, or auto");
  add.text("--lambda", lambda, "X", "gain of v, o, ffn_in, ffn_out: likewise");
}

void ModelArgument::add_to(CLI::App* app, const char* name) {
  const Options add{app};
  add.text(name, model, "MODEL", "a preset (scalecalc presets) or a model file (TOML)");
  add.text("--layers", layers, "N", "blocks, instead of the model's");
  add_scale_options(app, placement, alpha, lambda);
  add.text("--optimizer", optimizer, "F", "what auto is solved for (scalecalc list families)");
  block.add_to(app);
}

std::string ModelArgument::given() const {
  std::string words = base::shortened(model);
  const auto add = [&words](const char* name, const std::string& text) {
    if (!text.empty()) words += std::string(" ") + name + " " + base::shortened(text);
  };
  add("--layers", layers);
  add("--placement", placement);
  add("--alpha", alpha);
  add("--lambda", lambda);
  add("--optimizer", optimizer);
  const std::string shape = block.given();
  return shape.empty() ? words : words + " " + shape;
}

bool ModelArgument::overrides() const {
  return !(layers + placement + alpha + lambda).empty() || !block.given().empty();
}

void ModelArgument::apply_to(ModelSpec& spec) const {
  if (!layers.empty()) spec.layers = parse_layers("--layers", layers);
  if (!placement.empty()) spec.placement = placement_from(placement, "--placement");
  set_scale("--alpha", alpha, spec.alpha);
  set_scale("--lambda", lambda, spec.lambda);
  block.apply_to(spec);
}

ModelSpec ModelArgument::spec(const std::string& command) const {
  if (model.empty()) {
    throw Error(ErrorKind::usage, "a model is missing", "scalecalc " + command,
                "a preset (scalecalc presets) or a file: scalecalc " + command + " gpt2");
  }
  ModelSpec spec = find_model(model);
  if (!optimizer.empty()) spec.optimizer = optimizer;
  if (spec.kind == ModelSpec::Kind::layers && overrides()) {
    throw Error(ErrorKind::usage, "a model of kind \"layers\" has nothing to override", model,
                "leave the model options out, or change the file");
  }
  if (overrides()) apply_to(spec);
  if (!spec.alpha || !spec.lambda) solve_scales(spec);
  return spec;
}

}  // namespace scalecalc::cli
