#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.hpp"
#include "export/conventions/catalogue.hpp"

namespace scalecalc {
namespace conventions {
namespace {

using Parts = std::vector<std::string>;

constexpr std::size_t most_axes = 8;
constexpr double most_entries = 1e15;

/// "self.blocks[0].weight" as self, blocks, weight.
Parts parts_of(const std::string& dotted) {
  Parts parts(1);
  int open = 0;
  for (const char c : dotted) {
    open += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == '.' && open == 0) {
      parts.emplace_back();
    } else if (open == 0 && c != ']') {
      parts.back() += c;
    }
  }
  return parts;
}

/// The framework that a name begins with, if it does.
std::string framework_of(const Parts& parts) {
  static const std::pair<const char*, const char*> roots[] = {
      {"torch", "pytorch"},     {"jax", "jax"},
      {"flax", "flax"},         {"linen", "flax"},
      {"nnx", "flax"},          {"keras", "keras"},
      {"tf", "keras"},          {"tensorflow", "keras"},
      {"mlx", "mlx"},           {"timm", "timm"},
      {"np", "numpy"},          {"numpy", "numpy"},
      {"megatron", "megatron"}, {"transformers", "transformers"}};
  for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
    for (const auto& [root, framework] : roots) {
      if (parts[k] == root) return framework;
    }
  }
  return "";
}

bool belongs(const Entry& entry, const std::string& framework) {
  const bool jax = framework == "jax" || framework == "flax";
  const std::string own = entry.framework;
  return framework.empty() || own == framework || (jax && (own == "jax" || own == "flax"));
}

/// How well a path fits a name: trailing parts in common, and methods of tensors for x.normal_().
int fit(const Parts& path, const Parts& name) {
  int common = 0;
  while (common < static_cast<int>(std::min(path.size(), name.size())) &&
         path[path.size() - 1 - common] == name[name.size() - 1 - common]) {
    ++common;
  }
  if (common == 0) return 0;
  const bool method = path.size() > 1 && path[path.size() - 2] == "Tensor";
  return 10 * common + (method && name.size() > 1 ? 5 : 0);
}

struct Found {
  const Entry* entry = nullptr;
  std::vector<std::string> others;  ///< as good, of other frameworks
};

Error not_known(const Parts& name, const std::string& framework) {
  std::vector<std::string> known;
  for (const Entry& entry : all_entries()) {
    if (belongs(entry, framework)) known.push_back(last_part(entry.path));
  }
  const std::string what = framework.empty() ? "function" : "function of " + framework;
  return unknown_name(what, name.back(), known, "LINE");
}

Found find_entry(const std::string& dotted, const std::string& asked_framework) {
  const Parts name = parts_of(dotted);
  const std::string root = framework_of(name);
  const std::string framework = asked_framework.empty() ? root : asked_framework;
  Found found;
  int best = 0;
  for (const Entry& entry : all_entries()) {
    if (!belongs(entry, framework)) continue;
    const int score = fit(parts_of(entry.path), name);
    if (score > best) {
      best = score;
      found = {&entry, {}};
    } else if (score == best && score > 0 &&
               std::string(found.entry->framework) != entry.framework) {
      found.others.push_back(entry.path);
    }
  }
  if (!found.entry) throw not_known(name, framework);
  return found;
}

Layout layout_of(const Entry& entry) {
  const std::string framework = entry.framework;
  if (framework == "mlx") return Layout::mlx;
  const bool torch = framework == "pytorch" || framework == "timm" || framework == "megatron";
  return torch ? Layout::torch : Layout::keras;
}

/// The call of the function itself, and the call of what that makes: he_normal()(key, shape).
struct Calls {
  const Node* own = nullptr;
  const Node* applied = nullptr;
  std::string name;
};
Calls calls_of(const Node& node) {
  Calls calls;
  if (node.kind == Node::Kind::name) {
    calls.name = node.text;
  } else if (node.kind == Node::Kind::call && node.items.front()->kind == Node::Kind::name) {
    calls = {&node, nullptr, node.items.front()->text};
  } else if (node.kind == Node::Kind::call && node.items.front()->kind == Node::Kind::call) {
    const Node& inner = *node.items.front();
    if (inner.items.front()->kind == Node::Kind::name) {
      calls = {&inner, &node, inner.items.front()->text};
    }
  }
  if (calls.name.empty()) {
    throw Error(ErrorKind::input, "the line must be one call of an initialiser or a layer",
                "LINE, got " + shown(node),
                "for example \"torch.nn.init.kaiming_normal_(w)\" or \"nn.Linear(1024, 256)\"");
  }
  return calls;
}

const Node& empty_call() {
  static const Node node = [] {
    Node call;
    call.kind = Node::Kind::call;
    return call;
  }();
  return node;
}

/// The shape in the second call, he_normal()(key, (1024, 256)).
void take_applied_shape(const Arguments& applied, const Entry& entry, Sheet& sheet) {
  if (std::string(entry.applied).find("shape") == std::string::npos) return;
  if (const auto shape = shape_of(applied.node("shape"))) sheet.line_shape(*shape);
}

/// "he_normal" in Keras is HeNormal; "uniform" and "normal" are the random ones.
std::string keras_class(const std::string& text) {
  const auto plain = [](const std::string& name) {
    std::string low;
    for (const char c : name) {
      if (c != '_') low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return low;
  };
  const std::string asked = text == "uniform"  ? "RandomUniform"
                            : text == "normal" ? "RandomNormal"
                                               : text;
  std::vector<std::string> known;
  for (const Entry& entry : keras_entries()) {
    if (!entry.draw) continue;
    if (plain(last_part(entry.path)) == plain(asked)) return entry.path;
    known.push_back(last_part(entry.path));
  }
  throw unknown_name("initialiser of keras", text, known, "LINE");
}

Draw draw_entry(const Entry& entry, const Calls& calls, Sheet& sheet) {
  if (!entry.draw) {
    throw Error(ErrorKind::input, "an initialiser was expected, not a layer",
                std::string("LINE, got ") + entry.path);
  }
  const Arguments arguments(entry.path, entry.signature, calls.own ? *calls.own : empty_call());
  std::optional<Arguments> applied;
  if (calls.applied) {
    if (!entry.applied) {
      throw Error(ErrorKind::input, std::string(entry.path) + " makes nothing that can be called",
                  "LINE", "call it once");
    }
    applied.emplace(entry.path, entry.applied, *calls.applied);
    take_applied_shape(*applied, entry, sheet);
  }
  Use use{arguments, applied ? &*applied : nullptr, sheet};
  return entry.draw(use);
}

/// CALL, CALL*number, number*CALL, CALL/number, -CALL.
struct Scaled {
  const Node* call = nullptr;
  Expr factor = 1;
};
bool draws(const Node& node) {
  if (node.kind == Node::Kind::operation) {
    return std::any_of(node.items.begin(), node.items.end(),
                       [](const NodePtr& item) { return draws(*item); });
  }
  if (node.kind != Node::Kind::call) return false;
  if (node.items.front()->kind != Node::Kind::name) return true;
  static const char* const numeric[] = {"sqrt", "exp", "log", "float", "calculate_gain"};
  const std::string name = last_part(node.items.front()->text);
  return std::none_of(std::begin(numeric), std::end(numeric),
                      [&](const char* known) { return name == known; });
}
Scaled scaled_call(const Node& node) {
  if (node.kind != Node::Kind::operation) return {&node, 1};
  if (node.text == "neg") {
    Scaled inner = scaled_call(*node.items[0]);
    return {inner.call, -inner.factor};
  }
  const bool first = draws(*node.items[0]), second = draws(*node.items[1]);
  const bool product = node.text == "*" && first != second;
  const bool quotient = node.text == "/" && first && !second;
  if (!product && !quotient) {
    throw Error(ErrorKind::input, "a line may multiply or divide one call by a number",
                "LINE, got " + shown(node), "for example \"torch.randn(1024, 256) / sqrt(256)\"");
  }
  Scaled inner = scaled_call(*node.items[first ? 0 : 1]);
  const Expr number = number_of(*node.items[first ? 1 : 0], "the factor");
  if (quotient && number.is_zero()) {
    throw Error(ErrorKind::input, "division by zero", "LINE, got " + shown(node));
  }
  return {inner.call, product ? inner.factor * number : inner.factor / number};
}

void check_request(const ConventionRequest& request) {
  const auto known = [](const std::string& what, const std::string& text,
                        const std::vector<std::string>& names, const char* option) {
    if (text.empty() || std::find(names.begin(), names.end(), text) != names.end()) return;
    throw unknown_name(what, text, names, option);
  };
  known("layer", request.layer, convention_layers(), "--layer");
  known("framework", request.framework, convention_frameworks(), "--framework");
  double count = 1;
  for (const std::int64_t size : request.shape) count *= static_cast<double>(size);
  const bool positive = std::all_of(request.shape.begin(), request.shape.end(),
                                    [](std::int64_t size) { return size > 0; });
  if (!positive || request.shape.size() > most_axes || count > most_entries) {
    throw Error(ErrorKind::input,
                fmt::format("a shape has 1 to {} positive sizes, at most {:g} numbers together",
                            most_axes, most_entries),
                "--shape, got " + shape_text(request.shape), "for example --shape 1024x256");
  }
  if (request.groups < 1 || request.stride < 1) {
    throw Error(ErrorKind::input, "groups and stride are at least 1",
                fmt::format("got {} and {}", request.groups, request.stride));
  }
}

void check_convolution_options(const ConventionRequest& request, const Convention& answer) {
  if (request.groups == 1 && request.stride == 1) return;
  if (answer.layer == "conv" || answer.layer == "transposed" || answer.layer == "depthwise") return;
  throw Error(ErrorKind::usage, "--groups and --stride belong to a convolution",
              answer.layer.empty() ? "no shape is known" : "the layer is " + answer.layer,
              "give the shape of a kernel, for example --shape 64x32x3x3");
}

void finish(const ConventionRequest& request, const Found& found, Sheet& sheet) {
  Convention& answer = sheet.result;
  answer.framework = found.entry->framework;
  answer.function = found.entry->path;
  if (!found.others.empty()) {
    std::string others;
    for (const std::string& other : found.others) others += (others.empty() ? "" : ", ") + other;
    answer.notes.insert(
        answer.notes.begin(),
        fmt::format("read as {}; it might be {}: --framework decides", answer.function, others));
  }
  check_convolution_options(request, answer);
  const ConventionParameter& weights = answer.parameters.front();
  const bool packed = answer.layer == "linear" && weights.std_true_fan &&
                      weights.shape.size() == 2 && layout_of(*found.entry) == Layout::torch &&
                      weights.shape[0] == 3 * weights.shape[1];
  if (packed) {
    answer.notes.push_back(
        "if these are q, k and v packed, the fan_out of each is a third: see "
        "--layer qkv");
  }
}

}  // namespace

const std::vector<Entry>& all_entries() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> all;
    for (auto part : {torch_initialisers(), torch_layers(), jax_entries(), keras_entries(),
                      mlx_entries(), other_entries()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return entries;
}

Draw draw_zero(Use&) {
  return constant(0);
}
Draw draw_one(Use&) {
  return constant(1);
}
Draw draw_value(Use& use) {
  return constant(use.arguments.number("value"));
}

Draw draw_of(const Node& initialiser, const std::string& framework, Sheet& sheet) {
  if (initialiser.kind == Node::Kind::text && framework == "keras") {
    Calls calls;
    const std::string path = keras_class(initialiser.text);
    return draw_entry(*find_entry(path, framework).entry, calls, sheet);
  }
  const Calls calls = calls_of(initialiser);
  return draw_entry(*find_entry(calls.name, framework).entry, calls, sheet);
}

}  // namespace conventions

const std::vector<std::string>& convention_layers() {
  static const std::vector<std::string> names = {"linear",        "conv",     "transposed",
                                                 "depthwise",     "qkv",      "attention",
                                                 "attention-out", "embedding"};
  return names;
}

const std::vector<std::string>& convention_frameworks() {
  static const std::vector<std::string> names = {
      "pytorch", "timm", "jax", "flax", "keras", "mlx", "megatron", "transformers", "numpy"};
  return names;
}

Convention convention(const ConventionRequest& request) {
  using namespace conventions;
  check_request(request);
  if (request.line.empty()) {
    throw Error(ErrorKind::usage, "which line?", "scalecalc convention",
                "for example scalecalc convention \"nn.Linear(1024, 256)\"");
  }
  const NodePtr root = parse_line(request.line);
  const Scaled line = scaled_call(*root);
  const Calls calls = calls_of(*line.call);
  const Found found = find_entry(calls.name, request.framework);
  const Entry& entry = *found.entry;
  Sheet sheet(request, layout_of(entry));
  const bool plain = line.factor.is_one();
  if (entry.draw) {
    const Draw draw = draw_entry(entry, calls, sheet);
    sheet.add_weights("weight", plain ? draw : scaled(draw, line.factor));
  } else {
    if (!plain || calls.applied || !calls.own) {
      throw Error(ErrorKind::input, "a layer is given by one call",
                  "LINE, got '" + base::shortened(request.line) + "'",
                  "for example \"nn.Linear(1024, 256)\"");
    }
    const Arguments arguments(entry.path, entry.signature, *calls.own);
    Use use{arguments, nullptr, sheet};
    entry.build(use);
  }
  finish(request, found, sheet);
  return std::move(sheet.result);
}

}  // namespace scalecalc
