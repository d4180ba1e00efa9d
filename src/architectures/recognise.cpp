#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "architectures/catalogue.hpp"
#include "architectures/describe.hpp"
#include "architectures/solve.hpp"
#include "base/text.hpp"
#include "names/buffers.hpp"
#include "names/prefixes.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace architectures {
namespace {

/// Families that have fewer of the file's words are not tried.
constexpr std::size_t kMostWordsMissing = 2;

/// The parts of the names, without numbers at their ends and without what every name ends with.
std::set<std::string> words_of(const std::vector<NamedShape>& tensors) {
  std::set<std::string> words;
  for (const NamedShape& tensor : tensors)
    for (std::size_t at = 0; at <= tensor.name.size();) {
      const std::size_t dot = std::min(tensor.name.find('.', at), tensor.name.size());
      const std::string part = tensor.name.substr(at, dot - at);
      const std::size_t last = part.find_last_not_of("0123456789");  // "layer" of "layer1"
      if (last != std::string::npos) words.insert(part.substr(0, last + 1));
      at = dot + 1;
    }
  words.erase("weight");
  words.erase("bias");
  return words;
}

/// The families by how many of the words their data have, most first.
std::vector<std::pair<std::size_t, std::string>> families_by_words(
    const std::set<std::string>& words) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Preset& data : embedded_architectures()) {
    const auto known = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
      return data.toml.find(word) != std::string::npos;
    });
    ranked.emplace_back(words.size() - static_cast<std::size_t>(known), data.name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return ranked;
}

/// A model beside a file.
struct Candidate {
  LibraryModel model;
  std::size_t fitting = 0, unlike = 0;  ///< tensors
  std::size_t changed =
      0;                 ///< keys that differ from what the library takes, the fewer the likelier
  std::size_t keys = 0;  ///< that the family has

  std::ptrdiff_t score() const {
    return static_cast<std::ptrdiff_t>(fitting) - static_cast<std::ptrdiff_t>(unlike);
  }
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

/// Counts what fits, and says what does not.
class Fit {
 public:
  Fit(const std::vector<NamedShape>& tensors, Candidate& candidate) : candidate_(candidate) {
    std::map<std::string, const LibraryTensor*> due;
    for (const LibraryTensor& tensor : candidate.model.tensors) {
      due.emplace(tensor.name, &tensor);
      for (const std::string& tied : tensor.tied) due.emplace(tied, &tensor);
    }
    std::set<const LibraryTensor*> found;
    for (const NamedShape& tensor : tensors) {
      const auto known = due.find(tensor.name);
      if (known == due.end())
        differ(base::shortened(tensor.name) + " is no tensor of it");
      else if (tensor.shape != known->second->shape)
        differ(fmt::format("{} is {}, not {}", base::shortened(tensor.name),
                           shape_text(tensor.shape), shape_text(known->second->shape)));
      else
        ++candidate_.fitting;
      if (known != due.end()) found.insert(known->second);
    }
    for (const LibraryTensor& tensor : candidate.model.tensors)
      if (found.count(&tensor) == 0) differ("there is no " + tensor.name);
  }

 private:
  void differ(const std::string& how) {
    if (candidate_.unlike++ == 0) candidate_.model.unlike = how;
  }

  Candidate& candidate_;
};

using Pointer = Value::json_pointer;

/// The names of an expression and of all in it.
void collect_names(const Expression& expression, std::set<std::string>& names) {
  if (expression.kind() == Expression::Kind::name) names.insert(expression.name());
  for (const Expression& operand : expression.operands()) collect_names(operand, names);
}

std::set<std::string> names_in_draws(const Family& family) {
  std::set<std::string> names;
  const auto collect = [&](const std::vector<Expression>& draws) {
    for (const Expression& draw : draws)
      for (const Expression& operand : draw.operands()) collect_names(operand, names);
  };
  for (const auto& [kind, draws] : family.draws) collect(draws);
  for (const auto& [name, module] : family.modules)
    for (const Entry& entry : module.entries)
      for (const EntryText& text : entry.alternatives) {
        collect(text.draws);
        if (text.call.name() != "embedding" || text.call.operands().size() < 3) continue;
        collect_names(text.call.operands()[2], names);  // the row that is zero
      }
  return names;
}

/// "key = value" of those keys among `names` that the file does not tell.
void collect_taken(const Defaults& defaults, const std::set<std::string>& names,
                   const Solution& solution, const Value& complete, const Pointer& within,
                   std::vector<std::string>& taken) {
  for (const Default& one : defaults.keys) {
    const Pointer at = within / one.key;
    if (names.count(one.key) == 0 || !complete.contains(at) || complete.at(at).is_null()) continue;
    const bool is_told =
        solution.told.count(at.to_string()) > 0 && solution.guessed.count(at.to_string()) == 0;
    const bool is_list = complete.at(at).is_structured();
    if (is_told || is_list || (one.expression && solution.told.count(at.to_string()) == 0))
      continue;
    std::string key = at.to_string().substr(1);
    std::replace(key.begin(), key.end(), '/', '.');
    const Value& value = complete.at(at);
    taken.push_back(key + " = " + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  for (const auto& [key, inner] : defaults.inner)
    collect_taken(inner, names, solution, complete, within / key, taken);
}

/// What the tensors leave open: what draws hang on, and of the model in this program's words.
void describe_taken(const Family& family, const Solution& solution, LibraryModel& model) {
  const Value complete = completed(family.defaults, solution.config);
  collect_taken(family.defaults, names_in_draws(family), solution, complete, Pointer(),
                model.taken);
  std::set<std::string> names;
  for (const auto& [field, expression] : family.model) collect_names(expression, names);
  std::vector<std::string> open;
  collect_taken(family.defaults, names, solution, complete, Pointer(), open);
  if (!open.empty() && model.spec)
    model.remarks.push_back(
        fmt::format("the tensors do not tell these, which the library takes unless its config says "
                    "otherwise: {}",
                    fmt::join(open, ", ")));
}

std::size_t changed_keys(const Family& family, const Value& config) {
  const Value taken = completed(family.defaults, Value::object());
  const Value all = config.flatten();
  return static_cast<std::size_t>(
      std::count_if(all.items().begin(), all.items().end(), [&](const auto& item) {
        const Pointer at(item.key());
        return !taken.contains(at) || taken.at(at) != item.value();
      }));
}

Candidate candidate_of(const Family& family, const std::string& class_name,
                       const std::vector<NamedShape>& tensors, const Outlines& file,
                       const std::string& name) {
  const Solution solution = solve(family, facts_of(family, class_name, file));
  Value config = solution.config;
  config["architectures"] = {class_name};
  Candidate candidate;
  candidate.model = model_of(family, std::move(config), name, false);
  candidate.changed = changed_keys(family, solution.config);
  candidate.keys = family.defaults.keys.size();
  describe_taken(family, solution, candidate.model);
  Fit(tensors, candidate);
  return candidate;
}

/// A file whose names lack the prefix of the model inside a class with a head
/// ("transformer.h.0...", "lm_head"): the names with it. Nothing where none lacks it.
std::vector<NamedShape> with_base_prefix(const Family& family, const std::string& class_name,
                                         std::vector<NamedShape> tensors) {
  const std::vector<Entry>& entries = family.modules.at(class_name).entries;
  const std::string& prefix = entries.front().path.front().text;
  if (entries.size() < 2 || prefix.empty() ||
      family.modules.count(entries.front().alternatives.front().call.name()) == 0)
    return {};
  const auto is_of_class = [&](const NamedShape& tensor) {
    return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return tensor.name.starts_with(entry.path.front().text);
    });
  };
  for (NamedShape& tensor : tensors) {
    if (tensor.name.starts_with(prefix + ".")) return {};
    if (!is_of_class(tensor)) tensor.name.insert(0, prefix + ".");
  }
  return tensors;
}

/// A file that has a tied tensor under its second name alone (as savers that drop shared memory
/// leave it, a head for an embedding): with the name that the tensor has first.
std::vector<NamedShape> with_first_names(const Family& family, std::vector<NamedShape> tensors) {
  std::set<std::string> names;
  for (const NamedShape& tensor : tensors) names.insert(tensor.name);
  const auto rename = [&](const std::string& second, const std::string& first) {
    if (names.count(first) > 0) return;
    for (NamedShape& tensor : tensors) {
      if (tensor.name != second && !tensor.name.ends_with("." + second)) continue;
      tensor.name = first;
      names.insert(first);
      return;
    }
  };
  for (const auto& [name, module] : family.modules)
    for (const Entry& entry : module.entries)
      for (const EntryText& text : entry.alternatives) {
        if (text.call.name() != "tied" || entry.path.size() != 1) continue;
        const Expression& first = text.call.operands().at(0);
        if (first.kind() == Expression::Kind::constant)
          rename(entry.path.front().text, first.evaluate({}).get<std::string>());
      }
  return tensors;
}

/// The classes of a family of which most is in the file.
void add_candidates(const Family& family, const std::vector<NamedShape>& tensors,
                    const std::string& name, std::vector<Candidate>& candidates) {
  struct Try {
    const std::string* class_name;
    std::vector<NamedShape> tensors;
    Outlines file;
    int score;
  };
  std::vector<Try> tries;
  const auto add = [&](const std::string& class_name, std::vector<NamedShape> own) {
    if (own.empty()) return;
    Outlines file(own);
    const int score = presence(family, class_name, file);
    tries.push_back({&class_name, std::move(own), std::move(file), score});
  };
  for (const std::string& class_name : family.classes) {
    add(class_name, tensors);
    add(class_name, with_base_prefix(family, class_name, tensors));
  }
  int best = 1;
  for (const Try& one : tries) best = std::max(best, one.score);
  for (const Try& one : tries) {
    if (one.score != best) continue;
    try {
      candidates.push_back(candidate_of(family, *one.class_name, one.tensors, one.file, name));
    } catch (const Error&) {
      // Shapes that no config of this family gives.
    }
  }
}

std::ptrdiff_t best_score(const std::vector<Candidate>& candidates) {
  std::ptrdiff_t best = 0;
  for (const Candidate& one : candidates) best = std::max(best, one.score());
  return best;
}

std::vector<Candidate> candidates_of(const std::vector<NamedShape>& tensors,
                                     const std::string& name) {
  const auto ranked = families_by_words(words_of(tensors));
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const bool is_worse = i > 0 && ranked[i].first > ranked[i - 1].first;
    if (is_worse && best_score(candidates) == std::ssize(tensors)) break;
    if (ranked[i].first > ranked.front().first + kMostWordsMissing) break;
    const Family& of = family(ranked[i].second, name);
    add_candidates(of, tensors, name, candidates);
    const std::vector<NamedShape> named = with_first_names(of, tensors);
    const auto same = [](const NamedShape& a, const NamedShape& b) { return a.name == b.name; };
    if (!std::equal(tensors.begin(), tensors.end(), named.begin(), same))
      add_candidates(of, named, name, candidates);
  }
  return candidates;
}

bool same_tensors(const LibraryModel& a, const LibraryModel& b) {
  const auto same = [](const LibraryTensor& x, const LibraryTensor& y) {
    return x.name == y.name && x.shape == y.shape && x.distribution == y.distribution &&
           x.mean == y.mean && x.std == y.std;
  };
  if (a.tensors.size() != b.tensors.size()) return false;
  std::map<std::string, const LibraryTensor*> named;
  for (const LibraryTensor& tensor : b.tensors) named.emplace(tensor.name, &tensor);
  return std::all_of(a.tensors.begin(), a.tensors.end(), [&](const LibraryTensor& tensor) {
    const auto found = named.find(tensor.name);
    return found != named.end() && same(tensor, *found->second);
  });
}

/// The best of them, those with the same rules as one.
std::vector<LibraryModel> likeliest(std::vector<Candidate> candidates) {
  const std::ptrdiff_t best = best_score(candidates);
  std::erase_if(candidates, [&](const Candidate& one) { return one.score() < best; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::pair(a.changed, a.keys) < std::pair(b.changed, b.keys);
                   });
  std::vector<LibraryModel> models;
  for (Candidate& one : candidates) {
    const auto known = std::find_if(models.begin(), models.end(), [&](const LibraryModel& model) {
      return same_tensors(model, one.model);
    });
    if (known == models.end()) {
      models.push_back(std::move(one.model));
      continue;
    }
    std::vector<std::string>& alike = known->alike;
    if (known->architecture != one.model.architecture &&
        std::find(alike.begin(), alike.end(), one.model.architecture) == alike.end())
      alike.push_back(one.model.architecture);
  }
  return models;
}

/// Without buffers and without the prefix of a wrapper that all have, if any.
std::vector<NamedShape> bare_tensors(std::vector<NamedShape> tensors, bool unwrapped) {
  std::erase_if(tensors, [](const NamedShape& tensor) { return names::is_buffer(tensor.name); });
  for (const std::string& wrapper : names::wrappers()) {
    const bool has_all = std::all_of(tensors.begin(), tensors.end(), [&](const NamedShape& tensor) {
      return tensor.name.starts_with(wrapper);
    });
    if (!has_all || (wrapper == "model." && !unwrapped)) continue;
    for (NamedShape& tensor : tensors) tensor.name.erase(0, wrapper.size());
  }
  return tensors;
}

}  // namespace
}  // namespace architectures

std::vector<LibraryModel> recognise(const std::vector<NamedShape>& tensors,
                                    const std::string& name) {
  using namespace architectures;
  std::vector<Candidate> candidates;
  std::size_t count = 0;
  // "model." is a wrapper's prefix, and one of modules.
  for (const bool unwrapped : {false, true}) {
    const std::vector<NamedShape> bare = bare_tensors(tensors, unwrapped);
    if (unwrapped && !bare.empty() && bare.front().name == tensors.front().name) break;
    count = bare.size();
    for (Candidate& one : candidates_of(bare, name)) candidates.push_back(std::move(one));
    if (best_score(candidates) == std::ssize(bare)) break;
  }
  const auto best = std::max_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.score() < b.score(); });
  if (best != candidates.end() && 2 * best->fitting > count)
    return likeliest(std::move(candidates));
  const std::string nearest = best == candidates.end() || best->fitting == 0
                                  ? ""
                                  : fmt::format("; {} of {} fit {}, the nearest", best->fitting,
                                                count, best->model.class_name);
  throw Error(ErrorKind::input, "these tensors are those of no known architecture" + nearest, name,
              "say what they are: --model, or a config.json beside the file");
}

}  // namespace scalecalc
