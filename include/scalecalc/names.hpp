#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What parameters are called, and how they are stored, in weight files and in code of other
/// frameworks.
namespace scalecalc {

/// What a stored tensor is called: {i} and {j} stand for indices, "layers.{i}.wqkv.weight".
struct NamePattern {
  std::string name;
  std::vector<std::string> paths;  ///< "block[{i}].attn.q.weight"; several lie side by side
  std::string beside = {};         ///< only where this path is a parameter too; empty: always
  bool flipped = false;            ///< stored the other way round than others of its naming
  /// Rounds in which the parts lie side by side, each with its share of every part: rows of q, k
  /// and v of one head, then of the next.
  std::int64_t rounds = 1;
  static constexpr std::int64_t per_key_head = 0;  ///< as rounds: as many as heads of keys
};

/// How a matrix (fan_in, fan_out) is stored; embeddings are always (vocab, width).
enum class Layout {
  in_out,  ///< Flax, Keras, GPT-2's Conv1D; convolutions (kernel, kernel, in, out)
  out_in,  ///< PyTorch's Linear; convolutions (out, in, kernel, kernel)
};

/// A tensor that a naming knows but no parameter of a network stands for.
struct ExtraTensor {
  std::string pattern;  ///< as NamePattern's; a last "*" stands for anything
  std::string what;     ///< "a mask, not trained", "segment embeddings, left out of the model"
};
/// A tensor that may be absent because it is another one.
struct TiedTensor {
  std::string name, to;
};

/// How one framework or model calls parameters.
struct Naming {
  std::string name;   ///< "hf-gpt2"
  std::string title;  ///< "Hugging Face GPT2LMHeadModel"
  Layout layout = Layout::out_in;
  std::vector<std::string> prefixes;  ///< "transformer.": files write names with or without
  std::vector<NamePattern> patterns;
  std::vector<TiedTensor> tied;
  std::vector<ExtraTensor> extras;
  std::size_t own = 0;  ///< of the first patterns: a model's own, each of which must match
};

/// scalecalc (our paths), torch, flax, keras (our paths in their spelling), torch-encoder, hf-gpt2,
/// hf-bert, hf-llama, hf-t5, hf-t5-decoder, hf-vit, hf-vit-v5, nanogpt, torchscale, hf-gemma,
/// hf-olmo2, hf-phi3, hf-opt, hf-bloom, hf-mpt, hf-gpt-neo, hf-distilbert, hf-deberta-v2,
/// hf-dinov2, hf-clip-vision, hf-clip-text, hf-electra, hf-gptj, hf-phi, hf-cohere, hf-gpt-neox,
/// hf-codegen, hf-falcon, hf-falcon-rw, hf-bart, hf-whisper, hf-t5-encoder-decoder,
/// timm-vit, torchvision-vit.
const std::vector<std::string>& naming_names();
/// Throws Error(input) with the nearest name.
Naming find_naming(std::string_view name, const std::string& where = "names");

/// Whether a name is of this pattern; the indices that {i} and {j} stand for.
std::optional<std::vector<std::int64_t>> match_pattern(std::string_view pattern,
                                                       std::string_view name);
/// "block[3].attn" and all its like: "block[*].attn".
std::string path_pattern(const std::string& path);
/// Of a map by paths and patterns: what it has of the path, else of its pattern, else end().
template <class Map>
auto find_path(Map& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? values.find(path_pattern(path)) : found;
}
/// The pattern with its indices filled in.
std::string fill_pattern(std::string_view pattern, const std::vector<std::int64_t>& indices);

}  // namespace scalecalc
