#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "scalecalc/audit.hpp"
#include "scalecalc/named_parameters.hpp"
#include "weights/safetensors.hpp"

/// Weight files of small models, drawn by the standard library.
namespace scalecalc {

struct WeightsFolder : testing::TemporaryFolder {
  std::string file(const std::string& name = "w.safetensors") const { return *this / name; }
};

struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
/// By name, in the order in which they are stored.
using Weights = std::vector<std::pair<std::string, StoredTensor>>;

inline StoredTensor& tensor_of(Weights& weights, const std::string& name) {
  for (auto& [own, tensor] : weights)
    if (own == name) return tensor;
  throw std::out_of_range(name);
}

/// One value of a start of unit std.
inline float draw_unit(Start start, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  if (start == Start::uniform) {
    const float bound = std::sqrt(3.0f);
    return std::uniform_real_distribution<float>(-bound, bound)(random);
  }
  if (start != Start::truncated_normal) return normal(random);
  constexpr float std_within_2 = 0.87962566f;
  float value = normal(random);
  while (std::abs(value) > 2) value = normal(random);
  return value / std_within_2;
}

inline ModelSpec small_model(const std::string& preset_name, std::int64_t layers = 3) {
  ModelSpec spec = find_model(preset_name);
  spec.layers = layers;
  spec.width = 32;
  spec.heads = 4;
  if (spec.kv_heads > 0) spec.kv_heads = 2;
  spec.ffn = 96;
  spec.vocab = 150;
  spec.sequence = 24;
  return spec;
}

/// As the plan has it, under a naming, with a prefix. Tied tensors are left out.
inline Weights planned_weights(const ModelSpec& spec, const std::string& names, std::uint64_t seed,
                               const std::string& prefix = {}) {
  std::mt19937_64 random(seed);
  const InitPlan plan = init_plan(spec);
  ModelSpec named_spec = spec;
  named_spec.init.names = names;
  const NamedParameters named = name_parameters(plan.network, naming_of(named_spec, names));
  Weights weights;
  for (const NamedTensor& named_tensor : named.tensors) {
    if (named_tensor.tied_to) continue;
    StoredTensor tensor{named_tensor.shape, {}};
    std::int64_t values = 1, columns = 1, all = 0;
    for (const std::int64_t size : tensor.shape) values *= size;
    for (std::size_t k = static_cast<std::size_t>(named_tensor.axis); k < tensor.shape.size(); ++k)
      columns *= tensor.shape[k];
    for (const std::size_t part : named_tensor.parts) all += plan.parameters[part].columns;
    for (std::int64_t i = 0; i < values; ++i) {
      const std::int64_t place = i % columns * all / columns;
      std::size_t part = 0;
      for (std::int64_t end = 0; part < named_tensor.parts.size(); ++part) {
        end += plan.parameters[named_tensor.parts[part]].columns;
        if (place < end) break;
      }
      const PlannedParameter& due = plan.parameters[named_tensor.parts[part]];
      const double drawn = due.std == 0 ? 0 : due.std * draw_unit(due.start, random);
      tensor.values.push_back(static_cast<float>(due.mean + drawn));
    }
    weights.emplace_back(prefix + named_tensor.name, std::move(tensor));
  }
  return weights;
}

/// As the library draws them; values that it lists are left normal, of their std.
inline Weights drawn(const LibraryModel& model, std::uint64_t seed,
                     const std::string& prefix = {}) {
  std::mt19937_64 random(seed);
  Weights weights;
  for (const LibraryTensor& due : model.tensors) {
    StoredTensor tensor{due.shape, {}};
    std::int64_t count = 1;
    for (const std::int64_t size : due.shape) count *= size;
    const Start start = due.distribution == "uniform" ? Start::uniform : Start::normal;
    for (std::int64_t i = 0; i < count; ++i) {
      const double unit = due.std == 0 ? 0 : draw_unit(start, random);
      tensor.values.push_back(static_cast<float>(due.mean + due.std * unit));
    }
    weights.emplace_back(prefix + due.name, std::move(tensor));
  }
  return weights;
}

inline void store(const Weights& weights, const std::string& path,
                  weights::Dtype dtype = weights::Dtype::f32) {
  std::vector<weights::Outline> outlines;
  for (const auto& [name, tensor] : weights) outlines.push_back({name, tensor.shape});
  const auto fill = [&](std::size_t k, std::int64_t first, std::int64_t count, float* out) {
    const std::vector<float>& values = weights[k].second.values;
    std::copy(values.begin() + first, values.begin() + first + count, out);
  };
  weights::write(path, outlines, fill, {dtype, {}});
}

/// "what: verdict" of each finding.
inline std::string findings_of(const Audit& audit) {
  std::string text;
  for (const AuditFinding& finding : audit.findings)
    text += finding.what + " " + std::to_string(finding.count) + "/" + std::to_string(finding.all) +
            ": " + finding.verdict + "\n";
  return text;
}

}  // namespace scalecalc
