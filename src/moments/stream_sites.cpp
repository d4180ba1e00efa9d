#include "scalecalc/moments.hpp"

namespace scalecalc {

std::vector<std::size_t> stream_sites(const std::vector<std::string>& kinds) {
  std::vector<std::size_t> stream;
  for (const std::string kind : {"residual", "activation", ""}) {
    stream.clear();
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (kind.empty() || kinds[i] == kind) stream.push_back(i);
    if (stream.size() > 1) break;
  }
  return stream;
}

}  // namespace scalecalc
