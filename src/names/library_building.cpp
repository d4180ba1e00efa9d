#include "names/library_building.hpp"

#include <utility>

namespace scalecalc::names {
namespace {

void block(Patterns& all, const BlockNames& names) {
  const std::array<const char*, 4> attention = {"attn.q", "attn.k", "attn.v", "attn.o"};
  for (std::size_t i = 0; i < attention.size(); ++i)
    if (names.attention[i] != nullptr)
      linear(all, names.layer + names.attention[i], {in_block(attention[i])});
  const bool gated = names.feed_forward.size() == 3;
  if (gated) linear(all, names.layer + names.feed_forward[0], {in_block("ffn.gate")});
  linear(all, names.layer + names.feed_forward[gated ? 1 : 0], {in_block("ffn.in")});
  linear(all, names.layer + names.feed_forward.back(), {in_block("ffn.out")});
  if (names.attention_norm != nullptr) {
    norm(all, names.layer + names.attention_norm, in_block("attn.norm"));
    norm(all, names.layer + names.feed_forward_norm, in_block("ffn.norm"));
  }
}

}  // namespace

Naming library(const char* name, const char* title, std::vector<std::string> prefixes,
               const BlockNames& names) {
  Naming naming{name, title, Layout::out_in, std::move(prefixes), {}, {}, {}};
  block(naming.patterns, names);
  return naming;
}

void tied_head(Naming& naming, const std::string& embedding) {
  append(naming.patterns, {{embedding, {"embedding.weight"}}, {"lm_head.weight", {"head.weight"}}});
  naming.tied.push_back({"lm_head.weight", embedding});
}

void leave_out(Naming& naming, const std::string& map) {
  std::erase_if(naming.patterns,
                [&](const NamePattern& pattern) { return pattern.name.ends_with(map + ".bias"); });
}

void packed_in_rounds(Naming& naming, const std::string& name, std::int64_t rounds,
                      const std::vector<std::string>& order) {
  const std::size_t first = naming.patterns.size();
  linear(naming.patterns, name, order);
  for (std::size_t i = first; i < naming.patterns.size(); ++i) naming.patterns[i].rounds = rounds;
}

}  // namespace scalecalc::names
