#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include "base/text.hpp"
#include "names/patterns.hpp"
#include "names/spelling.hpp"
#include "network/layers/walk.hpp"
#include "scalecalc/named_parameters.hpp"

namespace scalecalc {
namespace {

/// The stored shape of one parameter.
std::vector<std::int64_t> stored_shape(const ParameterInfo& info, const Conv2d* conv,
                                       bool transposed) {
  if (conv != nullptr) {
    const std::int64_t in = conv->in_channels / conv->groups, out = conv->out_channels;
    if (conv->transposed && transposed)
      return {conv->in_channels, out / conv->groups, conv->kernel, conv->kernel};
    if (conv->one_row && transposed) return {out, in, conv->kernel};
    if (conv->one_row) return {conv->kernel, in, out};
    if (transposed) return {out, in, conv->kernel, conv->kernel};
    return {conv->kernel, conv->kernel, in, out};
  }
  if (info.rows == 1 && !info.is_matrix) return {info.columns};
  if (transposed) return {info.columns, info.rows};
  return {info.rows, info.columns};
}

using Convolutions = std::map<std::string, const Conv2d*>;

/// By the path of their weights.
Convolutions convolutions_of(const Network& network) {
  Convolutions found;
  for_each_layer(network.layers, [&]<class Op>(const Op& layer) {
    if constexpr (std::is_same_v<Op, Conv2d>) found[layer.weight.path + ".weight"] = &layer;
  });
  return found;
}

class Namer {
 public:
  Namer(const Network& network, const Naming& naming)
      : naming_(naming), parameters_(parameters(network)), convolutions_(convolutions_of(network)) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) index_[parameters_[i].path] = i;
    for_each_layer(network.layers, [&]<class Op>(const Op& layer) {
      if constexpr (std::is_same_v<Op, Attention>) key_heads_ = layer.kv_heads;
    });
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
                    fmt::format("two parameters are called '{}'", base::shortened(tensor->name)),
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
      for (std::size_t earlier = 0; earlier < i; ++earlier)
        if (naming_.patterns[earlier].paths.front() == pattern.paths.front())
          throw Error(ErrorKind::input,
                      fmt::format("'{}' is named twice, '{}' and '{}'",
                                  base::shortened(pattern.paths.front()),
                                  base::shortened(naming_.patterns[earlier].name),
                                  base::shortened(pattern.name)),
                      "names", "keep one of the two");
      throw Error(
          ErrorKind::input,
          fmt::format("'{}' names '{}', and no parameter is called so",
                      base::shortened(pattern.name), base::shortened(pattern.paths.front())),
          "names", "scalecalc init MODEL --format csv lists the paths");
    }
  }

  /// The indices of a pattern that this parameter begins, or has behind one of a later layer.
  std::optional<std::vector<std::int64_t>> begun(const NamePattern& pattern,
                                                 std::size_t first) const {
    for (const std::string& path : pattern.paths) {
      auto indices = match_pattern(path, parameters_[first].path);
      if (!indices) continue;
      const auto begin = index_.find(fill_pattern(pattern.paths.front(), *indices));
      if (begin != index_.end() && begin->second >= first) return indices;
    }
    return std::nullopt;
  }

  /// By the first pattern that this parameter begins.
  std::optional<NamedTensor> named(std::size_t first) const {
    for (const NamePattern& pattern : naming_.patterns) {
      const auto indices = begun(pattern, first);
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
                                  base::shortened(pattern.name),
                                  base::shortened(fill_pattern(path, *indices))),
                      "names", "pack parameters that exist together");
        tensor.parts.push_back(found->second);
      }
      store(tensor, pattern.flipped);
      share_rounds(tensor, pattern.rounds);
      return tensor;
    }
    return std::nullopt;
  }

  /// By its own path.
  std::optional<NamedTensor> spelled(std::size_t index) const {
    const std::optional<names::Spelling> spelling = names::spelling_of(naming_.name);
    if (!spelling) return std::nullopt;
    const auto [pattern, indices] = names::without_indices(parameters_[index].path);
    NamedTensor tensor;
    tensor.pattern = names::spell(pattern, *spelling);
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
    tensor.mirrored = tensor.transposed && conv != convolutions_.end() && conv->second->transposed;
    tensor.axis = tensor.mirrored     ? 1
                  : tensor.transposed ? 0
                                      : static_cast<int>(tensor.shape.size()) - 1;
    for (std::size_t i = 1; i < tensor.parts.size(); ++i) {
      const ParameterInfo& part = parameters_[tensor.parts[i]];
      if (part.rows != first.rows || part.is_matrix != first.is_matrix || tensor.shape.size() > 2 ||
          embedding)
        throw Error(ErrorKind::input,
                    fmt::format("'{}' and '{}' do not fit side by side in '{}'", first.path,
                                part.path, base::shortened(tensor.name)),
                    "names", "pack maps of the same input");
      tensor.shape[static_cast<std::size_t>(tensor.axis)] += part.columns;
    }
    for (const TiedTensor& tied : naming_.tied)
      if (tied.name == tensor.name) tensor.tied_to = tied.to;
  }

  void share_rounds(NamedTensor& tensor, std::int64_t rounds) const {
    tensor.rounds = rounds == NamePattern::per_key_head ? key_heads_ : rounds;
    for (const std::size_t part : tensor.parts)
      if (parameters_[part].columns % tensor.rounds != 0)
        throw Error(ErrorKind::input,
                    fmt::format("'{}' holds its parts in {} rounds, and '{}' has {} columns",
                                base::shortened(tensor.name), tensor.rounds, parameters_[part].path,
                                parameters_[part].columns),
                    "names", "choose other names, or sizes that the rounds divide");
  }

  const Naming& naming_;
  std::vector<ParameterInfo> parameters_;
  std::int64_t key_heads_ = 1;
  Convolutions convolutions_;
  std::map<std::string, std::size_t> index_;
  std::set<std::string> names_, matched_;
};

}  // namespace

Naming naming_of(const ModelSpec& spec, std::string_view otherwise) {
  Naming naming = find_naming(
      spec.init.names.empty() ? otherwise : std::string_view(spec.init.names), "init.names");
  const std::vector<NamePattern>& own = spec.names.patterns;
  const bool has_encoder = std::any_of(
      naming.patterns.begin(), naming.patterns.end(),
      [](const NamePattern& pattern) { return pattern.paths.front().starts_with("encoder."); });
  if (spec.encoder_decoder && own.empty() && !has_encoder && !names::spelling_of(naming.name))
    throw Error(
        ErrorKind::usage,
        fmt::format("the names {} are those of one stack, and this model has two", naming.name),
        "names",
        "use scalecalc, torch, flax or keras, which spell every path, or hf-bart, hf-whisper or "
        "hf-t5-encoder-decoder");
  if (spec.tie_head)
    for (const TiedTensor& tied : naming.tied)
      naming.extras.push_back({tied.name, "the head, which is " + tied.to});
  for (const TiedTensor& tied : spec.names.tied) {
    naming.tied.push_back(tied);
    naming.extras.push_back({tied.name, "the same tensor as " + tied.to});
  }
  for (const std::string& pattern : spec.names.ignored)
    naming.extras.push_back({pattern, "ignored by [names]"});
  if (own.empty()) return naming;
  naming.patterns.insert(naming.patterns.begin(), own.begin(), own.end());
  naming.own = own.size();
  naming.layout = spec.names.in_out ? Layout::in_out : Layout::out_in;
  return naming;
}

std::string asked_naming(const ModelSpec& spec, const std::string& names) {
  if (names != "hf") return find_naming(names, "--names").name;
  for (const char* library : {"hf-", "timm-", "torchvision-"})
    if (spec.init.names.starts_with(library)) return spec.init.names;
  if (spec.init.names.empty() && !spec.names.patterns.empty()) return "torch";
  throw Error(ErrorKind::input,
              "hf is the naming of a model's own library, and this model has none", "--names hf",
              "give its config.json, or one of those that scalecalc list names prints");
}

NamedParameters name_parameters(const Network& network, const Naming& naming) {
  return Namer(network, naming).run();
}

bool is_ours_alone(const ModelSpec& spec, std::string_view path) {
  const bool no_shift = spec.norm == NormKind::rmsnorm || spec.norm == NormKind::scalenorm;
  return no_shift && path.ends_with(".shift");
}

}  // namespace scalecalc
