#pragma once

#include <map>
#include <optional>

#include "graphs/constants.hpp"
#include "graphs/parts.hpp"

namespace scalecalc::graphs {

/// What the entries of a tensor in the file are, from all of them or from some that lie evenly.
struct Figure {
  double mean = 0;
  double std = 0;            ///< about 0
  bool is_uniform = false;   ///< none is beyond sqrt(3) std
  bool is_constant = false;  ///< all are the mean
  std::int64_t counted = 0;
};

/// Reads weights of a file as they are asked for.
class Figures {
 public:
  Figures(const Program& program, const Constants& constants, const weights::ZipArchive& archive);
  /// Of a part's matrix, of its own rows alone; none where the file has no values.
  std::optional<Figure> weight(const Part& part) const;
  std::optional<Figure> bias(const Part& part) const;
  std::optional<Figure> tensor(std::size_t tensor) const;

 private:
  std::optional<Figure> rows(std::size_t tensor, const Part& part) const;
  const Program& program_;
  const Constants& constants_;
  const weights::ZipArchive& archive_;
  std::map<std::string, const weights::Tensor*> by_name_;
};

}  // namespace scalecalc::graphs
