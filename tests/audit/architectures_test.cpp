#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "scalecalc/audit.hpp"
#include "support.hpp"

/// The small models of all architectures (tests/architectures/models), drawn here by the library's
/// rules, untouched and with one tensor that is not.
namespace scalecalc {
namespace {

constexpr int kSeeds = 10;

std::vector<LibraryModel> kept_models() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<LibraryModel> models;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    models.push_back(
        parse_config(nlohmann::json::parse(file).at("config").dump(), path.filename().string()));
  }
  return models;
}

/// One of each architecture.
std::vector<LibraryModel> architectures() {
  std::vector<LibraryModel> models;
  std::set<std::string> seen;
  for (LibraryModel& model : kept_models())
    if (seen.insert(model.architecture).second) models.push_back(std::move(model));
  return models;
}

Audit audit_of(const Weights& weights, const LibraryModel& model, double confidence) {
  static const WeightsFolder folder;
  store(weights, folder.file());
  AuditOptions options;
  options.confidence = confidence;
  return audit(folder.file(), model, options);
}

std::vector<std::string> faults_of(const Audit& found) {
  std::vector<std::string> names;
  for (const AuditedParameter& parameter : found.parameters)
    if (parameter.fault != Fault::none) names.push_back(parameter.name + ": " + parameter.verdict);
  return names;
}

/// z^2 of the std of drawn tensors, whose mean is 1 if the standard errors are right.
struct Scores {
  double sum = 0, squares = 0;
  int count = 0;

  void add(const Audit& audit, const LibraryModel& model) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const AuditedParameter& parameter = audit.parameters[i];
      // Of fewer values the law of the std is skew.
      if (!model.tensors[i].is_plain() || parameter.sample.count < 1000) continue;
      const double square = parameter.z * parameter.z;
      sum += square;
      squares += square * square;
      ++count;
    }
  }
};

bool is_random(const LibraryTensor& tensor) {
  return tensor.std > 0;
}

std::int64_t values_of(const LibraryTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= size;
  return count;
}

/// Whether a std that is off by a factor is found for sure: q standard errors for the band and 6
/// for the sample, of values whose kurtosis is 3 at most.
bool is_telling(const LibraryTensor& tensor, double factor, double quantile) {
  const double error = 1 / std::sqrt(2.0 * static_cast<double>(values_of(tensor)));
  return std::fabs(factor - 1) > (quantile + 6 * factor) * error;
}

void scale(StoredTensor& tensor, double factor) {
  for (float& value : tensor.values) value *= static_cast<float>(factor);
}

/// Finds that tensor and no other, for that reason, in words that have `said`.
void check_blamed(const Weights& weights, const LibraryModel& model, const std::string& name,
                  Fault fault, const std::string& said) {
  CAPTURE(name);
  const Audit found = audit_of(weights, model, 1 - 1e-6);
  const std::vector<std::string> faults = faults_of(found);
  REQUIRE(faults.size() == 1);
  CAPTURE(faults.front());
  CHECK(found.findings.front().fault == fault);
  CHECK(faults.front().starts_with(name + ": "));
  CHECK(faults.front().find(said) != std::string::npos);
}

}  // namespace

TEST_CASE("untouched models of all architectures pass, and their bands are those of sampling") {
  const std::vector<LibraryModel> models = kept_models();
  const double audits = static_cast<double>(models.size() * kSeeds);
  Scores scores;
  double unlucky = 0;
  for (const LibraryModel& model : models) {
    CAPTURE(model.source);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Weights weights = drawn(model, seed);
      // All of them together at confidence 0.99.
      const Audit found = audit_of(weights, model, 1 - 0.01 / audits);
      CHECK(faults_of(found).empty());
      scores.add(found, model);
      if (seed < 2 && !audit_of(weights, model, 0.5).passed) ++unlucky;
    }
  }
  const double mean = scores.sum / scores.count;
  const double error = std::sqrt((scores.squares / scores.count - mean * mean) / scores.count);
  CAPTURE(mean);
  // E[z^2] = 1 + O(1/n) of n values, of which there are 1000 and more.
  CHECK(std::fabs(mean - 1) < 5 * error + 2.0 / 1000);
  // At confidence 0.5 one in two may fail, 1 - exp(-ln 2 / 2) of them for the std and mean alone,
  // which are half of the comparisons.
  const double runs = static_cast<double>(2 * models.size());
  CAPTURE(unlucky);
  CHECK(unlucky < 0.5 * runs + 5 * std::sqrt(runs / 4));
  CHECK(unlucky > 0.2 * runs - 5 * std::sqrt(runs / 4));
}

TEST_CASE("in every architecture each kind of tensor that is scaled is named, and no other") {
  for (const LibraryModel& model : architectures()) {
    CAPTURE(model.architecture);
    const Weights right = drawn(model, 11);
    std::set<std::string> tried;
    for (const LibraryTensor& tensor : model.tensors) {
      if (!is_random(tensor) || !is_telling(tensor, 1.41, 8)) continue;
      if (!tried.insert(name_pattern(tensor.name)).second) continue;
      Weights weights = right;
      scale(tensor_of(weights, tensor.name), 1.41);
      check_blamed(weights, model, tensor.name, Fault::wrong_std, "");
    }
  }
}

TEST_CASE("in every architecture each kind of tensor that is zero or a constant is named") {
  for (const LibraryModel& model : architectures()) {
    CAPTURE(model.architecture);
    const Weights right = drawn(model, 12);
    std::set<std::string> tried;
    for (const LibraryTensor& tensor : model.tensors) {
      if (!tried.insert(name_pattern(tensor.name)).second || values_of(tensor) < 2) continue;
      Weights weights = right;
      std::vector<float>& values = tensor_of(weights, tensor.name).values;
      const float constant = tensor.std == 0 && tensor.mean == 0 ? 0.5f : 0.0f;
      values.assign(values.size(), constant);
      check_blamed(weights, model, tensor.name, Fault::wrong_constant, "all values are");
    }
  }
}

// Mamba's time steps are drawn, its log_range and sinusoids are the same in all blocks.
TEST_CASE("in every architecture each kind of tensor that is another block's is found") {
  int found = 0;
  for (const LibraryModel& model : architectures()) {
    CAPTURE(model.architecture);
    const Weights right = drawn(model, 13);
    std::map<std::pair<std::string, std::vector<std::int64_t>>, std::string> first;
    std::set<std::string> tried;
    for (const LibraryTensor& tensor : model.tensors) {
      const std::string& kind = tensor.draw.kind;
      const bool is_listed = kind == "log_range" || kind.starts_with("sinusoid");
      if (!is_random(tensor) || is_listed || values_of(tensor) < 32) continue;
      const auto [of_pattern, is_new] =
          first.try_emplace({name_pattern(tensor.name), tensor.shape}, tensor.name);
      if (is_new || !tried.insert(name_pattern(tensor.name)).second) continue;
      Weights weights = right;
      tensor_of(weights, tensor.name) = tensor_of(weights, of_pattern->second);
      check_blamed(weights, model, tensor.name, Fault::copied, of_pattern->second);
      ++found;
    }
  }
  CHECK(found > 30);
}

TEST_CASE("a projection that is not scaled by its depth has the rule of those that need not be") {
  int found = 0;
  for (const LibraryModel& model : architectures()) {
    CAPTURE(model.architecture);
    std::set<double> stds;
    for (const LibraryTensor& tensor : model.tensors)
      if (tensor.is_plain()) stds.insert(tensor.std);
    for (const LibraryTensor& tensor : model.tensors) {
      if (tensor.rule.find("layer") == std::string::npos || !tensor.is_plain()) continue;
      const auto larger = stds.upper_bound(tensor.std * 1.001);
      if (larger == stds.end() || !is_telling(tensor, *larger / tensor.std, 8)) continue;
      Weights weights = drawn(model, 14);
      scale(tensor_of(weights, tensor.name), *larger / tensor.std);
      check_blamed(weights, model, tensor.name, Fault::wrong_std, "but " + tensor.rule);
      ++found;
      break;
    }
  }
  CHECK(found >= 2);  // gpt2, clip
}

}  // namespace scalecalc
