#include "names/prefixes.hpp"

namespace scalecalc::names {
namespace {

constexpr std::size_t most_prefixes = 3;

}  // namespace

const std::vector<std::string>& wrappers() {
  static const std::vector<std::string> all = {"module.", "_orig_mod.", "model."};
  return all;
}

std::vector<std::string> bare_names(const std::string& name, const Naming& naming) {
  std::vector<std::string> all = {name};
  std::vector<std::string> prefixes = naming.prefixes;
  prefixes.insert(prefixes.end(), wrappers().begin(), wrappers().end());
  for (std::size_t from = 0, depth = 0; depth < most_prefixes; ++depth) {
    const std::size_t to = all.size();
    for (; from < to; ++from)
      for (const std::string& prefix : prefixes)
        if (all[from].starts_with(prefix)) all.push_back(all[from].substr(prefix.size()));
  }
  return all;
}

}  // namespace scalecalc::names
