#include "names/spelling.hpp"

#include <array>

namespace scalecalc::names {
namespace {

/// The last step of a path in each spelling; that of an embedding's table apart.
struct Leaf {
  std::string_view ours, torch, flax, keras;
};
constexpr std::array<Leaf, 4> leaves = {{{"weight", "weight", "kernel", "kernel"},
                                         {"bias", "bias", "bias", "bias"},
                                         {"gain", "weight", "scale", "gamma"},
                                         {"shift", "bias", "bias", "beta"}}};
constexpr Leaf table = {"weight", "weight", "embedding", "embeddings"};

std::string_view in(const Leaf& leaf, Spelling spelling) {
  switch (spelling) {
    case Spelling::torch: return leaf.torch;
    case Spelling::flax: return leaf.flax;
    case Spelling::keras: return leaf.keras;
    case Spelling::scalecalc: break;
  }
  return leaf.ours;
}

std::string_view spelled_leaf(std::string_view stem, std::string_view leaf, Spelling spelling) {
  const std::string_view embedding = "embedding";
  if (stem.substr(stem.size() - std::min(stem.size(), embedding.size())) == embedding &&
      leaf == table.ours)
    return in(table, spelling);
  for (const Leaf& known : leaves)
    if (known.ours == leaf) return in(known, spelling);
  return leaf;
}

}  // namespace

std::optional<Spelling> spelling_of(std::string_view naming) {
  if (naming == "scalecalc") return Spelling::scalecalc;
  if (naming == "torch") return Spelling::torch;
  if (naming == "flax") return Spelling::flax;
  if (naming == "keras") return Spelling::keras;
  return std::nullopt;
}

std::string spell(std::string_view path, Spelling spelling) {
  if (spelling == Spelling::scalecalc) return std::string(path);
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::string(path);
  const std::string_view stem = path.substr(0, dot);
  const bool tree = spelling != Spelling::torch;
  std::string text;
  for (const char c : stem) {
    if (c == '[') {
      text += tree ? '_' : '.';
    } else if (c == '.') {
      text += tree ? '/' : '.';
    } else if (c != ']') {
      text += c;
    }
  }
  return text + (tree ? '/' : '.') +
         std::string(spelled_leaf(stem, path.substr(dot + 1), spelling));
}

}  // namespace scalecalc::names
