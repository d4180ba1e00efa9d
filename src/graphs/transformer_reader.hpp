#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graphs/describe.hpp"

namespace scalecalc::graphs {

/// Reads items from the front as the stacks of a transformer; `is_one_` becomes false where blocks
/// differ.
class TransformerReader {
 public:
  explicit TransformerReader(const Understood& known);
  std::optional<ModelSpec> run();

 private:
  const Item* at(std::size_t ahead = 0) const;
  const Part* part_at(std::size_t ahead = 0) const;
  bool is(Part::Kind kind, std::size_t ahead = 0) const;
  /// All must be equal.
  template <class Value>
  void agree(std::optional<Value>& held, const Value& value) {
    if (held && !(*held == value)) is_one_ = false;
    held = value;
  }

  // transformer_spec.cpp
  bool encoder();
  bool begin();
  bool begin_words(const Part& root);
  bool begin_patches(const Part& root);
  void table(const Part& part);
  void norm(std::size_t index, const std::string& path);
  bool final_norm();
  bool end();
  bool head();
  bool is_same_tensor(std::size_t weight) const;

  // transformer_blocks.cpp
  std::optional<std::int64_t> blocks();
  bool sublayer(const Item& item, const std::string& path);
  bool attention(const Item& item, const std::string& path, bool is_cross);
  bool feed_forward(const std::vector<const Item*>& body, const std::string& path);
  bool gated(const Item& item, const std::string& path);
  bool scale(const Item& item, const std::string& path);

  // transformer_condition.cpp
  bool is_modulation(const std::vector<const Item*>& body, std::size_t i) const;
  /// Takes the modulation of a branch's norm, and its gate, from what is between norms.
  void modulated(std::vector<const Item*>& body, const Item& item, const std::string& path);
  void modulated_norm(std::size_t part, const std::string& path);
  void map_of_condition(std::size_t map, const std::string& path);
  bool condition();
  void set_modulation();

  // transformer_figures.cpp
  bool set_shapes();
  bool set_windows();
  void set_relative();
  void weigh(const std::string& role, std::size_t index);
  bool set_weights();
  void set_gain(const std::string& role, double gain, std::int64_t counted);

  const Understood& known_;
  const std::vector<Item>* items_;
  std::string prefix_;  ///< of paths: "encoder." of the first of two stacks
  FoundNames names_;
  ModelSpec spec_;
  std::size_t next_ = 0, words_ = nothing;
  std::int64_t rows_ = 0;
  bool is_one_ = true, is_uniform_ = true;
  RoleFigures weights_;
  std::vector<Figure> biases_;
  /// Where norms stand: in front of a branch, at its end, behind the sum.
  struct Norms {
    bool before = false, inside = false, behind = false;
    bool operator==(const Norms&) const = default;
  };
  std::optional<Norms> norms_;
  std::optional<NormKind> norm_;
  std::set<std::pair<std::string, std::int64_t>> condition_maps_;  ///< names and first rows
  std::optional<double> eps_, scale_, softcap_, rate_, layer_scale_, positions_, second_;
  std::optional<bool> affine_, offset_, causal_, gated_, qkv_bias_, o_bias_, ffn_bias_, qk_norm_,
      qk_norm_all_, has_scale_, has_branch_dropout_, condition_bias_;
  std::optional<std::int64_t> heads_, kv_heads_, head_width_, ffn_;
  std::vector<std::int64_t> windows_;  ///< of each block
  std::optional<std::string> activation_;
  std::optional<std::pair<double, std::int64_t>> turns_;
  std::optional<std::int64_t> buckets_;        ///< of relative biases; 0: none
  std::int64_t least_ = 1, most_ = INT64_MAX;  ///< distances that all of them allow
  std::optional<std::size_t> relative_table_;  ///< of this stack; nothing: none
  std::vector<std::size_t> relative_tables_;
  DropoutPlaces places_{false, false, false, false};
};

}  // namespace scalecalc::graphs
