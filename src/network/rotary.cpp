#include "network/rotary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>

#include "base/text.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;
using Scaling = RotaryScaling;

std::int64_t turned_width(const RotarySizes& of) {
  // A fraction such as 10/80 is no double: a whole number of pairs is to stay one.
  constexpr double rounding = 1e-9;
  const double pairs = of.fraction * static_cast<double>(of.head_width) / 2;
  return 2 * std::max<std::int64_t>(1, static_cast<std::int64_t>(pairs + rounding));
}

/// Numbers between blanks; nothing where one is none, or not positive.
std::optional<std::vector<double>> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.c_str();
  while (true) {
    while (*at == ' ') ++at;
    if (*at == '\0') return numbers;
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at || !(std::isfinite(number) && number > 0) || (*end != ' ' && *end != '\0'))
      return {};
    numbers.push_back(number);
    at = end;
  }
}

bool is_one_of(Scaling scaling, std::initializer_list<Scaling> all) {
  return std::find(all.begin(), all.end(), scaling) != all.end();
}

/// A key beside the scaling, with what it stands for where it says nothing.
struct StretchKey {
  const char* name;
  bool given;
  std::initializer_list<Scaling> of;
};

/// A key that its scaling does not read.
Problem unread_key(const RotaryStretch& stretch) {
  const RotaryStretch plain;
  for (const StretchKey& key :
       {StretchKey{
            "rotary_factor",
            stretch.factor != plain.factor,
            {Scaling::linear, Scaling::dynamic, Scaling::llama3, Scaling::yarn, Scaling::longrope}},
        {"rotary_original",
         stretch.original != plain.original,
         {Scaling::dynamic, Scaling::llama3, Scaling::yarn, Scaling::longrope}},
        {"rotary_low", stretch.low != plain.low, {Scaling::llama3, Scaling::yarn}},
        {"rotary_high", stretch.high != plain.high, {Scaling::llama3, Scaling::yarn}},
        {"rotary_truncate", stretch.truncate != plain.truncate, {Scaling::yarn}},
        {"rotary_attention",
         stretch.attention != plain.attention,
         {Scaling::yarn, Scaling::longrope}},
        {"rotary_short", stretch.short_factors != plain.short_factors, {Scaling::longrope}},
        {"rotary_long", stretch.long_factors != plain.long_factors, {Scaling::longrope}}}) {
    if (!key.given || is_one_of(stretch.scaling, key.of)) continue;
    std::string readers;
    for (const Scaling scaling : key.of)
      readers += (readers.empty() ? "\"" : " or \"") + to_string(scaling) + "\"";
    return SpecProblem{
        {key.name, "rotary_scaling"},
        fmt::format("rotary_scaling {} has no {}", to_string(stretch.scaling), key.name),
        fmt::format("leave {} out, or use rotary_scaling = {}", key.name, readers)};
  }
  return {};
}

Problem factors_problem(const char* key, const std::string& text, std::int64_t pairs) {
  const std::optional<std::vector<double>> factors = numbers_in(text);
  const std::string hint = fmt::format("{} = \"{}\"", key, pairs == 1 ? "1.5" : "1 1.5 ...");
  if (!factors)
    return SpecProblem{{key},
                       fmt::format("{} must be positive numbers between blanks", key),
                       "for example " + hint};
  if (static_cast<std::int64_t>(factors->size()) == pairs) return {};
  return SpecProblem{{key, "rotary_scaling"},
                     fmt::format("{} has {} numbers, and {} pairs of a head's features turn", key,
                                 factors->size(), pairs),
                     fmt::format("one for each pair: {}", hint)};
}

Problem turns_problem(const RotaryStretch& stretch, double low, double high) {
  for (const auto& [key, value] :
       {std::pair{"rotary_low", stretch.low}, {"rotary_high", stretch.high}})
    if (Problem problem = finite_problem(key, value, true)) return problem;
  if (low < high) return {};
  return SpecProblem{{"rotary_high", "rotary_low"},
                     fmt::format("rotary_high must be above rotary_low, got {} and {}", high, low),
                     "pairs of fewer turns than rotary_low are slowed by the whole factor, of more "
                     "than rotary_high by none"};
}

double low_turns(const RotaryStretch& stretch) {
  return stretch.low == 0 ? 1 : stretch.low;
}
double high_turns(const RotaryStretch& stretch) {
  if (stretch.high != 0) return stretch.high;
  return stretch.scaling == Scaling::yarn ? 32 : 4;
}

Problem stretch_problem(const RotarySizes& of) {
  const RotaryStretch& stretch = of.stretch;
  if (Problem problem = unread_key(stretch)) return problem;
  if (stretch.scaling == Scaling::none) return {};
  const std::string name = to_string(stretch.scaling);
  if (of.base == 0)
    return SpecProblem{{"rotary_scaling", "rotary_base"},
                       "rotary_scaling is of rotary positions, and there are none",
                       "use rotary_base = 10000, or leave rotary_scaling out"};
  if (Problem problem = finite_problem("rotary_factor", stretch.factor, false)) return problem;
  if (Problem problem = finite_problem("rotary_attention", stretch.attention, true)) return problem;
  if (stretch.original < 0)
    return SpecProblem{
        {"rotary_original"},
        fmt::format("rotary_original must be a number of tokens, got {}", stretch.original),
        "for example rotary_original = 8192"};
  if (stretch.scaling != Scaling::linear && stretch.original == 0)
    return SpecProblem{{"rotary_original", "rotary_scaling"},
                       fmt::format("rotary_scaling {} asks for rotary_original, the tokens of the "
                                   "first training",
                                   name),
                       "for example rotary_original = 8192"};
  if (is_one_of(stretch.scaling, {Scaling::llama3, Scaling::yarn}))
    return turns_problem(stretch, low_turns(stretch), high_turns(stretch));
  if (stretch.scaling != Scaling::longrope) return {};
  const std::int64_t pairs = turned_width(of) / 2;
  if (Problem problem = factors_problem("rotary_short", stretch.short_factors, pairs))
    return problem;
  if (Problem problem = factors_problem("rotary_long", stretch.long_factors, pairs)) return problem;
  if (stretch.original > 1 || stretch.factor <= 1 || stretch.attention != 0) return {};
  return SpecProblem{{"rotary_original"},
                     "what longrope multiplies features by asks for rotary_original above 1",
                     "for example rotary_original = 4096, or give rotary_attention"};
}

/// What turned features are multiplied by, as the scaling has it.
double attention_factor(const RotaryStretch& stretch) {
  if (stretch.attention != 0) return stretch.attention;
  if (stretch.factor <= 1) return 1;
  if (stretch.scaling == Scaling::yarn) return 0.1 * std::log(stretch.factor) + 1;
  if (stretch.scaling == Scaling::longrope)
    return std::sqrt(1 +
                     std::log(stretch.factor) / std::log(static_cast<double>(stretch.original)));
  return 1;
}

/// A base that reaches as far as the sequence is long.
double dynamic_base(const RotarySizes& of, double width) {
  const double longer = static_cast<double>(of.tokens) / static_cast<double>(of.stretch.original);
  if (longer <= 1 || width <= 2) return of.base;
  return of.base *
         std::pow(of.stretch.factor * longer - (of.stretch.factor - 1), width / (width - 2));
}

double llama3_theta(const RotaryStretch& stretch, double theta) {
  const double turns = static_cast<double>(stretch.original) * theta / (2 * std::numbers::pi);
  const double low = low_turns(stretch), high = high_turns(stretch);
  const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  return kept * theta + (1 - kept) * theta / stretch.factor;
}

/// How much of pair i is slowed: none up to the pair of `high` turns, all from that of `low` on.
double yarn_share(const RotarySizes& of, double width, double i) {
  const RotaryStretch& stretch = of.stretch;
  const auto pair_of = [&](double turns) {
    const double original = static_cast<double>(stretch.original);
    return width * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(of.base));
  };
  double first = pair_of(high_turns(stretch)), last = pair_of(low_turns(stretch));
  if (stretch.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, width - 1);
  constexpr double step = 0.001;  // as the libraries have it
  if (first == last) last += step;
  return std::clamp((i - first) / (last - first), 0.0, 1.0);
}

std::vector<double> slowed(const RotarySizes& of, std::vector<double> theta) {
  const RotaryStretch& stretch = of.stretch;
  const double width = 2 * static_cast<double>(theta.size());
  std::vector<double> factors;
  if (stretch.scaling == Scaling::longrope)
    factors =
        *numbers_in(of.tokens > stretch.original ? stretch.long_factors : stretch.short_factors);
  for (std::size_t i = 0; i < theta.size(); ++i) {
    const auto pair = static_cast<double>(i);
    switch (stretch.scaling) {
      case Scaling::none: break;
      case Scaling::linear: theta[i] /= stretch.factor; break;
      case Scaling::dynamic: theta[i] = std::pow(dynamic_base(of, width), -2 * pair / width); break;
      case Scaling::llama3: theta[i] = llama3_theta(stretch, theta[i]); break;
      case Scaling::yarn: {
        const double share = yarn_share(of, width, pair);
        theta[i] = share * theta[i] / stretch.factor + (1 - share) * theta[i];
        break;
      }
      case Scaling::longrope: theta[i] /= factors[i]; break;
    }
  }
  return theta;
}

}  // namespace

std::vector<double> rotary_frequencies(const Rotary& rotary) {
  if (!rotary.theta.empty()) return rotary.theta;
  std::vector<double> theta;
  for (std::int64_t i = 0; 2 * i < rotary.width; ++i)
    theta.push_back(
        std::pow(rotary.base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary.width)));
  return theta;
}

Problem rotary_problem(const RotarySizes& of) {
  if (of.base == 0) {
    if (of.fraction == 1) return stretch_problem(of);
    return SpecProblem{{"rotary_fraction", "rotary_base"},
                       "rotary_fraction is of rotary positions, and there are none",
                       "use rotary_fraction = 1, or rotary_base = 10000"};
  }
  if (!(of.base > 1 && std::isfinite(of.base)))
    return SpecProblem{{"rotary_base"},
                       fmt::format("rotary_base must be finite and above 1, got {}", of.base),
                       "for example rotary_base = 10000, or leave it out for none"};
  if (!(of.fraction > 0 && of.fraction <= 1))
    return SpecProblem{
        {"rotary_fraction"},
        fmt::format("rotary_fraction must be above 0 and at most 1, got {}", of.fraction),
        "for example rotary_fraction = 0.5"};
  if (of.head_width > 1) return stretch_problem(of);
  return SpecProblem{
      {"head_width"},
      fmt::format("rotary positions turn pairs of features, and a head of {} has none",
                  of.head_width),
      "use wider heads"};
}

std::string checked_factors(const std::string& text, const std::string& where) {
  if (numbers_in(text)) return text;
  throw Error(ErrorKind::input,
              fmt::format("factors of pairs must be positive numbers between blanks, got \"{}\"",
                          base::shortened(text)),
              where, "for example \"1 1.5 4\"");
}

Rotary rotary(const RotarySizes& of) {
  if (of.base == 0) return {};
  Rotary made;
  made.width = turned_width(of);
  made.base = of.base;
  if (of.stretch.scaling == Scaling::none) return made;
  made.theta = slowed(of, rotary_frequencies(made));
  made.attention = attention_factor(of.stretch);
  return made;
}

Problem rotary_problem(const ModelSpec& spec) {
  if (Problem problem = rotary_problem(
          {spec.rotary_base, spec.rotary_fraction, head_width(spec), spec.sequence, spec.rotary}))
    return problem;
  if (spec.rotary_local_base == 0) return {};
  if (spec.rotary_base == 0)
    return SpecProblem{{"rotary_local_base", "rotary_base"},
                       "rotary_local_base is of rotary positions, and there are none",
                       "use rotary_base = 10000, or leave rotary_local_base out"};
  if (spec.window == 0)
    return SpecProblem{{"rotary_local_base", "window"},
                       "rotary_local_base is of blocks with a window, and there is none",
                       "use window = 256, or leave rotary_local_base out"};
  if (spec.rotary_local_base > 1 && std::isfinite(spec.rotary_local_base)) return {};
  return SpecProblem{
      {"rotary_local_base"},
      fmt::format("rotary_local_base must be finite and above 1, got {}", spec.rotary_local_base),
      "for example rotary_local_base = 10000, or leave it out"};
}

}  // namespace scalecalc
