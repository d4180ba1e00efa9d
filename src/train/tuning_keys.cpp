#include "train/tuning_keys.hpp"

#include <algorithm>
#include <functional>

#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

constexpr double kMostRate = 1e6, kMostSteps = 1e9, kLeast = 1e-300;
constexpr double kBelowOne = 0.999999999;

/// What is trained, while its numbers are set.
struct Set {
  const OptimizerOptions& of_base;
  OptimizerOptions& optimizer;
  ModelSpec& model;
};

struct Key {
  TuningKey shown;
  std::vector<std::string> optimizers;  ///< that have it; empty: all
  std::function<void(const Set&, double)> set;
};

bool has_second(const OptimizerOptions& options) {
  return !options.rest.empty() || options.name == "muon";
}
double& second_rate(OptimizerOptions& options) {
  return options.rest.empty() ? options.adamw_learning_rate : options.rest.front().learning_rate;
}

/// The second rate of a mixture keeps its ratio to the first.
void set_rate(const Set& set, double rate) {
  const double before = set.of_base.learning_rate;
  set.optimizer.learning_rate = rate;
  if (!has_second(set.optimizer) || before == 0) return;
  OptimizerOptions base = set.of_base;
  second_rate(set.optimizer) = second_rate(base) * (rate / before);
}
void set_second_rate(const Set& set, double rate) {
  if (!has_second(set.optimizer))
    throw Error(ErrorKind::input, set.optimizer.name + " has no second optimizer", "rest-lr",
                "use lr, or a mixture: --optimizer muon+adamw");
  second_rate(set.optimizer) = rate;
}

/// Of the optimizer, and of the second of a mixture.
std::function<void(const Set&, double)> each(double OptimizerOptions::*member) {
  return [member](const Set& set, double value) {
    set.optimizer.*member = value;
    for (OptimizerOptions& rest : set.optimizer.rest) rest.*member = value;
  };
}

void set_final(const Set& set, double value) {
  const Schedule::Kind kind = set.optimizer.schedule.kind;
  if (kind != Schedule::Kind::linear && kind != Schedule::Kind::cosine)
    throw Error(ErrorKind::input, "the schedule has no final rate", "final",
                "add --schedule linear or cosine");
  set.optimizer.schedule.final = value;
}

const std::vector<Key>& keys() {
  static const std::vector<std::string> averaged = {"adam", "adamw", "lion", "lamb", "muon"},
                                        squared = {"adam", "adamw", "lion",
                                                   "lamb", "muon",  "rmsprop"};
  static const std::vector<Key> all = {
      {{"lr", "learning rate; the second of a mixture keeps its ratio to the first", kLeast,
        kMostRate},
       {},
       set_rate},
      {{"rest-lr", "learning rate of a mixture's second optimizer", kLeast, kMostRate},
       {},
       set_second_rate},
      {{"decay", "weight decay", 0, kMostRate}, {}, each(&OptimizerOptions::weight_decay)},
      {{"eps", "added to the root of the second moment", kLeast, kMostRate},
       {"adam", "adamw", "lamb", "muon", "rmsprop", "adagrad"},
       each(&OptimizerOptions::eps)},
      {{"momentum", "of the average of gradients", 0, kBelowOne},
       {"momentum", "nesterov", "lars", "muon"},
       each(&OptimizerOptions::momentum)},
      {{"beta1", "of the first average", 0, kBelowOne}, averaged, each(&OptimizerOptions::beta1)},
      {{"beta2", "of the second average", 0, kBelowOne}, squared, each(&OptimizerOptions::beta2)},
      {{"warmup", "steps over which the rate grows", 0, kMostSteps, true},
       {},
       [](const Set& set, double steps) {
         set.optimizer.schedule.warmup = static_cast<std::int64_t>(steps);
       }},
      {{"final", "part of the rate that a linear or cosine schedule ends at", 0, 1}, {}, set_final},
      {{"clip-norm", "largest norm of the whole gradient; 0: none", 0, 1e12},
       {},
       [](const Set& set, double norm) { set.optimizer.clip_norm = norm; }},
      {{"dropout", "rate of branches and attention weights", 0, 0.99},
       {},
       [](const Set& set, double rate) {
         set.model.dropout = set.model.attention_dropout = rate;
       }}};
  return all;
}

const Key& key_of(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    if (key.shown.name == name) return key;
    names.push_back(key.shown.name);
  }
  throw unknown_name("number of a grid", name, names, where);
}

}  // namespace

const std::vector<TuningKey>& tuning_keys() {
  static const std::vector<TuningKey> shown = [] {
    std::vector<TuningKey> made;
    for (const Key& key : keys()) made.push_back(key.shown);
    return made;
  }();
  return shown;
}

const TuningKey& tuning_key(std::string_view name, const std::string& where) {
  return key_of(name, where).shown;
}

void train_room::set_number(const std::string& name, double value, const OptimizerOptions& of_base,
                            OptimizerOptions& optimizer, ModelSpec& model) {
  const Key& key = key_of(name, "grid");
  const auto has_it = [&](const OptimizerOptions& options) {
    return std::ranges::find(key.optimizers, options.name) != key.optimizers.end();
  };
  if (!key.optimizers.empty() && !has_it(optimizer) && std::ranges::none_of(optimizer.rest, has_it))
    throw Error(ErrorKind::input, optimizer_text(optimizer) + " has no " + name, "grid",
                "leave it out of the grid");
  key.set({of_base, optimizer, model}, value);
}

}  // namespace scalecalc
