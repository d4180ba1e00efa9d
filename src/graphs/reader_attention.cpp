#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/reader.hpp"

/// Attention, in one operation or written out.
namespace scalecalc::graphs {
namespace {

using Kind = Value::Kind;

/// What masked scores are below.
constexpr double hidden = -1e4;

}  // namespace

void Reader::become_scores(const Node& node, Scores scores) {
  Value& out = result(node);
  out.kind = Kind::scores;
  out.scores = std::make_shared<const Scores>(std::move(scores));
}

void Reader::attention(const Node& node) {
  Scores scores;
  scores.q = value(node, 0);
  scores.k = value(node, 1);
  const Value v = value(node, 2);
  if (scores.q.view.dims.empty()) fail(node, "its queries are no heads");
  scores.scale =
      number(node, "scale", 1 / std::sqrt(static_cast<double>(count(scores.q.view.dims.back()))));
  const Argument *causal = node.find("is_causal"), *shares = node.find("enable_gqa"),
                 *mask = node.find("attn_mask");
  scores.is_causal = causal != nullptr && causal->flag == true;
  scores.shares_keys = shares != nullptr && shares->flag == true;
  if (mask != nullptr && mask->tensors.size() == 1 && mask->tensors[0]) {
    const std::size_t tensor = *mask->tensors[0];
    const Value& masking = value_of(node, tensor);
    if (masking.kind == Kind::table)
      bias_scores(node, scores, masking);
    else if (!constants_.is_constant(tensor))
      fail(node, "its mask hangs on an input");
    else
      scores.masks.emplace_back(tensor, program_.tensors[tensor].is_float ? Scores::Masks::is_added
                                                                          : Scores::Masks::stays);
  }
  if (number(node, "dropout_p", 0) > 0)
    remarks_.insert(
        fmt::format("dropout {} of attention weights is left out", number(node, "dropout_p", 0)));
  mix_heads(node, scores, v);
}

void Reader::scores_of(const Node& node, const Value& q, const Value& k) {
  Scores scores;
  scores.q = q;
  scores.k = k;
  if (k.view.dims.size() < 2) fail(node, "two tensors that hang on the input are multiplied");
  std::swap(scores.k.view.dims[k.view.dims.size() - 1], scores.k.view.dims[k.view.dims.size() - 2]);
  become_scores(node, std::move(scores));
}

/// A mask and the product of queries and keys in one (nn.MultiheadAttention).
void Reader::masked_product(const Node& node) {
  if (number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1)
    fail(node, "it has factors alpha and beta");
  const Value mask = value(node, 0), q = value(node, 1), k = value(node, 2);
  if (mask.kind != Kind::constant || q.kind != Kind::signal || k.kind != Kind::signal)
    fail(node, "it is no mask and product of queries and keys");
  scores_of(node, q, k);
  const Value made = result(node);
  mask_scores(node, made, mask.tensor, Scores::Masks::is_added);
}

void Reader::scale_scores(const Node& node, const Value& given, double factor) {
  Scores scores = *given.scores;
  if (scores.is_softmax) fail(node, "it changes the weights of attention");
  if (scores.relative) fail(node, "it scales scores behind their learnt biases");
  scores.scale *= factor;
  if (scores.is_under_tanh) scores.softcap = factor;
  scores.is_under_tanh = false;
  become_scores(node, std::move(scores));
}

void Reader::cap_scores(const Node& node, const Value& given) {
  Scores scores = *given.scores;
  if (node.operation != "tanh" || scores.is_softmax || !scores.masks.empty() || scores.relative)
    fail(node, "it changes scores of attention as no known one does");
  scores.is_under_tanh = true;
  become_scores(node, std::move(scores));
}

void Reader::mask_scores(const Node& node, const Value& given, std::size_t mask,
                         Scores::Masks how) {
  Scores scores = *given.scores;
  if (scores.is_softmax) fail(node, "it changes the weights of attention");
  scores.masks.emplace_back(mask, how);
  become_scores(node, std::move(scores));
}

void Reader::fill_mask(const Node& node) {
  const bool fills = node.operation == "masked_fill";
  if (node.arguments.size() < 3) fail(node, "it has too few arguments");
  const std::size_t mask_at = fills ? 1 : 0;
  const auto is_hidden = [&](std::size_t argument) {
    const auto number = scalar(node, argument);
    if (number) return *number < hidden;
    // A constant of many entries is looked at in its first.
    const Argument& given = node.arguments[argument];
    if (given.tensors.size() != 1 || !given.tensors[0]) return false;
    const auto first = constants_.at(*given.tensors[0], Sizes(sizes(*given.tensors[0]).size(), 0));
    return first && *first < hidden;
  };
  const auto is_scores = [&](std::size_t argument) {
    const auto& tensors = node.arguments[argument].tensors;
    return tensors.size() == 1 && tensors[0] && values_[*tensors[0]].kind == Kind::scores;
  };
  const auto& masks = node.arguments[mask_at].tensors;
  const bool has_mask = masks.size() == 1 && masks[0] && constants_.is_constant(*masks[0]);
  if (has_mask && fills && is_scores(0) && is_hidden(2))
    return mask_scores(node, value(node, 0), *masks[0], Scores::Masks::goes);
  if (has_mask && !fills && is_scores(1) && is_hidden(2))
    return mask_scores(node, value(node, 1), *masks[0], Scores::Masks::stays);
  if (has_mask && !fills && is_scores(2) && is_hidden(1))
    return mask_scores(node, value(node, 2), *masks[0], Scores::Masks::goes);
  fail(node, "it chooses between tensors as no mask of attention does");
}

/// "nhwpqc->nchpwq": the same entries in other dimensions.
bool Reader::permute_letters(const Node& node) {
  const Argument *equation = node.find("equation"), *list = node.find("tensors");
  std::string text = equation == nullptr ? "" : equation->text;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos || list == nullptr || list->tensors.size() != 1 ||
      !list->tensors[0])
    return false;
  const std::string from = text.substr(0, arrow), to = text.substr(arrow + 2);
  const Value& given = value_of(node, *list->tensors[0]);
  if (given.kind != Kind::signal || given.view.dims.size() != from.size() ||
      from.size() != to.size())
    return false;
  std::vector<std::size_t> order;
  for (const char c : to) {
    const std::size_t at = from.find(c);
    if (at == std::string::npos || to.find(c) != to.rfind(c)) return false;
    order.push_back(at);
  }
  Value out = given;
  out.maker = here_;
  out.view = permuted(given.view, order);
  if (sizes_of(out.view) != sizes(node.outputs[0]))
    fail(node, "the graph contradicts itself: it gives other sizes than its letters have");
  result(node) = std::move(out);
  return true;
}

/// "bihd,bjhd->bhij": scores of queries and keys; "bhij,bjhd->bihd": what weights mix.
void Reader::einsum(const Node& node) {
  if (permute_letters(node)) return;
  const Argument* equation = node.find("equation");
  const Argument* list = node.find("tensors");
  std::string text = equation == nullptr ? "" : equation->text;
  std::erase(text, ' ');
  const std::size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow ||
      list == nullptr || list->tensors.size() != 2 || !list->tensors[0] || !list->tensors[1])
    fail(node, "it is no product of two tensors");
  const std::string a = text.substr(0, comma), b = text.substr(comma + 1, arrow - comma - 1),
                    out = text.substr(arrow + 2);
  const auto has = [](const std::string& letters, char c) {
    return letters.find(c) != std::string::npos;
  };
  // Letters of both and the result count heads; one of both alone is summed over.
  std::string heads, summed;
  for (const char c : a)
    if (has(b, c)) (has(out, c) ? heads : summed) += c;
  const Value first = value_of(node, *list->tensors[0]), second = value_of(node, *list->tensors[1]);
  const auto order = [&](const std::string& from, const std::string& to) {
    std::vector<std::size_t> places;
    for (const char c : to) places.push_back(from.find(c));
    return places;
  };
  const bool is_one = summed.size() == 1 && a.size() == heads.size() + 2 &&
                      b.size() == heads.size() + 2 && out.size() == heads.size() + 2;
  const auto own = [&](const std::string& letters) {
    for (const char c : letters)
      if (!has(heads, c) && !has(summed, c)) return std::string(1, c);
    return std::string();
  };
  if (!is_one || own(a).empty() || own(b).empty())
    fail(node, "it is no product that attention has");
  if (first.kind == Kind::signal && second.kind == Kind::signal) {
    const std::string in_order = out.substr(0, heads.size());
    if (out != in_order + own(a) + own(b) || first.view.dims.size() != a.size() ||
        second.view.dims.size() != b.size())
      fail(node, "its scores are not (..., queries, keys)");
    Value q = first, k = second;
    q.view = permuted(first.view, order(a, in_order + own(a) + summed));
    k.view = permuted(second.view, order(b, in_order + summed + own(b)));
    return scores_of(node, q, k);
  }
  if (first.kind != Kind::scores || second.kind != Kind::signal || !first.scores->is_softmax ||
      second.view.dims.size() != b.size() || a.substr(heads.size()) != own(a) + summed)
    fail(node, "it is no product that attention has");
  const std::string in_order = a.substr(0, heads.size());
  Value v = second;
  v.view = permuted(second.view, order(b, in_order + summed + own(b)));
  mix_heads(node, *first.scores, v, order(in_order + own(a) + own(b), out));
}

void Reader::softmax(const Node& node) {
  const Value given = value(node, 0);
  const std::size_t rank = sizes(node.outputs[0]).size();
  if (dimension(node, integer(node, "dim", -1), rank) + 1 != rank)
    fail(node, "it is over another dimension than the last");
  if (given.kind == Kind::signal) {
    remarks_.insert("the softmax at the end is left out: the loss has it");
    Part part = graph_.parts[whole(node, given).part];
    if (!is_last(given.view)) fail(node, "it is a softmax of what are no scores of attention");
    // It must be the last: what reads it again is refused, since a pool of classes is no layer.
    part.kind = Part::Kind::function;
    part.inputs = {given.part};
    part.weight = part.bias = nothing;
    part.function = {"", "softmax", [](double x) { return x; }, {}};
    return become(node, add(node, std::move(part)), given.view);
  }
  if (given.kind != Kind::scores || node.operation.find("log") != std::string::npos)
    fail(node, "it is a softmax of what are no scores of attention");
  Scores scores = *given.scores;
  if (scores.is_under_tanh) {
    scores.softcap = 1;
    scores.is_under_tanh = false;
  }
  scores.is_softmax = true;
  become_scores(node, std::move(scores));
}

void Reader::mix(const Node& node, const Value& given, const Value& v) {
  if (!given.scores->is_softmax) fail(node, "scores are no weights: their softmax is missing");
  mix_heads(node, *given.scores, v);
}

Value Reader::projection(const Node& node, const Value& given) {
  if (given.kind != Kind::signal) fail(node, "it is no projection into heads");
  Value out = given;
  std::int64_t width = 1, heads = 1, step = 0;
  for (std::size_t i = 0; i < given.view.dims.size(); ++i)
    for (const Axis& axis : given.view.dims[i]) {
      if (axis.of != Axis::Of::feature) continue;
      const bool is_inner = i + 1 == given.view.dims.size();
      if (is_inner ? axis.stride != 1 || width != 1 : heads != 1)
        fail(node, "the features of its heads do not lie side by side");
      (is_inner ? width : heads) = axis.size;
      if (!is_inner) step = axis.stride;
    }
  const std::int64_t size = heads * width;
  const bool is_whole = size == graph_.parts[given.part].features && given.view.feature == 0;
  if (!is_whole) out.part = share(node, given, size, heads > 1 && step != width ? heads : 1);
  out.view.feature = 0;
  for (std::size_t i = 0; i + 1 < out.view.dims.size(); ++i)
    for (Axis& axis : out.view.dims[i])
      if (axis.of == Axis::Of::feature) axis.stride = width;
  return out;
}

Reader::Heads Reader::heads_of(const Node& node, const Value& given, const char* which) {
  const Value value = projection(node, given);
  const View& view = value.view;
  Heads heads;
  heads.part = value.part;
  heads.factor = given.factor;
  const std::string what = std::string("its ") + which;
  if (view.dims.size() < 2 || view.dims.back().size() > 1)
    fail(node, what + " are no heads of tokens");
  heads.width = count(view.dims.back());
  for (std::size_t i = 0; i + 1 < view.dims.size(); ++i)
    for (const Axis& axis : view.dims[i]) {
      if (axis.of == Axis::Of::feature) heads.heads *= axis.size;
      if (axis.of == Axis::Of::copy) heads.copies *= axis.size;
      const bool is_tokens = i + 2 == view.dims.size();
      if ((axis.of == Axis::Of::token) != is_tokens)
        fail(node, what + " are not (samples, heads, tokens, features)");
    }
  if (count(view.dims[view.dims.size() - 2]) != graph_.parts[heads.part].tokens)
    fail(node, what + " are of some of the tokens");
  const Part& own = graph_.parts[heads.part];
  if (own.kind == Part::Kind::function && own.function.factor) {
    heads.factor *= *own.function.factor;
    heads.part = own.inputs[0];
  }
  return heads;
}

/// `order`: in which the result has the dimensions (..., heads, tokens, features); empty: this.
void Reader::mix_heads(const Node& node, const Scores& scores, const Value& v,
                       const std::vector<std::size_t>& order) {
  const Heads q = heads_of(node, scores.q, "queries"), k = heads_of(node, scores.k, "keys"),
              values = heads_of(node, v, "values");
  const bool is_shared = scores.shares_keys && q.heads % k.heads == 0;
  if (k.heads != values.heads || q.width != k.width || k.width != values.width ||
      (!is_shared && q.heads != k.heads * k.copies) || k.copies != values.copies)
    fail(node, fmt::format("its queries, keys and values are of {}, {} and {} heads of {}, {} and "
                           "{} features",
                           q.heads, k.heads, values.heads, q.width, k.width, values.width));
  Part part;
  part.kind = Part::Kind::attention;
  part.inputs = {q.part, k.part, values.part};
  part.heads = q.heads;
  part.kv_heads = k.heads;
  part.head_width = q.width;
  part.features = q.heads * q.width;
  part.tokens = graph_.parts[q.part].tokens;
  part.height = graph_.parts[q.part].height;
  part.score_scale = scores.scale * q.factor * k.factor;
  part.softcap = scores.softcap;
  if (values.factor != 1) fail(node, "its values are multiplied by a number");
  if (!(part.score_scale > 0) || !std::isfinite(part.score_scale))
    fail(node, "its scores are multiplied by no positive number");
  if (scores.q.turns.has_value() != scores.k.turns.has_value() || v.turns)
    fail(node, "queries or keys alone have rotary positions");
  part.turns = scores.q.turns;
  const Sight sight = sight_of(node, scores, part.tokens);
  part.is_causal = sight.is_causal;
  if (scores.relative)
    part.relative = relative_of(node, *scores.relative, part.heads, part.tokens, part.is_causal);
  part.window = sight.window;
  View view = projection(node, scores.q).view;
  if (!order.empty()) view = permuted(view, order);
  const std::size_t made = add(node, std::move(part));
  if (sizes_of(view) != sizes(node.outputs[0]) && sizes(node.outputs[0]).size() == view.dims.size())
    fail(node, "the graph contradicts itself: it gives other sizes than its queries have");
  become(node, made, std::move(view));
}

/// Whether a query sees a key in the first sample and head.
std::optional<bool> Reader::is_seen(const Scores& scores, std::int64_t query,
                                    std::int64_t key) const {
  bool sees = !scores.is_causal || key <= query;
  for (const auto& [mask, how] : scores.masks) {
    const Sizes& shape = sizes(mask);
    Sizes index(shape.size(), 0);
    const std::size_t rank = shape.size();
    if (rank >= 1 && shape[rank - 1] != 1) index[rank - 1] = key;
    if (rank >= 2 && shape[rank - 2] != 1) index[rank - 2] = query;
    const auto entry = constants_.at(mask, index);
    if (!entry) return std::nullopt;
    if (how == Scores::Masks::is_added && *entry != 0 && *entry > hidden) return std::nullopt;
    sees =
        sees && (how == Scores::Masks::is_added ? *entry == 0
                                                : (*entry != 0) == (how == Scores::Masks::stays));
  }
  return sees;
}

Reader::Sight Reader::sight_of(const Node& node, const Scores& scores, std::int64_t tokens) {
  if (scores.masks.empty()) return {scores.is_causal, 0};
  const auto key = std::pair{scores.masks, scores.is_causal ? -tokens : tokens};
  const auto known = sights_.find(key);
  if (known != sights_.end()) return known->second;
  // An Error where it cannot be told: what is asked for is bounded there.
  const auto sees = [&](std::int64_t query, std::int64_t at) {
    const auto found = is_seen(scores, query, at);
    if (!found)
      fail(node,
           "its mask is not known: it hangs on an input, has values that are added, or is "
           "made by operations that are not looked through");
    return *found;
  };
  bool sees_all = true, sees_past = true, sees_window = true;
  std::int64_t window = 0;
  for (std::int64_t at = 0; at < tokens; ++at) window += sees(tokens - 1, at) ? 1 : 0;
  for (const std::int64_t query : {std::int64_t{0}, tokens / 3, tokens / 2, tokens - 1})
    for (std::int64_t at = 0; at < tokens; ++at) {
      const bool is_there = sees(query, at);
      sees_all = sees_all && is_there;
      sees_past = sees_past && is_there == (at <= query);
      sees_window = sees_window && is_there == (at <= query && at > query - window);
    }
  Sight sight{!sees_all && (sees_past || sees_window), 0};
  if (sight.is_causal && !sees_past) sight.window = window;
  if (!sees_all && !sight.is_causal)
    fail(node, "its mask is none of those that are known",
         "all tokens, those before, and a window of those before are known");
  return sights_[key] = sight;
}

}  // namespace scalecalc::graphs
