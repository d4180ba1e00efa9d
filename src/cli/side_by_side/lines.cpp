#include "cli/side_by_side/lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace scalecalc::cli {
namespace {

using report::Value;
using NamedValues = std::vector<std::pair<std::string, Value>>;

constexpr std::size_t kLongestText = 40;  // two such columns fit a terminal
constexpr double kEqual = 1e-12;          // some thousand roundings of a double

/// What one run has of a block.
struct RunBlock {
  std::string part, member;
  bool only_differing = false;
  NamedValues values;
};

const std::string* text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data())) return text;
  if (const auto* formula = std::get_if<Value::Formula>(&value.data())) return &formula->text;
  return nullptr;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data()))
    return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.data())) return *number;
  if (const auto* digits = std::get_if<Value::Digits>(&value.data()))
    return std::strtod(digits->text.c_str(), nullptr);
  return std::nullopt;
}

bool is_null(const Value& value) {
  return std::holds_alternative<std::monostate>(value.data());
}

bool is_nothing(const Value& value) {
  const auto number = number_of(value);
  return is_null(value) || (number && std::isnan(*number));
}

bool is_scalar(const Value& value) {
  const Value::Data& data = value.data();
  return !std::holds_alternative<Value::Object>(data) &&
         !std::holds_alternative<Value::Array>(data) && !std::holds_alternative<Value::List>(data);
}

bool is_equal(const Value& a, const Value& b) {
  const auto x = number_of(a), y = number_of(b);
  if (x && y) {
    if (std::isnan(*x) || std::isnan(*y)) return std::isnan(*x) == std::isnan(*y);
    return *x == *y || std::abs(*x - *y) <= kEqual * std::max(std::abs(*x), std::abs(*y));
  }
  const std::string *left = text_of(a), *right = text_of(b);
  if (left != nullptr && right != nullptr) return *left == *right;
  const auto *one = std::get_if<bool>(&a.data()), *other = std::get_if<bool>(&b.data());
  if (one != nullptr && other != nullptr) return *one == *other;
  return is_null(a) && is_null(b);
}

/// Nothing where one is 0, infinite, missing or of another sign.
std::optional<double> ratio_of(const std::vector<std::optional<Value>>& values) {
  double least = 0, most = 0;
  for (const auto& value : values) {
    const std::optional<double> number = value ? number_of(*value) : std::nullopt;
    if (!number || !std::isfinite(*number) || *number == 0) return std::nullopt;
    const bool is_first = &value == &values.front();
    if (!is_first && (*number > 0) != (least > 0)) return std::nullopt;
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    least = is_first ? *number : std::min(least, *number, smaller);
    most = is_first ? *number : std::max(most, *number, smaller);
  }
  return most / least;
}

Difference difference_of(const std::vector<std::optional<Value>>& values) {
  const auto& first = values.front();
  const bool same = std::all_of(values.begin(), values.end(), [&](const auto& value) {
    return value.has_value() == first.has_value() && (!value || is_equal(*value, *first));
  });
  return {!same, same ? std::nullopt : ratio_of(values)};
}

bool is_asked(const Part& part, const std::string& member) {
  return part.members.empty() ||
         std::find(part.members.begin(), part.members.end(), member) != part.members.end();
}

NamedValues scalars_in(const Value& object, const Part& part) {
  NamedValues values;
  if (const auto* members = std::get_if<Value::Object>(&object.data()))
    for (const auto& [name, value] : *members)
      if (is_scalar(value) && is_asked(part, name)) values.emplace_back(name, value);
  return values;
}

std::string name_of(const Value& element, const Part& part) {
  std::string name;
  for (const auto& [key, value] : std::get<Value::Object>(element.data())) {
    const bool is_named = std::find(part.keys.begin(), part.keys.end(), key) != part.keys.end();
    if (part.keys.empty() ? !name.empty() : !is_named) continue;
    const std::string* text = text_of(value);
    const std::optional<double> number = number_of(value);
    name += (name.empty() ? "" : " ") + (text     ? *text
                                         : number ? report::format_number(*number)
                                                  : std::string("-"));
  }
  return name;
}

/// A block for each member of the elements.
void add_list(const Part& part, std::size_t size, const std::function<Value(std::size_t)>& element,
              std::vector<RunBlock>& blocks) {
  const std::size_t first = blocks.size();
  for (const std::string& member : part.members)
    blocks.push_back({part.name, member, part.only_differing, {}});
  for (std::size_t i = 0; i < size; ++i) {
    const Value one = element(i);
    const auto* members = std::get_if<Value::Object>(&one.data());
    if (members == nullptr || members->empty()) continue;
    const std::string called = name_of(one, part);
    for (std::size_t k = 0; k < part.members.size(); ++k)
      if (const Value* value = one.find(part.members[k]))
        blocks[first + k].values.emplace_back(called, *value);
  }
}

std::vector<RunBlock> blocks_of(const Value& results, const std::vector<Part>& parts) {
  std::vector<RunBlock> blocks = {{"", "", false, scalars_in(results, {""})}};
  for (const Part& part : parts) {
    const Value* found = results.find(part.name);
    if (found == nullptr) continue;
    if (const auto* list = std::get_if<Value::List>(&found->data()))
      add_list(part, list->size, list->element, blocks);
    else if (const auto* array = std::get_if<Value::Array>(&found->data()))
      add_list(
          part, array->size(), [&](std::size_t i) { return (*array)[i]; }, blocks);
    else
      blocks.push_back({part.name, "", part.only_differing, scalars_in(*found, part)});
  }
  return blocks;
}

bool is_shown(const Line& line) {
  bool any = false;
  for (const auto& value : line.values) {
    if (!value || is_nothing(*value)) continue;
    any = true;
    const std::string* text = text_of(*value);
    if (text != nullptr && text->size() > kLongestText) return false;
  }
  return any;
}

bool has_words(const Line& line) {
  return std::any_of(line.values.begin(), line.values.end(),
                     [](const auto& value) { return value && text_of(*value) != nullptr; });
}

/// `runs`: the block of each run, null where it has none.
LineBlock merged(const std::vector<const RunBlock*>& runs) {
  std::vector<std::vector<std::string>> names;
  std::vector<std::unordered_map<std::string, const Value*>> values;
  LineBlock block;
  bool only_differing = false;
  for (const RunBlock* run : runs) {
    names.emplace_back();
    values.emplace_back();
    if (run == nullptr) continue;
    block.part = run->part;
    block.member = run->member;
    only_differing = run->only_differing;
    for (const auto& [name, value] : run->values) {
      names.back().push_back(name);
      values.back().emplace(name, &value);
    }
  }
  for (const std::string& name : merged_order(names)) {
    Line line{name, {}, {}};
    for (const auto& known : values) {
      const auto found = known.find(name);
      line.values.push_back(found == known.end() ? std::nullopt : std::optional(*found->second));
    }
    line.difference = difference_of(line.values);
    if (is_shown(line) && (line.difference.differs || !only_differing))
      block.lines.push_back(std::move(line));
  }
  return block;
}

}  // namespace

std::string LineBlock::title() const {
  if (part.empty()) return is_words ? "In words" : "In numbers";
  return member.empty() ? part : part + ": " + member;
}

std::vector<std::string> merged_order(const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::string> merged;
  std::unordered_set<std::string> known;
  for (const std::vector<std::string>& list : lists) {
    std::size_t next = merged.size();  // where the name that follows is
    for (auto name = list.rbegin(); name != list.rend(); ++name) {
      if (next > 0 && merged[next - 1] == *name) {
        --next;
      } else if (known.insert(*name).second) {
        merged.insert(merged.begin() + static_cast<long>(next), *name);
      } else {
        const auto found = std::find(merged.begin(), merged.end(), *name);
        next = static_cast<std::size_t>(found - merged.begin());
      }
    }
  }
  return merged;
}

std::vector<LineBlock> compared_blocks(const std::vector<const report::Value*>& results,
                                       const std::vector<Part>& parts) {
  std::vector<std::vector<RunBlock>> runs;
  std::vector<std::vector<std::string>> titles;
  const auto key = [](const RunBlock& block) { return block.part + "\n" + block.member; };
  for (const Value* one : results) {
    runs.push_back(blocks_of(*one, parts));
    titles.emplace_back();
    for (const RunBlock& block : runs.back()) titles.back().push_back(key(block));
  }
  std::vector<LineBlock> blocks;
  for (const std::string& title : merged_order(titles)) {
    std::vector<const RunBlock*> same;
    for (const std::vector<RunBlock>& run : runs) {
      const auto found = std::find_if(run.begin(), run.end(),
                                      [&](const RunBlock& block) { return key(block) == title; });
      same.push_back(found == run.end() ? nullptr : &*found);
    }
    LineBlock block = merged(same), words = {block.part, block.member, true, {}};
    if (block.part.empty()) {
      const auto first = std::stable_partition(block.lines.begin(), block.lines.end(),
                                               [](const Line& line) { return !has_words(line); });
      words.lines.assign(first, block.lines.end());
      block.lines.erase(first, block.lines.end());
    }
    if (!block.lines.empty()) blocks.push_back(std::move(block));
    if (!words.lines.empty()) blocks.push_back(std::move(words));
  }
  return blocks;
}

}  // namespace scalecalc::cli
