#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "scalecalc/architectures.hpp"
#include "scalecalc/init.hpp"
#include "scalecalc/names.hpp"

/// Weights as they were initialised, beside the rules that were due.
namespace scalecalc {

/// The values of one parameter, those that are finite.
struct Sample {
  std::int64_t count = 0;
  std::int64_t nans = 0, infinities = 0;
  double mean = 0, std = 0;  ///< std: root of the mean square distance from the mean
  double min = 0, max = 0;
  double kurtosis = 0;                ///< fourth central moment / std^4; NaN when std is 0
  double beyond_2 = 0, beyond_3 = 0;  ///< share farther than 2 and 3 std from the mean
};

enum class Fault {
  none,
  missing,     ///< the file has no such tensor
  unexpected,  ///< the model has no such tensor
  wrong_shape,
  not_finite,      ///< NaN or infinite values
  wrong_constant,  ///< a gain that is not 1, a bias that is not 0, a matrix of one value
  wrong_std,
  wrong_mean,
  wrong_distribution,  ///< tails or outliers that no distribution of that std has
  copied,              ///< drawn once: another tensor has the same values
};
/// "missing", "wrong_std", ... as in JSON.
std::string to_string(Fault);

/// One parameter of the network, or one tensor that is only in the file or only in the model.
struct AuditedParameter {
  std::string name;     ///< of the tensor in the file, its prefix included
  std::string part;     ///< role of a part of a packed tensor: "q"; else empty
  std::string path;     ///< of the parameter: "block[3].attn.q.weight"; empty: none has this name
  std::string pattern;  ///< of the name, for all layers: "h.{i}.attn.c_attn.weight"
  std::string dtype;
  std::vector<std::int64_t> shape;  ///< of the tensor in the file; of one that is missing: due
  Sample sample;                    ///< count 0: not measured
  Start expected = Start::zeros;
  double expected_mean = 0, expected_std = 0;
  std::string expected_rule;  ///< "0.02/sqrt(2*N)"
  double standard_error = 0;  ///< of the std of that many values under the expected rule
  double z = 0;               ///< (std - expected_std)/standard_error
  double band = 0;            ///< ok: |std - expected_std| <= band, about
  std::string distribution;   ///< of the values: normal, uniform, truncated_normal, zeros, ones,
                              ///< constant; other: none of them; empty: too few to tell
  std::string rule;           ///< what gives these values; empty: no known rule
  Fault fault = Fault::none;
  std::string verdict = "ok";  ///< else what is wrong
  std::string remark;          ///< what is unlike the rule and yet right
};

/// Faults that are alike in all layers, said once.
struct AuditFinding {
  Fault fault = Fault::none;
  std::string what;                ///< "h.{i}.attn.c_proj.weight", parts of it in brackets
  std::size_t count = 0, all = 0;  ///< tensors with the fault, of all of that pattern
  std::string verdict;             ///< of the first
  std::string first;               ///< its name in the file
};

struct SkippedTensor {
  std::string name, why;
};

struct Audit {
  std::string naming;  ///< the names that fit the file best, or that were asked for
  std::vector<AuditedParameter> parameters;  ///< of the model, in the order of the forward pass;
                                             ///< then what is unexpected
  std::vector<AuditFinding> findings;        ///< by number of tensors
  std::vector<std::string> conclusions;      ///< what several findings have in common
  std::vector<SkippedTensor> skipped;        ///< buffers, integers, tied tensors that are absent
  std::vector<std::string> remarks;          ///< likewise said once
  bool passed = false;
  std::size_t comparisons = 0;  ///< judged at once
  double confidence = 0;        ///< that right weights pass as a whole
  double quantile = 0;          ///< of the normal distribution for that many comparisons
  std::int64_t values = 0;      ///< measured
  std::uint64_t bytes = 0;      ///< of the files
};

struct AuditOptions {
  std::string names;         ///< of the tensors; empty: those that fit best
  int threads = 1;           ///< on which no result depends
  double confidence = 0.99;  ///< 0.5 .. 1 - 1e-9
  bool strict = false;       ///< a distribution of another form, with the std that is due, is wrong
  /// Called with the share done, 0..1. Returning false stops the audit.
  std::function<bool(double done, const std::string& what)> progress;
};

/// Reads every tensor of a .safetensors file, index or folder once, in blocks, and compares it with
/// init_plan(spec). Throws Error(input) for a file that cannot be read or options that are wrong,
/// Error(fault) when `progress` stops it.
Audit audit(const std::string& weights, const ModelSpec& spec, const AuditOptions& options = {});
/// Likewise with what the library of a config makes: its names, shapes and draws.
Audit audit(const std::string& weights, const LibraryModel& model,
            const AuditOptions& options = {});

/// The models that a file of weights may be of, by its names and shapes: recognise(). Of several
/// first those whose constants (gains of norms) the file holds. Throws Error(input).
std::vector<LibraryModel> recognise_weights(const std::string& weights);
/// Of several models with the same tensors, the one by whose rules the fewest parameters are wrong,
/// which is moved to the front. Each tensor is read once.
Audit audit(const std::string& weights, std::vector<LibraryModel>& models,
            const AuditOptions& options = {});

}  // namespace scalecalc
