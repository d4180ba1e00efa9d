#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "graphs/reader.hpp"

/// Rotary positions, as tables of cosines and sines turn features by them.
namespace scalecalc::graphs {

using Kind = Value::Kind;

/// x cos + turned(x) sin: pairs of features turned by their positions.
bool Reader::rotate(const Node& node, const Value& plain, const Value& turned) {
  if (plain.is_turned || !turned.is_turned || plain.part != turned.part ||
      !(plain.view == turned.view) || plain.view.dims.empty())
    return false;
  Turns turns;
  turns.width = count(plain.view.dims.back());
  const std::int64_t pairs = turns.width / 2;
  for (const std::size_t source : constants_.sources(plain.tensor)) {
    const Sizes& shape = sizes(source);
    if (shape.size() != 1 || shape[0] != pairs || pairs < 2) continue;
    const std::vector<double>& angles = constants_.values(source);
    if (angles.size() != static_cast<std::size_t>(pairs) || angles[0] <= 0) continue;
    const double w = static_cast<double>(turns.width);
    const double base = std::pow(angles[0] / angles[1], w / 2);
    bool is_even = std::fabs(angles[0] - 1) < 1e-5 && base > 1;
    for (std::size_t i = 0; i < angles.size(); ++i) {
      const double due = std::pow(base, -2.0 * static_cast<double>(i) / w);
      is_even = is_even && std::fabs(angles[i] - due) <= 1e-4 * due;
    }
    // In float, of numbers that code writes in three digits.
    if (is_even) turns.base = std::strtod(fmt::format("{:.4g}", base).c_str(), nullptr);
  }
  if (turns.base == 0) {
    // Or a table of cosines: that of pair 1 at token 1.
    const Sizes& shape = sizes(plain.tensor);
    Sizes index(shape.size(), 0);
    std::size_t token = shape.empty() ? 0 : shape.size() - 1;
    while (token > 0 && shape[--token] == 1) continue;
    if (shape.size() >= 2 && shape[token] > 1 && pairs >= 2 && shape.back() == turns.width) {
      index[token] = 1;
      index.back() = 1;
      const auto cosine = constants_.at(plain.tensor, index);
      if (cosine && *cosine < 1 && *cosine > -1) {
        const double w = static_cast<double>(turns.width);
        // The cosine of a small angle has few digits of it.
        turns.base = std::strtod(
            fmt::format("{:.2g}", std::pow(std::acos(*cosine), -w / 2)).c_str(), nullptr);
      }
    }
  }
  if (turns.base <= 1) {
    turns.base = 10000;
    remarks_.insert(
        "the angles of rotary positions are not those of one base, or not in the file: base 10000 "
        "is taken, which slower or faster angles make wrong for scores of distant tokens");
  }
  Value out = plain;
  out.maker = here_;
  out.kind = Kind::signal;
  out.turns = turns;
  result(node) = std::move(out);
  return true;
}

}  // namespace scalecalc::graphs
