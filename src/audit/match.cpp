#include "audit/match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "names/buffers.hpp"
#include "names/prefixes.hpp"

namespace scalecalc::audit_room {
namespace {

using weights::Reader;
using weights::Tensor;

/// What a norm or a bias must be for a model that has none.
std::optional<double> neutral_value(const std::string& path, const ModelSpec& spec) {
  if (path == "final_norm.gain" || path == "final_norm.shift")
    if (!has_final_norm(spec.placement)) return std::nullopt;
  if (path.ends_with(".bias")) return 0;
  if (spec.norm_affine || spec.norm == NormKind::none) return std::nullopt;
  if (path.ends_with(".gain")) return spec.gain_offset ? 0 : 1;
  if (path.ends_with(".shift")) return 0;
  return std::nullopt;
}

class Matcher {
 public:
  Matcher(const Reader& reader, const ModelSpec& spec, const Network& network)
      : reader_(reader), spec_(spec), network_(network) {}

  Match with(const std::string& name) const {
    ModelSpec named = spec_;
    named.init.names = name;
    Match match;
    match.naming = naming_of(named, name);
    match.named = name_parameters(network_, match.naming);
    match.tensor_of.resize(match.named.tensors.size());
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < match.named.tensors.size(); ++i)
      place[match.named.tensors[i].name] = i;
    for (std::size_t k = 0; k < reader_.tensors().size(); ++k) pair(k, place, match);
    return match;
  }

 private:
  void pair(std::size_t index, const std::map<std::string, std::size_t>& place,
            Match& match) const {
    const std::vector<std::string> names =
        names::bare_names(reader_.tensors()[index].name, match.naming);
    Leftover leftover;
    leftover.tensor = index;
    for (const std::string& name : names) {
      const auto found = place.find(name);
      if (found == place.end()) continue;
      std::optional<std::size_t>& tensor = match.tensor_of[found->second];
      if (!tensor) {
        tensor = index;
        ++match.matched;
        if (reader_.tensors()[index].shape == match.named.tensors[found->second].shape)
          ++match.fitting;
        return;
      }
      leftover.why = fmt::format("the file has '{}' too, which is the same",
                                 base::shortened(reader_.tensors()[*tensor].name));
      match.leftovers.push_back(leftover);
      return;
    }
    if (!is_extra(names, match.naming, leftover) && !is_absent(names, match.naming, leftover)) {
      leftover.why = "the model has no such tensor";
    }
    match.leftovers.push_back(leftover);
  }

  /// Known to the naming, and not part of the model.
  static bool is_extra(const std::vector<std::string>& names, const Naming& naming,
                       Leftover& leftover) {
    for (const std::string& name : names)
      for (const ExtraTensor& extra : naming.extras)
        if (match_pattern(extra.pattern, name)) {
          leftover.known = true;
          leftover.why = extra.what;
          return true;
        }
    if (!names::is_buffer(names.front())) return false;
    leftover.known = true;
    leftover.why = "a buffer";
    return true;
  }

  /// A parameter that other models of this naming have.
  bool is_absent(const std::vector<std::string>& names, const Naming& naming,
                 Leftover& leftover) const {
    for (const std::string& name : names)
      for (const NamePattern& pattern : naming.patterns) {
        const auto indices = match_pattern(pattern.name, name);
        if (!indices) continue;
        leftover.pattern = pattern.name;
        leftover.path = fill_pattern(pattern.paths.front(), *indices);
        leftover.why = "the model has no " + leftover.path;
        const bool inside = std::all_of(indices->begin(), indices->end(),
                                        [&](std::int64_t i) { return i < spec_.layers; });
        if (inside) leftover.constant = neutral_value(leftover.path, spec_);
        return true;
      }
    return false;
  }

  const Reader& reader_;
  const ModelSpec& spec_;
  const Network& network_;
};

/// Of two layouts under the same names, the one that the shapes have.
std::pair<std::size_t, std::size_t> score(const Match& match) {
  return {match.matched + match.fitting, match.fitting};
}

/// `own` is tried first. The search ends with a naming that knows every tensor by name and shape,
/// which none exceeds.
Match best_match(const Matcher& matcher, std::size_t tensors, const std::string& own) {
  std::vector<std::string> names = naming_names();
  const auto preferred = std::find(names.begin(), names.end(), own);
  if (preferred != names.end()) std::rotate(names.begin(), preferred, preferred + 1);
  std::optional<Match> best;
  for (const std::string& name : names) {
    try {
      Match match = matcher.with(name);
      if (!best || score(match) > score(*best)) best = std::move(match);
      if (best->fitting == tensors) break;
    } catch (const Error&) {
      // A naming whose packing this model does not have is not its naming.
      if (name == own) throw;
    }
  }
  return std::move(*best);
}

}  // namespace

Match match_tensors(const Reader& reader, const ModelSpec& spec, const Network& network,
                    const std::string& names) {
  const Matcher matcher(reader, spec, network);
  Match match = names.empty() ? best_match(matcher, reader.tensors().size(), spec.init.names)
                              : matcher.with(asked_naming(spec, names));
  if (match.matched > 0) return match;
  const std::string first =
      reader.tensors().empty() ? "" : ", not '" + base::shortened(reader.tensors()[0].name) + "'";
  const std::string due = match.named.tensors.empty() ? "" : match.named.tensors[0].name;
  throw Error(ErrorKind::input,
              fmt::format("no tensor of the file is called as one of the model's: '{}' or the like "
                          "was expected{}",
                          due, first),
              base::shortened(reader.files().empty() ? "" : reader.files()[0]),
              "say what they are called: --names, or [names] in the model file");
}

}  // namespace scalecalc::audit_room
