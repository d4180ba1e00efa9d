#include <fmt/format.h>

#include "base/machine.hpp"
#include "network/layers/walk.hpp"
#include "network/memory.hpp"
#include "network/parts.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/optimizer_mixture.hpp"

namespace scalecalc {
namespace {

/// A layer of a list, with those of its own lists.
double count_layers(const LayerView& layer) {
  double count = 1;
  for_each_child(layer, [&](const LayerView& child, Held held) {
    if (held == Held::in_list) count += count_layers(child);
  });
  return count;
}

}  // namespace

Extent extent_of(const std::vector<Layer>& layers, std::int64_t positions) {
  Extent extent;
  for (const Layer& layer : layers) extent.layers += count_layers(view_of(layer));
  for_each_parameter(layers, positions,
                     [&](const std::string&, std::size_t, const char*, const ParameterInfo& info) {
                       extent.parameters +=
                           static_cast<double>(info.rows) * static_cast<double>(info.columns);
                     });
  return extent;
}

bool is_hidden_matrix(const ParameterInfo& parameter) {
  return steps_first({}, parameter);
}

std::vector<ParameterInfo> parameters(const Network& network) {
  std::vector<ParameterInfo> all;
  for_each_parameter(
      network.layers, network.sequence,
      [&](const std::string& path, std::size_t, const char* suffix, const ParameterInfo& info) {
        all.push_back(info);
        all.back().path = path + suffix;
      });
  return all;
}

double trace_entries(const Network& network) {
  return count_entries(network.layers);
}

void check_trace_memory(const Network& network, double bytes) {
  base::check_memory(fmt::format("a trace of {} outermost layers", network.layers.size()),
                     bytes * trace_entries(network), "network", "use fewer layers");
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for_each_parameter(network.layers, network.sequence,
                     [&](const std::string&, std::size_t, const char*, const ParameterInfo& info) {
                       count += info.rows * info.columns;
                     });
  return count;
}

}  // namespace scalecalc
