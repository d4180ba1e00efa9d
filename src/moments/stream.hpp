#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace scalecalc {

/// Which of the sites, given their kinds, are the stream that depth acts on: sums of residuals
/// where there are several, else activations, else all.
std::vector<std::size_t> stream_sites(const std::vector<std::string>& kinds);

}  // namespace scalecalc
