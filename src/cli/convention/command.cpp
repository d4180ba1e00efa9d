#include <charconv>
#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/convention/document.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;

struct ConventionFlags {
  std::string line, shape, layer, framework, groups = "1", stride = "1";
  bool all = false;
};

/// "1024x256", "1024,256" or "(1024, 256)".
std::vector<std::int64_t> read_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::string_view rest = text;
  if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') {
    rest = rest.substr(1, rest.size() - 2);
  }
  while (!rest.empty()) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    std::int64_t size = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (failure != std::errc() || size < 1 || size > largest) break;
    shape.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return shape;
    if (rest.front() != 'x' && rest.front() != ',') break;
    rest.remove_prefix(1);
    if (rest.empty() && text.front() == '(') return shape;
  }
  throw Error(ErrorKind::input, "--shape must be positive sizes with x between them",
              "got '" + base::shortened(text) + "'", "for example --shape 1024x256");
}

ConventionRequest request_of(const ConventionFlags& flags) {
  ConventionRequest request;
  request.line = flags.line;
  if (!flags.shape.empty()) request.shape = read_shape(flags.shape);
  if (!flags.layer.empty()) {
    request.layer = parse_choice("--layer", flags.layer, convention_layers());
  }
  if (!flags.framework.empty()) {
    request.framework = parse_choice("--framework", flags.framework, convention_frameworks());
  }
  request.groups = parse_integer("--groups", flags.groups, 1, largest, "4");
  request.stride = parse_integer("--stride", flags.stride, 1, 1000000, "2");
  return request;
}

report::Document answer(const ConventionFlags& flags) {
  if (!flags.all) {
    const ConventionRequest request = request_of(flags);
    return convention_document(request, convention(request));
  }
  if (!flags.line.empty()) {
    throw Error(ErrorKind::usage, "--all shows the catalogue and takes no line",
                "scalecalc convention", "leave out one of them");
  }
  return convention_catalogue();
}

}  // namespace

void register_convention(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ConventionFlags>();
  CLI::App* command = add_command(app, context,
                                  {.name = "convention",
                                   .summary = "what an initialisation line of another framework "
                                              "really draws",
                                   .examples = {"scalecalc convention \"nn.Linear(256, 1024)\"",
                                                "scalecalc convention --all --format csv"},
                                   .form = convention_form,
                                   .uses = kNumbers,
                                   .lists = Lists{.alone = {"--all"}}},
                                  [&context, flags] {
                                    context.emit(answer(*flags));
                                    return 0;
                                  });
  const Options add{command};
  add.axis(
      "line", flags->line, "LINE",
      "one call, for example \"torch.nn.init.kaiming_uniform_(w, a=sqrt(5))\"; it is never run");
  add.text("--shape", flags->shape, "SIZES", "of the weights, as the framework has it: 1024x256");
  add.axis(
      "--layer", flags->layer, {"LAYER", convention_layers},
      "linear, conv, transposed, depthwise, qkv, attention, attention-out or embedding (default: "
      "what the line or the shape says)");
  add.axis("--groups", flags->groups, "G", "of a convolution");
  add.axis("--stride", flags->stride, "S", "of a convolution");
  add.axis(
      "--framework", flags->framework, {"FRAMEWORK", convention_frameworks},
      "pytorch, timm, jax, flax, keras, mlx, megatron, transformers or numpy, where the line does "
      "not say");
  add.flag("--all", flags->all, "the catalogue of every convention that is known");
}

}  // namespace scalecalc::cli
