#include <algorithm>
#include <cctype>
#include <map>

#include "graphs/describe.hpp"
#include "names/patterns.hpp"

namespace scalecalc::graphs {
namespace {

constexpr std::size_t longest_name = 200;  ///< of a pattern in a model file

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= longest_name &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                  c == '-';
         });
}

/// "h.{i}.fc.weight" of "h.3.fc.weight" in block 3: {i} stands for the block in paths, and for the
/// first number of the name that is the block's. The same where no number is.
NamePattern folded_pattern(const NamePattern& pattern, const std::string& block) {
  const std::string& first = pattern.paths.front();
  const std::int64_t index = std::strtoll(first.c_str() + block.size(), nullptr, 10);
  NamePattern folded{pattern.name, {}};
  for (const std::string& path : pattern.paths)
    folded.paths.push_back(names::with_index(path, block.size(), index));
  for (const std::size_t at : names::numbers_of(pattern.name)) {
    const std::string name = names::with_index(pattern.name, at, index);
    if (name.empty()) continue;
    folded.name = name;
    break;
  }
  return folded;
}

}  // namespace

void FoundNames::tensor(std::size_t tensor, const std::string& path, const Part* part,
                        bool is_matrix) {
  if (tensor == nothing) return;
  const std::string& name = known_.constants.target(tensor);
  if (!is_name(name) || !is_name(path.substr(0, path.find('[')))) return;
  const auto [at, is_new] = index_.emplace(name, entries_.size());
  if (is_new) entries_.push_back({name, {}, is_matrix, false, false});
  Entry& entry = entries_[at->second];
  if (part != nullptr) {
    entry.is_in_out = is_matrix && part->is_in_out;
    entry.is_interleaved = part->rounds != 1;
  }
  entry.shares.push_back({part == nullptr ? 0 : part->first_row, path});
}

void FoundNames::ignore(std::size_t tensor) {
  if (tensor != nothing && is_name(known_.constants.target(tensor)))
    ignored_.push_back(known_.constants.target(tensor));
}

void FoundNames::map(std::size_t index, const std::string& path) {
  const Part& part = known_.part(index);
  // A matrix over all pixels stands for a convolution.
  const bool is_reshaped =
      part.kind == Part::Kind::convolution && known_.program.tensors[part.weight].sizes.size() != 4;
  if (!is_reshaped) tensor(part.weight, path + ".weight", &part, part.kind == Part::Kind::linear);
  tensor(part.bias, path + ".bias", &part);
}

void FoundNames::patches(std::size_t index) {
  const Part& part = known_.part(index);
  tensor(part.weight, "patch.weight", &part, true);
  tensor(part.bias, "patch.bias", &part);
}

void FoundNames::norm(std::size_t index, const std::string& path) {
  const Part& part = known_.part(index);
  tensor(part.weight, path + ".gain");
  tensor(part.bias, path + ".shift");
}

/// Its parts in the order in which they lie. A tensor that several layers share, and not its parts,
/// is one parameter of each here.
NamePattern FoundNames::pattern_of(const Entry& entry) const {
  std::vector<Share> shares = entry.shares;
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.first_row < b.first_row; });
  NamePattern pattern{entry.name, {}};
  for (const Share& share : shares) pattern.paths.push_back(share.path);
  if (shares.size() > 1 && shares[0].first_row == shares[1].first_row) pattern.paths.resize(1);
  return pattern;
}

ModelSpec::Names FoundNames::take(const std::vector<std::string>& blocks) const {
  ModelSpec::Names names;
  names.ignored = ignored_;
  std::ptrdiff_t in_out = 0;
  for (const Entry& entry : entries_)
    if (entry.is_matrix) in_out += entry.is_in_out ? 1 : -1;
  names.in_out = in_out > 0;
  std::vector<NamePattern> patterns;
  for (const Entry& entry : entries_) {
    if (entry.is_interleaved || (entry.is_matrix && entry.is_in_out != names.in_out))
      known_.remarks.insert(
          "the names of tensors that are stored the other way round than most, or "
          "with heads one after the other, are left out");
    else
      patterns.push_back(pattern_of(entry));
  }
  // The same paths of all blocks, by what their tensors are called.
  std::map<std::string, std::set<std::string>> called;
  std::vector<NamePattern> folded;
  for (const NamePattern& pattern : patterns) {
    folded.push_back(pattern);
    for (const std::string& block : blocks)
      if (pattern.paths.front().starts_with(block)) folded.back() = folded_pattern(pattern, block);
    called[folded.back().paths.front()].insert(folded.back().name);
  }
  std::set<std::string> done;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool is_one = called[folded[i].paths.front()].size() == 1 &&
                        folded[i].name.find("{i}") != std::string::npos;
    const NamePattern& pattern = is_one ? folded[i] : patterns[i];
    if (done.insert(pattern.name).second) names.patterns.push_back(pattern);
  }
  return names;
}

}  // namespace scalecalc::graphs
