#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/transformer_reader.hpp"

/// Blocks of a transformer: sublayers with their norms.
namespace scalecalc::graphs {

using Kind = Part::Kind;

/// How many there are; none where these are no blocks.
std::optional<std::int64_t> TransformerReader::blocks() {
  const bool has_cross = spec_.encoder_decoder && prefix_.empty();
  std::vector<std::string> kinds = {"attn", "ffn"};
  if (has_cross) kinds.insert(kinds.begin() + 1, "cross");
  const auto each = static_cast<std::int64_t>(kinds.size());
  std::int64_t count = 0;
  for (; at() != nullptr && at()->kind == Item::Kind::residual; ++count) {
    const std::string path = fmt::format("{}block[{}].{}", prefix_, count / each,
                                         kinds[static_cast<std::size_t>(count % each)]);
    if (!sublayer(*at(), path)) return std::nullopt;
  }
  if (count == 0 || count % each != 0 || !is_one_) return std::nullopt;
  const Norms post{false, false, true}, pre{true, false, false}, res_post{false, true, false},
      sandwich{true, true, false};
  if (norms_ == post)
    spec_.placement = Placement::post;
  else if (norms_ == pre)
    spec_.placement = Placement::pre;
  else if (norms_ == res_post)
    spec_.placement = Placement::res_post;
  else if (norms_ == sandwich)
    spec_.placement = Placement::sandwich;
  else
    return std::nullopt;
  if (norms_ == post) {
    if (!spec_.input.norm) return std::nullopt;
    spec_.input.norm.reset();  // as they have it
  }
  return count / each;
}

/// A learnt vector that multiplies the branch.
bool TransformerReader::scale(const Item& item, const std::string& path) {
  agree(has_scale_, item.scale != nothing);
  if (item.scale == nothing) return true;
  const Part& scale = known_.part(item.scale);
  const auto figure = known_.figures.tensor(scale.weight);
  if (!figure || !figure->is_constant || figure->mean <= 0) return false;
  if (known_.program.tensors[scale.weight].sizes != Sizes{spec_.width}) return false;
  agree(layer_scale_, neat(figure->mean, INT64_MAX / 2));
  names_.tensor(scale.weight, path + ".scale");
  return true;
}

bool TransformerReader::sublayer(const Item& item, const std::string& path) {
  if (!item.shortcut.empty() || item.skip != 1 || item.branch != 1) return false;
  if (!scale(item, path)) return false;
  std::vector<const Item*> body;
  for (const Item& one : item.body) body.push_back(&one);
  const auto kind_of = [&](std::size_t i) {
    return i < body.size() && body[i]->kind == Item::Kind::part
               ? std::optional(known_.part(body[i]->part).kind)
               : std::nullopt;
  };
  const bool is_modulated = known_.condition.has_value();
  if (is_modulated) modulated(body, item, path);
  Norms norms;
  norms.before = kind_of(0) == Kind::norm;
  norms.inside = body.size() > 1 && kind_of(body.size() - 1) == Kind::norm;
  if (norms.inside) {
    norm(body.back()->part, path + (norms.before ? ".out_norm" : ".norm"));
    body.pop_back();
  }
  const bool drops = !body.empty() && kind_of(body.size() - 1) == Kind::dropout;
  agree(has_branch_dropout_, drops);
  if (drops) {
    agree(rate_, known_.part(body.back()->part).rate);
    places_.branch = true;
    body.pop_back();
  }
  if (norms.before) {
    norm(body[0]->part, path + ".norm");
    body.erase(body.begin());
  }
  const bool is_ffn = path.ends_with("ffn");
  if (!is_ffn && (body.size() != 1 || body[0]->kind != Item::Kind::attention ||
                  !attention(*body[0], path, path.ends_with("cross"))))
    return false;
  if (is_ffn && !feed_forward(body, path)) return false;
  ++next_;
  norms.behind = !norms.before && !norms.inside;
  if (norms.behind) {
    if (!is(Kind::norm)) return false;
    norm(at()->part, path + ".norm");
    ++next_;
  }
  agree(norms_, norms);
  return true;
}

bool TransformerReader::attention(const Item& item, const std::string& path, bool is_cross) {
  const Part& part = known_.part(item.attention);
  if (item.mix_norm != nothing || item.is_cross != is_cross) return false;
  if ((item.q_norm == nothing) != (item.k_norm == nothing)) return false;
  if (known_.part(item.o).features != spec_.width) return false;
  agree(heads_, part.heads);
  agree(kv_heads_, part.kv_heads);
  agree(head_width_, part.head_width);
  agree(scale_, part.score_scale);
  agree(softcap_, part.softcap);
  agree(qk_norm_, item.q_norm != nothing);
  if (is_cross) {
    if (part.is_causal || part.window != 0 || part.turns || part.relative) return false;
  } else {
    windows_.push_back(part.window);
    agree(causal_, part.is_causal);
    agree(turns_, part.turns ? std::pair(part.turns->base, part.turns->width)
                             : std::pair(0.0, std::int64_t{0}));
    agree(relative_table_, part.relative ? part.relative->tensor : nothing);
    agree(buckets_, part.relative ? part.relative->buckets : std::int64_t{0});
    if (part.relative) {
      least_ = std::max(least_, part.relative->least);
      most_ = std::min(most_, part.relative->most);
      is_one_ = is_one_ && least_ <= most_;
    }
    if (part.relative && path == prefix_ + "block[0].attn") {
      relative_tables_.push_back(part.relative->tensor);
      names_.tensor(part.relative->tensor, path + ".relative_bias");
    }
  }
  for (const std::size_t norm : {item.q_norm, item.k_norm}) {
    if (norm == nothing) continue;
    const Part& one = known_.part(norm);
    if (one.norm != Part::Norm::rms) return false;
    agree(qk_norm_all_, !one.is_of_heads);
    agree(eps_, one.eps);
    known_.remarks.insert(
        "norms of queries and keys have no gains here: gradients of these are left out");
  }
  for (const auto& [role, index] :
       {std::pair{"q", item.q}, {"k", item.k}, {"v", item.v}, {"o", item.o}}) {
    weigh(role, index);
    names_.map(index, path + "." + role);
  }
  for (const std::size_t map : {item.q, item.k, item.v})
    agree(qkv_bias_, known_.part(map).bias != nothing);
  agree(o_bias_, known_.part(item.o).bias != nothing);
  return true;
}

bool TransformerReader::gated(const Item& item, const std::string& path) {
  weigh("ffn_gate", item.gate);
  weigh("ffn_in", item.in);
  names_.map(item.gate, path + ".gate");
  names_.map(item.in, path + ".in");
  agree(activation_,
        item.function.text == "x" ? std::string("identity") : activation_of(item.function));
  agree(ffn_, known_.part(item.in).features);
  agree(ffn_bias_, known_.part(item.in).bias != nothing);
  return true;
}

bool TransformerReader::feed_forward(const std::vector<const Item*>& body,
                                     const std::string& path) {
  std::size_t i = 0;
  const bool is_gated = !body.empty() && body[0]->kind == Item::Kind::gated;
  agree(gated_, is_gated);
  if (is_gated) {
    if (!gated(*body[0], path)) return false;
    i = 1;
  } else {
    if (body.size() < 3 || body[0]->kind != Item::Kind::part || body[1]->kind != Item::Kind::part)
      return false;
    const Part &in = known_.part(body[0]->part), &function = known_.part(body[1]->part);
    if (in.kind != Kind::linear || function.kind != Kind::function) return false;
    weigh("ffn_in", body[0]->part);
    names_.map(body[0]->part, path + ".in");
    agree(activation_, activation_of(function.function));
    agree(ffn_, in.features);
    agree(ffn_bias_, in.bias != nothing);
    i = 2;
  }
  if (i + 1 != body.size() || body[i]->kind != Item::Kind::part) return false;
  const Part& out = known_.part(body[i]->part);
  if (out.kind != Kind::linear || out.features != spec_.width) return false;
  agree(ffn_bias_, out.bias != nothing);
  weigh("ffn_out", body[i]->part);
  names_.map(body[i]->part, path + ".out");
  return true;
}

}  // namespace scalecalc::graphs
