#include "architectures/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "architectures/scope.hpp"
#include "names/patterns.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

constexpr std::size_t kMostLayers = 100000;
constexpr int kDeepestList = 32;

/// A parameter by the end of its path, and the library's tensor.
struct Owned {
  std::string ending, tensor;
};

/// One [[layer]]; a repeat has the names of each of its copies.
struct Piece {
  std::string type, keys;
  std::vector<Piece> layers, shortcut;
  std::vector<Owned> tensors;
  std::vector<std::vector<std::string>> copies;
};
using Pieces = std::vector<Piece>;

bool same_layers(const Pieces& a, const Pieces& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
    return x.type == y.type && x.keys == y.keys && x.tensors.size() == y.tensors.size() &&
           same_layers(x.layers, y.layers) && same_layers(x.shortcut, y.shortcut);
  });
}

/// Tensors of these layers in the order of paths_of().
std::vector<std::string> tensors_of(const Pieces& pieces) {
  std::vector<std::string> all;
  const auto append = [&](const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const Piece& piece : pieces) {
    for (const Owned& own : piece.tensors) all.push_back(own.tensor);
    if (piece.type == "repeat")
      for (const std::vector<std::string>& copy : piece.copies) append(copy);
    else
      append(tensors_of(piece.layers));
    append(tensors_of(piece.shortcut));
  }
  return all;
}

void add_paths(const Pieces& pieces, const std::string& prefix, bool is_whole,
               std::vector<std::string>& paths) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const bool is_head = is_whole && i + 1 == pieces.size();
    const std::string path =
        is_head ? "head" : fmt::format("{}{}[{}]", prefix, piece.type, counts[piece.type]++);
    for (const Owned& own : piece.tensors) paths.push_back(path + own.ending);
    if (piece.type == "repeat")
      for (std::size_t copy = 0; copy < piece.copies.size(); ++copy)
        add_paths(piece.layers, fmt::format("{}[{}].", path, copy), false, paths);
    else
      add_paths(piece.layers, path + ".", false, paths);
    add_paths(piece.shortcut, path + ".shortcut.", false, paths);
  }
}

void write(const Pieces& pieces, const std::string& heading, std::string& text) {
  for (const Piece& piece : pieces) {
    text += fmt::format("[[{}]]\ntype = \"{}\"\n{}", heading, piece.type, piece.keys);
    write(piece.layers, heading + ".layers", text);
    write(piece.shortcut, heading + ".shortcut", text);
  }
}

/// The names of copies 0, 1, ... of one parameter as one pattern; empty where they differ by more
/// than that number.
std::string common_pattern(const std::vector<std::string>& names) {
  for (const std::size_t at : names::numbers_of(names.front())) {
    const std::string pattern = names::with_index(names.front(), at, 0);
    if (pattern.empty()) continue;
    bool fits = true;
    for (std::size_t i = 0; fits && i < names.size(); ++i)
      fits = names[i] == fill_pattern(pattern, {static_cast<std::int64_t>(i)});
    if (fits) return pattern;
  }
  return {};
}

/// Of a parameter of a repeat, one pattern for all copies where there is one.
std::vector<NamePattern> patterns_of(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& tensors) {
  struct Group {
    std::string path;
    std::vector<std::size_t> members;
  };
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::string path = paths[i];
    const std::size_t open = path.starts_with("repeat[") ? path.find("][") : std::string::npos;
    if (open != std::string::npos) {
      const std::size_t close = path.find(']', open + 1);
      path = path.substr(0, open + 2) + "{i}" + path.substr(close);
    }
    const auto [at, is_new] = index.emplace(path, groups.size());
    if (is_new) groups.push_back({path, {}});
    groups[at->second].members.push_back(i);
  }
  std::vector<NamePattern> patterns;
  for (const Group& group : groups) {
    std::vector<std::string> names;
    for (const std::size_t member : group.members) names.push_back(tensors[member]);
    const std::string pattern = group.members.size() > 1 ? common_pattern(names) : "";
    if (!pattern.empty()) {
      patterns.push_back({pattern, {group.path}});
      continue;
    }
    for (const std::size_t member : group.members)
      patterns.push_back({tensors[member], {paths[member]}});
  }
  return patterns;
}

class LayerWriter {
 public:
  LayerWriter(const Family& family, const std::vector<LibraryTensor>& tensors) : family_(family) {
    for (const LibraryTensor& tensor : tensors) tensors_.emplace(tensor.name, &tensor);
  }

  /// `prefix`: what the names begin with.
  Pieces list(const std::string& name, const std::string& prefix, const Scope& scope) {
    if (++nested_ > kDeepestList) fail("lists are nested too deep", name);
    Pieces pieces;
    for (const ListedLayer& layer : family_.lists.at(name).layers) {
      if (layer.text.values)
        loop(layer, prefix, scope, pieces);
      else
        append(pieces, place(layer, prefix, scope));
    }
    --nested_;
    return pieces;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& where) const {
    throw Error(ErrorKind::input, problem, family_.model_type + ": " + where);
  }

  static void append(Pieces& to, Pieces more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
  }

  void count(const Expression& at) {
    if (++layers_ > kMostLayers)
      fail(fmt::format("more than {} layers are not described", kMostLayers), at.text());
  }

  /// What comes one after the other alike is a repeat.
  void loop(const ListedLayer& layer, const std::string& prefix, const Scope& scope, Pieces& out) {
    const LayerText& text = layer.text;
    const Value values = text.values->evaluate(scope.lookup());
    const std::int64_t times =
        values.is_array() ? std::ssize(values) : text.values->count(scope.lookup());
    struct Run {
      Pieces pieces;
      std::vector<std::vector<std::string>> copies;
    };
    std::vector<Run> runs;
    Scope inner = scope;
    for (std::int64_t i = 0; i < times; ++i) {
      count(*text.values);
      inner.locals[text.variable] =
          values.is_array() ? values[static_cast<std::size_t>(i)] : Value(i);
      Pieces pieces = place(layer, prefix, inner);
      if (pieces.empty()) continue;
      std::vector<std::string> names = tensors_of(pieces);
      if (runs.empty() || !same_layers(runs.back().pieces, pieces))
        runs.push_back({std::move(pieces), {}});
      runs.back().copies.push_back(std::move(names));
    }
    for (Run& run : runs) {
      if (run.copies.size() == 1) {
        append(out, std::move(run.pieces));
        continue;
      }
      Piece repeat{"repeat", fmt::format("times = {}\n", run.copies.size()), {}, {}, {}, {}};
      repeat.layers = std::move(run.pieces);
      repeat.copies = std::move(run.copies);
      out.push_back(std::move(repeat));
    }
  }

  /// Its layers, if its condition holds.
  Pieces place(const ListedLayer& layer, const std::string& prefix, const Scope& scope) {
    if (layer.text.condition && !layer.text.condition->flag(scope.lookup())) return {};
    return called(layer.text.call, prefix, name_of(layer, prefix, scope), scope);
  }

  /// Empty: it has none.
  std::string name_of(const ListedLayer& layer, const std::string& prefix,
                      const Scope& scope) const {
    if (layer.text.name.empty()) return "";
    std::string name = prefix.empty() ? "" : prefix + ".";
    for (const PathPart& part : layer.name) {
      name += part.text;
      if (part.variable.empty()) continue;
      const Value* value = scope.find(part.variable);
      if (value == nullptr) fail("there is no " + part.variable, layer.text.name);
      name += written(*value);
    }
    return name;
  }

  /// Of a call of a list, or of a type of layer, which has tensors where it has a name.
  Pieces called(const Expression& call, const std::string& prefix, const std::string& name,
                const Scope& scope) {
    const auto known = family_.lists.find(call.name());
    if (known == family_.lists.end()) return {layer(call, prefix, name, scope)};
    const std::vector<std::string>& arguments = known->second.arguments;
    if (arguments.size() != call.operands().size()) fail("wrong number of arguments", call.text());
    Scope own{scope.keys};
    for (std::size_t i = 0; i < arguments.size(); ++i)
      own.locals[arguments[i]] = call.operands()[i].evaluate(scope.lookup());
    return list(call.name(), name.empty() ? prefix : name, own);
  }

  /// The layers inside a layer: a call, one of two, or None.
  Pieces inside(const Expression& expression, const std::string& prefix, const Scope& scope) {
    if (expression.kind() == Expression::Kind::choice) {
      const std::vector<Expression>& parts = expression.operands();
      return inside(parts[parts[0].flag(scope.lookup()) ? 1 : 2], prefix, scope);
    }
    if (expression.kind() == Expression::Kind::constant) return {};
    return called(expression, prefix, "", scope);
  }

  Piece layer(const Expression& call, const std::string& prefix, const std::string& name,
              const Scope& scope) {
    count(call);
    Piece piece;
    piece.type = call.name();
    for (const Expression& operand : call.operands()) {
      if (operand.name() != "=") fail("a layer's arguments are KEY = VALUE", call.text());
      const std::string& key = operand.operands()[0].name();
      const Expression& value = operand.operands()[1];
      if (key == "layers" || key == "shortcut")
        (key == "layers" ? piece.layers : piece.shortcut) = inside(value, prefix, scope);
      else if (const Value of_key = value.evaluate(scope.lookup()); !of_key.is_null())
        piece.keys += key + " = " + of_key.dump() + "\n";
    }
    if (!name.empty()) own_tensors(piece, name);
    if (piece.type == "norm" && piece.tensors.empty()) piece.keys += "affine = false\n";
    return piece;
  }

  const LibraryTensor* tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

  /// The tensors of a layer, and what they say of it.
  void own_tensors(Piece& piece, const std::string& name) {
    const auto own = [&](const char* ending, const std::string& of) {
      const LibraryTensor* found = tensor(of);
      if (found != nullptr) piece.tensors.push_back({ending, of});
      return found;
    };
    if (piece.type == "residual") {
      if (piece.keys.find("trainable = true") != std::string::npos) own(".scale", name);
      return;
    }
    const std::string weight_name = name + ".weight", bias_name = name + ".bias";
    if (piece.type == "norm") {
      const LibraryTensor* const gain = own(".gain", weight_name);
      if (gain == nullptr) return;
      if (gain->std != 0 || gain->mean != 1) fail("its gain does not start at 1", weight_name);
      piece.keys += "affine = true\n";
      own(".shift", bias_name);
      return;
    }
    const LibraryTensor* const weight = own(".weight", weight_name);
    if (weight == nullptr) return;
    const LibraryTensor* const bias = own(".bias", bias_name);
    piece.keys += fmt::format("std = {}\nbias = {}\n", weight->std, bias != nullptr);
    if (weight->distribution == "uniform") piece.keys += "distribution = \"uniform\"\n";
    if (bias != nullptr && bias->std > 0) piece.keys += fmt::format("bias_std = {}\n", bias->std);
  }

  const Family& family_;
  std::map<std::string, const LibraryTensor*> tensors_;
  std::size_t layers_ = 0;
  int nested_ = 0;
};

}  // namespace

WrittenLayers write_layers(const Family& family, const Lookup& config,
                           const std::vector<LibraryTensor>& tensors) {
  const Pieces pieces = LayerWriter(family, tensors).list("model", "", Scope{config});
  WrittenLayers made;
  write(pieces, "layer", made.toml);
  std::vector<std::string> paths;
  add_paths(pieces, "", true, paths);
  made.names = patterns_of(paths, tensors_of(pieces));
  return made;
}

}  // namespace scalecalc::architectures
