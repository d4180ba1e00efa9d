#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "network/validate.hpp"
#include "network/weights.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;
using Kind = ModelSpec::Kind;

constexpr std::int64_t max_size = 1000000;

struct Size {
  const char* field;
  std::int64_t value;
  std::int64_t example;
};

std::vector<Size> sizes_of(const ModelSpec& spec) {
  std::vector<Size> sizes = {{"layers", spec.layers, 12},
                             {"sequence", spec.sequence, 24},
                             {"batch", spec.batch, 1},
                             {"memory.sequence", spec.memory.sequence, 24}};
  if (spec.kind != Kind::layers) sizes.push_back({"width", spec.width, 64});
  if (spec.kind == Kind::transformer) {
    sizes.push_back({"heads", spec.heads, 4});
    sizes.push_back({"ffn", spec.ffn, 256});
    sizes.push_back({"vocab", spec.vocab, 64});
    if (spec.kv_heads != 0) sizes.push_back({"kv_heads", spec.kv_heads, 4});
  } else {
    sizes.push_back({"features", spec.features, 64});
    if (spec.kind == Kind::mlp || spec.vocab != 0) sizes.push_back({"classes", spec.vocab, 10});
  }
  return sizes;
}

/// The divisor of `number` nearest to `wanted`.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
  std::int64_t nearest = 1;
  const auto consider = [&](std::int64_t divisor) {
    if (std::abs(divisor - wanted) < std::abs(nearest - wanted)) nearest = divisor;
  };
  for (std::int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    consider(divisor);
    consider(number / divisor);
  }
  return nearest;
}

Problem image_problem(const ModelSpec& spec) {
  if (spec.height == 0 || (spec.height > 0 && spec.sequence % spec.height == 0)) return {};
  return SpecProblem{{"height", "sequence"},
                     fmt::format("height must divide the pixels of a sequence (height {}, sequence "
                                 "{})",
                                 spec.height, spec.sequence),
                     "for example sequence = 1024 with height = 32"};
}

Problem formula_problem(const std::string& field, const Expr& formula, const Bindings& values,
                        bool may_be_zero) {
  try {
    return finite_problem(field, formula_value(formula, values, field), may_be_zero);
  } catch (const Error& error) {
    return problem_from(field, error);
  }
}

}  // namespace

SpecProblem problem_from(const std::string& field, const Error& error) {
  return {{field}, error.message(), error.hint()};
}

std::optional<SpecProblem> finite_problem(const std::string& field, double value,
                                          bool may_be_zero) {
  if (std::isfinite(value) && (may_be_zero ? value >= 0 : value > 0)) return {};
  return SpecProblem{{field},
                     fmt::format("{} must be finite and {}, got {}", field,
                                 may_be_zero ? "not negative" : "positive", value),
                     fmt::format("for example {}", may_be_zero ? "0" : "1")};
}

std::optional<SpecProblem> heads_problem(std::int64_t heads, std::int64_t kv_heads,
                                         std::int64_t width) {
  if (width % heads != 0) {
    const std::int64_t below = width - width % heads, above = below + heads;
    const std::string widths =
        below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
    return SpecProblem{
        {"heads", "width"},
        fmt::format("[attention] heads must divide width (heads {}, width {})", heads, width),
        fmt::format("use width {}, or heads {}", widths, nearest_divisor(width, heads))};
  }
  if (kv_heads == 0 || heads % kv_heads == 0) return {};
  return SpecProblem{{"kv_heads", "heads"},
                     fmt::format("[attention] kv_heads must divide heads (kv_heads {}, heads {})",
                                 kv_heads, heads),
                     fmt::format("use kv_heads {}", nearest_divisor(heads, kv_heads))};
}

std::optional<SpecProblem> find_size_problem(const ModelSpec& spec) {
  for (const Size& size : sizes_of(spec)) {
    if (size.value < 1 || size.value > max_size)
      return SpecProblem{
          {size.field},
          fmt::format("{} must be from 1 to {}, got {}", size.field, max_size, size.value),
          fmt::format("for example {} = {}", size.field, size.example)};
  }
  if (spec.kind == Kind::transformer) return heads_problem(spec.heads, spec.kv_heads, spec.width);
  return image_problem(spec);
}

std::optional<SpecProblem> find_scale_problem(const ModelSpec& spec) {
  Bindings values = size_bindings(spec);
  if (spec.alpha)
    if (Problem problem = formula_problem("alpha", *spec.alpha, values, false)) return problem;
  if (spec.lambda)
    if (Problem problem = formula_problem("lambda", *spec.lambda, values, false)) return problem;
  if (spec.kind == Kind::transformer)
    if (Problem problem = formula_problem("attention_scale", spec.attention_scale, values, false))
      return problem;
  values["lambda"] = spec.lambda ? formula_value(*spec.lambda, values, "lambda") : 1;
  const std::vector<std::string>& roles = gain_roles(spec.kind);
  for (const auto& [role, gain] : spec.init.gain) {
    if (std::find(roles.begin(), roles.end(), role) == roles.end())
      return problem_from("init.gain." + role, unknown_name("role", role, roles, {}));
    if (Problem problem = formula_problem("init.gain." + role, gain, values, true)) return problem;
  }
  return {};
}

void check_activation(const std::string& text) {
  const bool is_word = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  if (is_word && text != "x")
    activation(text, {});
  else
    Activation::from_expression(text);
}

double formula_value(const Expr& formula, const Bindings& values, const std::string& name) {
  try {
    return evaluate(formula, values);
  } catch (const Error& error) {
    throw Error(error.kind(), name + ": " + error.message(), error.where(),
                error.hint().empty() ? "use a number or another formula" : error.hint());
  }
}

Bindings size_bindings(const ModelSpec& spec) {
  Bindings values = {{"N", static_cast<double>(spec.layers)}};
  const auto add = [&](const char* name, std::int64_t size) {
    values[name] = static_cast<double>(size);
  };
  if (spec.kind == Kind::layers) return values;
  add("width", spec.width);
  if (spec.kind == Kind::mlp) {
    add("features", spec.features);
    add("classes", spec.vocab);
    return values;
  }
  add("ffn", spec.ffn);
  add("vocab", spec.vocab);
  add("head_width", spec.width / spec.heads);
  add("kv_heads", spec.kv_heads == 0 ? spec.heads : spec.kv_heads);
  return values;
}

}  // namespace scalecalc
