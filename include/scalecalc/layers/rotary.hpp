#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scalecalc {

/// How rotary positions are slowed for sequences longer than those of a first training, by the
/// names of other libraries (`rope_type`).
enum class RotaryScaling { none, linear, dynamic, llama3, yarn, longrope };

/// What slows them, as a model says it. A pair's turns are those over `original` tokens.
struct RotaryStretch {
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1.0;        ///< by which sequences are longer
  std::int64_t original = 0;  ///< tokens of the first training; not of linear
  /// Pairs of fewer turns than `low` are slowed by the whole factor, of more than `high` by none:
  /// 0 stands for 1, and for 4 of llama3 and 32 of yarn.
  double low = 0.0, high = 0.0;
  bool truncate = true;    ///< of yarn: its first and last pair are rounded outwards
  double attention = 0.0;  ///< what turned features are multiplied by; 0: as yarn, longrope have it
  /// Of longrope: by what each pair is slowed, in sequences of `original` tokens and of more.
  std::string short_factors = {}, long_factors = {};
  bool operator==(const RotaryStretch&) const = default;
};

/// Rotary positions (Su et al. 2021): at position t the features i and i + width/2 of each head's q
/// and k are turned by the angle t theta_i, i < width/2, and multiplied by `attention`. None where
/// width is 0.
struct Rotary {
  std::int64_t width = 0;          ///< even, at most that of a head
  double base = 10000.0;           ///< above 1
  std::vector<double> theta = {};  ///< empty: base^(-2i/width)
  double attention = 1.0;
  bool operator==(const Rotary&) const = default;
};

/// theta_i of each pair.
std::vector<double> rotary_frequencies(const Rotary& rotary);

}  // namespace scalecalc
