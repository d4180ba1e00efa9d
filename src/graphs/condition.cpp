#include "graphs/condition.hpp"

#include <set>
#include <string>

namespace scalecalc::graphs {
namespace {

using Kind = Part::Kind;

/// Reads what stands beside the stream, from its maps to the input.
class ConditionReader {
 public:
  ConditionReader(const Program& program, const PartGraph& graph)
      : program_(program), parts_(graph.parts), output_(graph.output) {}

  std::optional<GraphCondition> run() {
    std::vector<bool> is_reached(parts_.size(), false);
    is_reached[output_] = true;
    for (std::size_t i = parts_.size(); i-- > 0;) {
      if (!is_reached[i]) continue;
      for (const std::size_t input : parts_[i].inputs) is_reached[input] = true;
      if (parts_[i].kind == Kind::modulation) modulation(i);
    }
    if (condition_ == nothing) return std::nullopt;
    return made_of(condition_);
  }

 private:
  [[noreturn]] void fail(std::size_t part, const std::string& what) const {
    const std::string hint =
        "known is silu(c) of one c = silu(e W) V of a time or a vector e of each sample, and a row "
        "of a table beside it, whose maps each modulate once";
    const std::size_t node = parts_[part].node;
    if (node == nothing) throw wrong_graph(program_, what, hint);
    throw wrong_node(program_, program_.nodes[node], what, hint);
  }

  /// silu(x) alone.
  bool is_silu(std::size_t at) const {
    return parts_[at].kind == Kind::function && activation_of(parts_[at].function) == "silu";
  }

  void modulation(std::size_t at) {
    for (std::size_t i = 1; i < parts_[at].inputs.size(); ++i) {
      const std::size_t map = parts_[at].inputs[i];
      if (parts_[map].kind != Kind::linear || !is_silu(parts_[map].inputs[0]))
        fail(at, "the vector of each sample that modulates it is no map of a condition");
      if (!maps_.insert(map).second) fail(at, "a map of the condition modulates a second time");
      const std::size_t from = parts_[parts_[map].inputs[0]].inputs[0];
      if (condition_ != nothing && condition_ != from)
        fail(at, "it is modulated by another condition than what follows it");
      condition_ = from;
    }
  }

  GraphCondition made_of(std::size_t at) const {
    GraphCondition made;
    std::size_t mapped = at;
    if (parts_[at].kind == Kind::sum) {
      mapped = parts_[at].inputs[0];
      made.labels = parts_[at].inputs[1];
      if (parts_[mapped].kind == Kind::embedding) std::swap(mapped, made.labels);
      if (parts_[made.labels].kind != Kind::embedding)
        fail(at, "the condition is a sum of which no term is a row of a table");
    }
    const auto is_map = [&](std::size_t part) {
      return parts_[part].kind == Kind::linear && parts_[part].all_rows == 0;
    };
    made.out = mapped;
    if (!is_map(mapped) || !is_silu(parts_[mapped].inputs[0]))
      fail(mapped, "the condition is no linear map of silu of another");
    made.in = parts_[parts_[mapped].inputs[0]].inputs[0];
    if (!is_map(made.in)) fail(made.in, "the condition is no linear map of silu of another");
    made.root = parts_[made.in].inputs[0];
    const Part& root = parts_[made.root];
    if (root.tokens != 1 || (root.kind != Kind::waves && root.kind != Kind::input))
      fail(made.in, "the condition is no map of a time or of an input of each sample");
    return made;
  }

  const Program& program_;
  const std::vector<Part>& parts_;
  std::size_t output_, condition_ = nothing;
  std::set<std::size_t> maps_;
};

}  // namespace

std::optional<GraphCondition> condition_of(const Program& program, const PartGraph& graph) {
  return ConditionReader(program, graph).run();
}

}  // namespace scalecalc::graphs
