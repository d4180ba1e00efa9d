#include "architectures/catalogue.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "architectures/family.hpp"
#include "base/text.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace architectures {

const Family& family(const std::string& model_type, const std::string& where) {
  static std::mutex mutex;
  static std::map<std::string, Family> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(model_type); found != known.end()) return found->second;
  for (const Preset& data : embedded_architectures()) {
    if (data.name != model_type) continue;
    Family made = parse_family(data.toml, data.name);
    made.title = data.title;
    return known.emplace(model_type, std::move(made)).first->second;
  }
  throw Error(ErrorKind::input,
              "model_type '" + base::shortened(model_type) + "' is none of those that are known",
              where,
              "scalecalc list architectures names them; of any PyTorch module the graph is read, "
              "torch.export.save(torch.export.export(model, (example,)), \"model.pt2\")");
}

}  // namespace architectures

std::string name_pattern(const std::string& name, const std::string& index) {
  std::string pattern;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, dot - at);
    const bool is_index =
        !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    pattern += (at == 0 ? "" : ".") + (is_index ? index : part);
    at = dot + 1;
  }
  return pattern;
}

const std::vector<KnownArchitecture>& known_architectures() {
  static const std::vector<KnownArchitecture> all = [] {
    std::vector<KnownArchitecture> made;
    for (const Preset& data : embedded_architectures())
      made.push_back({data.name, data.title, architectures::family(data.name, data.name).classes});
    return made;
  }();
  return all;
}

}  // namespace scalecalc
