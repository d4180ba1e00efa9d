#include "graphs/tree.hpp"

#include <algorithm>
#include <map>

namespace scalecalc::graphs {
namespace {

using Kind = Part::Kind;

constexpr int deepest_tree = 30;  ///< as nested as layers of a model file may be

/// What the keys, or the queries, of an attention are a map of.
std::size_t map_of(const std::vector<Part>& parts, std::size_t part) {
  if (parts[part].kind == Kind::norm) part = parts[part].inputs[0];
  return parts[part].kind == Kind::linear ? parts[part].inputs[0] : nothing;
}
std::size_t keys_from(const std::vector<Part>& parts, std::size_t attention) {
  return map_of(parts, parts[attention].inputs[1]);
}

/// What attention reads that hangs on none of the inputs of its queries; nothing where there is no
/// such, or several.
std::size_t memory_of(const PartGraph& graph) {
  const std::vector<Part>& parts = graph.parts;
  // The inputs that each hangs on, but through keys, one bit each.
  std::vector<std::uint64_t> of(parts.size(), 0);
  std::size_t memory = nothing;
  int count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].inputs.empty()) {
      if (count == 64) return nothing;
      of[i] = std::uint64_t{1} << count++;
    }
    if (parts[i].kind == Kind::attention) {
      of[i] = of[parts[i].inputs[0]];
      const std::size_t from = keys_from(parts, i);
      if (from == nothing || (of[from] & of[i]) != 0) continue;
      if (memory != nothing && memory != from) return nothing;
      memory = from;
      continue;
    }
    if (parts[i].kind == Kind::modulation) {
      of[i] = of[parts[i].inputs[0]];
      continue;
    }
    for (const std::size_t input : parts[i].inputs) of[i] |= of[input];
  }
  return memory;
}

class Tree {
 public:
  /// Of the layers before `output`; attention that reads `memory` has queries alone.
  Tree(const Program& program, const PartGraph& graph, std::size_t output, std::size_t memory)
      : program_(program), parts_(graph.parts), output_(output), memory_(memory) {
    find_reached();
    find_forks();
  }

  std::vector<Item> run() {
    std::size_t output = output_;
    const Part& last = parts_[output];
    // Softmax at the end, which the loss has.
    if (last.kind == Kind::function && last.function.text == "softmax") output = last.inputs[0];
    std::vector<Item> items = chain(output, nothing, 0);
    check_once(items);
    return items;
  }

 private:
  [[noreturn]] void fail(std::size_t part, const std::string& what,
                         const std::string& hint = "describe the model in a model file") const {
    const std::size_t node = parts_[part].node;
    if (node == nothing) throw wrong_graph(program_, what, hint);
    throw wrong_node(program_, program_.nodes[node], what, hint);
  }

  bool reads_memory(std::size_t at) const {
    return memory_ != nothing && parts_[at].kind == Kind::attention &&
           keys_from(parts_, at) == memory_;
  }

  std::vector<std::size_t> inputs_of(std::size_t at) const {
    if (reads_memory(at) || parts_[at].kind == Kind::modulation) return {parts_[at].inputs[0]};
    return parts_[at].inputs;
  }

  void find_reached() {
    is_reached_.assign(parts_.size(), false);
    is_reached_[output_] = true;
    for (std::size_t i = parts_.size(); i-- > 0;)
      if (is_reached_[i])
        for (const std::size_t input : inputs_of(i)) is_reached_[input] = true;
  }

  /// For each part the last one that every way from the input to it goes through (its immediate
  /// dominator): where the branches of a sum have parted.
  void find_forks() {
    fork_.assign(parts_.size(), nothing);
    depth_.assign(parts_.size(), 0);
    std::size_t root = nothing;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!is_reached_[i]) continue;
      if (parts_[i].inputs.empty()) {
        if (root != nothing) two_inputs(root, i);
        root = i;
        continue;
      }
      std::size_t fork = parts_[i].inputs[0];
      for (const std::size_t input : inputs_of(i)) fork = common(fork, input);
      fork_[i] = fork;
      depth_[i] = depth_[fork] + 1;
    }
  }

  std::size_t common(std::size_t a, std::size_t b) const {
    while (a != b) {
      if (depth_[a] < depth_[b])
        b = fork_[b];
      else
        a = fork_[a];
    }
    return a;
  }

  /// Names where they meet.
  [[noreturn]] void two_inputs(std::size_t first, std::size_t second) const {
    std::vector<int> of(parts_.size(), 0);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i == first) of[i] = 1;
      if (i == second) of[i] = 2;
      for (const std::size_t input : inputs_of(i)) of[i] |= of[input];
      if (is_reached_[i] && of[i] == 3)
        fail(i, "two inputs meet: the network is no tree of layers",
             "two inputs may meet in attention alone, as an encoder's and a decoder's do");
    }
    fail(second, "the network has two inputs");
  }

  /// The layers between `stop`, without it, and `part`; from the input on where there is no stop.
  std::vector<Item> chain(std::size_t part, std::size_t stop, int depth) {
    if (depth > deepest_tree) fail(part, "branches are nested too deep");
    std::vector<Item> items;
    while (part != stop) {
      if (part == nothing) break;
      if (++made_ > 4 * parts_.size() + 16)
        fail(part, "tensors are used in many places: the network is no tree of layers");
      items.push_back(item_of(part, depth));
      part = before_;
    }
    std::reverse(items.begin(), items.end());
    return items;
  }

  /// The layer that ends with this part; before_ becomes what it reads.
  Item item_of(std::size_t at, int depth) {
    const Part& part = parts_[at];
    Item item;
    item.part = at;
    if (part.kind == Kind::sum) return residual(at, depth);
    if (part.kind == Kind::concat) return concat(at, depth);
    if (part.kind == Kind::product) return gated(at);
    if (part.kind == Kind::attention)
      fail(at, "no linear map follows the attention", "end it with an output projection");
    if (part.kind == Kind::centred) fail(at, "it takes a mean away and is no norm");
    if (part.kind == Kind::linear) {
      std::size_t mixed = part.inputs[0], norm = nothing;
      if (parts_[mixed].kind == Kind::norm &&
          parts_[parts_[mixed].inputs[0]].kind == Kind::attention) {
        norm = mixed;
        mixed = parts_[mixed].inputs[0];
      }
      if (parts_[mixed].kind == Kind::attention) return attention(at, mixed, norm);
    }
    if (part.kind == Kind::norm && part.is_of_heads)
      fail(at, "it normalises heads where no attention is");
    before_ = part.inputs.empty() ? nothing : part.inputs[0];
    return item;
  }

  /// A projection and the norm of its heads.
  std::size_t projection(std::size_t part, std::size_t& norm, std::size_t attention) const {
    if (parts_[part].kind == Kind::norm) {
      norm = part;
      part = parts_[part].inputs[0];
    }
    if (parts_[part].kind != Kind::linear)
      fail(attention, "its queries, keys and values are no linear maps of the stream");
    return part;
  }

  Item attention(std::size_t o, std::size_t attention, std::size_t mix_norm) {
    const Part& part = parts_[attention];
    Item item;
    item.kind = Item::Kind::attention;
    item.part = item.o = o;
    item.attention = attention;
    item.mix_norm = mix_norm;
    std::size_t none = nothing;
    item.q = projection(part.inputs[0], item.q_norm, attention);
    item.k = projection(part.inputs[1], item.k_norm, attention);
    item.v = projection(part.inputs[2], none, attention);
    if (none != nothing) fail(attention, "its values are normalised");
    const std::size_t from = parts_[item.q].inputs[0], keys = parts_[item.k].inputs[0],
                      values = parts_[item.v].inputs[0];
    item.is_cross = reads_memory(attention) && values == memory_;
    if (!item.is_cross && (keys != from || values != from))
      fail(attention, "its queries, keys and values are maps of different tensors",
           "attention to the output of another stack is known, of one alone");
    before_ = from;
    return item;
  }

  Item gated(std::size_t at) {
    const auto base = [&](std::size_t part) {
      return parts_[part].kind == Kind::function ? parts_[part].inputs[0] : part;
    };
    std::size_t a = parts_[at].inputs[0], b = parts_[at].inputs[1];
    if (parts_[a].kind != Kind::function) std::swap(a, b);
    const std::size_t gate = base(a), in = b;
    const bool is_gate = parts_[gate].kind == Kind::linear && parts_[in].kind == Kind::linear &&
                         parts_[gate].inputs[0] == parts_[in].inputs[0];
    if (!is_gate)
      fail(at, "two tensors are multiplied that are no two linear maps of one",
           "gates f(x W) * (x V) are known");
    Item item;
    item.kind = Item::Kind::gated;
    item.part = at;
    item.gate = gate;
    item.in = in;
    if (a != gate) item.function = parts_[a].function;
    before_ = parts_[gate].inputs[0];
    return item;
  }

  /// c of branches that end, or begin, with c x.
  double take_factor(std::vector<Item>& items) const {
    double factor = 1;
    while (!items.empty() && items.back().kind == Item::Kind::part) {
      const Part& part = parts_[items.back().part];
      if (part.kind != Kind::function || !part.function.factor) break;
      factor *= *part.function.factor;
      items.pop_back();
    }
    return factor;
  }

  Item residual(std::size_t at, int depth) {
    const std::size_t fork = fork_[at];
    Item item;
    item.kind = Item::Kind::residual;
    item.part = at;
    item.shortcut = chain(parts_[at].inputs[0], fork, depth + 1);
    item.body = chain(parts_[at].inputs[1], fork, depth + 1);
    item.skip = take_factor(item.shortcut);
    item.branch = take_factor(item.body);
    const bool is_turned =
        item.body.empty() || (!item.shortcut.empty() && item.body.size() < item.shortcut.size());
    if (is_turned) {
      std::swap(item.body, item.shortcut);
      std::swap(item.skip, item.branch);
    }
    if (item.body.empty()) fail(at, "a tensor is added to itself");
    if (item.body.size() > 1 && item.body.back().kind == Item::Kind::part &&
        parts_[item.body.back().part].kind == Kind::scale) {
      item.scale = item.body.back().part;
      item.body.pop_back();
      item.branch *= take_factor(item.body);
    }
    before_ = fork;
    return item;
  }

  /// A tensor beside what layers make of it.
  Item concat(std::size_t at, int depth) {
    const std::size_t fork = fork_[at];
    Item item;
    item.kind = Item::Kind::concat;
    item.part = at;
    const std::vector<std::size_t>& inputs = parts_[at].inputs;
    item.is_behind = inputs[1] == fork;
    if (inputs[0] != fork && inputs[1] != fork)
      fail(at, "it joins two tensors of which none is what the other is made of",
           "a skip that is concatenated with what follows it is known");
    item.body = chain(inputs[item.is_behind ? 0 : 1], fork, depth + 1);
    before_ = fork;
    return item;
  }

  /// A map that two branches read is drawn once, and what it gives goes to both.
  void check_once(const std::vector<Item>& items) const {
    std::map<std::size_t, int> seen;
    for_each_part(items, [&](std::size_t part) {
      const Part& one = parts_[part];
      const bool is_drawn = one.kind == Kind::linear || one.kind == Kind::convolution ||
                            one.kind == Kind::attention || one.kind == Kind::embedding;
      if (is_drawn && ++seen[part] > 1)
        fail(part,
             "its output is used in two places beside a residual: the network is no tree of "
             "layers");
    });
  }

  const Program& program_;
  const std::vector<Part>& parts_;
  std::size_t output_, memory_, before_ = nothing, made_ = 0;
  std::vector<bool> is_reached_;
  std::vector<std::size_t> fork_, depth_;
};

}  // namespace

Stacks stacks_of(const Program& program, const PartGraph& graph) {
  const std::size_t memory = memory_of(graph);
  Stacks stacks;
  stacks.condition = condition_of(program, graph);
  stacks.items = Tree(program, graph, graph.output, memory).run();
  if (memory != nothing) stacks.memory = Tree(program, graph, memory, nothing).run();
  return stacks;
}

void for_each_part(const std::vector<Item>& items, const std::function<void(std::size_t)>& use) {
  for (const Item& item : items) {
    for_each_part(item.body, use);
    for_each_part(item.shortcut, use);
    if (item.kind == Item::Kind::part) use(item.part);
    for (const std::size_t part : {item.q_norm, item.q, item.k_norm, item.k, item.v, item.attention,
                                   item.mix_norm, item.o, item.gate, item.in, item.scale})
      if (part != nothing) use(part);
  }
}

}  // namespace scalecalc::graphs
