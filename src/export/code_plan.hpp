#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/export.hpp"

/// What code fills, tensor by tensor: of a plan, or of a library's own model.
namespace scalecalc::export_room {

/// One part of a tensor along its axis.
struct Fill {
  std::int64_t length = 0;      ///< entries along the axis
  std::string start;            ///< of to_string(Start), or LibraryDraw::kind
  std::vector<double> numbers;  ///< as LibraryDraw has them; of orthogonal: the std
  double value = 0;             ///< the std of the entries, or the constant
  std::string formula;          ///< of the value
  bool operator==(const Fill&) const = default;
};

struct FilledTensor {
  std::string name;
  std::string pattern;  ///< {i} stands for an index
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> shape;
  int axis = 0;
  bool may_be_absent = false;            ///< another name of a tensor, or unknown to some models
  std::optional<std::int64_t> zero_row;  ///< set to zero after the draw
  std::vector<Fill> fills;
  std::vector<std::string> roles = {};   ///< of the fills of one round; empty: one fill
  std::optional<StepFactors> step = {};  ///< of a transferred plan
};

struct CodePlan {
  std::string model;    ///< as the user called it
  std::string summary;  ///< "transformer, 12 layers, ...", without a user's words
  std::vector<FilledTensor> tensors;
  std::vector<PlannedScale> scales;
  std::vector<std::string> prefixes;  ///< names are read with or without
  std::string own_prefix;  ///< what names begin with, and lack in the model without its head
  std::vector<ExtraTensor> extras;
  std::vector<std::string> unnamed;  ///< parameters of the plan that no tensor stands for
  std::string transfer = {};         ///< of a transferred plan, in words
};
CodePlan code_plan(const NamedPlan& plan);
/// The tensors under the library's names, and under the other names of tied ones.
CodePlan code_plan(const LibraryPlan& plan);

Fill fill_of(const PlannedParameter& parameter, std::int64_t length);
/// The fills, each of a whole part, in the order of a tensor that holds its parts in so many
/// rounds; one of all where the parts are drawn alike.
void repeat_rounds(FilledTensor& tensor, std::int64_t rounds);

}  // namespace scalecalc::export_room
