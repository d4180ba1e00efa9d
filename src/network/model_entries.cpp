#include <sstream>

#include "scalecalc/network.hpp"

namespace scalecalc {

std::vector<std::pair<std::string, std::string>> model_entries(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::istringstream lines(text);
  std::string line, section;
  while (std::getline(lines, line)) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[')) {
      section = line.substr(1, line.find(']') - 1) + ".";
    } else if (!line.starts_with('#') && equals != std::string::npos) {
      std::string key = line.substr(0, equals);
      key.erase(key.find_last_not_of(' ') + 1);
      entries.emplace_back(section + key, line.substr(equals + 3));
    }
  }
  return entries;
}

}  // namespace scalecalc
