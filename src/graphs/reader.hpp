#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graphs/constants.hpp"
#include "graphs/parts.hpp"
#include "graphs/program.hpp"

namespace scalecalc::graphs {

/// Rows of a table that do not hang on the input: a parameter, or looked up at fixed places.
struct Table {
  std::size_t tensor = nothing;
  bool is_lookup = false;        ///< by an embedding
  bool is_segment = false;       ///< every token gets one row
  std::size_t places = nothing;  ///< of a lookup at constant places: these
};

struct Scores;

/// A mean of squares of features, on its way to a norm.
struct Statistic {
  std::size_t part = nothing;
  bool is_mean = false;     ///< of the features themselves
  bool is_centred = false;  ///< of what is minus its mean
  double eps = 0;
  double power = 1;  ///< 1, 1/2, -1/2
  bool is_of_heads = false;
};

/// What a tensor of the graph is.
struct Value {
  enum class Kind {
    unknown,
    empty,      ///< no numbers at all
    constant,   ///< of no input
    parameter,  ///< or a view of one
    table,
    words,
    places,   ///< integers that are computed from words: their positions
    numbers,  ///< one of each sample, times a factor: a time, or a label
    angles,   ///< such numbers, each times all entries of a constant
    waves,    ///< sines or cosines of these
    signal,
    negated,   ///< some features of a signal with the other sign
    turned,    ///< each head's halves exchanged, one with the other sign
    by_table,  ///< a signal, or one that is turned, times a constant
    statistic,
    scores
  };
  Kind kind = Kind::unknown;
  std::size_t maker = nothing;           ///< of what is unknown: its node
  std::size_t tensor = nothing;          ///< of a parameter or a constant
  bool is_flipped = false;               ///< a matrix, transposed
  std::int64_t first_row = 0, rows = 0;  ///< of a parameter's rows these; 0: all
  bool has_one = false;                  ///< 1 + the parameter
  std::vector<Table> tables;
  std::vector<std::size_t> added;  ///< constants that are added to a table
  std::size_t part = nothing;      ///< of a signal, and what comes of one
  View view;
  bool is_one_place = false;    ///< of places: all are the same
  std::size_t input = nothing;  ///< of numbers and what comes of them: the tensor that is given
  double factor = 1;            ///< that multiplies a signal, not yet a part
  bool is_turned = false;       ///< of by_table
  std::optional<Turns> turns;   ///< of a signal: features of each head are turned by positions
  std::shared_ptr<const Scores> scores;
  Statistic statistic;
};

/// Scores of attention on their way to weights.
struct Scores {
  /// How a constant masks: where it is true scores stay, or go, or it is added to them.
  enum class Masks { stays, goes, is_added };
  Value q, k;  ///< the keys as (..., tokens, features)
  double scale = 1, softcap = 0;
  bool is_under_tanh = false;  ///< what multiplies them next is the cap
  std::vector<std::pair<std::size_t, Masks>> masks;
  bool is_causal = false, is_softmax = false, shares_keys = false;
  std::optional<Table> relative;  ///< learnt biases, looked up by distance
};

/// Reads the operations of a program one after the other into parts.
class Reader {
 public:
  Reader(const Program& program, const Constants& constants);
  /// Throws Error(input) for what is not known, at its line.
  PartGraph run();

  /// Remarks that reading gave rise to.
  const std::set<std::string>& remarks() const { return remarks_; }
  /// All operations that are known, without their overloads.
  static std::vector<std::string> known_operations();

 private:
  using Way = void (Reader::*)(const Node&);
  static const std::map<std::string, Way>& ways();

  // reader.cpp
  void read_inputs();
  void find_live(std::size_t output);
  void read(const Node& node);
  bool is_of_places(const Node& node) const;
  void same(const Node& node);
  void nothing_to_do(const Node& node);
  [[noreturn]] void fail(const Node& node, const std::string& what,
                         const std::string& hint = {}) const;
  [[noreturn]] void unknown(const Value& value, const Node* reads = nullptr) const;
  bool is_of_sample(const Input& input) const;
  const Value& value_of(const Node& node, std::size_t tensor) const;
  const Value& value(const Node& node, std::size_t argument) const;
  const Value* optional_value(const Node& node, const char* name) const;
  double number(const Node& node, const char* name, double otherwise) const;
  std::int64_t integer(const Node& node, const char* name, std::int64_t otherwise) const;
  std::size_t dimension(const Node& node, std::int64_t dim, std::size_t rank) const;
  const Sizes& sizes(std::size_t tensor) const { return program_.tensors[tensor].sizes; }
  Value& result(const Node& node, std::size_t output = 0);
  std::size_t add(const Node& node, Part part);
  /// Sets the result to a part with these dimensions, checked against the sizes of the file.
  void become(const Node& node, std::size_t part, View view);
  /// All features of one part: shares of a linear map become maps of their own.
  Value whole(const Node& node, const Value& value);
  std::size_t share(const Node& node, const Value& value, std::int64_t size, std::int64_t rounds);
  /// Whether the last dimension has all features and no other has one.
  bool is_last(const View& view) const;
  /// The last dimension replaced by so many features.
  View with_features(const View& view, std::int64_t features) const;
  /// The only number of a constant or an argument; none: it is no such.
  std::optional<double> scalar(const Node& node, std::size_t argument) const;

  // reader_views.cpp
  void reshape(const Node& node);
  void flatten(const Node& node);
  void permute(const Node& node);
  void expand(const Node& node);
  void squeeze(const Node& node);
  void slice(const Node& node);
  void select(const Node& node);
  void split(const Node& node);
  void concatenate(const Node& node);
  void view_of(const Node& node, const std::optional<View>& view);
  bool pass_parameter(const Node& node);
  bool split_parameter(const Node& node);
  void set_slice(const Node& node, std::size_t output, std::size_t dim, std::int64_t start,
                 std::int64_t size, std::int64_t step);
  void class_tokens(const Node& node, std::size_t rows, std::size_t others);
  void concatenate_heads(const Node& node);
  bool concatenate_features(const Node& node, std::size_t dim);

  // reader_layers.cpp
  void embedding(const Node& node);
  void linear(const Node& node);
  void multiply_matrices(const Node& node);
  void linear_of(const Node& node, const Value& input, const Value& weight, const Value* bias,
                 bool is_in_out);
  void layer_norm(const Node& node);
  void batch_norm(const Node& node);
  void dropout(const Node& node);
  void activation(const Node& node);
  void take_mean(const Node& node);
  void take_variance(const Node& node);

  // reader_images.cpp
  void convolution(const Node& node);
  void pool(const Node& node);
  void max_pool(const Node& node);
  void upsample(const Node& node);
  void read_kernel(const Node& node, const Sizes& shape, Part& part) const;
  /// The image that leaves `part`, so high and wide.
  void become_image(const Node& node, const Value& input, Part part, std::int64_t width);
  /// An argument that is the same of rows and of columns.
  std::int64_t one_of_both(const Node& node, const char* name, std::int64_t otherwise) const;
  /// The image that leaves `part`, whose features and window are known.
  void window(const Node& node, const Value& input, Part part);

  // reader_arithmetic.cpp
  void arithmetic(const Node& node);
  void with_number(const Node& node, const Value& value, double number, bool is_first);
  void power(const Node& node);
  void root(const Node& node);
  void negate(const Node& node);
  void plus(const Node& node, const Value& a, const Value& b, double sign);
  void times(const Node& node, const Value& a, const Value& b, bool divides);
  void times_parameter(const Node& node, const Value& signal, const Value& parameter);
  void plus_parameter(const Node& node, const Value& signal, const Value& parameter);
  void plus_tables(const Node& node, const Value& signal, const std::vector<Table>& tables);
  void plus_constant(const Node& node, const Value& signal, std::size_t constant);
  void norm_of(const Node& node, const Value& signal, const Statistic& statistic);
  void join(const Node& node, const Value& a, const Value& b, char sign);
  void apply(const Node& node, const Value& signal, const Function& function);
  /// The part before a function, and the function.
  std::pair<std::size_t, Function> base_of(std::size_t part) const;

  // reader_modulation.cpp
  void scale_numbers(const Node& node, const Value& numbers, double number, bool is_first);
  bool times_numbers(const Node& node, const Value& numbers, const Value& constant);
  void wave(const Node& node, const Value& angles);
  bool join_waves(const Node& node, const std::vector<const Value*>& values);
  void look_up(const Node& node, const Value& table, const Value& labels);
  bool modulate(const Node& node, const Value& x, const Value& of_sample, char sign);
  bool is_grid(std::size_t table, std::int64_t tokens, std::int64_t width) const;

  // reader_rotary.cpp
  bool rotate(const Node& node, const Value& a, const Value& b);

  // reader_attention.cpp
  void attention(const Node& node);
  void scores_of(const Node& node, const Value& q, const Value& k);
  void masked_product(const Node& node);
  bool permute_letters(const Node& node);
  void einsum(const Node& node);
  void mix(const Node& node, const Value& scores, const Value& v);
  void mix_heads(const Node& node, const Scores& scores, const Value& v,
                 const std::vector<std::size_t>& order = {});
  void softmax(const Node& node);
  void mask_scores(const Node& node, const Value& scores, std::size_t mask, Scores::Masks how);
  void fill_mask(const Node& node);
  void scale_scores(const Node& node, const Value& scores, double factor);
  void cap_scores(const Node& node, const Value& scores);
  void become_scores(const Node& node, Scores scores);

  // reader_relative.cpp
  void bias_scores(const Node& node, Scores& scores, const Value& table) const;
  RelativeTable relative_of(const Node& node, const Table& table, std::int64_t heads,
                            std::int64_t tokens, bool is_causal);
  /// What a query sees: all keys, those before it, or the last of those.
  struct Sight {
    bool is_causal = false;
    std::int64_t window = 0;
  };
  Sight sight_of(const Node& node, const Scores& scores, std::int64_t tokens);
  std::optional<bool> is_seen(const Scores& scores, std::int64_t query, std::int64_t key) const;
  /// A projection whose dimensions are (..., heads, tokens, features).
  struct Heads {
    std::size_t part = nothing;
    std::int64_t heads = 1, width = 0, copies = 1;
    double factor = 1;  ///< that multiplies it
  };
  Heads heads_of(const Node& node, const Value& value, const char* which);
  /// All features of a projection as a part of its own, and the dimensions in its steps.
  Value projection(const Node& node, const Value& value);

  const Program& program_;
  const Constants& constants_;
  std::vector<Value> values_;
  std::vector<bool> is_live_;  ///< by node: the output hangs on it
  PartGraph graph_;
  std::set<std::string> remarks_;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t>, std::size_t> shares_;
  /// Of masks that layers share, by the masks and the number of tokens.
  std::map<std::pair<std::vector<std::pair<std::size_t, Scores::Masks>>, std::int64_t>, Sight>
      sights_;
  std::size_t here_ = 0;  ///< index of the node that is read
};

}  // namespace scalecalc::graphs
