#include "architectures/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "architectures/substitute.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

using Shape = std::vector<std::int64_t>;

std::string joined(const std::string& prefix, const std::string& path) {
  std::string whole = prefix + path;
  if (whole.ends_with('.')) whole.pop_back();
  return whole;
}

std::string inside(const std::string& path) {
  return path.empty() ? path : path + ".";
}

/// Whether places of the data are in the file.
class Presence {
 public:
  Presence(const Family& family, const Outlines& file) : family_(family), file_(file) {}

  int module(const std::string& name, const std::string& prefix) {
    int score = 0;
    for (const Entry& entry : family_.modules.at(name).entries) {
      const PathPart& first = entry.path.front();
      if (entry.path.size() > 1) {
        score += file_.begins(prefix + first.text) ? 1 : -1;
        continue;
      }
      int best = entry.alternatives.back().condition ? 0 : -1;
      for (const EntryText& text : entry.alternatives)
        best = std::max(best, call(text.call, joined(prefix, first.text)));
      score += best;
    }
    return score;
  }

  int call(const Expression& call, const std::string& path) {
    const std::string& kind = call.name();
    if (kind == "tied") return 0;
    if (kind == "within") return module(call.operands().at(1).name(), inside(path));
    if (family_.modules.count(kind) > 0) return module(kind, inside(path));
    return file_.has(kind == "parameter" ? path : path + ".weight") ? 1 : -1;
  }

 private:
  const Family& family_;
  const Outlines& file_;
};

class Walk {
 public:
  Walk(const Family& family, const Outlines& file)
      : family_(family), file_(file), presence_(family, file) {
    keys_of(family.defaults);
  }

  void module(const std::string& name, const std::string& prefix, const Origin& origin) {
    for (const Entry& entry : family_.modules.at(name).entries) paths(entry, 0, prefix, origin);
  }
  Origin whole_config() const {
    return {{}, {}, [this](const std::string& key) { return keys_.count(key) > 0; }};
  }
  /// That the library does not refuse the config.
  void refusals() {
    for (const Conditional& refusal : family_.refusals)
      say(substituted(refusal.condition, whole_config()), false);
  }
  std::vector<Fact> facts() { return std::move(facts_); }

 private:
  void keys_of(const Defaults& defaults) {
    for (const Default& one : defaults.keys) keys_.insert(one.key);
    for (const auto& [key, inner] : defaults.inner) {
      keys_.insert(key);
      keys_of(inner);
    }
  }

  void say(const Expression& expression, Value value) {
    if (expression.kind() == Expression::Kind::constant) return;
    if (expression.name() == "not") return say(expression.operands()[0], !value.get<bool>());
    const auto [at, is_new] =
        seen_.try_emplace(expression.text() + " = " + value.dump(), facts_.size());
    if (is_new)
      facts_.push_back({expression, std::move(value)});
    else
      ++facts_[at->second].times;
  }

  void paths(const Entry& entry, std::size_t at, const std::string& path, const Origin& origin) {
    const PathPart& part = entry.path[at];
    const std::string here = path + part.text;
    if (at + 1 == entry.path.size()) return alternatives(entry, joined(here, ""), origin);
    for (const Value& value : values_of(part, here, origin)) {
      Origin inner = origin;
      inner.locals.insert_or_assign(part.variable, Expression::constant(value));
      paths(entry, at + 1, here + (value.is_string() ? value.get<std::string>() : value.dump()),
            inner);
    }
  }

  /// Of a loop: those that are written out, or as many as the file has.
  std::vector<Value> values_of(const PathPart& part, const std::string& path,
                               const Origin& origin) {
    std::vector<Value> values;
    if (!part.values) {
      const auto local = origin.locals.find(part.variable);
      if (local != origin.locals.end() && local->second.kind() == Expression::Kind::constant)
        values.push_back(value(local->second));
      return values;
    }
    const Expression loop = substituted(*part.values, origin);
    if (loop.kind() == Expression::Kind::constant && value(loop).is_array()) {
      for (const Value& item : value(loop)) values.push_back(item);
      return values;
    }
    // A list with a condition in it: what is there of its numbers.
    const bool is_list = loop.kind() == Expression::Kind::list;
    for (std::int64_t i = 0, last = is_list ? kMostOfList : file_.count(path); i < last; ++i)
      if (!is_list || file_.begins(path + std::to_string(i) + ".")) values.emplace_back(i);
    if (!is_list && !values.empty()) say(loop, values.size());
    return values;
  }
  static Value value(const Expression& constant) {
    return constant.evaluate([](const std::string&) { return nullptr; });
  }

  /// Of several, the one of which most is there; those that are there alike differ by their sizes.
  void alternatives(const Entry& entry, const std::string& path, const Origin& origin) {
    int best = 0;
    std::vector<const EntryText*> there, others;
    for (const EntryText& text : entry.alternatives) {
      const int score = has_axes(text.call.name(), path) ? presence_.call(text.call, path) : 0;
      if (score > best) {
        others.insert(others.end(), there.begin(), there.end());
        there.clear();
        best = score;
      }
      (score == best && best > 0 ? there : others).push_back(&text);
    }
    for (const EntryText* text : others)
      if (text->call.name() != "tied") condition(*text, false, origin);
    if (there.empty()) return;
    if (there.size() == 1) condition(*there.front(), true, origin);
    make(one_of(there, origin), path, origin);
  }

  /// Whether the weight has as many axes as one of this kind, where the kind says how many.
  bool has_axes(const std::string& kind, const std::string& path) const {
    static const std::map<std::string, std::size_t> axes = {
        {"linear", 2}, {"conv1d", 3}, {"conv2d", 4}, {"conv3d", 5}};
    const auto due = axes.find(kind);
    const Shape* shape = file_.shape(path + ".weight");
    return due == axes.end() || shape == nullptr || shape->size() == due->second;
  }

  void condition(const EntryText& text, bool holds, const Origin& origin) {
    if (text.condition) say(substituted(*text.condition, origin), holds);
  }

  /// The call whose every argument is a choice between those of the alternatives.
  Expression one_of(const std::vector<const EntryText*>& there, const Origin& origin) const {
    const auto given = [&](const EntryText* text) {
      std::vector<Expression> operands;
      for (const Expression& operand : text->call.operands())
        operands.push_back(substituted(operand, origin));
      return operands;
    };
    if (there.back()->call.name() == "within") return there.back()->call;
    std::vector<Expression> chosen = given(there.back());
    for (std::size_t k = there.size() - 1; k-- > 0;) {
      const std::vector<Expression> own = given(there[k]);
      if (own.size() != chosen.size() || !there[k]->condition) continue;
      const Expression holds = substituted(*there[k]->condition, origin);
      for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i].text() != chosen[i].text())
          chosen[i] = Expression::choice(holds, own[i], chosen[i]);
    }
    return there.back()->call.with(std::move(chosen));
  }

  void make(const Expression& call, const std::string& path, const Origin& origin) {
    const std::string& kind = call.name();
    if (kind == "tied") return;
    Origin inner = origin;
    inner.locals.clear();
    if (kind == "within") {
      inner.within = substituted(call.operands()[0], origin);
      return module(call.operands().at(1).name(), inside(path), inner);
    }
    const auto found = family_.modules.find(kind);
    if (found == family_.modules.end()) return layer(call, path);
    for (std::size_t i = 0; i < found->second.arguments.size(); ++i)
      inner.locals.insert_or_assign(found->second.arguments[i], call.operands().at(i));
    module(kind, inside(path), inner);
  }

  void layer(const Expression& call, const std::string& path) {
    const std::string& kind = call.name();
    const std::vector<Expression>& given = call.operands();
    const std::string name = kind == "parameter" ? path : path + ".weight";
    const Shape* shape = file_.shape(name);
    if (shape == nullptr) return;
    const auto size = [&](std::size_t operand, std::size_t axis) {
      if (operand < given.size() && axis < shape->size()) say(given[operand], (*shape)[axis]);
    };
    std::size_t bias = 2;
    if (kind == "parameter") {
      for (std::size_t axis = 0; axis < given.size(); ++axis) size(axis, axis);
      return;
    }
    if (kind == "norm" || kind == "rmsnorm") {
      size(0, 0);
      bias = kind == "norm" ? 1 : given.size();
    } else if (kind == "embedding") {
      size(0, 0);
      size(1, 1);
      return;
    } else if (kind == "transposed_linear") {
      size(0, 0);
      size(1, 1);
    } else {
      size(1, 0);
      if (given.size() < 5) size(0, 1);  // without groups
      if (kind != "linear") kernel(given.at(2), *shape);
      if (kind != "linear") bias = 3;
    }
    if (bias < given.size()) say(given[bias], file_.has(path + ".bias"));
  }

  void kernel(const Expression& size, const Shape& shape) {
    const Shape axes(shape.begin() + std::min<std::ptrdiff_t>(2, std::ssize(shape)), shape.end());
    if (axes.empty()) return;
    const bool same = std::all_of(axes.begin(), axes.end(),
                                  [&](std::int64_t axis) { return axis == axes.front(); });
    say(size, same ? Value(axes.front()) : Value(axes));
  }

  static constexpr std::int64_t kMostOfList = 16;

  const Family& family_;
  const Outlines& file_;
  Presence presence_;
  std::set<std::string> keys_;
  std::map<std::string, std::size_t> seen_;
  std::vector<Fact> facts_;
};

}  // namespace

int presence(const Family& family, const std::string& class_name, const Outlines& file) {
  return Presence(family, file).module(class_name, "");
}

std::vector<Fact> facts_of(const Family& family, const std::string& class_name,
                           const Outlines& file) {
  Walk walk(family, file);
  walk.module(class_name, "", walk.whole_config());
  walk.refusals();
  return walk.facts();
}

}  // namespace scalecalc::architectures
