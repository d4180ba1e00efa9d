#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graphs/view.hpp"

/// What a graph computes in the words of layers, before it is known how they nest.
namespace scalecalc::graphs {

inline constexpr std::size_t nothing = SIZE_MAX;

/// A function of one number: its text in x, and its value.
struct Function {
  std::string name;  ///< of a registered activation that it is known to be
  std::string text = "x";
  std::function<double(double)> value = [](double x) { return x; };
  std::optional<double> factor = 1.0;  ///< of c x
};
Function scaled(double factor);
Function shifted(double by);
/// f(g(x)) for a text of f in x.
Function composed(const Function& outer, const Function& inner);
/// The registered activation of equal values, if there is one, else the text.
std::string activation_of(const Function& function);

/// Rotary positions, as a table of angles says them.
struct Turns {
  double base = 0;         ///< 0: the table does not say one
  std::int64_t width = 0;  ///< features of a head that turn
  double attention = 1;    ///< what they are multiplied by
};

/// Learnt biases of scores by the distance of a key, as T5 has them.
struct RelativeTable {
  std::size_t tensor = nothing;
  std::int64_t buckets = 0;
  std::int64_t least = 0, most = 0;  ///< distances that the lookups of these tokens allow
};

/// One step between tensors that hang on the input.
struct Part {
  enum class Kind {
    input,
    embedding,
    waves,         ///< sines and cosines of a number of each sample
    table,         ///< learnt rows, or fixed ones, that are added
    class_tokens,  ///< learnt rows in front of the others
    linear,
    convolution,
    function,
    norm,
    centred,  ///< minus its mean: a norm begins
    dropout,
    pool,
    max_pool,
    upsample,
    sum,
    concat,  ///< the features of two parts side by side
    product,
    modulation,  ///< of inputs x, s and maybe t: x s + t, s and t of the sample
    scale,       ///< times a parameter
    attention    ///< of inputs q, k, v; what is mixed, before a map
  };
  Kind kind = Kind::input;
  std::vector<std::size_t> inputs;  ///< parts
  std::size_t node = nothing;       ///< of the program; of an input nothing
  std::int64_t features = 0;        ///< that leave
  std::int64_t tokens = 1;          ///< of one sample
  std::int64_t height = 0;          ///< of an image; 0: none

  std::size_t weight = nothing, bias = nothing;  ///< tensors of the program
  bool is_in_out = false;                        ///< a weight that is stored (in, out)
  /// Of a linear map that is a share of a larger one: its rows from `first` on, in `rounds` equal
  /// rounds of all shares.
  std::int64_t first_row = 0, all_rows = 0, rounds = 1;

  Function function;                ///< of kind function
  std::size_t square_of = nothing;  ///< of a function: it is the square of this part
  enum class Norm { layer, rms, batch, instance } norm = Norm::layer;
  double eps = 0;
  bool is_of_heads = false;  ///< a norm of each head's features
  bool has_offset = false;   ///< of a norm: the gain is 1 + weight
  double rate = 0;           ///< of dropout
  enum class Pool { mean, first } pool = Pool::mean;
  std::int64_t count = 0;        ///< of class tokens
  bool is_segment = false;       ///< of a table: all tokens get one row
  std::optional<double> second;  ///< of a fixed table, and of waves: their mean square
  double cross = 0;              ///< of waves: of two samples
  bool is_grid = false;          ///< of a table: sines and cosines of rows and columns
  bool has_one = false;          ///< of a modulation: x (1 + s)
  std::int64_t kernel = 1, stride = 1, padding = 0, groups = 1;  ///< of windows
  bool is_transposed = false;                                    ///< of a convolution
  std::int64_t output_padding = 0, factor = 1;                   ///< of that, and of an upsampling

  std::int64_t heads = 1, kv_heads = 1, head_width = 0;  ///< of attention
  bool is_causal = false;
  std::int64_t window = 0;
  double score_scale = 1, softcap = 0, dropout = 0;
  std::optional<Turns> turns;  ///< of queries and keys
  std::optional<RelativeTable> relative;
};

struct PartGraph {
  std::vector<Part> parts;  ///< each behind its inputs
  std::size_t output = nothing;
  std::int64_t batch = 1;
};

}  // namespace scalecalc::graphs
