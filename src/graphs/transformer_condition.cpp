#include <fmt/format.h>

#include <cstdlib>

#include "graphs/transformer_reader.hpp"

/// What a condition makes of a transformer's blocks (DiT).
namespace scalecalc::graphs {

using Kind = Part::Kind;

bool TransformerReader::is_modulation(const std::vector<const Item*>& body, std::size_t i) const {
  return i < body.size() && body[i]->kind == Item::Kind::part &&
         known_.part(body[i]->part).kind == Kind::modulation;
}

void TransformerReader::modulated(std::vector<const Item*>& body, const Item& item,
                                  const std::string& path) {
  const bool has_norm = !body.empty() && body[0]->kind == Item::Kind::part &&
                        known_.part(body[0]->part).kind == Kind::norm;
  if (!has_norm || !is_modulation(body, 1))
    known_.fail(item.part,
                "a condition modulates some norms, and none that this branch begins with");
  modulated_norm(body[1]->part, path);
  if (body.size() < 3 || !is_modulation(body, body.size() - 1))
    known_.fail(item.part,
                "a condition modulates the norm of this branch, which has no gate at its end",
                "known are branches that end times a map of the condition");
  const std::size_t gate = body.back()->part;
  const Part& part = known_.part(gate);
  if (part.has_one || part.inputs.size() != 2)
    known_.fail(gate, "the gate of a branch is 1 + s, or shifts it",
                "known are branches that end times a map of the condition");
  map_of_condition(part.inputs[1], path + ".modulation.gate");
  body.pop_back();
  body.erase(body.begin() + 1);
}

/// x (1 + s) + t behind a norm without gain and shift.
void TransformerReader::modulated_norm(std::size_t index, const std::string& path) {
  const Part& part = known_.part(index);
  if (!part.has_one || part.inputs.size() != 3)
    known_.fail(index,
                part.has_one ? "a norm is modulated without a shift"
                             : "a norm is multiplied by s in the place of 1 + s",
                "known is x (1 + s) + t of a norm x");
  const Part& norm = known_.part(part.inputs[0]);
  if (norm.weight != nothing || norm.bias != nothing)
    known_.fail(part.inputs[0],
                "a norm that a condition modulates has a gain or a shift of its own",
                "use elementwise_affine = False");
  map_of_condition(part.inputs[1], path + ".modulation.scale");
  map_of_condition(part.inputs[2], path + ".modulation.shift");
}

void TransformerReader::map_of_condition(std::size_t map, const std::string& path) {
  const Part& part = known_.part(map);
  if (!condition_maps_.emplace(known_.constants.target(part.weight), part.first_row).second)
    known_.fail(map, "one map of the condition modulates in several places",
                "known is a map of its own for each branch");
  weigh("modulation", map);
  names_.map(map, path);
  agree(condition_bias_, part.bias != nothing);
}

/// What it is made of. False where blocks differ.
bool TransformerReader::condition() {
  const GraphCondition& made = *known_.condition;
  const Part &root = known_.part(made.root), &in = known_.part(made.in);
  if (in.features != spec_.width)
    known_.fail(made.in, "the condition has another width than the stream",
                "known is a condition as wide as the model");
  ModelSpec::Condition& spec = spec_.condition;
  spec.features = root.features;
  if (root.second) {
    spec.second = *root.second;
    spec.cross = std::strtod(fmt::format("{:.3g}", root.cross).c_str(), nullptr);
  } else {
    known_.remarks.insert(
        "the vector of each sample that modulates is taken to be standard normal: "
        "--condition-second and --condition-cross say otherwise");
  }
  for (const auto& [suffix, map] : {std::pair{".in", made.in}, {".out", made.out}}) {
    weigh("condition", map);
    names_.map(map, std::string("condition") + suffix);
    agree(condition_bias_, known_.part(map).bias != nothing);
  }
  if (made.labels != nothing) {
    const Part& table = known_.part(made.labels);
    spec.classes = known_.program.tensors[table.weight].sizes[0];
    if (const auto figure = known_.figures.tensor(table.weight))
      spec.class_std = neat(figure->std, figure->counted);
    names_.tensor(table.weight, "condition.class");
    known_.remarks.insert("labels are taken to be drawn evenly from all rows of their table");
  }
  spec_.modulation = AdaptiveNorm::adaln_zero;
  if (spec_.input.kind == InputKind::gaussian) {
    spec_.loss = Loss::mse;
    known_.remarks.insert(
        "the loss is taken to be half the squared error of standard normal targets: --loss and "
        "--target-second say otherwise");
  }
  return is_one_;
}

/// adaLN-zero where all maps that modulate start at 0, or where nothing is known of them.
void TransformerReader::set_modulation() {
  const auto found = weights_.find("modulation");
  if (!known_.condition || found == weights_.end()) return;
  if (pooled(found->second)->std > 0)
    spec_.modulation = AdaptiveNorm::adaln;
  else
    weights_.erase(found);
}

}  // namespace scalecalc::graphs
