/// Writes the weights of a preset as its plan draws them, under its own names.
/// usage: bench_audit PRESET f32|f16|bf16 FILE
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "scalecalc/init.hpp"
#include "scalecalc/named_parameters.hpp"
#include "tensor/draw.hpp"
#include "weights/safetensors.hpp"

namespace {

using namespace scalecalc;

/// Parts that are packed into one tensor start alike in the presets that this is for.
void fill(const PlannedParameter& due, const std::string& name, std::int64_t first,
          std::int64_t count, float* values) {
  if (due.std == 0) {
    std::fill_n(values, count, static_cast<float>(due.mean));
    return;
  }
  const tensor::Draw draw{tensor::Draw::Kind::normal, due.std, {1, tensor::stream_id(name)}};
  tensor::fill(draw, static_cast<std::uint64_t>(first), count, values);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_audit PRESET f32|f16|bf16 FILE\n");
    return 2;
  }
  const std::string dtype = argv[2];
  const InitPlan plan = init_plan(find_model(argv[1]));
  const NamedParameters named =
      name_parameters(plan.network, naming_of(find_model(argv[1]), "torch"));
  std::vector<weights::Outline> outlines;
  std::vector<std::size_t> parts;
  for (const NamedTensor& tensor : named.tensors) {
    if (tensor.tied_to) continue;
    outlines.push_back({tensor.name, tensor.shape});
    parts.push_back(tensor.parts.front());
  }
  weights::write(argv[3], outlines,
                 [&](std::size_t k, std::int64_t first, std::int64_t count, float* values) {
                   fill(plan.parameters[parts[k]], outlines[k].name, first, count, values);
                 },
                 {dtype == "f32"   ? weights::Dtype::f32
                  : dtype == "f16" ? weights::Dtype::f16
                                   : weights::Dtype::bf16,
                  {{"format", "pt"}}});
  return 0;
}
