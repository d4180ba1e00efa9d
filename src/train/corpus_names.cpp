#include <algorithm>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"

namespace scalecalc {

const std::vector<std::string>& train_task_names() {
  static const std::vector<std::string> names = {"next", "copy", "reverse"};
  return names;
}

TrainTask train_task_from(std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(train_task_names(), name);
  if (found == train_task_names().end())
    throw unknown_name("task", name, train_task_names(), where);
  return static_cast<TrainTask>(found - train_task_names().begin());
}

const std::vector<std::string>& token_level_names() {
  static const std::vector<std::string> names = {"word", "byte", "bpe"};
  return names;
}

TokenLevel token_level_from(std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(token_level_names(), name);
  if (found == token_level_names().end())
    throw unknown_name("level", name, token_level_names(), where);
  return static_cast<TokenLevel>(found - token_level_names().begin());
}

}  // namespace scalecalc
