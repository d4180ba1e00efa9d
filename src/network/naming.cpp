#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "network/document.hpp"
#include "network/naming_tables.hpp"
#include "network/spelling.hpp"

namespace scalecalc {
namespace {

/// The stored shape of one parameter.
std::vector<std::int64_t> stored_shape(const ParameterInfo& info, const Conv2d* conv,
                                       bool transposed) {
  if (conv != nullptr) {
    const std::int64_t in = conv->in_channels / conv->groups, out = conv->out_channels;
    if (transposed) return {out, in, conv->kernel, conv->kernel};
    return {conv->kernel, conv->kernel, in, out};
  }
  if (info.rows == 1 && !info.is_matrix) return {info.columns};
  if (transposed) return {info.columns, info.rows};
  return {info.rows, info.columns};
}

/// Whether the text begins with {i} or the like.
bool is_index(std::string_view text) {
  return text.size() >= 3 && text[0] == '{' && text[2] == '}';
}

/// "block[3].attn[0].q" as "block[{i}].attn[{j}].q" with 3 and 0.
std::pair<std::string, std::vector<std::int64_t>> without_indices(const std::string& path) {
  std::string pattern;
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < path.size(); ++i) {
    pattern += path[i];
    if (path[i] != '[') continue;
    pattern += {'{', static_cast<char>('i' + indices.size()), '}'};
    indices.push_back(0);
    for (; path[i + 1] != ']'; ++i) indices.back() = 10 * indices.back() + (path[i + 1] - '0');
  }
  return {pattern, indices};
}

struct Convolutions {
  std::map<std::string, const Conv2d*>& found;

  template <class Op>
  void operator()(const Op&) const {}
  void operator()(const Conv2d& layer) const { found[layer.weight.path + ".weight"] = &layer; }
  void operator()(const Residual& layer) const {
    all(layer.body);
    all(layer.shortcut);
  }
  void operator()(const DualStream& layer) const {
    for (const Residual& sublayer : layer.sublayers) (*this)(sublayer);
  }
  void all(const std::vector<Layer>& layers) const {
    for (const Layer& layer : layers) std::visit(*this, layer.op);
  }
};

class Namer {
 public:
  Namer(const Network& network, const Naming& naming)
      : naming_(naming), parameters_(parameters(network)) {
    Convolutions{convolutions_}.all(network.layers);
    for (std::size_t i = 0; i < parameters_.size(); ++i) index_[parameters_[i].path] = i;
  }

  NamedParameters run() {
    NamedParameters result;
    std::vector<bool> done(parameters_.size(), false);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (done[i]) continue;
      std::optional<NamedTensor> tensor = named(i);
      if (!tensor) tensor = spelled(i);
      if (!tensor) {
        result.unnamed.push_back(i);
        continue;
      }
      for (const std::size_t part : tensor->parts) done[part] = true;
      if (!names_.insert(tensor->name).second)
        throw Error(ErrorKind::input,
                    fmt::format("two parameters are called '{}'", shown(tensor->name)),
                    parameters_[i].path, "give each its own name");
      matched_.insert(tensor->pattern);
      result.tensors.push_back(std::move(*tensor));
    }
    check_own();
    return result;
  }

 private:
  void check_own() const {
    for (std::size_t i = 0; i < naming_.own; ++i) {
      const NamePattern& pattern = naming_.patterns[i];
      if (matched_.count(pattern.name) > 0) continue;
      throw Error(ErrorKind::input,
                  fmt::format("'{}' names '{}', and no parameter is called so", shown(pattern.name),
                              shown(pattern.paths.front())),
                  "names", "scalecalc init MODEL --format csv lists the paths");
    }
  }

  /// By the first pattern that this parameter begins.
  std::optional<NamedTensor> named(std::size_t first) const {
    for (const NamePattern& pattern : naming_.patterns) {
      const auto indices = match_pattern(pattern.paths.front(), parameters_[first].path);
      if (!indices) continue;
      if (!pattern.beside.empty() && index_.count(fill_pattern(pattern.beside, *indices)) == 0)
        continue;
      NamedTensor tensor;
      tensor.name = fill_pattern(pattern.name, *indices);
      tensor.pattern = pattern.name;
      tensor.indices = *indices;
      for (const std::string& path : pattern.paths) {
        const auto found = index_.find(fill_pattern(path, *indices));
        if (found == index_.end())
          throw Error(ErrorKind::input,
                      fmt::format("'{}' packs '{}', which this model does not have",
                                  shown(pattern.name), shown(fill_pattern(path, *indices))),
                      "names", "pack parameters that exist together");
        tensor.parts.push_back(found->second);
      }
      store(tensor, pattern.flipped);
      return tensor;
    }
    return std::nullopt;
  }

  /// By its own path.
  std::optional<NamedTensor> spelled(std::size_t index) const {
    const std::optional<Spelling> spelling = spelling_of(naming_.name);
    if (!spelling) return std::nullopt;
    const auto [pattern, indices] = without_indices(parameters_[index].path);
    NamedTensor tensor;
    tensor.pattern = spell(pattern, *spelling);
    tensor.indices = indices;
    tensor.name = fill_pattern(tensor.pattern, indices);
    tensor.parts = {index};
    store(tensor, false);
    return tensor;
  }

  /// Shape and order of a tensor whose parts are known.
  void store(NamedTensor& tensor, bool flipped) const {
    const ParameterInfo& first = parameters_[tensor.parts.front()];
    const bool embedding = first.role == "embedding";
    tensor.transposed =
        (naming_.layout == Layout::out_in) != flipped && first.is_matrix && !embedding;
    const auto conv = convolutions_.find(first.path);
    tensor.shape = stored_shape(first, conv == convolutions_.end() ? nullptr : conv->second,
                                tensor.transposed);
    tensor.axis = tensor.transposed ? 0 : static_cast<int>(tensor.shape.size()) - 1;
    for (std::size_t i = 1; i < tensor.parts.size(); ++i) {
      const ParameterInfo& part = parameters_[tensor.parts[i]];
      if (part.rows != first.rows || part.is_matrix != first.is_matrix || tensor.shape.size() > 2 ||
          embedding)
        throw Error(ErrorKind::input,
                    fmt::format("'{}' and '{}' do not fit side by side in '{}'", first.path,
                                part.path, shown(tensor.name)),
                    "names", "pack maps of the same input");
      tensor.shape[static_cast<std::size_t>(tensor.axis)] += part.columns;
    }
    for (const TiedTensor& tied : naming_.tied)
      if (tied.name == tensor.name) tensor.tied_to = tied.to;
  }

  const Naming& naming_;
  std::vector<ParameterInfo> parameters_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, const Conv2d*> convolutions_;
  std::set<std::string> names_, matched_;
};

}  // namespace

const std::vector<std::string>& naming_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Naming& naming : naming_tables()) all.push_back(naming.name);
    return all;
  }();
  return names;
}

Naming find_naming(std::string_view name, const std::string& where) {
  for (const Naming& naming : naming_tables())
    if (naming.name == name) return naming;
  throw unknown_name("naming", name, naming_names(), where);
}

Naming naming_of(const ModelSpec& spec, std::string_view otherwise) {
  Naming naming = find_naming(
      spec.init.names.empty() ? otherwise : std::string_view(spec.init.names), "init.names");
  const std::vector<NamePattern>& own = spec.names.patterns;
  if (own.empty()) return naming;
  naming.patterns.insert(naming.patterns.begin(), own.begin(), own.end());
  naming.own = own.size();
  naming.layout = spec.names.in_out ? Layout::in_out : Layout::out_in;
  return naming;
}

NamedParameters name_parameters(const Network& network, const Naming& naming) {
  return Namer(network, naming).run();
}

bool is_ours_alone(const ModelSpec& spec, std::string_view path) {
  const bool no_shift = spec.norm == NormKind::rmsnorm || spec.norm == NormKind::scalenorm;
  return no_shift && path.ends_with(".shift");
}

std::optional<std::vector<std::int64_t>> match_pattern(std::string_view pattern,
                                                       std::string_view name) {
  std::vector<std::int64_t> indices;
  while (!pattern.empty()) {
    if (pattern == "*") return indices;
    if (is_index(pattern)) {
      std::int64_t index = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || index < 0) return std::nullopt;
      indices.push_back(index);
      name.remove_prefix(static_cast<std::size_t>(end - name.data()));
      pattern.remove_prefix(3);
      continue;
    }
    if (name.empty() || name.front() != pattern.front()) return std::nullopt;
    name.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  if (!name.empty()) return std::nullopt;
  return indices;
}

std::string path_pattern(const std::string& path) {
  const std::string pattern = without_indices(path).first;
  std::string starred;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool index = is_index(std::string_view(pattern).substr(i));
    starred += index ? '*' : pattern[i];
    if (index) i += 2;
  }
  return starred;
}

std::string fill_pattern(std::string_view pattern, const std::vector<std::int64_t>& indices) {
  std::string name;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_index(pattern.substr(i)) && next < indices.size()) {
      name += std::to_string(indices[next++]);
      i += 2;
    } else {
      name += pattern[i];
    }
  }
  return name;
}

}  // namespace scalecalc
