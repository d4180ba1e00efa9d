#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "names/building.hpp"
#include "names/tables.hpp"

/// What the namings of transformers' models are made of.
namespace scalecalc::names {

/// The maps of a block: what stands before them all, then q, k, v, o, and of the feed-forward.
struct BlockNames {
  std::string layer;
  std::array<const char*, 4> attention;   ///< the first null: q, k, v are packed elsewhere
  std::vector<const char*> feed_forward;  ///< in, out; or gate, in, out
  const char *attention_norm, *feed_forward_norm;
};

/// With these blocks, matrices stored (out, in).
Naming library(const char* name, const char* title, std::vector<std::string> prefixes,
               const BlockNames& names);
/// An embedding under this name, and the head that may be tied to it.
void tied_head(Naming& naming, const std::string& embedding);
/// Biases that the model does not have, of names that end so.
void leave_out(Naming& naming, const std::string& map);
/// Weight and bias of q, k and v in one tensor, so many rounds in this order.
void packed_in_rounds(Naming& naming, const std::string& name, std::int64_t rounds,
                      const std::vector<std::string>& order = packed());

/// Of blocks whose attention and feed-forward are side by side.
std::vector<NamingTable> parallel_tables();
/// Of timm and torchvision.
std::vector<NamingTable> image_tables();
/// Of two stacks.
std::vector<NamingTable> encoder_decoder_tables();
/// T5's encoder or decoder alone; `cross`: it attends to the other.
Naming t5_stack(const char* name, const char* title, const std::string& stack, bool cross);

}  // namespace scalecalc::names
