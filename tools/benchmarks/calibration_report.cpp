#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

#include "calibration.hpp"
#include "timing.hpp"

namespace scalecalc::bench {
namespace {

using random_models::Trial;

const char* const setting = " at 24 seeds and confidence 0.99, ";

template <class Test>
double share(const std::vector<Trial>& trials, Test test) {
  const auto count = std::count_if(trials.begin(), trials.end(), test);
  return 100.0 * static_cast<double>(count) / static_cast<double>(trials.size());
}

std::vector<Comparison> all_of(const Verification& verification) {
  std::vector<Comparison> all = verification.sites;
  all.insert(all.end(), verification.parameters.begin(), verification.parameters.end());
  return all;
}

/// A reason without its numbers and places, which are in brackets at its end.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char c : reason.substr(0, reason.find(" (")))
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  return kind;
}

/// In the order of falling size.
template <class Members>
std::vector<std::pair<std::string, Members>> by_size(const std::map<std::string, Members>& groups) {
  std::vector<std::pair<std::string, Members>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return sorted;
}

using Group = std::vector<const Trial*>;

const char* word(bool is_one) {
  return is_one ? "model" : "models";
}

void list_one(const Trial& trial) {
  const Verification& found = *trial.again;
  std::fprintf(stderr, "  %llu: %zu of %zu off", static_cast<unsigned long long>(trial.index),
               found.failures(), found.comparisons());
  for (const Cause& cause : found.causes)
    for (const Comparison& c : all_of(found))
      if (c.path == cause.path && c.quantity == cause.quantity)
        std::fprintf(stderr, "; %s %s predicted %.5g, measured %.5g, band %.2g", c.path.c_str(),
                     c.quantity.c_str(), c.predicted, c.measured, c.band);
  std::fprintf(stderr, "\n");
}

bool is_smaller(const Trial* a, const Trial* b) {
  return a->again->comparisons() < b->again->comparisons();
}

}  // namespace

void print_failing(const std::string& work, const std::vector<Trial>& trials) {
  if (trials.empty()) return;
  print(work + setting + "that fail", share(trials, [](const Trial& t) { return t.failed(); }), "%",
        "1.5");
}

void print_shares(const std::string& work, const std::vector<Trial>& trials) {
  print_failing(work, trials);
  const std::string at = work + setting;
  print(at + "that fail again at 8 times the seeds",
        share(trials, [](const Trial& t) { return t.is_systematic(); }), "%", "0");
  print(at + "refused", share(trials, [](const Trial& t) { return t.is_refused(); }), "%", "1");
  print(at + "explode, as passes do", share(trials, [](const Trial& t) { return t.explodes; }), "%",
        "");
  std::vector<double> bands;
  for (const Trial& trial : trials) {
    const std::vector<double> widths = random_models::band_widths(trial.first);
    bands.insert(bands.end(), widths.begin(), widths.end());
  }
  if (bands.empty()) return;
  print(work + ", bands, median", quantile(bands, 0.5), "standard errors", "8");
  print(work + ", bands, 90th percentile", quantile(bands, 0.9), "standard errors", "15");
}

void list_failures(const std::vector<Trial>& trials) {
  std::map<std::string, Group> groups;
  for (const Trial& trial : trials)
    if (trial.is_systematic()) groups[random_models::fault_of(*trial.again)].push_back(&trial);
  for (const auto& [fault, group] : by_size(groups)) {
    std::fprintf(stderr, "\n%zu %s: %s\n", group.size(), word(group.size() == 1), fault.c_str());
    for (const Trial* trial : group) list_one(*trial);
    const Trial& smallest = **std::min_element(group.begin(), group.end(), is_smaller);
    std::fprintf(stderr, "\n# %llu: scalecalc verify FILE --seeds %d --seed %llu\n%s",
                 static_cast<unsigned long long>(smallest.index), smallest.again->seeds,
                 static_cast<unsigned long long>(smallest.again_seed),
                 model_text(smallest.spec).c_str());
  }
}

void list_wide_bands(const std::vector<Trial>& trials) {
  // The goal of the 90th percentile.
  constexpr double goal = 15;
  std::map<std::string, Group> of_place, of_model;
  double rows = 0;
  for (const Trial& trial : trials)
    for (const Comparison& c : all_of(trial.first)) {
      rows += 1;
      if (!random_models::is_measured(c) || c.band <= goal * c.standard_error) continue;
      of_place[c.kind + " " + c.quantity].push_back(&trial);
      of_model[std::to_string(trial.index)].push_back(&trial);
    }
  const auto list = [&](const char* what, const auto& groups) {
    std::fprintf(stderr, "\nbands wider than %g standard errors, %% of all figures, by %s:\n", goal,
                 what);
    for (const auto& [name, group] : by_size(groups))
      std::fprintf(stderr, "  %.3f %s\n", 100.0 * static_cast<double>(group.size()) / rows,
                   name.c_str());
  };
  list("place", of_place);
  list("model", of_model);
}

void list_refusals(const std::vector<Trial>& trials) {
  std::map<std::string, Group> groups;
  for (const Trial& trial : trials)
    if (!trial.refused.empty()) groups[kind_of(trial.refused)].push_back(&trial);
  for (const auto& [reason, group] : by_size(groups)) {
    std::fprintf(stderr, "\nrefused, %zu %s: %s\n ", group.size(), word(group.size() == 1),
                 reason.c_str());
    for (const Trial* trial : group)
      std::fprintf(stderr, " %llu%s", static_cast<unsigned long long>(trial->index),
                   trial->explodes ? " (passes overflow)" : "");
    std::fprintf(stderr, "\n");
  }
}

}  // namespace scalecalc::bench
