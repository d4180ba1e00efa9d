#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/reader.hpp"

/// Operations that give the same entries in other dimensions.
namespace scalecalc::graphs {

void Reader::view_of(const Node& node, const std::optional<View>& view) {
  const Value& from = value(node, 0);
  if (!view)
    fail(node, "it cuts or joins dimensions so that samples, tokens and features are mixed",
         "describe the model in a model file");
  if (sizes_of(*view) != sizes(node.outputs[0]))
    fail(node,
         "the graph contradicts itself: it says " + to_string(sizes(node.outputs[0])) +
             " where its input makes " + to_string(sizes_of(*view)),
         "export the module again");
  Value out = from;
  out.maker = here_;
  out.view = *view;
  result(node) = std::move(out);
}

/// Views of parameters, of tables and of statistics are looked at by their sizes alone, where they
/// are used.
bool Reader::pass_parameter(const Node& node) {
  const Value& from = value(node, 0);
  using Kind = Value::Kind;
  if (from.kind == Kind::signal || from.kind == Kind::words || from.kind == Kind::negated ||
      from.kind == Kind::turned)
    return false;
  if (from.kind == Kind::by_table) fail(node, "it turns what is multiplied by a table");
  same(node);
  return true;
}

/// Rows of a packed matrix, or of its biases.
bool Reader::split_parameter(const Node& node) {
  const Value from = value(node, 0);
  if (from.kind != Value::Kind::parameter) return false;
  const Sizes& all = sizes(*node.arguments[0].tensors[0]);
  const bool is_rows = !from.is_flipped && !from.has_one && all.size() <= 2 &&
                       dimension(node, integer(node, "dim", 0), all.size()) == 0;
  if (!is_rows) return false;
  std::int64_t start = integer(node, "start", 0);
  if (start < 0) start += all[0];
  if (integer(node, "step", 1) != 1) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Sizes& own = sizes(node.outputs[i]);
    if (own.size() != all.size() || start < 0 || start + own[0] > all[0])
      fail(node, "the graph contradicts itself: a slice leaves its tensor");
    Value& out = result(node, i);
    out = from;
    out.maker = here_;
    if (own[0] != all[0]) {
      out.first_row = from.first_row + start;
      out.rows = own[0];
    }
    start += own[0];
  }
  return true;
}

void Reader::reshape(const Node& node) {
  if (pass_parameter(node)) return;
  view_of(node, reshaped(value(node, 0).view, sizes(node.outputs[0])));
}

void Reader::flatten(const Node& node) {
  reshape(node);
}

void Reader::permute(const Node& node) {
  const Value& from = value(node, 0);
  const std::size_t rank = sizes(*node.arguments[0].tensors[0]).size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const Argument* dims = node.find("dims");
  if (dims != nullptr) {
    if (dims->integers.size() != rank) fail(node, "it names not all dimensions");
    std::vector<bool> is_there(rank, false);
    for (std::size_t i = 0; i < rank; ++i) {
      order[i] = dimension(node, dims->integers[i], rank);
      if (is_there[order[i]]) fail(node, "it names a dimension twice");
      is_there[order[i]] = true;
    }
  } else if (rank >= 2) {
    const std::size_t a = dimension(node, integer(node, "dim0", integer(node, "axis0", 0)), rank),
                      b = dimension(node, integer(node, "dim1", integer(node, "axis1", 1)), rank);
    std::swap(order[a], order[b]);
  }
  if (from.kind == Value::Kind::parameter && rank == 2 && order[0] == 1) {
    same(node);
    result(node).is_flipped = !from.is_flipped;
    return;
  }
  if (pass_parameter(node)) return;
  view_of(node, permuted(from.view, order));
}

void Reader::expand(const Node& node) {
  if (pass_parameter(node)) return;
  view_of(node, expanded(value(node, 0).view, sizes(node.outputs[0])));
}

void Reader::squeeze(const Node& node) {
  reshape(node);
}

/// One output of a slice along a dimension.
void Reader::set_slice(const Node& node, std::size_t output, std::size_t dim, std::int64_t start,
                       std::int64_t size, std::int64_t step) {
  const Value& from = value(node, 0);
  if (size == 0) {
    result(node, output).kind = Value::Kind::empty;
    return;
  }
  const auto view = sliced(from.view, dim, start, size, step);
  if (!view)
    fail(node, "it takes a part that is none of the features or tokens",
         "describe the model in a model file");
  if (!(view->token == from.view.token &&
        axes_of(*view, Axis::Of::token) == axes_of(from.view, Axis::Of::token)))
    fail(node, "it takes some of the tokens", "describe the model in a model file");
  Value out = from;
  out.maker = here_;
  out.view = *view;
  result(node, output) = std::move(out);
}

void Reader::slice(const Node& node) {
  if (split_parameter(node) || pass_parameter(node)) return;
  const Value& from = value(node, 0);
  const std::size_t dim = dimension(node, integer(node, "dim", 0), from.view.dims.size());
  const std::int64_t all = count(from.view.dims[dim]);
  std::int64_t start = integer(node, "start", 0);
  if (start < 0) start += all;
  start = std::clamp<std::int64_t>(start, 0, all);
  if (sizes(node.outputs[0]).size() != from.view.dims.size())
    fail(node, "the graph contradicts itself: a slice has other dimensions");
  const std::int64_t size = sizes(node.outputs[0])[dim];
  // One token of a sequence.
  if (size == 1 && all > 1 && from.view.dims[dim].size() == 1 &&
      from.view.dims[dim][0].of == Axis::Of::token && from.kind == Value::Kind::signal) {
    if (start != 0)
      fail(node, "it takes one token that is not the first", "take the mean of all, or the first");
    const Value input = whole(node, from);
    Part part;
    part.kind = Part::Kind::pool;
    part.pool = Part::Pool::first;
    part.inputs = {input.part};
    part.features = graph_.parts[input.part].features;
    View view = input.view;
    view.dims[dim].clear();
    become(node, add(node, std::move(part)), std::move(view));
    return;
  }
  set_slice(node, 0, dim, start, size, integer(node, "step", 1));
}

void Reader::select(const Node& node) {
  if (pass_parameter(node)) return;
  const Value& from = value(node, 0);
  const std::size_t dim = dimension(node, integer(node, "dim", 0), from.view.dims.size());
  const std::int64_t all = count(from.view.dims[dim]);
  std::int64_t index = integer(node, "index", 0);
  if (index < 0) index += all;
  const bool is_token = from.view.dims[dim].size() == 1 &&
                        from.view.dims[dim][0].of == Axis::Of::token &&
                        from.kind == Value::Kind::signal;
  if (is_token && all > 1) {
    if (index != 0 || axes_of(from.view, Axis::Of::token).size() != 1)
      fail(node, "it takes one token that is not the first", "take the mean of all, or the first");
    const Value input = whole(node, from);
    Part part;
    part.kind = Part::Kind::pool;
    part.pool = Part::Pool::first;
    part.inputs = {input.part};
    part.features = graph_.parts[input.part].features;
    become(node, add(node, std::move(part)), without(input.view, dim));
    return;
  }
  set_slice(node, 0, dim, index, 1, 1);
  result(node).view = without(result(node).view, dim);
}

void Reader::split(const Node& node) {
  const bool is_unbound = node.operation == "unbind";
  if ((!is_unbound && split_parameter(node)) || pass_parameter(node)) return;
  const Value from = value(node, 0);
  const std::size_t dim = dimension(node, integer(node, "dim", 0), from.view.dims.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Sizes& own = sizes(node.outputs[i]);
    const std::int64_t size = is_unbound ? 1 : dim < own.size() ? own[dim] : 1;
    set_slice(node, i, dim, start, size, 1);
    if (is_unbound) result(node, i).view = without(result(node, i).view, dim);
    start += size;
  }
}

/// Of learnt rows in front of tokens, or of parts of heads that turn.
void Reader::concatenate(const Node& node) {
  if (node.arguments.empty() || !node.arguments[0].is_tensor_list)
    fail(node, "it joins no tensors");
  const auto& list = node.arguments[0].tensors;
  std::vector<const Value*> values;
  for (const auto& one : list) {
    if (!one) fail(node, "it joins no tensors");
    values.push_back(&value_of(node, *one));
  }
  if (join_waves(node, values)) return;
  if (values.size() == 2 && values[1]->kind == Value::Kind::empty) {
    Value out = *values[0];
    out.maker = here_;
    result(node) = std::move(out);
    return;
  }
  const std::size_t rank = sizes(node.outputs[0]).size();
  const std::size_t dim = dimension(node, integer(node, "dim", 0), rank);
  const bool is_rows = values.size() == 2 && values[0]->kind == Value::Kind::parameter &&
                       values[1]->kind == Value::Kind::signal;
  if (is_rows && dim + 2 == rank) return class_tokens(node, *list[0], *list[1]);
  if (values.size() == 2 && concatenate_features(node, dim)) return;
  if (dim + 1 == rank && values.size() == 2) return concatenate_heads(node);
  fail(node, "it joins tensors: the network is no tree of layers",
       "sums, gates and heads of attention are known");
}

void Reader::class_tokens(const Node& node, std::size_t rows, std::size_t others) {
  const Value input = whole(node, values_[others]);
  const std::size_t rank = sizes(node.outputs[0]).size(), dim = rank - 2;
  if (sizes(rows).size() != rank || input.view.dims.size() != rank)
    fail(node, "it joins tensors of other dimensions");
  const Part& before = graph_.parts[input.part];
  if (!is_last(input.view) || count(input.view.dims[dim]) != before.tokens)
    fail(node, "it joins rows to what is no sequence of tokens");
  Part part;
  part.kind = Part::Kind::class_tokens;
  part.inputs = {input.part};
  part.weight = values_[rows].tensor;
  part.features = before.features;
  part.count = sizes(rows)[dim];
  part.tokens = before.tokens + part.count;
  View view = input.view;
  view.dims[dim] = {{Axis::Of::token, part.tokens, 1}};
  become(node, add(node, std::move(part)), std::move(view));
}

/// All features of two parts, side by side; false where it is no such.
bool Reader::concatenate_features(const Node& node, std::size_t dim) {
  const auto is_whole = [&](const Value& one) {
    return one.kind == Value::Kind::signal && !one.turns && dim < one.view.dims.size() &&
           count(axes_of({{one.view.dims[dim]}, 0, 0}, Axis::Of::feature)) ==
               graph_.parts[one.part].features;
  };
  const Value &first = value_of(node, *node.arguments[0].tensors[0]),
              &second = value_of(node, *node.arguments[0].tensors[1]);
  if (!is_whole(first) || !is_whole(second) || first.part == second.part) return false;
  const Value a = whole(node, first), b = whole(node, second);
  const Part &left = graph_.parts[a.part], &right = graph_.parts[b.part];
  if (left.tokens != right.tokens || left.height != right.height) return false;
  View view = a.view, other = b.view;
  other.dims[dim] = view.dims[dim];
  if (!(view == other)) return false;
  Part part;
  part.kind = Part::Kind::concat;
  part.inputs = {a.part, b.part};
  part.features = left.features + right.features;
  part.tokens = left.tokens;
  part.height = left.height;
  view.dims[dim] = {{Axis::Of::feature, part.features, 1}};
  become(node, add(node, std::move(part)), std::move(view));
  return true;
}

/// The halves of heads exchanged, or a part of each head that is turned and one that is not.
void Reader::concatenate_heads(const Node& node) {
  const Value& a = value_of(node, *node.arguments[0].tensors[0]);
  const Value& b = value_of(node, *node.arguments[0].tensors[1]);
  const auto is_beside = [&](const Value& first, const Value& second) {
    if (first.part != second.part || first.view.dims.empty() ||
        first.view.dims.size() != second.view.dims.size())
      return false;
    for (std::size_t i = 0; i + 1 < first.view.dims.size(); ++i)
      if (first.view.dims[i] != second.view.dims[i]) return false;
    return second.view.feature == first.view.feature + count(first.view.dims.back());
  };
  Value out;
  out.maker = here_;
  const Value* lower = nullptr;
  if (a.kind == Value::Kind::negated && b.kind == Value::Kind::signal && is_beside(b, a) &&
      count(a.view.dims.back()) == count(b.view.dims.back())) {
    out.kind = Value::Kind::turned;
    lower = &b;
    out.part = b.part;
  } else if (a.kind == Value::Kind::signal && b.kind == Value::Kind::signal && a.turns &&
             !b.turns && is_beside(a, b)) {
    out = a;
    out.maker = here_;
    lower = &a;
  } else {
    fail(node, "it joins tensors: the network is no tree of layers",
         "sums, gates and heads of attention are known");
  }
  View view = lower->view;
  const std::int64_t size = count(a.view.dims.back()) + count(b.view.dims.back());
  view.dims.back() = {{Axis::Of::feature, size, 1}};
  out.view = view;
  result(node) = std::move(out);
}

}  // namespace scalecalc::graphs
