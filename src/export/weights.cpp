#include "export/weights.hpp"

#include <algorithm>
#include <map>

#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace {

/// The shape of a tensor as a matrix of inputs and outputs: a convolution's taps are inputs.
struct Stored {
  std::int64_t inputs = 1, taps = 1, outputs = 1;

  explicit Stored(const NamedTensor& tensor) {
    const std::vector<std::int64_t>& shape = tensor.shape;
    outputs = shape[static_cast<std::size_t>(tensor.axis)];
    if (shape.size() == 2) inputs = shape[tensor.transposed ? 1 : 0];
    if (shape.size() != 4) return;
    if (tensor.mirrored) {
      inputs = shape[0];
      taps = shape[2] * shape[3];
      return;
    }
    inputs = shape[tensor.transposed ? 1 : 2];
    taps = tensor.transposed ? shape[2] * shape[3] : shape[0] * shape[1];
  }
  std::int64_t size() const { return inputs * taps * outputs; }
};

/// Assembles one tensor at a time from draws of its parts.
class Assembler {
 public:
  Assembler(const NamedPlan& plan, std::uint64_t seed, int threads)
      : plan_(plan), draws_(plan.plan.network, seed, threads) {}

  void fill(std::size_t index, std::int64_t first, std::int64_t count, float* out) {
    if (index != current_ || values_.empty()) assemble(index);
    std::copy_n(values_.data() + first, count, out);
  }

 private:
  void assemble(std::size_t index) {
    const NamedTensor& tensor = plan_.named.tensors[index];
    const Stored stored(tensor);
    values_.assign(static_cast<std::size_t>(stored.size()), 0);
    if (tensor.mirrored) return mirror(tensor, stored);
    std::int64_t offset = 0;
    for (const std::size_t part : tensor.parts) {
      const std::vector<float> drawn = draws_(part);
      const auto columns = static_cast<std::int64_t>(drawn.size()) / (stored.inputs * stored.taps);
      place(tensor, stored, drawn, columns, offset);
      offset += columns / tensor.rounds;
    }
    current_ = index;
  }

  /// Row `tap * inputs + input` of a draw, column by column, to where the layout has it: `offset`
  /// outputs behind the start of the column's round.
  void place(const NamedTensor& tensor, const Stored& stored, const std::vector<float>& drawn,
             std::int64_t columns, std::int64_t offset) {
    const std::int64_t share = columns / tensor.rounds, round = stored.outputs / tensor.rounds;
    for (std::int64_t tap = 0; tap < stored.taps; ++tap)
      for (std::int64_t input = 0; input < stored.inputs; ++input) {
        const float* row = drawn.data() + (tap * stored.inputs + input) * columns;
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int64_t output = c / share * round + offset + c % share;
          const std::int64_t at = tensor.transposed
                                      ? (output * stored.inputs + input) * stored.taps + tap
                                      : (tap * stored.inputs + input) * stored.outputs + output;
          values_[static_cast<std::size_t>(at)] = row[c];
        }
      }
  }

  /// Of a transposed convolution: row `tap * inputs/groups + input`, to (input, output of its
  /// group, tap).
  void mirror(const NamedTensor& tensor, const Stored& stored) {
    const std::vector<float> drawn = draws_(tensor.parts.front());
    const std::int64_t columns = plan_.plan.parameters[tensor.parts.front()].columns,
                       groups = columns / stored.outputs, each = stored.inputs / groups;
    for (std::int64_t tap = 0; tap < stored.taps; ++tap)
      for (std::int64_t input = 0; input < each; ++input)
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int64_t of = c / stored.outputs * each + input;
          const std::int64_t at = (of * stored.outputs + c % stored.outputs) * stored.taps + tap;
          values_[static_cast<std::size_t>(at)] =
              drawn[static_cast<std::size_t>((tap * each + input) * columns + c)];
        }
  }

  const NamedPlan& plan_;
  WeightDraws draws_;
  std::size_t current_ = 0;
  std::vector<float> values_;
};

weights::Dtype dtype_from(const std::string& name) {
  if (name == "f32") return weights::Dtype::f32;
  if (name == "f16") return weights::Dtype::f16;
  if (name == "bf16") return weights::Dtype::bf16;
  throw unknown_name("dtype", name, {"f32", "f16", "bf16"}, "--dtype");
}

}  // namespace

weights::WriteOptions export_room::file_options(const WeightOptions& options) {
  weights::WriteOptions file;
  file.dtype = dtype_from(options.dtype);
  file.metadata = {{"format", "pt"}};
  return file;
}

void write_weights(const NamedPlan& plan, const std::string& path, const WeightOptions& options) {
  if (!plan.named.unnamed.empty())
    throw Error(ErrorKind::input,
                plan.naming.name + " has no name for " +
                    plan.plan.parameters[plan.named.unnamed.front()].path,
                "names", "add it to [names] of the model file, or use --names scalecalc");
  Assembler assembler(plan, options.seed, options.threads);
  export_room::write_tensors(path, plan.named.tensors, assembler, options);
}

}  // namespace scalecalc
